"""Class-conditional distributions p(x | y): ellipses, densities, frequencies and words of each class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import Array
from suffice.plots.style import (
    HEIGHT,
    WIDTH,
    class_colour,
    class_marker,
    draw_legend,
    hide_spines,
    label_axes,
    label_bar,
    line_style,
    set_axes_title,
    shorten,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike


class ClassConditionalsDisplay(Display):
    """Class-conditional distributions of a generative model.

    :meth:`from_estimator` chooses the display by the kind of features: :class:`ClassEllipsesDisplay` of two numbers,
    :class:`ClassDensitiesDisplay` of one, :class:`ClassFrequenciesDisplay` of counts, booleans and categories,
    :class:`ClassWordsDisplay` of text. Each can also be made from arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GDA
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = ClassConditionalsDisplay.from_estimator(GDA("full").fit(X, y), X, y)
    >>> type(display).__name__, display.features
    ('ClassEllipsesDisplay', ('petal length (cm)', 'petal width (cm)'))
    """

    classes: Array  # (k,)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike | None = None,
        y: VectorLike = None,
        *,
        features: Any = None,
        n: int = 8,
        max_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> ClassConditionalsDisplay:
        """Draw the class-conditional distributions of a fitted model.

        Parameters
        ----------
        model
            A generative model, or a text classifier.
        X, y
            Rows and their classes, drawn as points or histograms behind the distributions of numbers.
        features
            A feature, or a list of features, by name or index: one or two numbers, any number of counts or words, one
            category. The most informative features by default.
        n
            Maximum number of features, categories or words.
        max_rows
            Maximum number of rows drawn as points.
        random_state
            Seed that selects the rows.
        ax
            Axes to draw on.
        """
        from suffice.plots.class_parameters import make_class_display

        if (X is None) != (y is None):
            raise ValueError(f"give X and y, or neither: {'y' if y is None else 'X'} is missing")
        if n < 1:
            raise ValueError(f"n must be 1 or more; got {n!r}")
        chosen = None if features is None else [features] if np.ndim(features) == 0 else list(features)
        return make_class_display(model, X, y, chosen, n, max_rows, random_state).plot(ax)


class ClassEllipsesDisplay(ClassConditionalsDisplay):
    """Two numeric features: mean of each class, and ellipses at one and two standard deviations.

    Parameters
    ----------
    classes
        The classes, (k,).
    means
        Class means, (k, 2).
    covariances
        Class covariances, (k, 2, 2).
    features
        Names of the two features.
    X, y
        Points to draw, (n, 2), and their classes.

    Attributes
    ----------
    axes_lengths
        Half-axes of the first ellipse of each class, (k, 2), the shorter first: square roots of the eigenvalues.
    angles
        Direction of the longer half-axis in degrees, (k,).

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
        self.means = _validate_shape("means", means, (len(self.classes), 2))
        self.covariances = _validate_shape("covariances", covariances, (len(self.classes), 2, 2))
        self.features = features
        self.X = None if X is None else np.asarray(X, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)
        eigenvalues, eigenvectors = np.linalg.eigh(self.covariances)
        self.axes_lengths: FloatArray = np.sqrt(np.maximum(eigenvalues, 0.0))
        self.angles: FloatArray = np.degrees(np.arctan2(eigenvectors[:, 1, 1], eigenvectors[:, 0, 1]))

    def _draw(self) -> None:
        from matplotlib.colors import to_rgba
        from matplotlib.patches import Ellipse

        ax = self.ax_
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            colour, marker = class_colour(code), class_marker(code)
            if self.X is not None and self.y is not None:
                x0, x1 = self.X[self.y == label].T
                ax.scatter(x0, x1, s=9, marker=marker, color=colour, alpha=0.35, linewidths=0)
            short, long = self.axes_lengths[code]
            for n_deviations in (1, 2):
                ellipse = Ellipse(
                    (float(self.means[code, 0]), float(self.means[code, 1])),
                    2 * n_deviations * float(long),
                    2 * n_deviations * float(short),
                    angle=float(self.angles[code]),
                    edgecolor=colour,
                    facecolor=to_rgba(colour, 0.15) if n_deviations == 1 else "none",
                    linewidth=1.5,
                )
                ax.add_patch(ellipse)
            (mean,) = ax.plot(*self.means[code], marker=marker, color=colour, markersize=7, linestyle="none")
            entries.append((mean, str(label)))
        reach = 2.15 * np.sqrt(np.diagonal(self.covariances, axis1=1, axis2=2))
        low, high = (self.means - reach).min(axis=0), (self.means + reach).max(axis=0)
        if self.X is not None and len(self.X):
            # The limits leave out extreme outliers, which would make the ellipses tiny.
            low = np.minimum(low, np.nanquantile(self.X, 0.005, axis=0))
            high = np.maximum(high, np.nanquantile(self.X, 0.995, axis=0))
        margin = 0.02 * (high - low)  # for the markers of points on the limits
        ax.set_xlim(low[0] - margin[0], high[0] + margin[0])
        ax.set_ylim(low[1] - margin[1], high[1] + margin[1])
        rows = draw_legend(ax, entries)
        label_axes(ax, *self.features)
        self._set_title("Class means, and ellipses at 1 and 2 standard deviations", rows)


