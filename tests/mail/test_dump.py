"""Dumps, merged filters, and dumps of bogofilter."""

from __future__ import annotations

import decimal
import random
import re
import subprocess
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from suffice import _native, demo
from suffice.mail import MailError, MailFilter
from suffice.mail.dump import dump_filter, load_dump, merge_filters
from suffice.mail.features import extract_features
from suffice.mail.settings import change_settings
from tests.mail.samples import TOPICS, counted, demo_mail, message, stream
from tests.rights import open_folder, without_rights


@pytest.fixture
def mine(tmp_path):
    with MailFilter(tmp_path / "mine.db") as mail:
        yield mail


@pytest.fixture
def other(tmp_path):
    with MailFilter(tmp_path / "other.db") as mail:
        yield mail


def hostile() -> list[tuple[bytes, str]]:
    """Return messages whose words look like lines of a dump."""
    bodies = [
        "#x &y =1 = & # \t tab",
        "=5\t6\t7",
        "&00\tham\t1\t1",
        "#classes a b",
        "\u2028 \u0085 caf\u00e9 \u65e5\u672c",
    ]
    pairs = [(message(f"odd{i}", body), "spam") for i, body in enumerate(bodies)]
    raw = b"Subject: =?x?q?=ff=fe?=\nX-\xff: \xfe\n\n\xff\xfe\x00 \xc3\x28 " + b"\xc3\xa9" * 60 + b"\r bare\r\n"
    return [*pairs, (raw, "ham"), (b"", "ham")]


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_dump_of_a_loaded_dump_is_equal(mine, other, labels):
    mine.learn_all([*stream(80, 0, labels), *hostile()])
    for data, label in stream(10, 1, labels):
        mine.learn(data, label)
    mine.forget(stream(80, 0, labels)[3][0])
    change_settings(mine, half_life=45.0, tokens=5000)
    lines = list(dump_filter(mine))
    assert not any("\n" in line for line in lines)
    load_dump(other, lines)
    assert list(dump_filter(other)) == lines
    for data, _ in stream(20, 2, labels):
        assert other.classify(data) == mine.classify(data)
    for data, label in stream(80, 0, labels)[4:]:
        assert other.learned_as(data) == label
        assert other.learn(data, label) == "known"
    assert counted(other.store()) == counted(mine.store())


def test_dump_of_a_loaded_dump_of_real_mail_is_equal(mine, other):
    pairs = [(data, label) for label in ("ham", "spam") for data in demo_mail(label)]
    random.Random(0).shuffle(pairs)
    mine.learn_all(pairs)
    lines = list(dump_filter(mine))
    load_dump(other, [line + "\n" for line in lines])
    assert list(dump_filter(other)) == lines


def test_an_empty_filter_takes_the_cuts_of_a_dump(mine, other):
    mine.learn_all(stream(10))
    mine.cuts = (0.1, 0.99)
    load_dump(other, dump_filter(mine))
    assert other.cuts == (0.1, 0.99)


def test_a_token_that_was_pruned_and_learned_again_counts_once(mine, other):
    mine.store(create=True).put_setting("tokens", 1000)
    for i in range(40):
        mine.learn(message(i, " ".join(f"w{i}x{k}" for k in range(30))), "ham")
    mine.store().compact()
    known = set(mine.store().state().known(mine.store().names()).decode().splitlines())
    gone = next(word for word in (f"w{i}x1" for i in range(40)) if word not in known)
    for i in range(30):
        mine.learn(message(f"again{i}", gone), "ham")
    load_dump(other, dump_filter(mine))
    assert seen(other, gone) == [30, 0]


def seen(mail: MailFilter, word: str) -> list[float]:
    extracted = extract_features([message("x", word)])
    at = extracted.tokens(0).index(word)
    return mail.store().state().seen(extracted, 0)[2 * at : 2 * at + 2]


def test_counts_of_two_filters_add_up(mine, other, tmp_path):
    first, second = stream(40, 1), stream(30, 2)
    mine.learn_all(first)
    other.learn_all(second)
    (found,) = merge_filters(mine, [other])
    assert (found["messages"], found["both"]) == (30, 0)
    with MailFilter(tmp_path / "both.db") as both:
        both.learn_all([*first, *second])
        assert counted(mine.store()) == counted(both.store())
    assert all(mine.learned_as(data) == label for data, label in [*first, *second])
    assert counted(other.store())[0] == [sum(label == name for _, label in second) for name in ("ham", "spam")]


