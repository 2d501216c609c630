"""Pictures of classes by their measurements: ellipses and densities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.plots.class_conditionals import ClassConditionalsDisplay, per_class
from suffice.plots.style import colour, dashes, legend, marker, name_axes
from suffice.statistics.base import FloatArray


class ClassEllipsesDisplay(ClassConditionalsDisplay):
    """Two measurements: the mean of each class, and ellipses one and two standard deviations around it.

    Parameters
    ----------
    classes
        The classes, (k,).
    means
        Their means, (k, 2).
    covariances
        Their covariances, (k, 2, 2).
    features
        The names of the two features.
    X, y
        Points to be drawn, (n, 2), and their classes.

    Attributes
    ----------
    axes_lengths
        The half-lengths of each class's first ellipse, (k, 2), the shorter first: roots of eigenvalues.
    angles
        The direction of the longer half-axis, in degrees, (k,).

    Examples
    --------
    >>> display = ClassEllipsesDisplay(["a", "b"], [[0, 0], [3, 1]], [[[4, 0], [0, 1]], [[1, 0], [0, 1]]])
    >>> display.axes_lengths.tolist()
    [[1.0, 2.0], [1.0, 1.0]]
    """

    def __init__(
        self,
        classes: npt.ArrayLike,
        means: npt.ArrayLike,
        covariances: npt.ArrayLike,
        *,
        features: tuple[str, str] = ("x0", "x1"),
        X: npt.ArrayLike | None = None,
        y: npt.ArrayLike | None = None,
    ) -> None:
        self.classes = np.asarray(classes)
        self.means = per_class("means", means, (len(self.classes), 2))
        self.covariances = per_class("covariances", covariances, (len(self.classes), 2, 2))
        self.features = features
        self.X = None if X is None else np.asarray(X, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)
        values, directions = np.linalg.eigh(self.covariances)
        self.axes_lengths: FloatArray = np.sqrt(np.maximum(values, 0.0))
        self.angles: FloatArray = np.degrees(np.arctan2(directions[:, 1, 1], directions[:, 0, 1]))

    def _draw(self) -> None:
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Ellipse

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            if self.X is not None and self.y is not None:
                x0, x1 = self.X[self.y == label].T
                ax.scatter(x0, x1, s=9, marker=marker(code), color=colour(code), alpha=0.35, linewidths=0)
            short, long = self.axes_lengths[code]
            for sigmas in (1, 2):
                ellipse = Ellipse(
                    (float(self.means[code, 0]), float(self.means[code, 1])),
                    2 * sigmas * float(long),
                    2 * sigmas * float(short),
                    angle=float(self.angles[code]),
                    edgecolor=colour(code),
                    facecolor=to_rgba(colour(code), 0.15) if sigmas == 1 else "none",
                    linewidth=1.5,
                )
                ax.add_patch(ellipse)
            (mean,) = ax.plot(
                *self.means[code], marker=marker(code), color=colour(code), markersize=7, linestyle="none"
            )
            entries.append((mean, str(label)))
        reach = 2.15 * np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        low, high = (self.means - reach).min(axis=0), (self.means + reach).max(axis=0)
        if self.X is not None and len(self.X):
            # Far outliers would shrink the ellipses to dots.
            low = np.minimum(low, np.nanquantile(self.X, 0.005, axis=0))
            high = np.maximum(high, np.nanquantile(self.X, 0.995, axis=0))
        ax.set_xlim(low[0], high[0])
        ax.set_ylim(low[1], high[1])
        rows = legend(ax, entries)
        name_axes(ax, *self.features)
        self._entitle("Means of the classes, and 1 and 2 standard deviations around them", rows)


class ClassDensitiesDisplay(ClassConditionalsDisplay):
    """One measurement: the normal density of each class.

    Parameters
    ----------
    classes
        The classes, (k,).
    means, variances
        Their means and variances, (k,).
    feature
        The name of the feature.
    x, y
        Values to be drawn as histograms, (n,), and their classes.

    Attributes
    ----------
    grid
        Where the densities are drawn, (m,).
    densities
        Each class's density there, (k, m).

    Examples
    --------
    >>> display = ClassDensitiesDisplay(["a", "b"], [0.0, 3.0], [1.0, 4.0], feature="height")
    >>> display.densities.shape, round(float(display.densities[0].max()), 3)
    ((2, 200), 0.399)
    """

    def __init__(
        self,
        classes: npt.ArrayLike,
        means: npt.ArrayLike,
        variances: npt.ArrayLike,
        *,
        feature: str = "x",
        x: npt.ArrayLike | None = None,
        y: npt.ArrayLike | None = None,
    ) -> None:
        self.classes = np.asarray(classes)
        self.means = per_class("means", means, (len(self.classes),))
        self.variances = per_class("variances", variances, (len(self.classes),))
        self.feature = feature
        self.x = None if x is None else np.asarray(x, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)
        spread = np.sqrt(self.variances)
        self.grid: FloatArray = np.linspace((self.means - 3.5 * spread).min(), (self.means + 3.5 * spread).max(), 200)
        z = (self.grid - self.means[:, None]) / spread[:, None]
        self.densities: FloatArray = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * spread[:, None])

    def _draw(self) -> None:
        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            if self.x is not None and self.y is not None:
                values = self.x[(self.y == label) & np.isfinite(self.x)]
                if len(values):
                    bins = min(24, max(6, int(np.sqrt(len(values)))))
                    ax.hist(values, bins=bins, density=True, color=colour(code), alpha=0.2, linewidth=0)
            (line,) = ax.plot(
                self.grid, self.densities[code], color=colour(code), linestyle=dashes(code), linewidth=1.8
            )
            entries.append((line, str(label)))
        # A class that hardly varies would flatten all others.
        peaks = self.densities.max(axis=1)
        ax.set_ylim(0, 1.08 * min(float(peaks.max()), 8 * float(np.median(peaks))))
        ax.set_xlim(float(self.grid[0]), float(self.grid[-1]))
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        rows = legend(ax, entries)
        name_axes(ax, self.feature, "density")
        self._entitle(f"How {self.feature} is distributed in each class", rows)
