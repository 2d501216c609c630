"""The design matrix of a formula: the columns of its terms, and their learned transforms."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.formula.cells import Categories, Cells, Table
from suffice.formula.errors import FormulaError
from suffice.formula.expressions import (
    Arithmetic,
    Call,
    Column,
    Constant,
    Expression,
    Negative,
    columns_of,
    parse_expression,
)
from suffice.formula.transforms import STATEFUL, Coding, Learner, NumberTransform, Transform, learner_of
from suffice.kernels import Batch
from suffice.kernels.engine import Execution, engine_for
from suffice.statistics.base import FloatArray
from suffice.tables.errors import TableError, listed, nearest
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import TableLike

#: Rows in a block: their columns stay in the cache.
BLOCK = 32768
#: Most columns of a design.
MOST_COLUMNS = 20_000


class ExtrapolationWarning(UserWarning):
    """Cells beyond the range in which a spline was learned: the prediction extrapolates its outer pieces."""


class DesignColumn(NamedTuple):
    """A column of the design: a product of one column of each factor."""

    name: str
    term: str
    parts: tuple[tuple[int, int, bool], ...]  # of each factor: its number, its column, whether all levels have a column


@dataclass(frozen=True, eq=False)
class Design:
    """The terms of a formula, and their columns.

    Examples
    --------
    >>> import pandas as pd
    >>> from suffice import formula
    >>> table = pd.DataFrame({"y": [1.0, 2.0, 4.0, 3.0], "dose": [0, 1, 2, 1], "sex": list("fmfm")})
    >>> design = formula.fit("y ~ dose + sex", table).design
    >>> design.names
    ['dose', 'sex[m]']
    >>> design.matrix(table[:2])
    array([[0., 0.],
           [1., 1.]])
    """

    terms: tuple[tuple[str, ...], ...]  #: the factors of each term
    intercept: bool
    transforms: Mapping[str, Transform]  #: the learned transforms, by the text of the call
    dropped: tuple[str, ...] = ()  #: collinear columns
    unseen: str = "error"
    _factors: tuple[Expression, ...] = field(init=False, repr=False)
    _columns: tuple[DesignColumn, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        texts = list(dict.fromkeys(factor for term in self.terms for factor in term))
        object.__setattr__(self, "_factors", tuple(parse_expression(each) for each in texts))
        object.__setattr__(self, "_columns", tuple(self._lay_out(texts)))

    @classmethod
    def learn(cls, terms: Sequence[Sequence[Expression]], intercept: bool, transforms: Mapping[str, Transform]) -> Self:
        """Return the design of terms whose transforms are learned."""
        return cls(tuple(tuple(str(factor) for factor in term) for term in terms), intercept, transforms)

    @property
    def names(self) -> list[str]:
        """The names of the columns, without the intercept and without columns that were dropped."""
        return [column.name for column in self._columns if column.name not in self.dropped]

    @property
    def all_names(self) -> list[str]:
        """The names of all columns, including those that were dropped."""
        return [column.name for column in self._columns]

    @property
    def columns_read(self) -> list[str]:
        """The columns of the table that the terms read."""
        return list(dict.fromkeys(name for factor in self._factors for name in columns_of(factor)))

    def columns_of_terms(self) -> dict[str, list[str]]:
        """Return the names of the columns of each term, without those that were dropped."""
        found: dict[str, list[str]] = {_term_title(term): [] for term in self.terms}
        for column in self._columns:
            if column.name not in self.dropped:
                found[column.term].append(column.name)
        return found

    def columns_read_by_terms(self) -> dict[str, list[str]]:
        """Return the columns of the table that each term reads."""
        return {
            _term_title(term): list(dict.fromkeys(name for each in term for name in columns_of(parse_expression(each))))
            for term in self.terms
        }

    def codings(self) -> dict[str, Coding]:
        """Return the coding of each category, by its name in the columns."""
        return {_title(factor): coding for factor in self._factors if (coding := self._coding(factor)) is not None}

    def drop(self, names: Sequence[str]) -> Self:
        """Return the design without some columns."""
        return replace(self, dropped=(*self.dropped, *names))

    def matrix(self, data: TableLike) -> FloatArray:
        """Return the columns of the rows of a table, (n, p), without the intercept.

        Parameters
        ----------
        data
            A table, as for :func:`suffice.formula.fit`. NaN for rows with a missing cell.
        """
        table = Table(data)
        table.check_columns(self.columns_read)
        parts = [self.evaluate(cells) for cells in table.batches(self.columns_read)]
        return np.concatenate(parts) if parts else np.zeros((0, len(self.names)))

    def evaluate(self, cells: Cells, n_jobs: int | None = None) -> FloatArray:
        """Return the columns of a batch of rows, (n, p), written in ranges of rows by several threads."""
        kept = [column for column in self._columns if column.name not in self.dropped]
        found = np.empty((cells.rows, len(kept)))
        if not found.size:
            return found
        needed = sorted({(number, full) for column in kept for number, _, full in column.parts})
        codes = {number: self._codes(number, cells) for number, _ in needed if self._coding(self._factors[number])}
        coded = {(number, full): self._coded(number, full) for number, full in needed if number in codes}
        writers = _writers(kept)

        def write(part: Batch, _: Any) -> None:
            stop = cells.rows if part.stop is None else part.stop
            for start in range(part.start, stop, BLOCK):
                rows = slice(start, min(start + BLOCK, stop))
                block = cells.block(rows.start, rows.stop)
                values: dict[tuple[int, bool], FloatArray] = {}
                for number, full in needed:
                    if number in codes:
                        values[number, full] = coded[number, full].take(codes[number][rows], axis=0)
                    else:
                        values[number, full] = _wide(evaluate(self._factors[number], block, self.transforms))
                for where, (first, *others) in writers:
                    column = values[first[0], first[2]][:, first[1]]
                    for number, columns, full in others:
                        column = column * values[number, full][:, columns]
                    found[rows, where] = column
                    if others:
                        _check_finite(column, kept[where.start], block)

        for _ in engine_for(Execution(n_jobs), found).map(write, Batch(found)):
            pass
        for message in cells.noted.values():
            warn_user(message, ExtrapolationWarning)
        return found

    def _coding(self, factor: Expression) -> Coding | None:
        found = self.transforms.get(str(factor))
        return found if isinstance(found, Coding) else None

    def _codes(self, number: int, cells: Cells) -> npt.NDArray[np.intp]:
        factor = self._factors[number]
        coding = self._coding(factor)
        assert coding is not None
        assert isinstance(factor, Call)
        source = category_cells(factor.x, cells, self.transforms)
        codes, strange = coding.encode(source, _title(factor), self.unseen)
        if strange is not None:
            level = source.levels[source.codes[strange]] if isinstance(source, Categories) else f"{source[strange]:g}"
            raise TableError(
                f"{_title(factor)} is {level!r} in row {cells.position(strange)}: the model was fitted to "
                f"{listed(coding.levels)}{nearest(str(level), map(str, coding.levels))}; unseen='reference' predicts "
                f"such rows as {coding.levels[coding.reference]!r}"
            )
        return codes

    def _coded(self, number: int, full: bool) -> FloatArray:
        """Return the columns of each level of a category, and a last row of NaN for missing cells, code -1."""
        coding = self._coding(self._factors[number])
        assert coding is not None
        matrix = coding.matrix(full)
        return np.concatenate([matrix, np.full((1, matrix.shape[1]), np.nan)])

    def _lay_out(self, texts: Sequence[str]) -> Iterator[DesignColumn]:
        """Yield the columns: each category is coded so that columns are not collinear with those of other terms."""
        numbers = {text: number for number, text in enumerate(texts)}
        used: dict[frozenset[int], set[frozenset[int]]] = {}
        if self.intercept:
            used[frozenset()] = {frozenset()}
        seen: set[str] = set()
        for term in self.terms:
            factors = [numbers[factor] for factor in term]
            categories = [each for each in factors if self._coding(self._factors[each]) is not None]
            others = frozenset(factors) - frozenset(categories)
            title = ":".join(_title(self._factors[each]) for each in factors)
            for full in _codings_of(categories, used.setdefault(others, set())):
                present = [each for each in factors if each in others or each in full]
                columns = [self._columns_of(each, full.get(each, False)) for each in present]
                # The first factor varies fastest, as in R.
                for places in product(*(range(len(each)) for each in reversed(columns))):
                    chosen = list(zip(present, columns, reversed(places), strict=True))
                    name = ":".join(names[place] for _, names, place in chosen)
                    if name in seen:
                        raise FormulaError(f"formula: two terms have a column called {name}: drop one of them")
                    seen.add(name)
                    if len(seen) > MOST_COLUMNS:
                        raise FormulaError(f"formula: its terms have more than {MOST_COLUMNS:,} columns")
                    parts = tuple((factor, place, full.get(factor, False)) for factor, _, place in chosen)
                    yield DesignColumn(name, title, parts)

    def _columns_of(self, number: int, full: bool) -> list[str]:
        """Return the names of the columns of a factor."""
        factor = self._factors[number]
        title, transform = _title(factor), self.transforms.get(str(factor))
        if isinstance(transform, Coding):
            return [f"{title}[{name}]" for name in (map(str, transform.levels) if full else transform.names)]
        width = transform.width if isinstance(transform, NumberTransform) else None
        return [title] if width is None else [f"{title}[{place}]" for place in range(1, width + 1)]

    # The file.

    def settings(self) -> dict[str, Any]:
        """Return the design as plain values, for the model's file."""
        return {
            "terms": [list(term) for term in self.terms],
            "intercept": self.intercept,
            "transforms": {
                text: {"kind": type(each).__name__, **each.settings()} for text, each in self.transforms.items()
            },
            "dropped": list(self.dropped),
            "unseen": self.unseen,
        }

    @classmethod
    def from_settings(cls, settings: Mapping[str, Any]) -> Self:
        """Return the design with these settings, which are untrusted: expressions are parsed, and nothing is run."""
        transforms = {
            str(text): Transform.kinds[each["kind"]].from_settings(each)
            for text, each in settings["transforms"].items()
        }
        terms = tuple(tuple(str(factor) for factor in term) for term in settings["terms"])
        dropped = tuple(str(name) for name in settings["dropped"])
        if settings["unseen"] not in ("error", "reference"):
            raise ValueError(f"unseen must be 'error' or 'reference'; got {settings['unseen']!r}")
        return cls(terms, bool(settings["intercept"]), transforms, dropped, str(settings["unseen"]))


