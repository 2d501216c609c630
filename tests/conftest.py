"""Settings that all tests share."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# Machines that run tests are shared and slow at times: no example is too slow, and the examples are the same each time.
settings.register_profile(
    "suffice", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suffice")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Let one process start Dask, and one Spark: under pytest 9.2 marks of groups do not reach xdist."""
    from xdist.scheduler import LoadGroupScheduling

    class ByCluster(LoadGroupScheduling):
        def _split_scope(self, nodeid: str) -> str:
            path, _, test = nodeid.partition("::")
            clusters = [name for name in ("dask", "spark") if "test_cluster" in path and name in test]
            return clusters[0] if clusters else str(super()._split_scope(nodeid))

    return ByCluster(config, log) if config.getvalue("dist") == "loadgroup" else None
