"""Sorting Maildirs: moves, learning from moves of the user, recovery after a kill, watching."""

from __future__ import annotations

import ctypes
import errno
import hashlib
import importlib
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from suffice.mail.ledger import Move
from suffice.mail.mailboxes import Entry
from suffice.mail.mailboxes.maildir import Maildir
from suffice.mail.sorter import BATCH, INBOX, MOVING, Learned, Moved, SortResult, sort_mailbox
from suffice.mail.watcher import watch_folders
from tests.requirements import require
from tests.rights import open_folder, without_rights

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.needs("posix")


class WordJudge:
    """A judge that classifies by single words, and stores what it learned in a file."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.execute("PRAGMA synchronous=OFF")
        self.database.execute("CREATE TABLE IF NOT EXISTS learned (id TEXT PRIMARY KEY, label TEXT)")

    def identity(self, data: bytes) -> str:
        if b"unspeakable" in data:
            raise ValueError("no words for it")
        return hashlib.sha256(b"\n".join(x for x in data.split(b"\n") if not x.startswith(b"Received:"))).hexdigest()

    def verdict(self, data: bytes) -> tuple[str, float]:
        if b"difficult" in data:
            raise RuntimeError("too difficult")
        for word, answer in ((b"money", ("spam", 0.99)), (b"maybe", ("unsure", 0.5)), (b"list", ("lists", 0.01))):
            if word in data:
                return answer
        return "ham", 0.01

    def learn(self, data: bytes, label: str) -> bool:
        if self.learned_labels().get(self.identity(data)) == label:
            return False
        self.database.execute("INSERT OR REPLACE INTO learned VALUES (?, ?)", (self.identity(data), label))
        return True

    def learned_as(self, data: bytes) -> str | None:
        return self.learned_labels().get(self.identity(data))

    def learned_labels(self) -> dict[str, str]:
        return dict(self.database.execute("SELECT id, label FROM learned"))


class FileLedger:
    """A ledger in a file."""

    def __init__(self, path: Path) -> None:
        self.database = sqlite3.connect(path, isolation_level=None)
        self.database.execute("PRAGMA journal_mode=WAL")
        self.database.execute("PRAGMA synchronous=OFF")
        self.database.execute("CREATE TABLE IF NOT EXISTS filed (id TEXT PRIMARY KEY, folder TEXT)")
        self.database.execute(
            "CREATE TABLE IF NOT EXISTS settled (folder TEXT, key TEXT, id TEXT, PRIMARY KEY (folder, key))"
        )
        self.writes = 0

    def _write(self, command: str, *values: str) -> None:
        self.writes += 1
        self.database.execute(command, values)

    def folder_of(self, identity: str) -> str | None:
        row = self.database.execute("SELECT folder FROM filed WHERE id = ?", (identity,)).fetchone()
        return row and row[0]

    def was_marked(self, identity: str) -> bool:
        return False

    def folders_elsewhere(self, identity: str) -> set[str]:
        return set()

    def set_folder(self, identity: str, folder: str) -> None:
        self._write("INSERT OR REPLACE INTO filed VALUES (?, ?)", identity, folder)

    def known_files(self, folder: str) -> Mapping[str, str]:
        return dict(self.database.execute("SELECT key, id FROM settled WHERE folder = ?", (folder,)))

    def add_file(self, folder: str, key: str, identity: str) -> None:
        self._write("INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", folder, key, identity)

    def remove_files(self, folder: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._write("DELETE FROM settled WHERE folder = ? AND key = ?", folder, key)

    def begin_moves(self, moves: Iterable[Move]) -> None:
        for move in moves:
            self.set_folder(move.identity, MOVING + move.target)

    def end_move(self, move: Move) -> None:
        self.set_folder(move.identity, move.target)
        self.add_file(move.target, move.moved or "", move.identity)

    def flush(self) -> None:
        pass

    def everything(self) -> list[tuple[str, ...]]:
        return [*self.database.execute("SELECT * FROM filed"), *self.database.execute("SELECT * FROM settled")]


class UserMailbox:
    """A mailbox with its user."""

    def __init__(self, place: Path) -> None:
        self.box = Maildir(place / "Mail", create=True)
        self.judge, self.ledger = WordJudge(place / "judge.db"), FileLedger(place / "book.db")
        self._number = itertools.count()

    def arrive(self, words: str, folder: str = INBOX, received: str = "") -> bytes:
        data = f"{received}Subject: {next(self._number)}\n\n{words}\n".encode()
        self.box.folder(folder).deliver(data)
        return data

    def sort(self, **settings: object) -> SortResult:
        return sort_mailbox(self.box, self.judge, self.ledger, **settings)

    def find(self, data: bytes) -> tuple[str, Entry]:
        (found,) = ((name, entry) for name, entry, each in self.all() if each == data)
        return found

    def move(self, data: bytes, to: str, server: bool = False) -> None:
        """Move a message as mail programs do, or as servers, which rename the file."""
        name, entry = self.find(data)
        if server:
            self.box.folder(to).deliver(data, "S")
            Path(entry.path).unlink()
        else:
            self.box.folder(name).move(entry, self.box.folder(to))

    def all(self) -> list[tuple[str, Entry, bytes]]:
        boxes = {INBOX: self.box, **{name: Maildir(place) for name, place in self.box.folders().items()}}
        return [(n, entry, Path(entry.path).read_bytes()) for n, box in boxes.items() for entry in box.entries()]

    def where(self, data: bytes) -> str:
        return self.find(data)[0]

    def labels(self, result: SortResult) -> list[str]:
        return [label for _, label in result.learned]


@pytest.fixture
def account(tmp_path):
    return UserMailbox(tmp_path)


@pytest.fixture(params=[False, True], ids=["same name", "new name"])
def server(request):
    return request.param


def test_spam_is_moved_and_the_rest_stays(account):
    spam, ham, unsure = account.arrive("free money"), account.arrive("lunch?"), account.arrive("maybe")
    reported: list[object] = []
    result = account.sort(report=reported.append)
    assert (account.where(spam), account.where(ham), account.where(unsure)) == ("Junk", INBOX, INBOX)
    assert [(each.folder, each.probability) for each in result.moved] == [("Junk", 0.99)]
    assert reported == result.moved
    assert (result.kept, result.learned, result.skipped, result.gone) == (2, [], [], 0)
    assert account.sort() == SortResult()


def test_folders_of_other_classes(account):
    messages = [account.arrive(words) for words in ("money", "maybe", "a list", "lunch?")]
    account.sort(unsure_folder="Unsure", folders={"lists": "Lists"})
    assert [account.where(each) for each in messages] == ["Junk", "Unsure", "Lists", INBOX]


@pytest.mark.parametrize(
    ("words", "to", "label"),
    [
        ("lunch?", "Junk", "spam"),
        ("lunch?", "Lists", "lists"),
        ("lunch?", "Unsure", None),
        ("lunch?", "Work", None),
        ("lunch?", "Trash", None),
        ("money", INBOX, "ham"),
        ("money", "Work", "ham"),
        ("money", "Lists", "lists"),
        ("money", "Unsure", None),
        ("money", "Trash", None),
        ("money", "Sent", None),
        ("money", "Archive.Spam.2002", None),
        ("maybe", "Junk", "spam"),
        ("maybe", INBOX, "ham"),
        ("maybe", "Work", "ham"),
        ("list", INBOX, "ham"),
        ("list", "Junk", "spam"),
        ("list", "Work", None),
    ],
)
def test_moves_of_the_user_are_learned(account, server, words, to, label):
    settings = {"unsure_folder": "Unsure", "folders": {"lists": "Lists"}}
    message, other = account.arrive(words), account.arrive(words)
    account.sort(**settings)
    account.move(message, to, server)
    for _ in range(2):
        would = account.sort(**settings, dry_run=True)
        assert account.labels(would) == [label] * (label is not None)
    result = account.sort(**settings)
    assert account.labels(result) == [label] * (label is not None)
    assert result.moved == []
    assert account.where(message) == to
    assert account.sort(**settings) == SortResult()
    assert account.judge.learned_labels() == ({account.judge.identity(message): label} if label else {})
    assert account.judge.identity(other) not in account.judge.learned_labels()


def test_each_move_there_and_back_is_learned(account, server):
    message = account.arrive("money")
    account.sort()
    for to, label in ((INBOX, "ham"), ("Junk", "spam"), ("Work", "ham"), ("Junk", "spam"), (INBOX, "ham")):
        account.move(message, to, server)
        assert account.labels(account.sort()) == [label]
        assert account.where(message) == to


def test_the_first_sort_learns_nothing(account):
    old, work = account.arrive("from before", "Junk"), account.arrive("money", "Work")
    assert account.sort() == SortResult()
    stranger = account.arrive("another filter's", "Junk")
    assert account.labels(account.sort()) == ["spam"]
    assert account.judge.learned_labels() == {account.judge.identity(stranger): "spam"}
    account.move(old, INBOX)
    assert account.labels(account.sort()) == ["ham"]
    account.move(work, "Junk")
    assert account.labels(account.sort()) == ["spam"]


@pytest.mark.parametrize("choice", [True, False])
def test_learn_strangers(account, choice):
    account.arrive("one", "Junk")
    first = account.sort(learn_strangers=choice)
    account.arrive("two", "Junk")
    second = account.sort(learn_strangers=choice)
    assert account.labels(first) + account.labels(second) == ["spam", "spam"] * choice


def test_moves_are_learned_by_a_later_run(account):
    message = account.arrive("money")
    account.sort()
    account.move(message, INBOX)
    assert account.sort(learn=False) == SortResult()
    assert account.where(message) == INBOX
    assert account.labels(account.sort()) == ["ham"]
    account.arrive("money", "Junk")
    assert account.sort(learn=False) == SortResult()
    assert account.labels(account.sort()) == ["spam"]


def test_moves_between_folders_of_the_user_are_not_learned(account):
    account.box.folder("Work")
    account.sort()
    message = account.arrive("lunch")
    account.sort()
    for place in ("Work", INBOX):
        account.move(message, place)
        assert account.labels(account.sort()) == []
    assert account.where(message) == INBOX


def test_dry_run_changes_nothing(account, tmp_path):
    account.sort()
    account.arrive("money")
    before = sorted(tmp_path.rglob("*")), account.ledger.everything()
    result = account.sort(dry_run=True)
    assert [each.folder for each in result.moved] == ["Junk"]
    assert (sorted(tmp_path.rglob("*")), account.ledger.everything()) == before
    assert account.sort().moved == result.moved


def test_dry_run_changes_nothing_in_other_folders(account):
    account.arrive("lunch", "Work")
    account.sort(dry_run=True)
    assert account.ledger.everything() == []
    account.sort()
    spam = account.arrive("money")
    account.sort()
    account.arrive("dinner", "Work")
    account.box.deliver(spam, "S")  # a copy, which is not learned
    before = account.ledger.everything()
    assert account.sort(dry_run=True) == SortResult()
    assert account.ledger.everything() == before


def test_only_new(account):
    old, new = account.arrive("money"), account.arrive("money")
    account.box.move(account.find(old)[1], account.box, seen=True)
    assert len(account.sort(only_new=True).moved) == 1
    assert (account.where(old), account.where(new)) == (INBOX, "Junk")
    account.move(old, "Junk")
    assert account.labels(account.sort(only_new=True)) == ["spam"]


def test_deleted_messages_are_ignored(account):
    message = account.box.deliver(b"Subject: x\n\nmoney\n", flags="T")
    account.arrive("money", "Junk")
    assert account.sort() == SortResult()
    assert Path(message.path).exists()


def test_a_copy_whose_original_is_deleted_is_a_move(account):
    message = account.arrive("money")
    account.sort()
    junk = account.box.folder("Junk")
    (entry,) = junk.entries()
    account.box.deliver(message, "S")
    assert account.sort() == SortResult()  # a copy by the user: nothing is learned or moved
    os.rename(entry.path, junk.path / "cur" / f"{entry.key}:2,ST")  # noqa: PTH104
    Path(junk.path / "cur" / f"{entry.key}:2,ST").unlink()
    assert account.labels(account.sort()) == ["ham"]
    assert account.where(message) == INBOX
    assert account.sort() == SortResult()


def test_one_of_two_copies_moved_back_is_learned(account, server):
    one = account.arrive("money", received="Received: by a\n")
    account.box.deliver(one.replace(b"by a", b"by b"))
    assert account.judge.identity(one) == account.judge.identity(one.replace(b"by a", b"by b"))
    assert len(account.sort().moved) == 2
    account.move(one, INBOX, server)
    assert account.labels(account.sort()) == ["ham"]
    for _ in range(2):
        assert account.sort() == SortResult()
    assert account.where(one) == INBOX


def test_spam_delivered_again_is_not_learned_as_ham(account):
    one = account.arrive("money", received="Received: by a\n")
    account.sort()
    two = one.replace(b"by a", b"by b")
    account.box.deliver(two)
    assert len(account.sort().moved) == 1
    for each in (one, two):
        Path(account.find(each)[1].path).unlink()  # the user empties the folder
    account.sort()
    account.box.deliver(two)
    result = account.sort()
    assert (len(result.moved), result.learned) == (1, [])


def test_copies_within_a_run_are_not_learned_as_ham(account):
    one = account.arrive("money", received="Received: by a\n")
    for _ in range(2 * BATCH):  # so that the copies below are examined after the first was moved
        account.arrive("money")
    for server in (b"by b", b"by a"):
        account.box.deliver(one.replace(b"by a", server))
    result = account.sort()
    assert (len(result.moved), result.learned) == (2 * BATCH + 3, [])
    assert account.sort() == SortResult()


def test_the_same_bytes_delivered_again_are_judged(account):
    message = account.arrive("money")
    account.sort()
    account.box.deliver(message)
    result = account.sort()
    assert (len(result.moved), result.learned) == (1, [])
    assert not account.box.entries()


def test_folders_beside_the_maildir_are_used(account):
    beside = account.box.path.parent
    archive = Maildir(beside / "Archive", create=True)
    messages = [account.arrive("money") for _ in range(2)]
    assert len(account.sort(spam_folder="../Junk").moved) == 2
    junk = Maildir(beside / "Junk")
    for place in (account.box, archive):
        junk.move(junk.entries()[0], place)
    assert account.labels(account.sort(spam_folder="../Junk")) == ["ham", "ham"]
    assert {Path(entry.path).read_bytes() for place in (account.box, archive) for entry in place.entries()} == set(
        messages
    )
    assert account.sort(spam_folder="../Junk") == SortResult()


def test_the_uid_of_the_server_is_removed_by_a_move(account):
    account.arrive("money")
    (entry,) = account.box.entries()
    Path(entry.path).rename(account.box.path / "new" / "1.host,S=9,U=17:2,")
    account.sort()
    assert [each.key for each in account.box.folder("Junk").entries()] == ["1.host,S=9"]


def test_a_message_for_which_the_judge_raises_is_skipped(account):
    messages = [account.arrive(words) for words in ("unspeakable", "difficult", "money")]
    for count in (1, 0):
        result = account.sort()
        assert [each.why for each in result.skipped] == ["ValueError: no words for it", "RuntimeError: too difficult"]
        assert len(result.moved) == count
    assert [account.where(each) for each in messages] == [INBOX, INBOX, "Junk"]


def test_files_that_are_not_messages_are_reported(account, tmp_path):
    (account.box.path / "new" / "1.empty").touch()
    (account.box.path / "cur" / "2.link").symlink_to(tmp_path / "judge.db")
    account.arrive("money")
    result = account.sort()
    assert [each.why for each in result.skipped] == ["a link, which is not followed", "empty"]
    assert len(result.moved) == 1


def test_an_unreadable_folder_is_skipped(account, tmp_path):
    work = account.box.folder("Work")
    (work.path / "cur").rmdir()
    (work.path / "cur").symlink_to(tmp_path)
    account.arrive("money")
    result = account.sort()
    assert len(result.moved) == 1
    assert [each.where for each in result.skipped] == [str(work.path)]


def test_messages_moved_by_other_programs_are_counted(account):
    messages = [account.arrive("money") for _ in range(3)]
    paths = [account.find(each)[1].path for each in messages]

    class Busy(WordJudge):
        def verdict(self, data: bytes) -> tuple[str, float]:
            Path(paths[0]).unlink(missing_ok=True)
            if Path(paths[1]).exists():  # flagged by another program
                Path(paths[1]).rename(account.box.path / "cur" / f"{Path(paths[1]).name}:2,F")
            return super().verdict(data)

    account.judge.__class__ = Busy
    result = account.sort()
    assert (len(result.moved), result.gone, result.skipped) == (2, 1, [])
    assert account.find(messages[1])[1].flags == "F"


def test_a_message_deleted_before_it_is_read_is_counted(account):
    account.sort()
    first, second = account.arrive("money"), account.arrive("money")
    path = account.find(second)[1].path

    class Busy(WordJudge):
        def identity(self, data: bytes) -> str:
            Path(path).unlink(missing_ok=True)
            return super().identity(data)

    account.judge.__class__ = Busy
    result = account.sort()
    assert (len(result.moved), result.gone, account.where(first)) == (1, 1, "Junk")


def test_a_message_without_read_permission_is_skipped():
    with open_folder() as place:
        account = UserMailbox(place)
        secret = Path(account.box.deliver(b"Subject: x\n\nmoney\n").path)
        secret.chmod(0)
        for path in place.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0 if path == secret else 0o666)
        assert [each.why for each in without_rights(account.sort).skipped] == ["permission denied"]


def test_invalid_folders_are_refused(account):
    for settings in (
        {"spam_folder": "INBOX"},
        {"unsure_folder": "Junk"},
        {"folders": {"lists": ".Junk"}},
        {"folders": {"spam": "Other"}},
        {"spam_folder": "../../x"},
        {"spam_folder": "../Mail"},
    ):
        with pytest.raises(ValueError, match="folder"):
            account.sort(**settings)


def test_known_messages_are_not_read_again(account):
    for i in range(30):
        account.arrive("lunch" if i % 2 else "money")
    account.sort()
    for _, entry, _ in account.all():
        Path(entry.path).write_bytes(b"")  # would be reported if it were read
    assert account.sort() == SortResult()
    writes = account.ledger.writes
    account.sort()
    assert account.ledger.writes == writes


def test_random_moves_of_a_user_lose_no_message_and_only_moves_are_learned(account):
    """No message is lost or duplicated, and only moves of the user are learned."""
    chance = random.Random(5)
    messages: list[bytes] = []
    touched: set[bytes] = set()
    settings = {"unsure_folder": "Unsure"}
    for _ in range(60):
        messages += [account.arrive(chance.choice(["money", "maybe", "lunch"])) for _ in range(chance.randrange(3))]
        account.sort(**settings)
        for message in chance.sample(messages, min(len(messages), chance.randrange(4))):
            account.move(message, chance.choice([INBOX, "Junk", "Unsure", "Work", "Trash"]), chance.random() < 0.5)
            touched.add(message)
        before = {data: name for name, _, data in account.all()}
        account.sort(**settings)
        after = {data: name for name, _, data in account.all()}
        assert sorted(messages) == sorted(data for _, _, data in account.all())
        assert {data for data in messages if before[data] != after[data]} <= set(messages) - touched
        learned_labels = account.judge.learned_labels()
        assert set(learned_labels) <= {account.judge.identity(each) for each in touched}
        for message in touched:
            label = {"Junk": "spam", INBOX: "ham"}.get(after[message])
            known = learned_labels.get(account.judge.identity(message))
            assert known in (label, None) or label is None
    assert len(set(account.judge.learned_labels().values())) == 2


def killed_at(place: Path, step: int, far: str | None) -> bool:
    """Sort in a process that kills itself at a step; return whether it reached the step."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()
        account = UserMailbox(place)

        def after(act):
            def counted(*given, **settings):
                if next(steps) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                result = act(*given, **settings)
                if next(steps) == step:
                    os.kill(os.getpid(), signal.SIGKILL)
                return result

            return counted

        for name in ("set_folder", "add_file", "remove_files", "flush"):
            setattr(account.ledger, name, after(getattr(account.ledger, name)))
        account.judge.learn = after(account.judge.learn)
        for name in ("rename", "unlink", "mkdir"):
            setattr(Path, name, after(getattr(Path, name)))
        if far is None:
            account.box.move = after(account.box.move)
        account.sort(spam_folder=far or "Junk")
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def kill_at_steps(place: Path, far: str | None, first: int, every: int) -> None:
    """Kill a sort at each or some of its steps, run another one, and print what is wrong then."""
    if far:
        from suffice.mail import atomic_files

        atomic_files._system_rename = lambda: None  # so that each rename is a step  # noqa: SLF001
    for step in itertools.count(first, every):
        here = place / str(step)
        here.mkdir()
        there = f"{far}/{step}" if far else None
        account = UserMailbox(here)
        restored, reported_spam = account.arrive("money"), account.arrive("lunch")
        account.sort(spam_folder=there or "Junk")
        junk = account.box.folder(there or "Junk")
        junk.move(junk.entries()[0], account.box)
        account.move(reported_spam, there or "Junk")
        spam, ham = [account.arrive("money") for _ in range(3)], [account.arrive("lunch") for _ in range(2)]
        account.judge.database.close()
        account.ledger.database.close()
        killed = killed_at(here, step, there)
        account = UserMailbox(here)
        account.sort(spam_folder=there or "Junk")
        final = [account.sort(spam_folder=there or "Junk") == SortResult()]
        final.append(sorted(Path(e.path).read_bytes() for e in account.box.entries()) == sorted([restored, *ham]))
        final.append(sorted(Path(e.path).read_bytes() for e in junk.entries()) == sorted([reported_spam, *spam]))
        learned_labels = {account.judge.identity(restored): "ham", account.judge.identity(reported_spam): "spam"}
        final.append(account.judge.learned_labels() == learned_labels)
        final.append(not any(MOVING in row[1] for row in account.ledger.everything()))
        if not all(final):
            print(json.dumps([step, final]))  # noqa: T201
        if not killed:
            print(json.dumps(["steps", step]))  # noqa: T201
            return


