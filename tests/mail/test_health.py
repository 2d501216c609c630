"""Status, diagnosis and settings of a filter."""

from __future__ import annotations

import time

import pytest

from suffice.mail import MailError, MailFilter
from suffice.mail.dump import dump_filter, load_dump
from suffice.mail.health import STALE_DAYS, diagnose, status
from suffice.mail.settings import change_settings, parse_half_life
from suffice.mail.verdict import MIN_MESSAGES
from tests.mail.samples import message, stream
from tests.rights import open_folder, without_rights

DAY = 86400


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail


def train(mail: MailFilter, spam: int, ham: int) -> None:
    mail.learn_all((message(f"s{i}", "cheap"), "spam") for i in range(spam))
    mail.learn_all((message(f"h{i}", "lunch"), "ham") for i in range(ham))


def levels(mail: MailFilter) -> list[str]:
    return [each.level for each in diagnose(mail)]


@pytest.mark.parametrize(
    ("spam", "ham", "ready", "said"),
    [
        (0, 0, False, f"learn {MIN_MESSAGES} more of spam and {MIN_MESSAGES} more of ham"),
        (MIN_MESSAGES - 1, MIN_MESSAGES, False, "learn 1 more of spam"),
        (MIN_MESSAGES, MIN_MESSAGES - 2, False, "learn 2 more of ham"),
        (MIN_MESSAGES, MIN_MESSAGES, True, "ready"),
    ],
)
def test_a_filter_is_ready_when_it_has_learned_enough_of_both(mine, spam, ham, ready, said):
    mine.store(create=True)
    train(mine, spam, ham)
    found = status(mine)
    assert found.learned == {"ham": ham, "spam": spam}
    assert found.ready == ready
    assert said in found.advice
    assert found.as_dict()["ready"] == ready


def test_other_classes_count_as_ham(mine):
    train(mine, MIN_MESSAGES, 0)
    mine.learn_all((message(f"w{i}", "report"), "work") for i in range(MIN_MESSAGES))
    assert status(mine).ready


def test_status_has_counts_and_date(mine, monkeypatch):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    for data, label in stream(20):
        mine.learn(data, label)
    found = status(mine)
    assert sum(found.learned.values()) == found.waiting == 20
    assert found.last == "2024-10-04"
    assert found.size > 0
    assert found.tokens == len(mine.store().state())
    mine.forget(stream(20)[0][0])
    assert sum(status(mine).learned.values()) == 19


def test_status_has_decayed_counts(mine, monkeypatch):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    train(mine, 40, 80)
    change_settings(mine, half_life=10.0)
    now += 10 * DAY
    assert status(mine).learned == {"ham": 40, "spam": 20}


def test_shared_filters_count(mine, tmp_path):
    with MailFilter(tmp_path / "site.db") as site:
        train(site, 40, 50)
    mine.learn(message("x"), "ham")
    with MailFilter(mine.path, shared=[tmp_path / "site.db"]) as both:
        assert status(both).learned == {"ham": 51, "spam": 40}


def test_doctor_finds_nothing_in_a_sound_filter(mine):
    train(mine, 40, 40)
    assert set(levels(mine)) == {"fine"}


def test_a_missing_filter_is_reported(mine):
    (found,) = diagnose(mine)
    assert found.level == "wrong"
    assert str(mine.path) in found.what
    assert "learn" in found.cure
    with pytest.raises(MailError, match="there is no filter"):
        status(mine)


def test_too_few_messages_are_reported(mine):
    train(mine, 5, 40)
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "not ready" in remark.what
    assert f"{MIN_MESSAGES - 5} more of spam" in remark.cure


def test_doctor_remarks_on_old_training(mine, monkeypatch):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    train(mine, 40, 40)
    now += (STALE_DAYS + 2) * DAY
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "nothing was learned since" in remark.what


@pytest.mark.parametrize("half_life", [0.0, 90.0])
def test_doctor_names_a_clock_that_is_years_ahead(mine, monkeypatch, half_life):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    train(mine, 40, 40)
    change_settings(mine, half_life=half_life)

    def clock() -> list[str]:
        return [each.what for each in diagnose(mine) if "the clock" in each.what]

    now += 700 * DAY
    assert clock() == []  # a pause
    now += 3650 * DAY
    ahead = "by the clock it is 2036-09-01, and nothing was learned from 2024-10-04 to 2036-09-01"
    assert [each.startswith(ahead) for each in clock()] == [True]
    mine.learn(message("ahead"), "ham")
    assert "to 2036-09-01: the clock may be years ahead" in clock()[0]
    now = 20_001 * DAY
    assert "in the future: the clock was wrong" in clock()[0]
    mine.learn(message("right again"), "ham")
    assert clock() == []


def test_doctor_remarks_on_a_rare_class(mine):
    train(mine, 200, 4100)
    assert status(mine).ready
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "200 spam against 4,100 ham" in remark.what


@pytest.mark.parametrize(("spam", "ham", "said"), [(495, 25, "25 more of ham"), (25, 495, "25 more of spam")])
def test_a_filter_with_uneven_classes_is_not_ready(mine, spam, ham, said):
    train(mine, spam, ham)
    assert not status(mine).ready
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert said in remark.cure
    assert f"{spam} spam and {ham} ham are too uneven" in remark.cure
    assert mine.classify(message("x", "cheap")).label != "spam"
    train(mine, max(spam, 50), max(ham, 50))
    assert status(mine).ready


