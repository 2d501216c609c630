"""Sorting Maildirs: what is moved, what is learned of a reader's moves, and what is left after being killed."""

from __future__ import annotations

import ctypes
import errno
import hashlib
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

from suffice.mail.mailboxes import Entry
from suffice.mail.mailboxes.maildir import Maildir
from suffice.mail.sorter import BATCH, INBOX, MOVING, Learned, Moved, SortResult, sort_mailbox
from suffice.mail.watcher import watch_folders
from tests.requirements import require
from tests.rights import open_folder, without_rights

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.needs("posix")


class Words:
    """A judge who goes by words, and remembers what it was taught in a file."""

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
        if self.taught().get(self.identity(data)) == label:
            return False
        self.database.execute("INSERT OR REPLACE INTO learned VALUES (?, ?)", (self.identity(data), label))
        return True

    def taught(self) -> dict[str, str]:
        return dict(self.database.execute("SELECT id, label FROM learned"))


class Book:
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

    def set_folder(self, identity: str, folder: str) -> None:
        self._write("INSERT OR REPLACE INTO filed VALUES (?, ?)", identity, folder)

    def known_files(self, folder: str) -> Mapping[str, str]:
        return dict(self.database.execute("SELECT key, id FROM settled WHERE folder = ?", (folder,)))

    def add_file(self, folder: str, key: str, identity: str) -> None:
        self._write("INSERT OR REPLACE INTO settled VALUES (?, ?, ?)", folder, key, identity)

    def remove_files(self, folder: str, keys: Iterable[str]) -> None:
        for key in keys:
            self._write("DELETE FROM settled WHERE folder = ? AND key = ?", folder, key)

    def flush(self) -> None:
        pass

    def everything(self) -> list[tuple[str, ...]]:
        return [*self.database.execute("SELECT * FROM filed"), *self.database.execute("SELECT * FROM settled")]


class Desk:
    """A mailbox with its reader."""

    def __init__(self, place: Path) -> None:
        self.box = Maildir(place / "Mail", create=True)
        self.judge, self.ledger = Words(place / "judge.db"), Book(place / "book.db")
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
        """Move a message as mail programs do, or as servers, which give it a new name."""
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
def desk(tmp_path):
    return Desk(tmp_path)


@pytest.fixture(params=[False, True], ids=["same name", "new name"])
def server(request):
    return request.param


def test_spam_is_moved_and_the_rest_stays(desk):
    spam, ham, unsure = desk.arrive("free money"), desk.arrive("lunch?"), desk.arrive("maybe")
    told: list[object] = []
    result = desk.sort(report=told.append)
    assert (desk.where(spam), desk.where(ham), desk.where(unsure)) == ("Junk", INBOX, INBOX)
    assert [(each.folder, each.probability) for each in result.moved] == [("Junk", 0.99)]
    assert told == result.moved
    assert (result.kept, result.learned, result.skipped, result.gone) == (2, [], [], 0)
    assert desk.sort() == SortResult()


def test_folders_of_other_classes(desk):
    messages = [desk.arrive(words) for words in ("money", "maybe", "a list", "lunch?")]
    desk.sort(unsure_folder="Unsure", folders={"lists": "Lists"})
    assert [desk.where(each) for each in messages] == ["Junk", "Unsure", "Lists", INBOX]


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
def test_what_a_move_teaches(desk, server, words, to, label):
    settings = {"unsure_folder": "Unsure", "folders": {"lists": "Lists"}}
    message, other = desk.arrive(words), desk.arrive(words)
    desk.sort(**settings)
    desk.move(message, to, server)
    for _ in range(2):
        would = desk.sort(**settings, dry_run=True)
        assert desk.labels(would) == [label] * (label is not None)
    result = desk.sort(**settings)
    assert desk.labels(result) == [label] * (label is not None)
    assert result.moved == []
    assert desk.where(message) == to
    assert desk.sort(**settings) == SortResult()
    assert desk.judge.taught() == ({desk.judge.identity(message): label} if label else {})
    assert desk.judge.identity(other) not in desk.judge.taught()


