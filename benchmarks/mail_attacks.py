"""Attacks on the spam filter and on bogofilter: how many caught spams pass as ham when they borrow from ham.

``SUFFICE_DATA=folder python -m benchmarks.mail_attacks`` stores the table. In every draw, both filters learn the same
random messages of SpamAssassin; 150 spams that suffice catches are then changed with what ham has that neither learned,
and of bogofilter 150 that it catches:

- *words*: 400 words drawn from bodies of ham, as a paragraph at the end.
- *headers*: the whole header of a ham message, but for the fields that describe the spam's own body.
- *forged headers*: the same, below the fields that the recipient's own server added to the spam: an attacker writes any
  field, and those of the recipient's server are added on top of them.
"""

from __future__ import annotations

import argparse
import random
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.mail_corpora import Bogofilter, LabelledMail, mean_and_margin, read_corpus
from benchmarks.provenance import store
from suffice import _native
from suffice.mail.features import available_cores, extract_features
from suffice.mail.verdict import make_verdict

RESULTS = Path(__file__).with_name("mail_attacks.md")
LEARNED, VICTIMS, WORDS = 4000, 150, 400
#: Fields that describe the body, and stay with it.
BODY_FIELDS = (b"content-", b"mime-version")
#: Fields that a mail server adds on top when it takes a message; Received only until the first of another server.
SERVER_FIELDS = (b"return-path", b"delivered-to", b"x-original-to", b"authentication-results", b"received-spf")


def split_message(data: bytes) -> tuple[list[bytes], bytes]:
    """Return the header fields of a message, each with its line ends, and the body."""
    data = data.replace(b"\r\n", b"\n")
    if data.startswith(b"From "):
        data = data.partition(b"\n")[2]
    head, _, body = data.partition(b"\n\n")
    return [field + b"\n" for field in re.split(rb"\n(?![ \t])", head)], body


def describes_body(field: bytes) -> bool:
    """Return whether a header field describes the body."""
    return field.lower().startswith(BODY_FIELDS)


def with_words(data: bytes, words: list[bytes]) -> bytes | None:
    """Return a message with words at the end of its text; None if its body is encoded."""
    fields, body = split_message(data)
    described = b"".join(field for field in fields if describes_body(field))
    boundary = re.search(rb'(?i)multipart/[^;]*;.*?boundary="?([^"\n;]+)', described, re.DOTALL)
    text = b"\n".join(b" ".join(words[i : i + 12]) for i in range(0, len(words), 12)) + b"\n"
    if boundary is not None:
        body, end, after = body.rpartition(b"--" + boundary[1].strip() + b"--")
        mark = b"--" + boundary[1].strip() + b"\n"
        body = body + mark + b"Content-Type: text/plain\n\n" + text + end + after if end else body + after + mark
    elif re.search(rb"(?i)base64|multipart/", described):
        return None
    else:
        body = body.rstrip(b"\n") + b"\n\n" + text
    return b"".join(fields) + b"\n" + body


def with_header(data: bytes, donor: bytes) -> bytes:
    """Return the body of a message, and the fields that describe it, below the other fields of another."""
    fields, body = split_message(data)
    borrowed = [field for field in split_message(donor)[0] if not describes_body(field)]
    return b"".join(borrowed + [field for field in fields if describes_body(field)]) + b"\n" + body


def with_forged_header(data: bytes, donor: bytes) -> bytes:
    """Return the same, below the fields that the recipient's server added to the message."""
    fields, _ = split_message(data)
    added, received = [], 0
    for field in fields:
        name = field.partition(b":")[0].lower()
        received += name == b"received"
        if received > 1 or not (name == b"received" or name in SERVER_FIELDS):
            break
        added.append(field)
    return b"".join(added) + with_header(data, donor)


def draw_words(rng: random.Random, ham: list[bytes]) -> list[bytes]:
    """Return words of the bodies of some ham, at random."""
    words = [re.findall(rb"[A-Za-z]{3,12}", re.sub(rb"<[^>]*>", b" ", split_message(data)[1])) for data in ham]
    return [rng.choice(rng.choice(words)) for _ in range(WORDS)] if (words := [each for each in words if each]) else []


ATTACKS = ("words", "headers", "forged headers")


def attack(name: str, data: bytes, ham: list[bytes], rng: random.Random) -> bytes | None:
    """Return a spam message changed by an attack; None if the attack cannot change it."""
    if name == "words":
        return with_words(data, draw_words(rng, rng.sample(ham, 20)))
    change = with_header if name == "headers" else with_forged_header
    return change(data, rng.choice(ham))


