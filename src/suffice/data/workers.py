"""Functions on the workers of a cluster: errors are returned as values, and versions must agree."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from typing import Any


class ClusterError(RuntimeError):
    """A failure of a cluster; the message says what to do."""


@dataclass(frozen=True)
class Failure:
    """An exception raised on a worker, returned as a value so that the cluster does not retry the task."""

    error: Exception


def guarded(function: Callable[[Any], Any], number: int, part: Any) -> Any:
    """Return function(part) on a worker, or the exception it raised, with the number of the part."""
    if part is None or isinstance(part, Failure):
        return part
    try:
        return function(part)
    except Exception as error:
        error.add_note(f"in partition {number}, counted from 0")
        return Failure(error.with_traceback(None))


def added(add: Callable[[Any, Any], Any], parts: Sequence[Any]) -> Any:
    """Return parts added up in order, without those that are None; the first failure, if there is one.

    Examples
    --------
    >>> from operator import add
    >>> added(add, [None, 1, 2])
    3
    """
    for part in parts:
        if isinstance(part, Failure):
            return part
    there = [part for part in parts if part is not None]
    return reduce(add, there) if there else None


def raised(result: Any) -> Any:
    """Return a result that came from workers, or raise the error that it is."""
    if isinstance(result, Failure):
        raise result.error
    return result


@cache
def own_version() -> str:
    """Return the version of ``suffice`` that is installed where this runs; empty where that is not known."""
    from importlib.metadata import distributions  # slow to import

    return next((found.version for found in distributions(name="suffice")), "")


def check_version(where: str, theirs: str, here: str) -> None:
    """Raise where a worker has another version of ``suffice`` than the machine that asks.

    Examples
    --------
    >>> check_version("Dask cluster", "0.2", "0.2")
    """
    if theirs != here and theirs and here:
        raise ClusterError(
            f"a worker of this {where} has suffice {theirs}, and here is suffice {here}: their sums may not mean the "
            "same; install one version everywhere, and start the workers again"
        )


def lacks_us(error: BaseException) -> bool:
    """Whether an error, or what led to it, says that a worker has no ``suffice``."""
    seen: BaseException | None = error
    while seen is not None:
        if "No module named 'suffice" in str(seen):
            return True
        seen = seen.__cause__ or seen.__context__
    return False


def absent(where: str, how: str) -> ClusterError:
    """Return the message for workers without ``suffice``."""
    return ClusterError(
        f"the workers of this {where} have no module 'suffice': install the version that is here on every worker, {how}"
    )
