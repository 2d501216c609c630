"""Sample messages, and the counts of a filter."""

from __future__ import annotations

import random
from pathlib import Path

from suffice import _native, demo
from suffice.mail import MailFilter
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import read_messages
from suffice.mail.store import Store

#: Words that are frequent in each class, and words of all classes.
TOPICS = {
    "spam": "cheap pills winner offer prize bonus casino loan",
    "ham": "lunch noon garden train aunt picnic choir bakery",
    "work": "report budget meeting draft invoice agenda client deadline",
}
COMMON = "the and for you with this that from"


def message(number: int | str, body: str = "hello there", extra: str = "") -> bytes:
    """Return a message with its own Message-ID."""
    return f"{extra}From: ann@example.org\nMessage-ID: <{number}@example.org>\nSubject: note\n\n{body}\n".encode()


def stream(
    count: int, seed: int = 0, classes: tuple[str, ...] = ("ham", "spam"), at: str = ""
) -> list[tuple[bytes, str]]:
    """Return messages of several classes in random order; most words are those of the class."""
    rng = random.Random(seed)
    pairs = []
    for i in range(count):
        label = rng.choice(classes)
        own = rng.sample(TOPICS[label].split(), 5)
        strange = rng.choice(TOPICS[rng.choice(classes)].split()) if rng.random() < 0.3 else ""
        body = [*own, *rng.choices(COMMON.split(), k=5), f"n{rng.randrange(40)}", strange]
        pairs.append((message(f"{seed}.{at}{i}", " ".join(body)), label))
    return pairs


def demo_mail(which: str) -> list[bytes]:
    """Return the messages of the demo mailbox."""
    return [each.data for each in read_messages([demo.mailbox(which)]) if isinstance(each, Message)]


def counted(store: Store) -> tuple[list[float], dict[int, tuple[float, ...]]]:
    """Return the number of messages of each class, and the nonzero counts of each token."""
    import numpy as np  # not at the top: processes that only write mail start faster

    columns = store.state().columns()
    messages = np.frombuffer(columns["messages"])
    rows = np.frombuffer(columns["counts"], np.float32).reshape(-1, len(messages))
    hashes = np.frombuffer(columns["hashes"], np.uint64)
    return messages.tolist(), {int(h): tuple(row.tolist()) for h, row in zip(hashes, rows, strict=True) if row.any()}


def trained_filter(path: Path, pairs: list[tuple[bytes, str]], **how: object) -> MailFilter:
    """Return a filter that learned messages one by one."""
    mail = MailFilter(path, **how)  # type: ignore[arg-type]
    for data, label in pairs:
        mail.learn(data, label)
    return mail


def pieces(raw: bytes) -> list[tuple[str, str, str]]:
    """Return the pieces of a parsed message: kind, name, text."""
    return _native.mail.Letters([raw], 1).pieces(0)


def filter_file(folder: Path, batch: int, singles: int) -> bytes:
    """Return the file of a filter that learned messages in one batch, and further ones singly, through the journal."""
    path = folder / "mail.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(batch))
        for data, label in stream(singles, 1):
            mail.learn(data, label)
    return path.read_bytes()
