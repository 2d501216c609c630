"""Invalid model files and unwritable outputs: existing files stay unchanged, and the error is one sentence."""

from __future__ import annotations

import resource
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import suffice as library
from tests.cli.command import done, process, refused, suffice, written

MODEL_COMMANDS = ["predict", "evaluate", "impute", "outliers", "explain", "update", "forget"]


@pytest.mark.parametrize("command", MODEL_COMMANDS)
def test_a_text_file_is_refused_as_a_model(houses: Path, tmp_path: Path, command: str) -> None:
    poem = written(tmp_path / "poem.txt", "Shall I compare thee to a summer's day?")
    assert f"{poem} is not a model file" in refused(command, poem, houses, code=1)
    assert poem.read_text() == "Shall I compare thee to a summer's day?"


@pytest.mark.parametrize("command", [*MODEL_COMMANDS, "info", "sample"])
def test_a_missing_model_file_is_named(houses: Path, tmp_path: Path, command: str) -> None:
    words = () if command in ("info", "sample") else (houses,)
    sentence = refused(command, tmp_path / "none.suffice", *words, code=2)
    assert sentence == f"error: there is no file {tmp_path / 'none.suffice'}: check its name and folder"


def test_a_folder_is_no_model(houses: Path, tmp_path: Path) -> None:
    assert "is a folder: name a file" in suffice("predict", tmp_path, houses).err


def test_a_model_of_another_kind(houses: Path, tmp_path: Path, words: Path) -> None:
    x = np.random.default_rng(0).normal(size=(40, 2))
    path = tmp_path / "gda.model"
    library.GDA().fit(x, np.arange(40) % 2).save(path)
    sentence = refused("predict", path, houses, code=1)
    assert sentence == f"error: {path} is a GDA, not a table model: load it in Python"
    assert "is a text model: use suffice text" in refused("predict", words, houses, code=1)


def test_damaged_models(nb: Path, houses: Path, tmp_path: Path) -> None:
    whole = nb.read_bytes()
    path = tmp_path / "damaged.suffice"
    middle = len(whole) // 2
    for damage in (b"", whole[:middle], whole[:-1], whole[:20], whole[:middle] + b"\0\1\2\3" + whole[middle + 4 :]):
        path.write_bytes(damage)
        sentence = refused("predict", path, houses, code=1)
        assert str(path) in sentence
        assert "restore it from a copy" in sentence


@pytest.mark.parametrize("name", ["answers", "answers.xyz", "answers.gz", "answers.xlsx"])
def test_an_ending_that_says_nothing(nb: Path, one_house: Path, tmp_path: Path, name: str) -> None:
    for command in ("predict", "impute"):
        sentence = refused(command, nb, one_house, "-o", tmp_path / name, code=2)
        assert f"{tmp_path / name} has no known file name extension" in sentence
        assert ".csv" in sentence
    assert list(tmp_path.iterdir()) == []


WRITERS: dict[str, Callable[[Path, Path, Path], tuple[object, ...]]] = {
    "fit": lambda nb, houses, to: ("fit", houses, "-t", "sold_fast", "-m", "nb", "-o", to / "m.suffice"),
    "predict": lambda nb, houses, to: ("predict", nb, houses, "-o", to / "a.csv"),
    "sample": lambda nb, houses, to: ("sample", nb, "-n", 2000, "-o", to / "a.parquet"),
    "impute": lambda nb, houses, to: ("impute", nb, houses, "-o", to / "a.jsonl"),
    "update": lambda nb, houses, to: ("update", nb, houses, "-o", to / "m.suffice"),
    "merge": lambda nb, houses, to: ("merge", nb, nb, "-o", to / "m.suffice"),
}


@pytest.mark.parametrize("command", WRITERS)
def test_a_folder_that_is_not_there(nb: Path, houses: Path, tmp_path: Path, command: str) -> None:
    sentence = refused(*WRITERS[command](nb, houses, tmp_path / "none"), code=2)
    assert str(tmp_path / "none") in sentence
    assert "Errno" not in sentence


@pytest.mark.parametrize("command", WRITERS)
def test_a_folder_that_cannot_be_written_to(nb: Path, houses: Path, command: str) -> None:
    ran = suffice(*WRITERS[command](nb, houses, Path("/proc")))
    assert ran.code in (1, 2)
    assert "/proc" in ran.err
    assert ".suffice-" not in ran.err, "the file that was asked for is named, not a temporary one"


def test_a_folder_in_the_place_of_a_file(nb: Path, houses: Path, tmp_path: Path) -> None:
    (tmp_path / "a.csv").mkdir()
    assert "is a folder: name a file" in refused("predict", nb, houses, "-o", tmp_path / "a.csv", code=2)


@contextmanager
def small_files() -> Iterator[None]:
    """Let no file grow beyond 4 KiB."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)


@pytest.mark.parametrize("command", ["fit", "predict", "sample"])
def test_a_disk_that_is_full(nb: Path, houses: Path, tmp_path: Path, command: str) -> None:
    words = WRITERS[command](nb, houses, tmp_path)
    old = written(Path(str(words[-1])), "old")
    with small_files():
        sentence = refused(*words, code=1)
    assert str(old) in sentence
    assert list(tmp_path.iterdir()) == [old]
    assert old.read_text() == "old"


@pytest.mark.needs("linux")
@pytest.mark.parametrize(
    "words",
    [
        ("completion", "bash"),
        pytest.param(("info", "MODEL", "--json"), marks=pytest.mark.slow),
        pytest.param(("predict", "MODEL", "TABLE"), marks=pytest.mark.slow),
    ],
    ids=" ".join,
)
def test_standard_output_that_is_full(nb: Path, houses: Path, words: tuple[str, ...]) -> None:
    given = [{"MODEL": nb, "TABLE": houses}.get(word, word) for word in words]
    with open("/dev/full", "wb") as full:  # noqa: PTH123
        ran = process(*given, stdout=full, capture_output=False, stderr=-1)
    assert ran.returncode == 1
    assert ran.stderr.startswith(b"error: No space left on device")
    assert ran.stderr.count(b"\n") == 1


def test_a_model_is_written_whole(nb: Path, houses: Path, tmp_path: Path) -> None:
    path = written(tmp_path / "m.suffice", "old")
    done("update", nb, houses, "-o", path)
    assert library.load(path).rows_ == 1600
    assert list(tmp_path.iterdir()) == [path]
