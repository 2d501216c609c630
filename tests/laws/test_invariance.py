"""Laws for every estimator: the same rows in another form have the same answers.

A test is a law and an entry of ``estimators.py``; what a model cannot do is declared there, with the reason, and is
tested to be so.
"""

from __future__ import annotations

import copy
import inspect
import os
import pickle
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

import suffice
import suffice.text
from suffice import AdditiveClassifier, AdditiveRegressor, NBLogisticRegression, TableModel
from suffice.additive import AdditiveSolution
from suffice.discriminative.least_squares import LeastSquaresModel
from suffice.kernels import Batch, Expression, Relation, SqlEngine
from suffice.solvers.base import Step
from suffice.statistics import Labels, Statistics

from .estimators import ENTRIES, Array, Data, Entry, enlarged

# What a model answers.

QUESTIONS = (
    "predict",
    "predict_proba",
    "predict_log_proba",
    "predict_joint_log_proba",
    "log_evidence",
    "decision_function",
    "standard_error",
    "transform",
)
Answers = dict[str, Array]


def answers(model: Any, data: Data) -> Answers:
    """Return what a fitted model says of rows, and of itself."""
    known = {name: data.beside[name] for name in ("offset", "exposure") if name in data.beside}
    found = {name: getattr(model, name)(data.x, **known) for name in QUESTIONS if _answers(model, name)}
    found = {name: each.toarray() if sparse.issparse(each) else np.asarray(each) for name, each in found.items()}
    if "transform" in found and hasattr(model, "scalings_"):
        found["transform"] = np.abs(found["transform"])  # a direction has a sign, which its largest number chooses
    if data.y is not None and hasattr(model, "score") and not _is_unscored(model):
        beside = {name: each for name, each in data.beside.items() if name not in ("sample_weight", "groups")}
        found["score"] = np.asarray(model.score(data.x, data.y, **beside))
    return {**found, **inference(model, data)}


def _answers(model: Any, question: str) -> bool:
    if isinstance(model, TableModel) and model.schema_.task != "classes":
        return question in ("predict", "log_evidence")
    return hasattr(model, question)


def _is_unscored(model: Any) -> bool:
    return getattr(model, "family", None) in ("multinomial", "beta", "dirichlet")


def inference(model: Any, data: Data) -> Answers:
    """Return what a regression says of its coefficients and of the fit as a whole."""
    if not hasattr(model, "summary") or isinstance(model, NBLogisticRegression | TableModel):
        return {}
    fit = model.summary().inference
    slopes = np.array(["intercept" not in name and "|" not in name for name in fit.names])  # 1|2 is a threshold
    found = {
        "estimates": fit.estimate,
        "errors": fit.standard_errors,
        "z of slopes": fit.statistic[slopes],
        "p of slopes": fit.p_values[slopes],
        "facts": np.array([fit.rows, fit.df_residual, fit.rank]),
        "deviances": np.array([fit.deviance, fit.null_deviance]),
        "log-likelihoods": np.array([fit.log_likelihood, fit.null_log_likelihood, fit.aic, fit.bic]),
        "dispersion": np.array(fit.dispersion),
        "explained": np.array(fit.explained),
    }
    if hasattr(model, "predict_interval") and fit.covariance is not None and np.isfinite(fit.covariance).all():
        beside = {name: each for name, each in data.beside.items() if name in ("offset", "exposure")}
        found["interval"] = np.stack(model.predict_interval(data.x, 0.9, **beside))
    if isinstance(model, LeastSquaresModel) and fit.covariance is not None:
        found["interval"] = np.stack(model.predict_interval(data.x, 0.9, of="observation"))
    return found


#: What depends on the units and zeros of X and y.
IN_UNITS = ("estimates", "errors", "deviances", "log-likelihoods", "dispersion")


def without_units(found: Answers, entry: Entry, unit: float = 1.0, zero: float = 0.0) -> Answers:
    """Return answers as they would be in the first units of X and y."""
    found = {name: each for name, each in found.items() if name not in IN_UNITS}
    if entry.y in ("numbers", "positive"):
        found |= {name: (found[name] - zero) / unit for name in ("predict", "interval") if name in found}
        found |= {name: found[name] / unit for name in ("standard_error",) if name in found}
    # A density has units: those of the cells of a row that are known.
    for name in {"predict_joint_log_proba", "log_evidence", "decision_function"} & found.keys():
        if name == "decision_function" and found[name].ndim == 1:  # log-odds
            continue
        each = found.pop(name)
        if each.ndim == 2:
            found[name] = each - each.mean(axis=1, keepdims=True)
    return found


