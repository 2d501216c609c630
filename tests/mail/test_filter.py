"""Learning, correcting and forgetting: exact counts, one by one and in batches."""

from __future__ import annotations

import random
import sqlite3
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.mail import MailError, MailFilter, batch_learning, database
from suffice.mail.features import extract_features
from suffice.mail.paths import default_path
from suffice.mail.settings import change_settings
from tests.mail.samples import TOPICS, counted, demo_mail, message, stream, trained_filter

DAY = 86400
LABELS = {"ham": 0, "spam": 1, "work": 2}
HAM, SPAM = TOPICS["ham"].split(), TOPICS["spam"].split()


@pytest.fixture
def small_batches(monkeypatch):
    """Make batches and transactions so small that a few messages need several."""
    monkeypatch.setattr(batch_learning, "BATCH", 7)
    monkeypatch.setattr(batch_learning, "TRANSACTION", 20)


# Counts


@settings(max_examples=5)
@given(st.data())
def test_forget_restores_the_counts(tmp_path_factory, data):
    pairs = stream(6, data.draw(st.integers(0, 50)), ("ham", "spam", "work"))
    kept = data.draw(st.sets(st.integers(0, len(pairs) - 1)))
    place = tmp_path_factory.mktemp("filter")
    with trained_filter(place / "a.db", pairs) as one, trained_filter(place / "b.db", []) as other:
        for i in data.draw(st.permutations(sorted(set(range(len(pairs))) - kept))):
            if data.draw(st.booleans()):
                one.store().compact()
            assert one.forget(pairs[i][0])
            assert not one.forget(pairs[i][0])
        other.learn_all([pair for i, pair in enumerate(pairs) if i in kept])
        messages, rows = counted(one.store())
        expected, expected_rows = counted(other.store(create=True))
        assert messages == expected + [0.0] * (3 - len(expected))
        assert {name: row[:2] for name, row in rows.items()} == {name: row[:2] for name, row in expected_rows.items()}


def test_forget_restores_the_columns_bit_by_bit(mine):
    pairs = stream(20)
    mine.learn_all(pairs)
    before = mine.store().state().columns()
    again = [(data + data.split(b"\n\n")[1], label) for data, label in pairs]  # the same tokens in another message
    assert mine.learn_all(again).learned == 20
    assert mine.store().state().columns()["counts"] != before["counts"]
    for data, _ in reversed(again):
        assert mine.forget(data)
    after = mine.store().state().columns()
    for name in ("messages", "hashes", "counts"):
        assert after[name] == before[name]


def test_correct_equals_forget_and_learn(tmp_path):
    pairs = stream(30)
    with trained_filter(tmp_path / "a.db", pairs) as one, trained_filter(tmp_path / "b.db", pairs) as other:
        for data, label in pairs[:10]:
            right = "ham" if label == "spam" else "spam"
            assert one.correct(data, right) == "corrected"
            assert one.learned_as(data) == right
            other.forget(data)
            other.learn(data, right)
        assert counted(one.store()) == counted(other.store())
        for data, label in pairs[:10]:
            one.correct(data, label)
        with trained_filter(tmp_path / "c.db", pairs) as untouched:
            assert counted(one.store()) == counted(untouched.store())


@pytest.mark.parametrize("place", ["single", "bulk", "one bulk"])
def test_a_message_counts_once_whatever_its_delivery_headers(mine, place):
    first = message(1, "cheap pills\nFrom now on\n")
    copies = [
        first,
        first.replace(b"\n", b"\r\n"),
        b"Received: by mx.example.net; Thu, 22 Aug 2002\nDelivered-To: ann@example.org\n" + first,
        b"X-Suffice: ham; p=0.1\n" + first,
        first.replace(b"\nFrom now", b"\n>From now"),
        first + b"\n\n",
    ]
    mine.learn(first, "spam")
    once = counted(mine.store())
    if place == "single":
        assert [mine.learn(copy, "spam") for copy in copies] == ["known"] * len(copies)
    elif place == "bulk":
        assert mine.learn_all((copy, "spam") for copy in copies).known == len(copies)
    else:
        mine.forget(first)
        tally = mine.learn_all((copy, "spam") for copy in copies)
        assert (tally.learned, tally.known, tally.classes) == (1, len(copies) - 1, {"spam": 1})
    assert counted(mine.store()) == once