def test_there_and_back_again(desk, server):
    message = desk.arrive("money")
    desk.sort()
    for to, label in ((INBOX, "ham"), ("Junk", "spam"), ("Work", "ham"), ("Junk", "spam"), (INBOX, "ham")):
        desk.move(message, to, server)
        assert desk.labels(desk.sort()) == [label]
        assert desk.where(message) == to


def test_the_first_sort_learns_nothing(desk):
    old, work = desk.arrive("from before", "Junk"), desk.arrive("money", "Work")
    assert desk.sort() == SortResult()
    stranger = desk.arrive("another filter's", "Junk")
    assert desk.labels(desk.sort()) == ["spam"]
    assert desk.judge.taught() == {desk.judge.identity(stranger): "spam"}
    desk.move(old, INBOX)
    assert desk.labels(desk.sort()) == ["ham"]
    desk.move(work, "Junk")
    assert desk.labels(desk.sort()) == ["spam"]


@pytest.mark.parametrize("choice", [True, False])
def test_learn_strangers(desk, choice):
    desk.arrive("one", "Junk")
    first = desk.sort(learn_strangers=choice)
    desk.arrive("two", "Junk")
    second = desk.sort(learn_strangers=choice)
    assert desk.labels(first) + desk.labels(second) == ["spam", "spam"] * choice


def test_learning_may_wait(desk):
    message = desk.arrive("money")
    desk.sort()
    desk.move(message, INBOX)
    assert desk.sort(learn=False) == SortResult()
    assert desk.where(message) == INBOX
    assert desk.labels(desk.sort()) == ["ham"]
    desk.arrive("money", "Junk")
    assert desk.sort(learn=False) == SortResult()
    assert desk.labels(desk.sort()) == ["spam"]


def test_what_comes_back_from_a_folder_of_the_reader_teaches_nothing(desk):
    desk.box.folder("Work")
    desk.sort()
    message = desk.arrive("lunch")
    desk.sort()
    for place in ("Work", INBOX):
        desk.move(message, place)
        assert desk.labels(desk.sort()) == []
    assert desk.where(message) == INBOX


def test_dry_run_changes_nothing(desk, tmp_path):
    desk.sort()
    desk.arrive("money")
    before = sorted(tmp_path.rglob("*")), desk.ledger.everything()
    result = desk.sort(dry_run=True)
    assert [each.folder for each in result.moved] == ["Junk"]
    assert (sorted(tmp_path.rglob("*")), desk.ledger.everything()) == before
    assert desk.sort().moved == result.moved


def test_dry_run_changes_nothing_of_what_lies_in_other_folders(desk):
    desk.arrive("lunch", "Work")
    desk.sort(dry_run=True)
    assert desk.ledger.everything() == []
    desk.sort()
    spam = desk.arrive("money")
    desk.sort()
    desk.arrive("dinner", "Work")
    desk.box.deliver(spam, "S")  # a copy, which teaches nothing
    before = desk.ledger.everything()
    assert desk.sort(dry_run=True) == SortResult()
    assert desk.ledger.everything() == before


def test_only_new(desk):
    old, new = desk.arrive("money"), desk.arrive("money")
    desk.box.move(desk.find(old)[1], desk.box, seen=True)
    assert len(desk.sort(only_new=True).moved) == 1
    assert (desk.where(old), desk.where(new)) == (INBOX, "Junk")
    desk.move(old, "Junk")
    assert desk.labels(desk.sort(only_new=True)) == ["spam"]


def test_deleted_messages_are_left_alone(desk):
    message = desk.box.deliver(b"Subject: x\n\nmoney\n", flags="T")
    desk.arrive("money", "Junk")
    assert desk.sort() == SortResult()
    assert Path(message.path).exists()


def test_a_copy_that_is_deleted_in_the_old_place_is_a_move(desk):
    message = desk.arrive("money")
    desk.sort()
    junk = desk.box.folder("Junk")
    (entry,) = junk.entries()
    desk.box.deliver(message, "S")
    assert desk.sort() == SortResult()  # the reader copied it: nothing is learned, and it stays
    os.rename(entry.path, junk.path / "cur" / f"{entry.key}:2,ST")  # noqa: PTH104
    Path(junk.path / "cur" / f"{entry.key}:2,ST").unlink()
    assert desk.labels(desk.sort()) == ["ham"]
    assert desk.where(message) == INBOX
    assert desk.sort() == SortResult()


