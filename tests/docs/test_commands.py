"""Every command that the pages show is run, in the order in which they show it."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from suffice.cli.app import suffice
from suffice.demo import houses, mailbox, messages

ROOT = Path(__file__).parents[2]
PAGES = [
    page for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md") if "```console" in page.read_text()
]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(houses(), tmp_path)
    for name in ("spam", "ham", "new"):
        shutil.copy(mailbox(name), tmp_path)
    monkeypatch.setenv("SUFFICE_MAIL", str(tmp_path / "mail.db"))
    rows = messages().read_text(encoding="utf-8").splitlines()[1:]
    (tmp_path / "messages.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    blocks = re.findall(r"^```console\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    commands = [line.removeprefix("$ ") for block in blocks for line in block.splitlines() if line.startswith("$ ")]
    assert commands
    monkeypatch.chdir(tmp_path)
    for command in commands:
        if re.search(r"[|>;]", command):
            script = f"set -o pipefail; suffice() {{ '{sys.executable}' -m suffice \"$@\"; }}; {command}"
            done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
        else:  # without the seconds that a process takes to start
            words = shlex.split(command, comments=True)
            assert words[0] == "suffice"
            result = CliRunner().invoke(suffice, words[1:])
            assert result.exit_code == 0, f"{command}: {result.output[-2000:]} {result.exception!r}"


def test_there_are_pages_with_commands() -> None:
    assert {page.name for page in PAGES} >= {"command-line.md", "README.md"}
