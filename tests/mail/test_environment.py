"""The environment of a command: closed streams, missing home folders, undecodable names, replaced files."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from suffice.cli import main
from suffice.mail import MailFilter
from tests.cli.command import COMMAND, Ran, process, refused, suffice
from tests.mail.samples import TOPICS, message, stream
from tests.rights import open_folder, without_rights

pytestmark = pytest.mark.needs("posix")

SPAM = message("x", TOPICS["spam"])


def slow(case: object) -> ParameterSet:
    """Return a slow parameter: the same case in another process."""
    return pytest.param(case, marks=pytest.mark.slow)


@pytest.fixture
def mine(tmp_path) -> Path:
    with MailFilter(tmp_path / "mail.db") as mail:
        mail.learn_all(stream(200))
    return tmp_path / "mail.db"


def without(stream_: int, *words: object, **how: object) -> subprocess.CompletedProcess[bytes]:
    """Run a command with one of the three streams closed."""
    shell = 'exec "$@" ' + {0: "<&-", 1: ">&-", 2: "2>&-"}[stream_]
    return subprocess.run(
        ["sh", "-c", shell, "sh", *COMMAND, "mail", *map(str, words)],
        capture_output=True,
        timeout=60,
        check=False,
        **how,  # type: ignore[call-overload]
    )


@pytest.mark.parametrize("command", ["classify", "filter", slow("learn --spam"), slow("status")])
def test_errors_exit_with_3_with_closed_standard_error(tmp_path, command):
    (tmp_path / "mail.db").write_text("no filter")
    assert without(2, *command.split(), "--filter", tmp_path / "mail.db", input=SPAM).returncode == 3
    assert without(2, *command.split(), "--bogus", input=SPAM).returncode == 3


def test_filter_passes_a_message_through_with_closed_standard_error(tmp_path):
    assert without(2, "filter", "--filter", tmp_path / "none.db", input=SPAM).stdout == SPAM


@pytest.mark.parametrize("command", ["dump", "classify", slow("status"), slow("doctor")])
def test_a_closed_output_is_not_reported_as_an_internal_error(mine, command):
    ran = without(1, command, "--filter", mine, input=SPAM)
    assert ran.returncode == 3
    assert b"suffice itself" not in ran.stderr


def test_filter_with_closed_output_exits_with_3(mine, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["suffice", "mail", "filter", "--filter", str(mine)])
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(SPAM)))
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 3
    assert capsys.readouterr().err == "error: the message could not be passed through: standard output is closed\n"


@pytest.mark.parametrize("command", ["load", "classify", "learn --spam", slow("explain"), slow("forget")])
def test_a_closed_input_is_reported_in_one_sentence(mine, command):
    ran = without(0, *command.split(), "--filter", mine)
    assert ran.returncode == 3
    assert b"suffice itself" not in ran.stderr
    assert ran.stderr.count(b"\n") == 1


def test_without_a_home_folder_the_error_names_the_option(monkeypatch):
    for name in ("HOME", "XDG_DATA_HOME", "SUFFICE_MAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(os, "getuid", lambda: 54321)  # unknown to the system
    assert "--filter" in refused("mail", "status", code=3)


@pytest.mark.needs("linux")
def test_the_default_filter_is_in_the_data_folder_of_the_user(tmp_path, monkeypatch):
    for name in ("XDG_DATA_HOME", "SUFFICE_MAIL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert f"there is no filter at {tmp_path}/.local/share/suffice/mail.db" in refused("mail", "status", code=3)


@pytest.fixture
def odd(tmp_path) -> Path:
    """A folder of messages whose names are not text, control a terminal, or have several lines."""
    folder = tmp_path / "odd"
    folder.mkdir()
    for name in (b"a\xff.eml", b"b\x1b[31m.eml", b"c\nspam   1.0000  d.eml", b"z.eml"):
        (folder / os.fsdecode(name)).write_bytes(SPAM)
    return folder


@pytest.mark.parametrize(
    "encoding", ["utf-8:strict", "ascii:strict", slow("utf-8:surrogateescape"), slow("latin-1:strict")]
)
def test_file_names_that_are_not_text_are_classified(mine, odd, encoding):
    ran = process("mail", "classify", odd, "--filter", mine, env={**os.environ, "PYTHONIOENCODING": encoding})
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.splitlines()) == 4
    assert b"\x1b" not in ran.stdout


@pytest.mark.parametrize("encoding", ["utf-8:surrogateescape", slow("utf-8:strict")])
def test_file_names_that_are_not_text_are_valid_json(mine, odd, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ran = process("mail", "classify", odd, "--json", "--filter", mine, env=environment)
    found = [json.loads(line.decode("utf-8")) for line in ran.stdout.splitlines()]
    assert [each["verdict"] for each in found] == ["spam"] * 4


@pytest.mark.parametrize("encoding", ["ascii", slow("latin-1")])
def test_an_explanation_is_shown_in_any_encoding(mine, encoding):
    environment = {**os.environ, "PYTHONIOENCODING": encoding}
    ran = process("mail", "explain", "--filter", mine, input=SPAM, env=environment)
    assert ran.returncode == 0, ran.stderr
    assert b"log-odds of spam" in ran.stdout


def maildir(place: Path, *names: bytes) -> Path:
    for part in ("cur", "new", "tmp"):
        (place / part).mkdir(parents=True)
    for name in names:
        (place / "new" / os.fsdecode(name)).write_bytes(SPAM + name)
    return place


@pytest.mark.parametrize("box", [b"Mail\xff", slow(b"Maildir")])
def test_file_names_in_no_encoding_are_sorted(tmp_path, mine, box):
    place = maildir(tmp_path / os.fsdecode(box), b"1.a\xff.host", b"2.a\nb.host", b"3.plain.host")
    maildir(place / os.fsdecode(b".Entw\xfcrfe"))
    for expected in (3, 0):
        ran = process("mail", "sort", place, "--json", "--filter", mine)
        assert ran.returncode == 0, ran.stderr
        assert len(json.loads(ran.stdout.decode("utf-8"))["moved"]) == expected


@pytest.mark.parametrize("fate", ["replaced", "deleted"])
def test_watch_opens_a_replaced_filter_again(tmp_path, mine, fate):
    place = maildir(tmp_path / "Maildir")
    command = [*COMMAND, "mail", "sort", str(place), "--watch", "--filter", str(mine)]
    watcher = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        (place / "new" / "1.host").write_bytes(message("held", TOPICS["ham"]))
        (place / "new" / "2.host").write_bytes(SPAM)
        wait_for(lambda: any((place / ".Junk").glob("*/2.host*")), watcher)
        time.sleep(0.5)  # until the run that moved it has ended
        if fate == "replaced":
            with MailFilter(mine) as old, MailFilter(tmp_path / "copy.db") as copy:
                copy.learn_all(stream(200))
                assert old.classify(SPAM).label == "spam"
            (tmp_path / "copy.db").replace(mine)
        else:
            mine.unlink()
        for leftover in tmp_path.glob("mail.db-*"):
            leftover.unlink()
        (place / "new" / "1.host").rename(place / ".Junk" / "cur" / "1.host:2,S")
        (place / "new" / "3.host").write_bytes(message("later", TOPICS["spam"]))
        if fate == "deleted":
            assert watcher.wait(timeout=20) == 3
            assert b"there is no filter" in watcher.communicate()[1]
        else:
            wait_for(lambda: any((place / ".Junk").glob("*/3.host*")), watcher)
            watcher.send_signal(signal.SIGINT)
            assert watcher.wait(timeout=20) == 130
            with MailFilter(mine) as now:
                known = now.store().query("SELECT COUNT(*) FROM filed")[0][0]
            assert known > 0, "the ledger is in the file at that path"
    finally:
        watcher.kill()
        watcher.communicate()


def full(*words: object) -> subprocess.CompletedProcess[bytes]:
    """Run a command that can write to no file, as on a full disk."""
    import resource  # POSIX only

    def fill() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))

    return process("mail", *words, input=SPAM, preexec_fn=fill)


@pytest.mark.parametrize("how", ["at rest", "after a kill"])
def test_mail_is_classified_while_the_disk_is_full(mine, tmp_path, how):
    if how == "after a kill":  # what was learned last is in the -wal file, and its index is gone
        with MailFilter(mine) as mail:
            mail.learn_all(stream(100, 1))
            for ending in ("", "-wal"):
                shutil.copy(f"{mine}{ending}", tmp_path / f"killed.db{ending}")
        mine = tmp_path / "killed.db"
    before = mine.read_bytes()
    ran = full("classify", "--json", "--filter", mine)
    counts = json.loads(full("status", "--json", "--filter", mine).stdout)["learned"]
    assert (mine.read_bytes(), sum(counts.values())) == (before, 300 if how == "after a kill" else 200)
    with MailFilter(mine) as mail:
        assert json.loads(ran.stdout) == json.loads(json.dumps(mail.classify(SPAM).as_dict()))
    marked = full("filter", "-e", "--filter", mine)
    assert (marked.returncode, marked.stdout[:16]) == (0, b"X-Suffice: spam;")
    assert marked.stdout.endswith(SPAM)


def test_a_full_disk_is_not_taken_for_damage(mine, tmp_path):
    ran = full("doctor", "--json", "--filter", mine)
    found = {each["what"]: each["level"] for each in json.loads(ran.stdout)}
    assert (ran.returncode, found["the database is sound"]) == (3, "fine")
    what = f"the disk of {tmp_path} is full, so nothing can be learned; mail is classified as before"
    assert [each for each, level in found.items() if level == "wrong"] == [what]
    for command in ("learn", "correct"):
        ran = full(command, "--spam", "--filter", mine)
        assert (ran.returncode, ran.stderr) == (3, f"error: {mine} cannot be written: the disk is full\n".encode())


def wait_for(there: object, watcher: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 20
    while not there():  # type: ignore[operator]
        assert time.monotonic() < until, "nothing happened"
        assert watcher.poll() is None, watcher.communicate()
        time.sleep(0.05)


@pytest.mark.needs("root")
def test_a_read_only_user_does_not_block_writers():
    with open_folder() as place:
        with MailFilter(place / "site.db") as site:
            site.learn_all(stream(300))
        (place / "site.db").chmod(0o644)
        place.chmod(0o777)

        def judge() -> str:
            with MailFilter(place / "site.db") as mail:
                return mail.classify(SPAM).label

        assert without_rights(judge) == "spam"
        assert [path.name for path in place.iterdir() if path.stat().st_uid != 0] == []


def test_failed_moves_are_reported(mine):
    with open_folder() as place:
        maildir(place / "Maildir", b"1.host")
        target = place / "mail.db"
        target.write_bytes(mine.read_bytes())
        target.chmod(0o666)
        place.chmod(0o777)

        def sort(*more: str) -> Ran:
            return suffice("mail", "sort", place / "Maildir", "-q", "--filter", target, *more)

        assert suffice("mail", "sort", place / "Maildir", "-n", "--filter", mine).code == 0
        assert [path.name for path in place.glob("Maildir/new/*")] == ["1.host"]
        for more in ((), ("-n",)):
            ran = without_rights(lambda: sort(*more))  # noqa: B023  (called at once)
            assert (ran.code, ran.err) == (3, "error: 1 messages could not be moved: they stay where they are\n")
