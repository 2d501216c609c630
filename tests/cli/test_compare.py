"""suffice compare: learning curves as a table, as JSON and as a picture."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any
from xml.etree import ElementTree

import pytest

from tests.cli.command import done, refused, written

FEW = ("--sizes", "3", "--repeats", "2", "-m", "nb", "-m", "logistic")
LEAST = ("--sizes", "2", "--repeats", "1", "-m", "nb")


@pytest.fixture(scope="module")
def found(houses: Path) -> Any:
    """The curves of two models, as JSON."""
    return done("compare", houses, "-t", "sold_fast", *FEW, "--json").json


def test_curves_as_json(found: Any) -> None:
    assert found["sizes"] == sorted(found["sizes"])
    assert len(found["sizes"]) == 3
    assert set(found["curves"]) == {"nb", "logistic"}
    assert found["generative"] == {"nb": True, "logistic": False}
    assert (found["measure"], found["rows"]) == ("log loss", 800)
    assert all(0 <= value <= 1 for curve in found["curves"].values() for value in curve)
    assert found["best"] == min(found["curves"], key=lambda name: found["curves"][name][-1])


def test_curves_as_a_table(houses: Path, found: Any) -> None:
    ran = done("compare", houses, "-t", "sold_fast", *FEW)
    assert ran.lines[0].startswith("log loss on held-out rows")
    assert ran.lines[-1].startswith(f"lowest loss on all rows: {found['best']}")
    for place, size in enumerate(found["sizes"]):
        cells = ran.lines[2 + place].replace("◂", "").split()
        assert cells[0] == f"{size:,}"
        assert [float(cell) for cell in cells[1:]] == pytest.approx(
            [*(found["curves"][name][place] for name in ("nb", "logistic")), found["baseline"][place]], abs=1e-3
        )
    assert all(line == line.rstrip() for line in ran.lines)
    assert "-o curves.svg" in ran.err
    assert done("compare", houses, "-t", "sold_fast", *LEAST, "-q").err == ""


def test_models_that_guess_and_columns_that_leak_are_named(tmp_path: Path) -> None:
    random = Random(0)
    rows = [f"{random.random()},{random.choice(['yes', 'no'])}" for _ in range(300)]
    several = ("-t", "y", "-m", "nb", "--sizes", "2", "--repeats", "8")
    guess = done("compare", written(tmp_path / "t.csv", "x,y\n" + "\n".join(rows)), *several)
    assert "no better than guessing" in guess.out
    rows = [f"{row},{row.split(',')[1] == 'yes'}" for row in rows]
    leak = done("compare", written(tmp_path / "t.csv", "x,y,paid\n" + "\n".join(rows)), *several)
    assert "column 'paid' is a copy of the target 'y'" in leak.err
    assert "no better than guessing" not in leak.out


def test_the_same_seed_gives_the_same_curves(houses: Path) -> None:
    one, again, other = (
        done("compare", houses, "-t", "sold_fast", *LEAST, "--seed", seed, "--json").json["curves"]
        for seed in (1, 1, 2)
    )
    assert one == again
    assert one != other


@pytest.mark.parametrize(("target", "measure"), [("price", "squared error"), ("viewings", "deviance")])
def test_numbers_and_counts(houses: Path, target: str, measure: str) -> None:
    found = done("compare", houses, "-t", target, "--sizes", 2, "--repeats", 1, "-m", "linear", "--json").json
    assert found["measure"] == measure


def test_a_measure_can_be_asked_for(houses: Path) -> None:
    words = ("compare", houses, "-t", "sold_fast", *LEAST, "--measure", "error", "--json")
    assert done(*words).json["measure"] == "error"


@pytest.mark.parametrize(
    ("ending", "start"),
    [
        (".svg", b"<?xml"),
        pytest.param(".png", b"\x89PNG", marks=pytest.mark.slow),
        pytest.param(".pdf", b"%PDF", marks=pytest.mark.slow),
    ],
)
def test_the_picture(houses: Path, tmp_path: Path, ending: str, start: bytes) -> None:
    path = tmp_path / f"curves{ending}"
    ran = done("compare", houses, "-t", "sold_fast", *LEAST, "-o", path)
    assert ran.err == f"figure written to {path}\n"
    assert path.read_bytes().startswith(start)
    if ending == ".svg":
        ElementTree.parse(path)
    assert list(tmp_path.iterdir()) == [path]


def test_too_few_rows(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", "a,y\n1.5,x\n2.5,z\n3.5,x\n4.5,z\n")
    assert "4 rows are too few" in refused("compare", table, "-t", "y", code=1)


def test_models_of_numbers_are_chosen_where_none_is_named(houses: Path) -> None:
    few = ("--sizes", "2", "--repeats", "1", "--json")
    assert set(done("compare", houses, "-t", "price", *few).json["curves"]) == {"linear", "additive"}
