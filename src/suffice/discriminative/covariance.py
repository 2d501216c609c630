"""The covariance of coefficients: a matrix with names."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    import pandas


def nearest_name(name: str, names: Sequence[str]) -> str:
    """Return the clause of an error about an unknown name: the nearest known ones.

    Examples
    --------
    >>> nearest_name("agee", ["intercept", "age", "dose"])
    "did you mean 'age'?"
    """
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    if near:
        return f"did you mean {near[0]!r}?"
    more = f", and {len(names) - 10} more" if len(names) > 10 else ""
    return f"the coefficients are {', '.join(names[:10])}{more}"


@dataclass(frozen=True, eq=False, repr=False)
class Covariance:
    """The covariance of a model's coefficients, a matrix with names; NaN for coefficients that are not identified.

    ``np.asarray`` of it is the matrix. It is indexed by positions, or by the names of coefficients.

    Examples
    --------
    >>> covariance = Covariance(("intercept", "age"), np.array([[0.25, -0.125], [-0.125, 0.5]]), "classical")
    >>> covariance["age", "age"], covariance[0, 1], np.asarray(covariance).shape
    (0.5, -0.125, (2, 2))
    >>> covariance
              intercept      age
    intercept   0.25000 -0.12500
    age        -0.12500  0.50000
    """

    names: tuple[str, ...]  #: of the q coefficients, theta column by column
    matrix: FloatArray  #: (q, q)
    kind: str  #: how it was estimated

    def __post_init__(self) -> None:
        matrix = np.array(self.matrix, dtype=np.float64)
        size = len(self.names)
        if matrix.shape != (size, size):
            raise errors.wrong_shape("covariance", f"({size}, {size})", matrix.shape)
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def shape(self) -> tuple[int, int]:
        """The number of coefficients, twice."""
        return len(self.names), len(self.names)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.array(self.matrix, dtype=dtype) if copy or dtype is not None else self.matrix

    def __getitem__(self, places: Any) -> Any:
        found = tuple(map(self._place, places)) if isinstance(places, tuple) else self._place(places)
        value = self.matrix[found]
        return float(value) if np.ndim(value) == 0 else value

    def _place(self, place: Any) -> Any:
        if not isinstance(place, str):
            return place
        if place not in self.names:
            raise KeyError(f"there is no coefficient {place!r}; {nearest_name(place, self.names)}")
        return self.names.index(place)

    def frame(self) -> pandas.DataFrame:
        """Return the matrix as a pandas data frame."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("frame() gives a pandas data frame: pip install pandas, or use matrix") from error
        return pandas.DataFrame(np.array(self.matrix), index=list(self.names), columns=list(self.names))

    def __repr__(self) -> str:
        cells = [["", *self.names]]
        cells += [
            [name, *(f"{value:#.5g}" for value in row)] for name, row in zip(self.names, self.matrix, strict=True)
        ]
        widths = [max(len(row[place]) for row in cells) for place in range(len(cells))]
        lines = [
            " ".join([row[0].ljust(widths[0]), *(each.rjust(w) for each, w in zip(row[1:], widths[1:], strict=True))])
            for row in cells
        ]
        return "\n".join(lines)
