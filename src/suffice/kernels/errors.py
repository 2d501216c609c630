"""What kernels refuse, and in which words: one wording for native code and the array API.

The checks and messages here see plain numbers, shapes and NumPy arrays, so that every set of kernels can use them.
Functions named after a fault return the exception; those named ``check_...`` raise it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt


def bad_code(row: int, value: int, classes: int) -> ValueError:
    """Return the complaint about a class code out of range.

    >>> bad_code(7, 5, classes=3)
    ValueError('y[7] is 5; class codes must be 0 to 2')
    """
    return ValueError(f"y[{row}] is {value}; class codes must be 0 to {classes - 1}")


def bad_weight(row: int, value: float) -> ValueError:
    """Return the complaint about a weight that is negative, NaN or infinite."""
    return ValueError(f"weight[{row}] is {value:g}; weights must be finite and not negative")


class UnsupportedKernelError(TypeError):
    """A kernel that a backend does not have."""


class EntryError(ValueError):
    """An entry of an argument that a kernel refuses."""

    rule: ClassVar[str]  #: what entries must be

    def __init__(self, argument: str, position: Sequence[int], value: float) -> None:
        super().__init__(argument, tuple(position), value)
        self.argument = argument
        self.position = tuple(position)
        self.value = value

    @property
    def entry(self) -> str:
        """The entry and its value, as "x[2, 4] is nan"."""
        return f"{entry_name(self.argument, self.position)} is {self.value:g}"

    def __str__(self) -> str:
        return f"{self.entry}; {self.rule}"


class NonFiniteError(EntryError):
    """A NaN or infinite entry.

    >>> print(NonFiniteError("x", (2, 4), float("nan")))
    x[2, 4] is nan; it must be finite
    """

    rule = "it must be finite"


class NegativeCountError(EntryError):
    """A count below 0."""

    rule = "counts must not be negative"


def bad_category(position: Sequence[int], value: float, size: int) -> ValueError:
    """Return the complaint about an entry that is no category of its feature."""
    where = f"categories of feature {position[1]} must be whole numbers 0 to {size - 1}"
    return ValueError(f"{entry_name('x', position)} is {value:g}; {where}")


def no_codes(dtype: object) -> TypeError:
    """Return the complaint about class codes that are no integers."""
    return TypeError(f"y must hold integer class codes; got {_type_name(dtype)}")


def no_numbers(name: str, dtype: object) -> TypeError:
    """Return the complaint about an array of anything but real numbers.

    >>> no_numbers("x", np.dtype(complex))
    TypeError('x must hold real numbers; got complex128')
    """
    return TypeError(f"{name} must hold real numbers; got {_type_name(dtype)}")


def missing_targets() -> ValueError:
    """Return the complaint about a regression without y."""
    return ValueError("y is needed: it holds the target of each row")


def wrong_shape(name: str, expected: str, seen: tuple[int, ...]) -> ValueError:
    """Return the complaint about a shape.

    >>> wrong_shape("theta", "(5, t)", (4, 1))
    ValueError('theta must have shape (5, t); got (4, 1)')
    """
    return ValueError(f"{name} must have shape {expected}; got {tuple(seen)}")


def check_classes(classes: int, y: Any) -> None:
    """Raise where the number of classes makes no sense, or nothing says which class a row belongs to."""
    if classes < 1:
        raise ValueError(f"classes must be at least 1; got {classes}")
    if y is None and classes > 1:
        raise ValueError(f"y is needed: it says which of the {classes} classes each row belongs to")
    if y is not None and len(y.shape) != 1:
        raise wrong_shape("y", f"({y.shape[0]},)", y.shape)


def count_targets(y: Any) -> int:
    """Return how many targets a row has, or raise where there is no y."""
    if y is None:
        raise missing_targets()
    return 1 if len(y.shape) == 1 else int(y.shape[1])


def check_sizes(sizes: Sequence[int], features: int, least: int = 1) -> None:
    """Raise where the numbers of categories do not fit the features."""
    if len(sizes) != features:
        raise ValueError(f"sizes must name {features} features; got {len(sizes)}")
    for feature, size in enumerate(sizes):
        if size < least:
            raise ValueError(f"sizes must be at least {least}; feature {feature} has {size}")


def check_threshold(threshold: float) -> None:
    """Raise where the threshold is NaN, above which nothing lies."""
    if math.isnan(threshold):
        raise ValueError(f"threshold must be a number; got {threshold:g}")


def check_theta(theta: npt.NDArray[Any], parameters: int) -> None:
    """Raise where theta has not one row per parameter and one column per predictor."""
    if theta.ndim != 2 or theta.shape[0] != parameters or theta.shape[1] == 0:
        raise wrong_shape("theta", f"({parameters}, t)", theta.shape)


def check_queries(queries: Any, rows: Any, one_target: bool = False) -> None:
    """Raise where a batch of queries does not fit the rows that are to answer them."""
    if queries.features != rows.features:
        raise ValueError(f"queries have {queries.features} features and rows have {rows.features}")
    targets = count_targets(rows.y)
    if one_target and targets != 1:
        raise wrong_shape("y", f"({rows.y.shape[0]},)", rows.y.shape)
    if queries.y is not None and len(queries.y.shape) != 1:
        raise wrong_shape("y", f"({queries.y.shape[0]},)", queries.y.shape)


def check_left_out(places: npt.NDArray[np.int64], queries: Any, rows: Any) -> None:
    """Raise where a query is to do without a row that there is not."""
    bad = np.flatnonzero((places != -1) & ((places < rows.start) | (places >= rows.stop)))
    if bad.size:
        at, allowed = queries.start + bad[0], f"{rows.start} to {rows.stop - 1}, or -1"
        raise ValueError(f"y[{at}] is {places[bad[0]]}; the row to do without must be {allowed}")


def check_local_theta(theta: npt.NDArray[Any], queries: int, parameters: int) -> None:
    """Raise where theta has not one row per query and one column per column of the local design."""
    if theta.shape != (queries, parameters):
        raise wrong_shape("theta", f"({queries}, {parameters})", theta.shape)


def check_coef(coef: npt.NDArray[Any], intercept: npt.NDArray[Any], features: int) -> None:
    """Raise where coef and intercept fit neither the features nor each other."""
    if coef.ndim != 2 or coef.shape[1] != features:
        raise wrong_shape("coef", f"(k, {features})", coef.shape)
    if intercept.shape != (coef.shape[0],):
        raise wrong_shape("intercept", f"({coef.shape[0]},)", intercept.shape)


def check_mean(mean: npt.NDArray[np.float64], classes: int, features: int) -> None:
    """Raise where there is not one mean, all of it finite, for every class."""
    if mean.shape != (classes, features):
        raise wrong_shape("mean", f"({classes}, {features})", mean.shape)
    for place in np.argwhere(~np.isfinite(mean)):
        raise NonFiniteError("mean", tuple(place), mean[tuple(place)])


def check_scores(scores: Any) -> None:
    """Raise where scores are no table of rows and at least one class."""
    shape = getattr(scores, "shape", None)
    if shape is None or len(shape) != 2 or shape[1] == 0:
        raise ValueError(f"scores must have shape (n, k), with at least one class; got {shape and tuple(shape)}")


def bad_score(position: Sequence[int], value: float) -> ValueError:
    """Return the complaint about a score that no reading makes sense of."""
    return ValueError(
        f"{entry_name('scores', position)} is {value:g}; it must be finite, or -inf for what is impossible"
    )


def overflowing_scores(row: int) -> OverflowError:
    """Return the complaint about finite features whose linear scores are not finite.

    >>> overflowing_scores(3)
    OverflowError('the scores of x[3] overflow float64; rescale the features')
    """
    return OverflowError(f"the scores of {entry_name('x', (row,))} overflow float64; rescale the features")


def check_offset(offset: Any, predictors: int) -> None:
    """Raise where a two-dimensional offset has not one column per predictor."""
    if offset is not None and len(offset.shape) == 2 and offset.shape[1] != predictors:
        raise wrong_shape("offset", f"({offset.shape[0]}, {predictors})", offset.shape)


def feature_overflow(column: int) -> OverflowError:
    """Return the complaint about a feature of finite values whose sums are not finite."""
    return OverflowError(f"the sums of x overflow float64; rescale feature {column}")


def check_overflow(weights: npt.ArrayLike, *sums: npt.NDArray[np.float64], features: int | None = None) -> None:
    """Raise where finite rows gave sums that are not finite.

    Parameters
    ----------
    weights
        The finished weights.
    sums
        Finished sums whose last axis runs over the features, then (past ``features``) over the targets; of a scatter
        the diagonal, since one feature that overflows spoils its products with all others.
    features
        How many features there are; all columns are features where it is None.

    Examples
    --------
    >>> check_overflow(np.array([2.0]), np.array([[1.0, np.inf]]))
    Traceback (most recent call last):
    OverflowError: the sums of x overflow float64; rescale feature 1
    """
    if not np.all(np.isfinite(weights)):
        raise OverflowError("the sums of weight overflow float64; rescale the weights")
    overflowed = [column for each in sums for column in np.argwhere(~np.isfinite(each))[:, -1].tolist()]
    if not overflowed:
        return
    column = min(overflowed)
    if features is None or column < features:
        raise feature_overflow(column)
    raise OverflowError(f"the sums of y overflow float64; rescale target {column - features}")


@cache
def host_memory() -> int:
    """Return how many bytes of memory this machine has; where it does not tell, how many it could address."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 1 << 47


def check_host_memory(shape: tuple[int, ...], what: str, *lengths: int) -> None:
    """Raise where an array of float64 with these lengths, made of rows X of this shape, cannot fit in memory.

    Examples
    --------
    >>> check_host_memory((3, 1 << 60), "one number for each column", 1 << 60)
    Traceback (most recent call last):
    ValueError: X has shape (3, 1152921504606846976): one number for each column would need 8,589,934,592 GiB, ...
    """
    needed = 8 * math.prod(map(int, lengths))
    if needed > host_memory():
        raise ValueError(
            f"X has shape {tuple(map(int, shape))}: {what} would need {needed / 2**30:,.0f} GiB, and this machine has "
            f"{host_memory() / 2**30:,.1f} GiB; drop columns that are 0 in every row, or hash features into fewer"
        )


def entry_name(name: str, position: Sequence[int]) -> str:
    """Return how an entry of an argument is written: ``x[2, 4]``."""
    return f"{name}[{', '.join(str(int(index)) for index in position)}]"


def _type_name(dtype: object) -> str:
    """Return a dtype's bare name: ``complex128`` for NumPy's, torch's and everyone's."""
    return str(dtype).rpartition(".")[2]
