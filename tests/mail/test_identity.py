"""The identity of a message does not depend on delivery and mailbox formats."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from suffice.demo import mailbox as demo
from suffice.mail.mailboxes.streams import read_messages
from suffice.mail.message import identify_message, set_header_field
from tests.mail.hostile import headed, letter, mails

ADDED = [
    b"Received: from a.example (b.example [192.0.2.1])\n\tby c.example; Thu, 1 Jan 1970 00:00:00 +0000",
    b"Return-Path: <a@example.org>",
    b"Status: RO",
    b"X-Status: A",
    b"X-Keywords: $Junk",
    b"X-Suffice: spam; p=0.9980",
    b"X-UID: 17",
    b"Delivered-To: b@example.net",
]
NAMED = letter(b"hello\n\nX-Status: text\n", b"Message-ID: <1@example.org>")


def on_top(raw: bytes, fields: list[bytes]) -> bytes:
    return b"".join(each + b"\n" for each in fields) + raw


def at_the_end(raw: bytes, fields: list[bytes]) -> bytes:
    head, blank, body = raw.partition(b"\n\n")
    return b"\n".join([head, *fields]) + blank + body


@pytest.mark.parametrize("raw", [NAMED, letter(b"hello\n"), letter(b""), b"Subject: x", b"X: y\n\nbody"])
@given(fields=st.lists(st.sampled_from(ADDED), max_size=4))
def test_delivery_headers_make_no_difference(raw, fields):
    assert identify_message(on_top(raw, fields)) == identify_message(at_the_end(raw, fields)) == identify_message(raw)


@given(mails(), st.lists(st.sampled_from(ADDED), max_size=3))
def test_delivery_headers_make_no_difference_to_any_message(raw, fields):
    raw = b"Message-ID: <1@example.org>\nSubject: x\n" + raw
    assert identify_message(on_top(raw, fields)) == identify_message(raw)


@given(mails())
def test_line_ends_make_no_difference(raw):
    raw = b"Subject: x\n" + raw.replace(b"\r", b"")
    assert identify_message(raw.replace(b"\n", b"\r\n")) == identify_message(raw)


@pytest.mark.parametrize("size", [1 << 20, (1 << 20) + 1000, 5 << 20])
def test_line_ends_make_no_difference_to_long_mail(size):
    raw = b"Message-ID: <1@example.org>\n\n" + b"a line\n" * (size // 7)
    assert identify_message(raw.replace(b"\n", b"\r\n")) == identify_message(raw)


@pytest.mark.parametrize(
    "raw",
    [b"\na\n\nb", b"\r\na\r\n\r\nb", b"\n", b"", b"text without a head\n\nmore\n"],
)
def test_the_added_field_makes_no_difference_to_mail_without_a_header(raw):
    assert identify_message(set_header_field(raw, "X-Suffice: ham")) == identify_message(raw)


def test_mailbox_formats_make_no_difference():
    raw = letter(b"\nFrom here on\n>From there\n")
    assert identify_message(raw) == identify_message(raw.replace(b"\nFrom here", b"\n>From here"))
    assert identify_message(raw) == identify_message(raw + b"\n\n")
    assert identify_message(raw) == identify_message(b"From a@example.org Thu Jan  1 00:00:00 1970\n" + raw)


@pytest.mark.parametrize(
    "other",
    [
        letter(b"hello\n\nX-Status: text\n", b"Message-ID: <2@example.org>"),
        letter(b"hello\n\nX-Status: another\n", b"Message-ID: <1@example.org>"),
        letter(b"hello\n\nX-Status: text\n"),
    ],
)
def test_other_messages_have_other_identities(other):
    assert identify_message(other) != identify_message(NAMED)


@pytest.mark.parametrize("field", [b"From: x@example.com", b"Date: Thu, 1 Jan 1970 00:00:00 +0000", b"Subject: x"])
def test_without_a_message_id_from_date_and_subject_identify(field):
    assert identify_message(headed(field)) != identify_message(headed())
    assert identify_message(headed(b"Message-ID: <1@example.org>", field)) == identify_message(
        headed(b"Message-ID: <1@example.org>")
    )


@pytest.mark.parametrize(
    "named", [b"Message-ID: <1@example.org>", b"MESSAGE-ID:<1@example.org>", b"Message-Id:\n  <1@example.org>  "]
)
def test_a_message_id_may_be_written_in_several_ways(named):
    assert identify_message(headed(named)) == identify_message(headed(b"Message-ID: <1@example.org>"))


@given(mails(), mails())
def test_bodies_distinguish_messages(one, other):
    assume(one.replace(b"\r", b"").strip() != other.replace(b"\r", b"").strip())
    assume(b"From " not in one + other)
    assert identify_message(b"Subject: x\n\n" + one) != identify_message(b"Subject: x\n\n" + other)


def test_demo_messages_have_distinct_identities():
    found = [each.data for which in ("ham", "spam", "new") for each in read_messages([demo(which)])]
    assert len({identify_message(raw) for raw in found}) == len(found)