def _writers(columns: Sequence[DesignColumn]) -> list[tuple[Any, list[tuple[int, Any, bool]]]]:
    """Return which columns of the design are written together, and from which columns of the factors.

    Neighbours that are columns of one factor in order are one slice.
    """
    found: list[tuple[Any, list[tuple[int, Any, bool]]]] = []
    for place, column in enumerate(columns):
        if len(column.parts) == 1 and found and len(found[-1][1]) == 1:
            where, [(number, taken, full)] = found[-1]
            part = column.parts[0]
            if (number, full) == (part[0], part[2]) and where.stop == place and taken.stop == part[1]:
                found[-1] = slice(where.start, place + 1), [(number, slice(taken.start, part[1] + 1), full)]
                continue
        found.append(
            (slice(place, place + 1), [(number, slice(at, at + 1), full) for number, at, full in column.parts])
        )
    return found


def _codings_of(categories: Sequence[int], used: set[frozenset[int]]) -> list[dict[int, bool]]:
    """Return the codings of a term's categories: for each column set, whether all levels of a category have a column.

    A term spans the products of all subsets of its contrasts. Those spanned by earlier terms are dropped, and the
    others are merged where a contrast and its absence together are all levels (as in patsy).
    """
    subsets: list[frozenset[int]] = [frozenset()]
    for category in categories:
        subsets += [each | {category} for each in subsets]
    order = {subset: place for place, subset in enumerate(subsets)}
    fresh = sorted((each for each in subsets if each not in used), key=lambda each: (len(each), order[each]))
    used.update(fresh)
    pieces = [dict.fromkeys(each, False) for each in fresh]
    joined = True
    while joined:
        joined = False
        for short, long in ((a, b) for a in range(len(pieces)) for b in range(a + 1, len(pieces))):
            more = set(pieces[long]) - set(pieces[short])
            same = all(pieces[long].get(key) == full for key, full in pieces[short].items())
            if len(more) == 1 and len(pieces[long]) == len(pieces[short]) + 1 and same:
                (extra,) = more
                if not pieces[long][extra]:
                    pieces[long] = {**pieces[long], extra: True}
                    del pieces[short]
                    joined = True
                    break
    return pieces


