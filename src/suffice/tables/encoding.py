"""Encoding of Arrow batches: features as numbers, category codes and texts; targets as codes or numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice import _native
from suffice.column_kinds import TRUTH_WORDS, CellType
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.arrow_arrays import find_known, from_numbers, to_numbers
from suffice.tables.cells import (
    cell_type,
    combine_chunks,
    mark_missing,
    missing_numbers,
    parse_dates,
    split_dates,
    to_floats,
    to_hours,
)
from suffice.tables.date_format import DateFormat
from suffice.tables.errors import CellError, TableError, kind_cure, listed
from suffice.tables.number_format import NumberFormat
from suffice.tables.schema import Feature, Field, Schema
from suffice.tables.sources.base import arrow

if TYPE_CHECKING:
    import pyarrow as pa

Codes = npt.NDArray[np.signedinteger[Any]]

#: Names of up to this many cells are found by Python: pyarrow.compute takes as long to import.
_FEW_CELLS = 10_000


class KindError(TableError):
    """A cell that does not fit the kind of its column, which was inferred from the first rows."""

    def __init__(self, message: str, column: str, cure: str) -> None:
        super().__init__(message)
        self.column = column
        self.cure = cure  # the kind that would fit


@dataclass(frozen=True, eq=False)
class CodedColumn:
    """A category column: the index of each cell in a sorted vocabulary, -1 for missing cells."""

    vocabulary: Labels
    codes: Codes


@dataclass(frozen=True, eq=False)
class PackedNumbers:
    """Numbers in a compact encoding: integer multiples of ``1 / unit``, the lowest for a missing cell; or floats.

    Examples
    --------
    >>> packed = PackedNumbers.of(np.array([0.25, np.nan, -0.5]))
    >>> packed.cells.tolist(), packed.unit, packed.unpacked().tolist()
    ([25, -128, -50], 100.0, [0.25, nan, -0.5])
    """

    cells: npt.NDArray[Any]
    unit: float

    @classmethod
    def of(cls, numbers: FloatArray) -> PackedNumbers:
        """Return numbers in the fewest bytes that represent them exactly: 1, 2, 4 or 8 each."""
        return cls(*_native.rows.pack_numbers(np.ascontiguousarray(numbers)))

    def unpacked(self) -> FloatArray:
        """Return the numbers, NaN for missing cells."""
        return _native.rows.unpack_numbers(np.ascontiguousarray(self.cells), self.unit)


@dataclass(frozen=True, eq=False)
class Block:
    """A batch of encoded rows, one column per feature.

    Parameters
    ----------
    features
        The features of the columns.
    columns
        For each feature: numbers with NaN for missing cells, :class:`CodedColumn`, or a list of texts. Numbers of rows
        that are only encoded as a matrix may be :class:`PackedNumbers`.
    rows
        Number of rows.
    first
        Position of the first row in its table.
    weights
        How much each row counts, (n,); None: all the same.
    """

    features: tuple[Feature, ...]
    columns: tuple[Any, ...]
    rows: int
    first: int = 0
    weights: FloatArray | None = None

    def __getitem__(self, rows: Any) -> Block:
        count = len(range(self.rows)[rows]) if isinstance(rows, slice) else len(np.arange(self.rows)[rows])
        columns = tuple(_take_rows(column, rows) for column in self.columns)
        return Block(self.features, columns, count, self.first, None if self.weights is None else self.weights[rows])

    @classmethod
    def of(cls, batch: pa.RecordBatch | pa.Table, schema: Schema, first: int = 0) -> Block:
        """Return the encoded features of a batch; raise for a cell that does not fit its kind."""
        columns: list[Any] = []
        for field in schema.predictors:
            columns.extend(encode_column(batch.column(field.name), field, first, schema.missing))
        return cls(schema.features, tuple(columns), batch.num_rows, first)


def numeric_ranges(block: Block) -> dict[str, tuple[float, float]]:
    """Return the least and the largest value of each numeric feature with known cells."""
    found: dict[str, tuple[float, float]] = {}
    for feature, column in zip(block.features, block.columns, strict=True):
        known = column[~np.isnan(column)] if feature.kind == "numeric" else np.zeros(0)
        if len(known):
            found[feature.name] = float(known.min()), float(known.max())
    return found


def _take_rows(column: Any, rows: Any) -> Any:
    if isinstance(column, CodedColumn):
        return CodedColumn(column.vocabulary, column.codes[rows])
    if isinstance(column, PackedNumbers):
        return PackedNumbers(column.cells[rows], column.unit)
    if isinstance(column, list):
        return [column[place] for place in np.arange(len(column))[rows]]
    return column[rows]


def encode_column(column: Any, field: Field, first: int, missing: tuple[str, ...]) -> list[Any]:
    """Return the encoded features of a column: one, or the parts of a date."""
    kind = cell_type(column.type)
    if kind == "nothing":
        column = arrow().nulls(len(column), arrow().string())
        kind = "name"
    if kind == "other":
        raise TableError(f"column {field.name!r} holds {column.type}: convert it to numbers or names, or leave it out")
    column, kind = _apply_format(column, field, kind, first, missing)
    if field.is_code and kind in ("whole", "number"):
        raise TableError(
            f"column {field.name!r} had codes that begin with 0 at the fit, and holds {column.type}, without these "
            "zeros: give the codes as strings (dtype=str in pandas), or fit again"
        )
    if field.kind == "date":
        return _encode_dates(column, field, missing)
    if field.is_time_of_day and kind == "name":
        column, kind = to_hours(_parse_dates(column, field, missing)), "number"
    if field.kind in ("numeric", "count"):
        return [_encode_numbers(column, field, kind, first, missing)]
    if field.kind == "boolean":
        return [encode_truths(column, field, kind, first, missing)]
    if field.kind == "text":
        gaps = {None, *missing}
        texts = column if column.type == arrow().string() else column.cast(arrow().string())
        return [["" if text in gaps else text for text in texts.to_pylist()]]
    return [encode_names(column, missing)]


def _encode_dates(column: Any, field: Field, missing: tuple[str, ...]) -> list[Any]:
    kind = cell_type(column.type)
    if kind == "name" and field.dates is None:
        column = mark_missing(arrow().table({"": column}), missing).column(0)
        kind = cell_type(column.type)
        if kind == "name":  # not as Arrow reads ISO 8601, but perhaps with a zone's name
            moments, _ = DateFormat("ymd").parse(combine_chunks(column), missing)
            if moments.null_count == column.null_count:
                column, kind = moments, "moment"
    elif kind == "name":
        column = _parse_dates(column, field, missing)
        kind = cell_type(column.type)
    if kind not in ("date", "moment") and column.null_count < len(column):
        cell = next(
            (cell for cell in column.drop_null().to_pylist() if parse_dates(arrow().array([str(cell)])) is None), ""
        )
        raise KindError(
            f"column {field.name!r} is a date, but {str(cell)!r} is not: write dates as 2024-12-31, or leave the cell "
            "empty",
            field.name,
            "category",
        )
    time, parts = split_dates(column)
    return [time if part == "time" else _keep_used_names(*parts[part]) for part in field.parts]


def _parse_dates(column: Any, field: Field, missing: tuple[str, ...]) -> Any:
    """Parse strings as the dates of a field; raise for a cell that is neither a date nor missing."""
    import pyarrow.compute as pc

    assert field.dates is not None
    moments, is_wrong = field.dates.parse(combine_chunks(column), missing)
    if pc.any(is_wrong).as_py():
        cell = combine_chunks(column).filter(is_wrong)[0].as_py()
        first = {"dmy": "day", "mdy": "month", "ymd": "year", "hms": ""}[field.dates.order]
        what = f"dates that begin with the {first}" if first else "times of day such as 13:05"
        raise KindError(
            f"column {field.name!r} has {what}, but {cell!r} is none: correct the cell, "
            "leave it empty, or give --missing, --day-first or --month-first (Dialect in Python) for this table",
            field.name,
            "category",
        )
    return moments


def _keep_used_names(codes: npt.NDArray[np.int64], names: Sequence[str]) -> CodedColumn:
    """Return codes of names, -1 for missing cells, as a category column of those names that occur."""
    used = np.unique(codes[codes >= 0])
    distinct = encode_values([names[code] for code in used])
    places = np.full(len(names) + 1, -1, dtype=distinct.codes.dtype)  # the last one for -1
    places[used] = distinct.codes
    return CodedColumn(distinct.vocabulary, places[codes])


def _encode_numbers(column: Any, field: Field, kind: str, first: int, missing: tuple[str, ...]) -> FloatArray:
    if kind == "name":
        column = _parse_numbers(column, NumberFormat(), field.name, first, missing)
    elif kind not in ("number", "whole", "truth"):
        raise TableError(f"column {field.name!r} must hold numbers, and holds {column.type}: convert it, or fit again")
    cells = _mask_missing(to_floats(column), missing)
    if kind != "truth" and np.isinf(cells).any():
        row = int(np.argmax(np.isinf(cells)))
        raise TableError(
            f"column {field.name!r} is {cells[row]:g} in row {first + row + 1}: it must be finite, or missing"
        )
    if field.kind == "count":
        bad = (cells < 0) | (cells != np.floor(cells)) & ~np.isnan(cells)
        if bad.any():
            row = int(np.argmax(bad))
            raise KindError(
                f"column {field.name!r} is {cells[row]:g} in row {first + row + 1}, which is not a count: "
                f"{kind_cure(field.name, 'numeric')}",
                field.name,
                "numeric",
            )
    return cells


def _mask_missing(cells: FloatArray, missing: tuple[str, ...]) -> FloatArray:
    """Return numbers with NaN in place of those that mark missing cells."""
    marks = missing_numbers(missing)
    return np.where(np.isin(cells, marks), np.nan, cells) if marks else cells


def _apply_format(
    column: Any, field: Field, kind: CellType, first: int, missing: tuple[str, ...]
) -> tuple[Any, CellType]:
    """Return a column of strings as numbers in the field's format, with its cell type; other columns unchanged."""
    if field.format is None or kind != "name":
        if field.format is not None and field.format.needs_unit and kind != "nothing":
            unit = field.format.unit
            doubt = "is 12 % 12 or 0.12" if unit == "%" else f"is the unit {unit}, too"
            raise TableError(
                f"column {field.name!r} had strings such as '12{unit}' at the fit, and holds {column.type}: {doubt}? "
                "give strings with the unit, or fit again"
            )
        return column, kind
    return _parse_numbers(column, field.format, field.name, first, missing), "number"


