"""Input from a cluster: unusual names and types are read exactly; errors name the partition."""

from __future__ import annotations

import decimal
import gc
import operator
import os
import pickle
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from suffice import (
    GLM,
    CategoricalNB,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MixedNB,
)
from suffice.data import ClusterError
from suffice.discriminative.base import CollinearityWarning
from suffice.discriminative.separation import SeparationWarning
from suffice.selection import cross_validate
from suffice.solvers.truncated_newton import TruncatedNewton

from .clusters import PANDAS, ROOT, Cluster, Dask, Spark, spark_in_slow_tests

ROWS = 30
SIZES = (10, 0, 20)
LAST = "in partition 2, counted from 0"


def table() -> pd.DataFrame:
    random = np.random.default_rng(4)
    x = random.normal(size=(ROWS, 2))
    return pd.DataFrame(x, columns=["a", "b"]).assign(y=np.where(x[:, 0] + random.normal(size=ROWS) > 0, "yes", "no"))


def numeric() -> pd.DataFrame:
    return table().assign(y=lambda rows: (rows["y"] == "yes").astype(float))


def notes(caught: Any) -> list[str]:
    return getattr(caught.value, "__notes__", [])


# What is read.


def test_names_that_sql_would_read_are_names(cluster: Cluster) -> None:
    names = ["a.b", "`; drop table x; --", 'say "no"', "ünïcode", "part", "", "y"]
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(ROWS, 6)), columns=names[:6])
    rows["y"] = (rows["a.b"] > 0).astype(int)
    there = cluster.frame(rows, SIZES)
    model, here = GaussianNB().fit(there, "y"), GaussianNB().fit(rows[names[:6]], rows["y"])
    assert list(model.feature_names_in_) == names[:6]
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-12)
    assert cluster.fetched(model.predict(there)).tolist() == here.predict(rows[names[:6]]).tolist()


def test_64_bit_ids_are_told_apart_beside_nulls_too(cluster: Cluster) -> None:
    ids = pd.array(2**53 + np.arange(ROWS) % 3, dtype="Int64")
    ids[[4, 17]] = pd.NA
    rows = pd.DataFrame({"id": ids, "y": np.arange(ROWS) % 3})
    known = rows.drop(index=[4, 17]).astype("int64")
    model = CategoricalNB().fit(cluster.frame(known, (8, 0, 20)), "y")
    assert model.categories_[0].tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    there = cluster.frame(rows, SIZES)
    model = MixedNB(columns={"id": "category"}).fit(there, "y")
    here = MixedNB(columns={"id": "category"}).fit(rows[["id"]], rows["y"])
    np.testing.assert_allclose(
        cluster.fetched(model.predict_proba(there), "probability"), here.predict_proba(rows[["id"]]), rtol=1e-12
    )
    assert model.score(known[["id"]], known["y"]) == 1.0


@spark_in_slow_tests
def test_decimals_are_numbers_and_missing_cells_are_left_out(cluster: Cluster) -> None:
    rows = table()
    rows.loc[[3, 25], "b"] = np.nan
    exact = [decimal.Decimal(f"{value:.3f}") for value in rows["a"]]
    model = GaussianNB().fit(cluster.frame(rows.assign(a=exact), SIZES), "y")
    here = GaussianNB().fit(rows[["a", "b"]].assign(a=[float(value) for value in exact]), rows["y"])
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-12)


# What is wrong, and where.


def broken(column: str, place: int, value: Any) -> pd.DataFrame:
    rows = numeric()
    rows.loc[place, column] = value
    return rows


@spark_in_slow_tests
@pytest.mark.parametrize("make", [LinearRegression, LogisticRegression], ids=["linear", "logistic"])
def test_a_missing_cell_is_named_with_its_partition(cluster: Cluster, make: Callable[[], Any]) -> None:
    with pytest.raises(ValueError, match=r"X\[5, 1\] is nan") as caught:
        make().fit(cluster.frame(broken("b", 15, np.nan), SIZES), "y")
    assert LAST in notes(caught)


