"""Rows by the place where they are: files, partitioned folders, URLs, streams of data frames, maps of memory."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq
from pyarrow.dataset import dataset

import suffice
import suffice.data.spill
from suffice import GDA, GaussianNB, LinearRegression, LogisticRegression, MixedNB, PoissonRegressor
from suffice.data import SpillWarning, as_dataset
from suffice.selection import cross_validate
from suffice.tables import TableError, open_table
from tests.object_stores import memory_folder, s3_folder, upload

ROWS = 300
RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(RNG.normal(size=(ROWS, 2)), columns=["a", "b"]).assign(
    year=np.repeat([2020, 2021, 2022], 100), weight=RNG.integers(1, 4, ROWS)
)
FRAME["visits"] = RNG.poisson(np.exp(FRAME.a / 2))
FRAME["sold"] = np.where(FRAME.a + RNG.logistic(size=ROWS) > 0, "yes", "no")
FEATURES = ["a", "b", "visits", "year"]


def write_csv(frame: pd.DataFrame, path: Path) -> None:
    frame.to_csv(path, index=False)


def write_json(frame: pd.DataFrame, path: Path) -> None:
    frame.to_json(path, orient="records", lines=True, double_precision=15)


def write_parquet(frame: pd.DataFrame, path: Path) -> None:
    pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)


def write_arrow(frame: pd.DataFrame, path: Path) -> None:
    feather.write_feather(pa.Table.from_pandas(frame, preserve_index=False), str(path))


def write_arrow_stream(frame: pd.DataFrame, path: Path) -> None:
    table = pa.Table.from_pandas(frame, preserve_index=False)
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, max_chunksize=70)


WRITERS: dict[str, Callable[[pd.DataFrame, Path], None]] = {
    "csv": write_csv,
    "jsonl": write_json,
    "parquet": write_parquet,
    "feather": write_arrow,
    "arrows": write_arrow_stream,
}
PARTITIONED = [ending for ending in WRITERS if ending != "arrows"]


def partitioned(folder: Path, ending: str) -> Path:
    """Write the rows to a folder with one file a year."""
    for year, rows in FRAME.groupby("year"):
        place = folder / f"year={year}"
        place.mkdir(parents=True)
        WRITERS[ending](rows.drop(columns="year"), place / f"part.{ending}")
    (folder / "_SUCCESS").touch()
    return folder


def expected() -> Any:
    return LogisticRegression().fit(FRAME[FEATURES], FRAME.sold, sample_weight=FRAME.weight)


def check(location: Any) -> None:
    """Fit the model to rows at a location, and compare it with the model of the rows in memory."""
    model, other = LogisticRegression().fit(location, "sold", sample_weight="weight"), expected()
    order = [list(model.feature_names_in_).index(name) for name in FEATURES]
    np.testing.assert_allclose(model.coef_[:, order], other.coef_, rtol=1e-8, atol=1e-10)
    assert model.score(location, "sold") == other.score(FRAME[FEATURES], FRAME.sold)
    assert np.concatenate(list(model.predict(location))).tolist() == other.predict(FRAME[FEATURES]).tolist()


@pytest.mark.parametrize("ending", WRITERS)
def test_a_regression_of_files_is_that_of_their_rows_in_memory(ending: str, tmp_path: Path) -> None:
    parts = [tmp_path / f"{number}.{ending}" for number in range(3)]
    for number, part in enumerate(parts):
        WRITERS[ending](FRAME[number * 100 : (number + 1) * 100], part)
    for location in (tmp_path, parts, [str(part) for part in parts], f"{tmp_path}/*.{ending}", tmp_path.as_uri()):
        check(location)


@pytest.mark.parametrize("ending", PARTITIONED)
def test_folders_named_by_column_and_value_are_columns(ending: str, tmp_path: Path) -> None:
    folder = partitioned(tmp_path / "run=3" / "rows", ending)
    check(folder)
    assert "run" not in open_table(folder).schema().names
    model = suffice.fit(folder, "sold", "nb", folds=2)
    assert [field.name for field in model.schema_.fields][-1] == "year"
    names = [*FRAME.columns.drop("year"), "year"]
    other = suffice.fit(FRAME[names], "sold", "nb", folds=2)
    np.testing.assert_allclose(model.predict_proba(folder), other.predict_proba(FRAME), rtol=1e-8)


def test_every_kind_of_model_takes_a_location(tmp_path: Path) -> None:
    write_parquet(FRAME, tmp_path / "rows.parquet")
    write_parquet(FRAME.drop(columns="sold"), tmp_path / "numbers.parquet")
    x = FRAME.drop(columns="sold")
    for model in (GDA(), GaussianNB(), MixedNB()):
        found = np.concatenate(
            list(model.fit(tmp_path / "rows.parquet", "sold").predict_proba(tmp_path / "rows.parquet"))
        )
        np.testing.assert_allclose(found, model.fit(x, FRAME.sold).predict_proba(x), rtol=1e-8)
    x = FRAME[["a", "b", "year", "weight"]]
    for model in (PoissonRegressor(), LinearRegression(), LinearRegression(covariance="HC3")):
        coef = model.fit(tmp_path / "numbers.parquet", "visits").coef_
        np.testing.assert_allclose(coef, model.fit(x, FRAME.visits).coef_, rtol=1e-8)


def test_folds_of_files_are_those_of_their_rows_in_memory(tmp_path: Path) -> None:
    for number in range(3):
        write_parquet(FRAME[number * 100 : (number + 1) * 100], tmp_path / f"{number}.parquet")
    expected = cross_validate(GaussianNB(), FRAME.drop(columns="sold"), FRAME.sold)
    for rows in (tmp_path, frames, frames()):
        np.testing.assert_allclose(cross_validate(GaussianNB(), rows, "sold").scores, expected.scores, rtol=1e-12)


STORES = {"memory": memory_folder, "s3": s3_folder}


@pytest.mark.parametrize("store", STORES)
def test_files_of_an_object_store_are_rows(store: str, tmp_path: Path) -> None:
    for ending in ("csv", "parquet"):
        partitioned(tmp_path / ending, ending)
    write_arrow_stream(FRAME, tmp_path / "rows.arrows")
    with STORES[store]() as url:
        upload(tmp_path, url)
        for location in (f"{url}/csv", f"{url}/parquet", f"{url}/parquet/year=*/*.parquet", f"{url}/rows.arrows"):
            check(location)
        check([f"{url}/parquet/year={year}/part.parquet" for year in (2020, 2021, 2022)])
        model = suffice.fit(f"{url}/parquet", "sold", "nb", folds=2)
        assert model.rows_ == ROWS
        model.save(f"{url}/model.suffice")
        again = suffice.load(f"{url}/model.suffice")
        np.testing.assert_array_equal(again.predict_proba(f"{url}/parquet"), model.predict_proba(FRAME))


def test_copies_of_an_object_store_are_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with memory_folder() as url:
        (tmp_path / "rows.csv").write_text("a,y\n1,2\n3,4\n", encoding="utf-8")
        upload(tmp_path / "rows.csv", f"{url}/rows.csv")
        (tmp_path / "rows.csv").unlink()
        source = open_table(f"{url}/rows.csv")
        assert source.name == f"{url}/rows.csv"
        assert [batch.num_rows for batch in source.batches()] == [2]
        del source
        assert list(tmp_path.iterdir()) == []


def test_an_object_whose_name_leads_elsewhere_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with memory_folder() as url:
        files = fsspec.filesystem("memory")
        files.pipe_file("/suffice-tests/year=1/../../rows.csv", b"a,y\n1,2\n")
        with pytest.raises(TableError, match=r"rows\.csv has '\.\.' in its name: copy it to another name"):
            open_table(f"{url}/*/*/*/*.csv")
    assert list(tmp_path.iterdir()) == []


def frames(rows: int = 100) -> Iterator[pd.DataFrame]:
    return (FRAME[at : at + rows] for at in range(0, ROWS, rows))


def polars_frames() -> Iterator[pl.DataFrame]:
    return (pl.DataFrame(frame.to_dict("list")) for frame in frames())


def arrow_batches() -> pa.RecordBatchReader:
    table = pa.Table.from_pandas(FRAME)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=90))


#: What is made anew for each fit.
STREAMS: dict[str, Callable[[], Any]] = {
    "generator of pandas frames": frames,
    "generator of Polars frames": polars_frames,
    "function": lambda: frames,
    "record batch reader": arrow_batches,
    "lazy frame": lambda: pl.LazyFrame(FRAME.to_dict("list")),
    "dataset": lambda: dataset(pa.Table.from_pandas(FRAME)),
    "table": lambda: open_table(FRAME),
}


@pytest.mark.parametrize("name", STREAMS)
@pytest.mark.parametrize("in_memory", [1 << 27, 3000])
@pytest.mark.filterwarnings("ignore::suffice.data.SpillWarning")
def test_streams_are_rows(name: str, in_memory: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suffice.data.spill, "IN_MEMORY", in_memory)
    make = STREAMS[name]
    found = LogisticRegression().fit(make(), "sold", sample_weight="weight")
    coef = pd.Series(found.coef_[0], found.feature_names_in_)[FEATURES]
    np.testing.assert_allclose(coef, expected().coef_[0], rtol=1e-8, atol=1e-10)
    model, other = suffice.fit(make(), "sold", "gda", folds=2), suffice.fit(FRAME, "sold", "gda", folds=2)
    np.testing.assert_allclose(model.predict_proba(make()), other.predict_proba(FRAME), rtol=1e-9)
    counted = open_table(make(), query="select count(*) as n from data") if name != "table" else None
    assert counted is None or next(counted.batches())["n"].to_pylist() == [ROWS]


def test_a_table_that_is_read_once_is_kept_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(suffice.data.spill, "IN_MEMORY", 3000)
    with pytest.warns(SpillWarning, match="the table is a stream that is read once"):
        source = open_table(frames())
    assert source.rows() == ROWS
    for _ in range(2):
        assert sum(batch.num_rows for batch in source.batches(["a"])) == ROWS


def test_data_frames_of_a_stream_may_differ_in_types_and_columns() -> None:
    parts = [pd.DataFrame({"a": [1, 2]}), pd.DataFrame({"a": [0.5], "b": ["x"]})]
    rows = pa.Table.from_batches(list(open_table(iter(parts)).batches()))
    assert rows.to_pydict() == {"a": [1.0, 2.0, 0.5], "b": [None, None, "x"]}
    with pytest.raises(TableError, match="the data frames of the stream differ"):
        open_table(iter([pd.DataFrame({"a": [1]}), pd.DataFrame({"a": ["x"]})]))


def bad_folder(folder: Path, name: str) -> Any:
    """Return a location that cannot be read, and make what is there."""
    if name == "formats":
        write_csv(FRAME, folder / "a.csv")
        write_parquet(FRAME, folder / "b.parquet")
        return [folder / "a.csv", folder / "b.parquet"]
    if name == "partitions":
        write_csv(FRAME, folder / "a.csv")
        (folder / "year=2020").mkdir()
        write_csv(FRAME, folder / "year=2020" / "b.csv")
    if name.startswith("columns."):
        ending = name.partition(".")[2]
        WRITERS[ending](FRAME, folder / f"a.{ending}")
        WRITERS[ending](FRAME.rename(columns={"b": "c"}), folder / f"b.{ending}")
    return {"nothing": "", "missing": folder / "nowhere.csv", "glob": f"{folder}/*.csv"}.get(name, folder)


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("missing", r"there is no file .*nowhere\.csv: check its name and folder"),
        ("nothing", "the name of the table is empty: name a file, a folder or a URL"),
        ("glob", r"there is no file .*\*\.csv: check its name and folder"),
        ("empty", r"is a folder without tables \(\.csv, \.parquet"),
        ("formats", r"the list of 2 files holds tables of several formats \(csv, parquet\)"),
        ("partitions", r"a\.csv has no partitions and .*b\.csv has the partition 'year': all files"),
        (
            "columns.parquet",
            r"a\.parquet has a column 'b', which .*b\.parquet has not: give files with the same columns",
        ),
        ("columns.feather", r"a\.feather has a column 'b', which .*b\.feather has not: give files with the same"),
        ("columns.arrows", r"part 0 of 2 files of .* has a column 'b', which part 1 of 2 files .* has not: give files"),
        ("columns.csv", r"a\.csv has a column 'b', which .*b\.csv has not: give files with the same columns"),
    ],
)
def test_locations_that_cannot_be_read_are_named(name: str, words: str, tmp_path: Path) -> None:
    with pytest.raises((TableError, FileNotFoundError), match=words):
        LogisticRegression().fit(bad_folder(tmp_path, name), "sold")


def test_a_column_that_an_arrow_file_lacks_is_missing_there(tmp_path: Path) -> None:
    for ending in ("feather", "arrows"):
        WRITERS[ending](pd.DataFrame({"a": [1]}), tmp_path / f"0.{ending}")
        WRITERS[ending](pd.DataFrame({"a": [0.5], "b": ["x"]}), tmp_path / f"1.{ending}")
        rows = pa.Table.from_batches(list(open_table(f"{tmp_path}/*.{ending}").batches()))
        assert rows.to_pydict() == {"a": [1.0, 0.5], "b": [None, "x"]}


def test_arrow_streams_are_read_alone(tmp_path: Path) -> None:
    write_arrow(FRAME, tmp_path / "a.arrow")
    write_arrow_stream(FRAME, tmp_path / "b.arrow")  # as some write it, too
    with pytest.raises(TableError, match=r"b\.arrow is an Arrow stream, which is not read together with Arrow files"):
        open_table(tmp_path)
    assert open_table(tmp_path / "b.arrow").schema().names == list(FRAME.columns)
    (tmp_path / "year=2020").mkdir()
    write_arrow_stream(FRAME, tmp_path / "year=2020" / "c.arrows")
    with pytest.raises(TableError, match=r"c\.arrows is an Arrow stream, which is not read from partitioned folders"):
        open_table(tmp_path / "year=2020" / "c.arrows")


@pytest.mark.parametrize("url", ["https://example.org/rows.csv", "s4://bucket/rows.csv", "memory://nowhere/rows.csv"])
def test_urls_that_cannot_be_read_are_named(url: str) -> None:
    for fit in (LogisticRegression().fit, suffice.fit):
        with pytest.raises((TableError, FileNotFoundError), match=url):
            fit(url, "sold")


def test_columns_that_a_regression_cannot_read_are_named(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    for column, words in (
        (np.where(FRAME.a > 0, "u", "v"), r"X\[0, 1\] is '[uv]' in column 'c': LogisticRegression needs numbers"),
        (pd.Timestamp("2020-01-01"), r"column 'c' of X has dates or times \(Datetime.*: LogisticRegression needs"),
    ):
        write_parquet(FRAME[["a"]].assign(c=column, sold=FRAME.sold), path)
        with pytest.raises(ValueError, match=words):
            LogisticRegression().fit(path, "sold")
    with pytest.raises(ValueError, match=r"give the name of the column of X .* \['a', 'c', 'sold'\]"):
        LogisticRegression().fit(path)
    with pytest.raises(ValueError, match="give the name of a column of X"):
        LogisticRegression().fit(path, FRAME.sold)


@pytest.fixture
def mapped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> np.memmap[Any, Any]:
    """Return numbers in a file, read in blocks of 40 rows; one of the columns is far from zero."""
    monkeypatch.setattr("suffice.data.dataset.MAPPED", 1000)
    monkeypatch.setattr("suffice.data.dataset.BLOCK", 40 * 3 * 8)
    np.save(tmp_path / "rows.npy", np.column_stack([FRAME.a, FRAME.b + 1e7, FRAME.year]))
    found: np.memmap[Any, Any] = np.load(tmp_path / "rows.npy", mmap_mode="r")
    return found


def test_a_map_of_memory_is_read_in_blocks_of_rows(mapped: np.memmap[Any, Any]) -> None:
    assert [len(part["X"]) for part in as_dataset(mapped, y=FRAME.visits).iterate()] == [40] * 7 + [20]
    x = np.array(mapped)
    for model, y in (
        (LogisticRegression(), FRAME.sold),
        (PoissonRegressor(covariance="HC1"), FRAME.visits),
        (LinearRegression(), FRAME.a * 2 + FRAME.visits),
    ):
        other = model.fit(x, y, sample_weight=FRAME.weight)
        theta, summary = other.coef_, str(other.summary())
        found = model.fit(mapped, y, sample_weight=FRAME.weight)
        np.testing.assert_allclose(found.coef_, theta, rtol=1e-8)
        assert str(found.summary()) == summary
        assert isinstance(found.predict(mapped), np.ndarray)
    posterior = GDA().fit(mapped, FRAME.sold).predict_proba(mapped)
    np.testing.assert_allclose(posterior, GDA().fit(x, FRAME.sold).predict_proba(x), rtol=1e-8)


def test_a_map_of_memory_is_refused_as_an_array_is(mapped: np.memmap[Any, Any]) -> None:
    with pytest.raises(ValueError, match="y is missing"):
        LogisticRegression().fit(mapped, None)
    with pytest.raises(ValueError, match="X has 300 rows and y has 299"):
        LogisticRegression().fit(mapped, FRAME.sold[:-1])


MAPPED_FIT = """
import sys

