"""A copy of a test module of scikit-learn whose imports return classes of suffice."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Collection, Mapping, Sequence
from contextlib import ExitStack
from types import MappingProxyType, ModuleType
from typing import Any
from unittest.mock import patch

import pytest
import sklearn
from _pytest.fixtures import FixtureFunctionDefinition

#: The version of scikit-learn, as in constraints.txt, whose tests the lists of differences describe.
VERSION = "1.9"
#: Groups of differences, with which their reasons start.
GROUPS = ("by design", "message", "private", "rounding", "missing")


def load_tests(
    module: str,
    home: str,
    replacements: Mapping[str, Any],
    leave_out: Sequence[str] = (),
    elsewhere: Mapping[str, Mapping[str, Any]] = MappingProxyType({}),
) -> dict[str, Any]:
    """Return the tests of a module of scikit-learn and its fixtures, imported while names of modules are replaced.

    Parameters
    ----------
    module
        The test module.
    home
        The module that it imports the classes from.
    replacements
        The classes, or functions that make estimators, by the names that they replace.
    leave_out
        Words in the names of tests that do not use these classes.
    elsewhere
        Replacements in further modules, by the name of the module.
    """
    if sklearn.__version__.rpartition(".")[0] != VERSION:
        pytest.skip(f"the differences are those of the tests of scikit-learn {VERSION}", allow_module_level=True)
    spec = importlib.util.find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    copy = importlib.util.spec_from_file_location(f"suffice_runs_{module.replace('.', '_')}", spec.origin)
    assert copy is not None
    assert copy.loader is not None
    tests: ModuleType = importlib.util.module_from_spec(copy)
    sys.modules[tests.__name__] = tests  # tests pickle functions of their module
    with ExitStack() as patches:
        for name, names in {home: replacements, **elsewhere}.items():
            patches.enter_context(patch.multiple(importlib.import_module(name), **names))
        copy.loader.exec_module(tests)
    chosen = {
        name: value
        for name, value in vars(tests).items()
        if name.startswith("test_") and not any(word in name for word in leave_out)
    }
    fixtures = {name: value for name, value in vars(tests).items() if isinstance(value, FixtureFunctionDefinition)}
    for test in chosen.values():
        test.pytestmark = [_with_list(mark) for mark in getattr(test, "pytestmark", [])]
    return {
        **fixtures,
        **chosen,
        "test_every_difference_names_a_test_and_a_group": _test_every_difference_names_a_test_and_a_group,
    }


def _test_every_difference_names_a_test_and_a_group(request: pytest.FixtureRequest) -> None:
    assert request.module.UNMATCHED == []
    reasons = request.module.DIFFERENCES.values()
    assert [reason for reason in reasons if reason.partition(": ")[0] not in GROUPS] == []


def _with_list(mark: pytest.Mark) -> pytest.Mark:
    """Return a mark of cases in a list: newer versions of pytest warn of generators."""
    if mark.name != "parametrize" or isinstance(mark.args[1], Collection):
        return mark
    return pytest.mark.parametrize(mark.args[0], list(mark.args[1]), **mark.kwargs).mark
