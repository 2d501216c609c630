"""Workers, executors and drivers die in the middle of a fit: no row is lost or counted twice, no file half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice import GaussianNB, LogisticRegression, load
from suffice.solvers import Newton

from .clusters import PANDAS, Dask, Spark, cut

ROWS = 240
PARTS = 4


def table() -> pd.DataFrame:
    random = np.random.default_rng(3)
    x = random.normal(size=(ROWS, 3))
    return pd.DataFrame(x, columns=["a", "b", "c"]).assign(y=(x[:, 0] + random.normal(size=ROWS) > 0).astype(int))


@dataclass(frozen=True)
class Deadly:
    """Newton's method; after the first question a process dies."""

    kill: Callable[[], None]

    def __reduce__(self) -> tuple[Any, ...]:
        return Newton, ()  # it goes to workers with the model, where it has nothing to do

    def minimise(self, objective: Any, start: Any) -> Any:
        objective.value_gradient(start)
        self.kill()
        return Newton(tol=1e-12).minimise(objective, start)


def check(model: Any, **settings: Any) -> None:
    here = type(model)(**settings).fit(table()[["a", "b", "c"]], table()["y"])
    if hasattr(here, "statistics_"):
        assert model.statistics_.weight == ROWS
    np.testing.assert_allclose(model.theta_, here.theta_, rtol=1e-10, atol=1e-10)


# Dask.


def dealt_by_dask(made: Callable[[pd.DataFrame, int], pd.DataFrame]) -> Any:
    import dask.dataframe as dd

    pieces = cut(table(), [ROWS // PARTS] * PARTS)
    return dd.from_map(made, pieces, range(PARTS), meta=table().iloc[:0])


def test_a_dask_worker_dies_while_it_reads(dask_cluster: Dask, tmp_path: Path) -> None:
    died = tmp_path / "died"

    def read(piece: pd.DataFrame, number: int) -> pd.DataFrame:
        if number == 2 and not died.exists():
            died.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return piece

    model = GaussianNB().fit(dealt_by_dask(read), "y")
    assert died.exists()
    check(model)


def test_a_dask_worker_dies_between_passes(dask_cluster: Dask) -> None:
    pids = dask_cluster.client.run(os.getpid)
    holders: list[str] = []

    def kill() -> None:
        held = dask_cluster.client.has_what()
        holders.append(max(held, key=lambda worker: len(held[worker])))
        os.kill(pids[holders[0]], signal.SIGKILL)

    model = LogisticRegression(solver=Deadly(kill)).fit(dealt_by_dask(lambda piece, number: piece), "y")
    assert holders
    check(model, tol=1e-12)


# Spark.


def parent(pid: int) -> int:
    """Return the process that started this one."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def dealt_by_spark(spark: Spark, made: Callable[[Any, int], Any]) -> Any:
    import pyarrow as pa

    pieces = [
        pa.RecordBatch.from_pandas(piece, preserve_index=False) for piece in cut(table(), [ROWS // PARTS] * PARTS)
    ]

    def deal(ids: Iterator[Any]) -> Iterator[Any]:
        for batch in ids:
            for number in batch.column("id").to_pylist():
                yield made(pieces[number], number)

    schema = spark.schema(pieces[0].schema)
    return spark.session.range(0, PARTS, 1, PARTS).mapInArrow(deal, schema)


@PANDAS
@pytest.mark.slow
def test_a_spark_executor_dies_while_it_reads(spark_cluster: Spark, tmp_path: Path) -> None:
    died = tmp_path / "died"

    def read(piece: Any, number: int) -> Any:
        if number == 2 and not died.exists():
            died.touch()
            daemon = os.getppid()
            executor = int(Path(f"/proc/{daemon}/stat").read_text().rpartition(")")[2].split()[1])
            os.kill(executor, signal.SIGKILL)
        return piece

    model = GaussianNB().fit(dealt_by_spark(spark_cluster, read), "y")
    assert died.exists()
    check(model)


@PANDAS
@pytest.mark.slow
def test_a_spark_executor_dies_between_passes(spark_cluster: Spark) -> None:
    executors: list[int] = []

    def kill() -> None:
        daemons = spark_cluster.session.sparkContext.parallelize([0], 1).map(lambda _: os.getppid()).collect()
        executors.append(parent(daemons[0]))
        os.kill(executors[0], signal.SIGKILL)

    model = LogisticRegression(solver=Deadly(kill)).fit(dealt_by_spark(spark_cluster, lambda piece, number: piece), "y")
    assert executors
    check(model, tol=1e-12)


@PANDAS
@pytest.mark.slow
def test_files_of_spark_executors_are_lost_between_passes(spark_cluster: Spark) -> None:
    lost: list[Path] = []

    def delete() -> None:
        asked = spark_cluster.session.sparkContext.parallelize(range(8), 8)
        for folders in set(asked.map(lambda _: os.environ["SPARK_LOCAL_DIRS"]).collect()):
            for folder in folders.split(","):
                lost.extend(Path(folder).glob("suffice-*"))
        for file in lost:
            file.unlink()

    model = LogisticRegression(solver=Deadly(delete)).fit(
        dealt_by_spark(spark_cluster, lambda piece, number: piece), "y"
    )
    assert lost
    check(model, tol=1e-12)


# The driver.

DRIVER = """
import sys, time
import dask, dask.array as da, numpy as np
from distributed import Client, LocalCluster
import suffice

def slow(block):
    print("reading", flush=True)
    time.sleep(30)
    return block

if __name__ == "__main__":
    path = sys.argv[1]
    with LocalCluster(n_workers=1, processes=False, dashboard_address="127.0.0.1:0") as cluster, Client(cluster):
        rows = da.ones((4, 3), chunks=(2, 3)).map_blocks(slow, dtype=float)
        suffice.load(path).partial_fit(rows, da.zeros(4, chunks=2, dtype=int)).save(path)
"""


def test_a_driver_of_dask_that_dies_leaves_the_model_as_it_was(dask_cluster: Dask, tmp_path: Path) -> None:
    script, path = tmp_path / "driver.py", tmp_path / "model"
    script.write_text(DRIVER)
    rows = table()
    GaussianNB().fit(rows[["a", "b", "c"]].to_numpy(), rows["y"].to_numpy()).save(path)
    before = path.read_bytes()
    with subprocess.Popen([sys.executable, script, path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as driver:
        assert driver.stdout is not None
        assert driver.stdout.readline() == b"reading\n"
        driver.kill()
    assert path.read_bytes() == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["driver.py", "model"]
    assert load(path).statistics_.weight == ROWS
