"""Rows that live in parts on the workers of a cluster: what is asked of them, whichever cluster it is."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, reduce
from importlib.metadata import distributions
from typing import Any, ClassVar, Self, TypeVar

import numpy as np

R = TypeVar("R")

#: What comes with rows, by the name of the argument that brings it; and the "place" of the piece in the order of all.
Piece = dict[str, Any]


class ClusterError(RuntimeError):
    """A cluster cannot do what was asked of it; the message says what to do there."""


@dataclass(frozen=True)
class Failure:
    """An error that a worker met. It travels as a value: a wrong row is no reason to try a part again."""

    error: Exception


class Spread(ABC):
    """Things in parts that live on the workers of a cluster, in an order.

    A cluster implements a few moves: do something to each part where it lives, hold what came of it there, add all up
    along a tree, fetch. Functions travel to the workers, so they must pickle.
    """

    #: Whether parts are worked on in this process, with all of its threads, and need not be sent anywhere.
    is_here: ClassVar[bool] = False

    @abstractmethod
    def each(self, function: Callable[[Any], Any]) -> Self:
        """Return what a function makes of each part; nothing is done before it is asked for."""

    @abstractmethod
    def kept(self, function: Callable[[Any], R], add: Callable[[R, R], R]) -> tuple[Self, Any]:
        """Return the parts, made once and then held by the workers; and a function of each, added up on the way."""

    def rereadable(self) -> Self:
        """Return the same parts, which can be gone through several times; they are kept where they could not be."""
        return self

    @abstractmethod
    def released(self) -> None:
        """Let go of what :meth:`kept` holds."""

    @abstractmethod
    def total(self, add: Callable[[R, R], R]) -> R | None:
        """Return all parts added up along a tree, on the workers; parts that are None are left out."""

    @abstractmethod
    def results(self) -> Iterator[Any]:
        """Yield the parts in order, fetched from the workers; those that are None are left out."""

    @abstractmethod
    def fold(self, function: Callable[[R, Any], R], state: R) -> R:
        """Return the state after ``state = function(state, part)``, part by part in order."""

    @abstractmethod
    def answers(self, function: Callable[[Any], Any], name: str, features: Sequence[str] | None = None) -> Any:
        """Return what a function of a piece gives for each row, as the cluster's own kind of collection, lazily.

        Parameters
        ----------
        function
            What is asked of each piece.
        name
            What the answers are called where rows are known by the names of columns.
        features
            The columns that X is to have; others stay beside. All by default.
        """

    @abstractmethod
    def example(self) -> Any:
        """Return a row or two of the kind that X holds in every part, made up."""

    @abstractmethod
    def only(self, *names: str) -> Self:
        """Return the same rows with less beside them: only what is named of what came."""


def columns_of_piece(x: Any, also: Piece, named: dict[str, str | list[str]]) -> Piece:
    """Return X with what comes beside it, part of which may be columns of X.

    Parameters
    ----------
    x
        Rows, with columns that are no features where some are named.
    also
        One entry per row, by the name of the argument that brings it.
    named
        The column of X, or the columns, that are such an entry.
    """
    if named:
        there = list(getattr(x, "columns", ()))
        for name in listed(named.values()):
            if name not in there:
                raise ValueError(f"X has no column {name!r}; its columns are {there}")
        also = {**also, **{key: x[column] for key, column in named.items()}}
        x = x.drop(columns=listed(named.values()))
    for key, value in also.items():
        if length(value) != length(x):
            raise ValueError(f"X has {length(x)} rows in this part and {key} has {length(value)}")
    return {"X": x, **also}


def listed(names: Iterable[str | list[str]]) -> list[str]:
    """Return all names, each once.

    Examples
    --------
    >>> listed(["y", ["a", "y"]])
    ['y', 'a']
    """
    return list(dict.fromkeys(name for each in names for name in ([each] if isinstance(each, str) else each)))


def length(x: Any) -> int:
    """Return how many rows there are.

    Examples
    --------
    >>> length([1, 2]), length(np.zeros((3, 1)))
    (2, 3)
    """
    return int(x.shape[0]) if hasattr(x, "shape") else len(x)


def stand_in(x: Any, beside: Iterable[str]) -> Piece:
    """Return a made-up piece, with ones for what comes beside X."""
    return {"X": x, **{name: np.ones(len(x) if isinstance(x, list) else x.shape[0]) for name in beside}}


def traveller(model: Any) -> Any:
    """Return a model as it goes to workers: without an engine, which each of them has."""
    copied = copy.copy(model)
    vars(copied)["engine"] = None
    return copied


def guarded(function: Callable[[Any], Any], number: int, part: Any) -> Any:
    """Return function(part) on a worker; an error is told with the part's number, and returned."""
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
    """Return what is said where workers have no ``suffice``."""
    return ClusterError(
        f"the workers of this {where} have no module 'suffice': install the version that is here on every worker, {how}"
    )
