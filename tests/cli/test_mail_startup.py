"""One message is judged, passed on or learned soon after the start: nothing heavy is read for it."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.mail.samples import TOPICS, message, stream

#: Libraries that take long to read.
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
    "suffice.mail.evaluating",
    "suffice.mail.measures",
    "suffice.mail.sorting",
)
ONE_MESSAGE = [("classify",), ("filter",), ("learn", "--spam"), ("correct", "--spam"), ("classify", "--train")]
SCRIPT = (
    "import sys, atexit\n"
    f"atexit.register(lambda: sys.stderr.write(' '.join(each for each in {SLOW} if each in sys.modules)))\n"
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
def test_nothing_heavy_is_read_for_one_message(mine, words):
    ran = subprocess.run(
        [sys.executable, "-c", SCRIPT, "mail", *words, "--filter", str(mine)],
        input=message("x", TOPICS["spam"]),
        capture_output=True,
        check=False,
        timeout=60,
    )
    assert ran.returncode == 0
    assert ran.stderr == b""


@pytest.mark.parametrize("words", ONE_MESSAGE[:3], ids=" ".join)
def test_one_message_takes_a_quarter_of_a_second(mine, words):
    """Of processor time, and on a core that does nothing else about as much on the clock."""
    seconds = []
    for i in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = subprocess.run(
            [sys.executable, "-m", "suffice", "mail", *words, "--filter", str(mine)],
            input=message(f"{words}{i}", TOPICS["spam"]),
            capture_output=True,
            check=False,
            timeout=60,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
        assert ran.returncode == 0, ran.stderr
        if seconds[-1] <= 0.25:
            return
    pytest.fail(f"it takes {seconds} s")
