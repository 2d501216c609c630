"""Tables and models that many tests use, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice import demo
from tests.cli.command import done


@pytest.fixture(scope="session")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for files that no test changes."""
    return tmp_path_factory.mktemp("shared")


@pytest.fixture(scope="session")
def houses() -> Path:
    """The table of 800 houses."""
    return demo.houses()


@pytest.fixture(scope="session")
def halves(place: Path, houses: Path) -> tuple[Path, Path]:
    """The houses in two tables: the first 300, and the others."""
    header, *rows = houses.read_text(encoding="utf-8").splitlines(keepends=True)
    found = place / "first.csv", place / "others.csv"
    for path, some in zip(found, (rows[:300], rows[300:]), strict=True):
        path.write_text(header + "".join(some), encoding="utf-8")
    return found


@pytest.fixture(scope="session")
def one_house(place: Path, houses: Path) -> Path:
    """A table of one house, for what does not depend on the rows."""
    path = place / "one.csv"
    path.write_text("".join(houses.read_text(encoding="utf-8").splitlines(keepends=True)[:2]), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def nb(place: Path, houses: Path) -> Path:
    """Naive Bayes of the houses that sell fast."""
    return fitted(place / "nb.suffice", houses, "sold_fast", "nb")


@pytest.fixture(scope="session")
def logistic(place: Path, houses: Path) -> Path:
    """A logistic regression of the houses that sell fast."""
    return fitted(place / "logistic.suffice", houses, "sold_fast", "logistic", "--folds", "2")


@pytest.fixture(scope="session")
def prices(place: Path, houses: Path) -> Path:
    """A model of numbers: what houses cost."""
    return fitted(place / "prices.suffice", houses, "price", "linear")


@pytest.fixture(scope="session")
def viewings(place: Path, houses: Path) -> Path:
    """A model of counts: how often houses are viewed."""
    words = ("--folds", "2", "--ignore", "listed", "--ignore", "note")
    return fitted(place / "viewings.suffice", houses, "viewings", "poisson", *words)


@pytest.fixture(scope="session")
def messages(place: Path) -> Path:
    """Messages, a line each: class, tab, text."""
    lines = demo.messages().read_text(encoding="utf-8").splitlines(keepends=True)[1:]
    path = place / "messages.txt"
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="session")
def words(place: Path, messages: Path) -> Path:
    """A classifier of the messages."""
    path = place / "words.suffice"
    done("text", "fit", messages, "-m", "multinomial", "-o", path)
    return path


def fitted(path: Path, table: Path, target: str, model: str, *words: str) -> Path:
    """Return the file of a model of a table."""
    done("fit", table, "-t", target, "-m", model, "-o", path, "-q", *words)
    return path
