"""Streams of batches: read again for every pass, or kept in a temporary file where they are read once."""

from __future__ import annotations

import errno
import operator
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet as pq
from pyarrow.dataset import dataset
from scipy import sparse
from sklearn.base import clone

import suffice.data.spill
from suffice import (
    GDA,
    GLM,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    Perceptron,
    PoissonRegressor,
    SoftmaxRegression,
)
from suffice.data import SpillWarning
from suffice.data.spill import Spill
from suffice.discriminative.separation import SeparationWarning

ROWS = 600
RNG = np.random.default_rng(0)
X = RNG.normal(size=(ROWS, 3))
ETA = X @ [1.0, -0.5, 0.2] + 0.3
CLASSES = np.where(RNG.random(ROWS) < 1 / (1 + np.exp(-ETA)), "yes", "no")
COUNTS = RNG.poisson(np.exp(ETA / 2))
NUMBERS = ETA + RNG.normal(size=ROWS)


def batches(*columns: Any, rows: int = 70) -> Callable[[], Iterator[tuple[Any, ...]]]:
    """Return what starts a stream of tuples."""
    return lambda: (tuple(c[at : at + rows] for c in columns) for at in range(0, len(columns[-1]), rows))


@pytest.fixture
def small_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a stream that is read once be kept in a file from its first kilobytes on."""
    monkeypatch.setattr(suffice.data.spill, "IN_MEMORY", 5000)


MODELS = {
    "logistic": (LogisticRegression(), CLASSES),
    "logistic, l1": (LogisticRegression(C=0.5, l1_ratio=1.0), CLASSES),
    "logistic, balanced": (LogisticRegression(class_weight="balanced"), CLASSES),
    "logistic, firth": (LogisticRegression(bias_reduction=True), CLASSES),
    "softmax, l2": (SoftmaxRegression(C=1.0), np.where(X[:, 0] > 1, "maybe", CLASSES)),
    "poisson, HC3": (PoissonRegressor(covariance="HC3"), COUNTS),
    "gaussian, log": (GLM("gaussian", "log"), np.exp(NUMBERS / 4)),
    "linear, HC1": (LinearRegression(covariance="HC1"), NUMBERS),
    "linear, newton": (LinearRegression("newton"), NUMBERS),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.usefixtures("small_memory")
@pytest.mark.filterwarnings("ignore::suffice.data.SpillWarning")
def test_a_regression_of_a_stream_is_that_of_the_rows_in_memory(name: str) -> None:
    model, y = MODELS[name]
    expected = model.fit(X, y)
    coef, summary = expected.coef_, str(expected.summary())
    for stream in (batches(X, y), batches(X, y)()):
        found = model.fit(stream)
        np.testing.assert_allclose(found.coef_, coef, rtol=1e-8)
        assert str(found.summary()) == summary


def test_a_generative_model_of_a_function_that_starts_a_stream_is_that_of_the_rows_in_memory() -> None:
    expected, found = GDA().fit(X, CLASSES), GDA().fit(batches(X, CLASSES))
    np.testing.assert_allclose(found.predict_proba(X), expected.predict_proba(X), rtol=1e-10)


def test_sparse_rows_and_weights_stream() -> None:
    x, weight = sparse.csr_array(np.maximum(X, 0)), RNG.random(ROWS)
    for model in (MultinomialNB(), LogisticRegression(C=1.0)):
        expected = model.fit(x, CLASSES, sample_weight=weight).predict_proba(x)
        found = model.fit(batches(x, CLASSES, weight)).predict_proba(x)
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_batches_bring_offsets_and_trials_by_name() -> None:
    trials = RNG.integers(1, 9, ROWS)
    successes, offset = RNG.binomial(trials, 0.4), X[:, 0] / 2
    names = ("X", "y", "offset", "trials")
    stream = batches(X, successes, offset, trials)
    expected = GLM("binomial").fit(X, successes, offset=offset, trials=trials)
    found = GLM("binomial").fit(lambda: (dict(zip(names, batch, strict=True)) for batch in stream()))
    np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)


class Table:
    """A table of Arrow that can be read again, as ``suffice.tables`` opens them."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self.table = pa.Table.from_pandas(frame)

    def batches(self) -> list[pa.RecordBatch]:
        """Return the table in parts."""
        return self.table.to_batches(max_chunksize=100)


def test_columns_of_data_frames_are_named(tmp_path: Path) -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(sold=CLASSES, weight=RNG.random(ROWS))
    expected = LogisticRegression().fit(frame[["a", "b", "c"]], frame["sold"], sample_weight=frame["weight"])
    frames = lambda: (frame.iloc[at : at + 100] for at in range(0, ROWS, 100))  # noqa: E731
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "part.parquet", row_group_size=100)
    again = (frames, Table(frame), dataset(tmp_path), pl.scan_parquet(tmp_path / "part.parquet"))
    for stream in (*again, dataset(tmp_path).scanner().to_reader()):
        found = LogisticRegression().fit(stream, "sold", sample_weight="weight")
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-8)
        assert found.feature_names_in_.tolist() == ["a", "b", "c"]
    assert np.concatenate(list(found.predict(frames))).tolist() == expected.predict(frame[["a", "b", "c"]]).tolist()
    with pytest.raises(ValueError, match="X has no column 'bought'; its columns are"):
        LogisticRegression().fit(frames, "bought")


