"""suffice update, merge and forget: the algebra of models, on files."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pytest

import suffice as library
from tests.cli.command import done, refused, written
from tests.cli.conftest import fitted

#: Kinds are said, so that both halves are seen alike.
KINDS = ("--kind", "rooms=count", "--kind", "viewings=count", "--kind", "built=numeric")


def probabilities(model: Path, table: Path) -> np.ndarray:
    """Return the probabilities of every class that the command writes."""
    rows = csv.DictReader(io.StringIO(done("predict", model, table, "--probabilities").out))
    return np.array([[float(row["p(no)"]), float(row["p(yes)"])] for row in rows])


@pytest.fixture(scope="module")
def parts(halves: tuple[Path, Path], place: Path) -> tuple[Path, Path]:
    """Naive Bayes of each half of the houses."""
    found = place / "first.suffice", place / "others.suffice"
    for path, table in zip(found, halves, strict=True):
        done("fit", table, "-t", "sold_fast", "-m", "nb", *KINDS, "-o", path, "-q")
    return found


@pytest.fixture(scope="module")
def merged(parts: tuple[Path, Path], place: Path) -> Path:
    """The two halves, merged."""
    path = place / "merged.suffice"
    ran = done("merge", *parts, "-o", path)
    assert (ran.out, ran.err) == ("", f"2 models of 800 rows in total, saved to {path}\n")
    return path


@pytest.fixture
def copied(tmp_path: Path) -> Callable[[Path], Path]:
    """Return what copies a model, so that it may be changed."""

    def copy(model: Path) -> Path:
        path = tmp_path / model.name
        path.write_bytes(model.read_bytes())
        return path

    return copy


def test_merged_halves_are_the_whole(merged: Path, nb: Path, houses: Path) -> None:
    assert library.load(merged).rows_ == 800
    _same_sums(merged, nb, houses)
    one, two = done("info", merged, "--json").json, done("info", nb, "--json").json
    assert (one["rows"], one["classes"], one["columns"][1:3]) == (two["rows"], two["classes"], two["columns"][1:3])


def _same_sums(one: Path, two: Path, table: Path) -> None:
    """Assert that two models answer alike where nothing but sums decides."""
    first, second = library.load(one), library.load(two)
    for model in (first, second):
        model.predictor_.inner = model.predictor_.inner.with_params(temperature=1.0)
    np.testing.assert_allclose(first.predict_proba(str(table)), second.predict_proba(str(table)), rtol=1e-8)
    np.testing.assert_allclose(first.log_evidence(str(table)), second.log_evidence(str(table)), rtol=1e-9)


def test_merging_does_not_depend_on_the_order(
    parts: tuple[Path, Path], merged: Path, houses: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.suffice"
    done("merge", *parts[::-1], "-o", other)
    np.testing.assert_allclose(probabilities(other, houses), probabilities(merged, houses), rtol=1e-8)


def test_merged_halves_predict_the_classes_of_the_whole(merged: Path, nb: Path, houses: Path) -> None:
    classes = [probabilities(model, houses).argmax(axis=1) for model in (merged, nb)]
    np.testing.assert_array_equal(*classes)


def test_an_updated_half_is_the_whole(
    parts: tuple[Path, Path],
    halves: tuple[Path, Path],
    nb: Path,
    houses: Path,
    one_house: Path,
    copied: Callable[[Path], Path],
) -> None:
    model = copied(parts[0])
    ran = done("update", model, halves[1])
    learned, temperature = ran.err.splitlines()
    assert learned == f"500 rows learned, 800 in total; saved to {model}"
    assert temperature.startswith("the temperature stays ")
    _same_sums(model, nb, houses)
    assert done("update", model, one_house, "-q").err == ""


def test_forgetting_is_the_rest(
    parts: tuple[Path, Path], halves: tuple[Path, Path], houses: Path, tmp_path: Path
) -> None:
    whole, rest = tmp_path / "whole.suffice", tmp_path / "rest.suffice"
    done("update", parts[0], halves[1], "-o", whole)
    before = whole.read_bytes()
    certificate = done("forget", whole, halves[1], "-o", rest, "--json").json
    assert (certificate["rows_forgotten"], certificate["rows_left"]) == (500, 300)
    assert (certificate["model"], certificate["table"]) == (str(rest), str(halves[1]))
    assert 10 < certificate["digits_kept"] <= 15.9
    assert abs((datetime.now(UTC) - datetime.fromisoformat(certificate["when"])).total_seconds()) < 60
    assert whole.read_bytes() == before, "with -o, the model itself stays as it is"
    np.testing.assert_allclose(probabilities(rest, houses), probabilities(parts[0], houses), rtol=1e-8)


def test_the_certificate_as_text(nb: Path, halves: tuple[Path, Path], copied: Callable[[Path], Path]) -> None:
    model = copied(nb)
    lines = done("forget", model, halves[0]).lines
    assert lines[0] == "certificate of forgetting"
    assert any(re.fullmatch(r"  rows forgotten +300", line) for line in lines)
    assert any(re.fullmatch(r"  rows left +500", line) for line in lines)
    assert re.search(r"subtracted from the sums of the model, to 1[0-5]\.\d of 15\.9 digits of the spread", lines[-3])
    assert lines[-2].endswith("not verified that the model learned these rows: it has no ledger (suffice fit --ledger)")
    assert re.match(r"  the temperature stays \d\S*, as chosen at the fit", lines[-1])
    assert library.load(model).rows_ == 500


def test_the_certificate_of_a_model_with_a_ledger(houses: Path, halves: tuple[Path, Path], tmp_path: Path) -> None:
    model = tmp_path / "ledger.suffice"
    done("fit", houses, "-t", "sold_fast", "-m", "nb", *KINDS, "--ledger", "-o", model, "-q")
    assert any(
        re.fullmatch(r"  ledger +800 rows; suffice forget refuses others", line) for line in done("info", model).lines
    )
    lines = done("forget", model, halves[0]).lines
    assert any(re.fullmatch(r"  verified +yes", line) for line in lines)
    assert re.search(r"in the ledger of learned rows: the sums are those of the other 500 rows", lines[-2])
    refused("forget", model, halves[0], code=1)


def test_forgetting_everything_is_refused(nb: Path, houses: Path, copied: Callable[[Path], Path]) -> None:
    model = copied(nb)
    before = model.read_bytes()
    refused("forget", model, houses, code=1)
    assert model.read_bytes() == before


def test_forgetting_more_than_there_is_is_refused(
    parts: tuple[Path, Path], houses: Path, copied: Callable[[Path], Path]
) -> None:
    model = copied(parts[0])
    before = model.read_bytes()
    refused("forget", model, houses, code=1)
    assert model.read_bytes() == before


@pytest.mark.parametrize("command", ["update", "forget"])
def test_a_logistic_regression_is_no_sum(
    logistic: Path, houses: Path, copied: Callable[[Path], Path], command: str
) -> None:
    model = copied(logistic)
    before = model.read_bytes()
    sentence = refused(command, model, houses, code=1)
    assert "a 'logistic' model cannot" in sentence
    assert "nb, gda, linear or text" in sentence
    assert model.read_bytes() == before


def test_a_logistic_regression_cannot_be_merged(logistic: Path, tmp_path: Path) -> None:
    assert "cannot be merged" in refused("merge", logistic, logistic, "-o", tmp_path / "m.suffice", code=1)
    assert list(tmp_path.iterdir()) == []


def test_models_must_be_alike(
    nb: Path, prices: Path, logistic: Path, words: Path, houses: Path, tmp_path: Path
) -> None:
    whole = tmp_path / "m.suffice"
    assert "'nb' and 'linear'" in refused("merge", nb, prices, "-o", whole, code=1)
    assert "is a text model: use suffice text" in refused("merge", nb, words, "-o", whole, code=1)
    other = fitted(tmp_path / "other.suffice", houses, "garden", "nb")
    assert "'sold_fast' and 'garden'" in refused("merge", nb, other, "-o", whole, code=1)
    done("fit", houses, "-t", "sold_fast", "-m", "nb", "--kind", "built=category", "-o", other)
    sentence = refused("merge", nb, other, "-o", whole, code=1)
    assert "'built' is numeric in one model and category in the other" in sentence
    assert not whole.exists()


def test_quiet_merges_and_info_has_no_candidates(parts: tuple[Path, ...], tmp_path: Path) -> None:
    ran = done("merge", *parts, "-o", tmp_path / "m.suffice", "-q")
    assert (ran.out, ran.err) == ("", "")
    assert "log loss" not in done("info", tmp_path / "m.suffice").out


def test_merging_takes_two(nb: Path, tmp_path: Path) -> None:
    assert "two or more models" in refused("merge", nb, "-o", tmp_path / "m.suffice", code=2)
    assert "--output" in refused("merge", nb, nb, code=2)


def test_a_linear_regression_is_a_sum(prices: Path, halves: tuple[Path, Path], houses: Path, tmp_path: Path) -> None:
    more, back = tmp_path / "more.suffice", tmp_path / "back.suffice"
    done("update", prices, halves[0], "-o", more)
    assert library.load(more).rows_ == 1100
    done("forget", more, halves[0], "-o", back)
    expected = library.load(prices).predict(str(houses))
    np.testing.assert_allclose(library.load(back).predict(str(houses)), expected, rtol=1e-6)


def test_rows_that_do_not_suit_change_nothing(nb: Path, houses: Path, tmp_path: Path) -> None:
    model = written(tmp_path / "m.suffice", "")
    model.write_bytes(nb.read_bytes())
    lines = houses.read_text(encoding="utf-8").splitlines()[:3]
    lacking = written(tmp_path / "a.csv", "\n".join(line.partition(",")[0] for line in lines))
    assert "lacks the columns 'listed', 'area'" in refused("update", model, lacking, code=1)
    strange = written(tmp_path / "b.csv", "\n".join([lines[0], lines[1].removesuffix("no") + "perhaps"]))
    sentence = refused("forget", model, strange, code=1)
    assert "'perhaps'" in sentence
    assert "'no', 'yes'" in sentence
    assert model.read_bytes() == nb.read_bytes()
    assert done("update", model, strange).err.startswith("new classes are learned: 'perhaps'\n1 row learned, 801")


def test_one_row_is_called_a_row(nb: Path, one_house: Path, tmp_path: Path) -> None:
    assert done("update", nb, one_house, "-o", tmp_path / "m.suffice").err.startswith("1 row learned, 801 in total")