def test_merge_matches_classes_by_name(mine, other):
    mine.learn_all([(message("n", "headline"), "news"), *stream(40, 1)])
    other.learn_all(stream(60, 2, ("ham", "spam", "work")))
    merge_filters(mine, [other])
    assert set(mine.classes) == {"ham", "spam", "news", "work"}
    expected = {name: sum(label == name for _, label in stream(60, 2, ("ham", "spam", "work"))) for name in TOPICS}
    messages = dict(zip(mine.classes, mine.store().state().messages, strict=True))
    assert messages["work"] == expected["work"]
    assert messages["spam"] == expected["spam"] + sum(label == "spam" for _, label in stream(40, 1))
    assert messages["news"] == 1
    assert mine.learned_as(stream(60, 2, ("ham", "spam", "work"))[0][0]) in TOPICS


def test_merge_reports_messages_that_both_have_learned(mine, other):
    mine.learn_all(stream(10))
    other.learn_all(stream(15))
    assert merge_filters(mine, [other])[0]["both"] == 10


def test_a_filter_is_not_merged_with_itself(mine):
    mine.learn_all(stream(10))
    before = counted(mine.store())
    with MailFilter(mine.path) as same, pytest.raises(MailError, match=str(mine.path)):
        merge_filters(mine, [same])
    assert counted(mine.store()) == before


def test_merge_adds_all_filters_or_none(mine, other, tmp_path):
    mine.learn_all(stream(10, 1))
    other.learn_all(stream(10, 2))
    (tmp_path / "bad.db").write_bytes(b"no filter" * 1000)
    before = counted(mine.store())
    with MailFilter(tmp_path / "bad.db") as bad, pytest.raises(MailError, match=r"bad\.db cannot be read as a filter"):
        merge_filters(mine, [other, bad])
    assert counted(mine.store()) == before


def test_a_dump_is_a_consistent_snapshot(mine, other):
    mine.learn_all(stream(10))
    lines = dump_filter(mine)
    begun = [next(lines)]
    with MailFilter(mine.path) as other_process:
        other_process.learn(message("later"), "ham")
    load_dump(other, [*begun, *lines])
    assert other.store().query("SELECT COUNT(*) FROM learned") == [(sum(other.store().state().messages),)]


def test_a_read_only_filter_is_dumped():
    with open_folder() as place:
        with MailFilter(place / "site.db") as mail:
            for data, label in stream(10):
                mail.learn(data, label)
            expected = list(dump_filter(mail))
        (place / "site.db").chmod(0o444)
        place.chmod(0o555)
        with MailFilter(place / "site.db") as site:
            assert without_rights(lambda: list(dump_filter(site))) == expected


def test_merge_keeps_decayed_weights(mine, other, monkeypatch):
    import time

    now = 20_000 * 86400
    monkeypatch.setattr(time, "time", lambda: now)
    mine.learn(message("m", "lunch"), "ham")
    change_settings(mine, half_life=10.0)
    other.learn(message("o", "lunch"), "ham")
    change_settings(other, half_life=20.0)
    now += 10 * 86400
    merge_filters(mine, [other])
    assert seen(mine, "lunch")[0] == pytest.approx(0.5 + 0.5**0.5, rel=1e-6)


# Numbers


def read(*texts: str) -> np.ndarray:
    """Return the weights as a dump with these digits has them."""
    state = _native.mail.State(2)
    state.take_rows([f"word{i}\t1\t0\t0\t{text}\t0" for i, text in enumerate(texts)], [], [1.0, 0.0])
    return np.frombuffer(state.columns()["weights"], np.float32)


def nearest(text: str) -> np.float32:
    """Return the nearest float of exact arithmetic, the even one of two."""
    near = np.float32(float(text))
    candidates = [near, np.nextafter(near, np.float32(np.inf)), np.nextafter(near, np.float32(-np.inf))]
    exact = Fraction(text)
    return min(candidates, key=lambda each: (abs(Fraction(float(each)) - exact), each.view(np.uint32) & 1))


def digits() -> list[str]:
    """Return numbers as text: of floats, halfway between two, and so close to that that 19 digits do not tell."""
    draws = np.random.default_rng(0)
    floats = draws.integers(1, 0x5D000000, 300, dtype=np.uint32).view(np.float32)
    subnormal = draws.integers(1, 0x00800000, 50, dtype=np.uint32).view(np.float32)
    found = []
    for low in (*floats, *subnormal):
        with decimal.localcontext(prec=200):
            half = (Decimal(float(low)) + Decimal(float(np.nextafter(low, np.float32(np.inf))))) / 2
            text = f"{half:f}"
            text += "" if "." in text else "."
            found += [str(low), f"-{float(low)!r}", f"{half:.17e}", f"{half:e}", text, f"{text}{'0' * 200}1", text[:-1]]
    fixed = ["0", "-0", "5.", ".5", "-.25", "1e-45", "16777217", "16777219", "1E5", "1e+5", "000.00010e4", "1e18"]
    return [*fixed, "0e9999", "9.99999984306749440e17", *found]


