"""The file of a filter after killed and concurrent writers."""

from __future__ import annotations

import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import read_messages
from tests.mail.samples import counted, message, stream

pytestmark = pytest.mark.needs("posix")

#: Learns messages of a stream one by one, with compaction, or in batches, and prints the number of each.
WRITER = """
import sys
from suffice.mail import MailFilter, batch_learning
from tests.mail.samples import stream
path, how, seed, first, last = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
pairs = stream(700, seed)[first:last]
batch_learning.BATCH, batch_learning.TRANSACTION = 16, 32
with MailFilter(path) as mail:
    print("begun", flush=True)
    if how == "batch":
        for k in range(0, len(pairs), 100):
            mail.learn_all(pairs[k : k + 100], cores=1)
            for i in range(k, min(k + 100, len(pairs))):
                print(first + i, flush=True)
    else:
        for i, (data, label) in enumerate(pairs):
            mail.learn(data, label)
            print(first + i, flush=True)
            if how == "compact" and i % 20 == 19:
                mail.store().compact()
print("done", flush=True)
"""


def writer(path: Path, how: str, seed: int, first: int, last: int) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-c", WRITER, path, how, seed, first, last]
    return subprocess.Popen(
        list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=Path(__file__).parents[2]
    )


def printed_numbers(process: subprocess.Popen[bytes], before: bytes = b"") -> set[int]:
    """Return the numbers of messages in the output of a writer, including what was read before."""
    out, err = process.communicate(timeout=120)
    assert not err, err.decode()
    return {int(line) for line in (before + out).decode().split("\n")[:-1] if line.isdecimal()}


def learned(path: Path) -> set[bytes]:
    """Return the messages listed as learned, after an integrity check."""
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    found = {row[0] for row in connection.execute("SELECT id FROM learned")}
    connection.close()
    return found


def check_counts(path: Path, pairs: Iterable[tuple[bytes, str]], tmp_path: Path) -> int:
    """Compare the counts with a filter that learned the listed messages once; return their number."""
    listed = learned(path)
    with MailFilter(path) as mail:
        kept = [(data, label) for data, label in pairs if mail.learned_as(data) == label]
        assert len(kept) == len(listed)
        expected = tmp_path / "expected.db"
        for each in tmp_path.glob("expected.db*"):
            each.unlink()
        with MailFilter(expected) as reference:
            reference.learn_all(kept)
            reference.store(create=True)
            assert counted(mail.store()) == counted(reference.store())
    return len(listed)


@pytest.mark.parametrize("how", ["single", "compact", "batch"])
def test_a_killed_writer_leaves_whole_transactions(tmp_path, how):
    """A writer is killed and started again: each printed message is kept and counts once."""
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.store(create=True)
    pairs = stream(700, 7)
    rng = random.Random(1)
    first = before = 0
    for _ in range(3):
        process = writer(path, how, 7, max(0, first - 30), 700)
        assert process.stdout is not None
        assert process.stdout.readline() == b"begun\n"
        out = b"".join(process.stdout.readline() for _ in range(rng.randrange(100)))
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(process.pid, signal.SIGKILL)
        done = printed_numbers(process, out)
        total = check_counts(path, pairs, tmp_path)
        assert total >= before
        with MailFilter(path) as mail:
            assert all(mail.learned_as(pairs[i][0]) == pairs[i][1] for i in done)
        first, before = max([first, *(i + 1 for i in done)]), total
    assert before > 60, "the processes learned messages"


MAKER = """
import sys, time
from suffice.mail import MailFilter
import suffice.mail.filter, suffice.mail.database
from tests.mail.samples import message
print("ready", flush=True)
sys.stdin.readline()
with MailFilter(sys.argv[1]) as mail:
    mail.learn(message(sys.argv[2]), "ham")
"""