def assert_same(seen: Answers, expected: Answers, tolerance: float) -> None:
    """Compare answers, by the size of each kind of them."""
    assert seen.keys() == expected.keys()
    for name, each in expected.items():
        if each.dtype.kind in "fc":
            finite = np.abs(each[np.isfinite(each)])
            np.testing.assert_allclose(
                seen[name], each, rtol=tolerance, atol=tolerance * finite.max(initial=1e-300), err_msg=name
            )
        else:
            np.testing.assert_array_equal(seen[name], each, err_msg=name)


# Fits.


def learn(entry: Entry, data: Data, **settings: Any) -> Any:
    """Return a model fitted to rows."""
    return fit(entry.make(**settings), data)


def fit(model: Any, data: Data) -> Any:
    more = {} if data.unlabelled is None else {"unlabelled": data.unlabelled}
    return model.fit(data.x) if data.y is None else model.fit(data.x, data.y, **data.beside, **more)


@cache
def drawn(name: str) -> Data:
    return next(entry for entry in ENTRIES if entry.name == name).draw()


@cache
def fitted(name: str) -> Any:
    """Return the model of an entry's rows as they are; it must not be changed."""
    return learn(next(entry for entry in ENTRIES if entry.name == name), drawn(name))


@cache
def expected(name: str) -> Answers:
    return answers(fitted(name), drawn(name))


def same(entry: Entry, model: Any, data: Data | None = None, tolerance: float | None = None) -> None:
    """Check that a model answers as the entry's own does."""
    found = answers(model, drawn(entry.name) if data is None else data)
    assert_same(found, expected(entry.name), entry.tolerance if tolerance is None else tolerance)


# The laws.


@dataclass(frozen=True)
class Law:
    name: str
    check: Callable[[Entry], None]
    applies: Callable[[Entry], bool]

    def __str__(self) -> str:
        return self.name


LAWS: list[Law] = []


def law(applies: Callable[[Entry], bool] = lambda entry: True) -> Callable[[Callable[[Entry], None]], Any]:
    """Add a function to the laws, by its name, for the entries of which it makes sense."""

    def add(check: Callable[[Entry], None]) -> Callable[[Entry], None]:
        LAWS.append(Law(check.__name__, check, applies))
        return check

    return add


def has_numbers(entry: Entry) -> bool:
    return entry.x == "numbers"


def has_measurements(entry: Entry) -> bool:
    return entry.x in ("numbers", "cells")


def has_columns(entry: Entry) -> bool:
    return entry.x != "texts"


def has_array(entry: Entry) -> bool:
    return entry.x in ("numbers", "counts")


def has_classes(entry: Entry) -> bool:
    return entry.y == "classes"


def has_targets(entry: Entry) -> bool:
    return entry.y != "none"


def is_table(entry: Entry) -> bool:
    return isinstance(entry.make(), TableModel)


def moved(rows: Any, unit: Any, zero: float) -> Any:
    """Return rows in other units; of a table, its measurements."""
    if not isinstance(rows, pd.DataFrame):
        return rows * unit + zero
    return rows.assign(**{name: each * unit + zero for name, each in rows.select_dtypes("float").items()})


def in_units(entry: Entry, data: Data, x: Any = 1.0, zero: float = 0.0, y: float = 1.0, y_zero: float = 0.0) -> None:
    """Check answers about rows and targets in other units, with other zeros."""
    targets = data.y if entry.y == "classes" else data.y * y + y_zero
    other = replace(data.mapped(lambda rows: moved(rows, x, zero)), y=targets)
    settings = entry.units(float(np.max(x)), y)
    found = without_units(answers(learn(entry, other, **settings), other), entry, y, y_zero)
    assert_same(found, without_units(expected(entry.name), entry), max(entry.tolerance, 1e-6))


@law(has_measurements)
def units_of_x(entry: Entry) -> None:
    for unit in (1e-6, 1e6):
        in_units(entry, drawn(entry.name), x=unit)