def test_weights_of_a_dump_are_the_nearest_floats():
    texts = digits()
    expected = np.array([nearest(text) for text in texts])
    assert [
        text for text, same in zip(texts, read(*texts).view("i4") == expected.view("i4"), strict=True) if not same
    ] == []


NO_NUMBERS = ["", "-", "+1", ".", "1e", "1e+", "1e5x", " 1", "1 ", "1,5", "0x1", "1.5.2", "inf", "-inf", "nan"]
BEYOND = ["1.1e18", "-1e19", "1e400", "1e999999999999999999999", "1e-46", "7e-46", "1e-99999999999999999999"]


@pytest.mark.parametrize("text", [*NO_NUMBERS, *BEYOND])
def test_a_number_of_a_dump_without_a_near_float_is_refused(text):
    with pytest.raises(ValueError, match=f"'{re.escape(text)}' is no number"):
        read(text)


# Damaged dumps


def changed(lines: list[str], begin: str, make: object) -> list[str]:
    at = next(i for i, line in enumerate(lines) if line.startswith(begin))
    return [*lines[:at], make(lines[at]), *lines[at + 1 :]]  # type: ignore[operator]


DAMAGED = {
    "no classes": ("#classes", lambda line: "#nothing"),
    "no messages": ("#messages", lambda line: "#nothing"),
    "too many messages": ("#messages", lambda line: line + " 7"),
    "messages that are no number": ("#messages", lambda line: "#messages x y"),
    "negative messages": ("#messages", lambda line: "#messages -1 5"),
    "no such class": ("#classes", lambda line: "#classes ham spa/m"),
    "a line without a tab": ("part:", lambda line: "part"),
    "a word for a number": ("part:", lambda line: line.replace("\t", "\tx", 1)),
    "no number": ("part:", lambda line: "part:text/plain\tnan\t1\t1\t0\t0"),
    "too few fields": ("part:", lambda line: line.rsplit("\t", 1)[0]),
    "no such gram": ("=", lambda line: "=999999999\t0\t0"),
    "a gram cut short": ("=", lambda line: line.rsplit("\t", 1)[0]),
    "a message of no class": ("&", lambda line: line.replace("\tham", "\tnone").replace("\tspam", "\tnone")),
    "a message without a name": ("&", lambda line: "&xyz\tham\t1.0\t1"),
    "a message without a weight": ("&", lambda line: "&00\tham\tx\t1"),
    "a half-life that is no number": ("#settings", lambda line: "#settings half_life=x"),
    "an empty line": ("part:", lambda line: ""),
    "too many fields": ("part:", lambda line: line + "\t5"),
    "mix that is no number": ("#mix ", lambda line: "#mix nan nan nan"),
    "mix cut short": ("#mix ", lambda line: "#mix 0.5"),
    "a half-life of nothing": ("#settings", lambda line: "#settings half_life=0"),
    "a half-life below nothing": ("#settings", lambda line: "#settings half_life=-3"),
    "a half-life that is not a number": ("#settings", lambda line: "#settings half_life=nan"),
    "a day that cannot be": ("#settings", lambda line: "#settings day=-1"),
    "a day that is no number": ("#settings", lambda line: "#settings day=x"),
    "an extractor that cannot be": ("#settings", lambda line: "#settings features=0"),
    "no tokens": ("#settings", lambda line: "#settings tokens=-5"),
    "a message that weighs no number": ("&", lambda line: "&" + "00" * 16 + "\tham\tnan\t1"),
    "a message of negative weight": ("&", lambda line: "&" + "00" * 16 + "\tham\t-1.0\t1"),
}


@pytest.mark.parametrize("before", [0, 12])
def test_a_damaged_dump_does_not_change_the_filter(mine, other, before):
    mine.learn_all(stream(20))
    whole = list(dump_filter(mine))
    other.store(create=True)
    other.learn_all(stream(before, 5))
    as_it_was = list(dump_filter(other))
    for what, damage in DAMAGED.items():
        with pytest.raises(MailError, match=r"the dump('s settings are| is) damaged"):
            load_dump(other, changed(whole, *damage))
        assert list(dump_filter(other)) == as_it_was, what


@pytest.mark.parametrize("share", [0.2, 0.5, 0.9])
def test_a_truncated_dump_is_refused(mine, other, share):
    mine.learn_all(stream(40))
    lines = list(dump_filter(mine))
    with pytest.raises(MailError, match="the dump is truncated: line"):
        load_dump(other, lines[: int(share * len(lines))])