def _title(factor: Expression) -> str:
    """Return the name of a factor in the names of columns: that of the column for ``C(column)``."""
    if isinstance(factor, Call) and factor.function in ("C", "I"):
        inner = factor.x
        if factor.function == "C" or isinstance(inner, Column):
            return _title(inner)
    return factor.name if isinstance(factor, Column) else str(factor)


def _term_title(term: Sequence[str]) -> str:
    return ":".join(_title(parse_expression(factor)) for factor in term)


def _wide(values: FloatArray) -> FloatArray:
    return values[:, None] if values.ndim == 1 else values


def _check_finite(values: FloatArray, column: DesignColumn, cells: Cells) -> None:
    """Raise if a product overflows; rows with a missing cell are NaN."""
    with np.errstate(over="ignore", invalid="ignore"):
        is_finite = np.isfinite(values.sum())
    if not is_finite and np.isinf(values).any():
        row = int(np.argwhere(np.isinf(values))[0, 0])
        raise TableError(f"{column.name} is {values[row].max():g} in row {cells.position(row)}: it must be finite")


# Evaluation of expressions.


def evaluate(expression: Expression, cells: Cells, transforms: Mapping[str, Transform]) -> FloatArray:
    """Return the numbers of an expression, (n,) or (n, k); NaN for missing cells."""
    if isinstance(expression, Constant):
        if isinstance(expression.value, int | float):
            return np.full(cells.rows, float(expression.value))
        raise FormulaError(f"formula: {expression} is not a number")
    if isinstance(expression, Column):
        return _numbers(expression.name, cells)
    if isinstance(expression, Negative):
        return -evaluate(expression.inner, cells, transforms)
    if isinstance(expression, Arithmetic):
        return _arithmetic(expression, cells, transforms)
    if expression.function in STATEFUL:
        found = transforms[str(expression)]
        if not isinstance(found, NumberTransform):
            raise FormulaError(f"formula: {expression} has categories; it must be numbers")
        return _transformed(found, expression, cells, transforms)
    if expression.function in ("Treatment", "Sum", "offset"):
        raise FormulaError(f"formula: {expression} is not allowed here")
    values = _single(expression, cells, transforms)
    if expression.function == "I":
        return values
    if expression.function == "exp":
        with np.errstate(over="ignore"):
            return _checked(np.exp(values), values, 0.0, expression, cells)
    low = "above 0" if expression.function == "log" else "0 or more"
    bad = values <= 0 if expression.function == "log" else values < 0
    if bad.any():
        row = int(np.argmax(bad))
        raise TableError(
            f"{expression}: its argument is {values[row]:g} in row {cells.position(row)}; it must be {low}"
        )
    return np.asarray(np.log(values) if expression.function == "log" else np.sqrt(values))


