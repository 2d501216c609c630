"""Fixtures of scikit-learn's tests, and the expected failures of each module."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def global_random_seed() -> int:
    return 42  # as in scikit-learn without SKLEARN_TESTS_GLOBAL_RANDOM_SEED


@pytest.fixture(params=[np.float32, np.float64])
def global_dtype(request: pytest.FixtureRequest) -> Any:
    return request.param


def pytest_configure(config: pytest.Config) -> None:
    """Register the marks of scikit-learn's tests."""
    config.addinivalue_line("markers", "thread_unsafe: not for several threads (scikit-learn)")


def _pattern(entry: str) -> re.Pattern[str]:
    """Return what a difference matches: a test with all its cases, or the cases that ``*`` leaves open."""
    cases = "" if "[" in entry else r"(\[.*\])?"
    return re.compile(re.escape(entry).replace(r"\*", ".*") + cases)


@pytest.hookimpl(tryfirst=True)  # before -k and -m leave tests out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Expect the tests that a module lists as differences to fail."""
    matched: dict[Any, set[str]] = {}
    for item in items:
        module = getattr(item, "module", None)
        differences = getattr(module, "DIFFERENCES", None)
        if differences is None or not isinstance(item, pytest.Function):
            continue
        # Warnings are errors in our tests; scikit-learn's say themselves which warnings they expect.
        item.add_marker(pytest.mark.filterwarnings("ignore"))
        found = matched.setdefault(module, set())
        for entry, reason in differences.items():
            if _pattern(entry).fullmatch(item.name):
                found.add(entry)
                item.add_marker(pytest.mark.xfail(reason=reason, strict=True))
    for module, entries in matched.items():
        module.UNMATCHED = sorted(set(module.DIFFERENCES) - entries)
