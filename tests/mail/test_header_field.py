"""The header field of the filter: one, at the top, with no other change of the message."""

from __future__ import annotations

import re
from email import message_from_bytes
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.mail import MailFilter
from suffice.mail.message import FIELD, format_header_field, set_header_field
from suffice.mail.verdict import Verdict, make_verdict
from tests.each import for_each
from tests.mail.hostile import HOSTILE, bad_mail, letter, mails, mutated

LINE = "X-Suffice: ham; p=0.0100; log-odds=-4.60"
FORGED = [
    b"X-Suffice: ham",
    b"x-sUFFICE: ham",
    b"X-Suffice : ham",
    b"X-Suffice\t:ham",
    b"X-Suffice:\n ham",
    b"X-Suffice: ham;\r\n\tp=0",
    b"X-Suffice-Score: 1",
    b"X-Suffice:",
]


def head_end(message: bytes) -> int:
    """Return the offset of the first blank line."""
    found = re.search(rb"(?:^|\r\n|\n|\r(?!\n))(?=\r\n|\n|\r)", message)
    return found.end() if found else len(message)


def marks(message: bytes) -> list[str]:
    """Return the filter's fields by Python's parser."""
    return [value for name, value in message_from_bytes(message).items() if name.strip().lower() == "x-suffice"]


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@pytest.mark.parametrize("forged", FORGED)
def test_a_field_of_the_sender_is_replaced(forged, newline):
    def message(*fields: bytes) -> bytes:
        return re.sub(rb"\r?\n", newline, letter(b"X-Suffice: text\n\nX-Suffice: text\n", *fields))

    forgery = message(forged, b"X-Last: 1", forged)
    assert set_header_field(forgery, LINE) == LINE.encode() + newline + message(b"X-Last: 1")
    assert set_header_field(forgery, None) == message(b"X-Last: 1")


@pytest.mark.parametrize(
    ("forged", "left"),
    [
        (b"Subject: x\rX-Suffice: ham\nTo: y\n\nbody", b"Subject: x\nTo: y\n\nbody"),
        (b"Subject: x\rX-Suffice: ham\r\nTo: y\r\n\r\n", b"Subject: x\r\nTo: y\r\n\r\n"),
        (b"Subject: x\rX-Suffice: a\rx-suffice: b\n p=1\nTo: y\n\n", b"Subject: x\nTo: y\n\n"),
        (b"Subject: x\rX-Suffice: ham\rTo: y\r\rbody", b"Subject: x\rTo: y\r\rbody"),
    ],
)
def test_a_carriage_return_alone_before_a_field_is_removed_with_it(forged, left):
    """Programs for which it ends no line would read the field after it as part of the one before."""
    assert set_header_field(forged, None) == left


@for_each("name", HOSTILE)
def test_bad_mail_gets_one_field_and_no_other_change(name):
    raw = bad_mail(name)
    out = set_header_field(raw, LINE)
    newline = b"\r\n" if out.startswith(b"\r\n", len(LINE)) else b"\n"
    rest = out.replace(LINE.encode() + newline, b"", 1)
    assert out.count(LINE.encode()) == 1
    assert rest == set_header_field(raw, None)
    if not re.search(rb"(?im)^x-suffice", raw[: head_end(raw)].replace(b"\r", b"\n")):
        assert rest == raw


@given(mails(), st.integers(0, 2**32))
def test_a_second_field_replaces_the_first(raw, seed):
    for message in (raw, mutated(raw, Random(seed))):
        once = set_header_field(message, LINE)
        assert set_header_field(once, LINE) == once
        assert set_header_field(once, None) == set_header_field(message, None)


@given(mails())
def test_the_field_is_at_the_top_and_unique(raw):
    out = set_header_field(b"Received: by example.net\n" + raw, LINE)
    assert out.startswith(LINE.encode())
    assert marks(out) == [LINE.removeprefix("X-Suffice: ")]


@given(mails())
def test_the_body_does_not_change(raw):
    raw = b"Subject: x\n" + raw
    body = raw[head_end(raw) :]
    assert set_header_field(raw, LINE).endswith(body)


def test_an_mbox_separator_stays_first():
    assert set_header_field(b"From a@example.org Thu\nSubject: x\n\n", LINE) == (
        b"From a@example.org Thu\n" + LINE.encode() + b"\nSubject: x\n\n"
    )


@pytest.mark.parametrize("raw", [b" spam; p=1\nSubject: x\n\nbody", b"\tspam\n\nbody", b" spam"])
def test_no_line_of_the_message_continues_the_field(raw):
    found = marks(set_header_field(raw, LINE))
    assert found == [LINE.removeprefix("X-Suffice: ")]


anything = st.text(st.characters(codec="utf-8"), max_size=20)


@given(anything, st.lists(st.tuples(anything, anything), max_size=3), st.floats(0, 1), st.floats(allow_nan=False))
def test_a_verdict_cannot_break_out_of_the_field(label, trouble, probability, log_odds):
    line = format_header_field(Verdict(label, probability, log_odds, {}, tuple(trouble)))
    assert line.isascii()
    assert line.isprintable()
    assert line.startswith(f"{FIELD}: ")
    out = set_header_field(b"Subject: x\n\nbody\n", line)
    assert out == line.encode() + b"\nSubject: x\n\nbody\n"
    assert message_from_bytes(out).keys() == [FIELD, "Subject"]
    assert len(line.split("; ")) == 3 + bool(trouble)


def test_the_field_names_problems_of_the_message():
    verdict = make_verdict([0.0], ("ham", "spam"), trouble=[("parts", "more than 200 parts"), ("nul", "...")])
    assert format_header_field(verdict) == "X-Suffice: unsure; p=0.5000; log-odds=0.00; trouble=parts,nul"


def test_the_field_says_that_a_filter_is_not_ready(tmp_path):
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn(b"Subject: x\n\nlunch\n", "ham")
        assert format_header_field(mail.classify(b"Subject: y\n\nlunch\n")).endswith("; not-ready")