@pytest.mark.parametrize(
    "what",
    ["a line without a tab", "a word for a number", "too few fields", "a gram cut short", "a message without a weight"],
)
def test_the_damaged_line_of_a_dump_is_named(mine, other, what):
    mine.learn_all(stream(20))
    whole = list(dump_filter(mine))
    lines = changed(whole, *DAMAGED[what])
    number = next(i for i, (a, b) in enumerate(zip(whole, lines, strict=True), 1) if a != b)
    with pytest.raises(MailError, match=rf"line {number}\b"):
        load_dump(other, lines)


@pytest.mark.parametrize("lines", [[], [""], ["hello"], ["#suffice-mail 2"], ["a b c d"], ["x 1 2"]])
def test_text_that_is_not_a_dump_is_refused(mine, lines):
    mine.learn_all(stream(5))
    before = list(dump_filter(mine))
    with pytest.raises(
        MailError, match=r"is neither of a dump of suffice nor of bogoutil|has no number of learned messages"
    ):
        load_dump(mine, lines)
    assert list(dump_filter(mine)) == before


# bogofilter


BOGOFILTER = """\
.MSG_COUNT 120 80 20240105
.WORDLIST_VERSION 20070521 0 20240105
cheap 60 1 20240105
lunch 0 40 20240105
subj:pills 30 0 20240104
head:X-Mailer 5 5 20240104
url:example.com 7 2 20240104
mime:Content-Type 100 70 20240104
caf\u00e9 2 9 20240104
"""


def test_a_bogofilter_dump_is_loaded(mine):
    found = load_dump(mine, BOGOFILTER.splitlines(keepends=True))
    assert found == {"messages": 200, "tokens": 5, "both": 0, "unknown": 3}
    assert mine.store().state().messages == [80, 120]
    assert seen(mine, "cheap") == [1, 60]
    assert seen(mine, "caf\u00e9") == [9, 2]
    assert mine.classify(message("x", "cheap")).probability > 0.5
    assert mine.classify(message("x", "lunch")).probability < 0.5
    mine.learn_all(stream(20))
    assert sum(mine.store().state().messages) == 220


def test_large_counts_of_bogofilter_are_exact(mine):
    load_dump(mine, [".MSG_COUNT 2000003 3000001 20240101", "cheap 1234567 7654321 20240101"])
    assert seen(mine, "cheap") == [7654321, 1234567]


@pytest.mark.parametrize("line", ["cheap x 1 20240101", "cheap", "cheap nan 1 20240101", "cheap -1 2 20240101"])
def test_a_damaged_line_of_a_bogofilter_dump_is_named(mine, line):
    mine.learn_all(stream(5))
    before = list(dump_filter(mine))
    with pytest.raises(MailError, match="line 2"):
        load_dump(mine, [".MSG_COUNT 2 3 20240101", line])
    assert list(dump_filter(mine)) == before


def test_a_bogofilter_dump_without_a_message_count_is_refused(mine):
    with pytest.raises(MailError, match="MSG_COUNT"):
        load_dump(mine, ["cheap 1 2 20240101"])


@pytest.mark.needs("bogofilter")
def test_a_dump_of_bogofilter_itself_is_loaded(mine, tmp_path: Path):
    for flag, which in (("-s", "spam"), ("-n", "ham")):
        with demo.mailbox(which).open("rb") as box:
            subprocess.run(["bogofilter", "-d", tmp_path, "-M", flag], stdin=box, check=True, timeout=60)
    text = subprocess.run(
        ["bogoutil", "-d", tmp_path / "wordlist.db"], capture_output=True, check=True, timeout=60
    ).stdout.decode("utf-8", "replace")
    found = load_dump(mine, text.splitlines(keepends=True))
    spam, ham = len(demo_mail("spam")), len(demo_mail("ham"))
    assert found["messages"] == spam + ham
    assert mine.store().state().messages == [ham, spam]
    assert found["tokens"] + found["unknown"] > 500
    assert found["tokens"] > 2 * found["unknown"]
    right = [
        (mine.classify(data).probability > 0.5) == (which == "spam")
        for which in ("spam", "ham")
        for data in demo_mail(which)
    ]
    assert sum(right) > 0.9 * len(right)


def test_bogofilter_tokens_may_contain_other_blanks(mine):
    found = load_dump(mine, [".MSG_COUNT 5 7 20260101\n", "caf\u00a0e\u2003au 4 0 20260101\n", "\u00a0 1 1 20260101\n"])
    assert found["tokens"] == 2
    assert any(line.startswith("caf\u00a0e\u2003au\t") for line in dump_filter(mine))
