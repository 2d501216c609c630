"""Many messages learned: one thread gathers, some read, one learns; some thousands are learned in one transaction."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

from suffice import _native
from suffice.mail.filter import learn_one
from suffice.mail.heaps import heaps
from suffice.mail.identity import identity
from suffice.mail.reading import read
from suffice.mail.store import RECENT, Store
from suffice.mail.tally import Tally

#: Messages that are read together, and bytes of them.
TOGETHER, TOGETHER_BYTES = 512, 1 << 24
#: Messages that are learned in one transaction, and seconds that it lasts; others cannot write meanwhile.
TRANSACTION, SECONDS = 4096, 2.0

#: Messages that were read: their features, identities and classes.
Prepared = tuple[_native.mail.Letters, list[bytes], list[str]]


def learn_all(store: Store, pairs: Iterable[tuple[bytes, str]], cores: int) -> Tally:
    """Learn messages with their classes; see :meth:`suffice.mail.MailFilter.learn_all`."""
    tally = Tally()
    stream = heaps(pairs, lambda pair: len(pair[0]), TOGETHER, TOGETHER_BYTES)
    with ThreadPoolExecutor(1) as gathering, ThreadPoolExecutor(1) as preparing, ExitStack() as transaction:

        def ahead() -> Future[Prepared | None]:
            return preparing.submit(_prepared, gathering.submit(next, stream, None), cores)

        learning = _Learning(store, tally, transaction)
        waiting = deque(ahead() for _ in range(3))
        while (prepared := _awaited(waiting.popleft(), learning)) is not None:
            waiting.append(ahead())
            learning.add(*prepared)
        learning.finish()
        learning.remember()
    return tally


def _awaited(coming: Future[Prepared | None], learning: _Learning) -> Prepared | None:
    """Return what comes next; where that takes long, others may write meanwhile."""
    try:
        return coming.result(0.5)
    except TimeoutError:
        learning.finish()
        return coming.result()


def _prepared(gathered: Future[list[tuple[bytes, str]] | None], cores: int) -> Prepared | None:
    some = gathered.result()
    if some is None:
        return None
    return read([data for data, _ in some], cores), [identity(data) for data, _ in some], [label for _, label in some]


class _Learning:
    """The transaction that is under way, if any."""

    def __init__(self, store: Store, tally: Tally, transaction: ExitStack) -> None:
        self._store, self._tally, self._transaction = store, tally, transaction
        self._recent: deque[tuple[bytes, bytes]] = deque(maxlen=RECENT)
        self._count, self._begun = 0, 0.0

    def add(self, letters: _native.mail.Letters, names: list[bytes], labels: list[str]) -> None:
        """Learn messages: what is new at once, without the journal; what was learned before, after it."""
        store = self._store
        if not self._count:
            self._transaction.enter_context(store.writing())
            self._begun = time.monotonic()
        places = {label: store.class_index(label) for label in dict.fromkeys(labels)}
        news: dict[bytes, int] = {}
        later = []
        for i, name in enumerate(names):
            if name in news or store.ask("SELECT 1 FROM learned WHERE id = ?", name):
                later.append(i)
            else:
                news[name] = i
                self._tally.add("learned", labels[i])
        weight = store.weight()
        day = store.day()
        order = list(news.values())
        state = store.state()
        state.learn_all(letters, order, [places[labels[i]] for i in order], weight, day & 0xFFFF)
        store.do_all(
            "INSERT INTO learned VALUES (?, ?, ?, ?)",
            [(name, places[labels[i]], weight, day) for name, i in news.items()],
        )
        self._recent.extend((name, letters.hashes(i)) for name, i in list(news.items())[-RECENT:])
        for i in later:
            self._tally.add(learn_one(store, letters, i, names[i], places[labels[i]]), labels[i])
        self._count += len(names)
        if self._count >= TRANSACTION or time.monotonic() - self._begun > SECONDS:
            self.finish()

    def remember(self) -> None:
        """Keep the tokens of the latest messages."""
        with self._store.writing():
            self._store.remember(list(self._recent))

    def finish(self) -> None:
        """Write down what was learned."""
        if self._count:
            self._store.note_day()
            self._store.fold()
            self._transaction.close()
            self._count = 0
