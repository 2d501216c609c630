import pytest

from .backends import BACKENDS, Backend


@pytest.fixture(scope="module", params=BACKENDS.values(), ids=BACKENDS.keys())
def kernels_and_arrays(request: pytest.FixtureRequest) -> Backend:
    return request.param()