@spark_in_slow_tests
def test_a_missing_target_is_named_with_its_partition(cluster: Cluster) -> None:
    for model in (LinearRegression(), GaussianNB()):
        with pytest.raises(ValueError, match=r"y\[1\] is nan; drop the rows") as caught:
            model.fit(cluster.frame(broken("y", 11, np.nan), SIZES), "y")
        assert LAST in notes(caught)


@spark_in_slow_tests
def test_a_missing_name_of_a_class_is_named_with_its_partition(cluster: Cluster) -> None:
    rows = table()
    rows.loc[11, "y"] = None
    with pytest.raises((TypeError, ValueError), match=r"class label.*y\[1\]") as caught:
        GaussianNB().fit(cluster.frame(rows, SIZES), "y")
    assert LAST in notes(caught)


@spark_in_slow_tests
def test_a_weight_below_zero_is_named_with_its_partition(cluster: Cluster) -> None:
    rows = numeric().assign(w=1.0)
    rows.loc[12, "w"] = -1.0
    with pytest.raises(ValueError, match=r"sample_weight\[2\] is -1") as caught:
        GaussianNB().fit(cluster.frame(rows, SIZES), "y", sample_weight="w")
    assert LAST in notes(caught)


@spark_in_slow_tests
def test_a_name_where_a_number_should_be_is_named_with_its_partition(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match=r"X\[0, 1\] is 'red'( in column '\w+')?: GaussianNB needs numbers") as caught:
        GaussianNB().fit(cluster.frame(numeric().assign(b="red"), SIZES), "y")
    assert "in partition 0, counted from 0" in notes(caught)


@spark_in_slow_tests
def test_no_rows_and_no_weight_are_nothing_to_learn_from(cluster: Cluster) -> None:
    for model in (GaussianNB(), LinearRegression(), LogisticRegression()):
        with pytest.raises(ValueError, match="X has no rows"):
            model.fit(cluster.frame(numeric().iloc[:0], (0, 0)), "y")
    with pytest.raises(ValueError, match="all sample weights are zero"):
        GaussianNB().fit(cluster.frame(numeric().assign(w=0.0), SIZES), "y", sample_weight="w")


def test_a_column_that_is_not_there_is_named(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match=r"X has no column 'z'; its columns are \['a', 'b', 'y'\]"):
        GaussianNB().fit(cluster.frame(table(), SIZES), "z")
    model = GaussianNB().fit(table()[["a", "b"]], table()["y"])
    with pytest.raises(ValueError, match=r"X has no column 'b'; its columns are \['a', 'y'\]"):
        model.predict(cluster.frame(table()[["a", "y"]], SIZES))


@spark_in_slow_tests
def test_a_class_that_was_not_announced_is_refused(cluster: Cluster) -> None:
    with pytest.raises(ValueError, match=r"y\[\d\] is 'no'.*do not exist in the initial classes"):
        GaussianNB().partial_fit(cluster.frame(table(), SIZES), "y", classes=["yes", "perhaps"])


# What is held.


def held(cluster: Cluster) -> int:
    """Return how many things the workers hold for us."""
    if isinstance(cluster, Dask):
        gc.collect()
        time.sleep(0.2)
        return sum(map(len, cluster.client.has_what().values()))
    assert isinstance(cluster, Spark)
    return int(cluster.session.sparkContext._jsc.getPersistentRDDs().size())  # noqa: SLF001


@spark_in_slow_tests
def test_nothing_is_held_after_a_fit_or_a_failure(cluster: Cluster) -> None:
    before = held(cluster)
    there = cluster.frame(numeric(), SIZES)
    LinearRegression(covariance="HC3").fit(there, "y")
    with pytest.raises(ValueError, match="is nan"):
        LogisticRegression().fit(cluster.frame(broken("b", 15, np.nan), SIZES), "y")
    assert held(cluster) <= before


