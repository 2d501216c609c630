"""Scores of rows on a cluster: the arguments of fit, few readings of the source; and versions that differ."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import (
    GDA,
    GLM,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MixedNB,
    PoissonRegressor,
    TextClassifier,
    fit,
)
from suffice.data import ClusterError
from suffice.tables import TableError

from .clusters import PANDAS, SIZES, Cluster, Dask, Spark

ROWS = sum(SIZES)
FEATURES = ["a", "b", "c"]
OTHER_VERSION = r"has suffice .*, and here is suffice 0\.0\.1: .*install one version"


def table() -> pd.DataFrame:
    random = np.random.default_rng(5)
    x = random.normal(size=(ROWS, 3))
    return pd.DataFrame(x, columns=FEATURES).assign(
        kind=np.where(x[:, 0] + random.normal(size=ROWS) > 0, "yes", "no"),
        calls=random.poisson(np.exp(0.4 * x[:, 1])),
        price=x @ [1.0, 2.0, 3.0] + random.normal(size=ROWS),
        rent=random.normal(size=ROWS),
        times=random.integers(0, 3, ROWS),
    )


CASES = {
    "GaussianNB": (GaussianNB(), "kind"),
    "GDA": (GDA(), "kind"),
    "MixedNB": (MixedNB(), "kind"),
    "LogisticRegression": (LogisticRegression(C=10.0), "kind"),
    "PoissonRegressor": (PoissonRegressor(), "calls"),
    "LinearRegression": (LinearRegression(), "price"),
    "LinearRegression of two": (LinearRegression(), ["price", "rent"]),
}


@pytest.mark.parametrize("case", CASES)
def test_score_takes_the_names_that_fit_takes_and_reads_once(case: str) -> None:
    import dask
    import dask.dataframe as dd

    model, target = CASES[case]
    rows = table()
    fitted = model.fit(rows[FEATURES], rows[target])
    read: list[int] = []

    def load(piece: pd.DataFrame) -> pd.DataFrame:
        read.append(len(piece))
        return piece

    pieces = [rows[:100], rows[100:]]
    frame = dd.from_map(load, pieces, meta=rows.iloc[:0])
    read.clear()
    with dask.config.set(scheduler="synchronous"):
        found = fitted.score(frame, target, sample_weight="times")
    np.testing.assert_allclose(found, fitted.score(rows[FEATURES], rows[target], rows["times"]), rtol=1e-12)
    assert len(read) <= 2 * len(pieces)
    if target == "kind":
        assert len(read) == len(pieces)


def test_score_on_workers(cluster: Cluster) -> None:
    rows = table()
    frame = cluster.frame(rows)
    for case in ("GaussianNB", "LogisticRegression", "LinearRegression"):
        model, target = CASES[case]
        fitted = model.fit(rows[FEATURES], rows[target])
        expected = fitted.score(rows[FEATURES], rows[target], rows["times"])
        np.testing.assert_allclose(fitted.score(frame, target, sample_weight="times"), expected, rtol=1e-12)
    texts = pd.DataFrame({"text": np.where(rows["kind"] == "yes", "cheap money", "lunch on monday"), "y": rows["kind"]})
    words = TextClassifier("multinomial").fit(texts["text"].tolist(), texts["y"])
    assert words.score(cluster.frame(texts), "y") == 1.0


def test_another_version_on_dask_workers_is_told(dask_cluster: Dask, monkeypatch: pytest.MonkeyPatch) -> None:
    frame = dask_cluster.frame(table()[[*FEATURES, "kind"]])
    monkeypatch.setattr("suffice.data.dask.own_version", lambda: "0.0.1")
    with pytest.raises(ClusterError, match=OTHER_VERSION):
        GaussianNB().fit(frame, "kind")


def test_a_key_stays_beside_texts(cluster: Cluster) -> None:
    texts = pd.DataFrame({"id": np.arange(ROWS), "text": np.where(table()["kind"] == "yes", "cheap money", "lunch")})
    model = TextClassifier("multinomial").fit(texts["text"].tolist(), table()["kind"])
    answers = model.predict(cluster.frame(texts))
    np.testing.assert_array_equal(cluster.fetched(answers), table()["kind"])
    if isinstance(cluster, Spark):
        assert answers.columns == ["id", "text", "prediction"]
        np.testing.assert_array_equal(cluster.fetched(answers, "id"), texts["id"])
    named = texts.assign(id=texts["id"].astype(str))
    with pytest.raises(ValueError, match=r"2 columns of strings, \['id', 'text'\].*reads one text"):
        model.predict(cluster.frame(named))


@PANDAS
def test_keys_stay_beside_arrays_on_spark(spark_cluster: Spark) -> None:
    rows = table()
    arrays = pd.DataFrame({"id": [f"row {i}" for i in range(ROWS)], "x": rows[FEATURES].to_numpy().tolist()})
    model = GaussianNB().fit(rows[FEATURES].to_numpy(), rows["kind"])
    answers = model.predict_proba(spark_cluster.frame(arrays, (150, 3, 87)))
    assert answers.columns == ["id", "x", "probability"]
    np.testing.assert_array_equal(spark_cluster.fetched(answers, "id"), arrays["id"])
    expected = model.predict_proba(rows[FEATURES].to_numpy())
    np.testing.assert_allclose(spark_cluster.fetched(answers, "probability"), expected, rtol=1e-12)


@PANDAS
def test_a_large_spark_frame_is_not_fetched(spark_cluster: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.tables.sources.frames.MAX_FETCHED_CELLS", 100)
    with pytest.raises(TableError, match=r"frame of Spark holds 240 rows of 4 columns, 960 cells.*collect=True"):
        fit(spark_cluster.frame(table()[[*FEATURES, "kind"]]), "kind")


@PANDAS
@pytest.mark.slow
def test_another_version_on_spark_executors_is_told(spark_cluster: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    from pyspark.errors import PySparkException

    rows = table()
    frame = spark_cluster.frame(rows[[*FEATURES, "kind"]])
    model: Any = GaussianNB().fit(rows[FEATURES], rows["kind"])
    monkeypatch.setattr("suffice.data.spark.own_version", lambda: "0.0.1")
    with pytest.raises(ClusterError, match=OTHER_VERSION):
        GaussianNB().fit(frame, "kind")
    with pytest.raises(PySparkException, match=r"here is suffice 0\.0\.1"):
        model.predict(frame).collect()


@pytest.mark.parametrize("name", ["LogisticRegression", "PoissonRegressor"])
def test_offsets_count_in_the_score_of_rows_in_parts(dask_here: Dask, name: str) -> None:
    model, target = CASES[name]
    rows, weight = table(), table()["times"].to_numpy()
    x, y, offset = rows[FEATURES].to_numpy(), rows[target].to_numpy(), rows["rent"].to_numpy()
    model.fit(x, y, offset=offset)
    expected = model.score(x, y, weight, offset=offset)
    there = [dask_here.array(column) for column in (x, y, weight, offset)]
    assert model.score(*there[:3], offset=there[3]) == pytest.approx(expected, rel=1e-9)
    assert model.score(x, y, weight) != pytest.approx(expected, rel=1e-3)
    names = ("X", "y", "sample_weight", "offset")
    columns = (x, y, weight, offset)
    stream = (dict(zip(names, (c[at : at + 70] for c in columns), strict=True)) for at in range(0, ROWS, 70))
    assert model.score(stream) == pytest.approx(expected, rel=1e-9)  # which is read once


def test_trials_count_in_the_score_of_rows_in_parts(dask_here: Dask) -> None:
    rows, trials = table(), np.random.default_rng(2).integers(1, 9, ROWS)
    x, successes = rows[FEATURES].to_numpy(), np.random.default_rng(3).binomial(trials, 0.4)
    model = GLM("binomial").fit(x, successes, trials=trials)
    there = [dask_here.array(column) for column in (x, successes, trials)]
    expected = model.score(x, successes, trials=trials)
    assert model.score(there[0], there[1], trials=there[2]) == pytest.approx(expected, rel=1e-9)


def test_a_stream_that_is_read_once_is_scored_by_all_its_rows() -> None:
    rows = table()
    x, y = rows[FEATURES].to_numpy(), rows["price"].to_numpy()
    model = LinearRegression().fit(x, y)
    stream = ((x[at : at + 70], y[at : at + 70]) for at in range(0, ROWS, 70))
    assert model.score(stream) == pytest.approx(model.score(x, y), rel=1e-12)
