"""Schema of a table: the kind of each column, the target, the task, and their inference from the first rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suffice.metrics import Task as Task
from suffice.statistics.base import FloatArray
from suffice.tables.cells import TRUTHS, head_type, numbers_of, without
from suffice.tables.errors import TableError, UsageError, listed, nearest

if TYPE_CHECKING:
    import pyarrow as pa

#: What a column can be.
KINDS = ("numeric", "count", "boolean", "category", "date", "text", "ignore")
TASKS = ("classes", "numbers", "counts")

#: What a date's parts are, as features.
PARTS = {"time": "numeric", "month": "category", "weekday": "category", "hour": "category"}


class Feature(NamedTuple):
    """What models see of a column: the column itself, or a part of a date."""

    name: str
    kind: str  # numeric, count, boolean, category or text
    column: str
    part: str | None = None


@dataclass(frozen=True)
class Field:
    """A column of a table, and what it is taken for.

    Parameters
    ----------
    name
        The column's name.
    kind
        One of :data:`KINDS`.
    type
        What its cells are: "number", "whole", "truth", "name", "date", "moment" or "other".
    why
        Why it has its kind, where that is worth saying.
    parts
        Of a date: which of its parts vary.
    truth
        Of a boolean that is written in words or numbers: how false and true are written.
    """

    name: str
    kind: str
    type: str
    why: str = ""
    parts: tuple[str, ...] = ()
    truth: tuple[str, str] | None = None

    def features(self, taken: frozenset[str] = frozenset()) -> list[Feature]:
        """Return what models see of the column; no part of a date is called like another column."""
        if self.kind == "date":
            names = {part: f"{self.name}.{part}" for part in self.parts}
            names = {part: f"{self.name} ({part})" if name in taken else name for part, name in names.items()}
            return [Feature(names[part], PARTS[part], self.name, part) for part in self.parts]
        return [Feature(self.name, self.kind, self.name)]


@dataclass(frozen=True)
class Schema:
    """The columns of a table that a model was fitted to.

    Examples
    --------
    >>> schema = Schema((Field("age", "numeric", "whole"), Field("sold", "category", "name")), "sold", "classes")
    >>> schema.features
    (Feature(name='age', kind='numeric', column='age', part=None),)
    """

    fields: tuple[Field, ...]
    target: str
    task: Task
    missing: tuple[str, ...] = ()  # names that stand for nothing

    @property
    def predictors(self) -> tuple[Field, ...]:
        """The columns that say something about the target."""
        return tuple(field for field in self.fields if field.name != self.target and field.kind != "ignore")

    @property
    def ignored(self) -> tuple[Field, ...]:
        """The columns that are left out."""
        return tuple(field for field in self.fields if field.name != self.target and field.kind == "ignore")

    @property
    def features(self) -> tuple[Feature, ...]:
        """What models see of the columns."""
        taken = frozenset(field.name for field in self.fields)
        return tuple(feature for field in self.predictors for feature in field.features(taken))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(field.name for field in self.predictors)

    @property
    def strings(self) -> tuple[str, ...]:
        """The columns of strings whose cells are names or text: numbers among them are names as they are written."""
        wanted = (field for field in self.fields if field.type == "name")
        return tuple(field.name for field in wanted if field.kind in ("category", "text") or field.name == self.target)

    def field(self, name: str) -> Field:
        """Return a column by its name."""
        return next(field for field in self.fields if field.name == name)

    def with_kind(self, name: str, kind: str, why: str) -> Schema:
        """Return the same schema with another kind for one column."""
        fields = tuple(replace(each, kind=kind, why=why) if each.name == name else each for each in self.fields)
        return replace(self, fields=fields)

    def check_columns(self, names: Iterable[str], table: str, target: bool = False) -> None:
        """Raise where a table lacks columns that the model reads."""
        have = list(names)
        wanted = [*self.columns, *([self.target] if target else [])]
        absent = [name for name in wanted if name not in have]
        if absent:
            hint = nearest(absent[0], [each for each in have if each not in wanted])
            raise TableError(
                f"{table} lacks {'the columns' if len(absent) > 1 else 'the column'} {listed(absent)}, which the model "
                f"reads{hint}; rename or add {'them' if len(absent) > 1 else 'it'}"
            )

    def to_plain(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        return {**asdict(self), "missing": list(self.missing)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Schema:
        """Return the schema that :meth:`to_plain` wrote."""
        fields = tuple(
            Field(
                **{
                    **each,
                    "parts": tuple(each["parts"]),
                    "truth": None if each["truth"] is None else (each["truth"][0], each["truth"][1]),
                }
            )
            for each in plain["fields"]
        )
        return cls(fields, plain["target"], plain["task"], tuple(plain["missing"]))


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