class ClassDensitiesDisplay(ClassConditionalsDisplay):
    """One numeric feature: normal density of each class.

    Parameters
    ----------
    classes
        The classes, (k,).
    means, variances
        Class means and variances, (k,).
    feature
        Name of the feature.
    x, y
        Values to draw as histograms, (n,), and their classes.

    Attributes
    ----------
    grid
        Where the densities are evaluated, (m,).
    densities
        Density of each class on the grid, (k, m).

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
        self.means = _validate_shape("means", means, (len(self.classes),))
        self.variances = _validate_shape("variances", variances, (len(self.classes),))
        self.feature = feature
        self.x = None if x is None else np.asarray(x, dtype=np.float64)
        self.y = None if y is None else np.asarray(y)
        sigma = np.sqrt(self.variances)
        self.grid: FloatArray = np.linspace((self.means - 3.5 * sigma).min(), (self.means + 3.5 * sigma).max(), 200)
        z = (self.grid - self.means[:, None]) / sigma[:, None]
        self.densities: FloatArray = np.exp(-0.5 * z * z) / (np.sqrt(2 * np.pi) * sigma[:, None])

    def _draw(self) -> None:
        ax = self.ax_
        highest = 0.0  # of the histograms
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            if self.x is not None and self.y is not None:
                values = self.x[(self.y == label) & np.isfinite(self.x)]
                if len(values):
                    bins = min(24, max(6, int(np.sqrt(len(values)))))
                    heights, _, _ = ax.hist(
                        values, bins=bins, density=True, color=class_colour(code), alpha=0.2, linewidth=0
                    )
                    highest = max(highest, float(np.max(heights)))
            (line,) = ax.plot(
                self.grid, self.densities[code], color=class_colour(code), linestyle=line_style(code), linewidth=1.8
            )
            entries.append((line, str(label)))
        # The upper limit cuts the peak of a class of tiny variance, which would flatten all other densities.
        peaks = self.densities.max(axis=1)
        top = float(np.clip(highest, peaks.max(), 2 * peaks.max()))
        ax.set_ylim(0, 1.08 * min(top, 8 * float(np.median(peaks))))
        ax.set_xlim(float(self.grid[0]), float(self.grid[-1]))
        ax.set_yticks([])
        ax.spines["left"].set_visible(False)
        rows = draw_legend(ax, entries)
        label_axes(ax, self.feature, "density")
        self._set_title(f"Distribution of {self.feature} in each class", rows)


class ClassFrequenciesDisplay(ClassConditionalsDisplay):
    """Counts, booleans or categories: one bar for each class and name.

    Parameters
    ----------
    classes
        The classes, (k,).
    names
        Names of the categories, counts or features, (m,).
    frequencies
        Lengths of the bars, (k, m).
    axis_label
        What the length of a bar is.
    feature
        The feature whose categories or counts are named; None where the names are features.
    vertical
        Whether bars are vertical: for names that are ordered numbers.

    Examples
    --------
    >>> ClassFrequenciesDisplay(["ham", "spam"], ["free", "lunch"], [[0.1, 0.6], [0.8, 0.1]]).frequencies.shape
    (2, 2)
    """

    def __init__(
        self,
        classes: npt.ArrayLike,
        names: Sequence[Any],
        frequencies: npt.ArrayLike,
        *,
        axis_label: str = "share of rows",
        feature: str | None = None,
        vertical: bool = False,
    ) -> None:
        self.classes = np.asarray(classes)
        self.names = list(names)
        self.frequencies = _validate_shape("frequencies", frequencies, (len(self.classes), len(self.names)))
        self.axis_label = axis_label
        self.feature = feature
        self.vertical = vertical

    def _size(self) -> tuple[float, float]:
        if self.vertical:
            return WIDTH, HEIGHT
        return WIDTH, float(np.clip(1.3 + 0.14 * self.frequencies.size + 0.06 * len(self.names), 1.6, 12.0))

    def _draw(self) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_
        thickness = 0.8 / len(self.classes)
        positions = np.arange(len(self.names))
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            middle = positions + (code - (len(self.classes) - 1) / 2) * thickness
            draw = ax.bar if self.vertical else ax.barh
            bars = draw(middle, self.frequencies[code], 0.9 * thickness, color=class_colour(code))
            entries.append((bars, str(label)))
        rows = draw_legend(ax, entries)
        names = [shorten(name, 18) for name in self.names]
        if self.vertical:
            step = -(-len(names) // 12)
            ax.set_xticks(positions[::step], names[::step])
            label_axes(ax, self.feature or "", self.axis_label)
        else:
            ax.set_yticks(positions, names)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.xaxis.set_major_locator(MaxNLocator(5))
            ax.set_ylim(len(names) - 0.5, -0.5)
            label_axes(ax, self.axis_label)
        title = f"{self.axis_label.capitalize()}, by class"
        self._set_title(title if self.feature is None else f"Distribution of {self.feature} in each class", rows)


class ClassWordsDisplay(ClassConditionalsDisplay):
    """Text: words with the highest log-odds for each class, one panel per class.

    Parameters
    ----------
    words
        For each class, (word, log-odds) pairs in descending order, as ``TextClassifier.top_words`` returns them.
    feature
        Name of the text column, where there are several.

    Examples
    --------
    >>> ClassWordsDisplay({"ham": [("lunch", 1.5), ("monday", 1.1)], "spam": [("free", 2.0)]}).classes.tolist()
    ['ham', 'spam']
    """

    def __init__(self, words: Mapping[Any, Sequence[tuple[str, float]]], *, feature: str | None = None) -> None:
        if not words:
            raise ValueError("there are no classes: words must hold one list of words for each")
        self.words = {label: [(str(word), float(value)) for word, value in pairs] for label, pairs in words.items()}
        self.feature = feature
        self.classes = np.array(list(self.words), dtype=object)

    def _grid(self) -> tuple[int, int]:
        columns = 1 if len(self.words) == 1 else 2
        return -(-len(self.words) // columns), columns

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.4 + self._grid()[0] * (0.35 + 0.2 * self._bars_per_panel())

    def _bars_per_panel(self) -> int:
        return max(3, *(len(pairs) for pairs in self.words.values()))

    def _draw(self) -> None:
        longest = max((value for pairs in self.words.values() for _, value in pairs), default=1.0)
        for code, (ax, (label, pairs)) in enumerate(zip(self.axes_, self.words.items(), strict=False)):
            values = [value for _, value in pairs]
            ax.barh(range(len(pairs)), values, 0.72, color=class_colour(code))
            ax.set_yticks(range(len(pairs)), [shorten(word, 16) for word, _ in pairs])
            ax.set_ylim(self._bars_per_panel() - 0.4, -0.6)
            ax.set_xlim(min([0.0, *values]), max(longest, 1e-9) * 1.25)
            ax.set_xticks([])
            hide_spines(ax)
            for row, value in enumerate(values):
                label_bar(ax, value, row, value)
            set_axes_title(ax, str(label), max_length=20)
        for unused in self.axes_[len(self.words) :]:
            unused.set_axis_off()
        if self._owns_figure:
            column = "" if self.feature is None else f" of {self.feature}"
            self._set_title(f"Words{column} with the highest log-odds for each class")


def _validate_shape(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> FloatArray:
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        wanted = ", ".join(map(str, shape))
        raise ValueError(f"{name} must have the shape ({wanted}); its shape is {array.shape}")
    return array
