"""Settings and hooks of all tests."""

from __future__ import annotations

import gc
import os
from collections import defaultdict
from collections.abc import Generator
from typing import Any

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # before NumPy: as many processes as there are cores run tests

import pytest
from hypothesis import HealthCheck, settings

from tests.requirements import REQUIREMENTS, MissingRequirement, demanded, require

# Machines that run tests are shared and slow at times: no example is too slow. Examples are the same each time.
settings.register_profile(
    "suffice", deadline=None, derandomize=True, max_examples=12, suppress_health_check=[HealthCheck.too_slow]
)
settings.register_profile("exhaustive", parent=settings.get_profile("suffice"), max_examples=200)
settings.load_profile("suffice")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Assign whole files to processes, so that fixtures start once; each cluster, and the reports, to one process."""
    from xdist.scheduler import LoadScopeScheduling

    class ByFileOrCluster(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file = nodeid.partition("::")[0]
            return _cluster_of(nodeid) or ("report" if file.startswith("tests/report/") else file)

    if config.getvalue("dist") != "loadfile":
        return None
    config.option.loadscopereorder = False
    return ByFileOrCluster(config, log)


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Exclude the collected tests and modules from garbage collection, which would visit them repeatedly."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the tests of clusters first: they wait for other processes, while the other tests run."""
    first = {"spark": 0, "dask": 1}
    items.sort(key=lambda item: first.get(_cluster_of(item.nodeid), 2))


def _cluster_of(nodeid: str) -> str:
    path, _, test = nodeid.partition("::")
    return next((name for name in ("dask", "spark") if "test_cluster" in path and name in test), "")


def pytest_configure(config: pytest.Config) -> None:
    """Refuse unknown names in ``SUFFICE_NEEDS``: a typing error would turn failures into skips."""
    if unknown := [name for name in demanded() if name not in REQUIREMENTS]:
        raise pytest.UsageError(f"SUFFICE_NEEDS names {unknown[0]!r}; it may name {', '.join(REQUIREMENTS)}")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test with a missing requirement before its fixtures start."""
    for mark in item.iter_markers("needs"):
        for name in mark.args:
            require(name)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Write the missing requirement into the report, which xdist sends to the process that prints the summary."""
    report = yield
    _note(report, call)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """Do the same for a module that cannot be imported without a requirement."""
    report = yield
    _note(report, getattr(report, "call", None))
    return report


def _note(report: Any, call: pytest.CallInfo[Any] | None) -> None:
    if call and call.excinfo and isinstance(call.excinfo.value, MissingRequirement):
        report.missing_requirement = call.excinfo.value.requirement


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print how many tests were skipped for each missing requirement, and how to install it."""
    tests: dict[str, set[str]] = defaultdict(set)
    modules: dict[str, set[str]] = defaultdict(set)
    for report in terminalreporter.stats.get("skipped", []):
        group = modules if isinstance(report, pytest.CollectReport) else tests
        group[getattr(report, "missing_requirement", "(other)")].add(report.nodeid)
    cures = {name: requirement.enabled_by for name, requirement in REQUIREMENTS.items()}
    cures["(other)"] = "cases that do not apply: pytest -rs lists them"
    rows = [
        (name, _amount(len(tests[name]), len(modules[name])), cure)
        for name, cure in cures.items()
        if tests[name] or modules[name]
    ]
    if rows:
        terminalreporter.section("skipped: missing requirements")
        widths = [max(len(row[column]) for row in rows) for column in range(2)]
        for name, amount, cure in rows:
            terminalreporter.write_line(f"{name:{widths[0]}}  {amount:>{widths[1]}}  {cure}")


def _amount(tests: int, modules: int) -> str:
    parts = [f"{n:,} {noun}{'s' * (n != 1)}" for n, noun in ((tests, "test"), (modules, "module")) if n]
    return " and ".join(parts)
