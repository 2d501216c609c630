"""Reading mail on disk, compared with the mailboxes of the standard library."""

from __future__ import annotations

import bz2
import gzip
import lzma
import mailbox
import os
import random
import re
import socket
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.mail.mailboxes import Mailbox, Message, Skipped, mbox
from suffice.mail.mailboxes.directories import Directory
from suffice.mail.mailboxes.maildir import Maildir
from suffice.mail.mailboxes.mbox import MailFile, read_message
from suffice.mail.mailboxes.streams import interleave_classes, open_mailbox, read_messages, total_size
from tests.references.data import unpacked
from tests.rights import open_folder, without_rights

FROM = b"From ann@example.org Thu Aug 22 13:17:22 2002\n"
MESSAGE = b"Subject: hello\n\nLunch?\n"
posix = pytest.mark.needs("posix")


def texts(*paths: Path, limit: int = 1 << 26) -> list[bytes]:
    return [each.data for each in read_messages(paths, limit=limit) if isinstance(each, Message)]


def skipped(*paths: Path) -> dict[str, str]:
    return {Path(each.where).name: each.why for each in read_messages(paths) if isinstance(each, Skipped)}


def written(messages: list[bytes], newline: bytes = b"\n") -> bytes:
    """Return messages as mboxrd writes them."""
    quoted = [re.sub(rb"(?m)^(>*From )", rb">\1", message) for message in messages]
    return b"".join(FROM[:-1] + newline + message + newline for message in quoted)


def mbox_file(path: Path) -> Mailbox:
    path.write_bytes(written([MESSAGE, b"Subject: 2\n\n" + b"x" * 100 + b"\n"]))
    return MailFile(str(path))


def directory(path: Path) -> Mailbox:
    path.mkdir()
    (path / "1.eml").write_bytes(MESSAGE)
    (path / "2.eml").write_bytes(b"Subject: 2\n\n" + b"x" * 100 + b"\n")
    return Directory(str(path))


def maildir(path: Path) -> Mailbox:
    made = Maildir(path, create=True)
    made.deliver(MESSAGE, "S")
    made.deliver(b"Subject: 2\n\n" + b"x" * 100 + b"\n")
    return made


@pytest.mark.parametrize("make", [mbox_file, directory, pytest.param(maildir, marks=posix)])
def test_every_mailbox_has_messages_in_order_a_limit_and_a_size(tmp_path, make):
    mailbox = make(tmp_path / "box")
    found = list(mailbox.messages())
    assert [each.data.splitlines()[0] for each in found] == [b"Subject: hello", b"Subject: 2"]
    assert all(each.where.startswith(str(tmp_path / "box")) for each in found)
    assert [len(each.data) for each in mailbox.messages(limit=30)] == [len(MESSAGE), 30]
    assert sum(len(each.data) for each in found) <= mailbox.size() == total_size([tmp_path / "box"])
    opened = open_mailbox(str(tmp_path / "box"))
    assert list(opened.messages()) == list(mailbox.messages()) == found


def test_classes_are_interleaved_by_size(tmp_path):
    (tmp_path / "ham").write_bytes(written([b"Subject: %d\n\nham\n" % i for i in range(20)]))
    (tmp_path / "spam").write_bytes(written([b"Subject: %d\n\nspam\n" % i for i in range(5)]))
    (tmp_path / "none").write_bytes(b"")
    skipped: list[Skipped] = []
    classes = {"ham": [str(tmp_path / "ham")], "spam": [str(tmp_path / "spam"), str(tmp_path / "none")]}
    labels = [label for _, label in interleave_classes(classes, skipped.append)]
    assert [labels[i : i + 5].count("spam") for i in range(0, 25, 5)] == [1] * 5
    assert [each.why for each in skipped] == ["empty"]


LINES = st.sampled_from(
    [
        b"From ",
        b">From ",
        b">>From me",
        FROM[:-1],
        b">" + FROM[:-1],
        b"",
        b"\0",
        b"x",
        b"\r",
        b"Content-Length: 7",
        b" \xff",
    ]
)


@st.composite
def messages(draw, newline=b"\n"):
    body = [line for line in draw(st.lists(LINES, max_size=8)) if newline == b"\n" or line != b"\r"]
    return newline.join([b"Subject: x", b"", *body]) + newline