def _parse_numbers(column: Any, notation: NumberFormat, name: str, first: int, missing: tuple[str, ...]) -> Any:
    """Parse strings as numbers; raise for a cell that is neither a number nor missing."""
    import pyarrow.compute as pc

    cells, is_wrong = notation.parse(combine_chunks(column), missing)
    if pc.any(is_wrong).as_py():
        row = pc.index(is_wrong, True).as_py()
        wrong = combine_chunks(column).filter(is_wrong).unique().to_pylist()
        words = f" (numbers with {notation.describe()})" if notation.describe() else ""
        raise CellError(
            f"column {name!r} must hold numbers{words}; row {first + row + 1} holds {wrong[0]!r}"
            f"{f', others {listed(wrong[1:], 2)}' if len(wrong) > 1 else ''}: correct the cell, leave it empty, or "
            f"give --missing {wrong[0]!r}, --decimal or --thousands (Dialect in Python) for this table",
            name,
        )
    return cells


def encode_truths(column: Any, field: Field, kind: str, first: int, missing: tuple[str, ...]) -> FloatArray:
    """Return a column of booleans, numbers or truth words as 0 and 1, NaN where a cell is missing."""
    if kind == "truth":
        return to_floats(column)
    written = field.truth or ("false", "true")
    cure = "numeric" if kind in ("whole", "number") else "category"
    if kind in ("whole", "number"):
        cells = _mask_missing(to_floats(column), missing)
        bad = (cells != 0) & (cells != 1) & ~np.isnan(cells)
        shown = f"{cells[int(np.argmax(bad))]:g}" if bad.any() else ""
    else:
        found = encode_names(column, missing)
        places = {written[0].casefold(): 0.0, written[1].casefold(): 1.0}
        if field.type == "truth":  # the column had booleans at the fit, which have no spelling
            places = {word: float(truth) for word, truth in TRUTH_WORDS.items()}
        values = np.array([*(places.get(str(name).casefold(), np.inf) for name in found.vocabulary), np.nan])
        cells = values[found.codes]
        bad = np.isinf(cells)
        shown = repr(found.vocabulary.names[found.codes[int(np.argmax(bad))]]) if bad.any() else ""
    if bad.any():
        row = first + int(np.argmax(bad)) + 1
        raise KindError(
            f"column {field.name!r} is {shown} in row {row}, neither {written[0]!r} nor {written[1]!r}: "
            f"{kind_cure(field.name, cure)}",
            field.name,
            cure,
        )
    return cells


