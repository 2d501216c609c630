"""Commands of mail import no slow library: neither NumPy nor what needs it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.mail.samples import TOPICS, message, stream

#: Libraries that are slow to import.
SLOW = (
    "numpy",
    "scipy",
    "sklearn",
    "rich",
    "pandas",
    "pyarrow",
    "duckdb",
    "matplotlib",
    "email",
    "concurrent.futures",
    "suffice.mail.evaluation",
    "suffice.metrics",
    "suffice.mail.sorter",
)
ONE_MESSAGE = [("classify",), ("filter",), ("learn", "--spam"), ("correct", "--spam"), ("classify", "--train")]
SCRIPT = (
    "import sys, atexit\n"
    "atexit.register(lambda: sys.stderr.write(' '.join(sys.modules)))\n"
    "from suffice.cli import main\n"
    "main()"
)


@pytest.fixture(scope="module")
def mine(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("mail") / "mail.db"
    with MailFilter(path) as mail:
        mail.learn_all(stream(600))
    return path


@pytest.mark.parametrize("words", ONE_MESSAGE, ids=" ".join)
def test_one_message_loads_no_slow_library_and_few_modules(mine, words):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, "mail", *words, "--filter", str(mine)],
        input=message("x", TOPICS["spam"]),
        capture_output=True,
        check=False,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
    )
    assert ran.returncode == 0
    loaded = ran.stderr.decode().split()
    assert "suffice.mail.filter" in loaded
    assert set(loaded).isdisjoint(SLOW)
    assert len(loaded) < 200  # 160 in Python 3.12; NumPy alone would add 120


@pytest.fixture(scope="module")
def maildir(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("mail") / "Maildir"
    for part in ("cur", "new", "tmp"):
        (folder / part).mkdir(parents=True)
    for number in range(3):
        (folder / "new" / f"{number}.example").write_bytes(message(str(number), TOPICS["spam"]))
    return folder


@pytest.mark.parametrize("command", ["classify", "explain", "status", "doctor", "settings", "dump", "sort"])
def test_other_commands_load_no_slow_library(mine, maildir, command):
    words = {"classify": [maildir], "explain": [maildir / "new" / "0.example"], "sort": [maildir, "--dry-run"]}
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, "mail", command, *map(str, words.get(command, [])), "--filter", str(mine)],
        capture_output=True,
        check=False,
        timeout=60,
        env={name: value for name, value in os.environ.items() if not name.startswith("COVERAGE_")},
    )
    assert ran.returncode == 0, ran.stderr
    allowed = {"email", "suffice.mail.sorter"}  # which sort needs
    assert {*ran.stderr.decode().split()} & {*SLOW} <= allowed
