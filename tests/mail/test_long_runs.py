"""The memory of a command does not grow with the mail that it reads."""

from __future__ import annotations

import random
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.mail import MailFilter
from tests.cli.command import COMMAND
from tests.mail.samples import TOPICS, message, stream

pytestmark = [pytest.mark.slow, pytest.mark.needs("linux")]

#: Runs a command and writes its peak memory in MB to standard error.
MEASURED = (
    "import resource, subprocess, sys; left = subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL).returncode; "
    "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024, file=sys.stderr); sys.exit(left)"
)


def written(path: Path, label: str, megabytes: int) -> Path:
    """Return an mbox of a size in megabytes with distinct messages of the same words."""
    rng = random.Random(label)
    words = [*TOPICS[label].split(), *(f"word{i}" for i in range(5000))]
    size = number = 0
    with path.open("wb") as file:
        while size < megabytes * 10**6:
            number += 1
            body = "\n".join(" ".join(rng.choices(words, k=10)) for _ in range(40))
            size += file.write(b"From a@b Mon Jan  5 07:13:03 2026\n" + message(f"{label}{number}", body) + b"\n")
    return path


def peak(*words: object) -> float:
    """Return the peak memory of a command in megabytes."""
    command = [sys.executable, "-c", MEASURED, *COMMAND, "mail", *map(str, words)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    return float(ran.stderr.splitlines()[-1])


@pytest.fixture(scope="module")
def mail(tmp_path_factory) -> dict[tuple[str, int], Path]:
    place = tmp_path_factory.mktemp("mail")
    return {
        (label, size): written(place / f"{label}{size}.mbox", label, size)
        for label in ("spam", "ham")
        for size in (8, 40)
    }


@pytest.mark.parametrize(
    "command", ["learn --spam {spam} --ham {ham}", "classify {spam} {ham} -e", "evaluate --spam {spam} --ham {ham}"]
)
def test_memory_does_not_grow_with_the_amount_of_mail(tmp_path, mail, command):
    place = tmp_path / "mail.db"
    with MailFilter(place) as mine:
        mine.learn_all(stream(200))
    found = []
    for size in (8, 40):
        words = command.format(spam=mail["spam", size], ham=mail["ham", size]).split()
        found.append(peak(*words, *([] if words[0] == "evaluate" else ["--filter", place])))
    assert found[1] < found[0] + 100, f"{found[0]:.0f} MB for 16 MB of mail, {found[1]:.0f} MB for 80 MB"
