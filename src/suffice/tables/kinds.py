"""What the first rows of a table suggest that its columns are."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from suffice.statistics.base import FloatArray
from suffice.tables.cells import TRUTHS, head_type, numbers_of, without
from suffice.tables.errors import TableError, UsageError, listed, nearest
from suffice.tables.schema import KINDS, PARTS, TASKS, Field, Schema, Task

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that are looked at.
LOOKED_AT = 50_000
#: Whole numbers may be counts where their variance is no more than this many times their mean; a Poisson's is once.
_DISPERSION = 3.0
#: Names are text where they have so many words on average and at least every fifth differs.
_WORDS = 3.0
#: With fewer rows than these nothing can be said about repetition.
_FEW = 20
#: Numbers that take up to so many values may be classes.
FEW_CLASSES = 10
#: Whole numbers may be counts where the smallest is below this.
_SMALLEST_COUNT = 10
#: What a column may be of which all first cells are missing.
_BLIND = {"number": "numeric", "whole": "numeric", "truth": "boolean", "date": "date", "moment": "date"}
_IDENTIFIER = re.compile(r"(^|[_\s-])(id|uuid|guid|key|index|instant|rowid|no|nr|number)$|Id$|ID$", re.ASCII)


def infer(
    head: pa.Table,
    target: str,
    kinds: Mapping[str, str] | None = None,
    task: str | None = None,
    whole: bool = True,
    missing: tuple[str, ...] = (),
) -> Schema:
    """Return the schema that the first rows of a table suggest.

    Parameters
    ----------
    head
        The first rows.
    target
        The column to be predicted.
    kinds
        What columns are, where the user says it.
    task
        "classes", "numbers" or "counts", where the user says it.
    whole
        Whether these are all rows of the table.
    missing
        Names that stand for nothing.
    """
    head = without(head, missing)
    names = head.schema.names
    if target not in names:
        raise UsageError(f"there is no column {target!r} to predict; there are {listed(names)}{nearest(target, names)}")
    wanted = {str(name): str(kind) for name, kind in (kinds or {}).items()}
    for name, kind in wanted.items():
        if name not in names:
            raise UsageError(f"there is no column {name!r} of kind {kind!r}{nearest(name, names)}")
        if kind not in KINDS:
            raise UsageError(f"{kind!r} is no kind of column; the kinds are {', '.join(KINDS)}{nearest(kind, KINDS)}")
    if task is not None and task not in TASKS:
        raise UsageError(f"{task!r} is no kind of target; they are {', '.join(TASKS)}")
    fields = [
        _target(head[name], name, whole) if name == target else _field(head[name], name, wanted.get(name), whole)
        for name in names
    ]
    schema = Schema(tuple(fields), target, _task(head[target], target, task, wanted.get(target), whole), missing)
    if not schema.predictors:
        raise TableError(
            f"no column is left to predict {target!r} from"
            + (
                f" ({listed(f'{each.name}: {each.why}' for each in schema.ignored)}): say what they are, with --kind "
                "COLUMN=KIND"
                if schema.ignored
                else ": it is the only one"
            )
        )
    return schema


def _field(column: Any, name: str, wanted: str | None, whole: bool) -> Field:
    kind = head_type(column)
    truth = _truth(column, kind)
    parts = {"date": tuple(PARTS)[:3], "moment": tuple(PARTS)}.get(kind, ())
    if wanted is not None:
        if kind == "other" and wanted != "ignore":
            raise TableError(f"column {name!r} holds {column.type}, which no kind of column describes: leave it out")
        if kind in ("date", "moment") and wanted in ("numeric", "count", "boolean", "text"):
            raise TableError(f"column {name!r} holds dates, which are no {wanted}: use date, category or ignore")
        if kind == "truth" and wanted in ("count", "text", "date"):
            raise TableError(f"column {name!r} holds truth values, which are no {wanted}: use boolean or category")
        if wanted == "date" and kind not in ("date", "moment"):
            raise TableError(
                f"column {name!r} holds no dates as it is written; write them as 2024-12-31, or use a query"
            )
        if wanted == "boolean" and truth is None and kind != "truth":
            raise TableError(f"column {name!r} is no boolean: it must hold two values, such as true and false")
        return Field(name, wanted, kind, "as asked", parts, truth if wanted == "boolean" else None)
    found, why = _suggested(column, name, kind, truth, whole)
    return Field(name, found, kind, why, parts, truth if found == "boolean" else None)


def _suggested(column: Any, name: str, kind: str, truth: tuple[str, str] | None, whole: bool) -> tuple[str, str]:
    """Return the kind of a column, and why, where that is worth saying.

    What the first rows do not tell, since they are all alike, the others may.
    """
    known = len(column) - column.null_count
    if kind == "other":
        return "ignore", f"holds {column.type}"
    if known == 0:
        return ("ignore", "all cells are missing") if whole else (_BLIND.get(kind, "category"), "")
    if kind in ("date", "moment"):
        varies = not whole or len(column.drop_null().unique()) > 1
        return ("date", "") if varies else ("ignore", "one date only")
    if kind == "truth" or truth is not None:
        return "boolean", ""
    if kind == "name":
        return _of_names(column.drop_null(), whole)
    cells = numbers_of(column)
    values = np.unique(cells)
    if len(values) == 0:
        return "ignore", "no cell is finite"
    if len(values) == 1:
        return ("ignore", f"always {values[0]:g}") if whole else ("numeric", "")
    if kind == "number":
        return "numeric", ""
    if _is_numbering(cells, values, name):
        return "ignore", "an identifier: every row has its own"
    return ("count", "") if _look_counted(cells) else ("numeric", "")


def _look_counted(cells: FloatArray) -> bool:
    """Whether a Poisson could have made these whole numbers."""
    return bool(0 <= cells.min() < _SMALLEST_COUNT and cells.var() <= _DISPERSION * cells.mean())


def _of_names(cells: Any, whole: bool) -> tuple[str, str]:
    values = cells.unique()
    if len(values) == 1:
        return ("ignore", f"always {values[0].as_py()!r}") if whole else ("category", "")
    differ = len(values) / len(cells)
    words = sum(len(text.split()) for text in values.to_pylist()[:1000]) / min(len(values), 1000)
    if words >= _WORDS and differ >= 0.2:
        return "text", ""
    if len(cells) >= _FEW and differ > 0.9:
        return "ignore", "an identifier: nearly every row has its own"
    if len(values) > 1000 and differ > 0.5:
        return "ignore", f"an identifier: {len(values)} values in {len(cells)} rows"
    return "category", ""


def _is_numbering(cells: FloatArray, values: FloatArray, name: str) -> bool:
    """Whether whole numbers count or name the rows."""
    if len(cells) < _FEW or len(values) < len(cells):
        return False
    return bool(values[-1] - values[0] == len(values) - 1 or _IDENTIFIER.search(name))


def _truth(column: Any, kind: str) -> tuple[str, str] | None:
    """Return how false and true are written in a column that holds nothing else."""
    if kind == "whole":
        values = np.unique(numbers_of(column))
        return ("0", "1") if values.tolist() == [0.0, 1.0] else None
    if kind != "name":
        return None
    written = sorted(column[: 1 << 12].drop_null().unique().to_pylist())
    if len(written) > 2:
        return None
    written = sorted(column.drop_null().unique().to_pylist())
    folded = {each.casefold(): each for each in written}
    return next(
        ((folded[no], folded[yes]) for no, yes in TRUTHS if len(written) == 2 and {no, yes} == set(folded)), None
    )


# The target.


def _target(column: Any, name: str, whole: bool) -> Field:
    kind = head_type(column)
    if column.null_count == len(column) and (whole or kind in ("nothing", "other")):
        raise TableError(f"all cells of the target {name!r} are missing: there is nothing to learn from")
    if kind in ("date", "moment", "other"):
        raise TableError(f"the target {name!r} holds {_word(column, kind)}: predict a category, a number or a count")
    return Field(name, "category" if kind in ("name", "truth") else "numeric", kind)


def _task(column: Any, name: str, asked: str | None, kind: str | None, whole: bool) -> Task:
    """Return what is predicted: classes, numbers or counts."""
    found = head_type(column)
    cells = column.drop_null() if found == "name" else None
    values = np.unique(numbers_of(column)) if found in ("whole", "number") else None
    distinct = len(column.drop_null().unique())
    if distinct == 1 and whole:
        only = column.drop_null()[0].as_py()
        raise TableError(f"the target {name!r} is always {only!r}: there is nothing to tell apart")
    if kind == "ignore":
        raise UsageError(f"the target {name!r} cannot be ignored: predict another column")
    if asked is None and kind is not None:
        asked = {"numeric": "numbers", "count": "counts"}.get(kind, "classes")
    if values is None:
        if asked in ("numbers", "counts"):
            raise TableError(f"the target {name!r} holds {_word(column, found)}, not numbers: it can only be classes")
        if cells is not None and len(cells) >= _FEW and distinct > 0.9 * len(cells):
            raise TableError(
                f"nearly every row has a {name!r} of its own ({distinct} values in {len(cells)} rows): there are no "
                "classes to learn; choose another target"
            )
        return "classes"
    if asked == "counts" and not ((values >= 0) & (values == np.floor(values))).all():
        bad = values[(values < 0) | (values != np.floor(values))][0]
        raise TableError(f"the target {name!r} holds {bad:g}, which is no count: predict numbers")
    if asked == "classes" and (values != np.floor(values)).any():
        raise TableError(f"the target {name!r} holds {values[values != np.floor(values)][0]:g}, which names no class")
    if asked is not None:
        return asked  # type: ignore[return-value]
    is_whole = found == "whole" and bool((values == np.floor(values)).all())
    if is_whole and distinct <= FEW_CLASSES:
        return "classes"
    return "counts" if is_whole and 0 <= values[0] < _SMALLEST_COUNT else "numbers"


def _word(column: Any, kind: str) -> str:
    """Return what a column holds, in a word."""
    words = {"date": "dates", "moment": "moments", "name": "names", "truth": "truth values"}
    return words.get(kind, str(column.type))
