"""Tables of results with named rows: as text, as HTML, as a data frame or as plain values."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.html_fragments import fragment, notes, table, title

if TYPE_CHECKING:
    import pandas

GAP = "   "
UNKNOWN = "-"


@dataclass(frozen=True, eq=False, repr=False)
class ResultTable:
    """A table of numbers with a name for each row, such as those of ``anova``, ``confint`` and ``contrast``.

    ``table["p"]`` is a column; ``np.asarray(table)`` are all numbers, (rows, columns).

    Examples
    --------
    >>> table = ResultTable("Analysis of deviance", ("1", "2"), {"df": [np.nan, 2], "p": [np.nan, 0.01234]})
    >>> table
    Analysis of deviance
    <BLANKLINE>
        df        p
    ---------------
    1    -   -
    2    2   0.0123
    >>> float(table["p"][1])
    0.01234
    """

    title: str
    names: tuple[str, ...]  #: of the rows
    columns: dict[str, Any]  #: (rows,) each, by name
    notes: tuple[str, ...] = ()  #: notes on the numbers
    details: dict[str, Any] = field(default_factory=dict)  #: other numbers, by name

    def __post_init__(self) -> None:
        columns = {name: np.asarray(column, dtype=np.float64) for name, column in self.columns.items()}
        object.__setattr__(self, "columns", columns)

    def __getitem__(self, name: str) -> npt.NDArray[np.float64]:
        if name not in self.columns:
            raise KeyError(f"there is no column {name!r}; the columns are {', '.join(self.columns)}")
        return np.asarray(self.columns[name])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> npt.NDArray[Any]:
        return np.column_stack(list(self.columns.values())).astype(np.float64 if dtype is None else dtype)

    def frame(self) -> pandas.DataFrame:
        """Return the table as a pandas data frame, a row for each name."""
        return data_frame(self.columns, self.names)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values: a list of rows under ``rows``, the title, notes and details."""
        rows = zip(self.names, *(column.tolist() for column in self.columns.values()), strict=True)
        heads = ["name", *self.columns]
        plain = [dict(zip(heads, row, strict=True)) for row in rows]
        return {"title": self.title, "rows": plain, **self.details, "notes": list(self.notes)}

    def __str__(self) -> str:
        heads, body = list(self.columns), self._cells()
        lines = [
            [" " * max(map(len, self.names), default=0), *self.names],
            *([head, *cells] for head, cells in zip(heads, body, strict=True)),
        ]
        first, *others = (pad_column(cells[0], cells[1:], pad) for cells, pad in zip(lines, self._pads(), strict=True))
        text = [GAP.join(line).rstrip() for line in zip(first, *others, strict=True)]
        notes = ["", *self.notes] if self.notes else []
        return "\n".join([self.title, "", text[0], "-" * max(map(len, text)), *text[1:], *notes])

    __repr__ = __str__

    def _pads(self) -> list[Callable[[str, int], str]]:
        return [str.ljust, *([str.rjust] * len(self.columns))]

    def _cells(self) -> list[list[str]]:
        return [align([_format(name)(value) for value in column]) for name, column in self.columns.items()]

    def _repr_html_(self) -> str:
        cells = zip(*self._cells(), strict=True)
        rows = [(name, *row) for name, row in zip(self.names, cells, strict=True)]
        return fragment(title(self.title), table(["", *self.columns], rows), notes(self.notes))


def _format(name: str) -> Callable[[float], str]:
    if name == "p":
        return probability
    return general if name.startswith("df") else significant


def data_frame(columns: dict[str, Any], names: Sequence[str]) -> Any:
    """Return columns as a pandas data frame with names of its rows."""
    try:
        pandas = importlib.import_module("pandas")
    except ImportError as error:
        raise ImportError("frame() gives a pandas data frame: pip install pandas, or use to_dict()") from error
    return pandas.DataFrame(columns, index=list(names))


def general(value: float) -> str:
    """Return a number with up to 6 digits, whole numbers in full."""
    if math.isnan(value):
        return UNKNOWN
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.6g}"


def significant(value: float) -> str:
    """Return a number with 5 digits."""
    return UNKNOWN if math.isnan(value) else f"{value:#.5g}"


def fixed(value: float, digits: int) -> str:
    """Return a number with this many digits after the point."""
    return UNKNOWN if math.isnan(value) else f"{value:.{digits}f}"


def probability(value: float) -> str:
    """Return a p-value with 4 digits after the point.

    Examples
    --------
    >>> probability(0.5), probability(1e-9)
    ('0.5000', '<0.0001')
    """
    return "<0.0001" if value < 1e-4 else fixed(value, 4)


def align(texts: Sequence[str]) -> list[str]:
    """Return numbers of one width, aligned at the decimal point."""
    parts = [text.partition(".") for text in texts]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    after = max((len(point + rest) for _, point, rest in parts), default=0)
    return [whole.rjust(before) + (point + rest).ljust(after) for whole, point, rest in parts]


def pad_column(head: str, cells: Sequence[str], pad: Any) -> list[str]:
    """Return the head and the cells of a column, all of one width."""
    width = max(map(len, [head, *cells]))
    return [pad(text, width) for text in [head, *cells]]


def two_columns(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and values, a line for each."""
    names = pad_column("", [name for name, _ in facts], str.ljust)[1:]
    values = pad_column("", [value for _, value in facts], str.rjust)[1:]
    return [f"{name}  {value}" for name, value in zip(names, values, strict=True)]
