"""Shared filters: counts and weights are added, and classes keep their indices."""

from __future__ import annotations

import shutil

import pytest

from suffice.mail import MailError, MailFilter
from tests.mail.samples import TOPICS, counted, message, stream, trained_filter
from tests.rights import open_folder, without_rights

HAM, SPAM = TOPICS["ham"].split(), TOPICS["spam"].split()


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    path = tmp_path_factory.mktemp("site") / "site.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(600, 9, ("ham", "spam", "work")))
    return path


@pytest.fixture
def site(tmp_path, learned):
    return shutil.copy(learned, tmp_path / "site.db")


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_an_empty_filter_judges_like_its_shared_filter(tmp_path, labels):
    with trained_filter(tmp_path / "site.db", stream(60, 9, labels)) as alone:
        alone.store().compact()
        expected = [alone.classify(data).log_odds for data, _ in stream(10, 3)]
    with MailFilter(tmp_path / "mine.db", shared=[tmp_path / "site.db"]) as mine:
        assert [mine.classify(data).log_odds for data, _ in stream(10, 3)] == pytest.approx(expected)


def test_a_shared_filter_is_read_and_not_changed(tmp_path, site):
    before = site.read_bytes()
    with MailFilter(tmp_path / "mine.db", shared=[site]) as mine:
        held = message("x", " ".join(SPAM))
        assert mine.classify(held).label == "spam"
        mine.learn_all((message(f"p{i}", " ".join(SPAM)), "ham") for i in range(200))
        assert mine.classify(held).label != "spam"
        assert counted(mine.store())[0][:2] == [200, 0]
    assert site.read_bytes() == before


def test_new_messages_of_the_shared_filter_count_at_once(tmp_path, site):
    held = message("x", "zebra")
    with MailFilter(tmp_path / "mine.db", shared=[site]) as mine, MailFilter(site) as theirs:
        before = mine.classify(held).log_odds
        for i in range(10):
            theirs.learn(message(f"z{i}", "zebra"), "spam")
        assert mine.classify(held).log_odds > before + 0.5


def test_a_filter_works_without_its_shared_filter_of_three_classes(tmp_path, site):
    with MailFilter(tmp_path / "mine.db", shared=[site]) as mine:
        mine.learn_all(stream(300))
    with MailFilter(tmp_path / "mine.db") as alone:
        assert alone.classify(message("x", " ".join(SPAM))).label == "spam"
        assert alone.classify(message("x", " ".join(HAM))).label == "ham"


def test_a_class_of_the_shared_filter_has_the_same_index(tmp_path, site):
    with MailFilter(site) as theirs:
        theirs.learn(message("n", "news"), "news")
    for _ in range(2):
        with MailFilter(tmp_path / "mine.db", shared=[site]) as mine:
            mine.learn(message("m", "headline"), "news")
            assert mine.classes == ("ham", "spam", "work", "news")
            assert mine.learned_as(message("m", "headline")) == "news"


@pytest.mark.parametrize("bulk_run", [False, True])
def test_a_class_of_the_shared_filter_is_known_without_it(tmp_path, site, bulk_run):
    with MailFilter(site) as theirs:
        theirs.learn(message("n", "news"), "news")
    held = message("m", "headline")
    with MailFilter(tmp_path / "mine.db", shared=[site]) as mine:
        if bulk_run:
            mine.learn_all([(held, "news")])
        else:
            mine.learn(held, "news")
    with MailFilter(tmp_path / "mine.db") as alone:
        assert alone.classify(held).probabilities.keys() >= {"ham", "spam", "news"}
        assert alone.learned_as(held) == "news"
        assert alone.forget(held)
        assert sum(alone.store().state().messages) == 0


def test_conflicting_classes_are_refused(tmp_path, site):
    with MailFilter(tmp_path / "mine.db") as mine:
        mine.learn(message(1), "news")
    with (
        MailFilter(tmp_path / "mine.db", shared=[site]) as both,
        pytest.raises(MailError, match=r"site\.db has the classes .*work.* but .*mine\.db has .*news"),
    ):
        both.classify(message(1))


def test_conflicting_classes_are_refused_again(tmp_path, site):
    with MailFilter(tmp_path / "mine.db") as mine:
        mine.learn(message(1), "news")
    with MailFilter(tmp_path / "mine.db", shared=[site]) as both:
        for _ in range(2):
            with pytest.raises(MailError, match=r"has the classes ham, spam, work, but .* has ham, spam, news"):
                both.classify(message(1))


def test_readers_agree_after_a_class_is_added(mine):
    mine.learn_all(stream(20)[:10])
    for data, label in stream(20)[10:]:
        mine.learn(data, label)
    mine.classify(message("x"))
    mine.learn(message("w", "report"), "work")
    held = message("x", "cheap noon report")
    with MailFilter(mine.path) as other:
        assert other.classify(held).log_odds == pytest.approx(mine.classify(held).log_odds, rel=1e-6)


def test_a_shared_filter_judges_in_a_read_only_folder():
    with open_folder() as place:
        with MailFilter(place / "site.db") as site:
            site.learn_all(stream(300))
        (place / "site.db").chmod(0o644)
        place.chmod(0o555)

        def judge() -> str:
            with MailFilter(place / "mine.db", shared=[place / "site.db"]) as mail:
                return mail.classify(message("x", " ".join(SPAM))).label

        assert without_rights(judge) == "spam"