Judge = Callable[[list[bytes]], list[str]]


def attacked_shares(judge: Judge, spam: list[bytes], ham: list[bytes], seed: int) -> dict[str, tuple[int, int, int]]:
    """Return for each attack how many caught spams are changed, and how many of them turn ham and unsure."""
    caught = [data for data, label in zip(spam, judge(spam), strict=True) if label == "spam"]
    found = {}
    for name in ATTACKS:
        rng = random.Random(f"{name} {seed}")
        changed = [each for data in caught if (each := attack(name, data, ham, rng)) is not None][:VICTIMS]
        labels = judge(changed)
        found[name] = len(changed), labels.count("ham"), labels.count("unsure")
    return found


class Suffice:
    """Our filter, in memory."""

    def __init__(self, mail: LabelledMail, learned: list[int], rates: dict[str, float]) -> None:
        self.state = _native.mail.State(2)
        for name, value in rates.items():
            self.state.rate(name, value)
        self.state.learn_all(mail.features, learned, [int(mail.spam[i]) for i in learned], 1.0, 0)
        self.counts = dict(zip(("ham", "spam"), self.state.messages, strict=True))

    def judge(self, messages: list[bytes]) -> list[str]:
        """Return the verdict on each message."""
        features = extract_features(messages, available_cores())
        totals = self.state.scores(features, available_cores())
        return [make_verdict([total], ("ham", "spam"), counts=self.counts).label for total in totals]


def main() -> None:
    """Measure, and store the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.mail_attacks", description=__doc__)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--alone", action="store_true", help="without bogofilter; nothing is stored")
    parser.add_argument("--rate", nargs="*", default=[], metavar="NAME=VALUE", help="other rates; nothing is stored")
    given = parser.parse_args()
    rates = {name: float(value) for name, value in (each.split("=") for each in given.rate)}
    mail = read_corpus("spamassassin")
    found: dict[tuple[str, str], list[tuple[int, int, int]]] = {}
    for seed in range(given.draws):
        order = random.Random(seed).sample(range(len(mail)), len(mail))
        learned, rest = order[:LEARNED], order[LEARNED:]
        spam, ham = ([mail.messages[i] for i in rest if mail.spam[i] == which] for which in (True, False))
        judges: dict[str, Judge] = {"suffice": Suffice(mail, learned, rates).judge}
        with tempfile.TemporaryDirectory() as folder:
            if not given.alone:
                rival = Bogofilter(Path(folder, "bogofilter"))
                sides = ([mail.messages[i] for i in learned if mail.spam[i] == which] for which in (True, False))
                rival.learn(*(rival.write(each) for each in sides))
                judges["bogofilter"] = rival.judge_messages
            for name, judge in judges.items():
                for kind, counts in attacked_shares(judge, spam, ham, seed).items():
                    found.setdefault((kind, name), []).append(counts)
                labels = judge(ham)
                found.setdefault(("no attack: ham", name), []).append(
                    (len(ham), labels.count("spam"), labels.count("unsure"))
                )
    lines = table(found, list(judges))
    print(lines)
    if not rates and not given.alone:
        store(RESULTS, lines)


def table(found: dict[tuple[str, str], list[tuple[int, int, int]]], filters: list[str]) -> str:
    """Return the table of the shares that turn ham and unsure."""
    draws = len(next(iter(found.values())))
    title = f"of 150 caught spams, mean of {draws} draws"
    rows = [f"| {title} | {' | '.join(f'{name}: ham | {name}: unsure' for name in filters)} |"]
    rows.append(f"|---|{'---:|---:|' * len(filters)}")
    for kind in ATTACKS:
        cells = []
        for name in filters:
            for which in (1, 2):
                mean, margin = mean_and_margin([VICTIMS * each[which] / each[0] for each in found[kind, name]])
                cells.append(f"{mean:.1f} ± {margin:.1f}")
        rows.append(f"| {kind} | {' | '.join(cells)} |")
    for name in filters:
        counts = np.array(found["no attack: ham", name])
        lost, unsure = (100 * counts[:, which].sum() / counts[:, 0].sum() for which in (1, 2))
        rows += ["", f"{name}: {lost:.2f} % of the ham that was not learned was lost, {unsure:.2f} % was unsure."]
    return "\n".join(rows) + "\n"


if __name__ == "__main__":
    main()
