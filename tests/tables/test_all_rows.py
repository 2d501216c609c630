"""Regressions are fitted to all rows of a table, which are kept in a compact form between passes."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone

import suffice
import suffice.data.spill
from suffice.statistics import Labels
from suffice.tables import fitting, scan
from suffice.tables.compact_rows import CompactRows
from suffice.tables.encoding import Targets, encode_rows
from suffice.tables.predictors import linear
from suffice.tables.sources import duckdb, open_table

ROWS = 6000


@pytest.fixture(autouse=True)
def few_rows_are_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Draw few rows, read small batches, keep hardly any in memory, and solve to the last digits."""
    monkeypatch.setattr(scan, "COMPARISON_ROWS", 800)
    monkeypatch.setattr(fitting, "DRAWN", 900)
    monkeypatch.setattr(suffice.data.spill, "IN_MEMORY", 5000)
    monkeypatch.setattr(linear, "_CLOSE", 1e-12)
    monkeypatch.setattr(duckdb, "BATCH", 2048)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, pd.DataFrame]:
    """Return a file with columns of every kind, most of them with missing cells, and targets of every kind."""
    random = np.random.default_rng(0)
    area, price, floors = random.normal(80, 20, ROWS), random.gamma(2, 1e5, ROWS), random.poisson(2, ROWS)
    street, garden = random.choice(["calm", "loud", "no through road"], ROWS), random.random(ROWS) < 0.3
    built = pd.Timestamp("1990-01-01") + pd.to_timedelta(random.integers(0, 9000, ROWS), unit="D")
    eta = (area - 80) / 30 - (price - 2e5) / 3e5 + (street == "calm") + 0.5 * garden - 0.2 * floors
    found = pd.DataFrame(
        {
            "area": np.where(random.random(ROWS) < 0.05, np.nan, area),
            "price": price.round(-2),
            "floors": floors,
            "street": np.where(random.random(ROWS) < 0.05, None, street),
            "garden": garden,
            "built": built.where(random.random(ROWS) > 0.05),
            "sold": np.where(eta + random.logistic(size=ROWS) > 0, "yes", "no"),
            "speed": np.array(["slow", "usual", "fast"])[
                np.argmax(np.outer(eta, [-1, 0, 1]) + random.gumbel(size=(ROWS, 3)), axis=1)
            ],
            "visits": random.poisson(np.exp(eta / 3)),
            "rent": 500 + 100 * eta + random.normal(size=ROWS),
        }
    )
    found.loc[ROWS - 1, "street"] = "alley"  # a level that hardly any sample holds
    path = tmp_path_factory.mktemp("table") / "houses.csv"
    found.to_csv(path, index=False)
    return path, found


def fit(table: Path, target: str, model: str, **settings: Any) -> suffice.TableModel:
    """Fit to one of the targets; the others are no features."""
    others = {name: "ignore" for name in ("sold", "speed", "visits", "rent") if name != target}
    return suffice.fit(table, target, model, columns=others, folds=2, **settings)


def whole(table: Path) -> Any:
    """Return all rows of a file in one batch."""
    return pa.Table.from_batches(open_table(table).batches()).combine_chunks().to_batches()[0]


def in_memory(model: suffice.TableModel, table: Path) -> Any:
    """Return the same regression, fitted to the whole matrix of the same design."""
    block, answers = encode_rows(whole(table), model.schema_)
    names = np.array(answers.labels.names)
    y = names[answers.values] if len(names) else answers.values
    tol = {"tol": 1e-12} if "tol" in model.estimator_.get_params() else {}
    return clone(model.estimator_).set_params(**tol).fit(model.predictor_.design.encode(block), y)


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("sold", "logistic"),
        ("speed", "logistic"),
        ("speed", "softmax"),
        ("visits", "poisson"),
    ],
)
def test_a_regression_is_fitted_to_all_rows(target: str, model: str, table: tuple[Path, pd.DataFrame]) -> None:
    path, _ = table
    found = fit(path, target, model, task="counts" if target == "visits" else None)
    assert found.fitted_rows_ == found.rows_ == ROWS
    assert "street = alley" in found.predictor_.design.names
    expected = in_memory(found, path)
    scale = np.abs(expected.coef_).max()
    np.testing.assert_allclose(found.estimator_.coef_, expected.coef_, rtol=0, atol=1e-8 * scale)
    np.testing.assert_allclose(found.estimator_.intercept_, expected.intercept_, rtol=1e-8)
    if target in ("sold", "speed"):
        assert found.estimator_.classes_.tolist() == expected.classes_.tolist() == sorted(set(table[1][target]))


@pytest.mark.parametrize("target", ["sold", "speed", "visits", "rent"])
def test_an_additive_model_is_fitted_to_all_rows(target: str, table: tuple[Path, pd.DataFrame]) -> None:
    path, _ = table
    found = fit(path, target, "additive", task="counts" if target == "visits" else None)
    assert found.fitted_rows_ == found.rows_ == ROWS
    street = next(term for term in found.estimator_.terms_ if term.name == "street")
    assert "alley" in street.labels[0]  # a level that is not in the sample
    block, answers = encode_rows(whole(path), found.schema_)
    expected = clone(found.estimator_)
    bins = found.predictor_.encode(block)
    if found.schema_.task == "classes":
        expected.fit_bins(found.predictor_.binned, bins, answers.values, answers.labels)
    else:
        expected.fit_bins(found.predictor_.binned, bins, answers.values)
    np.testing.assert_allclose(found.estimator_.intercept_, expected.intercept_, rtol=1e-9)
    for term, other in zip(found.estimator_.terms_, expected.terms_, strict=True):
        np.testing.assert_array_equal(term.values, other.values)


