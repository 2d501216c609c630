"""Which classes are taken for which."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import confusion_matrix
from suffice.plots.display import Display
from suffice.plots.inputs import codes_of, labels_of
from suffice.plots.style import INK, LETTERS, WIDTH, bare, colour, name_axes, number, shortened
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Up to so many classes cells hold counts and shares, up to so many shares only; then only their diagonal.
_BOTH, _SHARES = 5, 10
#: How opaque a cell that holds all rows of its class is: letters in the ink are to be read on it.
_DARKEST = 0.4


class ConfusionMatrixDisplay(Display):
    """Which classes are taken for which: a row for each class, a column for each prediction.

    Parameters
    ----------
    counts
        How many rows of each class got each prediction, (k, k).
    classes
        The classes, (k,).

    Attributes
    ----------
    shares
        The same as shares of each row, (k, k); 0 for a class without rows.

    Examples
    --------
    >>> ConfusionMatrixDisplay([[8, 2], [1, 9]], ["ham", "spam"]).shares.tolist()
    [[0.8, 0.2], [0.1, 0.9]]
    """

    def __init__(self, counts: npt.ArrayLike, classes: Sequence[Any] | npt.NDArray[Any]) -> None:
        self.counts = np.asarray(counts)
        self.classes = np.asarray(classes)
        if self.counts.shape != (len(self.classes), len(self.classes)):
            raise ValueError(
                f"counts has the shape {self.counts.shape}: there are {len(self.classes)} classes, and it must have a "
                "row and a column for each"
            )
        total = self.counts.sum(axis=1, keepdims=True)
        self.shares: FloatArray = self.counts / np.where(total > 0, total, 1)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw what a fitted classifier takes rows for.

        Parameters
        ----------
        model
            Any classifier.
        X, y
            Rows that it has not learnt from, and their classes.
        ax
            Where to draw.
        """
        return cls.from_predictions(y, model.predict(X), classes=getattr(model, "classes_", None), ax=ax)

    @classmethod
    def from_predictions(cls, y: Any, prediction: Any, *, classes: Any = None, ax: Axes | None = None) -> Self:
        """Draw what rows were taken for.

        Parameters
        ----------
        y
            The classes of the rows, (n,).
        prediction
            What they were taken for, (n,).
        classes
            The classes, in the order they are shown in; those that occur, sorted, by default.
        ax
            Where to draw.
        """
        predicted = np.asarray(prediction)
        labels = labels_of(y, len(predicted))
        known = np.unique(np.concatenate([labels, predicted])) if classes is None else np.asarray(classes)
        codes, best = codes_of(labels, known, "y"), codes_of(predicted, known, "the prediction")
        return cls(confusion_matrix(codes, best, len(known)), known).plot(ax)

    def _size(self) -> tuple[float, float]:
        k = len(self.classes)
        return WIDTH, float(np.clip(1.5 + 0.42 * k, 2.4, WIDTH + 0.4))

    def _draw(self) -> None:
        from matplotlib.colors import to_rgba

        ax, k = self.ax_, len(self.classes)
        places = np.arange(k)
        for edge in np.arange(k + 1) - 0.5:
            ax.plot([edge, edge], [-0.5, k - 0.5], [-0.5, k - 0.5], [edge, edge], color=INK, alpha=0.25, linewidth=0.5)
        # One rectangle a cell: a picture of pixels would be blurred where it is scaled.
        for row, column in np.argwhere(self.counts):
            ax.bar(column, 1, 1, row - 0.5, color=to_rgba(colour(0), _DARKEST * self.shares[row, column]), linewidth=0)
            ax.text(column, row, self._cell(row, column), ha="center", va="center", color=INK, fontsize=self._letters())
        names = [shortened(label, 14) for label in self.classes]
        is_wide = k > 3 and max(map(len, names)) * k > 30
        ax.set_xticks(places, names, rotation=90 if is_wide else 0)
        ax.set_yticks(places, names)
        ax.tick_params(labelsize=LETTERS if k <= _SHARES else 7)
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        bare(ax)
        right = float(np.trace(self.counts)) / max(float(self.counts.sum()), 1.0)
        name_axes(ax, "predicted", "actual")
        self._entitle(f"What rows are taken for: {right:.1%} are right")

    def _letters(self) -> float:
        k = len(self.classes)
        return LETTERS if k <= _BOTH else LETTERS - 1.5 if k <= _SHARES else 5.5

    def _cell(self, row: int, column: int) -> str:
        """Return what is written in a cell."""
        count, share = self.counts[row, column], self.shares[row, column]
        if len(self.classes) > _SHARES and row != column:
            return ""
        shown = f"{share:.0%}" if share >= 0.005 else "<1%"
        return f"{number(float(count))}\n{shown}" if len(self.classes) <= _BOTH else shown.rstrip("%")
