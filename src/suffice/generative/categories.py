"""Category columns: labels of any type as codes of a vocabulary of the labels seen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.statistics import Labels

Codes = npt.NDArray[Any]

#: Up to this many codes per row and feature, whole numbers are counted where they are; above it, by name.
_DENSE_CODES = 1 << 20


@dataclass(frozen=True, eq=False)
class Coded:
    """Columns of names, as codes. A negative code is a missing cell."""

    codes: Codes  # (n, d) integers
    vocabularies: tuple[Labels, ...] | None  # of each feature; None: the codes are themselves the names
    sizes: tuple[int, ...]  # every code of a feature is below its size

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.codes.shape[0], self.codes.shape[1]

    def __getitem__(self, rows: Any) -> Coded:
        return Coded(self.codes[rows], self.vocabularies, self.sizes)

    def names(self, feature: int) -> Labels:
        """Return the names of a feature's codes."""
        if self.vocabularies is not None:
            return self.vocabularies[feature]
        return Labels(tuple(range(self.sizes[feature])))

    def into(self, vocabularies: tuple[Labels, ...]) -> Codes:
        """Return codes into other vocabularies; what they do not hold has the code after their last."""
        sizes = [len(names) for names in vocabularies]
        if self.vocabularies is None:
            plain = all(names.names == tuple(range(len(names))) for names in vocabularies)
            if plain and (max(self.sizes) <= min(sizes) or (self.codes.max(axis=0) < sizes).all()):
                return self.codes
        elif self.vocabularies == vocabularies:
            return self.codes
        moved = np.empty(self.codes.shape, dtype=np.int64)
        for feature, target in enumerate(vocabularies):
            place = {name: code for code, name in enumerate(target)}
            table = np.array([place.get(name, len(target)) for name in self.names(feature)] + [-1], dtype=np.int64)
            moved[:, feature] = table[np.where(self.codes[:, feature] < 0, -1, self.codes[:, feature])]
        return moved


def coded(columns: Any) -> Coded:
    """Return columns of names as codes: an array, (n, d), or a list of d columns of any types."""
    if isinstance(columns, np.ndarray) and columns.dtype.kind in "biu":
        # One pass over all cells for one bound; read as unsigned, a negative number is a large one.
        whole = columns.view(f"u{columns.itemsize}") if columns.dtype.kind == "i" else columns
        size = int(whole.max(initial=0)) + 1
        if size * columns.shape[1] <= _DENSE_CODES:
            return Coded(columns, None, (size,) * columns.shape[1])
    if isinstance(columns, np.ndarray):
        columns = [columns[:, feature] for feature in range(columns.shape[1])]
    for feature, column in enumerate(columns):
        validation.check_no_dates("X", column, feature)
    pairs = [_discovered(column) for column in columns]
    codes = np.stack([codes for _, codes in pairs], axis=1)
    return Coded(codes, tuple(names for names, _ in pairs), tuple(len(names) for names, _ in pairs))


def _discovered(column: npt.NDArray[Any]) -> tuple[Labels, npt.NDArray[np.int64]]:
    """Return the names in a column and the code of each cell, -1 where it is missing."""
    known = is_known(column)
    codes = np.full(len(column), -1, dtype=np.int64)
    values = column[known]
    if values.dtype.kind == "f" and (values == np.floor(values)).all() and (np.abs(values) < 2.0**63).all():
        values = values.astype(np.int64)  # 1.0 and 1 name the same category
    names, codes[known] = Labels.discover(values)
    return names, codes


def is_known(column: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
    """Return which cells hold something: not None, NaN, NaT or a data frame's NA."""
    if column.dtype.kind == "f":
        return np.asarray(~np.isnan(column))
    if column.dtype.kind != "O":
        return np.ones(len(column), dtype=bool)
    return np.array([_is_something(value) for value in column], dtype=bool)


def _is_something(value: Any) -> bool:
    if value is None:
        return False
    try:
        return bool(value == value)  # NaN is not itself
    except TypeError:  # a data frame's NA has no truth
        return False