def test_one_of_two_copies_is_rescued(desk, server):
    one = desk.arrive("money", received="Received: by a\n")
    desk.box.deliver(one.replace(b"by a", b"by b"))
    assert desk.judge.identity(one) == desk.judge.identity(one.replace(b"by a", b"by b"))
    assert len(desk.sort().moved) == 2
    desk.move(one, INBOX, server)
    assert desk.labels(desk.sort()) == ["ham"]
    for _ in range(2):
        assert desk.sort() == SortResult()
    assert desk.where(one) == INBOX


def test_spam_that_comes_again_is_no_rescue(desk):
    one = desk.arrive("money", received="Received: by a\n")
    desk.sort()
    two = one.replace(b"by a", b"by b")
    desk.box.deliver(two)
    assert len(desk.sort().moved) == 1
    for each in (one, two):
        Path(desk.find(each)[1].path).unlink()  # the reader empties the folder
    desk.sort()
    desk.box.deliver(two)
    result = desk.sort()
    assert (len(result.moved), result.learned) == (1, [])


def test_copies_within_a_run_are_no_rescues(desk):
    one = desk.arrive("money", received="Received: by a\n")
    for _ in range(2 * BATCH):  # so that the copies below are met after the first was moved
        desk.arrive("money")
    for server in (b"by b", b"by a"):
        desk.box.deliver(one.replace(b"by a", server))
    result = desk.sort()
    assert (len(result.moved), result.learned) == (2 * BATCH + 3, [])
    assert desk.sort() == SortResult()


def test_the_same_bytes_delivered_again_are_judged(desk):
    message = desk.arrive("money")
    desk.sort()
    desk.box.deliver(message)
    result = desk.sort()
    assert (len(result.moved), result.learned) == (1, [])
    assert not desk.box.entries()


def test_folders_beside_the_maildir(desk):
    beside = desk.box.path.parent
    archive = Maildir(beside / "Archive", create=True)
    messages = [desk.arrive("money") for _ in range(2)]
    assert len(desk.sort(spam_folder="../Junk").moved) == 2
    junk = Maildir(beside / "Junk")
    for place in (desk.box, archive):
        junk.move(junk.entries()[0], place)
    assert desk.labels(desk.sort(spam_folder="../Junk")) == ["ham", "ham"]
    assert {Path(entry.path).read_bytes() for place in (desk.box, archive) for entry in place.entries()} == set(
        messages
    )
    assert desk.sort(spam_folder="../Junk") == SortResult()


def test_a_number_of_the_server_stays_behind(desk):
    desk.arrive("money")
    (entry,) = desk.box.entries()
    Path(entry.path).rename(desk.box.path / "new" / "1.host,S=9,U=17:2,")
    desk.sort()
    assert [each.key for each in desk.box.folder("Junk").entries()] == ["1.host,S=9"]


def test_a_judge_that_raises(desk):
    messages = [desk.arrive(words) for words in ("unspeakable", "difficult", "money")]
    for count in (1, 0):
        result = desk.sort()
        assert [each.why for each in result.skipped] == ["ValueError: no words for it", "RuntimeError: too difficult"]
        assert len(result.moved) == count
    assert [desk.where(each) for each in messages] == [INBOX, INBOX, "Junk"]


def test_what_is_no_message_is_reported(desk, tmp_path):
    (desk.box.path / "new" / "1.empty").touch()
    (desk.box.path / "cur" / "2.link").symlink_to(tmp_path / "judge.db")
    desk.arrive("money")
    result = desk.sort()
    assert [each.why for each in result.skipped] == ["a link, which is not followed", "empty"]
    assert len(result.moved) == 1


def test_a_folder_that_cannot_be_read_does_not_matter(desk, tmp_path):
    work = desk.box.folder("Work")
    (work.path / "cur").rmdir()
    (work.path / "cur").symlink_to(tmp_path)
    desk.arrive("money")
    result = desk.sort()
    assert len(result.moved) == 1
    assert [each.where for each in result.skipped] == [str(work.path)]


