"""Scores of rows as SQL: the kernels that score rows as expressions and one SELECT."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.kernels.protocol import FloatArray
from suffice.kernels.sql.dialect import Dialect, quoted

#: Exponentials below this are 0: a server raises on underflow.
_LEAST_EXPONENT = -700.0
#: exp overflows past this.
_LARGEST_EXPONENT = 709.0


def added(terms: Sequence[str]) -> str:
    """Return a sum with balanced parentheses, as databases limit their depth.

    Examples
    --------
    >>> added(["a", "b", "c", "d"])
    '((a + b) + (c + d))'
    """
    if len(terms) <= 1:
        return terms[0] if terms else "0"
    middle = (len(terms) + 1) // 2
    return f"({added(terms[:middle])} + {added(terms[middle:])})"


@dataclass(frozen=True)
class Scores:
    """Expressions of log p(x, y), one for each class, over cells that are called by their expressions.

    Parameters
    ----------
    dialect
        How numbers are written.
    """

    dialect: Dialect

    def linear(
        self,
        cells: Sequence[str],
        coef: FloatArray,
        level: FloatArray,
        missing: FloatArray | None = None,
        centre: FloatArray | None = None,
    ) -> list[str]:
        """Return level + coef (x - centre) for each class, (k, d); with ``missing``, what a NULL adds instead."""
        number = self.dialect.number
        about = [
            cell if centre is None or not centre[j] else f"({cell} - {number(centre[j])})"
            for j, cell in enumerate(cells)
        ]
        found = []
        for k, slopes in enumerate(coef):
            terms = [number(level[k])]
            for j, cell in enumerate(about):
                if missing is not None:
                    terms.append(f"coalesce({number(slopes[j])} * {cell}, {number(missing[k, j])})")
                elif slopes[j]:
                    terms.append(f"{number(slopes[j])} * {cell}")
                else:  # 0 of what is not known is not known
                    terms.append(f"0 * {cell}")
            found.append(added(terms))
        return found

    def diagonal(self, cells: Sequence[str], mean: FloatArray, variance: FloatArray) -> list[str]:
        """Return the sum of Gaussian log-densities of each class, (k, d); a NULL adds nothing."""
        number = self.dialect.number
        found = []
        for mu, sigma2 in zip(mean, variance, strict=True):
            base = -0.5 * np.log(2 * np.pi * sigma2)
            squares = [f"power({cell} - {number(mu[j])}, 2)" for j, cell in enumerate(cells)]
            terms = [
                f"coalesce({number(base[j])} - {square} / {number(2 * sigma2[j])}, {number(0)})"
                for j, square in enumerate(squares)
            ]
            found.append(added(terms))
        return found

    def quadratic(self, cells: Sequence[str], mean: FloatArray, whitener: FloatArray, level: FloatArray) -> list[str]:
        """Return level - |whitener (x - mean)|^2 / 2 of each class; the whiteners are lower triangular, (k, d, d)."""
        number = self.dialect.number
        found = []
        for mu, lower, base in zip(mean, whitener, level, strict=True):
            about = [f"({cell} - {number(mu[j])})" for j, cell in enumerate(cells)]
            white = [added([f"{number(lower[i, j])} * {about[j]}" for j in range(i + 1)]) for i in range(len(about))]
            found.append(f"({number(base)} - {number(0.5)} * {added([f'power({each}, 2)' for each in white])})")
        return found

    def categories(self, cells: Sequence[str], tables: Sequence[FloatArray]) -> list[str]:
        """Return the sum of log-probabilities of codes, of each table (size, k); a NULL adds nothing.

        The last code of each table is that of all other values.
        """
        number, nothing = self.dialect.number, self.dialect.number(0)
        found = []
        for k in range(tables[0].shape[1]):
            terms = []
            for cell, table in zip(cells, tables, strict=True):
                cases = "".join(f" when {cell} = {code} then {number(p)}" for code, p in enumerate(table[:-1, k]))
                terms.append(f"case when {cell} is null then {nothing}{cases} else {number(table[-1, k])} end")
            found.append(added(terms))
        return found

    def lookups(self, cells: Sequence[str], tables: Sequence[FloatArray], level: FloatArray) -> list[str]:
        """Return the level of each class, (k,), plus the numbers of tables, (size, k) each, at the places in cells."""
        return [
            added(
                [
                    self.dialect.number(base),
                    *(
                        self.dialect.lookup(table[:, k].tolist(), cell)
                        for cell, table in zip(cells, tables, strict=True)
                    ),
                ]
            )
            for k, base in enumerate(level)
        ]

    def summed(self, parts: Sequence[Sequence[str]]) -> list[str]:
        """Return the sum of several parts, class by class."""
        return [added(terms) for terms in zip(*parts, strict=True)]

    def refusing_overflow(self, scores: Sequence[str]) -> list[str]:
        """Return the scores of a part; the query fails where those of all classes overflow."""
        return [_unless_it_overflows(_largest(scores), scores[0], self.dialect), *scores[1:]]

    def vetoed(self, scores: Sequence[str], barred: Sequence[str]) -> list[str]:
        """Return scores that are -inf where what bars a class is above 0."""
        number, never = self.dialect.number, self.dialect.number(-np.inf)
        return [
            f"case when {bar} > {number(1e-12)} then {never} else {score} end"
            for score, bar in zip(scores, barred, strict=True)
        ]


def _largest(scores: Sequence[str]) -> str:
    return f"greatest({', '.join(scores)})" if len(scores) > 1 else scores[0]


def _unless_it_overflows(largest: str, score: str, dialect: Dialect) -> str:
    """Return a score; the query fails where the largest of all classes is not finite."""
    cause = "a row is so far from the rows of the fit that its prediction overflows: its largest score is "
    refused = dialect.refusal(cause, f"({largest})::text", "", "float8")
    return f"case when {dialect.is_infinite(largest)} or {dialect.is_nan(largest)} then {refused} else {score} end"


def mean_of(link: str, predictor: str, dialect: Dialect) -> str:
    """Return the mean of a regression, of its linear predictor, under a link.

    Examples
    --------
    >>> from suffice.kernels.sql.dialect import DUCKDB
    >>> mean_of("inverse", "z", DUCKDB)
    '1.0e0 / z'
    """
    number = dialect.number
    one, nothing = number(1), number(0)

    def exponential(z: str) -> str:
        held = f"least({z}, {number(_LARGEST_EXPONENT)})"
        return f"case when {z} < {number(_LEAST_EXPONENT)} then {nothing} else exp({held}) end"

    match link:
        case "identity":
            return predictor
        case "log":
            return exponential(predictor)
        case "logit":
            e = exponential(f"(-abs({predictor}))")  # an exponent of 0 or less
            return f"case when {predictor} >= 0 then {one} / ({one} + {e}) else ({e}) / ({one} + {e}) end"
        case "inverse":
            return f"{one} / {predictor}"
        case "negative_inverse":
            return f"-{one} / {predictor}"
    raise ValueError(f"the link {link!r} has no function in SQL: score rows here, with predict")


def unused_prefix(names: Sequence[str]) -> str:
    """Return a prefix that none of the names has.

    Examples
    --------
    >>> unused_prefix(["id"]), unused_prefix(["id", "m_2"])
    ('m_', '_m_')
    """
    found = "m_"
    while any(name.startswith(found) for name in names):
        found = f"_{found}"
    return found


@dataclass(frozen=True)
class Scoring:
    """A SELECT that scores the rows of a table.

    Parameters
    ----------
    dialect
        Of which database.
    table
        The quoted name of the table, or a query in parentheses.
    cells
        Expressions over the table's columns: what the model sees of a row.
    keep
        Columns to be passed on.
    steps
        What is computed before the cells, step by step: expressions over the step before, each with its name.
    """

    dialect: Dialect
    table: str
    cells: Sequence[str]
    keep: Sequence[str] = ()
    steps: Sequence[Sequence[tuple[str, str]]] = ()

    @property
    def prefix(self) -> str:
        """Prefix of names within the query."""
        return unused_prefix(self.keep)

    def names(self) -> list[str]:
        """Return the names of the cells in scores."""
        return [f"{self.prefix}x{j}" for j in range(len(self.cells))]

    def _level(self, columns: Sequence[tuple[str, str]], source: str) -> str:
        """Return a query within the query, which is computed before what is around it."""
        wanted = [*map(quoted, self.keep), *(f"{sql} as {name}" for sql, name in columns)]
        return f"(\nselect {', '.join(wanted)}\nfrom {source}{self.dialect.fence}) as {self.prefix}rows"

    def _final(self, columns: Sequence[tuple[str, str]], source: str) -> str:
        wanted = [*map(quoted, self.keep), *(f"{sql} as {quoted(name)}" for sql, name in columns)]
        return f"select {', '.join(wanted)}\nfrom {source}"

    def numbers(self, predictor: str, link: str, name: str) -> str:
        """Return the query for an expected number."""
        p = self.prefix
        source = self._level([(f"({predictor})", f"{p}z")], self._rows())
        return self._final([(mean_of(link, f"{p}z", self.dialect), name)], source)

    def _rows(self) -> str:
        source = self.table
        for step in (*self.steps, list(zip(self.cells, self.names(), strict=True))):
            source = self._level(step, source) if step else source
        return source if source is not self.table else f"{self.table} as {self.prefix}rows"

    def classes(
        self,
        scores: Sequence[str],
        labels: Sequence[Any],
        prior: FloatArray,
        temperature: float,
        prediction: str,
        probabilities: Mapping[Any, str],
        refuses_overflow: bool = False,
    ) -> str:
        """Return the query for the probability of each class, and the most probable one.

        The largest score is taken from all before they are exponentials: none overflows, and one is 1. Where no class
        can have produced a row, the prior is its posterior; with ``refuses_overflow``, the query fails there.
        """
        p, number, k = self.prefix, self.dialect.number, range(len(scores))
        own = [(f"{p}s{c}", f"{p}s{c}") for c in k]
        source = self._level([(score, f"{p}s{c}") for c, score in zip(k, scores, strict=True)], self._rows())
        largest = _largest([name for name, _ in own])
        if refuses_overflow:
            largest = _unless_it_overflows(largest, largest, self.dialect)
        source = self._level([*own, (largest, f"{p}top")], source)

        def share(c: int) -> str:
            gap = f"({p}s{c} - {p}top)" if temperature == 1 else f"(({p}s{c} - {p}top) / {number(temperature)})"
            nothing = f"when {p}top = {number(-np.inf)} then {number(prior[c])} "
            return f"case {nothing}when {gap} < {number(_LEAST_EXPONENT)} then {number(0)} else exp({gap}) end"

        top = [*own, (f"{p}top", f"{p}top")]
        source = self._level([*top, *((share(c), f"{p}e{c}") for c in k)], source)
        total = added([f"{p}e{c}" for c in k])
        best = "".join(f" when {p}s{c} = {p}top then {self.dialect.value(labels[c])}" for c in k)
        columns = [(f"case{best} end", prediction)]
        columns += [(f"{p}e{c} / {total}", probabilities[labels[c]]) for c in k]
        return self._final(columns, source)
