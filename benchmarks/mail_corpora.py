"""Mail with known classes, and bogofilter on the same messages: shared by the benchmarks of the spam filter."""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.papers.data import unpacked
from suffice import _native
from suffice.mail.evaluation import read_indexed
from suffice.mail.features import available_cores, extract_features

#: The corpora by name: raw mail of SpamAssassin in the order of its index, and texts of Enron in order of arrival.
NAMES = ("spamassassin", "enron1", "enron2", "enron3")


@dataclass(frozen=True)
class LabelledMail:
    """Raw messages, in order of arrival, and whether each is spam."""

    name: str
    messages: list[bytes]
    spam: npt.NDArray[np.bool_] = field(repr=False)

    def __len__(self) -> int:
        return len(self.messages)

    @cached_property
    def features(self) -> _native.mail.Letters:
        """The features of all messages."""
        return extract_features(self.messages, available_cores())


def read_corpus(name: str) -> LabelledMail:
    """Return a corpus by its name; its archive is in the folder of the environment variable SUFFICE_DATA."""
    if name == "spamassassin":
        pairs = list(read_indexed(unpacked(name) / "index", lambda skipped: None))
    elif name in NAMES:
        paths = sorted((unpacked("enron-spam-1-3") / name).glob("*am/*.txt"), key=lambda path: path.name)
        pairs = [(path.read_bytes(), path.parent.name) for path in paths]
    else:
        raise SystemExit(f"there is no corpus {name}: name some of {', '.join(NAMES)}")
    return LabelledMail(name, [data for data, _ in pairs], np.array([label == "spam" for _, label in pairs]))


def mean_and_margin(values: list[float]) -> tuple[float, float]:
    """Return the mean, and half the width of its 95 % interval by Student's t."""
    from scipy.special import stdtrit

    n = len(values)
    error = float(np.std(values, ddof=1)) / math.sqrt(n) if n > 1 else math.nan
    return float(np.mean(values)), float(stdtrit(n - 1, 0.975)) * error if n > 1 else math.nan


class Bogofilter:
    """bogofilter with its defaults, and a database of its own."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.place.mkdir()
        self._written = 0

    def write(self, messages: list[bytes]) -> list[Path]:
        """Write messages as files, which it reads."""
        folder = self.place / f"mail{self._written}"
        folder.mkdir()
        self._written += 1
        paths = [folder / f"{i:06d}" for i in range(len(messages))]
        for path, data in zip(paths, messages, strict=True):
            path.write_bytes(data)
        return paths

    def learn(self, spam: list[Path], ham: list[Path]) -> None:
        """Learn files."""
        for option, paths in (("-s", spam), ("-n", ham)):
            self._run(["-b", option], paths)

    def judge(self, paths: list[Path]) -> list[str]:
        """Return the verdict on each file: spam, ham, or unsure."""
        names = {"S": "spam", "H": "ham", "U": "unsure"}
        lines = self._run(["-b", "-T"], paths).splitlines()
        if len(lines) != len(paths):
            raise RuntimeError(f"bogofilter judged {len(lines)} of {len(paths)} messages")
        return [names[line.removeprefix(str(path)).split()[0]] for line, path in zip(lines, paths, strict=True)]

    def judge_messages(self, messages: list[bytes]) -> list[str]:
        """Return the verdict on each message."""
        return self.judge(self.write(messages))

    def _run(self, options: list[str], paths: list[Path]) -> str:
        command = ["bogofilter", "-C", "-d", str(self.place), *options]
        done = subprocess.run(
            command, input="".join(f"{path}\n" for path in paths), capture_output=True, text=True, check=False
        )
        if done.returncode == 3:
            raise RuntimeError(f"bogofilter failed: {done.stderr.strip()}")
        return done.stdout