def test_messages_that_vanish_meanwhile(desk):
    messages = [desk.arrive("money") for _ in range(3)]
    paths = [desk.find(each)[1].path for each in messages]

    class Busy(Words):
        def verdict(self, data: bytes) -> tuple[str, float]:
            Path(paths[0]).unlink(missing_ok=True)
            if Path(paths[1]).exists():  # flagged by another program
                Path(paths[1]).rename(desk.box.path / "cur" / f"{Path(paths[1]).name}:2,F")
            return super().verdict(data)

    desk.judge.__class__ = Busy
    result = desk.sort()
    assert (len(result.moved), result.gone, result.skipped) == (2, 1, [])
    assert desk.find(messages[1])[1].flags == "F"


def test_a_message_that_vanishes_before_it_is_read_is_counted(desk):
    desk.sort()
    first, second = desk.arrive("money"), desk.arrive("money")
    path = desk.find(second)[1].path

    class Busy(Words):
        def identity(self, data: bytes) -> str:
            Path(path).unlink(missing_ok=True)
            return super().identity(data)

    desk.judge.__class__ = Busy
    result = desk.sort()
    assert (len(result.moved), result.gone, desk.where(first)) == (1, 1, "Junk")


def test_a_message_that_may_not_be_read_is_skipped():
    with open_folder() as place:
        desk = Desk(place)
        secret = Path(desk.box.deliver(b"Subject: x\n\nmoney\n").path)
        secret.chmod(0)
        for path in place.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0 if path == secret else 0o666)
        assert [each.why for each in without_rights(desk.sort).skipped] == ["permission denied"]


def test_settings_that_make_no_sense(desk):
    for settings in (
        {"spam_folder": "INBOX"},
        {"unsure_folder": "Junk"},
        {"folders": {"lists": ".Junk"}},
        {"folders": {"spam": "Other"}},
        {"spam_folder": "../../x"},
        {"spam_folder": "../Mail"},
    ):
        with pytest.raises(ValueError, match="folder"):
            desk.sort(**settings)


def test_known_messages_are_not_read_again(desk):
    for i in range(30):
        desk.arrive("lunch" if i % 2 else "money")
    desk.sort()
    for _, entry, _ in desk.all():
        Path(entry.path).write_bytes(b"")  # would be reported, if it were read
    assert desk.sort() == SortResult()
    writes = desk.ledger.writes
    desk.sort()
    assert desk.ledger.writes == writes


def test_random_moves_of_a_reader_lose_no_message_and_teach_only_what_was_moved(desk):
    """Nothing is lost or doubled, and nothing is learned but what the reader moved."""
    chance = random.Random(5)
    messages: list[bytes] = []
    touched: set[bytes] = set()
    settings = {"unsure_folder": "Unsure"}
    for _ in range(60):
        messages += [desk.arrive(chance.choice(["money", "maybe", "lunch"])) for _ in range(chance.randrange(3))]
        desk.sort(**settings)
        for message in chance.sample(messages, min(len(messages), chance.randrange(4))):
            desk.move(message, chance.choice([INBOX, "Junk", "Unsure", "Work", "Trash"]), chance.random() < 0.5)
            touched.add(message)
        before = {data: name for name, _, data in desk.all()}
        desk.sort(**settings)
        after = {data: name for name, _, data in desk.all()}
        assert sorted(messages) == sorted(data for _, _, data in desk.all())
        assert {data for data in messages if before[data] != after[data]} <= set(messages) - touched
        taught = desk.judge.taught()
        assert set(taught) <= {desk.judge.identity(each) for each in touched}
        for message in touched:
            label = {"Junk": "spam", INBOX: "ham"}.get(after[message])
            known = taught.get(desk.judge.identity(message))
            assert known in (label, None) or label is None
    assert len(set(desk.judge.taught().values())) == 2


