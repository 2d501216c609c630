"""Column kinds: the one inference of what a column holds, shared by :class:`suffice.MixedNB` and tables.

The first row of this table that applies decides. *Known* cells are those that are not missing; *distinct* is the number
of distinct known cells.

| known cells | kind |
|---|---|
| none | ``ignore``; ``category`` or the kind of the column's type, if more rows may follow |
| dates or moments | ``date``; ``ignore`` if there is one only |
| booleans; numbers that are 0 and 1; strings that are two truth words, such as yes and no | ``boolean`` |
| one distinct value | ``ignore``; ``numeric`` or ``category``, if cells are missing, or more rows may follow |
| numbers with a fraction | ``numeric`` |
| 20 or more whole numbers, all distinct: consecutive, or the column is called ``id``, ``key``, ``no``, … | ``ignore`` |
| whole numbers that are long codes (see below) | as strings |
| whole numbers, smallest 0 to 9, variance at most 3 times the mean | ``count`` |
| other whole numbers | ``numeric`` |
| strings with 3 or more words on average, at least a fifth of them distinct | ``text`` |
| 20 or more strings, more than 90 % of them distinct; or more than 1,000 distinct, more than half of all | ``ignore`` |
| other strings, mixed types | ``category`` |
| anything else, such as lists | ``ignore`` |

Long codes, such as card numbers, are whole numbers of 12 or more digits, as many in each, or integers above 2^53 of
which less than a tenth is rounded to thousands, as amounts are. Moments, as milliseconds or microseconds since 1970,
are no codes. Only words with letters count: digits in groups are no text.

A column of a categorical type of a data frame (``category`` of pandas, ``Categorical`` and ``Enum`` of Polars) is
``category``, or ``ignore`` by the rules of strings. :class:`suffice.MixedNB` may learn from more rows, so it keeps
constant columns; it has no dates, and refuses columns that it cannot read instead of ignoring them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import FloatArray

#: Kinds that have a distribution, in the order in which they are summed.
FEATURE_KINDS = ("numeric", "count", "boolean", "category", "text")
IGNORE = "ignore"

#: Spellings of false and true.
TRUTHS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), ("0", "1"), ("off", "on"))
TRUTH_WORDS = {word: truth == 1 for words in TRUTHS for truth, word in enumerate(words)}

#: Type of the cells of a column. A column of floats that are all whole is "number" or "whole": the kind is the same.
CellType = Literal["truth", "whole", "number", "name", "date", "moment", "nothing", "other"]

#: Smallest whole number of a column of counts is below this.
SMALLEST_COUNT = 10
#: Largest variance of counts, in units of their mean; the variance of a Poisson is its mean.
_DISPERSION = 3.0
#: Words of a text on average, and the share of texts that are distinct, at least.
_TEXT_WORDS, _TEXT_DISTINCT = 3.0, 0.2
#: With fewer cells than this, distinct cells are no sign of an identifier.
FEW_CELLS = 20
#: Share of distinct strings above which they are identifiers, in general and among many distinct ones.
NEARLY_ALL = 0.9
_MANY_VALUES, _MOST = 1000, 0.5
#: Distinct strings whose words are counted.
_WORD_SAMPLE = 1000
#: Whole numbers with this many digits, as many in each, are codes; so are integers that 64-bit floats do not hold.
_CODE_DIGITS, _EXACT = 12, 2**53
#: Share of the whole numbers that are multiples of 1,000, from which on they are amounts.
_ROUNDED = 0.1
#: Seconds since 1970, from 1998 to 2042.
_MOMENTS = (9e8, 2.3e9)
_MOMENT = re.compile(r"time|date|moment|stamp|(^|_)(ts|at)$", re.ASCII | re.IGNORECASE)
_LETTER = re.compile(r"[^\W\d_]")
_IDENTIFIER = re.compile(r"(^|[_\s-])(id|uuid|guid|key|index|instant|rowid|no|nr|number)$|Id$|ID$", re.ASCII)
#: Kind of a column without a known cell, where more rows may follow.
_KIND_OF_TYPE = {"number": "numeric", "whole": "numeric", "truth": "boolean", "date": "date", "moment": "date"}


class InferredKind(NamedTuple):
    """Kind of a column, and the reason where a reader asks for one."""

    kind: str
    why: str = ""


def infer_kind(
    type: CellType,  # noqa: A002
    known: int,
    cells: FloatArray | Sequence[Any],
    *,
    name: str = "",
    is_complete: bool = True,
    is_categorical: bool = False,
) -> InferredKind:
    """Return the kind of a column; the rules are in the docstring of this module.

    Parameters
    ----------
    type
        Type of the cells.
    known
        Number of cells that are not missing.
    cells
        Of numbers: all known cells that are finite, integers as such. Of other types: the distinct known cells.
    name
        Name of the column, by which a column of numbers may be an identifier.
    is_complete
        Whether these are the cells of all rows; otherwise, a column with one value may vary: in later rows, or between
        this value and missing cells.
    is_categorical
        Whether the column has a categorical type.

    Examples
    --------
    >>> infer_kind("whole", 4, np.array([0.0, 3.0, 1.0, 2.0])).kind, infer_kind("name", 9, ["No", "Yes"]).kind
    ('count', 'boolean')
    >>> infer_kind("number", 2, np.array([2.5, 2.5]))
    InferredKind(kind='ignore', why='always 2.5')
    >>> infer_kind("whole", 4, np.array([4111111111111111, 5500000000000004] * 2))
    InferredKind(kind='category', why='whole numbers of 16 digits are read as names')
    """
    if known == 0:
        if is_complete:
            return InferredKind(IGNORE, "all cells are missing")
        return InferredKind("category" if is_categorical else _KIND_OF_TYPE.get(type, "category"))
    if is_categorical:
        return _infer_strings(known, [str(cell) for cell in set(cells)], is_complete, may_be_text=False)
    if type in ("date", "moment"):
        varies = not is_complete or len(cells) > 1
        return InferredKind("date") if varies else InferredKind(IGNORE, "one date only")
    if type == "truth" or find_truth_words(type, cells) is not None:
        return InferredKind("boolean")
    if type == "name":
        return _infer_strings(known, cells, is_complete, may_be_text=True)
    return _infer_numbers(np.asarray(cells), name, is_complete)


def find_truth_words(type: CellType, cells: FloatArray | Sequence[Any]) -> tuple[str, str] | None:  # noqa: A002
    """Return the spelling of false and true in a column that holds nothing else; None for other columns.

    Examples
    --------
    >>> find_truth_words("name", ["Yes", "no"]), find_truth_words("number", np.array([1.0, 0.0, 1.0]))
    (('no', 'Yes'), ('0', '1'))
    """
    if type in ("whole", "number"):
        return ("0", "1") if np.unique(np.asarray(cells, dtype=np.float64)).tolist() == [0.0, 1.0] else None
    if type != "name" or len(cells) != 2:
        return None
    folded = {str(cell).casefold(): str(cell) for cell in cells}
    return next(((folded[no], folded[yes]) for no, yes in TRUTHS if {no, yes} == set(folded)), None)


def is_whole(cells: FloatArray) -> bool:
    """Whether there are numbers and all of them are whole."""
    return bool(len(cells) and (cells == np.floor(cells)).all())


def _infer_numbers(cells: npt.NDArray[Any], name: str, is_complete: bool) -> InferredKind:
    values = np.unique(cells)
    if len(values) == 0:
        return InferredKind(IGNORE, "no cell is finite")
    if len(values) == 1:
        return InferredKind(IGNORE, f"always {values[0]:g}") if is_complete else InferredKind("numeric")
    if not is_whole(values):
        return InferredKind("numeric")
    if len(values) == len(cells) >= FEW_CELLS and _is_numbering(values, name):
        return InferredKind(IGNORE, "an identifier: all values are distinct")
    if _are_codes(values, name):
        kind, why = _infer_strings(len(cells), values.astype(str), is_complete, may_be_text=False)
        return InferredKind(kind, why or f"whole numbers of {len(str(int(values[-1])))} digits are read as names")
    with np.errstate(over="ignore"):  # an infinite variance is no count's
        is_count = 0 <= values[0] < SMALLEST_COUNT and cells.var() <= _DISPERSION * cells.mean()
    return InferredKind("count" if is_count else "numeric")


def _is_numbering(values: npt.NDArray[Any], name: str) -> bool:
    """Whether distinct whole numbers, sorted, are consecutive, or the column's name is that of an identifier."""
    return int(values[-1]) - int(values[0]) == len(values) - 1 or _IDENTIFIER.search(name) is not None


