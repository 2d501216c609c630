"""A batch as the native code reads it, and who is to blame when a sum is not finite."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.kernels import errors

if TYPE_CHECKING:
    from suffice.kernels.batch import Batch

FloatArray = npt.NDArray[np.float64]


class Features(NamedTuple):
    """Features as the native code reads them: an array or the parts of CSR, and the rows that count."""

    x: Any
    begin: int
    end: int
    origin: int  # the batch's row that is row 0 here


def is_csr(x: Any) -> bool:
    """Whether x is a scipy CSR matrix or array."""
    return getattr(x, "format", None) == "csr" and hasattr(x, "indptr")


def intact(x: Any) -> Any:
    """Return a CSR matrix whose parts fit each other, without stored values that belong to no row; else raise.

    scipy trusts row ends and indices: where they are out of range, its code writes past an array's end.
    """
    check_compressed(x, x.shape[0], x.shape[1])
    stored = int(x.indptr[-1])
    if stored == len(x.indices):
        return x
    return type(x)((x.data[:stored], x.indices[:stored], x.indptr), shape=x.shape)


def intact_sparse(x: Any) -> Any:
    """Return a sparse matrix that scipy may turn into CSR; raise where its parts do not fit each other."""
    if x.ndim != 2:
        raise ValueError(f"X must have rows and columns, shape (n, d); got a sparse array of shape {x.shape}")
    if x.format == "csr":
        return intact(x)
    if x.format == "csc":
        check_compressed(x, x.shape[1], x.shape[0])
    elif x.format == "bsr":
        _check_blocks(x)
    elif x.format == "coo":
        _check_coordinates(x)
    elif x.format == "lil":
        _check_lists(x)
    elif x.format == "dia":
        return _intact_diagonals(x)
    return x  # scipy checks the keys of DOK itself


def check_compressed(x: Any, length: int, width: int) -> None:
    """Raise where the parts of CSR, CSC or BSR do not fit each other, or so many rows, columns or rows of blocks."""
    kind = _broken(x)
    _check_part(x, "data", 3 if x.format == "bsr" else 1)
    _check_part(x, "indices", 1, "iu")
    _check_part(x, "indptr", 1, "iu")
    if len(x.indptr) != length + 1:
        rows = {"csr": "rows", "csc": "columns", "bsr": "rows of blocks"}[x.format]
        raise ValueError(f"x.indptr has {len(x.indptr)} entries for {length} {rows}: {kind}")
    if len(x.indices) != len(x.data):
        raise ValueError(f"x.indices has {len(x.indices)} entries and x.data has {len(x.data)}: {kind}")
    try:
        _native.check_csr(*_indices(x), width, len(x.data))
    except _native.OffenceError as offence:
        what, place, _, value = str(offence).split()
        raise ValueError(f"x.{what}[{place}] is {int(float(value))}, which is out of range: {kind}") from None


def _check_blocks(x: Any) -> None:
    """Raise where a BSR matrix is broken. scipy's own check reads no index where no block seems to be stored."""
    _check_part(x, "data", 3)
    block = x.data.shape[1:]
    if 0 in block or x.shape[0] % block[0] or x.shape[1] % block[1]:
        raise ValueError(f"blocks of shape {block} do not fill x, of shape {x.shape}: {_broken(x)}")
    check_compressed(x, x.shape[0] // block[0], x.shape[1] // block[1])


def _check_coordinates(x: Any) -> None:
    """Raise where a COO matrix is broken."""
    _check_part(x, "data", 1)
    for name, length in zip(("row", "col"), x.shape, strict=True):
        _check_part(x, name, 1, "iu")
        places = getattr(x, name)
        bad = np.flatnonzero((places < 0) | (places >= length))
        if bad.size or len(places) != len(x.data):
            seen = f"{name}[{bad[0]}] is {places[bad[0]]}" if bad.size else f"{name} has {len(places)} entries"
            raise ValueError(f"x.{seen}, which does not fit its shape {x.shape} and data: {_broken(x)}")


def _check_lists(x: Any) -> None:
    """Raise where a LIL matrix is broken; its columns are checked when it has become CSR."""
    for name in ("rows", "data"):
        _check_part(x, name, 1, "O")
        if len(getattr(x, name)) != x.shape[0]:
            raise ValueError(f"x.{name} has {len(getattr(x, name))} lists for {x.shape[0]} rows: {_broken(x)}")
    for place, (columns, values) in enumerate(zip(x.rows, x.data, strict=True)):
        if not isinstance(columns, list) or not isinstance(values, list) or len(columns) != len(values):
            raise ValueError(f"x.rows[{place}] and x.data[{place}] must be lists of one length: {_broken(x)}")


def _intact_diagonals(x: Any) -> Any:
    """Return a DIA matrix without diagonals that lie outside it; raise where it is broken."""
    _check_part(x, "data", 2)
    _check_part(x, "offsets", 1, "iu")
    if len(x.data) != len(x.offsets):
        raise ValueError(f"x.offsets has {len(x.offsets)} entries and x.data has {len(x.data)} rows: {_broken(x)}")
    inside = (x.offsets > -x.shape[0]) & (x.offsets < x.shape[1])
    return type(x)((x.data[inside], x.offsets[inside]), shape=x.shape)  # which checks that no offset comes twice


def _check_part(x: Any, name: str, dimensions: int, kinds: str = "") -> None:
    """Raise where a part of a sparse matrix is no array of so many dimensions, or of no such kind of numbers."""
    part = getattr(x, name)
    if not isinstance(part, np.ndarray) or part.ndim != dimensions:
        many = {1: "one", 2: "two", 3: "three"}[dimensions]
        raise ValueError(f"x.{name} must be a {many}-dimensional NumPy array; got {_seen(part)}: {_broken(x)}")
    if kinds and part.dtype.kind not in kinds:
        what = "lists" if kinds == "O" else "integers"
        raise ValueError(f"x.{name} must hold {what}; got {part.dtype}: {_broken(x)}")


def _broken(x: Any) -> str:
    return f"the {x.format.upper()} matrix is broken"


def _indices(x: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the indices and row ends of CSR, of one type that the native code reads."""
    indices, indptr = x.indices, x.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return np.ascontiguousarray(indices), np.ascontiguousarray(indptr)


def _seen(value: Any) -> str:
    return f"shape {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"


def check_numbers(name: str, array: npt.NDArray[Any]) -> None:
    """Raise where an array holds anything but real numbers."""
    if array.dtype.kind not in "biuf":
        raise errors.no_numbers(name, array.dtype)


def _is_plain(array: npt.NDArray[Any]) -> bool:
    """Whether the native code can read the array where it lies."""
    whole_strides = all(stride % array.itemsize == 0 for stride in array.strides)
    return (
        array.dtype.isnative
        and array.flags.aligned
        and whole_strides
        and array.itemsize in (1, 2, 4, 8)
        and array.dtype != np.float16
    )


def read_features(batch: Batch) -> Features:
    """Return x as it lies where native code can read it there, else its rows converted to float64."""
    x = batch.x
    if is_csr(x):
        return _csr(batch)
    if not isinstance(x, np.ndarray):
        name = f"{type(x).__module__.partition('.')[0]} {type(x).__name__}"
        cure = "x.tocsr()" if hasattr(x, "tocsr") else "ArrayEngine, or numpy.asarray(x)"
        raise TypeError(f"ThreadEngine sums NumPy arrays and scipy CSR matrices; x is a {name}: use {cure}")
    check_numbers("x", x)
    if _is_plain(x):
        return Features(x, batch.start, batch.stop, 0)
    return Features(x[batch.start : batch.stop].astype(np.float64), 0, batch.rows, batch.start)


def _csr(batch: Batch) -> Features:
    x, data = batch.x, batch.x.data
    check_numbers("x", data)
    if not _is_plain(data):
        data = data.astype(np.float64)
    if len(x.indptr) != x.shape[0] + 1:
        raise ValueError(f"x.indptr has {len(x.indptr)} entries for {x.shape[0]} rows: the CSR matrix is broken")
    return Features((np.ascontiguousarray(data), *_indices(x), x.shape[1]), batch.start, batch.stop, 0)


def read_codes(batch: Batch, classes: int) -> npt.NDArray[np.int64] | None:
    """Return the class codes of the rows that count; None where all are of one class."""
    errors.check_classes(classes, batch.y)
    if batch.y is None:
        return None
    y = np.asarray(batch.y)
    if y.dtype.kind not in "iub":
        raise errors.no_codes(y.dtype)
    return np.ascontiguousarray(y[batch.start : batch.stop], dtype=np.int64)


def read_targets(batch: Batch) -> npt.NDArray[Any]:
    """Return the targets of the rows that count."""
    if batch.y is None:
        raise errors.missing_targets()
    y = np.asarray(batch.y)
    check_numbers("y", y)
    y = y[batch.start : batch.stop]
    return y if _is_plain(y) else y.astype(np.float64)


def read_column(name: str, values: Any, batch: Batch) -> FloatArray:
    """Return the weights or offsets of the rows that count, side by side in float64."""
    values = np.asarray(values)
    check_numbers(name, values)
    return np.ascontiguousarray(values[batch.start : batch.stop], dtype=np.float64).reshape(-1)


def blame(batch: Batch, missing: bool = False) -> None:
    """Raise about the first feature, target or offset that is not finite; return if there is none.

    With ``missing``, a feature may be NaN.
    """
    x = batch.x
    if is_csr(x):
        bounds = x.indptr[batch.start], x.indptr[batch.stop]
        bad = np.flatnonzero(_bad(x.data[bounds[0] : bounds[1]], missing)) + bounds[0]
        if bad.size:
            rows = np.searchsorted(x.indptr, bad, side="right") - 1
            row, column, stored = min(zip(rows, x.indices[bad], bad, strict=True))
            raise errors.NonFiniteError("x", (row, column), x.data[stored])
    else:
        _blame_array("x", x, batch, missing)
    for name, column in (("y", batch.y), ("offset", batch.offset)):
        if column is not None:
            _blame_array(name, np.asarray(column), batch)


def _bad(values: npt.NDArray[Any], missing: bool) -> npt.NDArray[np.bool_]:
    return np.asarray(np.isinf(values) if missing else ~np.isfinite(values))


def _blame_array(name: str, array: npt.NDArray[Any], batch: Batch, missing: bool = False) -> None:
    for start in range(batch.start, batch.stop, 4096):
        bad = np.argwhere(_bad(array[start : min(start + 4096, batch.stop)], missing))
        if bad.size:
            place = (int(bad[0][0]) + start, *(int(index) for index in bad[0][1:]))
            raise errors.NonFiniteError(name, place, float(array[place]))
