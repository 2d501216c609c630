"""A table's model as a SELECT: cells are read as the model reads them, in the words of the database."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from suffice.kernels.sql.dialect import Dialect, dialect_of, quoted, quoted_path
from suffice.kernels.sql.scores import Scoring, unused_prefix
from suffice.tables.blocks import named
from suffice.tables.cells import TRUTHS, numeric_marks
from suffice.tables.columns import date_part, part_names, term_columns
from suffice.tables.described import Described
from suffice.tables.designed import Designed
from suffice.tables.errors import TableError
from suffice.tables.schema import Feature, Field, Schema
from suffice.tables.scoring import PREDICTION, no_words, probability_names, written_by
from suffice.tables.terms import Levels, Words

#: The types of columns, ``{k}``, as each database tells them. PostgreSQL's decimals are read as floats.
_TYPES = {
    "duckdb": {
        "truth": "{k} = 'BOOLEAN'",
        "whole": "({k} in ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', "
        "'UBIGINT', 'UHUGEINT') or regexp_full_match({k}, 'DECIMAL.*,0.'))",
        "float": "({k} in ('FLOAT', 'DOUBLE') or starts_with({k}, 'DECIMAL'))",
        "date": "{k} = 'DATE'",
        "moment": "starts_with({k}, 'TIMESTAMP')",
        "name": "({k} in ('VARCHAR', 'UUID', 'JSON') or starts_with({k}, 'ENUM'))",
    },
    "postgresql": {
        "truth": "{k} = 'boolean'::regtype",
        "whole": "{k} in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)",
        "float": "{k} in ('real'::regtype, 'float8'::regtype, 'numeric'::regtype, 'money'::regtype)",
        "date": "{k} = 'date'::regtype",
        "moment": "{k} in ('timestamp'::regtype, 'timestamptz'::regtype)",
        "name": "({k} in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) or {k} not in ('boolean'::regtype, "
        "'smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, 'float8'::regtype, "
        "'numeric'::regtype, 'money'::regtype, 'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype, "
        "'time'::regtype, 'timetz'::regtype, 'interval'::regtype, 'bytea'::regtype) and right({k}::text, 2) <> '[]')",
    },
}
#: Numbers and dates in strings, as the reader takes them.
_NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?([nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?"
_ZONED = "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
#: Blanks: those of ASCII, and the others of Unicode.
_BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f"
_OTHER_BLANKS = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
#: Whole numbers below this are written by a database as bigint.
_BIGINT = 9e18


class _Cell(NamedTuple):
    """Expressions of a cell."""

    string: str
    type: str
    number: str  # NULL where it is none
    plain: str  # what is NULL where the cell is


@dataclass(frozen=True)
class ScoredCells:
    """What a fitted model sees of a table's columns, as SQL.

    A SELECT is written without knowing the types that its table's columns have: a column of numbers may lie in the
    database as strings, one of booleans as words. So each column is taken as a string with its type beside it, and is
    read from these as :mod:`suffice.tables.blocks` reads it; what the reader refuses fails the query, with the column's
    name.

    Parameters
    ----------
    schema
        The columns.
    dialect
        How the database writes things.
    prefix
        What names within the query begin with.
    levels
        Of each category: the names that the model knows.
    """

    schema: Schema
    dialect: Dialect
    prefix: str = "m_"
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def steps(self, columns: Iterable[str]) -> list[list[tuple[str, str]]]:
        """Return the steps from the columns of the table to their values, each a list of expressions and names.

        DuckDB knows the types when it plans, and keeps of each expression what they need: one step will do. PostgreSQL
        takes strings and types in the first step, and numbers in the second.
        """
        strings: list[tuple[str, str]] = []
        numbers: list[tuple[str, str]] = []
        values: list[tuple[str, str]] = []
        for column in columns:
            own = self.schema.field(column)
            cell = _Cell(self._string(own), self._type(column), f"try_cast({quoted(column)} as double)", quoted(column))
            if self.dialect.name == "postgresql":
                x, k, n = (self._name(letter, column) for letter in "xkn")
                strings += [(cell.string, x), (cell.type, k)]
                numbers += [(x, x), (k, k)]
                cell = _Cell(x, k, n, x)
                if own.kind != "date":
                    numbers.append((self._parsed(cell), n))
            else:
                cell = cell._replace(number=self._parsed(cell))
            values.append((self._value(own, cell), self._name("v", column)))
        return [step for step in (strings, numbers, values) if step]

    def _name(self, letter: str, column: str) -> str:
        place = next(place for place, each in enumerate(self.schema.fields) if each.name == column)
        return f"{self.prefix}{letter}{place}"

    def _is(self, k: str, *types: str) -> str:
        """Return the condition that a column's type is one of some."""
        conditions = [_TYPES[self.dialect.name][each].format(k=k) for each in types]
        return conditions[0] if len(conditions) == 1 else f"({' or '.join(conditions)})"

    # The steps.

    def _type(self, column: str) -> str:
        return f"{'typeof' if self.dialect.name == 'duckdb' else 'pg_typeof'}({quoted(column)})"

    def _string(self, own: Field) -> str:
        """Return a column as strings, which are compared byte by byte; dates as ISO 8601, whatever the session says."""
        column = quoted(own.name)
        if self.dialect.name == "duckdb":
            return f"({column}::varchar collate c)"
        dates = f"to_json({column}) #>> '{{}}'"
        if own.kind == "date":
            return f'({dates}) collate "C"'
        if own.kind == "category":
            is_date = self._is(self._type(own.name), "date")
            return f'(case when {is_date} then {dates} else {column}::text end) collate "C"'
        return f'({column}::text) collate "C"'

    def _trimmed(self, cell: _Cell) -> str:
        """Return a string without blanks around it."""
        x = cell.string
        if self.dialect.name == "duckdb":
            return f"trim({x}, {self.dialect.string(_BLANKS + _OTHER_BLANKS)})"
        # Most strings are ASCII, for which the quick way will do. A pattern is understood in every encoding.
        blanks = "[\\s\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"
        pattern = self.dialect.string(f"^{blanks}|{blanks}$")
        return (
            f"(case when octet_length({x}) = length({x}) then btrim({x}, {self.dialect.string(_BLANKS)}) "
            f"else regexp_replace({x}, {pattern}, '', 'g') end)"
        )

    def _matches(self, t: str, pattern: str) -> str:
        if self.dialect.name == "duckdb":
            return f"regexp_full_match({t}, '{pattern}')"
        return f"{t} ~ '^({pattern})$'"

    def _parsed(self, cell: _Cell) -> str:
        """Return a cell as a number; NULL where it is none."""
        t, k = self._trimmed(cell), cell.type
        number = f"{self._is(k, 'name')} and {self._matches(t, _NUMBER)}"
        if self.dialect.name == "duckdb":
            plain = self._is(k, "truth", "whole", "float")
            return f"(case when {plain} then {cell.number} when {number} then try_cast({t} as double) end)"
        x = cell.string
        return (
            f"case when {k} = 'real'::regtype then {x}::real::float8 when {k} = 'money'::regtype then "
            f"{x}::money::numeric::float8 when {self._is(k, 'whole', 'float')} then {x}::float8 "
            f"when {self._is(k, 'truth')} then {x}::boolean::int::float8 when {number} then {t}::float8 end"
        )

    def _is_gap(self, t: str) -> str:
        gaps = ", ".join(
            self.dialect.string(gap) for gap in dict.fromkeys(["", *self.schema.missing]) if self._is_possible(gap)
        )
        return f"{t} in ({gaps})"

    def _is_possible(self, name: str) -> bool:
        """Whether a string of the database may hold a name."""
        return self.dialect.name == "duckdb" or "\0" not in name

    def _value(self, own: Field, cell: _Cell) -> str:
        """Return the value of a cell: a number, a name, or a moment in UTC; NULL where it is missing."""
        if own.kind == "category":
            return self._named(own, cell)
        gap = f"{self._is(cell.type, 'name')} and {self._is_gap(self._trimmed(cell))}"
        missing = [f"{cell.plain} is null", gap]
        if own.kind == "date":
            return f"case when {' or '.join(missing)} then null {self._moment(own, cell)} end"
        marks = numeric_marks(self.schema.missing)
        missing += [
            self.dialect.is_nan(cell.number),
            *(f"{cell.number} = {self.dialect.number(mark)}" for mark in marks),
        ]
        cases = self._truth(own, cell) if own.kind == "boolean" else self._number(own, cell)
        return f"case when {' or '.join(missing)} then null {cases} end"

    def _refused(self, own: Field, before: str, cell: _Cell, after: str, kind: str = "float8") -> str:
        return self.dialect.refusal(f"column {own.name!r} {before}", cell.string, after, kind)

    def _number(self, own: Field, cell: _Cell) -> str:
        n = cell.number
        no_number = self._refused(own, "is to hold numbers, and holds ", cell, ": correct the cell, or leave it empty")
        too_large = self._refused(own, "is ", cell, "; it must be finite, or missing")
        cases = [f"when {n} is null then {no_number}", f"when {self.dialect.is_infinite(n)} then {too_large}"]
        if own.kind == "count":
            no_count = self._refused(own, "is ", cell, ", which is no count")
            cases.append(f"when {n} < 0 or {n} <> floor({n}) then {no_count}")
        return f"{' '.join(cases)} else {n}"

    def _truth(self, own: Field, cell: _Cell) -> str:
        written = own.truth or ("false", "true")
        numbers, names = self._is(cell.type, "truth", "whole", "float"), self._is(cell.type, "name")
        pairs = TRUTHS if own.type == "truth" else (written,)  # truth values have no spelling of their own
        cases = []
        for value in (0, 1):
            words = ", ".join(self.dialect.string(pair[value].casefold()) for pair in pairs)
            cases.append(
                f"when {numbers} and {cell.number} = {value} or {names} and lower({self._trimmed(cell)}) in ({words}) "
                f"then {self.dialect.number(value)}"
            )
        cure = f", neither {written[0]!r} nor {written[1]!r}"
        return f"{' '.join(cases)} else {self._refused(own, 'is ', cell, cure)}"

    def _named(self, own: Field, cell: _Cell) -> str:
        """Return the name of a cell, as :func:`suffice.tables.blocks.named` gives it."""
        x, k, n, plain = cell
        text = "varchar" if self.dialect.name == "duckdb" else "text"
        infinite = self.dialect.number(np.inf)
        known = self.levels.get(own.name, ())
        odd = next((level for level in known if _is_written_otherwise(level)), None)
        words = {level.casefold(): level for level in known}
        pair = next((pair for pair in TRUTHS if set(pair) == set(words)), None)
        truth = x
        if pair is not None and own.type == "name":
            no, yes = (self.dialect.string(words[word]) for word in pair)
            truth = f"case when {x} = 'true' then {yes} else {no} end"
        numbers = [
            f"when {self._is(k, 'whole')} then {x}",
            f"when {self._is(k, 'float')} then case when {self.dialect.is_nan(n)} then 'nan' "
            f"when {n} = {infinite} then 'inf' when {n} = -{infinite} then '-inf' "
            f"when {n} = floor({n}) and abs({n}) < {self.dialect.number(_BIGINT)} then {n}::bigint::{text} "
            f"else {n}::{text} end",
        ]
        if odd is not None:
            cure = f", a number, and the model was fitted to strings such as {odd!r}: cast it to them"
            numbers = [f"when {self._is(k, 'whole', 'float')} then {self._refused(own, 'holds ', cell, cure, text)}"]
        cure = ", of a type that names no category: cast it to a string as the model was fitted to"
        return (
            f"case when {plain} is null then null when {self._is(k, 'name', 'date')} then {self._trimmed(cell)} "
            f"when {self._is(k, 'truth')} then {truth} {' '.join(numbers)} "
            f"else {self._refused(own, 'holds ', cell, cure, text)} end"
        )

    def _moment(self, own: Field, cell: _Cell) -> str:
        """Return a date in UTC, without a time zone."""
        t = self._trimmed(cell)
        cure = ", which is no date: write dates as 2024-12-31, or leave the cell empty"
        refused = self._refused(own, "holds ", cell, cure, "timestamp")
        plain, zoned = f"{t}::timestamp", f"({t}::timestamptz at time zone 'UTC')"
        if self.dialect.name == "duckdb":
            plain = f"coalesce(try_cast({t} as timestamp), {refused})"
            zoned = f"coalesce(make_timestamp(epoch_us(try_cast({t} as timestamptz))), {refused})"
        return (
            f"when not {self._is(cell.type, 'name', 'date', 'moment')} then {refused} "
            f"when {self._matches(t, _DATE)} then {plain} when {self._matches(t, _ZONED)} then {zoned} else {refused}"
        )

    # What models see of the values.

    def _cell(self, feature: Feature) -> str:
        value = self._name("v", feature.column)
        return value if feature.part is None else date_part(value, feature.part, self.dialect)

    def known_number(self, feature: Feature) -> str:
        """Return a feature as a number, NULL where it is missing."""
        return self._cell(feature)

    def is_missing(self, feature: Feature) -> str:
        """Return the condition that a cell stands for nothing."""
        cell = self._name("v", feature.column)
        if feature.part is None and feature.kind == "category":
            return f"({cell} is null or {self._is_gap(cell)})"
        return f"{cell} is null"

    def _level(self, feature: Feature, level: str) -> str | None:
        """Return a name as what a cell is compared with; None for one that no cell can have."""
        if feature.part is not None:
            number = part_names(feature.part).get(level)
            return None if number is None else str(number)
        return self.dialect.string(level) if self._is_possible(level) else None

    def is_level(self, feature: Feature, level: str) -> str:
        """Return the condition that a cell has a name."""
        value = self._level(feature, level)
        return "false" if value is None else f"{self._cell(feature)} = {value}"

    def code(self, feature: Feature, names: Sequence[Any]) -> str:
        """Return the code of a cell's name; the one after the last for a name that is none of them."""
        values = [(self._level(feature, str(name)), code) for code, name in enumerate(names)]
        known = " ".join(f"when {value} then {code}" for value, code in values if value is not None)
        among = f"case {self._cell(feature)} {known} else {len(names)} end" if known else str(len(names))
        return f"case when {self.is_missing(feature)} then null else {among} end"


