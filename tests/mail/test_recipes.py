"""The recipes of the page docs/mail/recipes.md, run with the programs they are for."""

from __future__ import annotations

import os
import pwd
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice import demo
from suffice.mail import MailFilter
from suffice.mail.mailboxes import Message
from suffice.mail.mailboxes.streams import interleave_classes, read_messages
from tests.mail.recipes import terminal
from tests.mail.recipes.page import COMMAND, FAILURES, Home, executable, replaced, shell
from tests.mail.recipes.servers import Dovecot, Postfix, wait
from tests.requirements import require

pytestmark = pytest.mark.needs("linux")

#: Bytes that programs often change, at the end of a message.
SPOILT = b"\n\nFrom here on: caf\xe9 \xff\n.\n>From there\n" + b"long" * 400 + b"\n\n\n"


@pytest.fixture(scope="module")
def learned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a filter that has learned the demo mailbox."""
    place = tmp_path_factory.mktemp("learned") / "mail.db"
    with MailFilter(place) as made:
        made.learn_all(
            interleave_classes({"spam": [demo.mailbox("spam")], "ham": [demo.mailbox("ham")]}, lambda _: None)
        )
    return place


@pytest.fixture(scope="module")
def new(learned: Path) -> dict[str, list[bytes]]:
    """Return new mail by verdict."""
    found: dict[str, list[bytes]] = {}
    with MailFilter(learned) as judge:
        for letter in read_messages([demo.mailbox("new")]):
            assert isinstance(letter, Message)
            message = letter.data.rstrip() + SPOILT
            found.setdefault(judge.classify(message).label, []).append(message)
    assert {label: len(each) > 1 for label, each in found.items()} == {"spam": True, "ham": True, "unsure": False}
    return found


@pytest.fixture
def home(tmp_path: Path, learned: Path) -> Home:
    return Home(tmp_path / "home", learned)


def procmail(home: Home, message: bytes) -> None:
    done = home.run("procmail", "-m", home.rules("~/.procmailrc"), message=message)
    assert done.returncode == 0, done.stderr


def maildrop(home: Home, message: bytes) -> None:
    done = home.run("maildrop", home.rules("~/.mailfilter"), message=message)
    assert done.returncode == 0, done.stderr


DELIVERY = [
    pytest.param(procmail, marks=pytest.mark.needs("procmail")),
    pytest.param(maildrop, marks=pytest.mark.needs("maildrop")),
]


@pytest.mark.parametrize("deliver", DELIVERY)
def test_delivery_sorts_by_the_verdict_and_keeps_every_byte(deliver, home, new):
    for label, folder in (("ham", ""), ("spam", ".Junk"), ("unsure", ".Unsure")):
        message = new[label][0]
        deliver(home, message)
        (delivered,) = home.folder(folder)
        field, _, rest = delivered.partition(b"\n")
        assert field.startswith(f"X-Suffice: {label}; p=".encode())
        assert rest == message
        (file,) = home.files(folder)
        assert file.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("deliver", DELIVERY)
@pytest.mark.parametrize("how", FAILURES)
def test_delivery_loses_no_message_when_the_filter_fails(deliver, how, home, new):
    home.fail(how)
    deliver(home, new["spam"][0])
    assert home.folder() == [new["spam"][0]]
    assert home.folder(".Junk") == []


@pytest.mark.parametrize("deliver", DELIVERY)
def test_no_mail_is_sorted_before_enough_was_learned(deliver, home, new):
    home.filter.unlink()
    home.run(home.command, "mail", "correct", "--spam", message=new["spam"][0])
    for messages in new.values():
        deliver(home, messages[-1])
    assert len(home.folder()) == len(new)


@pytest.mark.needs("procmail")
def test_the_procmail_log_has_the_error(home, new):
    home.fail("missing")
    procmail(home, new["ham"][0])
    log = (home.path / "procmail.log").read_text()
    assert re.search(r"there is no filter at .*\n.*Program failure \(3\).*\n.*Rescue of unfiltered data succeeded", log)


@pytest.mark.needs("maildrop")
def test_maildrop_without_the_exception_defers_the_message(home, new):
    home.fail("missing")
    file = home.rules("~/.mailfilter")
    text, changed = re.subn(r"exception \{\n(.*?)\n\}", r"\1", file.read_text())
    assert changed == 1
    file.write_text(text)
    assert home.run("maildrop", file, message=new["ham"][0]).returncode == os.EX_TEMPFAIL
    assert home.folder() == []


@pytest.mark.needs("root", "maildrop")
def test_maildrop_filters_the_mail_of_a_user_without_a_login_shell(learned, new):
    user = next(each for each in pwd.getpwall() if each.pw_uid and each.pw_shell.endswith(("nologin", "false")))
    with tempfile.TemporaryDirectory() as place:  # other users cannot read pytest's folders
        home = Home(Path(place, "home"), learned)
        executable(home.command, "#!/bin/sh\necho 'X-Suffice: spam; p=1.0000; log-odds=9.00'\nexec cat\n")
        file = home.rules("~/.mailfilter")
        for path in (Path(place), *Path(place).rglob("*")):
            os.chown(path, user.pw_uid, user.pw_gid)
        home.run("maildrop", file, message=new["ham"][0], user=user.pw_uid)
        assert len(home.folder(".Junk")) == 1


@pytest.mark.parametrize("deliver", DELIVERY)
def test_the_cron_line_learns_messages_moved_after_delivery(deliver, home, new):
    line = re.fullmatch(r"(?:\S+ ){5}(.*)\n", home.recipe("crontab -e"))
    assert line is not None
    for message in (*new["ham"][:2], *new["spam"][:2], *new["unsure"]):
        deliver(home, message)
    before = home.learned()
    assert home.run("/bin/sh", "-c", line[1]).stderr == b""
    assert home.learned() == before, "verdicts are no lessons"
    moves = [(home.files(old)[0], new) for old, new in ((".Unsure", ".Junk"), (".Junk", ""), ("", ".Junk"))]
    for file, folder in moves:
        home.move(file, folder)
    assert home.run("/bin/sh", "-c", line[1]).returncode == 0
    assert home.learned() == {"ham": before["ham"] + 1, "spam": before["spam"] + 2}


def mutt(home: Home, folder: str, keys: str) -> str:
    settings = home.path / ".muttrc"
    settings.write_text(replaced(home.recipe("~/.muttrc"), {"sleep 3": "sleep 0"}))
    command = f"set delete = yes; set quit = yes; set sleep_time = 0; push '{keys}<sync-mailbox>q'"
    return terminal.run(
        ["mutt", "-F", str(settings), "-f", f"{home.maildir}/{folder}", "-e", command], home.environment
    )


@pytest.mark.needs("mutt")
def test_mutt_learns_spam_and_moves_it(home, new):
    first, second = (home.put(home.marked(message)) for message in new["ham"][:2])
    before = home.learned()
    mutt(home, "", "<first-entry>S")
    assert home.learned() == {**before, "spam": before["spam"] + 1}
    assert [len(home.folder()), len(home.folder(".Junk"))] == [1, 1]
    assert first.exists() != second.exists()


@pytest.mark.needs("mutt")
def test_mutt_learns_all_tagged_messages_as_ham(home, new):
    for message in new["spam"][:2]:
        home.put(home.marked(message), ".Junk")
    before = home.learned()
    mutt(home, ".Junk", "<tag-pattern>~A<enter>H")
    assert home.learned() == {**before, "ham": before["ham"] + 2}
    assert [len(home.folder()), len(home.folder(".Junk"))] == [2, 0]


@pytest.mark.needs("mutt")
def test_mutt_colours_by_the_verdict(home, new):
    for message in (new["spam"][0], new["unsure"][0]):
        home.put(home.marked(message))
    screen = mutt(home, "", "<last-entry><first-entry>")
    assert re.search(r"\x1b\[3[15]m[^\x1b]*(spam|unsure) 0\.\d+", screen)


@pytest.mark.needs("mutt")
@pytest.mark.parametrize("how", FAILURES[1:])
def test_mutt_moves_a_message_when_the_filter_fails(how, home, new):
    home.put(new["ham"][0])
    home.fail(how)
    mutt(home, "", "<first-entry>S")
    assert home.folder() == []
    (saved,) = home.folder(".Junk")
    assert saved.endswith(new["ham"][0].partition(b"\n\n")[2])


@pytest.mark.needs("systemd")
def test_the_unit_is_valid_for_systemd(home, tmp_path):
    unit = tmp_path / "suffice-mail.service"
    unit.write_text(home.recipe("~/.config/systemd/user/suffice-mail.service"))
    home.environment["XDG_RUNTIME_DIR"] = str(tmp_path)
    done = home.run("systemd-analyze", "--user", "verify", unit)
    assert (done.returncode, done.stderr) == (0, b"")


def test_the_unit_moves_spam_as_it_arrives_until_it_is_stopped(home, new):
    unit = home.recipe("~/.config/systemd/user/suffice-mail.service").replace("%h", str(home.path))
    (command,) = re.findall(r"^ExecStart=(.*)$", unit, re.MULTILINE)
    journal = home.path / "journal"
    with journal.open("wb") as file, subprocess.Popen(command.split(), env=home.environment, stdout=file) as process:
        try:
            time.sleep(0.5)
            arrived = home.maildir / "tmp" / "1"
            arrived.write_bytes(new["spam"][0])
            arrived.rename(home.maildir / "new" / "1")
            wait(lambda: journal.read_text().startswith("moved to Junk"), lambda: str(home.files(".Junk")))
        finally:
            process.terminate()
        assert process.wait(10) == 0
    assert home.folder(".Junk") == [new["spam"][0]]


def test_the_cron_line_sorts(home, new):
    line = re.fullmatch(r"(?:\S+ ){5}(.*)\n", home.recipe("crontab -e", 1))
    assert line is not None
    home.put(new["spam"][0])
    done = home.run("/bin/sh", "-c", line[1])
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")
    assert home.folder(".Junk") == [new["spam"][0]]


@pytest.mark.needs("bogofilter")
def test_the_word_list_of_bogofilter_is_loaded(home, new):
    home.filter.unlink()
    words = home.path / ".bogofilter"
    words.mkdir()
    for option, label in (("-s", "spam"), ("-n", "ham")):
        home.run("bogofilter", "-d", words, "-M", option, message=demo.mailbox(label).read_bytes())
    command = replaced(shell("bogoutil"), {"suffice mail load": f"{home.command} mail load"})
    assert home.run("/bin/sh", "-c", command).returncode == 0
    assert home.learned() == {"ham": 65, "spam": 47}
    for label, expected in (("spam", [0, 2]), ("ham", [1, 1])):  # few counts without weights leave spam unsure
        codes = [
            home.run(*judge, message=new[label][0]).returncode
            for judge in (["bogofilter", "-d", words], [home.command, "mail", "classify"])
        ]
        assert codes == expected


def test_a_copy_of_the_site_filter_is_installed_and_shared(home, new, learned):
    site = home.path / "site"
    (site / "shared").mkdir(parents=True)
    shutil.copy(learned, site / "mail.db")
    home.filter.unlink()
    for _ in range(2):  # the second copy replaces the first
        commands = replaced(shell("mail merge"), {COMMAND: home.command, "/var/lib/suffice": site})
        assert home.run("/bin/sh", "-ec", commands).returncode == 0
        assert [file.name for file in (site / "shared").iterdir()] == ["mail.db"]
    commands = replaced(shell("filter -e --shared"), {COMMAND: home.command, "/var/lib/suffice": site, '"$1"': "--ham"})
    mark, correct = commands.replace("\\\n", "").splitlines()
    before = (site / "shared" / "mail.db").read_bytes()
    for label in ("spam", "ham"):
        assert home.run("/bin/sh", "-c", mark, message=new[label][0]).stdout.startswith(f"X-Suffice: {label};".encode())
    assert home.run("/bin/sh", "-c", correct, message=new["spam"][0]).returncode == 0
    assert not home.run("/bin/sh", "-c", mark, message=new["spam"][0]).stdout.startswith(b"X-Suffice: spam")
    assert home.learned() == {"ham": 1, "spam": 0}
    assert (site / "shared" / "mail.db").read_bytes() == before


@pytest.fixture
def dovecot(home: Home, tmp_path: Path) -> Iterator[Dovecot]:
    require("namespaces")
    server = Dovecot(home, tmp_path / "dovecot")
    with server.running():
        yield server


@pytest.mark.slow
@pytest.mark.needs("dovecot")
class TestDovecot:
    def test_delivery_sorts_by_the_verdict_and_keeps_every_byte(self, dovecot, home, new):
        for label, folder in (("ham", ""), ("spam", ".Junk")):
            dovecot.deliver(new[label][0])
            (delivered,) = home.folder(folder)
            field, _, rest = delivered.partition(b"\n")
            assert field.startswith(f"X-Suffice: {label}; p=".encode())
            assert rest == new[label][0]

    def test_messages_moved_by_a_mail_program_are_learned(self, dovecot, home, new):
        before = home.learned()
        dovecot.deliver(new["ham"][0])
        dovecot.move("INBOX", "Junk")
        assert home.learned() == {**before, "spam": before["spam"] + 1}
        dovecot.move("Junk", "INBOX")
        assert home.learned() == {**before, "ham": before["ham"] + 1}
        dovecot.deliver(new["spam"][0])
        dovecot.move("Junk", "Trash")
        assert home.learned() == {**before, "ham": before["ham"] + 1}

    def test_the_filter_of_a_new_user_moves_nothing_at_first(self, dovecot, home, new):
        home.filter.unlink()
        dovecot.deliver(new["ham"][0])
        dovecot.move("INBOX", "Junk")
        assert home.learned() == {"ham": 0, "spam": 1}
        dovecot.deliver(new["spam"][0])
        assert len(home.folder()) == 1

    @pytest.mark.parametrize("how", FAILURES)
    def test_no_message_is_lost_when_the_filter_fails(self, how, dovecot, home, new):
        home.fail(how)
        dovecot.deliver(new["spam"][0])
        assert home.folder() == [new["spam"][0]]
        dovecot.move("INBOX", "Junk")
        assert home.folder(".Junk") == [new["spam"][0]]

    def test_a_filter_that_hangs_does_not_block_delivery(self, dovecot, home, new):
        executable(home.command, "#!/bin/sh\nexec sleep 60\n")
        dovecot.deliver(new["spam"][0])
        assert home.folder() == [new["spam"][0]]

    def test_a_field_added_by_another_server_is_used(self, dovecot, home, new):
        dovecot.compile("deliver", 1)
        messages = {folder: home.marked(new[label][0]) for label, folder in (("ham", ""), ("spam", ".Junk"))}
        home.fail("not there")
        for folder, message in messages.items():
            dovecot.deliver(message)
            assert home.folder(folder) == [message]


@pytest.fixture
def postfix(learned: Path) -> Iterator[Postfix]:
    require("namespaces")
    with tempfile.TemporaryDirectory(prefix="suffice-") as place:  # other users cannot read pytest's folders
        folder = Path(place)
        folder.chmod(0o755)
        server = Postfix(Home(folder / "home", learned), folder)
        with server.running():
            yield server


@pytest.mark.slow
@pytest.mark.needs("root", "postfix")
class TestPostfix:
    def test_mail_is_marked_once_and_keeps_every_byte(self, postfix, new):
        for label in ("spam", "ham", "unsure"):
            message = re.sub(rb"^Return-Path:.*\n", b"", new[label][0])  # a server replaces it
            arrived = postfix.carry(message.replace(b"\n", b"\r\n"))
            assert arrived.endswith(message)
            assert re.findall(rb"^X-Suffice: (\w+); p=", arrived, re.MULTILINE) == [label.encode()]

    @pytest.mark.parametrize("how", FAILURES)
    def test_no_message_is_lost_when_the_filter_fails(self, how, postfix, new):
        postfix.home.fail(how)
        message = re.sub(rb"^Return-Path:.*\n", b"", new["spam"][0])
        arrived = postfix.carry(message.replace(b"\n", b"\r\n"))
        assert arrived.endswith(message)
        assert b"X-Suffice" not in arrived

    def test_mail_is_queued_while_the_script_cannot_run(self, postfix, new):
        postfix.mark.chmod(0o600)
        postfix.send(new["ham"][0])
        wait(lambda: "status=deferred" in postfix.log.read_text(), postfix.log.read_text)
        assert postfix.home.folder() == []
        postfix.mark.chmod(0o755)
        wait(postfix.home.files, postfix.log.read_text)
