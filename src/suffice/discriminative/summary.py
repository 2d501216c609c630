"""The summary of a fit: its numbers as text, as HTML, as a data frame or as plain values."""

from __future__ import annotations

import html
import importlib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.discriminative.inference import Inference

#: A printed table has at most this many parameters.
LONGEST = 100
_GAP = "   "
_UNKNOWN = "-"


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The table of a fitted model, ready to be printed.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice.discriminative.inference import Inference
    >>> fit = Inference(
    ...     "LogisticRegression (bernoulli/logit)", ("intercept", "age"), np.array([-1.5, 0.0625]),
    ...     np.diag([0.25, 0.0001]), distribution="z", df_residual=98.0, rows=100.0, rank=2, log_likelihood=-50.0,
    ...     null_log_likelihood=-62.5, deviance=100.0, null_deviance=125.0, dispersion=1.0,
    ... )
    >>> print(fit.summary())
    LogisticRegression (bernoulli/logit)
    <BLANKLINE>
    rows                 100   log-likelihood          -50
    parameters             2   null log-likelihood   -62.5
    residual df           98   AIC                     104
    dispersion             1   BIC                  109.21
    deviance             100   McFadden's R²           0.2
    null deviance        125   deviance explained      0.2
    covariance     classical
    <BLANKLINE>
                coefficient   std. error        z         p   95% interval
    -------------------------------------------------------------------------------
    intercept   -1.5000       0.50000      -3.000    0.0027   -2.4800     -0.52002
    age          0.062500     0.010000      6.250   <0.0001    0.042900    0.082100
    """

    inference: Inference
    level: float = 0.95

    def __post_init__(self) -> None:
        self.inference.interval(self.level)  # a bad level is refused here, not when the table is printed

    def __str__(self) -> str:
        return "\n".join([self.inference.title, "", *self._facts_text(), "", *self._table_text(), *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        fit = self.inference
        facts = "".join(_html_row(name, [value]) for name, value in _facts(fit))
        *heads, interval = self._heads()
        head = "".join(f"<th>{name}</th>" for name in ["", *heads]) + f'<th colspan="2">{interval}</th>'
        rows = "".join(_html_row(name, cells) for name, *cells in self._cells())
        remarks = "".join(f"<p>{html.escape(remark)}</p>" for remark in self._remarks() if remark)
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
        return f"<div><p><b>{html.escape(fit.title)}</b></p><table>{facts}</table>{table}{remarks}</div>"

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers as plain values: those of the fit, and under ``coefficients`` one entry per parameter."""
        fit = self.inference
        numbers = [
            "rows", "df_residual", "dispersion", "deviance", "null_deviance", "log_likelihood", "null_log_likelihood",
            "aic", "bic", "pseudo_r2", "explained", "adjusted_r2",
        ]  # fmt: skip
        rows = zip(fit.names, *(column.tolist() for column in self._columns().values()), strict=True)
        heads = ["name", *self._columns()]
        return {
            "title": fit.title,
            "rank": int(fit.rank),
            **{name: float(getattr(fit, name)) for name in numbers},
            "f_test": None if fit.f_test is None else fit.f_test._asdict(),
            "distribution": fit.distribution,
            "covariance_kind": fit.covariance_kind,
            "level": self.level,
            "coefficients": [dict(zip(heads, row, strict=True)) for row in rows],
            "notes": list(fit.notes),
        }

    def frame(self) -> Any:
        """Return the table of parameters as a pandas data frame, a row for each, under its name."""
        try:
            pandas = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("frame() gives a pandas data frame: pip install pandas, or use to_dict()") from error
        return pandas.DataFrame(self._columns(), index=list(self.inference.names))

    def _columns(self) -> dict[str, Any]:
        """Return the columns of the table as numbers, under the names they have in frames and dictionaries."""
        fit = self.inference
        low, high = fit.interval(self.level).T
        return {
            "coefficient": fit.estimate,
            "std_error": fit.standard_errors,
            fit.distribution: fit.statistic,
            "p": fit.p_values,
            "lower": low,
            "upper": high,
        }

    def _heads(self) -> list[str]:
        return ["coefficient", "std. error", self.inference.distribution, "p", f"{100 * self.level:g}% interval"]

    def _cells(self) -> list[tuple[str, ...]]:
        """Return the name and the numbers of each parameter that is shown, as text."""
        columns = [column[:LONGEST] for column in self._columns().values()]
        formats = [_significant, _significant, lambda x: _fixed(x, 3), _probability, _significant, _significant]
        texts = [_aligned([form(value) for value in column]) for form, column in zip(formats, columns, strict=True)]
        return list(zip(self.inference.names[:LONGEST], *texts, strict=True))

    def _facts_text(self) -> list[str]:
        facts = _facts(self.inference)
        half = 1 + [name for name, _ in facts].index("covariance")
        left, right = _two_columns(facts[:half]), _two_columns(facts[half:])
        left += [" " * len(left[0])] * (len(right) - len(left))
        right += [""] * (len(left) - len(right))
        return [f"{one}{_GAP}{two}".rstrip() for one, two in zip(left, right, strict=True)]

    def _table_text(self) -> list[str]:
        cells = self._cells()
        names = [name for name, *_ in cells]
        body = [[row[place] for row in cells] for place in range(1, 7)]
        # The two ends of the interval stand under one head.
        body[4:] = [[f"{low}{_GAP}{high}" for low, high in zip(body[4], body[5], strict=True)]]
        columns = [_column("", names, str.ljust)]
        for place, (head, column) in enumerate(zip(self._heads(), body, strict=True)):
            columns.append(_column(head, column, str.rjust if place in (2, 3) else str.ljust))
        lines = [_GAP.join(line).rstrip() for line in zip(*columns, strict=True)]
        return [lines[0], "-" * max(map(len, lines)), *lines[1:]]

    def _remarks(self) -> list[str]:
        hidden = len(self.inference.names) - LONGEST
        more = [f"... and {hidden} more parameters: frame() and to_dict() have all"] if hidden > 0 else []
        remarks = [*more, *self.inference.notes]
        return ["", *remarks] if remarks else []