def test_the_last_of_conflicting_labels_counts(tmp_path, small_batches):
    pairs = stream(40)
    flipped = [(data, "ham" if label == "spam" else "spam") for data, label in pairs]
    order = pairs + flipped[:20] + pairs[:5] + flipped[30:]
    with MailFilter(tmp_path / "a.db") as one, MailFilter(tmp_path / "b.db") as other:
        tally = one.learn_all(order)
        last = dict(order)
        other.learn_all(last.items())
        assert counted(one.store()) == counted(other.store())
        assert tally.learned == 40
        assert tally.corrected == 20 + 5 + 10
        assert all(one.learned_as(data) == label for data, label in last.items())


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_learn_all_equals_learn_one_by_one(tmp_path, small_batches, labels):
    pairs = stream(100, 1, labels)
    for name in ("a.db", "b.db"):
        with trained_filter(tmp_path / name, []) as mail:  # all classes first: a new one changes the weights
            for label in labels:
                mail.store(create=True).class_index(label)
    with trained_filter(tmp_path / "a.db", pairs) as one, MailFilter(tmp_path / "b.db") as other:
        other.learn_all(pairs)
        assert counted(one.store()) == counted(other.store())
        new = [data for data, _ in stream(30, 2, labels)]
        ours, theirs = ([verdict.log_odds for verdict in mail.classify_all(new)] for mail in (one, other))
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_an_interrupted_learn_all_can_be_repeated(mine, small_batches, tmp_path):
    pairs = stream(55)

    def stopped():
        yield from pairs[:37]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mine.learn_all(stopped())
    tally = mine.learn_all(pairs)
    assert tally.learned + tally.known == 55
    assert tally.known > 0
    with trained_filter(tmp_path / "all.db", pairs) as other:
        assert counted(mine.store()) == counted(other.store())


def test_other_processes_can_write_while_messages_arrive_slowly(mine, small_batches):
    def slowly():
        yield from stream(30)
        with MailFilter(mine.path) as other:
            other.learn(message("theirs", "prize"), "spam")  # waits for the lock
        yield message("last", "lunch"), "ham"

    mine.store(create=True)
    assert mine.learn_all(slowly()).learned == 31
    assert sum(mine.store().state().messages) == 32


def test_a_failed_batch_is_not_learned(mine):
    pairs = stream(20)
    mine.learn_all(pairs[:10])
    before = counted(mine.store())
    with pytest.raises(MailError, match="cannot be a class"):
        mine.learn_all([*pairs[10:], (message("x"), "no class")])
    assert counted(mine.store()) == before
    assert mine.learned_as(pairs[10][0]) is None
    assert mine.learn_all(pairs[10:]).learned == 10


# Corrections


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    path = tmp_path_factory.mktemp("trained") / "mail.db"
    with MailFilter(path) as mail:
        pairs = [(data, label) for label in ("ham", "spam") for data in demo_mail(label)]
        random.Random(0).shuffle(pairs)
        mail.learn_all(pairs)
    return path


def agree(mail: MailFilter, data: bytes, label: str) -> bool:
    _, _, tokens, grams = mail.store().state().score(extract_features([data]), 0)[0]
    return (tokens > 0) == (grams > 0) == (label == "spam")


@pytest.mark.parametrize("which", ["ham", "spam"])
def test_the_regressions_agree_after_a_correction(trained, tmp_path, which):
    path = tmp_path / "mail.db"
    path.write_bytes(trained.read_bytes())
    wrong = "spam" if which == "ham" else "ham"
    short = message("short", {"ham": "lunch", "spam": "winner"}[which])
    with MailFilter(path) as mail:
        mail.learn(short, which)
        for data in [short, *demo_mail(which)[:5]]:
            assert mail.learned_as(data) == which
            became = mail.correct(data, wrong)
            assert became == ("corrected" if mail.classify(data).label == wrong else "disputed")
            assert agree(mail, data, wrong)


def test_a_correction_is_repeated_until_the_verdict_agrees(mine):
    mine.learn_all(stream(200))
    held = message("held", "pills lunch noon")
    assert mine.classify(held).label != "spam"
    assert mine.correct(held, "spam") == "learned"
    assert mine.store().query("SELECT COUNT(*) FROM journal")[0][0] > 1, "once was not enough"
    assert mine.classify(held).label == "spam"
    mine.cuts = (0.3, 0.9999)
    stubborn = message("stubborn", "lunch")
    assert mine.correct(stubborn, "spam") == "disputed"
    assert mine.classify(stubborn).label != "spam"
    assert mine.learned_as(stubborn) == "spam"