def _single(call: Call, cells: Cells, transforms: Mapping[str, Transform]) -> FloatArray:
    values = evaluate(call.x, cells, transforms)
    if values.ndim > 1:
        raise FormulaError(f"formula: {call} is a function of one column; its argument has {values.shape[1]}")
    return values


def _transformed(
    transform: NumberTransform, call: Call, cells: Cells, transforms: Mapping[str, Transform]
) -> FloatArray:
    x = _single(call, cells, transforms)
    outside = transform.outside(x)
    if outside is not None and str(call) not in cells.noted:
        cells.noted[str(call)] = (
            f"{call}: its argument is {x[outside]:g} in row {cells.position(outside)}, beyond the range of the "
            "fit: the prediction extrapolates the outer piece of the spline"
        )
    known = ~np.isnan(x)
    if known.all():
        return transform.apply(x)
    some = transform.apply(x[known])
    found = np.full((len(x), *some.shape[1:]), np.nan)
    found[known] = some
    return found


def _arithmetic(expression: Arithmetic, cells: Cells, transforms: Mapping[str, Transform]) -> FloatArray:
    left, right = (_operand(side, cells, transforms) for side in (expression.left, expression.right))
    if max(np.ndim(left), np.ndim(right)) > 1:
        raise FormulaError(f"formula: {expression}: arithmetic needs single columns")
    with np.errstate(all="ignore"):
        found = np.broadcast_to(_OPERATIONS[expression.operator](left, right), cells.rows)
    return _checked(found, left, right, expression, cells)


def _operand(expression: Expression, cells: Cells, transforms: Mapping[str, Transform]) -> Any:
    """Return one side of an operation; a constant is one number, which makes powers faster."""
    if isinstance(expression, Constant) and isinstance(expression.value, int | float):
        return np.float64(expression.value)
    return evaluate(expression, cells, transforms)


_OPERATIONS: dict[str, Any] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
    "**": operator.pow,
}


def _checked(found: FloatArray, left: Any, right: Any, expression: Expression, cells: Cells) -> FloatArray:
    """Return the numbers; raise if finite numbers give a result that is not finite."""
    with np.errstate(all="ignore"):
        if not np.isfinite(found.sum()):
            bad = ~np.isfinite(found) & ~np.isnan(left) & ~np.isnan(right)
            if bad.any():
                row = int(np.argmax(bad))
                raise TableError(f"{expression} is {found[row]:g} in row {cells.position(row)}: it must be finite")
    return found