def test_words_of_all_rows_count(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    notes = [" ".join(random.choice(["sun", "moon", "rain", "snow"], 3)) for _ in range(3000)]
    path = tmp_path / "notes.csv"
    pd.DataFrame({"note": notes, "y": ["sun" in note for note in notes] ^ (random.random(3000) < 0.2)}).to_csv(
        path, index=False
    )
    found = suffice.fit(path, "y", "logistic", columns={"note": "text"}, folds=2)
    assert found.fitted_rows_ == 3000
    np.testing.assert_allclose(found.estimator_.coef_, in_memory(found, path).coef_, rtol=0, atol=1e-7)


def test_the_model_that_auto_chooses_is_fitted_to_all_rows(table: tuple[Path, pd.DataFrame]) -> None:
    found = fit(table[0], "sold", "auto")
    assert found.fitted_rows_ == ROWS


def test_rows_are_drawn_where_all_would_take_too_long(
    monkeypatch: pytest.MonkeyPatch, table: tuple[Path, pd.DataFrame]
) -> None:
    monkeypatch.setattr(fitting, "PRODUCTS", 1e4)
    assert fit(table[0], "sold", "logistic").fitted_rows_ == 900
    assert fit(table[0], "sold", "logistic", most_rows=None).fitted_rows_ == ROWS


def test_all_rows_are_read_again_where_there_is_no_space_to_keep_them(
    monkeypatch: pytest.MonkeyPatch, table: tuple[Path, pd.DataFrame]
) -> None:
    kept = fit(table[0], "sold", "logistic", most_rows=None)
    monkeypatch.setattr("suffice.tables.compact_rows._SHARE_OF_FREE", 0.0)
    assert fit(table[0], "sold", "logistic").fitted_rows_ == 900
    read = fit(table[0], "sold", "logistic", most_rows=None)
    assert read.fitted_rows_ == ROWS
    np.testing.assert_array_equal(read.estimator_.coef_, kept.estimator_.coef_)


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are listed on Linux")
@pytest.mark.parametrize("when", ["reading", "fitting logistic"])
def test_ctrl_c_leaves_no_rows_behind(
    when: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: tuple[Path, pd.DataFrame]
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    kept: list[int] = []

    def open_here() -> int:
        found = 0
        for each in Path("/proc/self/fd").iterdir():
            with suppress(FileNotFoundError):  # the listing itself, and what another thread has closed
                found += str(each.readlink()).startswith(str(tmp_path))
        return found

    def interrupt(doing: str, done: int, of: int | None) -> None:
        kept.append(open_here())
        if doing == when and (kept[-1] or doing != "reading"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fit(table[0], "sold", "logistic", watch=interrupt)
    assert kept[-1] == 1
    assert open_here() == 0


def test_cells_come_back_as_they_were(table: tuple[Path, pd.DataFrame]) -> None:
    schema = fit(table[0], "speed", "nb").schema_
    block, answers = encode_rows(whole(table[0]), schema)
    labels = Labels(("average", *answers.labels))
    with CompactRows(block.features) as rows:
        for start in range(0, ROWS, 1000):
            some = slice(start, start + 1000)
            rows.add(block[some], Targets(answers.known[some], answers.labels, answers.values[some]))
        assert rows.size < 40 * ROWS
        read = list(rows.read(labels))
    np.testing.assert_array_equal(np.concatenate([codes for _, codes in read]), answers.values + 1)
    for place, column in enumerate(block.columns):
        for start, (part, _) in zip(range(0, ROWS, 1000), read, strict=True):
            found = part.columns[place]
            if isinstance(found, np.ndarray):
                np.testing.assert_array_equal(found, column[start : start + 1000])
            else:
                np.testing.assert_array_equal(found.codes, column.codes[start : start + 1000])
                assert found.vocabulary == column.vocabulary


PROGRAM = """
import sys
import numpy as np
import pyarrow as pa
import suffice, suffice.data.spill
from suffice.tables import fitting, scan
from suffice.tables.sources.base import ArrowSource
from tests.peak_memory import peak_megabytes

fitting.DRAWN = scan.COMPARISON_ROWS = 2000
suffice.data.spill.IN_MEMORY = 1 << 22

def batches(count):
    random = np.random.default_rng(0)
    for _ in range(count):
        x = random.normal(size=(20, 20_000))
        columns = {f"x{place}": cells for place, cells in enumerate(x)} | {"y": x[0] + random.logistic(size=20_000) > 0}
        yield pa.record_batch(columns)

class Rows(ArrowSource):
    def __init__(self, count):
        super().__init__("rows", lambda: pa.RecordBatchReader.from_batches(next(batches(1)).schema, batches(count)))

suffice.fit(Rows(2), "y", "logistic", folds=2)
before = peak_megabytes()
print(suffice.fit(Rows(int(sys.argv[1])), "y", "logistic", folds=2).fitted_rows_, peak_megabytes() - before)
"""


def test_a_fit_to_all_rows_takes_little_memory() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM, "80"], capture_output=True, text=True, check=True)
    rows, megabytes = map(int, done.stdout.split())
    assert rows == 1_600_000  # 256 MB of cells
    assert megabytes < 180
