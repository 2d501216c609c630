"""Where a classifier changes its mind: probabilities over two features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import Array, codes_of, feature_names, labels_of, measured, place_of, some_rows
from suffice.plots.style import INK, colour, legend, marker, name_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Where the lead of the best class over the next gets a stronger shade; it is 0 on the boundary.
_LEADS = (0.0, 0.2, 0.4, 0.6, 0.8)
_SHADE = 0.11


class DecisionBoundaryDisplay(Display):
    """The most probable class over two features, stronger where it is surer; lines where two classes are level.

    Parameters
    ----------
    first, second
        Where the two features were tried, (a,) and (b,).
    probabilities
        p(y | x) there, (b, a, k): rows go with the second feature. Of a model that only predicts, 0 and 1.
    classes
        The classes, (k,).
    features
        The names of the two features.
    held
        What the other features were held at.
    X, y
        Points to be drawn, (n, 2), and their classes.

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
        wanted = (len(self.second), len(self.first), len(self.classes))
        if self.probabilities.shape != wanted:
            raise ValueError(f"probabilities must have the shape {wanted}; theirs is {self.probabilities.shape}")
        self.features = features
        self.held = dict(held or {})
        self.X = None if X is None else np.asarray(X, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any,
        y: Any = None,
        *,
        features: Any = (0, 1),
        held: Mapping[Any, Any] | None = None,
        grid: int = 100,
        most_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the classes that a fitted model sees over two features.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba`` or ``predict``.
        X
            Rows: they say how far the features reach and what the others are held at. Data frames of any library,
            arrays, lists of rows.
        y
            Their classes, to be drawn as points.
        features
            The two features, by name or place.
        held
            What other features are held at, by name or place; by default their median, or what is most frequent where
            they are no numbers.
        grid
            How many values of each feature are tried. Whole numbers stay whole.
        most_rows, random_state
            How many rows are drawn as points at most, and which.
        ax
            Where to draw.
        """
        from suffice.plots.grids import Grid

        names = feature_names(model, X)
        chosen = [features] if np.ndim(features) == 0 else list(features)
        if len(chosen) != 2 or len(names) < 2:
            raise ValueError(
                f"a boundary is drawn over two features; got {len(chosen)}, and X has {len(names)}: {names[:8]}"
            )
        one, two = (place_of(names, feature) for feature in chosen)
        if one == two:
            raise ValueError(f"feature {names[one]!r} is given twice: give two features that differ")
        if not hasattr(model, "classes_"):
            raise ValueError(f"{type(model).__name__} is no fitted classifier: a boundary is between classes")
        fixed = {place_of(names, feature): value for feature, value in (held or {}).items()}
        tried = Grid.over(X, names, (one, two), fixed, grid)
        classes = np.asarray(model.classes_)
        p = _answers(model, tried.rows, classes).reshape(len(tried.second), len(tried.first), len(classes))
        points = np.stack([measured(X, place, names[place]) for place in (one, two)], axis=1)
        some = some_rows(len(points), most_rows, random_state)
        return cls(
            tried.first,
            tried.second,
            p,
            classes,
            features=(names[one], names[two]),
            held=tried.held,
            X=None if y is None else points[some],
            y=None if y is None else labels_of(y, len(points))[some],
        ).plot(ax)

    @property
    def leads(self) -> FloatArray:
        """How far each class is ahead of the best of the others, (k, b, a): 0 on its boundary."""
        p = np.moveaxis(self.probabilities, -1, 0)
        others = [np.delete(p, code, axis=0).max(axis=0, initial=0.0) for code in range(len(p))]
        return np.asarray(p - np.stack(others))

    def _draw(self) -> None:
        from matplotlib.lines import Line2D

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, (label, lead) in enumerate(zip(self.classes, self.leads, strict=True)):
            # Shades lie upon each other: between neighbours that only touch, hairs of the background would show.
            for least in _LEADS:
                if lead.max() > least:
                    ax.contourf(self.first, self.second, lead, [least, 2.0], colors=[colour(code)], alpha=_SHADE)
            if lead.max() > 0 > lead.min():
                ax.contour(self.first, self.second, lead, [0.0], colors=[INK], linewidths=1.2)
            handle = Line2D([], [], color=colour(code), marker=marker(code), linestyle="none", markersize=6)
            entries.append((handle, str(label)))
            if self.X is not None and self.y is not None:
                x0, x1 = self.X[self.y == label].T
                ax.scatter(x0, x1, s=9, marker=marker(code), color=colour(code), alpha=0.6, linewidths=0)
        ax.set_xlim(self.first.min(), self.first.max())
        ax.set_ylim(self.second.min(), self.second.max())
        rows = legend(ax, entries)
        name_axes(ax, *self.features)
        what = "The most probable class, stronger where it is surer"
        self._entitle(f"{what}; other features are held still" if self.held else what, rows)


def _answers(model: Any, rows: Any, classes: Array) -> FloatArray:
    """Return p(y | x), (n, k); of a model that only predicts, 1 for the class that it says."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(rows), dtype=np.float64)
    predicted = np.asarray(model.predict(rows))
    return np.asarray(np.eye(len(classes))[codes_of(predicted, classes, "the prediction")])