def killed_at(place: Path, step: int, far: str | None) -> bool:
    """Sort in a process that kills itself at some step; return whether it got there."""
    child = os.fork()
    if child == 0:
        steps = itertools.count()
        desk = Desk(place)

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
            setattr(desk.ledger, name, after(getattr(desk.ledger, name)))
        desk.judge.learn = after(desk.judge.learn)
        for name in ("rename", "unlink", "mkdir"):
            setattr(Path, name, after(getattr(Path, name)))
        if far is None:
            desk.box.move = after(desk.box.move)
        desk.sort(spam_folder=far or "Junk")
        os._exit(0)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def kill_at_steps(place: Path, far: str | None, first: int, every: int) -> None:
    """Kill a sort at each or some of its steps, let another one finish, and print what is wrong then."""
    if far:
        from suffice.mail import atomic_files

        atomic_files._system_rename = lambda: None  # so that each rename is a step  # noqa: SLF001
    for step in itertools.count(first, every):
        here = place / str(step)
        here.mkdir()
        there = f"{far}/{step}" if far else None
        desk = Desk(here)
        rescued, spotted = desk.arrive("money"), desk.arrive("lunch")
        desk.sort(spam_folder=there or "Junk")
        junk = desk.box.folder(there or "Junk")
        junk.move(junk.entries()[0], desk.box)
        desk.move(spotted, there or "Junk")
        spam, ham = [desk.arrive("money") for _ in range(3)], [desk.arrive("lunch") for _ in range(2)]
        desk.judge.database.close()
        desk.ledger.database.close()
        killed = killed_at(here, step, there)
        desk = Desk(here)
        desk.sort(spam_folder=there or "Junk")
        final = [desk.sort(spam_folder=there or "Junk") == SortResult()]
        final.append(sorted(Path(e.path).read_bytes() for e in desk.box.entries()) == sorted([rescued, *ham]))
        final.append(sorted(Path(e.path).read_bytes() for e in junk.entries()) == sorted([spotted, *spam]))
        taught = {desk.judge.identity(rescued): "ham", desk.judge.identity(spotted): "spam"}
        final.append(desk.judge.taught() == taught)
        final.append(not any(MOVING in row[1] for row in desk.ledger.everything()))
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
from tests.mail.test_sorter import Desk, watch_folders
desk = Desk(Path(sys.argv[1]))
def on_change():
    print(len(desk.sort().moved), flush=True)
