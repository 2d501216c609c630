"""Gaussian discriminant analysis over two features: points, contours of each class, and boundaries."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.decision_boundary import points_on_grid
from suffice.plots.display import Display
from suffice.plots.inputs import (
    encode_labels,
    predict_probabilities,
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

_DEVIATIONS = (1, 2, 3)  #: where the contours of a class are
_LINE_STYLES: tuple[Any, ...] = ("-", (0, (4, 2)), (0, (1, 1.5)))


class DiscriminantDisplay(Display):
    """Gaussian class densities over two features, with the boundary of the model and that of logistic regression.

    Parameters
    ----------
    first, second
        Grid values of the two features, (a,) and (b,).
    margins
        By name of a model, the margin of each class on the grid, (k, b, a): its probability less the highest of the
        others, 0 on the boundary.
    classes
        The classes, (k,).
    means
        Class means, (k, 2).
    covariances
        Class covariances, (k, 2, 2).
    X, y
        Points, (n, 2), and their classes.
    features
        Names of the two features.

    Examples
    --------
    >>> from suffice import GDA
    >>> random = np.random.default_rng(0)
    >>> X, y = random.normal(size=(100, 2)) + np.repeat([[0, 0], [2, 1]], 50, axis=0), np.repeat([0, 1], 50)
    >>> display = DiscriminantDisplay.from_estimator(GDA().fit(X, y), X, y)
    >>> list(display.margins), display.covariances.shape
    (['GDA', 'LogisticRegression'], (2, 2, 2))
    """

    def __init__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        margins: Mapping[str, npt.ArrayLike],
        classes: npt.ArrayLike,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        *,
        X: npt.ArrayLike,
        y: npt.ArrayLike,
        features: tuple[str, str] = ("x0", "x1"),
    ) -> None:
        self.first = np.asarray(first, dtype=np.float64)
        self.second = np.asarray(second, dtype=np.float64)
        self.classes = np.asarray(classes)
        shape = (len(self.classes), len(self.second), len(self.first))
        self.margins = {name: np.asarray(margin, dtype=np.float64) for name, margin in margins.items()}
        for name, margin in self.margins.items():
            if margin.shape != shape:
                raise ValueError(f"margins[{name!r}] must have the shape {shape}; its shape is {margin.shape}")
        self.means = np.asarray(means, dtype=np.float64)
        self.covariances = np.asarray(covariances, dtype=np.float64)
        self.X = np.asarray(X, dtype=np.float64)
        self.y = np.asarray(y)
        self.features = features

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike,
        *,
        beside: Any = "logistic",
        grid: int = 150,
        max_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw a fitted model of two features: rows, contours of p(x | y), and where classes are equally probable.

        Parameters
        ----------
        model
            A generative model with normal densities, such as ``GDA`` or ``GaussianNB``, of two features.
        X, y
            Rows and their classes.
        beside
            A fitted classifier whose boundary is drawn beside that of the model, or None. ``"logistic"`` fits a
            ``LogisticRegression`` to X and y.
        grid
            Number of values of each feature.
        max_rows, random_state
            Maximum number of rows drawn as points, and the seed that selects them.
        ax
            Axes to draw on.
        """
        from suffice.plots.class_conditionals import ClassEllipsesDisplay
        from suffice.plots.class_parameters import make_class_display
        from suffice.plots.feature_grid import FeatureGrid

        names = resolve_feature_names(model, X)
        if len(names) != 2:
            raise ValueError(
                f"this plot is of two features, and the model has {len(names)}: {names[:8]}; fit it to two"
            )
        normal = make_class_display(model, None, None, [0, 1], 2, max_rows, random_state)
        if not isinstance(normal, ClassEllipsesDisplay):
            raise ValueError(f"{type(model).__name__} has no normal densities: give GDA or GaussianNB")
        points = np.stack([select_numeric_column(X, index, names[index]) for index in (0, 1)], axis=1)
        labels = validate_labels(y, len(points))
        encode_labels(labels, normal.classes, "y")
        models = {type(model).__name__: model}
        if isinstance(beside, str) and beside == "logistic":
            from suffice.discriminative import LogisticRegression

            beside = LogisticRegression().fit(X, y)
        if beside is not None:
            name = type(beside).__name__
            models[name if name not in models else f"{name} (2)"] = beside
        table = FeatureGrid.over(X, names, (0, 1), {}, grid)
        shape = len(table.second), len(table.first)
        margins = {name: _margins(each, table.rows, normal.classes, shape) for name, each in models.items()}
        sample = sample_rows(len(points), max_rows, random_state)
        return cls(
            table.first,
            table.second,
            margins,
            normal.classes,
            normal.means,
            normal.covariances,
            X=points[sample],
            y=labels[sample],
            features=(names[0], names[1]),
        ).plot(ax)

    def _draw(self) -> None:
        from matplotlib.lines import Line2D

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            colour, marker = class_colour(code), class_marker(code)
            points = points_on_grid(self.X[self.y == label], self.first, self.second)
            ax.scatter(points[:, 0], points[:, 1], s=12, marker=marker, color=colour, alpha=0.55, linewidths=0)
            distance = self.distances(code)
            ax.contour(self.first, self.second, distance, _DEVIATIONS, colors=[colour], linewidths=1.0, alpha=0.9)
            ax.plot(*self.means[code], marker=marker, color=colour, markersize=6)
            handle = Line2D([], [], color=colour, marker=marker, linestyle="none", markersize=6)
            entries.append((handle, str(label)))
        for (name, margins), style in zip(self.margins.items(), _LINE_STYLES, strict=False):
            for margin in _draw_once(margins):
                if np.nanmax(margin, initial=0.0) > 0 > np.nanmin(margin, initial=0.0):
                    ax.contour(
                        self.first, self.second, margin, [0.0], colors=[FOREGROUND], linewidths=1.8, linestyles=[style]
                    )
            entries.append((Line2D([], [], color=FOREGROUND, linestyle=style, linewidth=1.8), name))
        ax.set_xlim(self.first.min(), self.first.max())
        ax.set_ylim(self.second.min(), self.second.max())
        rows = draw_legend(ax, entries)
        label_axes(ax, *self.features)
        self._set_title("Class densities at 1, 2 and 3 standard deviations, and boundaries", rows)

    def distances(self, code: int) -> FloatArray:
        """Return the Mahalanobis distance of the grid from the mean of a class, (b, a)."""
        first, second = np.meshgrid(self.first, self.second)
        away = np.stack([first, second], axis=-1) - self.means[code]
        inverse = np.linalg.pinv(self.covariances[code], hermitian=True)
        return np.asarray(np.sqrt(np.einsum("...i,ij,...j->...", away, inverse, away)))


def _draw_once(margins: FloatArray) -> FloatArray:
    """Return the margin of each class but the last, without the boundaries to classes before it, (k - 1, b, a).

    A line that is drawn twice has its gaps filled.
    """
    first_of_two = np.sort(np.argsort(margins, axis=0)[-2:], axis=0)[0]  # of the two most probable classes
    codes = np.arange(len(margins) - 1)[:, None, None]
    return np.where(first_of_two == codes, margins[:-1], np.nan)


def _margins(model: Any, rows: Any, classes: npt.NDArray[Any], shape: tuple[int, int]) -> FloatArray:
    p, known = predict_probabilities(model, rows)
    if not np.array_equal(known, classes):
        raise ValueError(f"beside has the classes {known.tolist()!r}; the model has {classes.tolist()!r}")
    columns = np.moveaxis(p.reshape(*shape, len(classes)), -1, 0)
    others = [np.delete(columns, code, axis=0).max(axis=0, initial=0.0) for code in range(len(columns))]
    return np.asarray(columns - np.stack(others))
