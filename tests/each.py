"""Many values in one test, for matrices of cases where a test for every case would cost more than the case."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def for_each(names: str, values: Iterable[Any], ids: Iterable[str] | None = None) -> Callable[..., Any]:
    """Run a test for every value, within one test.

    Like ``pytest.mark.parametrize``, which makes a test of every value: prefer that where values are few. The first
    failure ends the test, with a note that names the value.

    >>> @for_each("number", [2, 4, 5])
    ... def test_even(number):
    ...     assert number % 2 == 0
    >>> test_even()
    Traceback (most recent call last):
    AssertionError...
    """
    arguments = [name.strip() for name in names.split(",")]
    cases = [value if len(arguments) > 1 else (value,) for value in values]
    labels = [repr(case if len(arguments) > 1 else case[0]) for case in cases] if ids is None else list(ids)

    def decorate(test: Callable[..., None]) -> Callable[..., None]:
        signature = inspect.signature(test)

        @functools.wraps(test)
        def run(*given: Any, **fixtures: Any) -> None:
            for case, label in zip(cases, labels, strict=True):
                try:
                    test(*given, **fixtures, **dict(zip(arguments, case, strict=True)))
                except BaseException as error:
                    error.add_note(f"{', '.join(arguments)} = {label}")
                    raise

        rest = [parameter for name, parameter in signature.parameters.items() if name not in arguments]
        run.__signature__ = signature.replace(parameters=rest)  # type: ignore[attr-defined]
        return run

    return decorate