def _facts(fit: Inference) -> list[tuple[str, str]]:
    """Return what is said of the fit as a whole."""
    facts = [
        ("rows", _general(fit.rows)),
        ("parameters", str(fit.rank)),
        ("residual df", _general(fit.df_residual)),
        ("dispersion", _general(fit.dispersion)),
        ("deviance", _general(fit.deviance)),
        ("null deviance", _general(fit.null_deviance)),
        ("covariance", fit.covariance_kind),
        ("log-likelihood", _general(fit.log_likelihood)),
        ("null log-likelihood", _general(fit.null_log_likelihood)),
        ("AIC", _general(fit.aic)),
        ("BIC", _general(fit.bic)),
        ("McFadden's R²", _general(fit.pseudo_r2)),
        (_explained_name(fit), _general(fit.explained)),
        ("adjusted R²", _general(fit.adjusted_r2)),
    ]
    hidden = {"McFadden's R²"} if fit.density else set()
    hidden |= set() if fit.least_squares and fit.targets == 1 else {"adjusted R²"}
    test = fit.f_test
    if test is not None:
        name = f"F({test.df}, {test.df_residual:g})"
        facts += [(name, f"{test.statistic:.6g}"), ("p of F", _probability(test.p))]
    return [fact for fact in facts if fact[0] not in hidden]


def _explained_name(fit: Inference) -> str:
    if fit.least_squares:
        return "R²" if fit.intercept else "R², uncentred"
    return "deviance explained" if fit.intercept else "explained, uncentred"


def _general(value: float) -> str:
    """Return a number with up to 6 digits, whole numbers in full."""
    if math.isnan(value):
        return _UNKNOWN
    return str(int(value)) if abs(value) < 1e15 and value == int(value) else f"{value:.6g}"


def _significant(value: float) -> str:
    return _UNKNOWN if math.isnan(value) else f"{value:#.5g}"


def _fixed(value: float, digits: int) -> str:
    return _UNKNOWN if math.isnan(value) else f"{value:.{digits}f}"


def _probability(value: float) -> str:
    return "<0.0001" if value < 1e-4 else _fixed(value, 4)


def _aligned(texts: Sequence[str]) -> list[str]:
    """Return numbers of one width, their points under one another."""
    parts = [text.partition(".") for text in texts]
    before = max((len(whole) for whole, _, _ in parts), default=0)
    after = max((len(point + rest) for _, point, rest in parts), default=0)
    return [whole.rjust(before) + (point + rest).ljust(after) for whole, point, rest in parts]


def _html_row(name: str, cells: Sequence[str]) -> str:
    return f"<tr><th>{html.escape(name)}</th>{''.join(f'<td>{html.escape(cell.strip())}</td>' for cell in cells)}</tr>"


def _column(head: str, cells: Sequence[str], pad: Any) -> list[str]:
    width = max(map(len, [head, *cells]))
    return [pad(text, width) for text in [head, *cells]]


def _two_columns(facts: Sequence[tuple[str, str]]) -> list[str]:
    names = _column("", [name for name, _ in facts], str.ljust)[1:]
    values = _column("", [value for _, value in facts], str.rjust)[1:]
    return [f"{name}  {value}" for name, value in zip(names, values, strict=True)]
