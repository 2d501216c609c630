"""Effects of features on a prediction: contributions of an explanation, or coefficients of a model."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import class_index, resolve_feature_names, select_numeric_column
from suffice.plots.style import (
    FOREGROUND,
    WIDTH,
    class_colour,
    hide_spines,
    label_axes,
    label_bar,
    shorten,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import ClassLabel, MatrixLike


class FeatureEffectsDisplay(Display):
    """Signed bars: the effect of each feature on the log-odds or the score.

    Parameters
    ----------
    labels
        Labels of the bars, (m,), from the top.
    values
        Effects, (m,).
    axis_label
        What an effect is.
    title
        Title of the plot.
    n_totals
        Number of bars at the end that are no features, such as sums and the prior; drawn in the foreground colour.

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
        axis_label: str = "effect on the log-odds",
        title: str = "Feature effects",
        n_totals: int = 0,
    ) -> None:
        self.labels = [str(label) for label in labels]
        self.values = np.asarray(values, dtype=np.float64)
        if self.values.shape != (len(self.labels),) or not self.labels:
            raise ValueError(
                f"there are {len(self.labels)} labels and {self.values.size} values: give one value for each"
            )
        self.axis_label = axis_label
        self.title = title
        self.n_totals = n_totals

    @classmethod
    def from_pairs(
        cls, pairs: Iterable[tuple[Any, float]], *, n: int | None = None, ax: Axes | None = None, **options: Any
    ) -> Self:
        """Draw (label, effect) pairs, the largest absolute effect first.

        Parameters
        ----------
        pairs
            The pairs.
        n
            Maximum number of bars; all by default.
        ax
            Axes to draw on.
        options
            Further parameters of the class.
        """
        ordered = sorted(pairs, key=lambda pair: -abs(pair[1]))[:n]
        return cls([label for label, _ in ordered], [value for _, value in ordered], **options).plot(ax)

    @classmethod
    def from_explanation(
        cls,
        explanation: Any,
        *,
        row: int = 0,
        label: ClassLabel | None = None,
        against: ClassLabel | None = None,
        n: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the contributions to the log-odds of one row or text; all bars add up to the log-odds.

        Parameters
        ----------
        explanation
            The result of ``explain``.
        row
            Index of the row, for explanations of several.
        label, against
            The class and the class it is compared with; by default the most probable and the second.
        n
            Number of features; the others are summed.
        ax
            Axes to draw on.
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
            title=f"Log-odds of {explanation.prediction} against {explanation.against}: {explanation.total:+.2f}",
            n_totals=1 + (len(explanation.contributions) > n),
        ).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike | None = None,
        *,
        label: ClassLabel | None = None,
        n: int = 10,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the largest coefficients of a fitted model with linear scores.

        Parameters
        ----------
        model
            A model with ``coef_`` or ``top_words``.
        X
            Rows, (n, d). With them, coefficients are multiplied by the standard deviation of their feature, and so
            are comparable.
        label
            The class whose score is shown; by default the second of two, the first of more.
        n
            Number of features.
        ax
            Axes to draw on.
        """
        classes = np.asarray(getattr(model, "classes_", []))
        code = (1 if len(classes) == 2 else 0) if label is None else class_index(classes, label)
        suffix = f" for {classes[code]}" if len(classes) else ""
        if hasattr(model, "top_words"):
            pairs = _signed_words(model.top_words(n=n), code)
            return cls.from_pairs(pairs, n=n, title=f"Words with the largest log-odds{suffix}", ax=ax)
        if not hasattr(model, "coef_"):
            raise ValueError(
                f"{type(model).__name__} has no coef_: its scores are not linear in X; use explain, where it has"
            )
        coef = _class_coefficients(model, len(classes), code)
        names = resolve_feature_names(model, X)
        axis_label = "change of the score per unit"
        if X is not None:
            coef = coef * _standard_deviations(X, names)
            axis_label = "change of the score per standard deviation"
        pairs = [(name, float(value)) for name, value in zip(names, coef, strict=True)]
        return cls.from_pairs(pairs, n=n, axis_label=axis_label, title=f"Largest coefficients{suffix}", ax=ax)

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.95 + 0.23 * max(len(self.labels), 3)

    def _draw(self) -> None:
        ax, m = self.ax_, len(self.labels)
        n_features = m - self.n_totals
        lengths = _bar_lengths(self.values)
        colours = [class_colour(0) if length >= 0 else class_colour(1) for length in lengths[:n_features]]
        ax.barh(range(n_features), lengths[:n_features], 0.72, color=colours)
        ax.barh(range(n_features, m), lengths[n_features:], 0.72, color=FOREGROUND, alpha=0.5)
        ax.axvline(0, color=FOREGROUND, linewidth=0.8)
        low, high = min(0.0, lengths.min()), max(0.0, lengths.max())
        space = 0.25 * ((high - low) or 1.0)  # for the values beside the bars
        ax.set_xlim(low - (space if low < 0 else 0), high + (space if high > 0 else 0))
        for row, (length, value) in enumerate(zip(lengths, self.values, strict=True)):
            label_bar(ax, length, row, value)
        ax.set_yticks(range(m), [shorten(label, 24) for label in self.labels])
        ax.set_ylim(m - 0.4, -0.6)
        ax.set_xticks([])
        hide_spines(ax)
        label_axes(ax, self.axis_label)
        self._set_title(self.title)


def _bar_lengths(values: FloatArray) -> FloatArray:
    """Return the values, infinite ones replaced by the largest finite, and NaN by 0."""
    finite = np.isfinite(values)
    longest = float(np.abs(values[finite]).max(initial=0.0)) or 1.0
    return np.where(finite, values, np.where(np.isnan(values), 0.0, np.sign(values) * longest))


def _class_coefficients(model: Any, n_classes: int, code: int) -> FloatArray:
    """Return the coefficients of a class, (d,): of two classes against the other, of more against their mean."""
    coef = np.atleast_2d(np.asarray(model.coef_, dtype=np.float64))
    if len(coef) == 1:
        return np.asarray(-coef[0] if n_classes == 2 and code == 0 else coef[0])
    from suffice.generative.conditional import against_average

    return np.asarray(against_average(coef)[code])


def _signed_words(words: dict[Any, list[tuple[str, float]]], code: int) -> list[tuple[str, float]]:
    """Return the words of a class; of two classes, also those of the other, with negative log-odds."""
    lists = list(words.values())
    others = [(word, -value) for word, value in lists[1 - code]] if len(lists) == 2 else []
    return lists[code] + others


def _standard_deviations(X: Any, names: Sequence[str]) -> FloatArray:
    """Return the standard deviation of each feature, (d,)."""
    if hasattr(X, "toarray"):
        mean, mean_square = (np.asarray(each.mean(axis=0)).reshape(-1) for each in (X, X.multiply(X)))
        return np.asarray(np.sqrt(np.maximum(mean_square - mean**2, 0.0)))
    return np.array([np.nanstd(select_numeric_column(X, index, name)) for index, name in enumerate(names)])