@spark_in_slow_tests
@pytest.mark.parametrize("parts", [40, pytest.param(200, marks=pytest.mark.slow)])
def test_many_partitions_are_added_along_a_tree(cluster: Cluster, parts: int) -> None:
    rows = pd.concat([numeric()] * parts, ignore_index=True)
    there = cluster.frame(rows, [ROWS] * parts)
    model, here = LinearRegression().fit(there, "y"), LinearRegression().fit(rows[["a", "b"]], rows["y"])
    assert model.statistics_.weight == len(rows)
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-10)


@spark_in_slow_tests
def test_rows_give_the_same_model_each_time(cluster: Cluster) -> None:
    there = cluster.frame(numeric(), [6] * 5)
    one, two = (LinearRegression(covariance="HC0").fit(there, "y") for _ in range(2))
    assert (one.theta_ == two.theta_).all()
    assert (one.summary().frame() == two.summary().frame()).all(axis=None)


# Dask alone.


def test_unknown_sizes_of_dask_are_taken_part_by_part(dask_cluster: Dask) -> None:
    rows = numeric()
    x, y = dask_cluster.array(rows[["a", "b"]], SIZES), dask_cluster.array(rows["y"], SIZES)
    some, its = x[x[:, 0] > 0], y[x[:, 0] > 0]
    here = rows[rows["a"] > 0]
    model = LinearRegression().fit(some, its)
    np.testing.assert_allclose(model.theta_, LinearRegression().fit(here[["a", "b"]], here["y"]).theta_, rtol=1e-10)
    assert len(model.predict(some).compute()) == len(here)
    with pytest.raises(ValueError, match=r"give the name of a column of X, or .*compute_chunk_sizes\(\)"):
        model.fit(some, here["y"].to_numpy())
    with pytest.raises(ValueError, match=r"X has 3 parts and y has 1, and the number of rows of each is unknown"):
        model.fit(some, its.rechunk(-1) if not np.isnan(its.shape[0]) else dask_cluster.array(here["y"], [len(here)]))
    with pytest.raises(ValueError, match="X has 30 rows and y has 29"):
        model.fit(x, y[:-1])


def test_series_and_columns_of_a_dask_frame_go_together(dask_cluster: Dask) -> None:
    rows = numeric()
    there = dask_cluster.frame(rows, SIZES)
    assert there.divisions[0] is None
    model = LinearRegression().fit(there[["a", "b"]], there["y"], sample_weight=there["a"] ** 2)
    here = LinearRegression().fit(rows[["a", "b"]], rows["y"], sample_weight=rows["a"] ** 2)
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-10)


@pytest.mark.parametrize("kind", [sparse.csr_array, sparse.csr_matrix])
def test_dask_chunks_may_be_sparse(dask_cluster: Dask, kind: Callable[..., Any]) -> None:
    rows = numeric()
    dense = np.where(np.abs(rows[["a", "b"]]) > 0.5, rows[["a", "b"]], 0.0)
    there = dask_cluster.array(dense, SIZES).map_blocks(kind)
    model = LogisticRegression(C=1.0, tol=1e-12).fit(there, dask_cluster.array(rows["y"], SIZES))
    here = LogisticRegression(C=1.0, tol=1e-12).fit(kind(dense), rows["y"])
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-10)
    np.testing.assert_allclose(model.predict_proba(there).compute(), here.predict_proba(dense), rtol=1e-10)


