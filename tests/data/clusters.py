"""Clusters for tests: tables in parts of given sizes, and results in the order of the rows."""

from __future__ import annotations

import logging
import os
import shutil
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from tests.requirements import require

#: Rows of a part: none in the first, most in one, few in another.
SIZES = (0, 150, 3, 87)
#: Where the package of tests lies, for processes that start elsewhere.
ROOT = str(Path(__file__).parents[2])
#: A virtual machine that lives for a minute should not compile for hours to come, nor verify Spark's own classes.
QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"


class Cluster(ABC):
    """A cluster, and how a table gets there and answers come back."""

    name: str

    @abstractmethod
    def frame(self, table: pd.DataFrame, sizes: Sequence[int] = SIZES) -> Any:
        """Return a table as the cluster's data frame, in parts of these sizes."""

    @abstractmethod
    def fetched(self, answers: Any, column: str = "prediction") -> np.ndarray:
        """Return answers, one per row, in the order of the rows; they are in this column of a data frame."""


class Dask(Cluster):
    """Dask with workers that are processes of their own."""

    name = "dask"

    def __init__(self, client: Any = None) -> None:
        self.client = client

    def frame(self, table: pd.DataFrame, sizes: Sequence[int] = SIZES) -> Any:
        import dask.dataframe as dd

        return dd.from_map(lambda piece: piece, cut(table, sizes), meta=table.iloc[:0])

    def array(self, values: Any, sizes: Sequence[int] = SIZES) -> Any:
        import dask.array as da

        values = np.asarray(values)
        return da.from_array(values, chunks=(tuple(sizes), *((size,) for size in values.shape[1:])))

    def fetched(self, answers: Any, column: str = "prediction") -> np.ndarray:
        return np.asarray(answers.compute())


class Spark(Cluster):
    """Spark, which runs two tasks beside each other in Python processes of their own."""

    name = "spark"

    def __init__(self, session: Any) -> None:
        self.session = session

    def frame(self, table: pd.DataFrame, sizes: Sequence[int] = SIZES) -> Any:
        import pyarrow as pa

        pieces = [pa.RecordBatch.from_pandas(piece, preserve_index=False) for piece in cut(table, sizes)]
        return self.dealt(pieces, self.schema(pieces[0].schema))

    def dealt(self, pieces: Sequence[Any], schema: Any) -> Any:
        """Return a data frame whose parts are these batches of Arrow."""

        def deal(ids: Iterator[Any]) -> Iterator[Any]:
            for batch in ids:
                for number in batch.column("id").to_pylist():
                    if pieces[number].num_rows:
                        yield pieces[number]

        return self.session.range(0, len(pieces), 1, len(pieces)).mapInArrow(deal, schema)

    def schema(self, arrow: Any) -> Any:
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(arrow)

    def fetched(self, answers: Any, column: str = "prediction") -> np.ndarray:
        values = [row[column] for row in answers.select(f"`{column}`").collect()]
        return np.array(values)


def cut(table: pd.DataFrame, sizes: Sequence[int]) -> list[pd.DataFrame]:
    """Return the pieces of a table."""
    ends = np.cumsum([0, *sizes])
    assert ends[-1] == len(table)
    return [table.iloc[start:stop] for start, stop in pairwise(ends)]


@pytest.fixture(scope="session")
def dask_cluster() -> Iterator[Dask]:
    from distributed import Client, LocalCluster

    logging.getLogger("distributed").setLevel(logging.CRITICAL)
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as cluster,
        Client(cluster) as client,
    ):
        yield Dask(client)


@pytest.fixture
def dask_here() -> Iterator[Dask]:
    """Let Dask compute in this process, one task after another."""
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield Dask()


@pytest.fixture(scope="session")
def spark_cluster(request: pytest.FixtureRequest) -> Iterator[Spark]:
    """Start Spark: with an executor that is a machine of its own if slow tests run, some of which end it."""
    require("spark")
    slow = any(_cluster_is_slow(item) for item in request.session.items)
    session = spark_session("local-cluster[1,2,1024]" if slow else "local[2]")
    logs = Path(session.sparkContext._jvm.System.getenv("SPARK_HOME"), "work", session.sparkContext.applicationId)  # noqa: SLF001
    yield Spark(session)
    session.stop()
    from pyspark import SparkContext

    SparkContext._gateway.shutdown()  # noqa: SLF001
    SparkContext._gateway.proc.stdin.close()  # noqa: SLF001
    SparkContext._gateway.proc.wait(20)  # noqa: SLF001
    shutil.rmtree(logs, ignore_errors=True)


def _cluster_is_slow(item: pytest.Item) -> bool:
    return "spark" in item.name and item.get_closest_marker("slow") is not None


def spark_session(master: str, **settings: str) -> Any:
    """Return a session of Spark whose driver listens to this machine alone."""
    os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master(master).appName("suffice")
    settings = {
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.executor.memory": "1g",
        "spark.driver.extraJavaOptions": QUICK,
        "spark.executor.extraJavaOptions": QUICK,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.codegen.wholeStage": "false",
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.python.daemon.module": "tests.data.spark_daemon",
        "spark.executorEnv.PYTHONPATH": ROOT,
        **settings,
    }
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    return session


#: PySpark says so of every function that goes to its workers.
PANDAS = pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
#: A test that every cluster must pass asks for ``cluster``.
CLUSTERS = [
    pytest.param("dask"),
    pytest.param("spark", marks=PANDAS),
]


#: Refusals that all clusters share: on Spark, whose tasks take seconds, they are slow tests.
spark_in_slow_tests = pytest.mark.parametrize(
    "cluster", ["dask", pytest.param("spark", marks=[PANDAS, pytest.mark.slow])], indirect=True
)


@pytest.fixture(params=CLUSTERS)
def cluster(request: pytest.FixtureRequest) -> Cluster:
    found: Cluster = request.getfixturevalue(f"{request.param}_cluster")
    return found
