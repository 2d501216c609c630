"""A header of ham does not clear a body of spam, nor the reverse; what the own server adds counts in full."""

from __future__ import annotations

import math
import random

import numpy as np
import pytest

from suffice import _native
from suffice.mail import MailFilter
from suffice.mail.explanation import explain
from suffice.mail.features import extract_features
from tests.mail.arithmetic import Reference
from tests.mail.samples import TOPICS

OWN = "Received: from {} by mx.home.example with SMTP\n"


def letter(number: object, head: str, body: str, server: str = "") -> bytes:
    """Return a message whose header has words of one topic, and whose body those of another."""
    rng = random.Random(f"{number}")
    words = {name: " ".join(rng.sample(TOPICS[name].split(), 6)) for name in (head, body)}
    relay = OWN.format(server) if server else ""
    return (
        f"{relay}Received: from {head}-relay.example by hub.example\nFrom: {head}@{head}.example\n"
        f"X-Mailer: {head}ware\nSubject: {words[head]}\nMessage-ID: <{number}@{head}.example>\n\n{words[body]}\n"
    ).encode()


def letters(count: int, labels: tuple[str, ...] = ("ham", "spam")) -> list[tuple[bytes, str]]:
    """Return messages with headers and bodies of their class, through a server of their class."""
    rng = random.Random(0)
    drawn = [rng.choice(labels) for _ in range(count)]
    return [(letter(i, label, label, f"{label}-gate.example"), label) for i, label in enumerate(drawn)]


@pytest.fixture(scope="module")
def mail(tmp_path_factory):
    with MailFilter(tmp_path_factory.mktemp("conflict") / "mail.db") as mine:
        mine.learn_all(letters(200))
        yield mine


def test_origins_are_those_of_the_message():
    raw = b"Delivered-To: me\nReceived: from a\n\tby b\nReturn-Path: <c>\nReceived: d\nMIME-Version: 1.0\n\ne"
    extracted = extract_features([raw, raw.replace(b"Received", b"X-Hop")])
    first, second = (dict(zip(extracted.tokens(i), extracted.origins(i), strict=True)) for i in (0, 1))
    assert {first["delivered-to:me"], first["received:a"], first["received:b"]} == {"server"}
    assert {first["return-path:c"], first["received:d"]} == {"header"}
    assert {first["mime-version:1.0"], first["e"]} == {"body"}
    assert set(second.values()) == {"header", "body"}, "without Received, nobody knows which fields the server added"


def test_the_return_path_above_the_own_field_is_not_the_servers():
    extracted = extract_features([b"Return-Path: <a@b.example>\nReceived: from c\n\nd"])
    origins = dict(zip(extracted.tokens(0), extracted.origins(0), strict=True))
    assert origins["return-path:a@b.example"] == "header"
    assert origins["received:c"] == "server"


@pytest.mark.parametrize(
    "raw", [b"Subject: abcdefg\n\nabcdefg hijk", b"\n\nabcdefg", b"Subject: abcdefg", b"", b"x" * 9000]
)
def test_grams_of_the_header_come_first(raw):
    extracted = extract_features([raw, raw.partition(b"\n\n")[0]])
    count = extracted.header_grams(0)
    assert 0 <= count <= len(extracted.grams(0))
    if raw.startswith(b"Subject"):
        assert set(extracted.grams(1)) <= set(extracted.grams(0)[:count])
    else:
        assert count == 0


@pytest.mark.parametrize("labels", [("ham", "spam"), ("ham", "spam", "work")])
def test_conflicting_evidence_is_bounded_as_in_plain_loops(labels):
    state, reference = _native.mail.State(len(labels)), Reference(len(labels))

    def features(data: bytes) -> tuple[list[str], list[int], list[str], int]:
        extracted = extract_features([data])
        return extracted.tokens(0), extracted.grams(0), extracted.origins(0), extracted.header_grams(0)

    for data, label in letters(40, labels):
        state.learn(extract_features([data]), 0, labels.index(label), 1.0, 0, 1)
        reference.learn(*features(data), labels.index(label))
    bounded = 0
    for i, (head, body) in enumerate([("ham", "spam"), ("spam", "ham"), ("ham", "ham"), ("spam", "spam")] * 3):
        data = letter(f"x{i}", head, body, f"{random.Random(i).choice(labels)}-gate.example")
        expected = reference.scores(*features(data))
        np.testing.assert_allclose(state.score(extract_features([data]), 0), expected, rtol=1e-6, atol=1e-9)
        reference.rates["conflict"] = 1e9
        free = reference.scores(*features(data))
        reference.rates["conflict"] = 4.0
        spam = 0 if len(labels) == 2 else 1
        bounded += free[spam] != expected[spam]
        assert [free[c] == expected[c] for c in range(len(expected)) if c != spam] == [True] * (len(expected) - 1)
    assert 3 <= bounded <= 9


def test_a_header_of_ham_does_not_make_a_body_of_spam_ham(mail):
    for i in range(10):
        assert mail.classify(letter(f"a{i}", "ham", "spam", "spam-gate.example")).label != "ham"
        assert mail.classify(letter(f"a{i}", "spam", "ham", "spam-gate.example")).label != "ham"
        assert mail.classify(letter(f"a{i}", "ham", "ham", "ham-gate.example")).label == "ham"
        assert mail.classify(letter(f"a{i}", "spam", "spam", "spam-gate.example")).label == "spam"


def test_fields_of_the_own_server_count_in_full(mail):
    """The bound is on what others write; what the own server adds moves the log-odds by its own evidence."""
    raw = {gate: letter("b", "ham", "spam", f"{gate}-gate.example") for gate in ("ham", "spam")}
    assert mail.classify(raw["ham"]).log_odds < mail.classify(raw["spam"]).log_odds
    forged = raw["spam"].replace(
        b"Received: from ham-relay", b"Received: from ham-gate.example by mx.home.example\nReceived: from ham-relay"
    )
    assert mail.classify(forged).log_odds > mail.classify(raw["ham"]).log_odds


@pytest.mark.parametrize(("head", "body"), [("ham", "spam"), ("spam", "ham")])
def test_contributions_add_up_where_they_are_bounded(mail, head, body):
    data = letter("c", head, body, "spam-gate.example")
    for label in mail.classes:
        why = explain(mail, data, label)
        total = math.fsum(each.effect for each in why.contributions) + why.base
        assert total == pytest.approx(why.total, abs=1e-6)
