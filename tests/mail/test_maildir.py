"""Maildirs, compared with the standard library, and with concurrent changes by other programs."""

from __future__ import annotations

import errno
import mailbox
import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from suffice.mail import atomic_files
from suffice.mail.mailboxes import Entry, Message, MessageGoneError
from suffice.mail.mailboxes.maildir import Maildir
from tests.requirements import require

MESSAGE = b"Subject: hello\n\nLunch?\n"
pytestmark = pytest.mark.needs("posix")
#: A folder on another file system, if there is one.
ELSEWHERE = Path("/dev/shm")


@pytest.fixture
def box(tmp_path):
    return Maildir(tmp_path / "Mail", create=True)


def everything(*boxes: Maildir) -> list[bytes]:
    return sorted(Path(entry.path).read_bytes() for each in boxes for entry in each.entries())


def test_delivered_messages_are_read_by_the_standard_library(box):
    entry = box.deliver(MESSAGE)
    flagged = box.deliver(MESSAGE, flags="SR", new=True)
    other = mailbox.Maildir(box.path, create=False)
    assert {key: (other[key].get_subdir(), other[key].get_flags()) for key in other.keys()} == {  # noqa: SIM118
        entry.key: ("new", ""),
        flagged.key: ("cur", "RS"),
    }
    assert other.get_bytes(entry.key) == MESSAGE
    assert list((box.path / "tmp").iterdir()) == []
    assert Path(entry.path).stat().st_mode & 0o777 == 0o600
    assert box.path.stat().st_mode & 0o777 == 0o700
    with pytest.raises(ValueError, match="flags must be letters"):
        box.deliver(MESSAGE, flags="S/../x")


def test_messages_of_the_standard_library_are_listed(box):
    other = mailbox.Maildir(box.path, create=False)
    keys = {other.add(MESSAGE) for _ in range(3)}
    (box.path / "cur" / ".hidden").write_bytes(MESSAGE)
    (box.path / "cur" / "odd:1,x").write_bytes(MESSAGE)
    (box.path / "cur" / "folder").mkdir()
    assert {entry.key for entry in box.entries()} == {*keys, "odd"}


def test_a_folder_that_is_not_a_maildir_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="is not a Maildir: it has no folder 'tmp'"):
        Maildir(tmp_path)
    with pytest.raises(FileNotFoundError):
        Maildir(tmp_path / "missing")
    for part in ("tmp", "new"):
        (tmp_path / part).mkdir()
    outside = tmp_path.parent / f"{tmp_path.name}-outside"
    outside.mkdir()
    (tmp_path / "cur").symlink_to(outside)
    with pytest.raises(ValueError, match="is a link to a folder outside the Maildir"):
        Maildir(tmp_path)


def test_move_keeps_name_flags_and_time(box):
    junk = box.folder("Junk")
    new, seen = box.deliver(MESSAGE), box.deliver(MESSAGE, flags="FS")
    os.utime(seen.path, (1e9, 1e9))
    for entry in (new, seen):
        moved = box.move(entry, junk)
        assert moved[1:] == entry[1:]
        assert Path(moved.path).parent.name == ("new" if entry.new else "cur")
    assert Path(moved.path).stat().st_mtime == 1e9
    assert box.move(junk.move(moved, box, seen=False), junk).flags == "F"
    assert junk.move(junk.find(new.key), junk, seen=True).flags == "S"
    assert len(junk.entries()) == 2
    assert box.entries() == []


@pytest.mark.parametrize("system", ["this one", "an older one", "a file system that cannot"])
def test_move_never_overwrites(box, system, monkeypatch):
    if system != "this one":
        exclusive = None if system == "an older one" else lambda *_: errno.EINVAL
        monkeypatch.setattr(atomic_files, "_system_rename", lambda: exclusive)
    junk = box.folder("Junk")
    entry = box.deliver(b"one")
    (junk.path / "new" / entry.key).write_bytes(b"two")
    moved = box.move(entry, junk)
    assert moved.key != entry.key
    assert everything(junk, box) == [b"one", b"two"]


def test_a_message_is_found_after_a_change_of_flags(box):
    entry = box.deliver(MESSAGE)
    Path(entry.path).rename(box.path / "cur" / f"{entry.key}:2,S")
    assert box.read(entry) == Message(MESSAGE, str(box.path / "cur" / f"{entry.key}:2,S"))
    moved = box.move(entry, box.folder("Junk"))
    assert moved.flags == "S"
    with pytest.raises(MessageGoneError, match="moved or deleted"):
        box.move(entry, box.folder("Junk"))
    with pytest.raises(MessageGoneError):
        box.read(entry)


def test_a_message_that_is_renamed_repeatedly_counts_as_gone(box):
    class Busy(Maildir):
        def find(self, key: str) -> Entry | None:
            found = super().find(key)
            Path(found.path).rename(self.path / "cur" / f"{key}:2,{'F' if found.flags == 'S' else 'S'}")
            return found

    entry = box.deliver(MESSAGE)
    Path(entry.path).rename(box.path / "cur" / f"{entry.key}:2,S")
    with pytest.raises(MessageGoneError):
        Busy(box.path).read(entry)
    assert len(box.entries()) == 1


