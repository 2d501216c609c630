"""The page about mail on a server: its commands and its unit are run, with another server."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.cli.command import done
from tests.mail.imap.dovecot import User
from tests.mail.imap.test_sort import ham, spam
from tests.mail.samples import stream

PAGE = (Path(__file__).parents[3] / "docs" / "mail" / "imap.md").read_text(encoding="utf-8").replace("\\\n", "")
PASSWORD_FILE = "~/.config/suffice/imap-password"


def run(line: str, user: User, mine: Path) -> str:
    """Run a command of the page."""
    line = line.replace("ann@imap.example.org", f"{user.name}@127.0.0.1:{user.server.port}")
    line = line.replace(PASSWORD_FILE, str(user.server.place / "password"))
    return done(*shlex.split(line)[1:], "--filter", mine, "--ca-file", user.server.certificate).out


@pytest.mark.needs("imap")
def test_commands_of_the_page_run_in_their_order(ann: User, tmp_path: Path) -> None:
    mine = tmp_path / "new.db"
    for label, folder in (("spam", "Junk"), ("ham", "Archive")):
        ann.deliver(*(data for data, name in stream(200) if name == label), folder=folder)
    ann.deliver(spam(1), spam(2), ham(1))
    lines = re.findall(r"^suffice mail .*", PAGE, re.MULTILINE)
    assert [line.split()[2] for line in lines] == ["begin", "sort", "sort", "sort"]
    learned = run(lines[0], ann, mine)
    assert re.search(r"learned 97 spam, 103 ham", learned) or re.search(r"learned 103 ham, 97 spam", learned)
    would, moved, undone = (run(line, ann, mine) for line in lines[1:])
    assert "2 would be moved" in would
    assert "2 moved" in moved
    assert "2 moved back" in undone


@pytest.mark.needs("systemd")
def test_the_unit_is_valid_for_systemd(tmp_path: Path) -> None:
    (text,) = re.findall(r"^`~/.config/systemd/user/suffice-imap.service`:\n\n```ini\n(.*?)^```$", PAGE, re.M | re.S)
    unit = tmp_path / "suffice-imap.service"
    unit.write_text(text.replace("/opt/suffice/bin/suffice", "/bin/true"))
    command = ["systemd-analyze", "--user", "verify", str(unit)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert "suffice-imap" not in ran.stderr