@law(has_numbers)
def units_of_each_column(entry: Entry) -> None:
    in_units(entry, drawn(entry.name), x=np.array([1e-6, 1.0, 1e6]))


@law(has_measurements)
def zero_of_x(entry: Entry) -> None:
    in_units(entry, drawn(entry.name), zero=1e6)


@law(lambda entry: entry.y in ("numbers", "positive"))
def units_of_y(entry: Entry) -> None:
    for unit in (1e-6, 1e6):
        in_units(entry, drawn(entry.name), y=unit)


@law(lambda entry: entry.y == "numbers")
def zero_of_y(entry: Entry) -> None:
    in_units(entry, drawn(entry.name), y_zero=1e6)


@law()
def order_of_rows(entry: Entry) -> None:
    data = drawn(entry.name)
    same(entry, learn(entry, data.take(np.random.default_rng(1).permutation(len(data)))))


def often(count: int) -> Array:
    return np.asarray(np.arange(count) % 3 + 1)


@law(has_targets)
def weights_are_repetitions(entry: Entry) -> None:
    data = drawn(entry.name)
    times = often(len(data))
    weighted = replace(data, beside={**data.beside, "sample_weight": times.astype(float)})
    repeated = data.take(np.repeat(np.arange(len(data)), times))
    assert_same(
        answers(learn(entry, weighted), data), answers(learn(entry, repeated), data), max(entry.tolerance, 1e-9)
    )


@law(has_targets)
def rows_without_weight_are_absent(entry: Entry) -> None:
    data = drawn(entry.name)
    places = np.sort(np.concatenate([np.arange(len(data)), [0, 5, 5, len(data) - 1]]))
    more = data.take(places)
    again = np.r_[False, places[1:] == places[:-1]]
    if entry.x == "numbers":
        more = replace(more, x=np.where(again[:, None], 1e3 * more.x, more.x))
    y = more.y.copy()
    if "trials" not in more.beside:
        y[again] = y[::-1][again]
    weight = np.where(again, 0.0, more.beside.get("sample_weight", 1.0))
    same(entry, learn(entry, replace(more, y=y, beside={**more.beside, "sample_weight": weight})))


@law(has_columns)
def order_of_columns(entry: Entry) -> None:
    data = drawn(entry.name)
    order = np.roll(np.arange(data.x.shape[1]), 1)
    other = data.mapped(lambda x: x.iloc[:, order] if hasattr(x, "iloc") else x[:, order])
    model = learn(entry, other)
    found = answers(model, other)
    skipped = ("estimates", "errors", "z of slopes", "p of slopes")
    for name in skipped:
        if name in found:
            np.testing.assert_allclose(
                np.sort(found[name]), np.sort(expected(entry.name)[name]), rtol=entry.tolerance, err_msg=name
            )
    assert_same(
        {name: each for name, each in found.items() if name not in skipped},
        {name: each for name, each in expected(entry.name).items() if name not in skipped},
        entry.tolerance,
    )


