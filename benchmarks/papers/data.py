"""Data of the papers: archives unpacked once, texts and tables prepared as in the papers."""

from __future__ import annotations

import os
import re
import sys
import tarfile
import tempfile
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn.feature_extraction import text as scikit

from suffice.text import CountVectorizer

__all__ = ["Articles", "CountVectorizer", "articles", "enron", "lines", "newsgroups", "reuters", "table", "unpacked"]

#: Token pattern of the older papers: letters only.
ALPHABETIC = r"(?a:[a-z]+)"
#: Archives whose folder has a different name.
_FOLDERS = {"20news-bydate": "20news", "enron-spam-1-3": "enron-spam"}


def unpacked(name: str) -> Path:
    """Return the folder of an archive in the folder of the environment variable SUFFICE_DATA."""
    cached = Path(__file__).parents[2] / ".cache"
    folder = cached / _FOLDERS.get(name, name)
    if not folder.exists():
        archive = Path(os.environ.get("SUFFICE_DATA", ""), f"{name}.tar.gz")
        cached.mkdir(exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cached) as fresh:
            with tarfile.open(archive) as tar:
                tar.extractall(fresh, filter="data")
            Path(fresh, folder.name).rename(folder)
    return folder


def check_there(names: list[str]) -> None:
    """Exit with an error message unless SUFFICE_DATA is a folder with these archives."""
    home = os.environ.get("SUFFICE_DATA")
    if not home:
        sys.exit("SUFFICE_DATA is not set: set it to the folder with " + ", ".join(f"{n}.tar.gz" for n in names))
    missing = [name for name in names if not Path(home, f"{name}.tar.gz").exists()]
    if missing:
        sys.exit(f"SUFFICE_DATA={home} lacks " + ", ".join(f"{name}.tar.gz" for name in missing))


class Articles(NamedTuple):
    """Articles of 20 Newsgroups with their group numbers, in the order of groups and dates."""

    texts: list[str]
    groups: npt.NDArray[np.intp]
    late: npt.NDArray[np.bool_]  # in the test part of the split by date
    latest: npt.NDArray[np.bool_]  # in the later half of that part: about the last fifth of each group
    names: list[str]


@cache
def articles() -> Articles:
    """Return the 18,846 articles of 20 Newsgroups, with headers."""
    folder = unpacked("20news-bydate")
    names = sorted(path.name for path in (folder / "20news-bydate-train").iterdir())
    texts: list[str] = []
    rows: list[tuple[int, bool, bool]] = []
    for part in ("train", "test"):
        for number, name in enumerate(names):
            paths = sorted((folder / f"20news-bydate-{part}" / name).iterdir(), key=lambda path: int(path.name))
            texts += [path.read_text(encoding="latin-1") for path in paths]
            late = part == "test"
            rows += [(number, late, late and 2 * place >= len(paths)) for place in range(len(paths))]
    groups, late, latest = (np.array(column) for column in zip(*rows, strict=True))
    return Articles(texts, groups, late, latest, names)


@cache
def newsgroups() -> Any:
    """Return word counts of 20 Newsgroups as in the older papers: no headers, letters only, no stop words."""
    bodies = [text.partition("\n\n")[2] for text in articles().texts]
    return letters(bodies, stop_words="english", min_df=2)


def letters(texts: list[str], **settings: Any) -> Any:
    """Return counts of runs of ASCII letters, a pattern that the native tokeniser does not support."""
    vectorizer = scikit.CountVectorizer(token_pattern=ALPHABETIC, dtype=np.float64, **settings)
    return vectorizer.fit_transform(texts)


def reuters(part: str) -> tuple[list[str], npt.NDArray[np.str_]]:
    """Return the texts and topics of R8's "train" or "test" part."""
    rows = (unpacked("r8") / f"r8-{part}-all-terms.txt").read_text(encoding="utf-8").splitlines()[1:]
    topics, texts = zip(*(row.split("\t", 1) for row in rows), strict=True)
    return list(texts), np.array(topics)


def lines(archive: str, name: str) -> tuple[list[str], npt.NDArray[np.str_]]:
    """Return the texts and labels of a file whose lines begin with the label."""
    encoding = "utf-8" if archive == "sms-spam" else "latin-1"
    rows = (unpacked(archive) / name).read_text(encoding=encoding).split("\n")
    labels, texts = zip(*(re.split(r"[ \t]", row, maxsplit=1) for row in rows if row), strict=True)
    return list(texts), np.array(labels)


def enron(number: int) -> tuple[list[str], npt.NDArray[np.bool_]]:
    """Return the messages of an Enron-Spam set in order of date, and which are spam."""
    folder = unpacked("enron-spam-1-3") / f"enron{number}"
    paths = sorted(folder.glob("*am/*.txt"), key=lambda path: int(path.name.partition(".")[0]))
    texts = [path.read_text(encoding="latin-1") for path in paths]
    return texts, np.array([path.parent.name == "spam" for path in paths])


class Table(NamedTuple):
    """A table of the UCI repository: columns by name, the class last."""

    columns: dict[str, npt.NDArray[Any]]
    classes: npt.NDArray[np.str_]


@cache
def table(name: str) -> Table:
    """Return a table: numbers as floats, other columns as strings, with a missing cell ("?") as a category."""
    folder = unpacked("uci")
    if name == "adult":
        names = re.findall(r"^([\w-]+):", (folder / "adult.names").read_text(encoding="utf-8"), re.MULTILINE)[-14:]
        rows = _cells(folder / "adult-train.csv") + _cells(folder / "adult-test.csv")
    elif name == "pima":
        rows = _cells(folder / "pima-indians-diabetes.csv")
        names = [f"x{place}" for place in range(len(rows[0]) - 1)]
    else:
        head, _, body = (folder / f"{name}.arff").read_text(encoding="utf-8").partition("@data")
        names = re.findall(r"^@attribute\s+('[^']+'|\S+)", head, re.MULTILINE)[:-1]
        rows = [_split(row) for row in body.splitlines() if row.strip() and not row.startswith("%")]
    *columns, classes = (np.array(column) for column in zip(*rows, strict=True))
    classes = np.char.rstrip(classes, ".")
    return Table({each.strip("'"): _numbers(cells) for each, cells in zip(names, columns, strict=True)}, classes)


def _cells(path: Path) -> list[list[str]]:
    return [_split(row) for row in path.read_text(encoding="utf-8").splitlines() if row.strip()]


def _split(row: str) -> list[str]:
    return [cell.strip().strip("'") for cell in row.split(",")]


def _numbers(cells: npt.NDArray[np.str_]) -> npt.NDArray[Any]:
    try:
        return cells.astype(float)
    except ValueError:
        return cells
