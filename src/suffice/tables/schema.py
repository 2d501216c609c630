"""Schema of a table: the kind of each column, the target, the task, and their inference from the first rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suffice.column_kinds import (
    FEW_CELLS,
    NEARLY_ALL,
    SMALLEST_COUNT,
    CellType,
    find_truth_words,
    infer_kind,
)
from suffice.model_types import KINDS, TASKS, Task
from suffice.tables.cells import (
    are_days,
    as_days,
    cell_type,
    column_cell_type,
    finite_numbers,
    known_integers,
    mark_missing,
    to_hours,
)
from suffice.tables.date_format import (
    DateFormat,
    DateNotation,
    find_date_notation,
    has_clear_order,
    may_be_dates,
    note_unread,
)
from suffice.tables.errors import TableError, UsageError, kind_cure, listed, nearest
from suffice.tables.number_format import (
    Notation,
    NumberFormat,
    check_options,
    count_cells,
    find_notation,
    may_be_numbers,
)
from suffice.tables.sources.base import NumberOptions, arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Kinds of the parts of a date.
PARTS = {"time": "numeric", "month": "category", "weekday": "category", "hour": "category"}


#: A cell as JSON holds it: dates are written as ISO 8601.
Cell = str | int | float | bool


class Feature(NamedTuple):
    """A feature of a model: a column, or a part of a date."""

    name: str
    kind: str  # numeric, count, boolean, category or text
    column: str
    part: str | None = None


@dataclass(frozen=True)
class Field:
    """A column of a table, and its kind.

    Parameters
    ----------
    name
        The column's name.
    kind
        One of :data:`KINDS`.
    type
        The type of its cells: "number", "whole", "truth", "name", "date", "moment" or "other".
    why
        The reason for its kind, for the user; may be empty.
    parts
        The parts of a date; the hour only if not all cells are midnights.
    truth
        The spelling of false and true, of a boolean column of words or numbers.
    format
        The notation of numbers in a column of strings; None for columns of other types.
    note
        How the cells are read, for the user, where that is not obvious; may be empty.
    is_uncertain
        Whether that reading may be wrong.
    is_code
        Whether the names are digits that begin with 0: numbers are other names.
    dates
        The notation of dates in a column of strings; None for columns of other types.
    constant
        The cell of all rows, of a column that is ignored because it does not vary; empty if no cell is known; None for
        all other columns.
    """

    name: str
    kind: str
    type: str
    why: str = ""
    parts: tuple[str, ...] = ()
    truth: tuple[str, str] | None = None
    format: NumberFormat | None = None
    note: str = ""
    is_uncertain: bool = False
    is_code: bool = False
    dates: DateFormat | None = None
    constant: tuple[Cell, ...] | None = None

    @property
    def is_time_of_day(self) -> bool:
        """Whether the cells are times of day, which are read as hours since midnight."""
        return self.dates is not None and self.dates.order == "hms"

    def features(self, taken: frozenset[str] = frozenset()) -> list[Feature]:
        """Return the features of the column; the name of a part of a date differs from all columns."""
        if self.kind == "date":
            names = {part: f"{self.name}.{part}" for part in self.parts}
            names = {part: f"{self.name} ({part})" if name in taken else name for part, name in names.items()}
            return [Feature(names[part], PARTS[part], self.name, part) for part in self.parts]
        return [Feature(self.name, self.kind, self.name)]


@dataclass(frozen=True)
class Roles:
    """Columns that say how rows are held out and counted; they are no features unless the user gives them a kind.

    Parameters
    ----------
    group
        Rows of the same group are held out together.
    time
        Rows are held out in the order of this column, after the rows that models are fitted to.
    weight
        How much each row counts.
    """

    group: str | None = None
    time: str | None = None
    weight: str | None = None

    @property
    def columns(self) -> dict[str, str]:
        """The columns, each with its role."""
        return {name: role for role, name in asdict(self).items() if name is not None}

    def check(self, names: Sequence[str], target: str) -> None:
        """Raise for a column that a table lacks, and for roles that exclude each other."""
        for role, name in asdict(self).items():
            if name is None:
                continue
            if name not in names:
                raise UsageError(
                    f"there is no column {name!r} for the {role}; there are {listed(names)}{nearest(name, names)}"
                )
            if name == target:
                raise UsageError(f"the {role} cannot be the target, {name!r}: name another column")
            if self.columns[name] != role:
                raise UsageError(f"column {name!r} cannot be both the {role} and the {self.columns[name]}")
        if self.group is not None and self.time is not None:
            raise UsageError("rows are held out by group or by time, not by both: leave out one of the two")


NO_ROLES = Roles()


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
    missing: tuple[str, ...] = ()  # names of missing cells
    roles: Roles = NO_ROLES
    table_notes: tuple[str, ...] = ()  # how the table is read

    @property
    def predictors(self) -> tuple[Field, ...]:
        """The columns that the target is predicted from."""
        return tuple(field for field in self.fields if field.name != self.target and field.kind != "ignore")

    @property
    def ignored(self) -> tuple[Field, ...]:
        """The columns that are left out."""
        return tuple(field for field in self.fields if field.name != self.target and field.kind == "ignore")

    @property
    def features(self) -> tuple[Feature, ...]:
        """The features of the columns."""
        taken = frozenset(field.name for field in self.fields)
        return tuple(feature for field in self.predictors for feature in field.features(taken))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns that are read."""
        return tuple(field.name for field in self.predictors)

    @property
    def fitted_columns(self) -> list[str]:
        """The names of the columns that a fit reads: features, target, and columns with a role."""
        return list(dict.fromkeys([*self.columns, self.target, *self.roles.columns]))

    @property
    def strings(self) -> tuple[str, ...]:
        """The columns that are read as strings, even if they look like numbers: names, texts, formatted numbers."""
        return tuple(
            field.name
            for field in self.fields
            if field.format is not None
            or field.dates is not None
            or (field.type == "name" and (field.kind in ("category", "text") or field.name == self.target))
        )

    @property
    def notes(self) -> tuple[str, ...]:
        """How the table and its columns are read, for the user, where that is not obvious."""
        told = [
            field for field in self.fields if field.kind != "ignore" or not field.dates or field.name == self.roles.time
        ]
        return (*self.table_notes, *(field.note for field in told if field.note))

    def field(self, name: str) -> Field:
        """Return a column by its name."""
        return next(field for field in self.fields if field.name == name)

    def with_kind(self, name: str, kind: str, why: str, constant: tuple[Cell, ...] | None = None) -> Schema:
        """Return the same schema with another kind for one column."""
        return self.with_fields({name: replace(self.field(name), kind=kind, why=why, constant=constant)})

    def with_fields(self, fields: Mapping[str, Field]) -> Schema:
        """Return the same schema with other fields for some columns, by name."""
        return replace(self, fields=tuple(fields.get(each.name, each) for each in self.fields))

    @property
    def constants(self) -> dict[str, tuple[Cell, ...]]:
        """The cell of all rows of each column that is ignored because it does not vary; empty if none is known."""
        return {field.name: field.constant for field in self.fields if field.constant is not None}

    def with_parts(self, name: str, parts: tuple[str, ...]) -> Schema:
        """Return the same schema with other parts of one column of dates."""
        return self.with_fields({name: replace(self.field(name), parts=parts)})

    def with_notation(self, name: str, found: Notation) -> Schema:
        """Return the same schema with another notation of the numbers of one column."""
        own = self.field(name)
        is_told = own.kind != "ignore" or found.is_uncertain or found.format is not None
        own = replace(
            own,
            format=found.format,
            note=found.note if is_told else "",  # the reason why it is ignored says enough
            is_uncertain=found.is_uncertain,
            is_code=found.is_code,
        )
        return replace(self, fields=tuple(own if each.name == name else each for each in self.fields))

    def with_dates(self, name: str, found: DateNotation) -> Schema:
        """Return the same schema with another notation of the dates of one column."""
        own = replace(self.field(name), dates=found.format, note=found.note, is_uncertain=found.is_uncertain)
        if own.is_time_of_day and own.kind == "count":
            own = replace(own, kind="numeric")
        return self.with_fields({name: own})

    def with_separators(self, options: NumberOptions) -> Schema:
        """Return the schema for another table, with the separators and the order of dates that the user has given.

        Examples
        --------
        >>> schema = Schema((Field("price", "numeric", "number"), Field("sold", "category", "name")), "sold", "classes")
        >>> schema.with_separators(NumberOptions(decimal=",")).field("price").format
        NumberFormat(decimal=',', thousands='.', unit='', missing=())
        """

        def read(field: Field) -> Field:
            found = field
            if options.day_first is not None and field.dates is not None and not field.is_time_of_day:
                found = replace(found, dates=replace(field.dates, order="dmy" if options.day_first else "mdy"))
            is_number = field.kind in ("numeric", "count") or (field.name == self.target and self.task != "classes")
            if is_number and (options.decimal, options.thousands) != (None, None):
                found = replace(found, format=(field.format or NumberFormat()).with_separators(options))
            return found

        return replace(self, fields=tuple(map(read, self.fields)))

    def check_columns(self, names: Iterable[str], table: str, target: bool = False) -> None:
        """Raise if a table lacks columns of the model; with the target, also the weight."""
        have = list(names)
        weight = [] if self.roles.weight is None else [self.roles.weight]
        wanted = [*self.columns, *([self.target, *weight] if target else [])]
        absent = [name for name in wanted if name not in have]
        if absent:
            hint = nearest(absent[0], [each for each in have if each not in wanted])
            raise TableError(
                f"{table} lacks {'the columns' if len(absent) > 1 else 'the column'} {listed(absent)}, which the model "
                f"reads{hint}; rename or add {'them' if len(absent) > 1 else 'it'}"
            )

    def to_plain(self) -> dict[str, Any]:
        """Return the schema as plain values."""
        return {**asdict(self), "missing": list(self.missing), "table_notes": list(self.table_notes)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Schema:
        """Return the schema that :meth:`to_plain` wrote."""
        fields = tuple(
            Field(
                **{
                    **each,
                    "parts": tuple(each["parts"]),
                    "truth": None if each["truth"] is None else (each["truth"][0], each["truth"][1]),
                    "format": None if each.get("format") is None else NumberFormat.from_plain(each["format"]),
                    "dates": None if each.get("dates") is None else DateFormat.from_plain(each["dates"]),
                    "constant": None if each.get("constant") is None else tuple(each["constant"]),
                }
            )
            for each in plain["fields"]
        )
        roles = Roles(**plain.get("roles", {}))
        notes = tuple(plain.get("table_notes", ()))
        return cls(fields, plain["target"], plain["task"], tuple(plain["missing"]), roles, notes)


#: First rows of a table that its schema is inferred from.
HEAD_ROWS = 50_000
#: Largest number of distinct integers of a target that are classes.
FEW_CLASSES = 10


def infer_schema(
    head: pa.Table,
    target: str,
    kinds: Mapping[str, str] | None = None,
    task: str | None = None,
    is_complete: bool = True,
    missing: tuple[str, ...] = (),
    categorical: frozenset[str] = frozenset(),
    numbers: NumberOptions | None = None,
    formats: Mapping[str, NumberFormat] | None = None,
    is_part: bool = False,
) -> Schema:
    """Return the schema of a table, inferred from its first rows.

    Parameters
    ----------
    head
        The first rows.
    target
        Name of the column to predict.
    kinds
        Kinds of columns that the user has set.
    task
        "classes", "numbers" or "counts", if the user has set it.
    is_complete
        Whether these are all rows of the table.
    missing
        Strings that stand for a missing cell.
    categorical
        Columns of a categorical type.
    numbers
        How strings are read as numbers.
    formats
        The notation of numbers of some columns, if it is known.
    is_part
        Whether the target may have one value only, since rows of other tables may be added.
    """
    clocks = [field.name for field in head.schema if arrow().types.is_time(field.type)]
    head = mark_missing(head, missing)
    names = head.schema.names
    if target not in names:
        raise UsageError(f"there is no column {target!r} to predict; there are {listed(names)}{nearest(target, names)}")
    wanted = {str(name): str(kind) for name, kind in (kinds or {}).items()}
    for name, kind in wanted.items():
        if name not in names:
            raise UsageError(f"there is no column {name!r} of kind {kind!r}{nearest(name, names)}")
        if kind not in KINDS:
            raise UsageError(
                f"{kind!r} is not a kind of column; the kinds are {', '.join(KINDS)}{nearest(kind, KINDS)}"
            )
    if task is not None and task not in TASKS:
        raise UsageError(f"{task!r} is not a task; the tasks are {', '.join(TASKS)}{nearest(task, TASKS)}")
    options = numbers or NumberOptions()
    check_options(options)
    is_named = task == "classes" or wanted.get(target) not in (None, "numeric", "count")
    notations = {name: Notation(found) for name, found in (formats or {}).items()}
    dated = {name: DateNotation(DateFormat("hms")) for name in clocks if name != target}
    if formats is None:
        inferred = [name for name in names if name not in categorical and not (is_named and name == target)]
        dates = [
            name for name in inferred if name != target and wanted.get(name) in (None, "date", "ignore", "numeric")
        ]
        dated |= {
            name: each
            for name, each in _find_dates(head, dates, missing, options).items()
            if wanted.get(name) != "numeric" or (each.format is not None and each.format.order == "hms")
        }
        plain = {name: wanted.get(name) for name in inferred if name not in dated}
        notations = _find_notations(head, plain, missing, options)
    written = head  # with numbers and dates as the table writes them
    for name, days in dated.items():
        if days.format is not None and name not in clocks:
            moments = days.format.parse(head[name], missing)[0]
            read = to_hours(moments) if days.format.order == "hms" else as_days(moments)
            head = head.set_column(names.index(name), name, read)
    for name, found in notations.items():
        if found.format is not None and cell_type(head[name].type) == "name":
            cells, _ = found.format.parse(head[name], missing)
            head = head.set_column(names.index(name), name, cells)
    fields = [
        _target_field(head[name], name, is_complete)
        if name == target
        else _predictor_field(head[name], written[name], name, wanted.get(name), is_complete, name in categorical)
        for name in names
    ]
    task = _infer_task(head[target], target, task, wanted.get(target), is_complete and not is_part)
    schema = Schema(tuple(fields), target, task, missing)
    if options.is_text and not options.is_typed:  # the source has found codes in other rows
        note = "column {!r}: some cells begin with 0: read as names, not as numbers"
        notations |= {name: Notation(None, note.format(name), is_code=True) for name in categorical}
    for name, found in notations.items():
        if found.format is not None or found.note:
            schema = schema.with_notation(name, found)
    for name, days in dated.items():
        schema = schema.with_dates(name, days)
    for field in schema.fields:
        if field.name != target and field.kind in ("ignore", "text") and field.name not in wanted:
            schema = schema.with_fields({field.name: _name_unread(field, head[field.name])})
    if not schema.predictors:
        ignored = listed(f"{each.name}: {each.note.partition(': ')[2] or each.why}" for each in schema.ignored)
        raise TableError(
            f"no column is left to predict {target!r} from"
            + (f" ({ignored}): set their kinds with --kind COLUMN=KIND" if ignored else ": it is the only one")
        )
    return schema


def date_parts(*, has_times: bool) -> tuple[str, ...]:
    """Return the parts of dates, with the hour if they have times."""
    return tuple(part for part in PARTS if has_times or part != "hour")


def _predictor_field(
    column: Any, written: Any, name: str, wanted: str | None, is_complete: bool, is_categorical: bool
) -> Field:
    """Return a column that is not the target, with the kind that the user has set, or else the inferred one.

    A column that has one value and missing cells varies. ``written`` has the cells as the table writes them.
    """
    cell_type = column_cell_type(column)
    cells = _cells_for_inference(column, cell_type)
    truth = find_truth_words(cell_type, cells)
    is_date = cell_type in ("date", "moment")
    parts = date_parts(has_times=cell_type == "moment" and not are_days(column)) if is_date else ()
    if wanted is not None:
        _check_wanted_kind(column, name, wanted, cell_type, truth)
        return Field(name, wanted, cell_type, "set by the user", parts, truth if wanted == "boolean" else None)
    if cell_type == "other":
        return Field(name, "ignore", cell_type, f"holds {column.type}")
    known = len(column) - column.null_count
    is_complete = is_complete and known in (0, len(column))
    kind, why = infer_kind(cell_type, known, cells, name=name, is_complete=is_complete, is_categorical=is_categorical)
    note = f"column {name!r}: {why}; {kind_cure(name, 'numeric')} if not" if why and kind == "category" else ""
    constant = _find_constant(column, written) if kind == "ignore" else None
    return Field(name, kind, cell_type, why, parts, truth if kind == "boolean" else None, note=note, constant=constant)


def _name_unread(field: Field, column: Any) -> Field:
    """Return a column that is no feature, or a text, with a note if it looks like dates or times."""
    if field.type == "other" and (arrow().types.is_duration(column.type) or arrow().types.is_interval(column.type)):
        note = f"column {field.name!r} holds durations, and is ignored: convert them to numbers"
        return replace(field, note=note, is_uncertain=True)
    if field.type != "name" or field.note or field.constant is not None:
        return field
    note = note_unread(field.name, column)
    return replace(field, note=note, is_uncertain=bool(note))


def _find_constant(column: Any, written: Any) -> tuple[Cell, ...] | None:
    """Return the cell of all rows as the table writes it, nothing if no cell is known, None of other columns."""
    if column.null_count == len(column):
        return ()
    if column.null_count or len(column.unique()) > 1:
        return None
    cell = written[0].as_py()
    if isinstance(cell, Decimal):
        cell = float(cell)
    if isinstance(cell, float) and not np.isfinite(cell):
        return None
    return (cell if isinstance(cell, str | int | float) else cell.isoformat(),)


def _find_notations(
    head: pa.Table, wanted: Mapping[str, str | None], missing: tuple[str, ...], options: NumberOptions
) -> dict[str, Notation]:
    """Return the notation of columns of strings that are numbers, or of which the user is told something.

    Where a comma may separate decimals or thousands, the decimal separator of other columns decides.
    """
    counts = {
        name: count_cells(head[name], missing)
        for name, kind in wanted.items()
        if cell_type(head[name].type) == "name"
        and kind in (None, "numeric", "count")
        and (kind is not None or may_be_numbers(head[name]))
    }
    found = {
        name: find_notation(name, cells, options, wanted[name] is not None) for name, cells in counts.items() if cells
    }
    hint = _find_decimal(head, found.values(), options)
    if hint is not None:
        found = {name: find_notation(name, counts[name], options, wanted[name] is not None, hint) for name in found}
    return found


def _find_dates(
    head: pa.Table, names: Iterable[str], missing: tuple[str, ...], options: NumberOptions
) -> dict[str, DateNotation]:
    """Return the notation of columns of strings that are dates, or of which the user is told something.

    Where days and months may be swapped, the order of other columns decides.
    """
    counts = {
        name: count_cells(head[name], missing)
        for name in names
        if cell_type(head[name].type) == "name" and may_be_dates(head[name])
    }
    clear = {has_clear_order(cells) for cells in counts.values()} - {None}
    hint = clear.pop() if len(clear) == 1 else None
    found = {name: find_date_notation(name, cells, options.day_first, hint) for name, cells in counts.items()}
    return {name: each for name, each in found.items() if each.format is not None or each.note}


def _find_decimal(head: pa.Table, notations: Iterable[Notation], options: NumberOptions) -> str | None:
    """Return the decimal separator of those columns of a table that have no other reading; None if they differ."""
    decimals = {each.format.decimal for each in notations if each.format is not None and each.format.decimal == ","}
    certain = (each.format for each in notations if each.format is not None and not each.is_uncertain)
    decimals |= {"." for each in certain if each.thousands == ","}
    if options.is_text and not options.is_typed:
        decimals |= {"." for column in head.columns if column_cell_type(column) == "number"}
    return decimals.pop() if len(decimals) == 1 else None


def _cells_for_inference(column: Any, cell_type: CellType) -> Any:
    """Return the finite numbers of a column, or the distinct cells of a column of another type."""
    if cell_type in ("whole", "number"):
        return known_integers(column) if arrow().types.is_integer(column.type) else finite_numbers(column)
    if cell_type in ("other", "nothing"):
        return ()
    distinct = column.drop_null().unique()
    return (distinct if cell_type == "name" else distinct[:2]).to_pylist()  # of others, it matters whether they vary


def _check_wanted_kind(column: Any, name: str, wanted: str, cell_type: CellType, truth: tuple[str, str] | None) -> None:
    """Raise where a column cannot have the kind that the user has set."""
    if cell_type == "other" and wanted != "ignore":
        raise TableError(f"column {name!r} holds {column.type}, which no kind of column describes: leave it out")
    if cell_type in ("date", "moment") and wanted in ("numeric", "count", "boolean", "text"):
        raise TableError(f"column {name!r} holds dates, which cannot be {wanted}: use date, category or ignore")
    if cell_type == "truth" and wanted in ("count", "text", "date"):
        raise TableError(f"column {name!r} holds booleans, which cannot be {wanted}: use boolean or category")
    if wanted == "date" and cell_type not in ("date", "moment"):
        raise TableError(f"column {name!r} does not hold dates; write them as 2024-12-31, or use a query")
    if wanted == "boolean" and truth is None and cell_type != "truth":
        raise TableError(f"column {name!r} is not boolean: it must hold two values, such as true and false")


# The target.


def constant_target(name: str, value: Any) -> TableError:
    """Return the error about a target that has one value."""
    return TableError(
        f"the target {name!r} is always {value!r}: there is nothing to predict; if these rows are to be merged with "
        "others, name a model of sums: nb, gda, linear or text (--model, model= in Python)"
    )


def _target_field(column: Any, name: str, is_complete: bool) -> Field:
    cell_type = column_cell_type(column)
    if column.null_count == len(column) and (is_complete or cell_type in ("nothing", "other")):
        raise TableError(f"all cells of the target {name!r} are missing: there is nothing to learn from")
    if cell_type in ("date", "moment", "other"):
        raise TableError(
            f"the target {name!r} holds {_describe_cells(column, cell_type)}: predict a category, a number or a count"
        )
    return Field(name, "category" if cell_type in ("name", "truth") else "numeric", cell_type)


def _infer_task(column: Any, name: str, wanted: str | None, kind: str | None, is_complete: bool) -> Task:
    """Return the task: the one that the user has set, or the one of the target's kind, or the inferred one."""
    cell_type = column_cell_type(column)
    cells = column.drop_null()
    distinct = len(cells.unique())
    if distinct == 1 and is_complete:
        raise constant_target(name, cells[0].as_py())
    if kind == "ignore":
        raise UsageError(f"the target {name!r} cannot be ignored: predict another column")
    if wanted is None and kind is not None:
        wanted = {"numeric": "numbers", "count": "counts"}.get(kind, "classes")
    if cell_type not in ("whole", "number"):
        if wanted in ("numbers", "counts"):
            raise TableError(
                f"the target {name!r} holds {_describe_cells(column, cell_type)}, not numbers: it can only be classes"
            )
        if cell_type == "name" and len(cells) >= FEW_CELLS and distinct > NEARLY_ALL * len(cells):
            raise TableError(
                f"the target {name!r} has {distinct} distinct values in {len(cells)} rows: there are no "
                "classes to learn; choose another target"
            )
        return "classes"
    values = np.unique(finite_numbers(column))
    fractions = values[values != np.floor(values)]
    if wanted == "counts" and (len(fractions) or (values < 0).any()):
        bad = values[(values < 0) | (values != np.floor(values))][0]
        raise TableError(f"the target {name!r} holds {bad:g}, which is not a count: predict numbers")
    if wanted == "classes" and len(fractions):
        raise TableError(f"the target {name!r} holds {fractions[0]:g}, which names no class")
    if wanted is not None:
        return wanted  # type: ignore[return-value]
    if cell_type == "whole" and distinct <= FEW_CLASSES:
        return "classes"
    return "counts" if cell_type == "whole" and 0 <= values[0] < SMALLEST_COUNT else "numbers"


def _describe_cells(column: Any, cell_type: CellType) -> str:
    """Return the type of a column's cells in words."""
    words = {"date": "dates", "moment": "moments", "name": "names", "truth": "booleans"}
    return words.get(cell_type, str(column.type))
