"""Checks that the parts of a scipy sparse matrix fit each other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import _native


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
    """Raise if the arrays of CSR, CSC or BSR are inconsistent with each other or with the shape."""
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
        _native.check_csr(*csr_indices(x), width, len(x.data))
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
    """Return a DIA matrix without diagonals outside it; raise if it is inconsistent."""
    _check_part(x, "data", 2)
    _check_part(x, "offsets", 1, "iu")
    if len(x.data) != len(x.offsets):
        raise ValueError(f"x.offsets has {len(x.offsets)} entries and x.data has {len(x.data)} rows: {_broken(x)}")
    inside = (x.offsets > -x.shape[0]) & (x.offsets < x.shape[1])
    return type(x)((x.data[inside], x.offsets[inside]), shape=x.shape)  # which checks that no offset comes twice


def _check_part(x: Any, name: str, dimensions: int, kinds: str = "") -> None:
    """Raise if an array of a sparse matrix has another number of dimensions, or kind of numbers, than expected."""
    part = getattr(x, name)
    if not isinstance(part, np.ndarray) or part.ndim != dimensions:
        many = {1: "one", 2: "two", 3: "three"}[dimensions]
        raise ValueError(f"x.{name} must be a {many}-dimensional NumPy array; got {_seen(part)}: {_broken(x)}")
    if kinds and part.dtype.kind not in kinds:
        what = "lists" if kinds == "O" else "integers"
        raise ValueError(f"x.{name} must hold {what}; got {part.dtype}: {_broken(x)}")


def _broken(x: Any) -> str:
    return f"the {x.format.upper()} matrix is broken"


def csr_indices(x: Any) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return the indices and row ends of CSR, of one type that the native code reads."""
    indices, indptr = x.indices, x.indptr
    if indices.dtype != indptr.dtype or indices.dtype not in (np.int32, np.int64):
        indices, indptr = indices.astype(np.int64), indptr.astype(np.int64)
    return np.ascontiguousarray(indices), np.ascontiguousarray(indptr)


def _seen(value: Any) -> str:
    return f"shape {value.shape}" if isinstance(value, np.ndarray) else f"a {type(value).__name__}"