@pytest.mark.parametrize("newline", [b"\n", b"\r\n"])
@given(data=st.data())
def test_mboxrd_is_read_as_it_was_written(tmp_path_factory, newline, data):
    given_messages = data.draw(st.lists(messages(newline), min_size=1, max_size=5))
    path = tmp_path_factory.mktemp("box") / "box"
    path.write_bytes(written(given_messages, newline))
    assert texts(path) == given_messages


@given(data=st.data(), chunk=st.integers(1100, 3000))
def test_the_chunk_size_makes_no_difference(tmp_path_factory, data, chunk):
    given_messages = data.draw(st.lists(messages(), min_size=1, max_size=5))
    given_messages = [message + b"word " * data.draw(st.integers(0, 600)) + b"\n" for message in given_messages]
    path = tmp_path_factory.mktemp("box") / "box"
    path.write_bytes(written(given_messages))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mbox, "CHUNK", chunk)
        assert texts(path) == given_messages


def test_a_header_may_span_two_chunks(tmp_path):
    long = MESSAGE + b"x" * (mbox.CHUNK - 2000) + b"\n"
    headed = b"X-Long: " + b"x" * 5000 + b"\nContent-Length: 7\n" + MESSAGE
    (tmp_path / "box").write_bytes(written([long, headed, MESSAGE]))
    assert texts(tmp_path / "box") == [long, headed, MESSAGE]


@given(st.lists(messages(), min_size=1, max_size=4), st.booleans())
def test_with_content_length_quotes_are_optional(tmp_path_factory, given_messages, final):
    stated = []
    for message in given_messages:
        head, _, body = message.partition(b"\n\n")
        stated.append(head + b"\nContent-Length: %d\n\n" % len(body) + body)
    path = tmp_path_factory.mktemp("box") / "box"
    content = b"\n".join(FROM + message for message in stated) + b"\n" * final
    path.write_bytes(content)
    found = texts(path)
    assert len(found) == len(stated)
    for got, message in zip(found, stated, strict=True):
        # A body without a line From may be quoted or not.
        assert got == message or (b"\nFrom " not in message and got == re.sub(rb"(?m)^>(>*From )", rb"\1", message))


def test_a_wrong_content_length_is_ignored(tmp_path):
    box = tmp_path / "box"
    first = b"Subject: x\nContent-Length: 40\n\nfree money\n"
    box.write_bytes(written([first, MESSAGE, MESSAGE]))
    assert texts(box) == [first, MESSAGE, MESSAGE]
    for length in (b"9999", b"99999999"):
        box.write_bytes(written([first.replace(b"40", length), MESSAGE]))
        assert len(texts(box)) == 2
    headers = b"Content-Length: 40\nSubject: x\n"
    box.write_bytes(b"From x Mon Jan  1 00:00:00 2024\n" + headers)
    assert texts(box) == [headers]


def test_an_mbox_of_the_standard_library_is_read(tmp_path):
    box = mailbox.mbox(tmp_path / "box")
    for body in ("one\n", "two\n\nFrom here on\n", "", "no end"):
        box.add(f"Subject: x\n\n{body}")
    box.close()
    assert [text.split(b"\n\n", 1)[1] for text in texts(tmp_path / "box")] == [
        b"one\n",
        b"two\n\nFrom here on\n",
        b"",
        b"no end\n",
    ]


@pytest.mark.parametrize(
    "line",
    [
        b"From - Thu Aug 22 13:17:22 2002",
        b"From MAILER-DAEMON Thu Aug  2 13:17:22 2002",
        b"From ann at example.org  Thu Aug 22 13:17:22 2002",
        b"From 1234@xxx Tue Jan 01 12:00:00 +0000 2019",
        b"From ann@example.org Thu Aug 22 13:17 EDT 2002",
        b"From ann@example.org Thu, 22 Aug 2002 13:17:22 +0200",
        b"From ann@example.org Thu Aug 22 13:17:22 2002 remote from uunet",
        b"From 0123456789abcdef0123456789abcdef01234567 Mon Sep 17 00:00:00 2001",
        b"From  Thu Aug 22 13:17:22 2002",
        b"From ann@example.org 2002-08-22 13:17:22",
    ],
)
def test_separator_lines(tmp_path, line):
    box = tmp_path / "box"
    box.write_bytes(line + b"\n" + MESSAGE + b"\n" + line + b"\n" + MESSAGE)
    assert texts(box) == [MESSAGE, MESSAGE]
    assert [each.where for each in read_messages([box])] == [f"{box}:1", f"{box}:2"]