@law(has_classes)
def order_of_classes(entry: Entry) -> None:
    """Classes whose names sort the other way round have the same probabilities, the other way round."""
    data = drawn(entry.name)
    names = np.unique(data.y)
    other = np.arange(len(names))[::-1] * 10  # and are whole numbers
    model = learn(entry, replace(data, y=other[np.searchsorted(names, data.y)]))
    found = answers(model, replace(data, y=other[np.searchsorted(names, data.y)]))
    for name in ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba"):
        if name in found and found[name].ndim == 2:
            found[name] = found[name][:, ::-1]
    if found["predict"].ndim == 1:
        found["predict"] = names[len(names) - 1 - found["predict"] // 10]
    kept = ("predict", "predict_proba", "predict_log_proba", "predict_joint_log_proba", "log_evidence", "score")
    assert_same(
        {name: each for name, each in found.items() if name in kept},
        {name: each for name, each in expected(entry.name).items() if name in kept},
        entry.tolerance,
    )


# Files.


@law()
def saved_and_loaded(entry: Entry) -> None:
    with TemporaryDirectory() as folder:
        fitted(entry.name).save(Path(folder) / "a.model")
        again = suffice.load(Path(folder) / "a.model")
    same(entry, again, tolerance=1e-13)


@law()
def pickled(entry: Entry) -> None:
    same(entry, pickle.loads(pickle.dumps(fitted(entry.name))), tolerance=0.0)


@law()
def copied(entry: Entry) -> None:
    same(entry, copy.deepcopy(fitted(entry.name)), tolerance=0.0)


@law()
def fitted_again_after_other_rows(entry: Entry) -> None:
    """A fit leaves nothing behind for the next one."""
    data = drawn(entry.name)
    model = learn(entry, data.take(np.arange(0, len(data), 2)))
    same(entry, fit(model, data))


# In parts.


def parts(entry: Entry, size: int = 9) -> list[Data]:
    """Return the rows in batches, in an order in which the first has rows of each class."""
    data = drawn(entry.name)
    order = np.random.default_rng(2).permutation(len(data))
    return [data.take(order[start : start + size]) for start in range(0, len(order), size)]


def learn_parts(entry: Entry, size: int) -> Any:
    """Return a model that learned the rows batch by batch."""
    model = entry.make()
    takes_classes = entry.y == "classes" and "classes" in inspect.signature(model.partial_fit).parameters
    more: dict[str, Any] = {"classes": np.unique(drawn(entry.name).y)} if takes_classes else {}
    for part in parts(entry, size):
        extra = {} if part.unlabelled is None else {"unlabelled": part.unlabelled}
        beside = {name: each for name, each in part.beside.items() if name != "groups"}
        model.partial_fit(part.x, part.y, **beside, **more, **extra)
        more = {}
    return model


def same_predictions(entry: Entry, model: Any, tolerance: float) -> None:
    """Check the answers about rows alone."""
    data, wanted = drawn(entry.name), expected(entry.name)
    known = {name: data.beside[name] for name in ("offset", "exposure") if name in data.beside}
    name = "predict_proba" if "predict_proba" in wanted else "predict"
    assert_same({name: getattr(model, name)(data.x, **known)}, {name: wanted[name]}, tolerance)


@law(has_targets)
def batch_by_batch(entry: Entry) -> None:
    model = learn_parts(entry, 9)
    if entry.near is None:
        same(entry, model)
    else:
        same_predictions(entry, model, entry.near)


@law(lambda entry: has_targets(entry) and entry.near is None)
def row_by_row(entry: Entry) -> None:
    same(entry, learn_parts(entry, 1))


def batches(entry: Entry) -> Iterator[Any]:
    """Yield the rows as a stream brings them."""
    for part in parts(entry):
        yield {"X": part.x, "y": part.y, **part.beside} if part.beside else (part.x, part.y)


@law(has_targets)
def a_stream(entry: Entry) -> None:
    data = drawn(entry.name)
    more = {} if data.unlabelled is None else {"unlabelled": data.unlabelled}
    same(entry, entry.make().fit(batches(entry), **more))


@law(lambda entry: has_targets(entry) and not is_table(entry))
def a_function_that_starts_a_stream(entry: Entry) -> None:
    data = drawn(entry.name)
    more = {} if data.unlabelled is None else {"unlabelled": data.unlabelled}
    same(entry, entry.make().fit(partial(batches, entry), **more))


@law(lambda entry: has_targets(entry) and has_columns(entry) and not is_table(entry))
def a_folder_of_files(entry: Entry) -> None:
    data = drawn(entry.name)
    y = ["y"] if np.ndim(data.y) == 1 else [f"y{place}" for place in range(np.shape(data.y)[1])]
    with TemporaryDirectory() as folder, TemporaryDirectory() as other:
        more = {} if data.unlabelled is None else {"unlabelled": f"{other}/rows.parquet"}
        for path in more.values():
            pd.DataFrame(data.unlabelled).rename(columns=str).to_parquet(path)
        for number, part in enumerate(parts(entry)):
            frame = pd.DataFrame(part.x).rename(columns=str).reset_index(drop=True)
            frame[y] = np.reshape(np.asarray(part.y), (len(frame), -1))
            frame.assign(**part.beside).to_parquet(f"{folder}/{number:03}.parquet")
        model = entry.make().fit(folder, y[0] if len(y) == 1 else y, **{name: name for name in data.beside}, **more)
    if isinstance(data.x, np.ndarray):  # whose columns have no names
        vars(model).pop("feature_names_in_", None)
    same(entry, model)


@law(has_targets)
def a_sum_of_models(entry: Entry) -> None:
    same(entry, sum(learn(entry, part) for part in parts(entry, 21)))


@law(lambda entry: has_targets(entry) and not is_table(entry))  # whose rows are fetched, with a warning
def dask(entry: Entry) -> None:
    import dask
    import dask.array as da
    import dask.dataframe as dd

    data = drawn(entry.name)

    def lazy(values: Any) -> Any:
        if isinstance(values, pd.DataFrame):
            return dd.from_pandas(values, npartitions=2)
        if isinstance(values, list):
            return dd.from_pandas(pd.Series(values, dtype=object), npartitions=2)
        values = np.asarray(values)
        return da.from_array(values, chunks=((15, len(values) - 15), *((size,) for size in values.shape[1:])))

    with dask.config.set(scheduler="synchronous"):
        y = np.asarray(data.y) if isinstance(data.x, np.ndarray) else dd.from_pandas(pd.Series(data.y), npartitions=2)
        more = {} if data.unlabelled is None else {"unlabelled": data.unlabelled}
        beside = {name: lazy(each) for name, each in data.beside.items()}
        model = entry.make().fit(lazy(data.x), y, **beside, **more)
        same(entry, model)
        if not {"offset", "exposure"} & beside.keys():
            answer = {"predict": model.predict(lazy(data.x)).compute()}
            assert_same(answer, {"predict": expected(entry.name)["predict"]}, entry.tolerance)


@law(lambda entry: entry.sums is not None)
def duckdb(entry: Entry) -> None:
    """Sums that a database takes are those that the model keeps."""
    import duckdb

    data = drawn(entry.name)
    labels, codes = Labels.discover(data.y) if entry.y == "classes" else (Labels(), data.y)
    table = pd.DataFrame(np.asarray(data.x), columns=[f"x{j}" for j in range(data.x.shape[1])]).assign(y=codes)
    with duckdb.connect() as connection:
        connection.register("rows", table)
        x = Relation("rows", tuple(f"x{j}" for j in range(data.x.shape[1])), len(data), None)
        y = Expression("y", len(data)) if entry.y == "classes" else Relation("rows", ("y",), len(data), None)
        assert entry.sums is not None
        found = SqlEngine(connection).accumulate(entry.sums(labels), Batch(x, y))
    wanted = fitted(entry.name).statistics_.to_arrays()
    for name, each in found.to_arrays().items():
        if name != "depth":  # in which a database sums
            np.testing.assert_allclose(each, wanted[name], rtol=1e-9, atol=1e-9, err_msg=name)


@law(is_table)
def in_a_database(entry: Entry) -> None:
    """A model whose sums DuckDB takes is that of rows that are read."""
    import duckdb

    data = drawn(entry.name)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "rows.duckdb"
        with duckdb.connect(str(path)) as connection:
            connection.register("given", data.x.assign(target=data.y))
            connection.execute("create table rows as from given")
        model = entry.make(in_database=True).fit(f"{path}::rows", "target")
    same_predictions(entry, model, 1e-6)


# Threads.


def bits(value: Any) -> Any:
    """Return all that can be compared of a value, to the last bit."""
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, float):
        return value.hex()
    if isinstance(value, Statistics):
        return bits(value.to_arrays())
    if isinstance(value, AdditiveSolution | Step):
        return bits(tuple(value._replace(seconds=0.0)))
    if sparse.issparse(value):
        return [bits(each) for each in (value.indptr, value.indices, value.data)]
    if isinstance(value, Mapping):
        return [(name, bits(each)) for name, each in value.items()]
    if isinstance(value, list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        return [bits(each) for each in value]
    return value if isinstance(value, str | int | None) else type(value)


def fitted_bits(model: Any, data: Data) -> Any:
    """Return the fitted attributes of a model and its answers."""
    names = [name for name in dir(model) if name.endswith("_") and not name.startswith("_") and name != "seconds_"]
    known = {name: data.beside[name] for name in ("offset", "exposure") if name in data.beside}
    answer = next(name for name in ("predict_proba", "predict", "transform") if _answers(model, name))
    found = {name: getattr(model, name) for name in names} | {answer: getattr(model, answer)(data.x, **known)}
    return {name: bits(each) for name, each in found.items()}


@law()
def any_number_of_threads(entry: Entry) -> None:
    """Fitted attributes and answers have the same bits."""
    data = enlarged(entry)
    with warnings.catch_warnings(action="ignore"):
        if is_table(entry):  # the settings have no n_jobs
            with patch.dict(os.environ, OMP_NUM_THREADS="1"):
                found = [fitted_bits(learn(entry, data), data)]
            found.append(fitted_bits(learn(entry, data), data))
        else:
            found = [fitted_bits(learn(entry, data, n_jobs=n_jobs), data) for n_jobs in (1, 2, 3, 5)]
    for other in found[1:]:
        assert [name for name in other if other[name] != found[0][name]] == []


# The form of arrays.


@law(has_array)
def float32(entry: Entry) -> None:
    data = drawn(entry.name)
    narrow = replace(data, x=data.x.astype(np.float32))
    model = learn(entry, narrow)
    same(entry, model)
    same(entry, model, narrow, tolerance=max(entry.tolerance, 1e-6))  # some answers are in float32


@law(lambda entry: entry.x == "counts")
def whole_numbers(entry: Entry) -> None:
    data = drawn(entry.name)
    for dtype in (np.uint8, np.int64):
        narrow = replace(data, x=data.x.astype(dtype))
        same(entry, learn(entry, narrow), narrow)


def _read_only(values: Any) -> Any:
    if isinstance(values, np.ndarray):
        values = values.copy()
        values.flags.writeable = False
    return values


@law(has_columns)
def read_only(entry: Entry) -> None:
    data = drawn(entry.name)
    beside = {name: _read_only(each) for name, each in data.beside.items()}
    frozen = replace(data.mapped(_read_only), y=_read_only(data.y), beside=beside)
    same(entry, learn(entry, frozen), frozen, tolerance=0.0)


@law(lambda entry: entry.x in ("numbers", "counts", "names"))
def any_layout_in_memory(entry: Entry) -> None:
    """Fortran order, and every other row of a larger array, backwards."""
    data = drawn(entry.name)
    wide = np.empty((2 * len(data), data.x.shape[1] + 1), dtype=data.x.dtype)
    wide[::-2, :-1] = data.x
    for x in (np.asfortranarray(data.x), wide[::-2, :-1]):
        other = replace(data, x=x)
        same(entry, learn(entry, other), other, tolerance=min(entry.tolerance, 1e-9))


@law(lambda entry: entry.x == "cells")
def tables_are_left_as_they_were(entry: Entry) -> None:
    data = drawn(entry.name)
    before = copy.deepcopy(data.x)
    answers(learn(entry, data), data)
    pd.testing.assert_frame_equal(data.x, before)


@law(has_array)
def sparse_rows(entry: Entry) -> None:
    data = drawn(entry.name)
    other = replace(data, x=sparse.csr_array(data.x))
    same(entry, learn(entry, other), other)


@law(lambda entry: entry.x in ("numbers", "counts", "names"))
def data_frames(entry: Entry) -> None:
    import polars as pl

    data = drawn(entry.name)
    names = [f"column {j}" for j in range(data.x.shape[1])]
    series = data.y.ndim == 1
    for frame, column in (
        (lambda x: pd.DataFrame(x, columns=names).infer_objects(), pd.Series if series else pd.DataFrame),
        (
            lambda x: pl.DataFrame({name: x[:, j].tolist() for j, name in enumerate(names)}),
            pl.Series if series else list,
        ),
    ):
        other = data.mapped(frame)
        model = learn(entry, replace(other, y=column(data.y.tolist())))
        same(entry, model, other)


@law()
def one_row_is_many(entry: Entry) -> None:
    data, model = drawn(entry.name), fitted(entry.name)
    known = [name for name in QUESTIONS if name in expected(entry.name)]
    for place in (0, 17, len(data) - 1):
        row = data.take([place])
        found = answers(model, replace(row, y=None))
        for name in known:
            all_rows, one = expected(entry.name)[name], found[name]
            if all_rows.dtype.kind == "f":
                scale = 1e-12 * np.abs(all_rows[np.isfinite(all_rows)]).max(initial=1e-300)
                np.testing.assert_allclose(one[0], all_rows[place], rtol=1e-12, atol=scale, err_msg=name)
            else:
                np.testing.assert_array_equal(one[0], all_rows[place], err_msg=name)


@law(lambda entry: "trials" in drawn(entry.name).beside)
def groups_are_their_trials(entry: Entry) -> None:
    """Successes of several trials are as many rows of 1 and 0."""
    data = drawn(entry.name)
    trials, successes = data.beside["trials"], data.y
    ones, zeros = np.repeat(np.arange(len(data)), successes), np.repeat(np.arange(len(data)), trials - successes)
    single = data.take(np.concatenate([ones, zeros]))
    rows = Data(single.x, np.repeat([1.0, 0.0], [len(ones), len(zeros)]), {})
    found, wanted = (answers(learn(entry, each), Data(data.x, None)) for each in (rows, data))
    kept = ("predict", "estimates", "errors")
    assert_same({name: found[name] for name in kept}, {name: wanted[name] for name in kept}, entry.tolerance)


# The tests.

#: Laws about what every estimator does with rows before it knows its settings: one entry of each class shows them, and
#: the others are slow tests, unless they declare something.
BY_CLASS = (
    "order_of_columns",
    "pickled",
    "copied",
    "fitted_again_after_other_rows",
    "float32",
    "read_only",
    "any_layout_in_memory",
    "data_frames",
    "a_folder_of_files",
    "dask",
    "any_number_of_threads",
)
#: The first entry of each class.
FIRST = {type(entry.make()): entry.name for entry in reversed(ENTRIES)}


def is_slow(entry: Entry, law: Law) -> bool:
    declared = law.name in (*entry.refuses, *entry.differs)
    return law.name in BY_CLASS and not declared and FIRST[type(entry.make())] != entry.name


@pytest.mark.parametrize(
    ("entry", "law"),
    [
        pytest.param(e, w, id=f"{w}-{e}", marks=[pytest.mark.slow] * is_slow(e, w))
        for e in ENTRIES
        for w in LAWS
        if w.applies(e)
    ],
)
def test_the_same_rows_in_another_form_have_the_same_answers(entry: Entry, law: Law) -> None:
    if law.name in entry.refuses:
        with pytest.raises((ValueError, TypeError, AttributeError), match=entry.refuses[law.name]):
            law.check(entry)
    elif law.name in entry.differs:
        with warnings.catch_warnings(action="ignore"), pytest.raises(AssertionError):
            law.check(entry)
    else:
        law.check(entry)


@pytest.mark.slow
@pytest.mark.parametrize(
    "entry",
    [
        pytest.param(each, id=each.name)
        for each in ENTRIES
        if isinstance(each.make(), AdditiveClassifier | AdditiveRegressor | TableModel)
        and each.x in ("numbers", "cells")
    ],
)
def test_the_order_of_more_rows_than_are_sampled_does_not_matter(entry: Entry) -> None:
    random, count = np.random.default_rng(7), 60_000
    data = drawn(entry.name)
    data = data.take(np.resize(np.arange(len(data)), count))
    if isinstance(data.x, pd.DataFrame):
        floats = data.x.select_dtypes("float").items()
        data = replace(data, x=data.x.assign(**{name: each + 0.4 * random.normal(size=count) for name, each in floats}))
    else:
        data = replace(data, x=data.x + 0.4 * random.normal(size=data.x.shape))
    few = data.take(np.arange(500))
    one, two = (answers(learn(entry, each), few) for each in (data, data.take(random.permutation(count))))
    assert_same(two, one, 1e-8)


def test_every_public_estimator_has_an_entry() -> None:
    public = {getattr(suffice, name) for name in suffice.__all__} | {
        getattr(suffice.text, name) for name in suffice.text.__all__
    }
    estimators = {each for each in public if isinstance(each, type) and hasattr(each, "get_params")}
    assert estimators - {type(entry.make()) for entry in ENTRIES} == set()


def test_declarations_name_laws_that_apply() -> None:
    names: Mapping[str, Law] = {each.name: each for each in LAWS}
    assert len({entry.name for entry in ENTRIES}) == len(ENTRIES)
    for entry in ENTRIES:
        assert not entry.refuses.keys() & entry.differs.keys()
        for name in (*entry.refuses, *entry.differs):
            assert names[name].applies(entry), (entry.name, name)
