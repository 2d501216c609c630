"""Commands for one message import no slow library."""

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