def test_a_missing_folder_is_not_a_missing_message(box):
    junk = box.folder("Junk")
    entry = box.deliver(MESSAGE)
    (junk.path / "new").rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        box.move(entry, junk)
    assert not isinstance(caught.value, MessageGoneError)
    assert len(box.entries()) == 1


def test_links_are_not_followed(box, tmp_path):
    (tmp_path / "secret").write_bytes(MESSAGE)
    link = box.path / "cur" / "1.link:2,S"
    link.symlink_to(tmp_path / "secret")
    os.mkfifo(box.path / "new" / "pipe")
    assert box.entries() == []
    assert {Path(each.where).name for each in box.skipped} == {"1.link:2,S", "pipe"}
    entry = Entry(str(link), "1.link", "S", False)
    assert not isinstance(box.read(entry), Message)


def test_folders_are_located_by_name(box, tmp_path):
    assert box.folder("Junk").path == box.path / ".Junk"
    assert (box.path / ".Junk" / "maildirfolder").is_file()
    assert box.folder(".Junk").path == box.path / ".Junk"
    Maildir(box.path / "Spam", create=True)
    assert box.folder("Spam").path == box.path / "Spam"
    assert box.folder("Lists.python").path == box.path / ".Lists.python"
    assert box.folder("inbox").path == box.path
    assert box.folder("Indésirables & Co").path.name == ".Ind&AOk-sirables &- Co"
    assert box.folder("Indésirables & Co", create=False).path.name == ".Ind&AOk-sirables &- Co"
    assert box.folder(str(tmp_path / "Other")).path == tmp_path / "Other"
    assert box.folder("Spam/deep").path == box.path / "Spam" / "deep"
    assert set(box.folders()) == {"Junk", "Spam", "Lists.python", "Ind&AOk-sirables &- Co"}
    with pytest.raises(FileNotFoundError):
        box.folder("None", create=False)
    assert not (box.path / ".None").exists()


@pytest.mark.parametrize(
    "name", ["", ".", "..", "../", "../../x", "a/../b", "Junk/", "a\0b", "a\nb", "\x7f", "/etc/../tmp/x"]
)
def test_bad_folder_names_are_refused(box, name):
    before = sorted(box.path.rglob("*"))
    with pytest.raises(ValueError, match=re.escape(repr(name)) + " is not a folder name"):
        box.folder(name)
    assert sorted(box.path.rglob("*")) == before


def test_a_link_to_a_folder_outside_is_refused(box, tmp_path):
    outside = Maildir(tmp_path / "outside", create=True)
    (box.path / ".Junk").symlink_to(outside.path)
    (box.path / ".Inside").symlink_to(box.folder("Real").path)
    with pytest.raises(ValueError, match="is a link to a folder outside"):
        box.folder("Junk")
    assert box.folder("Inside").path == box.path / ".Inside"


@pytest.fixture
def far(tmp_path):
    require("file systems")
    place = ELSEWHERE / f"suffice-{os.getpid()}-{tmp_path.name}"
    yield Maildir(place, create=True)
    subprocess.run(["rm", "-r", str(place)], check=True)


def test_move_to_another_file_system(box, far):
    data = random.Random(0).randbytes(3 << 20)
    entry = box.deliver(data, flags="S")
    os.utime(entry.path, (1e9, 1e9))
    moved = box.move(entry, far)
    assert moved[1:] == entry[1:]
    assert Path(moved.path).read_bytes() == data
    assert Path(moved.path).stat().st_mtime == 1e9
    assert box.entries() == list((far.path / "tmp").iterdir()) == []


LOOP = """
import sys
from suffice.mail.maildir import Maildir
here, there = Maildir(sys.argv[1]), Maildir(sys.argv[2])
print("go", flush=True)
while True:
    for entry in here.entries():
        here.move(entry, there)
    here, there = there, here
"""


@pytest.mark.parametrize("across", [False, True])
def test_a_kill_while_moving_loses_no_message(box, request, across):
    there = request.getfixturevalue("far") if across else box.folder("Junk")
    chance = random.Random(0)
    data = [b"Subject: %d\n\n" % i + bytes([i]) * 100_000 for i in range(8)]
    for each in data:
        box.deliver(each)
    for _ in range(4):
        with subprocess.Popen(
            [sys.executable, "-c", LOOP, str(box.path), str(there.path)], stdout=subprocess.PIPE
        ) as process:
            process.stdout.readline()
            time.sleep(chance.random() * 0.03)
            process.send_signal(signal.SIGKILL)
        kept = everything(box, there)
        assert set(kept) == set(data)
        assert across or len(kept) == len(data)
        twice = {entry.key for entry in box.entries()} & {entry.key for entry in there.entries()}
        assert len(kept) - len(data) == len(twice) <= 1
        for key in twice:
            assert box.finish_move(box.find(key), {key: there.find(key)})
        assert everything(box, there) == data


def test_finish_move_deletes_only_equal_copies(box):
    junk = box.folder("Junk")
    one, two = box.deliver(b"one"), junk.deliver(b"two")
    assert not box.finish_move(one, {one.key: two})
    assert everything(box, junk) == [b"one", b"two"]