def _is_written_otherwise(level: str) -> bool:
    """Whether a name is a number that is not written as the reader writes it: 01, or 1.0."""
    for read in (int, float):
        try:
            return named([read(level)]).vocabulary.names != (level,)
        except ValueError:
            continue
    return False


def table_query(model: Any, dialect: str, table: str, keep: Sequence[str] = ()) -> str:
    """Return a SELECT that scores the rows of a table as a model of a table does."""
    spoken, schema, predictor = dialect_of(dialect), model.schema_, model.predictor_
    _check_names(keep, model)
    if isinstance(predictor, Described):
        levels = predictor.inner.levels()
        used = schema.features
    elif isinstance(predictor, Designed):
        terms = {term.feature: term for term in predictor.design.terms if not isinstance(term, Words) or term.words}
        levels = {name: term.levels for name, term in terms.items() if isinstance(term, Levels)}
        used = tuple(feature for feature in predictor.design.features if feature.name in terms)
    else:
        raise TableError(
            f"a model of the form {predictor.form.name!r} cannot be written as a SELECT: score rows here, with predict"
        )
    _check_features(used, schema)
    cells = ScoredCells(schema, spoken, unused_prefix(keep), levels)
    if isinstance(predictor, Described):
        expressions, kinds = _described(predictor, cells), [feature.kind for feature in used]
    else:
        expressions, kinds = _designed(predictor, cells), []
    steps = cells.steps(dict.fromkeys(feature.column for feature in used))
    scoring = Scoring(spoken, quoted_path(table, spoken), expressions, tuple(keep), steps)
    return written_by(predictor.inner, scoring, kinds, model._labels if schema.task == "classes" else None)