watch_folders([desk.box.path], on_change, poll=0.1, notify=sys.argv[2] == "notified")
print("done", flush=True)
"""


def wait_for(what, seconds=10.0):
    """Wait until something is so. A message that is moved while folders are listed is seen in both, or in none."""
    until = time.monotonic() + seconds
    while True:
        with suppress(FileNotFoundError, ValueError):
            if what():
                return
        assert time.monotonic() < until, "it never came"
        time.sleep(0.01)


@pytest.mark.parametrize("how", ["notified", "polled"])
def test_watch_sorts_after_every_change(desk, tmp_path, how):
    first = desk.arrive("money")
    with subprocess.Popen(
        [sys.executable, "-c", WATCHER, str(tmp_path), how], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            wait_for(lambda: desk.where(first) == "Junk")
            burst = [desk.arrive("money") for _ in range(20)]
            wait_for(lambda: all(desk.where(each) == "Junk" for each in burst))
            desk.move(first, INBOX)
            wait_for(lambda: desk.judge.taught())
            desk.box.path.rename(tmp_path / "old")  # the folder is replaced
            new = Maildir(tmp_path / "new", create=True)
            new.path.rename(desk.box.path)
            late = desk.arrive("more money")
            wait_for(lambda: desk.where(late) == "Junk")
            time.sleep(0.1)
            process.send_signal(signal.SIGTERM)
            output = process.communicate(timeout=10)[0].split()
        finally:
            process.kill()
    assert process.returncode == 0
    assert output[-1] == "done"
    assert len(output) < 20
    assert sum(map(int, output[:-1])) == 22


def test_watch_refuses_a_folder_that_is_no_maildir(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a Maildir"):
        watch_folders([tmp_path], lambda: None)


class StopWatching(Exception):  # noqa: N818
    """Ends watching."""


def calls(count: int, act=lambda: None):
    """Return a function that acts when it is called first, and ends watching when it was called so often."""
    numbers = itertools.count(1)

    def on_change() -> None:
        number = next(numbers)
        if number == count:
            raise StopWatching
        act()

    return on_change


@pytest.mark.parametrize("notify", [True, False])
def test_watch_goes_on_where_the_maildir_is_missing_for_a_while(desk, notify):
    path = desk.box.path

    def vanish() -> None:
        path.rename(path.with_name("away"))
        threading.Timer(0.5, lambda: path.with_name("away").rename(path)).start()
        raise FileNotFoundError(path)

    with pytest.raises(StopWatching):
        watch_folders([path], calls(2, vanish), poll=0.02, notify=notify)


def test_watch_ends_where_another_file_is_missing(desk):
    with pytest.raises(FileNotFoundError, match="another"):
        watch_folders([desk.box.path], lambda: Path("another").read_bytes())


def test_watch_in_a_thread_ends_with_an_exception(desk):
    with ThreadPoolExecutor(1) as pool, pytest.raises(StopWatching):
        pool.submit(watch_folders, [desk.box.path], calls(1)).result(10)


@pytest.mark.needs("linux")
def test_watch_looks_itself_where_a_folder_cannot_be_watched():
    with open_folder() as place:
        box = Maildir(place / "Mail", create=True)
        for path in (box.path, *box.path.iterdir()):
            path.chmod(0o777)
        (box.path / ".Closed").mkdir(0o111)
        with pytest.raises(StopWatching):
            without_rights(
                lambda: watch_folders([box.path], calls(2, lambda: box.deliver(b"Subject: x\n\n")), poll=0.02)
            )


@pytest.mark.needs("linux")
def test_watch_looks_itself_where_the_system_tells_no_more_users_of_changes(desk):
    def use_up() -> None:
        system = ctypes.CDLL(None)
        with ExitStack() as opened:
            for number in iter(system.inotify_init, -1):
                opened.callback(os.close, number)
            watch_folders([desk.box.path], calls(2, lambda: desk.arrive("money")), poll=0.02)

    with pytest.raises(StopWatching):
        use_up()


def test_results_are_what_they_say(desk):
    desk.arrive("money")
    (moved,) = desk.sort().moved
    assert isinstance(moved, Moved)
    assert Path(moved.where).parent == desk.box.path / "new"
    (_, entry, data) = desk.all()[0]
    desk.move(data, INBOX)
    (learned,) = desk.sort().learned
    assert isinstance(learned, Learned)
    assert Path(learned.where).name == Path(entry.path).name


@pytest.mark.parametrize("to", [INBOX, "Work"])
def test_a_move_that_was_cut_short_is_finished_or_left_to_the_reader(desk, to):
    desk.box.folder("Work")
    desk.sort()
    data = desk.arrive("money")
    desk.ledger.set_folder(desk.judge.identity(data), MOVING + "Junk")
    if to != INBOX:
        desk.move(data, to)
    desk.sort()
    assert desk.where(data) == ("Junk" if to == INBOX else "Work")
    assert desk.judge.taught() == {}


def test_a_move_that_was_cut_short_and_cannot_be_finished_is_told():
    with open_folder() as place:
        desk = Desk(place)
        desk.sort()
        data = desk.arrive("money")
        entry = desk.find(data)[1]
        desk.ledger.set_folder(desk.judge.identity(data), MOVING + "Junk")
        shutil.copy(entry.path, desk.box.folder("Junk").path / "new")
        for path in place.rglob("*"):
            path.chmod(0o777 if path.is_dir() else 0o666)
        Path(entry.path).parent.chmod(0o555)
        assert [each.why for each in without_rights(desk.sort).skipped] == ["permission denied"]
        assert Path(entry.path).read_bytes() == data


def test_a_message_that_cannot_be_moved_stays_and_is_counted(desk, monkeypatch):
    data = desk.arrive("money")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Maildir, "move", full)
    result = desk.sort()
    assert (result.failed, len(result.moved), desk.where(data)) == (1, 0, INBOX)
    assert [each.why for each in result.skipped] == ["no space left on device"]