def test_a_stream_is_answered_batch_by_batch() -> None:
    model = LogisticRegression().fit(X, CLASSES)
    answers = model.predict_proba(batch[0] for batch in batches(X, CLASSES)())
    assert next(answers).shape == (70, 2)
    assert sum(len(answer) for answer in answers) == ROWS - 70


def test_a_generator_may_use_one_array_for_all_batches() -> None:
    def stream() -> Iterator[tuple[Any, Any]]:
        x = np.empty((100, 3))
        for at in range(0, ROWS, 100):
            x[:] = X[at : at + 100]
            yield x, CLASSES[at : at + 100]

    expected = LogisticRegression().fit(X, CLASSES).coef_
    np.testing.assert_allclose(LogisticRegression().fit(stream()).coef_, expected, rtol=1e-8)


@pytest.mark.usefixtures("small_memory")
def test_rows_on_disk_are_said_once_and_left_nowhere(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.warns(SpillWarning, match="written to a temporary file, which is deleted") as warned:
        LogisticRegression().fit(batches(X, CLASSES)())
    assert len(warned) == 1
    assert list(tmp_path.iterdir()) == []

    def interrupted() -> Iterator[Any]:
        yield from batches(X, CLASSES)()
        raise KeyboardInterrupt

    model = LogisticRegression().fit(X, CLASSES)
    before = model.coef_.copy()
    with pytest.raises(KeyboardInterrupt):
        model.fit(interrupted())
    assert list(tmp_path.iterdir()) == []
    assert np.array_equal(model.coef_, before)


@pytest.mark.usefixtures("small_memory")
def test_a_stream_that_can_be_read_again_is_not_written_to_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/nowhere")  # a file could not be made there
    reads = []

    def start() -> Iterator[Any]:
        reads.append(1)
        return batches(X, CLASSES)()

    with pytest.raises(OSError, match="TMPDIR names another folder") as refused:
        LogisticRegression().fit(start())
    assert refused.value.errno == errno.ENOENT
    reads.clear()
    monkeypatch.undo()
    LogisticRegression().fit(start)
    assert len(reads) > 1


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        (lambda: iter([]), "X has no rows"),
        (lambda: iter([(X[:0], CLASSES[:0])]), "X has no rows"),
        (lambda: iter([(X, CLASSES), (X, CLASSES[:5])]), "X has 600 rows and y has 5"),
        (lambda: iter([X]), r"must be a tuple \(X, y\)"),
        (lambda: iter([(X, CLASSES, None, 1)]), "got one of 4 entries"),
        (lambda: iter([{"y": CLASSES}]), "must hold X; it holds y"),
        (lambda: iter([(X, CLASSES), (X[:, :2], CLASSES)]), "2 features"),
        (lambda: 5, "must return an iterator over batches; it returned a int"),
        (lambda: iter([(X, CLASSES), (X * np.nan, CLASSES)]), "NaN"),
    ],
)
def test_bad_batches_are_named(stream: Callable[[], Any], words: str) -> None:
    with pytest.raises((ValueError, TypeError), match=words):
        LogisticRegression().fit(stream)


def test_the_batch_of_an_error_is_numbered() -> None:
    bad = X.copy()
    bad[333, 1] = np.inf
    with pytest.raises(ValueError, match="infinity") as error:
        LogisticRegression().fit(batches(bad, CLASSES, rows=100))
    assert "in batch 3 of the stream, counted from 0" in error.value.__notes__


def test_a_function_that_returns_the_same_iterator_is_refused() -> None:
    parts = list(batches(X, CLASSES)())
    for model in (LogisticRegression(), GDA()):
        for same in (iter(parts), (part for part in parts)):
            with pytest.raises(ValueError, match="must start the stream from its beginning each time"):
                model.fit(lambda same=same: same)


@pytest.mark.usefixtures("small_memory")
def test_a_stream_that_changes_between_passes_is_refused() -> None:
    def changing(change: Callable[[int], list[Any]]) -> Callable[[], Iterator[Any]]:
        starts: list[int] = []

        def start() -> Iterator[Any]:
            starts.append(1)
            return iter(change(len(starts)))

        return start

    parts = list(batches(X, CLASSES)())
    moved = [*parts[:-1], (parts[-1][0] + 1.0, parts[-1][1])]
    for change, words in (
        (lambda start: parts if start < 4 else parts[:5], "brought 350 rows, and 600 before"),
        (lambda start: parts if start < 4 else moved, "brought other rows than before"),
        (lambda start: parts if start < 4 else [], "brought no rows"),
        (lambda start: parts if start < 4 else parts[1:], "brought another first batch"),
    ):
        with pytest.raises(ValueError, match=words):
            LogisticRegression().fit(changing(change))