def test_a_correction_of_a_filter_that_is_not_ready_is_learned_once(mine):
    assert mine.correct(message("m", "cheap"), "spam") == "learned"
    assert mine.store().query("SELECT COUNT(*) FROM journal") == [(1,)]


def test_correct_teaches_a_class_that_was_learned_before(mine):
    held = message("m", "cheap pills now for you")
    mine.learn(held, "ham")
    for i in range(30):
        mine.learn(message(i, "cheap pills now for you"), "spam")
        mine.learn(message(f"h{i}", "lunch at noon"), "ham")
    assert not agree(mine, held, "ham")
    counts = counted(mine.store())
    mine.correct(held, "ham")
    assert agree(mine, held, "ham")
    assert counted(mine.store()) == counts


@pytest.mark.parametrize("how", ["forget", "correct"])
def test_forgetting_a_copy_with_more_fields_leaves_other_counts(tmp_path, how):
    one, other = message(1, "hello"), message(2, "bye", "Delivered-To: ann@example.org\n")
    with trained_filter(tmp_path / "a.db", [(one, "ham"), (other, "ham")]) as mail:
        copy = b"Delivered-To: ann@example.org\n" + one
        if how == "forget":
            mail.forget(copy)
        else:
            mail.correct(copy, "spam")
        extracted = extract_features([other])
        seen = mail.store().state().seen(extracted, 0)[::2]
    assert dict(zip(extracted.tokens(0), seen, strict=True))["header:delivered-to"] == 1


# Decay


def test_learned_weight_decays_by_the_half_life(tmp_path, monkeypatch):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn(message("old", "lunch"), "ham")
        change_settings(mail, half_life=2.0)
        days = {}
        for i in range(30):
            now += 2 * DAY
            mail.learn(message(i, "lunch"), "ham")
            days[i] = now
            if i % 10 == 0:
                mail.store().compact()
        expected = sum(0.5 ** ((now - day) / DAY / 2) for day in days.values()) + 0.5 ** (60 / 2)
        extracted = extract_features([message("new", "lunch")])
        seen = dict(zip(extracted.tokens(0), mail.store().state().seen(extracted, 0)[::2], strict=True))
        assert seen["lunch"] == pytest.approx(expected, rel=1e-5)
        for i in range(29):
            assert mail.forget(message(i, "lunch"))
        seen = dict(zip(extracted.tokens(0), mail.store().state().seen(extracted, 0)[::2], strict=True))
        assert seen["lunch"] == pytest.approx(1 + 0.5 ** (60 / 2), rel=1e-4)


def test_a_half_life_changes_nothing_on_the_same_day(mine):
    pairs = stream(30)
    mine.learn_all(pairs)
    before = [verdict.log_odds for verdict in mine.classify_all([data for data, _ in pairs])]
    change_settings(mine, half_life=30.0)
    assert [verdict.log_odds for verdict in mine.classify_all([data for data, _ in pairs])] == pytest.approx(before)
    change_settings(mine, half_life=0.0)
    assert mine.store().settings().half_life is None


def test_a_filter_unused_for_years_is_read(tmp_path, monkeypatch):
    now = 20_000 * DAY
    monkeypatch.setattr(time, "time", lambda: now)
    with trained_filter(tmp_path / "mail.db", stream(10)) as mail:
        change_settings(mail, half_life=1.0)
        now += 2000 * DAY
        assert mail.classify(message("x")).label == "unsure"
        mail.learn(message("y", "cheap"), "spam")
        mail.store().compact()
        assert mail.classify(message("x", "cheap")).probability > 0.5


# Which messages are learned, and verdicts


def test_train_error_learns_only_errors(mine):
    mine.learn_all(stream(300))
    before = counted(mine.store())
    sure = message("sure", " ".join(SPAM))
    assert mine.classify(sure).label == "spam"
    assert mine.learn(sure, "spam", train="error") == "passed"
    assert mine.learned_as(sure) is None
    assert counted(mine.store()) == before
    assert mine.learn(sure, "ham", train="error") == "learned"
    assert mine.learn(sure, "spam", train="error") == "corrected"
    near = message("near", "cheap pills")
    assert abs(mine.classify(near).log_odds) < 8
    assert mine.learn(near, "spam", train="near") == "learned"


