"""The summary of skipped tests at the end of a pytest run."""

from __future__ import annotations

import os

import pytest

pytest_plugins = ["pytester"]
pytestmark = pytest.mark.needs("posix")

#: Whoever runs this is root or is not: what needs either is run or skipped, and what needs both is skipped.
TESTS = """
import pytest
from tests.requirements import require

@pytest.mark.needs("root")
@pytest.mark.parametrize("i", range(3))
def test_as_root(i): pass

@pytest.mark.needs("not root")
@pytest.mark.parametrize("i", range(3))
def test_as_another_user(i): pass

@pytest.fixture
def both():
    require("root")
    require("not root")

def test_with_a_fixture(both): pass

def test_that_does_not_apply(): pytest.skip("for two classes only")
"""
MODULE = """
from tests.requirements import require
require("root")
require("not root")
"""


@pytest.fixture
def suite(pytester: pytest.Pytester) -> pytest.Pytester:
    pytester.makepyfile(test_users=TESTS, test_module=MODULE)
    pytester.makeini("[pytest]\nmarkers = needs")
    return pytester


@pytest.mark.parametrize("options", [[], ["-n", "1"]], ids=["in this process", "in another"])
def test_a_run_ends_with_a_table_of_what_was_missing(suite: pytest.Pytester, options: list[str]) -> None:
    ran = suite.runpytest_inprocess("-p", "tests.conftest", *options)
    missing = "not root" if os.geteuid() == 0 else "root"
    cure = "make test as a user other than root" if os.geteuid() == 0 else "sudo make test"
    ran.assert_outcomes(passed=3, skipped=6)
    table = [row.split() for row in ran.outlines[-3:-1]]
    assert table == [
        f"{missing} 4 tests and 1 module {cure}".split(),
        ["(other)", "1", "test", "cases", "that", "do", "not", "apply:", "pytest", "-rs", "lists", "them"],
    ]


def test_what_is_demanded_fails_where_it_is_missing(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUFFICE_NEEDS", "root, not root")
    ran = suite.runpytest_inprocess("-p", "tests.conftest", "-k", "with_a_fixture", "test_users.py")
    ran.assert_outcomes(errors=1, deselected=7)
    ran.stdout.fnmatch_lines("*root, which SUFFICE_NEEDS names: *")


def test_a_demand_that_is_no_requirement_is_refused(suite: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SUFFICE_NEEDS", "torch,rot")
    ran = suite.runpytest_inprocess("-p", "tests.conftest")
    assert ran.ret == pytest.ExitCode.USAGE_ERROR
    ran.stderr.fnmatch_lines("*SUFFICE_NEEDS names 'rot'; it may name torch, cuda, *")