def _are_codes(values: npt.NDArray[Any], name: str) -> bool:
    """Whether distinct whole numbers, sorted, are long codes: neither amounts nor moments."""
    low, high = int(values[0]), int(values[-1])
    is_long = values.dtype.kind in "iu" and float(np.median(np.abs(values.astype(np.float64)))) > _EXACT
    is_regular = low > 0 and len(str(low)) == len(str(high)) >= _CODE_DIGITS and high <= _EXACT
    if not (is_long or is_regular) or np.mean(values % 1000 == 0) >= _ROUNDED:
        return False
    units = (10**3, 10**6, 10**9) if _MOMENT.search(name) else (10**3, 10**6)
    return not any(_MOMENTS[0] * unit <= low and high <= _MOMENTS[1] * unit for unit in units)


def _infer_strings(known: int, values: Iterable[Any], is_complete: bool, may_be_text: bool) -> InferredKind:
    values = list(values)
    if len(values) == 1:
        return InferredKind(IGNORE, f"always {values[0]!r}") if is_complete else InferredKind("category")
    distinct = len(values) / known
    some = values[:_WORD_SAMPLE]
    words = sum(len(text.split()) if _LETTER.search(text) else 1 for text in some) / len(some)
    if may_be_text and words >= _TEXT_WORDS and distinct >= _TEXT_DISTINCT:
        return InferredKind("text")
    if known >= FEW_CELLS and distinct > NEARLY_ALL:
        return InferredKind(IGNORE, "an identifier: nearly all values are distinct")
    if len(values) > _MANY_VALUES and distinct > _MOST:
        return InferredKind(IGNORE, f"an identifier: {len(values)} values in {known} rows")
    return InferredKind("category")