def _check_names(keep: Sequence[str], model: Any) -> None:
    """Raise where a column that is kept is called like one that is made."""
    made = {PREDICTION, *probability_names(model._labels).values()}
    clash = [name for name in keep if name in made]
    if clash:
        raise TableError(f"the column {clash[0]!r} cannot be kept: the query makes one of that name; leave it out")


def _check_features(features: Sequence[Feature], schema: Schema) -> None:
    """Raise where a database would read a column otherwise than it is read here."""
    for feature in features:
        if feature.kind == "text":
            raise TableError(str(no_words(feature.column)))
        if feature.kind == "category" and feature.part is None and schema.field(feature.column).type == "moment":
            raise TableError(
                f"column {feature.column!r} holds moments that are taken for names, which databases write otherwise: "
                "score rows here, with predict, or fit it as a date"
            )


def _described(predictor: Described, cells: ScoredCells) -> list[str]:
    """Return what naive Bayes sees of a row."""
    conditional: Any = predictor.inner._joint.conditional
    factors = conditional.factors
    names = iter(factors["category"].vocabularies) if "category" in factors else iter(())
    return [
        cells.code(feature, tuple(next(names))) if feature.kind == "category" else cells.known_number(feature)
        for feature in cells.schema.features
    ]


def _designed(predictor: Designed, cells: ScoredCells) -> list[str]:
    """Return the columns of a design."""
    features = {feature.name: feature for feature in predictor.design.features}
    return [
        expression
        for term in predictor.design.terms
        if not isinstance(term, Words)  # one without a word, which adds no column
        for expression in term_columns(term, features[term.feature], cells)[0]
    ]