def test_a_verdict_follows_the_cuts(mine):
    for data, label in stream(60):
        mine.learn(data, label)
    data = message("x", "cheap pills lunch")
    p = mine.classify(data).probability
    for cuts, label in (((p + 1e-6, 1.0), "ham"), ((0.0, p), "spam"), ((p, p + 1e-6), "unsure"), ((p, p), "spam")):
        mine.cuts = cuts
        assert mine.classify(data).label == label
        with MailFilter(mine.path) as other:
            assert other.cuts == cuts
    for cuts in ((0.9, 0.3), (-0.1, 0.5), (0.5, 1.1), (float("nan"), 0.5)):
        with pytest.raises(MailError, match="two probabilities"):
            mine.cuts = cuts


def test_three_classes_are_classified(mine):
    mine.learn_all(stream(600, 0, ("ham", "spam", "work")))
    assert set(mine.classes) == {"ham", "spam", "work"}
    pairs = stream(60, 1, ("ham", "spam", "work"))
    verdicts = mine.classify_all([data for data, _ in pairs])
    right = [verdict.label == label for verdict, (_, label) in zip(verdicts, pairs, strict=True)]
    assert sum(right) > 50
    for verdict in verdicts:
        assert sum(verdict.probabilities.values()) == pytest.approx(1)
        assert verdict.probability == verdict.probabilities["spam"]


@pytest.mark.parametrize("label", ["unsure", "", "no class", "x" * 41, "a/b", "a\nb"])
def test_invalid_class_names_are_refused(mine, label):
    with pytest.raises(MailError, match="cannot be a class"):
        mine.learn(message(1), label)
    assert mine.classes == ("ham", "spam")


def test_an_empty_filter_is_unsure(mine):
    mine.store(create=True)
    verdict = mine.classify(message(1))
    assert (verdict.label, verdict.probability) == ("unsure", 0.5)


def test_only_marked_spam_is_recorded(mine):
    mine.learn_all(stream(300))
    spam, ham = message("s", " ".join(SPAM)), message("h", " ".join(HAM))
    assert mine.mark(spam).label == "spam"
    assert mine.mark(spam).label == "spam"
    assert mine.mark(ham).label == "ham"
    assert mine.store().query("SELECT COUNT(*) FROM judged") == [(1,)]


def test_marking_does_not_wait_for_another_writer(mine, monkeypatch):
    """The timeout of other writes is an hour here; the test would not end if marking had the same."""
    monkeypatch.setattr(database, "TIMEOUT", 3600.0)
    mine.learn_all(stream(300))
    holder = sqlite3.connect(mine.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with MailFilter(mine.path) as other:
        assert other.mark(message("s", " ".join(SPAM))).label == "spam"
    assert holder.execute("SELECT COUNT(*) FROM judged").fetchone() == (0,)
    holder.execute("ROLLBACK")
    holder.close()


def test_the_default_path_of_a_filter(monkeypatch, tmp_path):
    monkeypatch.delenv("SUFFICE_MAIL", raising=False)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    if default_path().is_relative_to(tmp_path):
        assert default_path() == tmp_path / "suffice" / "mail.db"
        with MailFilter() as mail:
            mail.learn(message(1), "ham")
        assert (tmp_path / "suffice" / "mail.db").exists()
    monkeypatch.setenv("SUFFICE_MAIL", str(tmp_path / "other.db"))
    assert default_path() == tmp_path / "other.db"


def test_a_filter_is_not_shared_with_itself(mine):
    mine.learn(message("x"), "ham")
    with (
        MailFilter(mine.path, shared=[mine.path]) as both,
        pytest.raises(MailError, match="is the filter itself: a filter cannot be shared with itself"),
    ):
        both.classify(message("x"))


def test_a_filter_that_was_removed_is_noticed(mine):
    mine.learn(message("x"), "ham")
    for path in mine.path.parent.glob("mail.db*"):
        path.unlink()
    with pytest.raises(MailError, match="there is no filter at"):
        mine.classify(message("x"))


def test_an_empty_message_is_not_learned(mine):
    with pytest.raises(MailError, match="the message is empty: there is nothing to learn from it"):
        mine.learn(b" \n", "ham")


def test_a_class_name_in_another_case_is_refused(mine):
    mine.learn(message("x"), "work")
    with pytest.raises(MailError, match="the class 'Work' differs from 'work' only in case: use 'work'"):
        mine.learn(message("y"), "Work")