import numpy as np

import suffice.data.dataset
import suffice.data.spill
import suffice.data.stream
from suffice import LogisticRegression

suffice.data.dataset.MAPPED = suffice.data.spill.IN_MEMORY = 1 << 22
suffice.data.dataset.BLOCK = 1 << 20

def allocated():
    with open("/proc/self/status") as status:  # not the pages of files
        return next(int(line.split()[1]) for line in status if line.startswith("RssAnon")) // 1024

rows = np.load(sys.argv[1], mmap_mode="r")
y = np.load(sys.argv[2])
LogisticRegression().fit(np.array(rows[:1000]), y[:1000])
before, most = allocated(), 0
_read = suffice.data.stream.StreamDataset.iterate

def watched(self):
    global most
    for part in _read(self):
        most = max(most, allocated())
        yield part

suffice.data.stream.StreamDataset.iterate = watched
LogisticRegression().fit(rows, y)
print(most - before)
"""


@pytest.mark.needs("linux")
def test_a_map_of_memory_with_a_column_far_from_zero_is_not_copied(tmp_path: Path) -> None:
    """Of 40 MB, which are centred, the sample, a few blocks of 1 MB, and what is kept; an array would take 100 MB."""
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(100_000, 50))
    np.save(tmp_path / "y.npy", rows[:, 0] + rng.logistic(size=len(rows)) > 0)
    rows[:, 1] += 1e7
    np.save(tmp_path / "rows.npy", rows)
    command = [sys.executable, "-c", MAPPED_FIT, str(tmp_path / "rows.npy"), str(tmp_path / "y.npy")]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 40, run.stdout


WITHOUT_PANDAS = """
import json
import sys

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")

