"""Contrasts: linear combinations of coefficients, written with their names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suffice.discriminative.covariance import nearest_name
from suffice.discriminative.inference import Inference
from suffice.discriminative.result_table import ResultTable
from suffice.statistics.base import FloatArray

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"[^\W\d][\w.]*")


class Combination(NamedTuple):
    """A linear combination of coefficients and a constant."""

    weights: FloatArray  # (q,)
    constant: float

    @property
    def is_constant(self) -> bool:
        """Whether it has no coefficient."""
        return not self.weights.any()

    def plus(self, other: Combination, times: float = 1.0) -> Combination:
        """Return this plus a multiple of another."""
        return Combination(self.weights + times * other.weights, self.constant + times * other.constant)

    def times(self, factor: float) -> Combination:
        """Return a multiple."""
        return Combination(factor * self.weights, factor * self.constant)


def parse_combination(text: str, names: Sequence[str]) -> Combination:
    """Parse a linear combination: names, numbers, + - * / ( ) and one =.

    Names may have characters other than letters, digits, dots and underscores; the longest match is taken. Any name
    may be quoted with backquotes; one that is a number must be.

    Examples
    --------
    >>> parse_combination("2 * (x1 - x2) = 3", ["intercept", "x1", "x2"])
    Combination(weights=array([ 0.,  2., -2.]), constant=-3.0)
    >>> parse_combination("x1 - x3", ["intercept", "x1", "x2"])
    Traceback (most recent call last):
    ...
    ValueError: contrast 'x1 - x3': there is no coefficient 'x3'; did you mean 'x2'?
    """
    return _Parser(text, names).parse()


class _Parser:
    """Recursive-descent parser of one combination."""

    def __init__(self, text: str, names: Sequence[str]) -> None:
        if not isinstance(text, str):
            raise TypeError(f"a contrast is a string such as 'x1 - x2'; got {text!r}")
        self.text, self.names, self.place = text, names, 0
        plain = [name for name in names if name and not _NUMBER.fullmatch(name)]
        self.longest = sorted(plain, key=len, reverse=True)

    def parse(self) -> Combination:
        found = self._sum()
        if self._take("==") or self._take("="):
            found = found.plus(self._sum(), -1.0)
        self._skip()
        if self.place < len(self.text):
            raise self._error(f"{self.text[self.place]!r} is not expected at position {self.place}")
        if found.is_constant:
            raise self._error("it has no coefficient")
        return found

    def _sum(self) -> Combination:
        sign = -1.0 if self._take("-") else 1.0
        if sign > 0:
            self._take("+")
        found = self._product().times(sign)
        while True:
            if self._take("+"):
                found = found.plus(self._product())
            elif self._take("-"):
                found = found.plus(self._product(), -1.0)
            else:
                return found

    def _product(self) -> Combination:
        found = self._factor()
        while True:
            if self._take("*"):
                other = self._factor()
                if not (found.is_constant or other.is_constant):
                    raise self._error("a product of coefficients is not linear")
                found = other.times(found.constant) if found.is_constant else found.times(other.constant)
            elif self._take("/"):
                other = self._factor()
                if not other.is_constant or other.constant == 0:
                    raise self._error("a divisor must be a number other than 0")
                found = found.times(1 / other.constant)
            else:
                return found

    def _factor(self) -> Combination:
        if self._take("-"):
            return self._factor().times(-1.0)
        self._skip()
        rest = self.text[self.place :]
        quoted = re.match(r"`([^`]*)`", rest)
        if quoted:
            self.place += quoted.end()
            return self._named(quoted[1])
        for name in self.longest:
            if rest.startswith(name) and not (_is_word(name[-1]) and _is_word(rest[len(name) : len(name) + 1])):
                self.place += len(name)
                return self._named(name)
        if self._take("("):
            found = self._sum()
            if not self._take(")"):
                raise self._error(f"a ) is missing at position {self.place}")
            return found
        number = _NUMBER.match(rest)
        if number:
            self.place += number.end()
            return Combination(np.zeros(len(self.names)), float(number[0]))
        word = _WORD.match(rest)
        if word:
            raise self._error(f"there is no coefficient {word[0]!r}; {nearest_name(word[0], self.names)}")
        raise self._error(f"{rest[:1]!r} is not expected at position {self.place}" if rest else "it ends too early")

    def _named(self, name: str) -> Combination:
        if name not in self.names:
            raise self._error(f"there is no coefficient {name!r}; {nearest_name(name, self.names)}")
        weights = np.zeros(len(self.names))
        weights[list(self.names).index(name)] = 1.0
        return Combination(weights, 0.0)

    def _take(self, sign: str) -> bool:
        self._skip()
        found = self.text.startswith(sign, self.place)
        self.place += len(sign) if found else 0
        return found

    def _skip(self) -> None:
        while self.place < len(self.text) and self.text[self.place].isspace():
            self.place += 1

    def _error(self, words: str) -> ValueError:
        return ValueError(f"contrast {self.text!r}: {words}")


def _is_word(letter: str) -> bool:
    return letter.isalnum() or letter == "_"


def estimate_contrasts(fit: Inference, contrasts: str | Sequence[str], level: float = 0.95) -> ResultTable:
    """Return estimates, errors, tests and intervals of linear combinations of coefficients.

    ``details`` of the table has the Wald test of all of them together. A right-hand side, as in ``"x1 - x2 = 1"``, is
    the value under the null hypothesis; estimates and intervals are of the left-hand side.
    """
    if not isinstance(contrasts, str | Sequence | np.ndarray):
        raise TypeError(f"contrasts are a string such as 'x1 - x2', or a list of them; got {contrasts!r}")
    texts = (contrasts,) if isinstance(contrasts, str) else tuple(contrasts)
    if not texts:
        raise ValueError("contrasts are missing: give a string such as 'x1 - x2', or a list of them")
    found = [parse_combination(text, fit.names) for text in texts]
    directions = np.stack([each.weights for each in found])
    values = np.array([-each.constant for each in found])
    tests = [fit.wald_test(row, value) for row, value in zip(directions, values, strict=True)]
    together = fit.wald_test(directions, values)
    covariance = np.zeros((0, 0)) if fit.covariance is None else fit.covariance
    errors = []
    for row in directions:
        used = np.flatnonzero(row)
        errors.append(float(np.sqrt(max(row[used] @ covariance[np.ix_(used, used)] @ row[used], 0.0))))
    estimates, spread = directions @ np.nan_to_num(fit.estimate), np.array(errors)
    reach = fit.critical_value(level) * spread
    with np.errstate(divide="ignore", invalid="ignore"):
        statistic = (estimates - values) / spread
    columns = {
        "estimate": estimates,
        "std_error": spread,
        fit.distribution: statistic,
        "p": np.array([test.p for test in tests]),
        "lower": estimates - reach,
        "upper": estimates + reach,
    }
    name = "F" if fit.distribution == "t" else "chi2"
    df = f"({together.df}, {together.df_residual:g})" if name == "F" else f"({together.df})"
    notes = () if len(texts) == 1 else (f"all together: {name}{df} = {together.statistic:.5g}, p = {together.p:.4g}",)
    notes = (*notes, *fit.notes)
    title = f"Contrasts, {100 * level:g}% intervals, {fit.covariance_kind} covariance"
    return ResultTable(title, texts, columns, notes, {"test": together._asdict()})
