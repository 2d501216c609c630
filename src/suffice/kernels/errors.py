"""Errors of kernels: one wording for native code, the array API and databases.

Functions return the exception, and callers raise it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar


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
    """Return the error for an entry that is not a category of its feature."""
    where = f"categories of feature {position[1]} must be whole numbers 0 to {size - 1}"
    return ValueError(f"{entry_name('x', position)} is {value:g}; {where}")


def no_codes(dtype: object) -> TypeError:
    """Return the error for class codes that are not integers."""
    return TypeError(f"y must hold integer class codes; got {_type_name(dtype)}")


def no_numbers(name: str, dtype: object) -> TypeError:
    """Return the complaint about an array of anything but real numbers.

    >>> no_numbers("x", "complex128")
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


def bad_score(position: Sequence[int], value: float) -> ValueError:
    """Return the complaint about a score that no reading makes sense of."""
    return ValueError(
        f"{entry_name('scores', position)} is {value:g}; it must be finite, or -inf for what is impossible"
    )


class ScoreOverflowError(OverflowError):
    """A row of finite features whose scores are not finite.

    >>> ScoreOverflowError(3)
    ScoreOverflowError('the scores of x[3] overflow float64; rescale the features')
    """

    def __init__(self, row: int) -> None:
        super().__init__(f"the scores of {entry_name('x', (row,))} overflow float64; rescale the features")
        self.row = row

    def __reduce__(self) -> tuple[type[ScoreOverflowError], tuple[int]]:
        return type(self), (self.row,)


def feature_overflow(column: int) -> OverflowError:
    """Return the complaint about a feature of finite values whose sums are not finite."""
    return OverflowError(f"the sums of x overflow float64; rescale feature {column}")


def weights_underflow(total: float) -> OverflowError:
    """Return the complaint about weights, of all rows or of a class, whose inverse overflows."""
    return OverflowError(f"the weights underflow float64: their sum is at most {total:g}; rescale the weights")


class UnderflowError(ValueError):
    """A column whose sum of squares underflows: it may vary, and would be taken for a constant.

    >>> print(UnderflowError("feature", 1, 2e-160, 3.0))
    the sums of squares of feature 1 underflow float64: its values are of size 2e-160, and their weights sum to 3; \
rescale the feature, or the weights
    """

    def __init__(self, kind: str, column: int, size: float, weight: float) -> None:
        super().__init__(kind, column, size, weight)
        self.column = column
        self.size = size

    def __str__(self) -> str:
        kind, column, size, weight = self.args
        return (
            f"the sums of squares of {kind} {column} underflow float64: its values are of size {size:g}, and their "
            f"weights sum to {weight:g}; rescale the {kind}, or the weights"
        )


def entry_name(name: str, position: Sequence[int]) -> str:
    """Return how an entry of an argument is written: ``x[2, 4]``."""
    return f"{name}[{', '.join(str(int(index)) for index in position)}]"


def _type_name(dtype: object) -> str:
    """Return a dtype's bare name: ``complex128`` for NumPy's, torch's and everyone's."""
    return str(dtype).rpartition(".")[2]
