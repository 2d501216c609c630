"""What speaks for a class, and what against it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import class_code, feature_names, measured
from suffice.plots.style import INK, WIDTH, bare, beside_bar, colour, name_axes, number, shortened
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FeatureEffectsDisplay(Display):
    """Signed bars: what adds to a number, and what takes from it.

    Parameters
    ----------
    labels
        What is shown, (m,), from the top.
    values
        What each adds, (m,).
    what
        What the values are.
    title
        What is seen.
    quiet
        How many of the last bars are drawn in the ink alone: sums that stand for no feature.

    Examples
    --------
    >>> from suffice import TextClassifier
    >>> texts = ["free money, free!", "cheap money now", "lunch on monday?", "monday is fine"]
    >>> model = TextClassifier().fit(texts, ["spam", "spam", "ham", "ham"])
    >>> FeatureEffectsDisplay.from_explanation(model.explain("free lunch"), n=1).labels
    ['free', '1 other', 'prior and base']
    """

    def __init__(
        self,
        labels: Sequence[Any],
        values: npt.ArrayLike,
        *,
        what: str = "added to the log-odds",
        title: str = "What speaks for it, and what against it",
        quiet: int = 0,
    ) -> None:
        self.labels = [str(label) for label in labels]
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.shape != (len(self.labels),) or not self.labels:
            raise ValueError(
                f"there are {len(self.labels)} labels and {self.values.size} values: give one value for each"
            )
        self.what = what
        self.title = title
        self.quiet = quiet

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Any, float]], *, n: int | None = None, ax: Axes | None = None, **how: Any
    ) -> Self:
        """Draw (label, value) pairs, the strongest first.

        Parameters
        ----------
        pairs
            The pairs.
        n
            How many are shown at most; all by default.
        ax
            Where to draw.
        how
            Further parameters of the class.
        """
        ordered = sorted(pairs, key=lambda pair: -abs(pair[1]))[:n]
        return cls([label for label, _ in ordered], [value for _, value in ordered], **how).plot(ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Any,
        *,
        row: int = 0,
        label: Any = None,
        against: Any = None,
        n: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw why a row, or a text, was given its class; all bars together are its log-odds.

        Parameters
        ----------
        explanation
            What ``explain`` returned.
        row
            Which of the rows, for explanations of several.
        label, against
            The class and the one it is compared with; by default the most probable one and the next.
        n
            How many features are shown; the others are summed.
        ax
            Where to draw.
        """
        if isinstance(explanation, Sequence):
            if not 0 <= row < len(explanation):
                raise ValueError(f"there is no row {row}; the explanation is of {len(explanation)} rows")
            explanation = explanation[row]
        if label is not None or against is not None:
            explanation = explanation.compare(label, against)
        base, *lines = explanation.lines(n)
        return cls(
            [*(line.name for line in lines), base.name],
            [*(line.effect for line in lines), base.effect],
            title=f"Why {explanation.prediction} and not {explanation.against}: log-odds {explanation.total:+.2f}",
            quiet=1 + (len(explanation.contributions) > n),
        ).plot(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: Any = None, *, label: Any = None, n: int = 10, ax: Axes | None = None
    ) -> Self:
        """Draw the features that count most in a fitted model with linear scores.

        Parameters
        ----------
        model
            A model with ``coef_``, ``top_features`` or ``top_words``.
        X
            Rows, (n, d). With them, coefficients are those of features in units of their standard deviation, and so can
            be compared.
        label
            The class whose score is shown; of two, the second by default, of more, the first.
        n
            How many features are shown.
        ax
            Where to draw.
        """
        classes = np.asarray(getattr(model, "classes_", []))
        code = (1 if len(classes) == 2 else 0) if label is None else class_code(classes, label)
        about = f"for {classes[code]}" if len(classes) else "for a large answer"
        if hasattr(model, "top_words"):
            pairs = _of_words(model.top_words(n=n), code)
            return cls.from_pairs(pairs, n=n, title=f"Words that speak most {about}", ax=ax)
        if not hasattr(model, "coef_"):
            raise ValueError(
                f"{type(model).__name__} has no coef_: its scores are not linear in X; use explain, where it has"
            )
        row = _coefficients(model, len(classes), code)
        names = feature_names(model, X)
        what = "added to the score by one unit"
        if X is not None:
            row = row * _spreads(X, names)
            what = "added to the score by one standard deviation"
        pairs = [(name, float(value)) for name, value in zip(names, row, strict=True)]
        return cls.from_pairs(pairs, n=n, what=what, title=f"Features that speak most {about}", ax=ax)

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.95 + 0.23 * max(len(self.labels), 3)

    def _draw(self) -> None:
        ax, m = self.ax_, len(self.labels)
        loud = m - self.quiet
        lengths = _drawn(self.values)
        shades = [colour(0) if length >= 0 else colour(1) for length in lengths[:loud]]
        ax.barh(range(loud), lengths[:loud], 0.72, color=shades)
        ax.barh(range(loud, m), lengths[loud:], 0.72, color=INK, alpha=0.5)
        ax.axvline(0, color=INK, linewidth=0.8)
        low, high = min(0.0, lengths.min()), max(0.0, lengths.max())
        room = 0.18 * ((high - low) or 1.0)
        ax.set_xlim(low - (room if low < 0 else 0), high + (room if high > 0 else 0))
        for row, (length, value) in enumerate(zip(lengths, self.values, strict=True)):
            beside_bar(ax, length, row, value)
        ax.set_yticks(range(m), [shortened(label, 24) for label in self.labels])
        ax.set_ylim(m - 0.4, -0.6)
        ax.set_xticks([])
        bare(ax)
        name_axes(ax, self.what)
        self._entitle(self.title)


def _drawn(values: FloatArray) -> FloatArray:
    """Return the lengths of bars: what is infinite is as long as the longest, what is no number has none."""
    finite = np.isfinite(values)
    longest = float(np.abs(values[finite]).max(initial=0.0)) or 1.0
    return np.where(finite, values, np.where(np.isnan(values), 0.0, np.sign(values) * longest))


def _cell(value: Any) -> str:
    return number(float(value)) if isinstance(value, int | float | np.number) else shortened(value, 14)


def _coefficients(model: Any, classes: int, code: int) -> FloatArray:
    """Return what speaks for a class, (d,): of two classes against the other, of more against their average."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(coef) == 1:
        return np.asarray(-coef[0] if classes == 2 and code == 0 else coef[0])
    from suffice.generative.conditional import against_average

    return np.asarray(against_average(coef)[code])


def _of_words(words: dict[Any, list[tuple[str, float]]], code: int) -> list[tuple[str, float]]:
    """Return the words that speak for a class; of two classes, also those that speak for the other, as against it."""
    lists = list(words.values())
    others = [(word, -value) for word, value in lists[1 - code]] if len(lists) == 2 else []
    return lists[code] + others


def _spreads(X: Any, names: Sequence[str]) -> FloatArray:
    """Return the standard deviation of each feature, (d,)."""
    if hasattr(X, "toarray"):
        mean, square = (np.asarray(each.mean(axis=0)).reshape(-1) for each in (X, X.multiply(X)))
        return np.asarray(np.sqrt(np.maximum(square - mean**2, 0.0)))
    return np.array([np.nanstd(measured(X, place, name)) for place, name in enumerate(names)])