def _numbers(name: str, cells: Cells) -> FloatArray:
    """Return a column as numbers; True is 1."""
    found = cells.columns[name]
    if not isinstance(found, Categories):
        with np.errstate(over="ignore", invalid="ignore"):
            is_finite = np.isfinite(found.sum())
        if not is_finite and np.isinf(found).any():
            row = int(np.argmax(np.isinf(found)))
            raise TableError(f"column {name!r} is {found[row]:g} in row {cells.position(row)}; it must be finite")
        return found
    if not all(isinstance(level, bool) for level in found.levels):
        shown = listed(found.levels, 4)
        raise FormulaError(f"formula: column {name!r} has categories ({shown}); it must be numbers")
    values = np.array([*map(float, found.levels), np.nan])
    return np.asarray(values[found.codes])


def category_cells(expression: Expression, cells: Cells, transforms: Mapping[str, Transform]) -> Any:
    """Return the argument of C(...): a column of categories, or numbers."""
    if isinstance(expression, Column):
        return cells.columns[expression.name]
    found = evaluate(expression, cells, transforms)
    if found.ndim > 1:
        raise FormulaError(f"formula: C({expression}): its argument has {found.shape[1]} columns; it must have one")
    return found


# Learning.


def resolve(expression: Expression, table: Table) -> Expression:
    """Return a factor for evaluation: a column of categories becomes ``C(column)``."""
    if isinstance(expression, Column) and table.kind(expression.name) == "category":
        return Call("C", (("x", expression),))
    return expression


def stateful_calls(expressions: Sequence[Expression]) -> dict[str, Call]:
    """Return the calls that learn from the rows, by their text, inner ones first."""
    found: dict[str, Call] = {}

    def walk(expression: Expression) -> None:
        if isinstance(expression, Arithmetic):
            walk(expression.left)
            walk(expression.right)
        elif isinstance(expression, Negative):
            walk(expression.inner)
        elif isinstance(expression, Call):
            for _, value in expression.arguments:
                walk(value)
            if expression.function in STATEFUL:
                found[str(expression)] = expression

    for each in expressions:
        walk(each)
    return found


@dataclass
class Census:
    """Counts of the first pass: rows, rows with missing cells, and the missing cells of each column."""

    rows: int = 0
    incomplete: int = 0
    missing: dict[str, int] = field(default_factory=dict)

    def add(self, cells: Cells) -> npt.NDArray[np.bool_]:
        """Count a batch; return its rows with missing cells."""
        self.rows += cells.rows
        incomplete = cells.incomplete()
        self.incomplete += int(np.count_nonzero(incomplete))
        if incomplete.any():
            for name, count in cells.missing().items():
                if count:
                    self.missing[name] = self.missing.get(name, 0) + count
        return incomplete


def learn_transforms(
    expressions: Sequence[Expression], batches: Any, whole: bool, known: Mapping[str, Learner] | None = None
) -> tuple[dict[str, Transform], Census]:
    """Return the transforms that the calls of expressions learn from the rows, and the counts of the first pass.

    Parameters
    ----------
    expressions
        The factors, the target and offsets, resolved.
    batches
        A function that starts a pass over batches of cells.
    whole
        Whether all rows are one batch.
    known
        The learners of some calls, by their text.
    """
    pending: dict[str, Learner] = {}
    calls = stateful_calls(expressions)
    for text, call in calls.items():
        inner = call.x
        named = f"column {inner.name!r}" if isinstance(inner, Column) else str(inner)
        pending[text] = known[text] if known and text in known else learner_of(call, named)
    transforms: dict[str, Transform] = {}
    census = Census()
    first = True
    while pending or first:
        ready = {text for text in pending if all(each not in pending for each in stateful_calls([calls[text].x]))}
        sums: dict[str, Any] = {}
        for cells in batches():
            incomplete = census.add(cells) if first else cells.incomplete()
            kept = cells.take(np.flatnonzero(~incomplete)) if ready and incomplete.any() else cells
            for text in ready:
                learner = pending[text]
                part = learner.summarise(_argument(calls[text], learner, cells, kept, transforms), whole)
                sums[text] = learner.merge(sums[text], part) if text in sums else part
        first = False
        if ready and not census.rows - census.incomplete:
            break
        for text in ready:
            settled = pending.pop(text).settle(sums[text])
            if isinstance(settled, Transform):
                transforms[text] = settled
            else:
                pending[text] = settled
    return transforms, census


def _argument(call: Call, learner: Learner, cells: Cells, kept: Cells, transforms: Mapping[str, Transform]) -> Any:
    """Return the statistic of a learner for a batch.

    Numbers are learned from all rows in which they are known, as in R; levels from the rows without missing cells.
    """
    if learner.complete_rows:
        return category_cells(call.x, kept, transforms)
    x = _single(call, cells, transforms)
    known = ~np.isnan(x)
    return np.ascontiguousarray(x) if known.all() else x[known]