@pytest.mark.parametrize("across", [False, True], ids=["one file system", "two"])
@pytest.mark.parametrize(("first", "every"), [(1, 3), pytest.param(0, 1, marks=pytest.mark.slow)])
def test_a_kill_at_any_step_loses_no_message(tmp_path, across, first, every):
    far = Path("/dev/shm", f"suffice-{os.getpid()}") if across else None
    if far:
        require("file systems")
    code = "import sys; from pathlib import Path; from tests.mail.test_sorter import kill_at_steps as k; "
    code += f"k(Path({str(tmp_path)!r}), {far and str(far)!r}, {first}, {every})"
    if far:
        far.mkdir()
    try:
        found = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False)
    finally:
        if far:
            subprocess.run(["rm", "-r", str(far)], check=True)
    assert found.stderr == ""
    *wrong, (_, steps) = map(json.loads, found.stdout.splitlines())
    assert wrong == []
    assert steps > 40


WATCHER = """
import sys
from pathlib import Path
from tests.mail.test_sorter import UserMailbox, watch_folders
account = UserMailbox(Path(sys.argv[1]))
def on_change():
    print(len(account.sort().moved), flush=True)
watch_folders([account.box.path], on_change, poll=0.1, notify=sys.argv[2] == "notified")
print("done", flush=True)
"""


