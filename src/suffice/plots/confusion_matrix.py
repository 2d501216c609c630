"""Confusion matrix of a classifier."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import confusion_matrix
from suffice.plots.display import Display
from suffice.plots.inputs import encode_labels, validate_labels
from suffice.plots.style import (
    FONT_SIZE,
    FOREGROUND,
    WIDTH,
    class_colour,
    format_number,
    hide_spines,
    label_axes,
    shorten,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

#: Maximum number of classes for counts and shares in all cells, and for shares in all cells; with more classes, only
#: the diagonal has shares.
_MAX_COUNTS, _MAX_SHARES = 5, 10
#: Opacity of a cell with all rows of its class: text in the foreground colour stays readable.
_MAX_ALPHA = 0.4


class ConfusionMatrixDisplay(Display):
    """Confusion matrix: one row for each actual class, one column for each predicted class.

    Parameters
    ----------
    counts
        Number of rows of each actual and predicted class, (k, k).
    classes
        The classes, (k,).

    Attributes
    ----------
    shares
        Counts divided by the sum of their row, (k, k); 0 for a class without rows.

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
    def from_estimator(cls, model: Any, X: MatrixLike, y: VectorLike, *, ax: Axes | None = None) -> Self:
        """Draw the confusion matrix of a fitted classifier.

        Parameters
        ----------
        model
            Any classifier.
        X, y
            Test rows and their classes.
        ax
            Axes to draw on.
        """
        return cls.from_predictions(y, model.predict(X), classes=getattr(model, "classes_", None), ax=ax)

    @classmethod
    def from_predictions(
        cls, y: VectorLike, prediction: npt.ArrayLike, *, classes: VectorLike = None, ax: Axes | None = None
    ) -> Self:
        """Draw the confusion matrix of predictions.

        Parameters
        ----------
        y
            Actual classes of the rows, (n,).
        prediction
            Predicted classes, (n,).
        classes
            The classes in the order of the matrix; all that occur, sorted, by default.
        ax
            Axes to draw on.
        """
        predicted = np.asarray(prediction)
        labels = validate_labels(y, len(predicted))
        known = np.unique(np.concatenate([labels, predicted])) if classes is None else np.asarray(classes)
        codes, predicted_codes = encode_labels(labels, known, "y"), encode_labels(predicted, known, "the prediction")
        return cls(confusion_matrix(codes, predicted_codes, len(known)), known).plot(ax)

    def _size(self) -> tuple[float, float]:
        k = len(self.classes)
        return WIDTH, float(np.clip(1.5 + 0.42 * k, 2.4, WIDTH + 0.4))

    def _draw(self) -> None:
        from matplotlib.colors import to_rgba

        ax, k = self.ax_, len(self.classes)
        for edge in np.arange(k + 1) - 0.5:
            ends = [-0.5, k - 0.5]
            ax.plot([edge, edge], ends, ends, [edge, edge], color=FOREGROUND, alpha=0.25, linewidth=0.5)
        # One rectangle per cell: an image would be blurred when it is scaled.
        font_size = self._cell_font_size()
        for row, column in np.argwhere(self.counts):
            colour = to_rgba(class_colour(0), _MAX_ALPHA * self.shares[row, column])
            ax.bar(column, 1, 1, row - 0.5, color=colour, linewidth=0)
            text = self._cell_text(row, column)
            ax.text(column, row, text, ha="center", va="center", color=FOREGROUND, fontsize=font_size)
        names = [shorten(label, 14) for label in self.classes]
        is_wide = k > 3 and max(map(len, names)) * k > 30
        ax.set_xticks(np.arange(k), names, rotation=90 if is_wide else 0)
        ax.set_yticks(np.arange(k), names)
        ax.tick_params(labelsize=FONT_SIZE if k <= _MAX_SHARES else 7)
        ax.set_xlim(-0.5, k - 0.5)
        ax.set_ylim(k - 0.5, -0.5)
        hide_spines(ax)
        accuracy = float(np.trace(self.counts)) / max(float(self.counts.sum()), 1.0)
        label_axes(ax, "predicted", "actual")
        self._set_title(f"Confusion matrix (accuracy {accuracy:.1%})")

    def _cell_font_size(self) -> float:
        k = len(self.classes)
        return FONT_SIZE if k <= _MAX_COUNTS else FONT_SIZE - 1.5 if k <= _MAX_SHARES else 5.5

    def _cell_text(self, row: int, column: int) -> str:
        count, share = self.counts[row, column], self.shares[row, column]
        if len(self.classes) > _MAX_SHARES and row != column:
            return ""
        text = f"{share:.0%}" if share >= 0.005 else "<1%"
        return f"{format_number(float(count))}\n{text}" if len(self.classes) <= _MAX_COUNTS else text.rstrip("%")