@pytest.mark.parametrize(
    "line",
    [
        b"From here on",
        b"From ann@example.org",
        b"From Mon to Fri",
        b"From Monday, 12:30 on",
        b"From Thu Aug 22",
        b"FROM x",
    ],
)
def test_lines_that_are_not_separators(tmp_path, line):
    box = tmp_path / "box"
    message = MESSAGE + b"\n" + line + b"\nmore\n"
    box.write_bytes(FROM + message)
    assert texts(box) == [message]
    assert [each.where for each in read_messages([box])] == [str(box)]


def test_a_separator_follows_a_blank_line(tmp_path):
    box = tmp_path / "box"
    box.write_bytes(FROM + MESSAGE + FROM + b"more\n")
    assert texts(box) == [MESSAGE + FROM + b"more\n"]


@posix
def test_a_message_is_split_only_in_an_mbox(tmp_path):
    message = MESSAGE + b"\n" + FROM + MESSAGE
    (tmp_path / "a.eml").write_bytes(message)
    assert texts(tmp_path / "a.eml") == [message]
    maildir = mailbox.Maildir(tmp_path / "Mail")
    maildir.add(b"Subject: a\n\n")
    only = next((tmp_path / "Mail" / "new").iterdir())
    only.write_bytes(FROM + message)  # as some programs deliver it
    assert texts(tmp_path / "Mail") == [message]
    assert read_message(only) == Message(message, str(only))


@pytest.mark.parametrize(("pack", "ending"), [(gzip.compress, "gz"), (bz2.compress, "bz2"), (lzma.compress, "xz")])
def test_compressed_mailboxes_are_read(tmp_path, pack, ending):
    (tmp_path / f"box.{ending}").write_bytes(pack(written([MESSAGE] * 3)))
    (tmp_path / "message").write_bytes(pack(MESSAGE))
    assert texts(tmp_path) == [MESSAGE] * 4
    whole = pack(written([MESSAGE + random.Random(0).randbytes(5000).hex().encode() + b"\n"] * 100))
    (tmp_path / "short").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "bad").write_bytes(pack(MESSAGE)[:12] + b"rubbish" * 9)
    assert set(skipped(tmp_path)) == {"short", "bad"}
    assert skipped(tmp_path)["short"].startswith("damaged, or not a ")


@pytest.mark.parametrize("start", [FROM, b""])
def test_decompression_bombs_are_skipped(tmp_path, start):
    bomb = tmp_path / "bomb"
    bomb.write_bytes(gzip.compress(start + MESSAGE + b"\0" * (1 << 25)))
    found = list(read_messages([bomb], limit=1 << 16))
    if start:
        assert [type(each) for each in found] == [Skipped]
        assert "200 times" in found[0].why
    else:
        assert [len(each.data) for each in found] == [1 << 16]


def test_long_messages_are_truncated_and_the_next_one_is_found(tmp_path):
    long = MESSAGE + b"x" * 70 + b"\n" + b"From here\n\n" * 150_000
    box = tmp_path / "box"
    box.write_bytes(written([MESSAGE, long, MESSAGE, long]))
    found = texts(box, limit=5000)
    assert [len(each) for each in found] == [len(MESSAGE), 5000, len(MESSAGE), 5000]
    assert found[1].startswith(long[:90])
    assert found[2] == MESSAGE
    (tmp_path / "one").write_bytes(long)
    assert texts(tmp_path / "one", limit=5000) == [long[:5000]]
    assert texts(tmp_path / "one", limit=len(long) - 1) == [long[:-1]]


