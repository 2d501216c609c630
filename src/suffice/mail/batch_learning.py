"""Learning many messages: one thread reads the mail, others extract features, the caller's learns in transactions."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from typing import TypeVar

from suffice import _native
from suffice.mail.features import extract_features
from suffice.mail.filter import LearnCounts, learn_message
from suffice.mail.message import identify_message
from suffice.mail.store import RECENT, Store

#: Messages of a batch, and bytes of them, at most.
BATCH, BATCH_BYTES = 512, 1 << 24
#: Messages of a transaction, and its seconds, at most; other processes cannot write during it.
TRANSACTION, SECONDS = 4096, 2.0

#: A batch after feature extraction: features, identities and classes.
Prepared = tuple[_native.mail.Letters, list[bytes], list[str]]
T = TypeVar("T")


def split_batches(stream: Iterable[T], size: Callable[[T], int], count: int, size_limit: int) -> Iterator[list[T]]:
    """Return a stream in lists of at most so many items; a list ends when its size reaches the limit.

    Examples
    --------
    >>> list(split_batches([b"a", b"bb", b"c", b"d"], len, 3, 3))
    [[b'a', b'bb'], [b'c', b'd']]
    """
    batch: list[T] = []
    held = 0
    for each in stream:
        batch.append(each)
        held += size(each)
        if len(batch) >= count or held >= size_limit:
            yield batch
            batch, held = [], 0
    if batch:
        yield batch


def learn_batches(store: Store, pairs: Iterable[tuple[bytes, str]], cores: int) -> LearnCounts:
    """Learn messages with their classes; see :meth:`suffice.mail.MailFilter.learn_all`."""
    counts = LearnCounts()
    stream = split_batches(pairs, lambda pair: len(pair[0]), BATCH, BATCH_BYTES)
    with ThreadPoolExecutor(1) as reader, ThreadPoolExecutor(1) as extractor, ExitStack() as transaction:

        def prefetch() -> Future[Prepared | None]:
            return extractor.submit(_prepare, reader.submit(next, stream, None), cores)

        learner = _Learner(store, counts, transaction)
        waiting = deque(prefetch() for _ in range(3))
        while (prepared := _wait(waiting.popleft(), learner)) is not None:
            waiting.append(prefetch())
            learner.add(*prepared)
        learner.commit()
        learner.keep_tokens()
    return counts


def _wait(future: Future[Prepared | None], learner: _Learner) -> Prepared | None:
    """Return the next batch; if it takes long, commit meanwhile, so that other processes can write."""
    try:
        return future.result(0.5)
    except TimeoutError:
        learner.commit()
        return future.result()


def _prepare(batch: Future[list[tuple[bytes, str]] | None], cores: int) -> Prepared | None:
    pairs = batch.result()
    if pairs is None:
        return None
    messages = [data for data, _ in pairs]
    identities = [identify_message(data) for data in messages]
    return extract_features(messages, cores), identities, [label for _, label in pairs]


class _Learner:
    """Learns batches in transactions."""

    def __init__(self, store: Store, counts: LearnCounts, transaction: ExitStack) -> None:
        self._store, self._counts, self._transaction = store, counts, transaction
        self._recent: deque[tuple[bytes, bytes]] = deque(maxlen=RECENT)
        self._size, self._begun = 0, 0.0

    def add(self, features: _native.mail.Letters, identities: list[bytes], labels: list[str]) -> None:
        """Learn a batch: new messages directly, then those learned before through the journal."""
        store = self._store
        if not self._size:
            self._transaction.enter_context(store.write_transaction())
            self._begun = time.monotonic()
        indices = {label: store.class_index(label) for label in dict.fromkeys(labels)}
        new: dict[bytes, int] = {}
        known = []
        for i, identity in enumerate(identities):
            if identity in new or store.query("SELECT 1 FROM learned WHERE id = ?", identity):
                known.append(i)
            else:
                new[identity] = i
                self._counts.add("learned", labels[i])
        weight = store.weight()
        day = store.day()
        order = list(new.values())
        state = store.state()
        state.learn_all(features, order, [indices[labels[i]] for i in order], weight, day & 0xFFFF)
        store.execute_many(
            "INSERT INTO learned VALUES (?, ?, ?, ?)",
            [(identity, indices[labels[i]], weight, day) for identity, i in new.items()],
        )
        self._recent.extend((identity, features.hashes(i)) for identity, i in list(new.items())[-RECENT:])
        for i in known:
            self._counts.add(learn_message(store, features, i, identities[i], indices[labels[i]]), labels[i])
        self._size += len(identities)
        if self._size >= TRANSACTION or time.monotonic() - self._begun > SECONDS:
            self.commit()

    def keep_tokens(self) -> None:
        """Keep the tokens of the latest messages."""
        with self._store.write_transaction():
            self._store.keep_tokens(list(self._recent))

    def commit(self) -> None:
        """Commit the open transaction."""
        if self._size:
            self._store.record_day()
            self._store.compact()
            self._transaction.close()
            self._size = 0