def test_dask_partitions_that_differ_are_named(dask_cluster: Dask) -> None:
    import dask
    import dask.array as da
    import dask.dataframe as dd

    rows = numeric()
    pieces = [rows.iloc[:10], rows.iloc[10:20].rename(columns={"b": "B"}), rows.iloc[20:]]
    frame = dd.from_map(lambda piece: piece, pieces, meta=rows.iloc[:0], enforce_metadata=False)
    with pytest.raises(ValueError, match="this partition lacks the column 'b'") as caught:
        GaussianNB().fit(frame, "y")
    assert notes(caught) == ["in partition 1, counted from 0"]
    pieces = [rows.iloc[:10], rows.iloc[10:20], rows.iloc[20:].assign(b="word")]
    frame = dd.from_map(lambda piece: piece, pieces, meta=rows.iloc[:0], enforce_metadata=False)
    with pytest.raises(ValueError, match=r"X\[0, 1\] is 'word'") as caught:
        GaussianNB().fit(frame, "y")
    assert notes(caught) == [LAST]
    x = rows[["a", "b"]].to_numpy()
    ragged = da.concatenate([da.from_delayed(dask.delayed(part), (15, 2), float) for part in (x[:15], x[15:, :1])])
    with pytest.raises(ValueError, match="X has 1 columns in this partition, and 2 by its shape") as caught:
        GaussianNB().fit(ragged, dask_cluster.array(rows["y"], (15, 15)))
    assert notes(caught) == ["in partition 1, counted from 0"]


