"""The demo mailbox: well-formed mbox files, reserved names and addresses only, and a task of medium difficulty."""

from __future__ import annotations

import mailbox
import re
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from email.utils import parsedate_to_datetime
from functools import cache
from ipaddress import ip_address, ip_network
from typing import Any

import numpy as np
import pytest
from sklearn.model_selection import StratifiedKFold, cross_val_predict

from suffice import TextClassifier, demo

FILES = {"ham": 65, "spam": 47, "new": 12}
#: Subject of each malformed message, and its defect.
BROKEN = {
    "New device signed in to your account": "CloseBoundaryNotFoundDefect",
    "Osei Dental: unpaid bill, immediate payment": "InvalidHeaderDefect",
}
#: Classes of the new messages in their order. Two are hard: a museum's offers to members, a stranger's polite question.
NEW = ["ham", "spam", "ham", "hard", "spam", "ham", "spam", "ham", "hard", "spam", "ham", "spam"]
RESERVED = re.compile(r"(^|\.)(example(\.(com|net|org))?|test|invalid)$", re.IGNORECASE)
NETWORKS = [ip_network(each) for each in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")]
each_file = pytest.mark.parametrize("which", FILES)


@cache
def messages(which: str) -> list[EmailMessage]:
    box = mailbox.mbox(demo.mailbox(which), create=False)
    found = [message_from_bytes(box.get_bytes(key), policy=default) for key in box.iterkeys()]
    box.close()
    return found


def texts(message: EmailMessage) -> Iterator[str]:
    yield str(message["Subject"])
    for part in message.walk():
        if part.get_content_maintype() == "text":
            yield part.get_content()


def content(which: str) -> str:
    return "\n".join(text for message in messages(which) for text in (*texts(message), *map(str, message.values())))


def defects(message: EmailMessage) -> list[Any]:
    found: list[Any] = []
    for part in message.walk():
        if not part.is_multipart():
            part.get_payload(decode=True)
        found += [*part.defects, *(each for value in part.values() for each in value.defects)]
    return found


@each_file
def test_number_of_messages(which: str) -> None:
    assert len(messages(which)) == FILES[which]
    assert demo.mailbox(which).read_bytes().count(b"\nFrom ") == FILES[which] - 1
    assert b"\r" not in demo.mailbox(which).read_bytes()


def test_files_are_small() -> None:
    assert sum(demo.mailbox(which).stat().st_size for which in FILES) < 250_000


def test_unknown_mailbox_raises() -> None:
    with pytest.raises(ValueError, match="which must be one of ham, spam, new; got 'eggs'"):
        demo.mailbox("eggs")


@each_file
def test_only_the_listed_messages_have_defects(which: str) -> None:
    for message in messages(which):
        wrong = {type(each).__name__ for each in defects(message)}
        assert wrong == ({BROKEN[message["Subject"]]} if message["Subject"] in BROKEN else set())


@each_file
def test_headers_are_complete(which: str) -> None:
    for message in messages(which):
        assert all(message[name] for name in ("From", "To", "Date", "Subject", "Message-ID", "Return-Path", "Received"))
        assert message["Delivered-To"] == "nora@lindqvist.example"
        assert "\n\n" in message.as_string()


def test_messages_are_distinct() -> None:
    everything = [message for which in FILES for message in messages(which)]
    assert max(Counter(message["Message-ID"] for message in everything).values()) == 1
    assert max(Counter("\n".join(texts(message)) for message in everything).values()) == 1


@each_file
def test_dates_increase_and_span_ten_weeks(which: str) -> None:
    sent = [parsedate_to_datetime(message["Date"]) for message in messages(which)]
    arrived = [parsedate_to_datetime(message.get_all("Received")[0].split(";")[-1]) for message in messages(which)]
    assert sent == sorted(sent)
    assert arrived == sorted(arrived)
    assert all(0 <= (there - here).total_seconds() < 60 for here, there in zip(sent, arrived, strict=True))
    assert sent[0].date() >= datetime(2026, 1, 5).date()
    assert sent[-1].date() < datetime(2026, 3, 16).date()
    assert which == "new" or sent[-1] < parsedate_to_datetime(messages("new")[0]["Date"])


@each_file
def test_hosts_and_addresses_are_reserved_for_examples(which: str) -> None:
    text = content(which)
    hosts = re.findall(r"@([\w.-]+\w)|https?://([\w.-]+\w)|(?:from|by) ([\w-]+\.[\w.-]*\w) |mailfrom=([\w.-]+)", text)
    named = [host for found in hosts for host in found if host and not re.fullmatch(r"[\d.]+", host)]
    assert len(named) > FILES[which]
    assert [host for host in named if not RESERVED.search(host)] == []
    numbers = re.findall(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])", text)
    assert len(numbers) >= FILES[which]
    assert [each for each in numbers if not any(ip_address(each) in network for network in NETWORKS)] == []
    assert not re.search(
        r"\b[\w-]+\.(com|net|org|de|fr|ru|uk|io|gov|edu)\b(?<!example\.com)(?<!example\.net)(?<!example\.org)", text
    )


def test_replies_refer_to_existing_messages() -> None:
    known = {message["Message-ID"] for message in messages("ham")}
    replies = [message["In-Reply-To"] for message in messages("ham") if message["In-Reply-To"]]
    assert len(replies) > 10
    assert set(replies) <= known


def test_content_types_charsets_and_encodings() -> None:
    kinds = {
        which: {part.get_content_type() for message in messages(which) for part in message.walk()} for which in FILES
    }
    assert {"text/plain", "text/html", "multipart/alternative", "multipart/mixed", "application/pdf"} <= kinds["ham"]
    assert {"text/html", "multipart/related", "image/gif", "application/zip"} <= kinds["spam"]
    charsets = {part.get_content_charset() for message in messages("spam") for part in message.walk()}
    assert {"koi8-r", "iso-8859-1", "windows-1252", "utf-8"} <= charsets
    encodings = [part["Content-Transfer-Encoding"] for message in messages("spam") for part in message.walk()]
    assert {"base64", "quoted-printable", "8bit"} <= set(encodings)
    assert "Рассылка рекламы" in content("spam")
    assert "Herzliche Grüße" in content("ham")
    assert "marée basse" in content("ham")
    assert any(re.search(rb"Subject: .*[\x80-\xff]", line) for line in demo.mailbox("spam").read_bytes().splitlines())


def test_most_ham_is_from_recurring_senders() -> None:
    counts = Counter(str(message["From"]) for message in messages("ham"))
    assert sum(times for times in counts.values() if times > 1) > 0.7 * FILES["ham"]


def test_classification_of_messages_is_of_medium_difficulty() -> None:
    """By words alone: accuracy from 0.85 to below 1, and all clear new messages right."""
    known = [(which, message) for which in ("ham", "spam") for message in messages(which)]
    labels = np.array([which for which, _ in known])
    words = np.array(["\n".join(texts(message)) for _, message in known], dtype=object)
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    assert 0.85 <= np.mean(cross_val_predict(TextClassifier(), words, labels, cv=folds) == labels) < 1
    predicted = TextClassifier().fit(words, labels).predict(["\n".join(texts(message)) for message in messages("new")])
    assert [(index, label) for index, label in enumerate(NEW) if label not in ("hard", predicted[index])] == []