def test_a_killed_creator_does_not_block_the_next_one(tmp_path):
    rng = random.Random(2)
    for turn in range(3):
        path = tmp_path / f"{turn}.db"
        maker = subprocess.Popen(
            [sys.executable, "-c", MAKER, str(path), "0"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        assert maker.stdin is not None
        assert maker.stdout is not None
        assert maker.stdout.readline() == b"ready\n"
        maker.stdin.write(b"go\n")
        maker.stdin.flush()
        time.sleep(rng.uniform(0.0, 0.02))
        os.kill(maker.pid, signal.SIGKILL)
        maker.communicate(timeout=60)
        with MailFilter(path) as mail:
            mail.learn(message(1), "ham")
            assert mail.learned_as(message(1)) == "ham"
            assert sum(mail.store().state().messages) == len(learned(path))


def test_several_processes_create_one_filter(tmp_path):
    failures = []
    for turn in range(2):
        path = tmp_path / f"{turn}.db"
        makers = [
            subprocess.Popen(
                [sys.executable, "-c", MAKER, str(path), str(i)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=Path(__file__).parents[2],
            )
            for i in range(3)
        ]
        for maker in makers:
            assert maker.stdout is not None
            assert maker.stdout.readline() == b"ready\n"
        for maker in makers:
            assert maker.stdin is not None
            maker.stdin.write(b"go\n")
            maker.stdin.flush()
        failures += [maker.communicate(timeout=60)[1].decode() for maker in makers]
        if not any(failures):
            with MailFilter(path) as mail:
                assert mail.store().state().messages == [3, 0]
    assert not any(failures), next(filter(None, failures))


def test_concurrent_writers_count_each_message_once(tmp_path):
    """Four processes learn overlapping sets, one by one, with compaction and in batches, while others read."""
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.store(create=True)
    ranges = [("single", 0, 60), ("compact", 30, 90), ("batch", 0, 200), ("batch", 100, 220)]
    writers = [writer(path, how, 3, first, last) for how, first, last in ranges]
    reads = 0
    with MailFilter(path) as reader:
        while any(process.poll() is None for process in writers):
            verdict = reader.classify(message("x", "cheap pills"))
            assert 0 <= verdict.probability <= 1
            with MailFilter(path) as fresh:
                whole = fresh.store().state()
                assert sum(whole.messages) <= 220
            reads += 1
    for process, (_, first, last) in zip(writers, ranges, strict=True):
        assert printed_numbers(process) == set(range(first, last))
    assert reads > 0
    assert check_counts(path, stream(700, 3), tmp_path) == 220


def test_a_reader_sees_a_consistent_snapshot(tmp_path):
    """Counted and listed messages agree at any moment."""
    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.store(create=True)
    process = writer(path, "fold", 5, 0, 60)
    while process.poll() is None:
        with MailFilter(path) as reader:
            store = reader.store()
            store.query("BEGIN")
            listed = store.query("SELECT COUNT(*) FROM learned")[0][0]
            assert sum(store.state().messages) == listed
            store.query("COMMIT")
    assert len(printed_numbers(process)) == 60


def test_an_mbox_learned_by_two_processes_counts_once(tmp_path):
    from suffice import demo
    from tests.cli.command import COMMAND

    path = tmp_path / "mail.db"
    with MailFilter(path) as mail:
        mail.store(create=True)
    words = [
        *COMMAND,
        "mail",
        "learn",
        "-q",
        "--spam",
        demo.mailbox("spam"),
        "--ham",
        demo.mailbox("ham"),
        "--filter",
        path,
    ]
    both = [subprocess.Popen(list(map(str, words)), stdout=subprocess.PIPE, stderr=subprocess.PIPE) for _ in range(2)]
    for each in both:
        _, err = each.communicate(timeout=60)
        assert (each.returncode, err) == (0, b"")
    pairs = [
        (each.data, label)
        for label in ("ham", "spam")
        for each in read_messages([demo.mailbox(label)])
        if isinstance(each, Message)
    ]
    assert check_counts(path, pairs, tmp_path) == len(pairs)