def encode_names(column: Any, missing: tuple[str, ...] = ()) -> CodedColumn:
    """Return a column of any type as category names, stripped of blanks; names in ``missing`` are missing cells.

    Examples
    --------
    >>> found = encode_names(arrow().array([" red", "blue", None, "red"]))
    >>> found.vocabulary.names, found.codes.tolist()
    (('blue', 'red'), [1, 0, -1, 1])
    """
    column = combine_chunks(column)
    is_dictionary = arrow().types.is_dictionary(column.type)
    if not is_dictionary and len(column) <= _FEW_CELLS:
        cells = column.to_pylist()
        places = {cell: place for place, cell in enumerate(dict.fromkeys(cells))}
        distinct = encode_values(places, missing)
        return CodedColumn(distinct.vocabulary, distinct.codes[[places[cell] for cell in cells]])
    if not is_dictionary:
        column = column.dictionary_encode()
    distinct = encode_values(column.dictionary.to_pylist(), missing)
    codes, known = to_numbers(column.indices).astype(np.intp), find_known(column.indices)
    found = np.append(distinct.codes, -1)[codes if known is None else np.where(known, codes, -1)]
    return CodedColumn(distinct.vocabulary, found)


def encode_values(values: Iterable[Any], missing: tuple[str, ...] = ()) -> CodedColumn:
    """Return values of any type as category names; blank strings and names in ``missing`` are missing cells.

    Examples
    --------
    >>> encode_values([1.0, Decimal("2.50"), " x ", None, True]).vocabulary.names
    ('1', '2.5', 'true', 'x')
    """
    written = [_format_name(each) for each in values]
    gaps = {"", *missing}
    vocabulary = Labels.of([each for each in written if each not in gaps])
    return CodedColumn(vocabulary, vocabulary.find(written))