#: What makes a Python have no ``suffice``.
HIDING = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "suffice":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hidden())
"""


def test_dask_workers_without_us_are_told_of() -> None:
    import distributed

    with (
        distributed.LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address="127.0.0.1:0") as workers,
        distributed.Client(workers) as client,
    ):
        client.run(exec, HIDING, {})
        with pytest.raises(ClusterError, match="the workers of this Dask cluster have no module 'suffice': install"):
            GaussianNB().fit(Dask().frame(table(), SIZES), "y")


# Spark alone.


@PANDAS
@pytest.mark.slow
def test_spark_workers_without_us_are_told_of(spark_cluster: Spark, tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(HIDING)
    there = spark_cluster.frame(table(), SIZES)
    environment = spark_cluster.session.sparkContext.environment
    environment["PYTHONPATH"] = os.pathsep.join([str(tmp_path), ROOT])
    try:
        with pytest.raises(ClusterError, match="the workers of this Spark cluster have no module 'suffice': install"):
            GaussianNB().fit(there, "y")
    finally:
        del environment["PYTHONPATH"]


@PANDAS
def test_spark_columns_of_arrays_are_rows_of_numbers(spark_cluster: Spark) -> None:
    rows = numeric()
    wide = pd.DataFrame({"x": rows[["a", "b"]].to_numpy().tolist(), "y": rows["y"]})
    there = spark_cluster.session.createDataFrame(wide)
    model = LinearRegression().fit(there, "y")
    here = LinearRegression().fit(rows[["a", "b"]].to_numpy(), rows["y"])
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-10)
    answers = spark_cluster.fetched(model.predict(there.drop("y")))
    np.testing.assert_allclose(answers, here.predict(rows[["a", "b"]].to_numpy()), rtol=1e-10)
    wide.at[2, "x"] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="column 'x' holds arrays of different lengths, such as 2 and 3") as caught:
        LinearRegression().fit(spark_cluster.session.createDataFrame(wide), "y")
    assert notes(caught) == ["in partition 0, counted from 0"]


@PANDAS
def test_what_spark_alone_can_get_wrong_is_said_at_once(spark_cluster: Spark) -> None:
    rows = table()
    there = spark_cluster.frame(rows, SIZES)
    with pytest.raises(TypeError, match="y must be the name of a column of X, a Spark data frame; got a ndarray"):
        GaussianNB().fit(there, rows["y"].to_numpy())
    with pytest.raises(ValueError, match="X has two columns called 'a': rename one"):
        GaussianNB().fit(there.toDF("a", "a", "y"), "y")
    with pytest.raises(TypeError, match="column 'm' is of type map<string,int>: give numbers"):
        GaussianNB().fit(there.selectExpr("y", "map('k', 1) as m"), "y")
    with pytest.raises(ValueError, match=r"X has no columns besides \['y'\]: there are no features"):
        GaussianNB().fit(there.select("y"), "y")
    arrays = GaussianNB().fit(rows[["a", "b"]].to_numpy(), rows["y"])
    with pytest.raises(ValueError, match="X has no rows"):
        arrays.predict(spark_cluster.session.createDataFrame([], "x array<double>"))
    model = GaussianNB().fit(rows[["a", "b"]], rows["y"])
    with pytest.raises(ValueError, match="X has a column 'prediction' already"):
        model.predict(there.withColumnRenamed("y", "prediction"))


@PANDAS
def test_spark_rows_whose_files_are_lost_are_made_again(spark_cluster: Spark) -> None:
    from suffice.data.spark import spark_dataset

    rows = spark_dataset(spark_cluster.frame(numeric(), SIZES), y="y")
    kept, total = rows.persist(lambda piece: len(piece["y"]), operator.add)
    assert total == ROWS
    for row in kept.frame.collect():
        pickle.loads(row.thing).remove()
    counts = kept.map_parts(lambda piece: len(piece["y"]))
    assert counts.reduce(operator.add) == ROWS
    assert list(counts.iterate()) == [10, 20]
    assert counts.fold(lambda seen, count: [*seen, count], []) == [10, 20]
    kept.release()
    with pytest.raises(ZeroDivisionError) as caught:
        rows.persist(lambda piece: 1 / (len(piece["y"]) - 20), operator.add)
    assert notes(caught) == [LAST]


def test_dask_arrays_are_rechunked_to_whole_rows_in_the_parts_of_x(dask_here: Dask) -> None:
    rows = numeric()
    x, y = rows[["a", "b"]].to_numpy(), rows["y"].to_numpy()
    there = dask_here.array(x, SIZES).rechunk((10, 1))
    for column in (dask_here.array(y, [ROWS]), y):
        model = LinearRegression().fit(there, column)
        np.testing.assert_allclose(model.theta_, LinearRegression().fit(x, y).theta_, rtol=1e-10)


def test_what_dask_arrays_cannot_be_is_said_at_once(dask_here: Dask) -> None:
    rows = numeric()
    x, y = dask_here.array(rows[["a", "b"]], SIZES), dask_here.array(rows["y"], SIZES)
    with pytest.raises(ValueError, match=r"X must have one or two dimensions; got a Dask array of shape \(30, 2, 1\)"):
        GaussianNB().fit(x[:, :, None], y)
    with pytest.raises(ValueError, match="y='y' names a column, and X is not a Dask data frame"):
        GaussianNB().fit(x, "y")
    with pytest.raises(ValueError, match="y is missing"):
        GaussianNB().fit(x)
    with pytest.raises(ValueError, match="all sample weights are zero"):
        LogisticRegression().fit(x, y, sample_weight=0 * y)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scoring": "f1"}, "scoring must be 'accuracy', 'neg_log_loss' or a function; got 'f1'"),
        ({"folds": "few"}, "folds must be a number, 'loo', a splitter or a list of row numbers; got 'few'"),
        ({"folds": 2.5}, r"folds must be a number, 'loo', a splitter or a list of row numbers; got 2\.5"),
        ({"folds": 1}, "folds must be at least 2; got 1"),
        ({"folds": 31}, "30 rows cannot be cut into 31 folds"),
    ],
)
def test_folds_and_scores_that_dask_rows_do_not_have_are_named(
    dask_here: Dask, settings: dict[str, Any], words: str
) -> None:
    rows = numeric()
    with pytest.raises(ValueError, match=words):
        cross_validate(
            GaussianNB(), dask_here.array(rows[["a", "b"]], SIZES), dask_here.array(rows["y"], SIZES), **settings
        )


def test_dask_collections_without_rows_are_nothing_to_learn_from(dask_here: Dask) -> None:
    x, y = dask_here.array(np.zeros((0, 2)), [0]), dask_here.array(np.zeros(0), [0])
    fitted = LinearRegression().fit(numeric()[["a", "b"]].to_numpy(), numeric()["y"])
    for learn in (
        LinearRegression(covariance="HC0").fit,
        GaussianNB(alpha="auto").fit,
        MixedNB().fit,
        fitted.score,
        partial(cross_validate, GaussianNB()),
    ):
        with pytest.raises(ValueError, match=r"no rows \(samples\): there is nothing to learn from"):
            learn(x, y)


def test_a_dask_task_without_us_is_told_of(dask_here: Dask) -> None:
    def missing(block: Any) -> Any:
        raise ModuleNotFoundError("No module named 'suffice'")

    rows = numeric()
    x = dask_here.array(rows[["a", "b"]], SIZES).map_blocks(missing, dtype=float)
    with pytest.raises(ClusterError, match="the workers of this Dask cluster have no module 'suffice': install"):
        GaussianNB().fit(x, dask_here.array(rows["y"], SIZES))


def test_dask_rows_may_be_given_by_name() -> None:
    import dask.array as da

    x, y = np.random.default_rng(0).normal(size=(40, 2)), np.arange(40) % 2
    model = GaussianNB().fit(X=x, y=y)
    expected = model.predict_proba(X=x)
    there = da.from_array(x, chunks=(15, 2))
    np.testing.assert_allclose(model.predict_proba(X=there).compute(), expected)
    learned = GaussianNB().fit(X=there, y=da.from_array(y, chunks=15))
    np.testing.assert_allclose(learned.predict_proba(X=there).compute(), expected)


@pytest.mark.parametrize("model", [GLM("binomial", "probit"), GLM("poisson"), LogisticRegression()], ids=str)
def test_dask_rows_that_are_separated_are_no_fit(model: Any) -> None:
    import dask.array as da

    x, y = np.arange(40.0)[:, None] > 19, np.arange(40) % 2 * (np.arange(40) > 19)
    there = da.from_array(x.astype(float), chunks=(15, 1))
    with pytest.warns(SeparationWarning, match="the likelihood has no maximum"):
        model.fit(there, da.from_array(y, chunks=15))
    assert not model.solution_.converged
    assert model.separation_.columns == ("x0",)
    assert "the likelihood has no maximum" in " ".join(str(model.summary()).split())


def test_dask_rows_that_are_separated_are_told_without_a_curvature_too(dask_here: Dask) -> None:
    x, y = np.arange(ROWS)[:, None] > 19, (np.arange(ROWS) > 19).astype(int)
    model = LogisticRegression(solver=TruncatedNewton(), inference=False)
    with pytest.warns(SeparationWarning, match="the likelihood has no maximum"):
        model.fit(dask_here.array(x.astype(float), SIZES), dask_here.array(y, SIZES))


def test_dask_columns_that_depend_on_others_are_named(dask_here: Dask) -> None:
    rows = numeric()
    x = np.column_stack([rows[["a", "b"]], rows["a"] + rows["b"]])
    with pytest.warns(CollinearityWarning, match="x2 = a combination of x0, x1"):
        LogisticRegression().fit(dask_here.array(x, SIZES), dask_here.array(rows["y"], SIZES))


def test_many_parameters_of_dask_rows_go_without_a_matrix(dask_here: Dask) -> None:
    x, y = np.random.default_rng(0).normal(size=(ROWS, 2100)), numeric()["y"].to_numpy()
    model = LogisticRegression(C=0.1).fit(dask_here.array(x, SIZES), dask_here.array(y, SIZES))
    np.testing.assert_allclose(model.predict_proba(x), LogisticRegression(C=0.1).fit(x, y).predict_proba(x), rtol=1e-6)


def test_dask_rows_are_answered_with_their_offsets() -> None:
    import dask.array as da

    random = np.random.default_rng(1)
    x, known = random.normal(size=(40, 2)), random.normal(size=40)
    model = LogisticRegression().fit(x, np.arange(40) % 2, offset=known)
    there, beside = da.from_array(x, chunks=(15, 2)), da.from_array(known, chunks=15)
    expected = model.predict_proba(x, offset=known)
    np.testing.assert_allclose(model.predict_proba(there, offset=beside).compute(), expected)
