"""A pytest plugin that writes to a file which test runs, and which fails: read after the process is gone."""

from __future__ import annotations

import os

import pytest


@pytest.hookimpl
def pytest_runtest_logstart(nodeid: str) -> None:
    """Note a test before it runs: the last one noted is the one that a crash or a timeout ended."""
    _note("started", nodeid)


@pytest.hookimpl
def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Note a test that failed, or whose fixtures did."""
    if report.failed:
        _note("failed", report.nodeid)


def _note(what: str, nodeid: str) -> None:
    if "PYTEST_XDIST_WORKER" not in os.environ:  # the controller notes what its workers run
        with open(os.environ["SUFFICE_RECORD"], "a", encoding="utf-8") as record:  # noqa: PTH123
            record.write(f"{what} {nodeid}\n")
