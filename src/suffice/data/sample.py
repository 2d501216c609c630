"""A mergeable sample of rows: two samples together, thinned, are a sample of both."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.data.frames import data_frame, stack_frames
from suffice.kernels.libraries import is_sparse

if TYPE_CHECKING:
    from suffice.data.dataset import Piece

#: A sample holds no more numbers than this.
MOST = 1_000_000


def draw_rows(piece: Piece, most: int = MOST) -> tuple[Piece, npt.NDArray[np.float64]]:
    """Return a sample of the rows of a piece, and the number of rows that each represents.

    Examples
    --------
    >>> sample, stands_for = draw_rows({"X": np.zeros((1000, 2))}, most=100)
    >>> len(sample["X"]), stands_for.sum()
    (50, np.float64(1000.0))
    """
    piece = {key: value for key, value in piece.items() if key != "place"}
    x = piece["X"]
    rows, width = int(x.shape[0]) if hasattr(x, "shape") else len(x), _width(x)
    return _thinned(piece, np.ones(rows), max(most // width, 1))


def merge_samples(
    one: tuple[Piece, npt.NDArray[np.float64]], two: tuple[Piece, npt.NDArray[np.float64]]
) -> tuple[Piece, npt.NDArray[np.float64]]:
    """Return two samples as one, no larger than a sample may be."""
    stands_for = np.concatenate([one[1], two[1]])
    chosen = _choose(stands_for, max(MOST // _width(one[0]["X"]), 1))
    if chosen is None:
        return {key: stack_rows([one[0][key], two[0][key]]) for key in one[0]}, stands_for
    places, each = chosen
    split = len(one[1])
    first = int(np.searchsorted(places, split))  # rows are taken before they are stacked: of both, half are left out
    both = {
        key: stack_rows([take_rows(one[0][key], places[:first]), take_rows(two[0][key], places[first:] - split)])
        for key in one[0]
    }
    return both, np.full(len(places), each)


def _thinned(piece: Piece, stands_for: npt.NDArray[np.float64], most: int) -> tuple[Piece, npt.NDArray[np.float64]]:
    chosen = _choose(stands_for, most)
    if chosen is None:
        return piece, stands_for
    places, each = chosen
    return {key: take_rows(value, places) for key, value in piece.items()}, np.full(len(places), each)


def _choose(stands_for: npt.NDArray[np.float64], most: int) -> tuple[npt.NDArray[np.intp], float] | None:
    """Return the indices of the rows to take, and the number of rows that each represents; None for all."""
    rows = len(stands_for)
    if rows <= most:
        return None
    # One row of each stretch that stands for as many, whatever period the rows may have.
    ends = np.cumsum(stands_for)
    each = ends[-1] / most
    aims = (np.arange(most) + np.random.default_rng((rows, most)).random(most)) * each
    return np.minimum(np.searchsorted(ends, aims, "right"), rows - 1), float(each)


def _width(x: Any) -> int:
    if is_sparse(x):
        return 1 + -(-int(x.nnz) // max(int(x.shape[0]), 1))  # what is stored of a row
    shape: tuple[int, ...] = getattr(x, "shape", ())
    return max(int(shape[1]), 1) if len(shape) > 1 else 20  # a text is more than one number


def take_rows(column: Any, places: npt.NDArray[np.intp] | slice) -> Any:
    """Return some rows of an array, a list, a sparse matrix or a data frame; None where there is none.

    Examples
    --------
    >>> take_rows([5, 6, 7], np.array([0, 2])), take_rows(np.arange(3), slice(2))
    ([5, 7], array([0, 1]))
    """
    if column is None:
        return None
    if isinstance(column, list):
        return column[places] if isinstance(places, slice) else [column[place] for place in places]
    if hasattr(column, "iloc"):
        return column.iloc[places]
    frame = data_frame(column)
    return column[places] if frame is None else frame[places].to_native()


def stack_rows(columns: Sequence[Any]) -> Any:
    """Return the rows of several parts as one: arrays, lists, sparse matrices or data frames; None where there is none.

    Examples
    --------
    >>> stack_rows([np.zeros((2, 3)), np.zeros((1, 3))]).shape
    (3, 3)
    """
    import scipy  # slow to import, and few rows need it

    first = columns[0]
    if first is None:
        return None
    if isinstance(first, list):
        return list(chain.from_iterable(columns))
    if any(map(is_sparse, columns)):
        return scipy.sparse.vstack(columns, format="csr")
    is_frame = hasattr(first, "iloc") or data_frame(first) is not None
    return stack_frames(columns) if is_frame else np.concatenate(columns)
