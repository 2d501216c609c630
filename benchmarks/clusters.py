"""Fits on clusters, compared with the clusters' own libraries: MLlib on Spark, dask-ml and dask-glm on Dask.

``python -m benchmarks.clusters`` writes rows to Parquet, starts a cluster of two workers of one core each, fits the
same rows with both libraries in turn, best of several, and stores the table. One part of it: ``spark``, ``dask`` or
``scaling``. With ``--rows`` below the default nothing is stored.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.harness import machine
from benchmarks.provenance import store
from suffice import GDA, GaussianNB, LinearRegression, LogisticRegression

RESULTS = Path(__file__).with_name("clusters.json")
ROWS, FEATURES, FILES = 10_000_000, 20, 16
NAMES = [f"x{place}" for place in range(FEATURES)]
ROUNDS = 2

Work = Callable[[], Any]


def write(folder: Path, rows: int) -> None:
    """Write rows with a binary and a numeric target that depend on the features."""
    random = np.random.default_rng(0)
    theta = random.normal(size=FEATURES) / np.sqrt(FEATURES)
    for number in range(FILES):
        x = random.normal(size=(rows // FILES, FEATURES)) * np.linspace(0.5, 3, FEATURES) + np.arange(FEATURES)
        z = (x - np.arange(FEATURES)) @ theta
        columns = {name: x[:, place] for place, name in enumerate(NAMES)}
        columns["label"] = (random.random(len(z)) < 1 / (1 + np.exp(-z))).astype(np.float64)
        columns["y"] = z + random.normal(size=len(z))
        pq.write_table(pa.table(columns), folder / f"part-{number:02}.parquet", compression="none")


@contextmanager
def spark_session(workers: int = 2) -> Iterator[Any]:
    """Start Spark with executors in separate processes."""
    from pyspark.sql import SparkSession

    os.environ["PYSPARK_PYTHON"] = sys.executable
    warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.files.maxPartitionBytes": "256m",
    }
    session = SparkSession.builder.master(f"local-cluster[{workers},1,1024]").appName("benchmarks")
    for name, value in settings.items():
        session = session.config(name, value)
    spark = session.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def spark_tasks(spark: Any, folder: Path) -> dict[str, dict[str, Work]]:
    """Return the fits on Spark, by task and library."""
    from pyspark.ml import classification, regression
    from pyspark.ml.feature import VectorAssembler

    rows = spark.read.parquet(str(folder))
    classes, numbers = rows.select(*NAMES, "label"), rows.select(*NAMES, "y")
    assembled = VectorAssembler(inputCols=NAMES, outputCol="features")
    vectors = assembled.transform(classes).select("features", "label")
    aims = assembled.transform(numbers).select("features", "y")
    bayes = classification.NaiveBayes(modelType="gaussian")
    linear = regression.LinearRegression(labelCol="y", solver="normal")
    logistic = classification.LogisticRegression(tol=1e-8, maxIter=100)
    return {
        "Gaussian naive Bayes": {
            "suffice": lambda: GaussianNB().fit(classes, "label").theta_[1],
            "MLlib": lambda: bayes.fit(vectors).theta.toArray()[1],
        },
        "GDA": {"suffice": lambda: GDA().fit(classes, "label").coef_[0]},
        "linear regression": {
            "suffice": lambda: LinearRegression().fit(numbers, "y").coef_,
            "MLlib": lambda: linear.fit(aims).coefficients.toArray(),
        },
        "logistic regression": {
            "suffice": lambda: LogisticRegression().fit(classes, "label").coef_[0],
            "MLlib": lambda: logistic.fit(vectors).coefficients.toArray(),
        },
    }


def spark_limit(spark: Any, folder: Path) -> float:
    """Return the seconds that Spark takes to pass all rows to Python, a lower bound for any fit in Python."""
    rows = spark.read.parquet(str(folder)).select(*NAMES, "label")
    return min(_timed(lambda: rows.mapInArrow(_dropped, "rows long").collect()) for _ in range(ROUNDS))


def _dropped(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield pa.RecordBatch.from_arrays([pa.array([sum(batch.num_rows for batch in batches)])], ["rows"])


def _timed(work: Work) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


@contextmanager
def dask_cluster(workers: int = 2) -> Iterator[Any]:
    """Start Dask with workers in separate processes."""
    from dask.distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit="6GiB") as cluster,
        Client(cluster) as client,
    ):
        yield client


def dask_rows(folder: Path) -> tuple[Any, Any, Any]:
    """Return the rows as Dask arrays, persisted on the workers."""
    import dask
    import dask.dataframe as dd
    from dask.distributed import wait

    frame = dd.read_parquet(folder).persist()
    lengths = tuple(frame.map_partitions(len).compute())
    x, label, y = dask.persist(*(frame[name].to_dask_array(lengths=lengths) for name in (NAMES, "label", "y")))
    wait([x, label, y])
    return x, label, y


def dask_tasks(folder: Path) -> dict[str, dict[str, Work]]:
    """Return the fits on Dask, by task and library."""
    from dask_ml.linear_model import LinearRegression as TheirLinear
    from dask_ml.linear_model import LogisticRegression as TheirLogistic
    from dask_ml.naive_bayes import GaussianNB as TheirBayes

    x, label, y = dask_rows(folder)
    bare = {"penalty": "l2", "C": 1e12, "solver": "lbfgs"}
    return {
        "Gaussian naive Bayes": {
            "suffice": lambda: GaussianNB().fit(x, label).theta_[1],
            "dask-ml": lambda: np.asarray(TheirBayes(classes=[0.0, 1.0]).fit(x, label).theta_)[1],
        },
        "GDA": {"suffice": lambda: GDA().fit(x, label).coef_[0]},
        "linear regression": {
            "suffice": lambda: LinearRegression().fit(x, y).coef_,
            "dask-glm": lambda: TheirLinear(**bare).fit(x, y).coef_,
        },
        "logistic regression": {
            "suffice": lambda: LogisticRegression().fit(x, label).coef_[0],
            "dask-glm": lambda: TheirLogistic(**bare).fit(x, label).coef_,
        },
    }


def measured(tasks: dict[str, dict[str, Work]]) -> dict[str, dict[str, float]]:
    """Return the best time of each library, interleaved; print the largest difference of predictions."""
    best: dict[str, dict[str, float]] = {}
    for task, contenders in tasks.items():
        best[task] = dict.fromkeys(contenders, float("inf"))
        answers: dict[str, Any] = {}
        for _ in range(ROUNDS):
            for name, work in contenders.items():
                started = time.perf_counter()
                answers[name] = np.asarray(work())
                best[task][name] = min(best[task][name], time.perf_counter() - started)
        ours = answers.pop("suffice")
        apart = {name: f"{np.abs(ours - theirs).max():.1e}" for name, theirs in answers.items()}
        print(task, {name: round(taken, 2) for name, taken in best[task].items()}, "apart:", apart, flush=True)
    return best


def scaling(folder: Path) -> dict[str, dict[str, float]]:
    """Return the time of fits on one worker and on two, with persisted rows."""
    best: dict[str, dict[str, float]] = {}
    for workers in (1, 2):
        with dask_cluster(workers):
            for task, contenders in dask_tasks(folder).items():
                work = contenders["suffice"]
                best.setdefault(task, {})[f"{workers}"] = min(_timed(work) for _ in range(ROUNDS + 2))
                print(task, workers, round(best[task][f"{workers}"], 2), flush=True)
    return best


def table(results: dict[str, Any]) -> str:
    """Return the stored results as tables."""
    lines = [results["machine"], ""]
    for part in ("spark", "dask"):
        if part not in results:
            continue
        lines += [
            f"**{part.capitalize()}**",
            "",
            "| fit | ours | rival | its time | ratio |",
            "|---|---:|---|---:|---:|",
        ]
        for task, best in results[part].items():
            rivals = [name for name in best if name != "suffice"] or [""]
            for rival in rivals:
                its = f"{best[rival]:.1f} s | {best[rival] / best['suffice']:.1f}" if rival else " | "
                lines.append(f"| {task} | {best['suffice']:.2f} s | {rival} | {its} |")
        lines.append("")
        if part == "spark" and "limit" in results:
            lines += [f"Spark takes {results['limit']:.1f} s to pass the rows to Python, without any computation.", ""]
    if "scaling" in results:
        lines += ["From one worker of Dask to two:", "", "| fit | one | two | ratio |", "|---|---:|---:|---:|"]
        for task, best in results["scaling"].items():
            lines.append(f"| {task} | {best['1']:.2f} s | {best['2']:.2f} s | {best['1'] / best['2']:.2f} |")
    return "\n".join(lines).rstrip() + "\n"


def main() -> None:
    """Run the requested parts."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.clusters", description=__doc__)
    parser.add_argument("parts", nargs="*", default=["spark", "dask", "scaling"])
    parser.add_argument("--rows", type=int, default=ROWS)
    given = parser.parse_args()
    results = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write(folder, given.rows)
        if "spark" in given.parts:
            with spark_session() as spark:
                results["limit"] = spark_limit(spark, folder)
                results["spark"] = measured(spark_tasks(spark, folder))
        if "dask" in given.parts:
            with dask_cluster():
                results["dask"] = measured(dask_tasks(folder))
        if "scaling" in given.parts:
            results["scaling"] = scaling(folder)
    results["machine"] = f"{machine()}; {given.rows:,} rows of {FEATURES} features, two workers of one core each"
    print(table(results))
    if given.rows == ROWS:
        RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        store(RESULTS.with_suffix(".md"), table(results))
        print("stored in benchmarks/clusters.md and clusters.json")


if __name__ == "__main__":
    main()
