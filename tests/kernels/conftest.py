from collections.abc import Iterator

import pytest

from suffice import _native
from tests.requirements import require

from .backends import BACKENDS, Backend


@pytest.fixture(scope="module", params=BACKENDS.values(), ids=BACKENDS.keys())
def kernels_and_arrays(request: pytest.FixtureRequest) -> Backend:
    return request.param()


@pytest.fixture(params=["baseline", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    if request.param != "baseline":
        require(request.param)
    try:
        yield _native.use(request.param)
    finally:
        _native.use()