def test_arguments_that_batches_bring_are_refused() -> None:
    with pytest.raises(ValueError, match="a function, a stream whose batches bring their own y: leave y out"):
        LogisticRegression().fit(batches(X, CLASSES), CLASSES)


def test_batches_without_rows_are_passed_over() -> None:
    empty = (X[:0], CLASSES[:0])
    found = LogisticRegression().fit(lambda: iter([empty, (X, CLASSES), empty]))
    np.testing.assert_allclose(found.coef_, LogisticRegression().fit(X, CLASSES).coef_, rtol=1e-8)


@pytest.mark.parametrize("in_memory", [0, 40, 10**6])
def test_a_spill_returns_what_was_added_in_order(in_memory: int) -> None:
    things = [{"x": np.arange(n, dtype=np.float32), "name": str(n)} for n in (0, 1, 10_000)]
    with Spill(in_memory) as spill:
        for thing in things:
            spill.add(thing)
        assert spill.is_on_disk == (in_memory < 10**6)
        for _ in range(2):
            for found, thing in zip(spill, things, strict=True):
                assert np.array_equal(found["x"], thing["x"])
                assert found["name"] == thing["name"]
                assert not found["x"].flags.writeable
    assert list(spill) == []


LARGE = """
import sys
import warnings

import numpy as np

import suffice.data.spill
from suffice import LogisticRegression
from tests.peak_memory import peak_megabytes

suffice.data.spill.IN_MEMORY = 1 << 23
warnings.simplefilter("ignore")

def stream():
    rng = np.random.default_rng(0)
    for _ in range(int(sys.argv[2])):
        x = rng.normal(size=(2500, 50))
        yield x, x[:, 0] + rng.logistic(size=2500) > 0

LogisticRegression().fit(next(stream())[0][:1000], np.arange(1000) % 2)
before = peak_megabytes()
LogisticRegression(tol=1e-3).fit(stream() if sys.argv[1] == "once" else stream)
print(peak_megabytes() - before)
"""


@pytest.mark.needs("posix")
@pytest.mark.parametrize("way", ["once", pytest.param("again", marks=pytest.mark.slow)])
def test_memory_does_not_grow_with_the_stream(way: str) -> None:
    """Of 200 MB in batches of 1 MB, the 8 MB that are kept in memory and a few batches."""
    run = subprocess.run(
        [sys.executable, "-c", LARGE, way, "200"], capture_output=True, text=True, check=False, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert int(run.stdout) < 100, run.stdout


def test_parts_are_added_up_in_order() -> None:
    from suffice.data.stream import stream_dataset

    rows = stream_dataset(batches(X, CLASSES), y=None)
    assert rows.map_parts(operator.itemgetter("X")).map_parts(len).reduce(operator.add) == ROWS
    assert rows.select("y").fold(lambda seen, piece: [*seen, *piece], []) == ["y", "place"] * 9


@pytest.mark.parametrize("average", [False, True])
def test_a_perceptron_visits_the_rows_of_a_stream_in_order(average: bool) -> None:
    x = np.random.default_rng(1).normal(size=(40, 3))
    y = np.where(x @ [1.0, 2.0, -1.0] > 0.3, "yes", "no")
    weight = np.random.default_rng(2).integers(0, 3, 40)
    parts = [slice(0, 1), slice(1, 25), slice(25, 40)]
    model = Perceptron(shuffle=False, average=average, class_weight="balanced")
    expected = clone(model).fit(x, y, weight)
    for stream in (
        lambda: iter([(x[part], y[part], weight[part]) for part in parts]),
        iter([(x[part], y[part], weight[part]) for part in parts]),
    ):
        found = clone(model).fit(stream)
        np.testing.assert_allclose(found.coef_, expected.coef_, rtol=1e-12)
        assert found.mistakes_ == expected.mistakes_
    with pytest.raises(ValueError, match="needs rows of at least 2 classes; those with weight are of 1 class, 'no'"):
        clone(model).fit(iter([(x[y == "no"], y[y == "no"])]))


def test_rows_of_a_stream_that_are_separated_are_no_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    x = np.random.default_rng(0).normal(size=(300, 2))
    y = x[:, 0] > 0.2
    start = partial(batches_of, x, y)
    with pytest.warns(SeparationWarning, match="x0 separates the classes completely: all 300 rows"):
        assert LogisticRegression().fit(start).separation_.columns == ("x0",)
    monkeypatch.setattr("suffice.data.sample.MOST", 100)
    with pytest.warns(SeparationWarning, match="and a sample of 50 of the 300 rows is separated"):
        assert not LogisticRegression().fit(start).solution_.converged
    y[:10] = ~y[:10]
    assert LogisticRegression(tol=1e-3).fit(partial(batches_of, x, y)).solution_.converged


def batches_of(x: np.ndarray, y: np.ndarray) -> Iterator[Any]:
    for start in range(0, len(x), 100):
        yield x[start : start + 100], y[start : start + 100]
