"""Decision boundary of a classifier over two features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import (
    Array,
    encode_labels,
    feature_index,
    resolve_feature_names,
    sample_rows,
    select_numeric_column,
    validate_labels,
)
from suffice.plots.style import FOREGROUND, class_colour, class_marker, draw_legend, label_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

#: Margins above which a region gets one more layer of shading; the margin is 0 on the boundary.
_MARGINS = (0.0, 0.2, 0.4, 0.6, 0.8)
_LAYER_ALPHA = 0.11


class DecisionBoundaryDisplay(Display):
    """Decision boundary over two features: shaded by the most probable class, stronger for a larger margin.

    Parameters
    ----------
    first, second
        Grid values of the two features, (a,) and (b,).
    probabilities
        p(y | x) on the grid, (b, a, k): rows are values of the second feature. 0 or 1 for a model without
        ``predict_proba``.
    classes
        The classes, (k,).
    features
        Names of the two features.
    held
        Constant values of the other features.
    X, y
        Points to draw, (n, 2), and their classes.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GDA
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> features = ["petal length (cm)", "petal width (cm)"]
    >>> display = DecisionBoundaryDisplay.from_estimator(GDA().fit(X, y), X, y, features=features)
    >>> display.probabilities.shape, display.held
    ((100, 100, 3), {'sepal length (cm)': 5.8, 'sepal width (cm)': 3.0})
    """

    def __init__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        probabilities: npt.ArrayLike,
        classes: npt.ArrayLike,
        *,
        features: tuple[str, str] = ("x0", "x1"),
        held: Mapping[str, Any] | None = None,
        X: npt.ArrayLike | None = None,
        y: npt.ArrayLike | None = None,
    ) -> None:
        self.first = np.asarray(first, dtype=np.float64)
        self.second = np.asarray(second, dtype=np.float64)
        self.probabilities = np.asarray(probabilities, dtype=np.float64)
        self.classes = np.asarray(classes)
        shape = (len(self.second), len(self.first), len(self.classes))
        if self.probabilities.shape != shape:
            raise ValueError(f"probabilities must have the shape {shape}; theirs is {self.probabilities.shape}")
        self.features = features
        self.held = dict(held or {})
        self.X = None if X is None else np.asarray(X, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike = None,
        *,
        features: Any = (0, 1),
        held: Mapping[Any, Any] | None = None,
        grid: int = 100,
        max_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the decision boundary of a fitted classifier over two features.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba`` or ``predict``.
        X
            Rows, which give the ranges of the two features and the typical values of the others: a data frame of any
            library, an array, a sparse matrix or a list of rows.
        y
            Classes of the rows; with them, the rows are drawn as points.
        features
            The two features, by name or index.
        held
            Constant values of other features, by name or index; the median of numbers and the most frequent value of
            anything else by default.
        grid
            Number of values of each feature. Integers remain integers.
        max_rows, random_state
            Maximum number of rows drawn as points, and the seed that selects them.
        ax
            Axes to draw on.
        """
        from suffice.plots.feature_grid import FeatureGrid

        names = resolve_feature_names(model, X)
        chosen = [features] if np.ndim(features) == 0 else list(features)
        if len(names) < 2:
            raise ValueError(
                f"a decision boundary is drawn over two features, and X has {len(names)}: {names}; of one feature, "
                "draw ClassConditionalsDisplay or LinkDisplay"
            )
        if len(chosen) != 2:
            raise ValueError(f"a decision boundary needs two features; got {len(chosen)}: features={features!r}")
        one, two = (feature_index(names, feature) for feature in chosen)
        if one == two:
            raise ValueError(f"feature {names[one]!r} is given twice: give two different features")
        if not hasattr(model, "classes_"):
            raise ValueError(f"{type(model).__name__} is not a fitted classifier: a decision boundary needs classes")
        constants = {feature_index(names, feature): value for feature, value in (held or {}).items()}
        table = FeatureGrid.over(X, names, (one, two), constants, grid)
        classes = np.asarray(model.classes_)
        p = _predict(model, table.rows, classes).reshape(len(table.second), len(table.first), len(classes))
        points = np.stack([select_numeric_column(X, index, names[index]) for index in (one, two)], axis=1)
        sample = sample_rows(len(points), max_rows, random_state)
        return cls(
            table.first,
            table.second,
            p,
            classes,
            features=(names[one], names[two]),
            held=table.held,
            X=None if y is None else points[sample],
            y=None if y is None else validate_labels(y, len(points))[sample],
        ).plot(ax)

    @property
    def margins(self) -> FloatArray:
        """Probability of each class less the highest of the other classes, (k, b, a); 0 on the boundary of a class."""
        p = np.moveaxis(self.probabilities, -1, 0)
        others = [np.delete(p, code, axis=0).max(axis=0, initial=0.0) for code in range(len(p))]
        return np.asarray(p - np.stack(others))

    def _draw(self) -> None:
        from matplotlib.lines import Line2D

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, (label, margin) in enumerate(zip(self.classes, self.margins, strict=True)):
            # Layers overlap: adjacent bands would leave thin gaps in which the background shows.
            for least in _MARGINS:
                if margin.max() > least:
                    ax.contourf(
                        self.first, self.second, margin, [least, 2.0], colors=[class_colour(code)], alpha=_LAYER_ALPHA
                    )
            if margin.max() > 0 > margin.min():
                ax.contour(self.first, self.second, margin, [0.0], colors=[FOREGROUND], linewidths=1.2)
            handle = Line2D([], [], color=class_colour(code), marker=class_marker(code), linestyle="none", markersize=6)
            entries.append((handle, str(label)))
            if self.X is not None and self.y is not None:
                points = points_on_grid(self.X[self.y == label], self.first, self.second)
                ax.scatter(
                    points[:, 0],
                    points[:, 1],
                    s=9,
                    marker=class_marker(code),
                    color=class_colour(code),
                    alpha=0.6,
                    linewidths=0,
                    clip_on=False,
                )
        ax.set_xlim(self.first.min(), self.first.max())
        ax.set_ylim(self.second.min(), self.second.max())
        rows = draw_legend(ax, entries)
        label_axes(ax, *self.features)
        self._set_title("Decision boundary" + ("; other features held constant" if self.held else ""), rows)


def points_on_grid(points: FloatArray, first: FloatArray, second: FloatArray) -> FloatArray:
    """Return the points within the range of a grid, (m, 2); drawn unclipped, those on its edges have whole markers."""
    low, high = (first.min(), second.min()), (first.max(), second.max())
    return points[((points >= low) & (points <= high)).all(axis=1)]


def _predict(model: Any, rows: Any, classes: Array) -> FloatArray:
    """Return p(y | x), (n, k); without ``predict_proba``, 1 for the predicted class and 0 for the others."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    predicted = np.asarray(model.predict(rows))
    return np.asarray(np.eye(len(classes))[encode_labels(predicted, classes, "the prediction")])
