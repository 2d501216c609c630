"""What a table's columns are: their kinds, which one is the target, and the features that are made of the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from suffice.metrics import Task as Task
from suffice.tables.errors import TableError, listed, nearest

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
