"""A table's model as a SELECT: cells are read as the model reads them, in the words of the database."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suffice.engines.sql.dialect import Dialect, dialect_of, quoted
from suffice.engines.sql.scores import Scoring
from suffice.tables.columns import date_part, part_names, term_columns
from suffice.tables.described import Described
from suffice.tables.designed import Designed
from suffice.tables.errors import TableError
from suffice.tables.schema import Feature, Schema
from suffice.tables.scoring import PREDICTION, no_words, probability_names, written_by
from suffice.tables.terms import Words


@dataclass(frozen=True)
class ScoredCells:
    """What a fitted model sees of a table's columns, as SQL.

    Columns are taken to be of the types that they had when the model was fitted. Names have the blanks around them
    removed; what stands for nothing is missing, and so is what is neither of a boolean's two values.
    """

    schema: Schema
    dialect: Dialect

    def _type(self, feature: Feature) -> str:
        return self.schema.field(feature.column).type

    def _text(self, feature: Feature) -> str:
        """Return a cell as a string without blanks around it."""
        blanks = "' ' || chr(9) || chr(10) || chr(11) || chr(12) || chr(13)"
        function = "trim" if self.dialect.name == "duckdb" else "btrim"
        return f"{function}({quoted(feature.column)}::text, {blanks})"

    def _nothing(self, feature: Feature) -> str:
        """Return the condition that a cell that is a string stands for nothing."""
        gaps = ", ".join(self.dialect.string(gap) for gap in dict.fromkeys(["", *self.schema.missing]))
        return f"({quoted(feature.column)} is null or {self._text(feature)} in ({gaps}))"

    def is_missing(self, feature: Feature) -> str:
        """Return the condition that a cell stands for nothing."""
        if feature.part is None and self._type(feature) == "name":
            return self._nothing(feature)
        return f"{quoted(feature.column)} is null"

    def known_number(self, feature: Feature) -> str:
        """Return a feature as a number, NULL where it is missing."""
        column, kind = quoted(feature.column), self._type(feature)
        if feature.part is not None:
            return self._subject(feature)
        if feature.kind == "boolean":
            return self._truth(feature)
        if kind == "truth":
            return f"{column}::int::float8"
        if kind == "name":
            return f"(case when {self._nothing(feature)} then null else {self._text(feature)} end)::float8"
        return self.dialect.known(f"{column}::float8")

    def _moment(self, feature: Feature) -> str:
        return f"{quoted(feature.column)}::timestamp"

    def _truth(self, feature: Feature) -> str:
        column, field = quoted(feature.column), self.schema.field(feature.column)
        if field.type == "truth":
            return f"{column}::int::float8"
        if field.type in ("whole", "number"):
            return f"(case when {column} = 1 then 1 when {column} = 0 then 0 end)::float8"
        no, yes = (self.dialect.string(word.casefold()) for word in field.truth or ("false", "true"))
        cell = f"lower({self._text(feature)})"
        return f"(case when {cell} = {yes} then 1 when {cell} = {no} then 0 end)::float8"

    def is_level(self, feature: Feature, level: str) -> str:
        """Return the condition that a cell has a name."""
        value = self._value(feature, level)
        return "false" if value is None else f"{self._subject(feature)} = {value}"

    def _subject(self, feature: Feature) -> str:
        """Return what is compared with names: a string, a number, a truth value, or a part of a date."""
        if feature.part is not None:
            return date_part(self._moment(feature), feature.part, self.dialect)
        plain = self._type(feature) in ("whole", "number", "truth")
        return quoted(feature.column) if plain else self._text(feature)

    def _value(self, feature: Feature, level: str) -> str | None:
        """Return a name as what it is compared with; None for one that no cell can have."""
        if feature.part is not None:
            number = part_names(feature.part).get(level)
            return None if number is None else str(number)
        kind = self._type(feature)
        if kind in ("whole", "number"):
            value = _parsed(level)
            return None if value is None else self.dialect.value(value)
        if kind == "truth":
            return level if level in ("true", "false") else None
        return self.dialect.string(level)

    def code(self, feature: Feature, names: Sequence[Any]) -> str:
        """Return the code of a cell's name; the one after the last for a name that is none of them."""
        values = [(self._value(feature, str(name)), code) for code, name in enumerate(names)]
        known = " ".join(f"when {value} then {code}" for value, code in values if value is not None)
        among = f"case {self._subject(feature)} {known} else {len(names)} end" if known else str(len(names))
        return f"case when {self.is_missing(feature)} then null else {among} end"


def _parsed(level: str) -> int | float | None:
    """Return the number that a name stands for."""
    for read in (int, float):
        try:
            return read(level)
        except ValueError:
            continue
    return None


def table_query(model: Any, dialect: str, table: str, keep: Sequence[str] = ()) -> str:
    """Return a SELECT that scores the rows of a table as a model of a table does."""
    spoken, schema, predictor = dialect_of(dialect), model.schema_, model.predictor_
    cells = ScoredCells(schema, spoken)
    _check_names(keep, model)
    if isinstance(predictor, Described):
        expressions, kinds = _described(predictor, cells)
    elif isinstance(predictor, Designed):
        expressions, kinds = _designed(predictor, cells), []
    else:
        raise TableError(
            f"a model of the form {predictor.form.name!r} cannot be written as a SELECT: score rows here, with predict"
        )
    scoring = Scoring(spoken, quoted(table), expressions, tuple(keep))
    return written_by(predictor.inner, scoring, kinds, model._labels if schema.task == "classes" else None)


def _check_names(keep: Sequence[str], model: Any) -> None:
    """Raise where a column that is kept is called like one that is made."""
    made = {PREDICTION, *probability_names(model._labels).values()}
    clash = [name for name in keep if name in made]
    if clash:
        raise TableError(f"the column {clash[0]!r} cannot be kept: the query makes one of that name; leave it out")


def _described(predictor: Described, cells: ScoredCells) -> tuple[list[str], list[str]]:
    """Return what naive Bayes sees of a row, and the kind of each cell."""
    features = cells.schema.features
    conditional: Any = predictor.inner._joint.conditional
    factors = conditional.factors
    names = iter(factors["category"].vocabularies) if "category" in factors else iter(())
    expressions = []
    for feature in features:
        if feature.kind == "text":
            raise TableError(str(no_words(feature.column)))
        if feature.kind == "category":
            expressions.append(cells.code(feature, tuple(next(names))))
        else:
            expressions.append(cells.known_number(feature))
    return expressions, [feature.kind for feature in features]


def _designed(predictor: Designed, cells: ScoredCells) -> list[str]:
    """Return the columns of a design."""
    features = {feature.name: feature for feature in predictor.design.features}
    expressions: list[str] = []
    for term in predictor.design.terms:
        feature = features[term.feature]
        if isinstance(term, Words):
            if term.words:
                raise TableError(str(no_words(feature.column)))
            continue
        expressions += term_columns(term, feature, cells)[0]
    return expressions
