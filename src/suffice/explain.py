"""Explanations: the score of one prediction as a sum of contributions, one for each feature.

Every model explains with the same type. This module imports no NumPy: a mail filter explains without it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from suffice.html_fragments import fragment

if TYPE_CHECKING:
    from suffice.typing import ClassLabel

#: The number of contributions that are shown by default; the others are summed.
SHOWN = 10
#: Unit of the contributions to a predicted number, where they add up to the number itself.
EXPECTED_NUMBER = "expected number"


class Contribution(NamedTuple):
    """What one feature adds to the score."""

    feature: str
    value: Any
    effect: float


class Line(NamedTuple):
    """One line of an explanation: a contribution, the base, or the sum of what is not shown."""

    name: str
    effect: float
    detail: str = ""


@dataclass(frozen=True)
class ClassScores:
    """The log-probability of each class as a sum over features, up to a constant that all classes share.

    Without smoothing a class may be impossible: its part is -inf. Where two classes are impossible, their log-odds are
    0; where all are, the priors decide.

    Examples
    --------
    >>> scores = ClassScores(("ham", "spam"), ("free", "lunch"), (2, 1), ((-4.0, -1.0), (-2.0, -1.5)), (-0.5, -1.0))
    >>> scores.totals
    [-5.5, -4.5]
    >>> scores.compare()["prediction"], scores.compare()["total"]
    ('spam', 1.0)
    """

    classes: Sequence[Any]  # (k,)
    features: Sequence[str]  # (d,)
    values: Sequence[Any]  # (d,)
    parts: Sequence[Sequence[float]]  # (k, d)
    base: Sequence[float]  # (k,) the log-prior, and all that does not depend on the features
    log_prior: Sequence[float] | None = None  # (k,) decides where every class is impossible

    @property
    def totals(self) -> list[float]:
        """The sums of base and parts, (k,)."""
        return [base + sum(part) for base, part in zip(self.base, self.parts, strict=True)]

    @property
    def scores(self) -> list[float]:
        """The totals, or the log-priors where every class is impossible, (k,)."""
        totals = self.totals
        return list(self.log_prior) if self.log_prior is not None and _are_impossible(totals) else totals

    @property
    def probabilities(self) -> list[float]:
        """The probability of each class, (k,)."""
        scores = self.scores
        largest = max(scores)
        weights = [math.exp(score - largest) for score in scores]  # exponents <= 0: cannot overflow
        return [weight / sum(weights) for weight in weights]

    def compare(self, label: ClassLabel | None = None, against: ClassLabel | None = None) -> dict[str, Any]:
        """Return the fields of an explanation of one class against another.

        Parameters
        ----------
        label
            The class; by default the most probable one, other than ``against``.
        against
            The other class; by default the most probable one, other than ``label``.
        """
        scores, totals = self.scores, self.totals
        ranked = sorted(range(len(scores)), key=lambda code: -scores[code])
        excluded = None if against is None else self._code(against)
        one = next((code for code in ranked if code != excluded), 0) if label is None else self._code(label)
        other = next((code for code in ranked if code != one), one) if excluded is None else excluded
        effects = [log_ratio(a, b) for a, b in zip(self.parts[one], self.parts[other], strict=True)]
        order = sorted((j for j, effect in enumerate(effects) if effect), key=lambda j: -abs(effects[j]))
        return {
            "prediction": self.classes[one],
            "against": self.classes[other],
            "probability": self.probabilities[one],
            "base": log_ratio(self.base[one], self.base[other]),
            "total": log_ratio(scores[one], scores[other]),
            "contributions": tuple(Contribution(self.features[j], self.values[j], effects[j]) for j in order),
            "remark": _remark(totals, other),
        }

    def _code(self, label: Any) -> int:
        for code, name in enumerate(self.classes):
            if name == label:
                return code
        raise ValueError(f"unknown class {label!r}; known: {list(self.classes)!r}")


@dataclass(frozen=True)
class Explanation:
    """The score of one prediction as a sum: the base and the contributions add up to the total.

    It prints as text, is a table in a notebook (``_repr_html_``), and has a dictionary form (``to_dict``).

    Parameters
    ----------
    prediction
        The class that is explained, by default the most probable one; or the expected number.
    against
        The class it is compared with, by default the most probable of the others; None for a number.
    probability
        Of the class; None for a number.
    base
        The prior, and all that does not depend on the features.
    total
        The log-odds of the class against the other; or the linear predictor of a number.
    contributions
        What each feature adds, the largest absolute value first; those of 0 are left out.
    unit
        Of base, total and contributions.
    row
        Position of the row in its table, from 0.
    remark
        Continues the headline, such as that a class is impossible.
    scores
        The scores of all classes, for :meth:`compare`.

    Examples
    --------
    >>> scores = ClassScores(("ham", "spam"), ("free", "lunch"), (2, 1), ((-4.0, -1.0), (-2.0, -1.5)), (-0.5, -1.0))
    >>> explanation = Explanation.of(scores)
    >>> print(explanation)
    spam: probability 0.7311, log-odds +1.000 against ham
         -0.500  prior and base
         +2.000  free = 2
         -0.500  lunch = 1
    >>> explanation.compare("ham", "spam").total
    -1.0
    >>> explanation.to_dict()["contributions"][0]
    {'feature': 'free', 'value': 2, 'effect': 2.0}
    """

    prediction: Any
    against: Any
    probability: float | None
    base: float
    total: float
    contributions: tuple[Contribution, ...]
    unit: str = "log-odds"
    row: int | None = None
    remark: str = ""
    scores: ClassScores | None = field(default=None, repr=False, compare=False)

    @classmethod
    def of(
        cls, scores: ClassScores, label: ClassLabel | None = None, against: ClassLabel | None = None, **fields: Any
    ) -> Self:
        """Return the explanation of one class against another; by default of the two most probable ones."""
        return cls(**scores.compare(label, against), scores=scores, **fields)

    def compare(self, label: ClassLabel | None = None, against: ClassLabel | None = None) -> Self:
        """Return the explanation of another pair of classes; by default of the two most probable ones."""
        if self.scores is None:
            raise ValueError("this explanation has no scores of other classes to compare with")
        return replace(self, **self.scores.compare(label, against))

    def describe(self, contribution: Contribution) -> str:
        """Return the feature of a contribution and its value, in a few words."""
        value = "missing" if contribution.value is None else contribution.value
        text = f"{value:.6g}" if isinstance(value, float) else str(value)
        return f"{contribution.feature} = {text if len(text) <= 60 else text[:57] + '...'}"

    def headline(self) -> str:
        """Return the prediction and the total in one line."""
        if self.probability is None:
            total = "" if self.unit == EXPECTED_NUMBER else f": {self.unit} {self.total:+.4g}"
            return f"{self.prediction:.4g}{total}, the sum of"
        odds = f"{self.unit} {self.total:+.3f} against {self.against}"
        return f"{self.prediction}: probability {self.probability:.4f}, {odds}{self.remark}"

    def lines(self, top: int = SHOWN) -> list[Line]:
        """Return the base, the largest contributions, and the sum of the others."""
        shown, others = self.contributions[:top], self.contributions[top:]
        lines = [Line("base" if self.probability is None else "prior and base", self.base)]
        lines += [Line(self.describe(each), each.effect) for each in shown]
        if others:
            name = f"{len(others)} other{'s' if len(others) > 1 else ''}"
            lines.append(Line(name, sum_effects([each.effect for each in others])))
        return lines

    def notes(self) -> list[str]:
        """Return further facts about the prediction, one in each line."""
        return []

    def text(self, top: int = SHOWN) -> str:
        """Return the explanation as lines of text, with at most so many contributions."""
        lines = [f"  {effect:+9.3f}  {name}" for name, effect, _ in self.lines(top)]
        return "\n".join([self.headline(), *lines, *(f"  {note}" for note in self.notes())])

    def __str__(self) -> str:
        return self.text()

    def to_dict(self) -> dict[str, Any]:
        """Return the explanation as plain values."""
        return {
            "row": self.row,
            "prediction": self.prediction,
            "probability": self.probability,
            "against": self.against,
            "base": self.base,
            "total": self.total,
            "contributions": [each._asdict() for each in self.contributions],
            "unit": self.unit,
        }

    def _repr_html_(self) -> str:
        return self.html_table()

    def html_table(self, top: int = SHOWN) -> str:
        """Return the explanation as an HTML table with bars; all text is escaped."""
        lines = self.lines(top)
        sizes = [abs(line.effect) for line in lines if math.isfinite(line.effect)]
        largest = max(sizes, default=1.0) or 1.0
        notes = "".join(f"<li>{escape(note)}</li>" for note in self.notes())
        return fragment(
            f"<p>{escape(self.headline())}</p>\n"
            '<table class="wide">\n<thead><tr><th scope="col">feature</th><th scope="col" class="number">adds</th>'
            '<th></th><th scope="col"></th></tr></thead>\n<tbody>\n'
            + "\n".join(_html_row(line, largest) for line in lines)
            + f'\n</tbody>\n<tfoot><tr><th scope="row">{escape(self._total_name())}</th>'
            f'<td class="number">{self.total:+.3f}</td><td></td><td></td></tr></tfoot>\n</table>\n'
            + (f"<ul>{notes}</ul>\n" if notes else "")
        )

    def html_page(self, top: int = SHOWN) -> str:
        """Return the explanation as an HTML page of its own."""
        return (
            '<!doctype html>\n<html lang="en"><meta charset="utf-8">'
            '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
            f"<title>{escape(self.headline())}</title>\n"
            "<style>:root { color-scheme: light dark } body { margin: 2rem auto; max-width: 60rem; padding: 0 1rem }"
            f"</style>\n{self.html_table(top)}\n</html>\n"
        )

    def _total_name(self) -> str:
        return self.unit if self.against is None else f"{self.unit} of {self.prediction} against {self.against}"


def log_ratio(one: float, two: float) -> float:
    """Return the difference of two logarithms; 0 where both are the same infinity.

    Examples
    --------
    >>> log_ratio(-1.0, -math.inf), log_ratio(-math.inf, -math.inf)
    (inf, 0.0)
    """
    return 0.0 if one == two else one - two


def sum_effects(effects: Sequence[float]) -> float:
    """Return the sum of effects on log-odds; 0 where some make one class impossible, and others the other.

    Examples
    --------
    >>> sum_effects([1.0, math.inf]), sum_effects([-math.inf, math.inf])
    (inf, 0.0)
    """
    both = math.inf in effects and -math.inf in effects
    return 0.0 if both else float(sum(effects))


def _are_impossible(totals: Sequence[float]) -> bool:
    return all(total == -math.inf for total in totals)


def _remark(totals: Sequence[float], other: int) -> str:
    if _are_impossible(totals):
        return "; every class is impossible here, and the priors decide"
    return ", which is impossible" if totals[other] == -math.inf else ""


def _html_row(line: Line, largest: float) -> str:
    side = "for" if line.effect >= 0 else "against"
    width = 50.0 if math.isinf(line.effect) else 50 * abs(line.effect) / largest  # from the middle to a side
    return (
        f'<tr><th scope="row">{escape(line.name)}</th><td class="number">{line.effect:+.3f}</td>'
        f'<td class="bar"><span class="{side}" style="width:{width:.1f}%"></span></td>'
        f"<td>{escape(line.detail)}</td></tr>"
    )