def _format_name(value: Any) -> str:
    if isinstance(value, Decimal):
        value = int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 1.0 and 1 name the same category
    return ("true" if value else "false") if isinstance(value, bool) else "" if value is None else str(value).strip()


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of a batch of rows.

    Parameters
    ----------
    known
        Which rows of the batch have a target; the others are left out.
    labels
        The classes that occur; empty if the target is a number.
    values
        Codes of the labels, or numbers, of the rows with a target.
    """

    known: npt.NDArray[np.bool_]
    labels: Labels
    values: npt.NDArray[Any]

    @classmethod
    def of(cls, column: Any, schema: Schema, first: int = 0) -> Targets:
        """Return the targets of a batch; raise for a cell that does not fit the task."""
        kind = cell_type(column.type)
        if kind == "other":
            raise TableError(f"the target {schema.target!r} holds {column.type}: predict a class or a number")
        column, kind = _apply_format(column, schema.field(schema.target), kind, first, schema.missing)
        if schema.task == "classes":
            found = encode_names(column, schema.missing)
            known = found.codes >= 0
            plain = [_typed(str(name), schema.field(schema.target).type) for name in found.vocabulary]
            labels = Labels.of(plain)
            return cls(known, labels, labels.find(plain)[found.codes[known]])
        if kind not in ("number", "whole"):
            raise TableError(f"the target {schema.target!r} must hold numbers; it holds {column.type}")
        cells = to_floats(column)
        known = ~np.isnan(cells)
        values = cells[known]
        bad = np.isinf(values) | ((values < 0) | (values != np.floor(values)) if schema.task == "counts" else False)
        if bad.any():
            row = first + int(np.flatnonzero(known)[int(np.argmax(bad))]) + 1
            what = "not a count" if schema.task == "counts" else "not a finite number"
            raise TableError(
                f"the target {schema.target!r} is {values[np.argmax(bad)]:g} in row {row}, which is {what}"
            )
        return cls(known, Labels(), values)

    def into(self, labels: Labels) -> npt.NDArray[np.int64]:
        """Return the codes of the targets among other labels; raise for a class that is not among them."""
        codes = self.places(labels)
        strange = dict.fromkeys(self.unknown(codes))
        if strange:
            raise TableError(
                f"the target holds {listed(strange)}, which the model does not know; it knows {listed(labels)}: "
                "correct the cells, or fit again"
            )
        return codes

    def places(self, labels: Labels) -> npt.NDArray[np.int64]:
        """Return the codes of the targets among other labels, -1 for classes that are not among them."""
        return self.values if labels == self.labels else np.asarray(labels.find(self.labels.names)[self.values])

    def unknown(self, codes: npt.NDArray[np.int64]) -> list[Any]:
        """Return the classes of the rows whose code is -1."""
        return [self.labels.names[value] for value in self.values[codes < 0].tolist()]


def encode_rows(batch: Any, schema: Schema, first: int = 0) -> tuple[Block, Targets]:
    """Return the encoded rows of a batch that have a target, and their targets."""
    targets = Targets.of(batch.column(schema.target), schema, first)
    weight = schema.roles.weight
    weights = None if weight is None else encode_weights(batch.column(weight), weight, targets.known, schema, first)
    if not targets.known.all():
        batch = batch.filter(from_numbers(targets.known))
    block = Block.of(batch, schema, first)
    return (block if weights is None else replace(block, weights=weights)), targets


def encode_weights(column: Any, name: str, known: npt.NDArray[np.bool_], schema: Schema, first: int = 0) -> FloatArray:
    """Return the weights of the rows with a target; raise for one that is missing, negative or not finite."""
    kind = cell_type(column.type)
    if kind == "name":
        column = _parse_numbers(column, schema.field(name).format or NumberFormat(), name, first, schema.missing)
    elif kind not in ("number", "whole", "truth"):
        raise TableError(f"the weight {name!r} must hold numbers, and holds {column.type}: name another column")
    found = _mask_missing(to_floats(column), schema.missing)
    bad = known & ~((found >= 0) & np.isfinite(found))
    if bad.any():
        row = int(np.argmax(bad))
        what = "missing" if np.isnan(found[row]) else f"{found[row]:g}"
        raise TableError(
            f"the weight {name!r} is {what} in row {first + row + 1}: it must be a number, 0 or more; correct the "
            "cell, or leave out the row (--query)"
        )
    return found[known]


def encode_times(column: Any, name: str, schema: Schema) -> FloatArray:
    """Return the time of each row as a number, NaN where it is missing; dates as days since 1970."""
    kind = cell_type(column.type)
    if kind == "name" and schema.field(name).is_time_of_day:
        return to_floats(to_hours(_parse_dates(column, schema.field(name), schema.missing)))
    if kind == "name" and schema.field(name).dates is not None:
        return split_dates(_parse_dates(column, schema.field(name), schema.missing))[0]
    if kind == "name":
        column = mark_missing(arrow().table({"": column}), schema.missing).column(0)
        kind = cell_type(column.type)
    if kind in ("date", "moment"):
        return split_dates(column)[0]
    if kind not in ("number", "whole", "nothing"):
        raise TableError(f"the time {name!r} holds {column.type}: it must hold numbers, or dates written as 2024-12-31")
    return _mask_missing(to_floats(column), schema.missing)


def check_roles(batch: Any, schema: Schema, first: int = 0) -> None:
    """Raise for a row without a group or a time."""
    roles = schema.roles
    if roles.group is not None:
        is_missing = encode_names(batch.column(roles.group), schema.missing).codes < 0
    elif roles.time is not None:
        is_missing = np.isnan(encode_times(batch.column(roles.time), roles.time, schema))
    else:
        return
    if is_missing.any():
        role, name = ("group", roles.group) if roles.group is not None else ("time", roles.time)
        raise TableError(
            f"the {role} {name!r} is missing in row {first + int(np.argmax(is_missing)) + 1}: fill in the cell, or "
            "leave out the row (--query)"
        )


def _typed(name: str, kind: str) -> Any:
    """Return the name of a class in the type of the target at the fit: a boolean, a number or a string."""
    if kind == "truth":
        return TRUTH_WORDS.get(name.casefold(), name)
    if kind in ("whole", "number"):
        for read in (int, float):
            try:
                return read(name)
            except ValueError:
                continue
    return name


class Bins:
    """Bins of a numeric target, which are the classes of the naive Bayes description.

    Examples
    --------
    >>> bins = Bins.of(np.arange(100.0), 4)
    >>> bins.codes(np.array([3.0, 99.0])).tolist()
    [0, 3]
    """

    def __init__(self, edges: FloatArray) -> None:
        self.edges = np.asarray(edges, dtype=np.float64)
        self.labels = Labels(tuple(range(len(self.edges) + 1)))

    @classmethod
    def of(cls, values: FloatArray, count: int = 5) -> Bins:
        """Return bins of about equally many numbers."""
        return cls(np.unique(np.quantile(values, np.linspace(0, 1, count + 1)[1:-1])))

    def codes(self, values: FloatArray) -> npt.NDArray[np.int64]:
        """Return the bin of each number."""
        return np.searchsorted(self.edges, values, side="right").astype(np.int64)
