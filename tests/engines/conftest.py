from collections.abc import Iterator

import pytest

from .backends import BACKENDS, Backend, optional
from .clusters import cluster, dask_cluster, spark_cluster  # noqa: F401


@pytest.fixture(scope="module", params=BACKENDS.values(), ids=BACKENDS.keys())
def kernels_and_arrays(request: pytest.FixtureRequest) -> Backend:
    return request.param()


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    native = optional("suffice._native")
    try:
        yield native.use(request.param)
    except ValueError:
        pytest.skip(f"this machine does not run {request.param}")
    finally:
        native.use()