def wait_for(condition, seconds=10.0):
    """Wait until a condition holds. A message moved during a listing may be listed twice, or not at all."""
    until = time.monotonic() + seconds
    while True:
        with suppress(FileNotFoundError, ValueError):
            if condition():
                return
        assert time.monotonic() < until, "timeout"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["notified", "polled"])
def test_watch_sorts_after_every_change(account, tmp_path, how):
    first = account.arrive("money")
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(tmp_path), how], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(lambda: account.where(first) == "Junk")
            burst = [account.arrive("money") for _ in range(20)]
            wait_for(lambda: all(account.where(each) == "Junk" for each in burst))
            account.move(first, INBOX)
            wait_for(lambda: account.judge.learned_labels())
            account.box.path.rename(tmp_path / "old")  # the folder is replaced
            new = Maildir(tmp_path / "new", create=True)
            new.path.rename(account.box.path)
            late = account.arrive("more money")
            wait_for(lambda: account.where(late) == "Junk")
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=10)[0].split()
        finally:
            process.kill()
    assert process.returncode == 0
    assert output[-1] == "done"
    assert len(output) < 20
    assert sum(map(int, output[:-1])) == 22


def test_watch_refuses_a_folder_that_is_not_a_maildir(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a Maildir"):
        watch_folders([tmp_path], lambda: None)


class StopWatching(Exception):  # noqa: N818
    """Ends watching."""


def calls(count: int, act=lambda: None):
    """Return a function that calls ``act`` at first, and raises StopWatching at call number ``count``."""
    numbers = itertools.count(1)

    def on_change() -> None:
        number = next(numbers)
        if number == count:
            raise StopWatching
        act()

    return on_change


@pytest.mark.parametrize("notify", [True, False])
def test_watch_continues_after_the_maildir_was_missing(account, notify):
    path = account.box.path

    def vanish() -> None:
        path.rename(path.with_name("away"))
        threading.Timer(0.5, lambda: path.with_name("away").rename(path)).start()
        raise FileNotFoundError(path)

    with pytest.raises(StopWatching):
        watch_folders([path], calls(2, vanish), poll=0.02, notify=notify)


def test_watch_raises_if_another_file_is_missing(account):
    with pytest.raises(FileNotFoundError, match="another"):
        watch_folders([account.box.path], lambda: Path("another").read_bytes())


def test_watch_in_a_thread_raises_the_exception(account):
    with ThreadPoolExecutor(1) as pool, pytest.raises(StopWatching):
        pool.submit(watch_folders, [account.box.path], calls(1)).result(10)


@pytest.mark.needs("linux")
def test_watch_polls_if_a_folder_cannot_be_watched():
    with open_folder() as place:
        box = Maildir(place / "Mail", create=True)
        for path in (box.path, *box.path.iterdir()):
            path.chmod(0o777)
        (box.path / ".Closed").mkdir(0o111)
        importlib.import_module("watchfiles")  # another user may not be able to read it
        with pytest.raises(StopWatching):
            without_rights(
                lambda: watch_folders([box.path], calls(2, lambda: box.deliver(b"Subject: x\n\n")), poll=0.02)
            )


@pytest.mark.needs("linux")
def test_watch_polls_if_the_limit_of_notifications_is_reached(account):
    def use_up() -> None:
        system = ctypes.CDLL(None)
        with ExitStack() as opened:
            for number in iter(system.inotify_init, -1):
                opened.callback(os.close, number)
            watch_folders([account.box.path], calls(2, lambda: account.arrive("money")), poll=0.02)

    with pytest.raises(StopWatching):
        use_up()


def test_results_name_the_moved_and_learned_files(account):
    account.arrive("money")
    (moved,) = account.sort().moved
    assert isinstance(moved, Moved)
    assert Path(moved.where).parent == account.box.path / "new"
    (_, entry, data) = account.all()[0]
    account.move(data, INBOX)
    (learned,) = account.sort().learned
    assert isinstance(learned, Learned)
    assert Path(learned.where).name == Path(entry.path).name


@pytest.mark.parametrize("to", [INBOX, "Work"])
def test_an_interrupted_move_is_finished_or_left_to_the_user(account, to):
    account.box.folder("Work")
    account.sort()
    data = account.arrive("money")
    account.ledger.set_folder(account.judge.identity(data), MOVING + "Junk")
    if to != INBOX:
        account.move(data, to)
    account.sort()
    assert account.where(data) == ("Junk" if to == INBOX else "Work")
    assert account.judge.learned_labels() == {}


def test_an_interrupted_move_that_cannot_be_finished_is_reported():
    with open_folder() as place:
        account = UserMailbox(place)
        account.sort()
        data = account.arrive("money")
        entry = account.find(data)[1]
        account.ledger.set_folder(account.judge.identity(data), MOVING + "Junk")
        shutil.copy(entry.path, account.box.folder("Junk").path / "new")
        for path in place.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0o666)
        Path(entry.path).parent.chmod(0o555)
        assert [each.why for each in without_rights(account.sort).skipped] == ["permission denied"]
        assert Path(entry.path).read_bytes() == data


def test_a_message_that_cannot_be_moved_stays_and_is_counted(account, monkeypatch):
    data = account.arrive("money")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Maildir, "move", full)
    result = account.sort()
    assert (result.failed, len(result.moved), account.where(data)) == (1, 0, INBOX)
    assert [each.why for each in result.skipped] == ["no space left on device"]