def test_an_mbox_is_read_in_chunks(tmp_path):
    box = tmp_path / "box"
    with box.open("wb") as file:
        for _ in range(400):
            file.write(written([MESSAGE + b"word " * 20_000 + b"\n"]))
    tracemalloc.start()
    try:
        assert sum(1 for _ in read_messages([box])) == 400
        assert tracemalloc.get_traced_memory()[1] < 8 << 20 < box.stat().st_size
    finally:
        tracemalloc.stop()


@posix
def test_a_maildir_is_read(tmp_path):
    root = mailbox.Maildir(tmp_path / "Mail")
    keys = [root.add(f"Subject: {i}\n\n") for i in range(3)]
    message = root[keys[0]]
    message.set_subdir("cur")
    message.set_flags("RS")
    root[keys[0]] = message
    root.add_folder("Junk").add("Subject: junk\n\n")
    home = tmp_path / "Mail"
    (home / "tmp" / "half").write_bytes(b"Subject: half\n")
    for name in ("dovecot-uidlist", ".subscriptions", "dovecot.index", "cur/.hidden"):
        (home / name).write_bytes(MESSAGE)
    assert sorted(texts(home)) == [f"Subject: {i}\n\n".encode() for i in range(3)]
    assert skipped(home) == {".Junk": "a folder within a mail folder: name it to read it"}
    assert texts(home / ".Junk") == [b"Subject: junk\n\n"]
    assert len(texts(home / "new")) == 2
    assert sorted(texts(tmp_path)) == sorted(texts(home))


def test_an_mh_folder_is_read(tmp_path):
    folder = mailbox.MH(tmp_path / "inbox")
    for i in range(11):
        folder.add(f"Subject: {i}\n\n")
    folder.remove(3)
    (tmp_path / "inbox" / ",4").write_bytes(MESSAGE)
    (tmp_path / "inbox" / "notes.txt").write_bytes(MESSAGE)
    folder.add_folder("junk").add("Subject: junk\n\n")
    assert texts(tmp_path / "inbox") == [f"Subject: {i}\n\n".encode() for i in range(11) if i != 2]
    assert list(skipped(tmp_path / "inbox")) == ["junk"]


def test_messages_of_apple_mail_are_read(tmp_path):
    (tmp_path / "1.emlx").write_bytes(b"%-10d\n" % len(MESSAGE) + MESSAGE + b"<?xml version='1.0'?>\n<plist/>\n")
    assert texts(tmp_path) == [MESSAGE]


def test_folders_are_read_in_order(tmp_path):
    for name in ("b/2", "b/1", "a/x/9", "a/3.eml", "c", ".hidden/1", ".secret"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"Subject: %s\n\n" % name.encode())
    assert texts(tmp_path) == [b"Subject: %s\n\n" % name for name in (b"c", b"a/3.eml", b"a/x/9", b"b/1", b"b/2")]
    assert texts(tmp_path / "b", tmp_path / ".secret")[-1] == b"Subject: .secret\n\n"


@pytest.mark.needs("linux")
def test_deep_folders_are_read(tmp_path):
    made = [tmp_path]
    for _ in range(1200):
        made.append(made[-1] / "d")
        made[-1].mkdir()
    try:
        assert texts(tmp_path) == []
    finally:
        for folder in reversed(made[1:]):
            folder.rmdir()


@posix
def test_files_that_are_not_mail_are_skipped_with_the_reason(tmp_path):
    contents = {
        "empty": b"",
        "blank": b"\n\n\n",
        "program": b"\x7fELF\x02\x01\x01\x00" + bytes(99),
        "picture": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
        "utf16": "Subject: x".encode("utf-16"),
        "poem": b"Roses are red\nviolets are blue\n",
        "page": b"<!DOCTYPE html>\n<title>x</title>",
        "link": b"http://example.org/\n",
        "zip": b"PK\x03\x04abc",
        "twice": gzip.compress(gzip.compress(MESSAGE)),
    }
    for name, content in contents.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "nowhere").symlink_to(tmp_path / "missing")
    (tmp_path / "round").symlink_to(tmp_path / "round")
    (tmp_path / "up").symlink_to(tmp_path)
    (tmp_path / "message").symlink_to(tmp_path / "sub" / "m")
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "m").write_bytes(MESSAGE)
    assert texts(tmp_path) == [MESSAGE, MESSAGE]
    reasons = skipped(tmp_path)
    assert set(reasons) == {*contents, "nowhere", "round", "up"}
    assert reasons["empty"] == reasons["blank"] == "empty"
    assert "binary" in reasons["program"]
    assert "Subject:" in reasons["poem"]
    assert "archive" in reasons["zip"]
    assert reasons["up"] == "a link to a folder that is read already"
    assert reasons["round"] == "too many levels of symbolic links"


