"""The mean of a regression as a function of its linear predictor: the inverse of the link."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.families import Link, Response
from suffice.families.links import by_name
from suffice.plots.display import Display
from suffice.plots.inputs import (
    encode_labels,
    resolve_feature_names,
    sample_rows,
    select_numeric_column,
    validate_labels,
)
from suffice.plots.style import DOTTED, FOREGROUND, class_colour, label_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike


class LinkDisplay(Display):
    """The mean as a function of the linear predictor z = θᵀx: for logistic regression, the sigmoid.

    Parameters
    ----------
    z, mean
        The curve, (m,) each.
    link
        Name of the link.
    points
        Predictor and target of rows, (n, 2).
    target
        What the mean is.

    Examples
    --------
    >>> display = LinkDisplay.from_link("logit")
    >>> display.z[[0, 100, 200]], display.mean[[0, 100, 200]].round(4)
    (array([-6.,  0.,  6.]), array([0.0025, 0.5   , 0.9975]))
    """

    def __init__(
        self,
        z: npt.ArrayLike,
        mean: npt.ArrayLike,
        *,
        link: str,
        points: npt.ArrayLike | None = None,
        target: str = "mean of y",
    ) -> None:
        self.z = np.asarray(z, dtype=np.float64)
        self.mean = np.asarray(mean, dtype=np.float64)
        if self.z.shape != self.mean.shape or self.z.ndim != 1:
            raise ValueError(f"z and mean must have the same shape, (m,); theirs are {self.z.shape}, {self.mean.shape}")
        self.link = link
        self.points = None if points is None else np.asarray(points, dtype=np.float64).reshape(-1, 2)
        self.target = target

    @classmethod
    def from_link(cls, link: str | Link, *, low: float = -6.0, high: float = 6.0, ax: Axes | None = None) -> Self:
        """Draw the inverse of a link.

        Parameters
        ----------
        link
            A link, or its name: ``"logit"``, ``"probit"``, ``"cloglog"``, ``"log"``, ...
        low, high
            The range of the linear predictor.
        ax
            Axes to draw on.
        """
        if not low < high:
            raise ValueError(f"low must be less than high; got {low!r} and {high!r}")
        chosen = by_name(link) if isinstance(link, str) else link
        z = np.linspace(low, high, 201)
        return cls(z, _means(chosen, z), link=chosen.name).plot(ax)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike = None,
        *,
        max_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the mean of a fitted model over the linear predictors of rows, and the rows as points.

        Parameters
        ----------
        model
            A ``LogisticRegression`` of two classes, ``PoissonRegressor``, ``GammaRegressor``, ``LinearRegression``, or
            a ``GLM`` with one linear predictor.
        X
            Rows, of numeric features.
        y
            Targets; with them, the rows are drawn as points.
        max_rows, random_state
            Maximum number of points, and the seed that selects them.
        ax
            Axes to draw on.
        """
        link = _link_of(model)
        names = resolve_feature_names(model, X)
        cells = np.stack([select_numeric_column(X, index, name) for index, name in enumerate(names)], axis=1)
        theta = np.asarray(model.theta_, dtype=np.float64)
        if theta.shape[1] != 1:
            raise ValueError(f"{type(model).__name__} has {theta.shape[1]} linear predictors: the link is of one")
        level, slopes = (theta[0, 0], theta[1:, 0]) if len(theta) > len(names) else (0.0, theta[:, 0])
        predictor = level + cells @ slopes
        is_classifier = hasattr(model, "classes_")
        points = None
        if y is not None:
            labels = validate_labels(y, len(cells))
            numbers = encode_labels(labels, np.asarray(model.classes_), "y") if is_classifier else labels
            sample = sample_rows(len(cells), max_rows, random_state)
            points = np.stack([predictor, numbers.astype(np.float64)], axis=1)[sample]
        reach = float(np.abs(predictor[np.isfinite(predictor)]).max(initial=1.0)) if is_classifier else None
        ends = (-reach, reach) if reach is not None else (float(np.nanmin(predictor)), float(np.nanmax(predictor)))
        z = np.linspace(*ends, 201)
        target = f"P(y = {model.classes_[1]})" if is_classifier else "mean of y"
        return cls(z, _means(link, z), link=link.name, points=points, target=target).plot(ax)

    def _draw(self) -> None:
        ax = self.ax_
        if self.link in ("logit", "probit", "cloglog", "cauchit"):
            ax.axhline(0.5, color=FOREGROUND, linestyle=DOTTED, linewidth=1.0)
            ax.axvline(0.0, color=FOREGROUND, linestyle=DOTTED, linewidth=1.0)
        if self.points is not None:
            ax.plot(
                self.points[:, 0],
                self.points[:, 1],
                "|" if set(np.unique(self.points[:, 1])) <= {0.0, 1.0} else "o",
                color=class_colour(1),
                markersize=5,
                alpha=0.6,
                clip_on=False,
            )
        ax.plot(self.z, self.mean, color=class_colour(0), linewidth=1.8)
        ax.set_xlim(self.z[0], self.z[-1])
        label_axes(ax, "linear predictor z = θᵀx", self.target)
        self._set_title(f"Inverse of the {self.link} link" + (", and the rows" if self.points is not None else ""))


def _means(link: Link, z: FloatArray) -> FloatArray:
    mean = np.asarray(link.mean(z), dtype=np.float64)
    if mean.shape != z.shape or not np.isfinite(mean).all():
        raise ValueError(f"the {link.name} link has no finite mean over z from {z[0]:g} to {z[-1]:g}: change the range")
    return mean


def _link_of(model: Any) -> Link:
    from suffice.discriminative import GLM, GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor

    if isinstance(model, GLM):
        return Response.of(model.family, model.link).link
    named = ((LogisticRegression, "logit"), ((PoissonRegressor, GammaRegressor), "log"), (LinearRegression, "identity"))
    for kinds, name in named:
        if isinstance(model, kinds):
            return by_name(name)
    raise ValueError(f"{type(model).__name__} has no link: give LogisticRegression, PoissonRegressor or GLM")
