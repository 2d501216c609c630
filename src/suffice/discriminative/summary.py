"""The summary of a fit: its numbers as text, as HTML, as a data frame or as plain values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from suffice.discriminative.result_table import (
    GAP,
    align,
    data_frame,
    fixed,
    general,
    pad_column,
    probability,
    significant,
    two_columns,
)
from suffice.html_fragments import fragment, notes, table, title

if TYPE_CHECKING:
    import pandas

    from suffice.discriminative.inference import Inference

#: A printed table has at most this many parameters.
LONGEST = 100


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """The summary table of a fitted model.

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
        self.inference.interval(self.level)  # raises for an invalid level

    def __str__(self) -> str:
        return "\n".join([self.inference.title, "", *self._facts_text(), "", *self._table_text(), *self._remarks()])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        fit = self.inference
        coefficients = table(["", *self._heads()], self._cells(), spread=True)
        return fragment(title(fit.title), table([], _facts(fit)), coefficients, notes(self._remarks()))

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
            "covariance": fit.covariance_title,
            "df_tests": fit.df_tests,
            "level": self.level,
            "coefficients": [dict(zip(heads, row, strict=True)) for row in rows],
            "notes": list(fit.notes),
        }

    def frame(self) -> pandas.DataFrame:
        """Return the table of parameters as a pandas data frame, a row for each, under its name."""
        return data_frame(self._columns(), self.inference.names)

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
        formats = [significant, significant, lambda x: fixed(x, 3), probability, significant, significant]
        texts = [align([form(value) for value in column]) for form, column in zip(formats, columns, strict=True)]
        return list(zip(self.inference.names[:LONGEST], *texts, strict=True))

    def _facts_text(self) -> list[str]:
        facts = _facts(self.inference)
        half = 1 + [name for name, _ in facts].index("covariance")
        left, right = two_columns(facts[:half]), two_columns(facts[half:])
        left += [" " * len(left[0])] * (len(right) - len(left))
        right += [""] * (len(left) - len(right))
        return [f"{one}{GAP}{two}".rstrip() for one, two in zip(left, right, strict=True)]

    def _table_text(self) -> list[str]:
        cells = self._cells()
        names = [name for name, *_ in cells]
        body = [[row[place] for row in cells] for place in range(1, 7)]
        # The two ends of the interval have one head.
        body[4:] = [[f"{low}{GAP}{high}" for low, high in zip(body[4], body[5], strict=True)]]
        columns = [pad_column("", names, str.ljust)]
        for place, (head, column) in enumerate(zip(self._heads(), body, strict=True)):
            columns.append(pad_column(head, column, str.rjust if place in (2, 3) else str.ljust))
        lines = [GAP.join(line).rstrip() for line in zip(*columns, strict=True)]
        return [lines[0], "-" * max(map(len, lines)), *lines[1:]]

    def _remarks(self) -> list[str]:
        hidden = len(self.inference.names) - LONGEST
        more = [f"... and {hidden} more parameters: frame() and to_dict() have all"] if hidden > 0 else []
        remarks = [*more, *self.inference.notes]
        return ["", *remarks] if remarks else []


def _facts(fit: Inference) -> list[tuple[str, str]]:
    """Return the facts of the fit."""
    facts = [
        ("rows", general(fit.rows)),
        ("parameters", str(fit.rank)),
        ("residual df", general(fit.df_residual)),
        ("dispersion", general(fit.dispersion)),
        ("deviance", general(fit.deviance)),
        ("null deviance", general(fit.null_deviance)),
        ("covariance", fit.covariance_title),
        ("log-likelihood", general(fit.log_likelihood)),
        ("null log-likelihood", general(fit.null_log_likelihood)),
        ("AIC", general(fit.aic)),
        ("BIC", general(fit.bic)),
        ("McFadden's R²", general(fit.pseudo_r2)),
        (_explained_name(fit), general(fit.explained)),
        ("adjusted R²", general(fit.adjusted_r2)),
    ]
    hidden = {"McFadden's R²"} if fit.density else set()
    hidden |= set() if fit.least_squares and fit.targets == 1 else {"adjusted R²"}
    test = fit.f_test
    if test is not None:
        name = f"F({test.df}, {test.df_residual:g})"
        facts += [(name, f"{test.statistic:.6g}"), ("p of F", probability(test.p))]
    return [fact for fact in facts if fact[0] not in hidden]


def _explained_name(fit: Inference) -> str:
    if fit.least_squares:
        return "R²" if fit.intercept else "R², uncentred"
    return "deviance explained" if fit.intercept else "explained, uncentred"