def test_doctor_remarks_on_counted_messages_that_are_not_listed(mine):
    train(mine, 40, 40)
    mine.store().execute("DELETE FROM learned WHERE id = (SELECT MIN(id) FROM learned)")
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "80 messages are counted, but 79 are listed" in remark.what


def test_doctor_remarks_on_too_many_tokens(mine):
    train(mine, 40, 40)
    change_settings(mine, tokens=5)
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert remark.what.endswith("tokens are kept")


@pytest.mark.needs("posix")
def test_doctor_checks_permissions():
    with open_folder() as place:
        with MailFilter(place / "mail.db") as mail:
            train(mail, 40, 40)
        (place / "mail.db").chmod(0o644)
        (remark,) = [each for each in diagnose(MailFilter(place / "mail.db")) if each.level == "remark"]
        assert "chmod 600" in remark.cure
        place.chmod(0o555)
        with MailFilter(place / "mail.db") as mail:
            found = without_rights(lambda: diagnose(mail))
        (wrong,) = [each for each in found if each.level == "wrong"]
        assert "is not writable" in wrong.what
        place.chmod(0o777)
        (place / "mail.db").chmod(0o666)
        with MailFilter(place / "mail.db") as mail:
            mail.learn(message("one more"), "ham")
            (place / "mail.db-shm").chmod(0o444)
            found = without_rights(lambda: diagnose(mail))
        assert [each.what for each in found if each.level == "wrong"] == [
            f"{place / 'mail.db-shm'} belongs to another user, so nothing can be learned"
        ]


def test_doctor_finds_a_damaged_shared_filter(mine, tmp_path):
    train(mine, 40, 40)
    (tmp_path / "site.db").write_bytes(b"junk" * 5000)
    with MailFilter(mine.path, shared=[tmp_path / "site.db"]) as both:
        wrong = [each for each in diagnose(both) if each.level == "wrong"]
    assert len(wrong) == 1
    assert "site.db" in wrong[0].what


# Settings


def test_settings_are_stored(mine):
    change_settings(mine, ham_cut=0.1, spam_cut=0.8, half_life=90.0, tokens=5000)
    with MailFilter(mine.path) as other:
        assert other.cuts == (0.1, 0.8)
        settings = other.store().settings()
        assert (settings.half_life, settings.tokens) == (90.0, 5000)
    change_settings(mine, spam_cut=0.95)
    assert mine.cuts == (0.1, 0.95)


def test_settings_are_changed_all_or_none(mine):
    change_settings(mine, spam_cut=0.8)
    with pytest.raises(MailError, match="two probabilities"):
        change_settings(mine, ham_cut=0.85, tokens=5000, half_life=3.0)
    assert mine.cuts == (0.3, 0.8)
    assert mine.store().settings().tokens == 1_000_000
    assert mine.store().settings().half_life is None


@pytest.mark.parametrize("text", ["0", "0.5", "-1", "nan", "inf", "1e7", "x", ""])
def test_an_invalid_half_life_is_refused(text):
    with pytest.raises(MailError, match="half-life must be a number of days"):
        parse_half_life(text)


def test_a_half_life_in_days():
    assert (parse_half_life("30"), parse_half_life(" NEVER ")) == (30.0, 0.0)


# Feature extraction


def test_a_filter_with_older_features_works_and_is_remarked_on(mine):
    train(mine, 40, 40)
    assert not [each for each in diagnose(mine) if "older suffice" in each.what]
    store = mine.store()
    store.execute("DELETE FROM settings WHERE name = 'features'")  # as in files of earlier versions
    verdict = mine.classify(message("x", "cheap"))
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "features 1, now 2" in remark.what
    assert "words of date fields" in remark.what
    assert f"--filter {mine.path}.new --spam FOLDER --ham FOLDER" in remark.cure
    assert mine.classify(message("x", "cheap")) == verdict


def test_a_dump_keeps_the_version_of_the_features(mine, tmp_path):
    train(mine, 5, 5)
    lines = list(dump_filter(mine))
    with MailFilter(tmp_path / "new.db") as new, MailFilter(tmp_path / "old.db") as old:
        load_dump(new, lines)
        load_dump(old, [line.replace(" features=2", "") for line in lines])
        assert (new.store().get_integer("features"), old.store().get_integer("features")) == (2, 1)


def test_doctor_remarks_on_a_low_spam_cut(mine):
    train(mine, 40, 40)
    change_settings(mine, spam_cut=0.7)
    (remark,) = [each for each in diagnose(mine) if each.level == "remark"]
    assert "a single token" in remark.what


def test_doctor_checks_shared_filters_without_a_filter_of_the_user(mine, tmp_path):
    with MailFilter(tmp_path / "site.db") as site:
        train(site, 40, 40)
    with MailFilter(mine.path, shared=[tmp_path / "site.db"]) as both:
        first, *others = diagnose(both)
    assert (first.level, first.what) == (
        "remark",
        f"there is no filter at {mine.path} yet: only the shared ones are used",
    )
    assert "wrong" not in {each.level for each in others}