@pytest.mark.parametrize("start", [b"\xef\xbb\xbfSubject: x\n\n", b"\n\nSubject: x\n\n", b"some junk\nReceived: y\n\n"])
def test_mail_with_an_unusual_beginning_is_read(tmp_path, start):
    (tmp_path / "odd").write_bytes(start + b"body\0\n")
    assert texts(tmp_path) == [start + b"body\0\n"]


@posix
def test_pipes_and_sockets_are_never_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # names of sockets are short
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("sock")
        assert set(skipped(tmp_path)) == {"pipe", "sock"}
        assert set(skipped(tmp_path / "pipe", Path("/dev/zero"))) == {"pipe", "zero"}
    assert isinstance(read_message(tmp_path / "pipe"), Skipped)


@posix
def test_files_without_permission_are_skipped():
    with open_folder() as place:
        (place / "secret").write_bytes(MESSAGE)
        (place / "box" / "new").mkdir(parents=True)
        closed = [place / "secret", place / "closed", place / "box" / "cur"]
        for path in closed[1:]:
            path.mkdir()
        for path in closed:
            path.chmod(0)
        assert without_rights(lambda: skipped(place)) == {path.name: "permission denied" for path in closed}
        for path in closed:
            path.chmod(0o700)


@posix
def test_a_link_to_itself_is_skipped(tmp_path):
    (tmp_path / "round").symlink_to(tmp_path / "round")
    assert skipped(tmp_path / "round") == {"round": "too many levels of symbolic links"}
    assert total_size([tmp_path / "round"]) == 0


@pytest.mark.needs("linux")
def test_a_file_with_a_read_error_is_skipped():
    assert skipped(Path("/proc/self/mem")) == {"mem": "input/output error"}


def test_a_missing_path_is_refused_before_anything_is_read(tmp_path):
    (tmp_path / "a").write_bytes(MESSAGE)
    with pytest.raises(FileNotFoundError, match=r"there is no file or folder '.*nothing'"):
        read_messages([tmp_path / "a", tmp_path / "nothing"])
    with pytest.raises(FileNotFoundError, match="no file or folder"):
        read_messages(["a\0b"])
    assert [type(each) for each in read_messages(str(tmp_path))] == [Message]


@posix
def test_no_file_stays_open(tmp_path):
    (tmp_path / "box").write_bytes(written([MESSAGE] * 3))
    before = len(os.listdir("/dev/fd"))  # noqa: PTH208
    reading = read_messages([tmp_path])
    next(reading)
    reading.close()
    read_message(tmp_path / "box")
    assert len(os.listdir("/dev/fd")) == before  # noqa: PTH208


def test_total_size_is_the_size_of_the_messages(tmp_path):
    for i in range(5):
        (tmp_path / f"{i}").write_bytes(MESSAGE)
    assert total_size([tmp_path]) == sum(map(len, texts(tmp_path)))
    (tmp_path / "x.gz").write_bytes(gzip.compress(MESSAGE))
    assert total_size([tmp_path]) is None


def test_importing_mailbox_readers_loads_no_slow_library():
    modules = ("mailboxes.streams", "mailboxes.maildir", "sorter", "watcher")
    code = "import suffice, sys; b = set(sys.modules); " + "; ".join(f"import suffice.mail.{name}" for name in modules)
    code += "; print(sorted({'numpy', 'sklearn', 'email', 'mailbox', 'ctypes', 'gzip', 'lzma'} & set(sys.modules) - b))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"


def test_all_messages_of_the_spamassassin_corpus_are_read():
    corpus = unpacked("spamassassin")
    found = [
        each
        for name in ("easy_ham", "easy_ham_2", "hard_ham", "spam", "spam_2")
        for each in read_messages([corpus / name])
    ]
    assert len(found) == 6047
    assert all(isinstance(each, Message) for each in found)
