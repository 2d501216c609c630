"""Every command that the pages show is run, in the order in which they show it; its output is the one shown."""

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
#: The pages with commands; test_getting_started.py follows the first page.
PAGES = [
    page
    for page in (*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md")
    if "```console" in page.read_text() and page.name != "getting-started.md"
]


def commands(text: str) -> list[tuple[str, str]]:
    """Return the commands of a page, each with the output that the page shows: empty where it shows none."""
    found: list[tuple[str, list[str]]] = []
    text = text.replace("\\\n", "")  # one line of a command that is wrapped
    for block in re.findall(r"^```console\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ "):
                found.append((line.removeprefix("$ "), []))
            else:
                found[-1][1].append(line)
    return [(command, "\n".join(shown)) for command, shown in found]


def run(command: str) -> str:
    """Return what a command writes to standard output."""
    if re.search(r"[|>;]", command):
        functions = f"suffice() {{ '{sys.executable}' -m suffice \"$@\"; }}; python() {{ '{sys.executable}' \"$@\"; }}"
        script = f"set -o pipefail; {functions}; {command}"
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, f"{command}: {done.stderr[-2000:]}"
        return done.stdout
    words = shlex.split(command, comments=True)  # in this process: without the seconds that a new one takes to start
    assert words[0] == "suffice"
    result = CliRunner().invoke(suffice, words[1:])
    assert result.exit_code == 0, f"{command}: {result.output[-2000:]} {result.exception!r}"
    return result.stdout


def without_numbers(text: str) -> str:
    """Return a text with its numbers, times and white space made equal: they depend on the machine."""
    return " ".join(re.sub(r"[+-]?\d[\d.,:T+-]*", "0", text).split())


def check_output(page: Path, command: str, shown: str) -> None:
    """Run a command, and compare what it writes with what the page shows."""
    written = without_numbers(run(command))
    pattern = ".*".join(re.escape(without_numbers(part).strip()) for part in shown.split("…"))
    if shown and not re.search(pattern, written):
        pytest.fail(f"{page.name} shows another output of {command}:\n{without_numbers(shown)}\n\n{written}")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(houses(), tmp_path)
    for name in ("spam", "ham", "new"):
        shutil.copy(mailbox(name), tmp_path)
    monkeypatch.setenv("SUFFICE_MAIL", str(tmp_path / "mail.db"))
    rows = messages().read_text(encoding="utf-8").splitlines()[1:]
    (tmp_path / "messages.txt").write_text("\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    text = page.read_text(encoding="utf-8")
    assert commands(text)
    for command, shown in commands(text):
        check_output(page, command, shown)


def test_there_are_pages_with_commands() -> None:
    assert {page.name for page in PAGES} >= {"command-line.md", "README.md"}
