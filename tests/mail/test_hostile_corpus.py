"""The generated bad mail: reproducible, and checked by Python's parser."""

from __future__ import annotations

import re
from email import message_from_bytes
from email.message import Message
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.each import for_each
from tests.mail.hostile import CHARACTERS, CHARSETS, HOSTILE, bad_mail, mails, mutated

#: Names of the problems that the parser reports.
TROUBLES = {
    *("bytes", "headers", "header_bytes", "parts", "depth", "decoded", "words", "pieces", "tokens"),
    *("base64", "quoted-printable", "charset", "boundary", "nul", "empty", "no-header"),
}
each_kind = for_each("name", HOSTILE)


def parsed(name: str) -> Message:
    return message_from_bytes(bad_mail(name))


def defects(name: str) -> set[str]:
    message = parsed(name)
    found = []
    for part in message.walk():
        if not part.is_multipart():
            part.get_payload(decode=True)
        found += part.defects
    return {type(defect).__name__ for defect in found}


@each_kind
def test_each_kind_is_reproducible(name: str) -> None:
    make, trouble = HOSTILE[name]
    data = make()
    assert type(data) is bytes
    assert make() == data
    assert len(data) <= 21_000_000
    assert trouble is None or trouble in TROUBLES


def test_no_two_kinds_are_the_same_message() -> None:
    made = [bad_mail(name) for name in HOSTILE]
    assert len(set(made)) == len(HOSTILE) >= 75


def test_every_limit_is_exceeded_by_some_kind() -> None:
    assert {trouble for _, trouble in HOSTILE.values() if trouble} >= TROUBLES


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("long_line", 20_000_000),
        ("long_subject", 4_000_000),
        ("long_folded_header", 999_999),
        ("many_headers", 1_000_000),
        ("html_long_attribute", 1_000_000),
        ("boundary_of_ten_thousand_bytes", 40_000),
    ],
)
def test_large_kinds_have_the_stated_size(name: str, size: int) -> None:
    assert size <= len(bad_mail(name)) < 2 * size


def test_kinds_have_the_stated_counts() -> None:
    def count(name: str, part: bytes) -> int:
        return bad_mail(name).count(part)

    assert count("deep_multiparts", b"Content-Type: multipart/mixed; boundary=b") == 3000
    assert count("deep_messages", b"Content-Type: message/rfc822") == 1500
    assert count("many_parts", b"\n--b\n") == 100_000
    assert count("many_encoded_words", b"=?utf-8?q?a?=") == 20_000
    assert count("html_nested_tables", b"<table>") == count("html_nested_tables", b"</table>") == 10_000
    assert count("repeated_parameters", b"charset=") == count("many_continuations", b"name*") == 10_000
    assert len(set(bad_mail("million_tokens").split())) > 1_000_000
    assert count("html_unclosed_comment", b"-->") == count("html_style_never_closed", b"</style>") == 0


def test_few_levels_are_nested_like_many() -> None:
    """Python's parser reads the first levels of nested mail."""
    data = HOSTILE["deep_multiparts"].make()
    message = message_from_bytes(data[: data.index(b"boundary=b5\n")])
    assert [part.get_content_type() for part in message.walk()][:5] == ["multipart/mixed"] * 5
    data = HOSTILE["deep_messages"].make()
    message = message_from_bytes(data[: data.index(b"Subject: 5\n")])
    assert [part["Subject"] for part in message.walk()][:5] == ["hello", "0", "1", "2", "3"]


def test_python_counts_the_same_parts() -> None:
    data = HOSTILE["many_parts"].make()
    assert len(message_from_bytes(data[:7000] + b"--b--\n").get_payload()) > 900


@pytest.mark.parametrize(
    ("name", "defect"),
    [
        ("boundary_missing", "NoBoundaryInMultipartDefect"),
        ("boundary_that_never_comes", "StartBoundaryNotFoundDefect"),
        ("boundary_closed_at_once", "StartBoundaryNotFoundDefect"),
        ("boundary_never_closed", "CloseBoundaryNotFoundDefect"),
        ("base64_cut", "InvalidBase64LengthDefect"),
        ("base64_with_bad_characters", "InvalidBase64CharactersDefect"),
        ("only_a_body", None),
        ("continuation_first", "FirstHeaderLineIsContinuationDefect"),
        ("boundaries_that_begin_alike", None),
        ("boundary_of_signs", None),
        ("boundary_of_ten_thousand_bytes", None),
    ],
)
def test_python_finds_the_same_fault(name: str, defect: str | None) -> None:
    found = defects(name) - {"MultipartInvariantViolationDefect"}  # follows from others
    assert found == ({defect} if defect else set())


def test_complete_boundaries_are_found() -> None:
    for name in ("boundary_of_signs", "boundary_of_ten_thousand_bytes"):
        assert [part.get_payload().split()[0] for part in parsed(name).get_payload()] == ["one"]
    (outer,) = parsed("boundaries_that_begin_alike").get_payload()
    (inner,) = outer.get_payload()
    assert inner.get_payload() == "one\n--b-\n--bbb"


def test_every_charset_occurs_in_a_message() -> None:
    made = {make(): trouble for make, trouble in CHARACTERS.values()}
    for charset, trouble in CHARSETS.items():
        assert [found for data, found in made.items() if b"charset=" + charset + b"\n" in data] == [trouble]


def test_messages_name_only_hosts_reserved_for_examples() -> None:
    everything = b"".join(bad_mail(name)[:20_000] for name in HOSTILE)
    hosts = set(re.findall(rb"@([a-z.]+)|https?://([a-z.]+)", everything))
    assert {host for found in hosts for host in found if host} <= {b"example.org", b"example.net", b"example.com"}


@given(mails())
def test_generated_mail_is_parsed_by_python(data: bytes) -> None:
    assert type(data) is bytes
    message_from_bytes(data)


def test_generated_mail_is_of_many_kinds() -> None:
    seen: set[str] = set()

    @settings(max_examples=60)
    @given(mails())
    def look(data: bytes) -> None:
        message = message_from_bytes(data)
        seen.update(part.get_content_type() for part in message.walk())
        seen.update(type(defect).__name__ for part in message.walk() for defect in part.defects)

    look()
    assert {"text/plain", "text/html", "multipart/mixed", "message/rfc822", "CloseBoundaryNotFoundDefect"} <= seen


@given(st.binary(max_size=400), st.integers(0, 2**32))
def test_mutations_are_reproducible(data: bytes, seed: int) -> None:
    assert mutated(data, Random(seed)) == mutated(data, Random(seed))


def test_mutations_change_almost_every_message() -> None:
    data = HOSTILE["forged_marks"].make()
    changed = [mutated(data, Random(seed)) for seed in range(200)]
    assert sum(each != data for each in changed) > 180
    assert len(set(changed)) > 180