sys.meta_path.insert(0, Absent())
import numpy as np
import suffice
from suffice.selection import cross_validate

numbers, *files = sys.argv[1:]
linear = suffice.LinearRegression().fit(numbers, ["visits", "b"], sample_weight="weight")
found = {"names": linear.feature_names_in_.tolist(), "coef": linear.coef_.tolist()}
for model in (suffice.GaussianNB(), suffice.LogisticRegression(), suffice.MixedNB()):
    model.fit(files, "sold", sample_weight="weight")
    assert model.feature_names_in_.tolist() == ["a", "b", "year", "visits"]
    answers = np.concatenate(list(model.predict_proba(files)))
    found[type(model).__name__] = answers.tolist(), model.score(files, "sold")
found["folds"] = cross_validate(suffice.GaussianNB(), files, "sold").scores.tolist()
print(json.dumps(found))
"""


def test_files_are_rows_without_pandas(tmp_path: Path) -> None:
    write_csv(FRAME.iloc[:100], tmp_path / "first.csv")
    write_csv(FRAME.iloc[100:], tmp_path / "second.csv")
    write_parquet(FRAME.drop(columns="sold"), tmp_path / "numbers.parquet")
    files = [tmp_path / name for name in ("numbers.parquet", "first.csv", "second.csv")]
    call = [sys.executable, "-c", WITHOUT_PANDAS, *files]
    run = subprocess.run(call, check=False, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    found = json.loads(run.stdout)
    linear = LinearRegression().fit(FRAME[["a", "year"]], FRAME[["visits", "b"]], FRAME.weight)
    assert found["names"] == ["a", "year"]
    np.testing.assert_allclose(found["coef"], linear.coef_, rtol=1e-9)
    x = FRAME[["a", "b", "year", "visits"]]
    for model in (GaussianNB(), LogisticRegression(), MixedNB()):
        model.fit(x, FRAME.sold, FRAME.weight)
        answers, score = found[type(model).__name__]
        np.testing.assert_allclose(answers, model.predict_proba(x), rtol=1e-6)
        assert score == pytest.approx(model.score(x, FRAME.sold))
    expected = cross_validate(GaussianNB(), FRAME.drop(columns="sold"), FRAME.sold).scores
    np.testing.assert_allclose(found["folds"], expected)


@pytest.mark.parametrize("library", [pa.Table.from_pandas, pl.from_pandas])
def test_cells_that_are_no_numbers_are_named_in_frames_of_any_library(library: Callable[[Any], Any]) -> None:
    rows = pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]})
    words = r"X\[0, 1\] is 'x' in column 'b': GaussianNB needs numbers"
    for frame in (rows, library(rows)):
        with pytest.raises(ValueError, match=words):
            GaussianNB().fit(frame, [0, 1])
    dates = rows.assign(b=pd.to_datetime(["2020-01-01", "2021-01-01"]))
    for frame in (dates, library(dates)):
        with pytest.raises(ValueError, match="column 'b' of X has dates or times"):
            GaussianNB().fit(frame, [0, 1])


@pytest.mark.parametrize("library", [pa.Table.from_pandas, pl.from_pandas])
def test_frames_of_any_library_are_the_same_rows(library: Callable[[Any], Any]) -> None:
    rows = FRAME[["a", "year"]].assign(late=FRAME.b > 0)
    expected = GaussianNB().fit(rows.astype(float), FRAME.sold)
    found = GaussianNB().fit(library(rows), FRAME.sold)
    np.testing.assert_array_equal(found.theta_, expected.theta_)
    assert found.feature_names_in_.tolist() == ["a", "year", "late"]
    with pytest.raises(ValueError, match="feature names should match"):
        found.predict(library(rows[["year", "a", "late"]]))
