"""An exponential family: its densities, and a(η) with the derivatives that are the mean and the variance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.families import Distribution, Family, Gaussian, GaussianKnownVariance, as_family
from suffice.plots.display import Display
from suffice.plots.style import (
    FOREGROUND,
    HEIGHT,
    WIDTH,
    class_colour,
    class_marker,
    format_number,
    label_axes,
    line_style,
    set_axes_title,
)
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class FamilyDisplay(Display):
    """Densities of a family with one natural parameter η, and a(η), a′(η) = E[T] and a″(η) = Var[T].

    Parameters
    ----------
    name
        Name of the family.
    means
        The mean of each density, (k,).
    y
        Values, (m,).
    densities
        The density, or the probability, of each value, (k, m).
    eta
        Natural parameters, (e,).
    log_partition, mean, variance
        a, a′ and a″ at each, (e,).
    is_discrete
        Whether values are counts or classes.

    Examples
    --------
    >>> display = FamilyDisplay.from_family("bernoulli")
    >>> display.means, display.densities.round(2).tolist()
    (array([0.2, 0.5, 0.8]), [[0.8, 0.2], [0.5, 0.5], [0.2, 0.8]])
    >>> bool(np.allclose(np.gradient(display.log_partition, display.eta)[1:-1], display.mean[1:-1], atol=1e-3))
    True
    """

    def __init__(
        self,
        name: str,
        means: npt.ArrayLike,
        y: npt.ArrayLike,
        densities: npt.ArrayLike,
        eta: npt.ArrayLike,
        log_partition: npt.ArrayLike,
        mean: npt.ArrayLike,
        variance: npt.ArrayLike,
        *,
        is_discrete: bool = False,
    ) -> None:
        self.name = name
        self.means = np.asarray(means, dtype=np.float64)
        self.y = np.asarray(y, dtype=np.float64)
        self.densities = np.asarray(densities, dtype=np.float64)
        if self.densities.shape != (len(self.means), len(self.y)):
            raise ValueError(
                f"densities must have the shape {(len(self.means), len(self.y))}; theirs is {self.densities.shape}"
            )
        self.eta, self.log_partition, self.mean, self.variance = (
            np.asarray(each, dtype=np.float64) for each in (eta, log_partition, mean, variance)
        )
        if not self.eta.shape == self.log_partition.shape == self.mean.shape == self.variance.shape:
            raise ValueError("eta, log_partition, mean and variance must have the same shape, (e,)")
        self.is_discrete = is_discrete

    @classmethod
    def from_family(cls, family: Any, *, means: Sequence[float] | None = None, ax: Axes | None = None) -> Self:
        """Draw a family.

        Parameters
        ----------
        family
            A family with one natural parameter: its name (``"gaussian"``, of variance 1, ``"bernoulli"``,
            ``"poisson"``, ``"exponential"``), its class, or an instance, of your own as well.
        means
            The means of the densities that are drawn; three by default.
        ax
            Axes to draw on.
        """
        chosen = as_family(family)
        family_name = chosen.name.replace("_", " ")
        if chosen is Gaussian:
            chosen = GaussianKnownVariance
        centres = np.array(_default_means(chosen) if means is None else means, dtype=np.float64)
        low, high = chosen.mean_range
        inside = (centres > low) & (centres < high)
        if not centres.size or not inside.all():
            raise ValueError(f"means must be inside ({low:g}, {high:g}), the range of {chosen.name}; got {means!r}")
        natural = _natural_parameters(chosen, centres)
        reach = 0.5 * (np.ptp(natural) or 1.0)
        top = natural.max() + reach
        if np.isfinite(low) and high == np.inf and np.isfinite(_natural_parameters(chosen, np.array([1e6]))[0]):
            top = min(top, float(_natural_parameters(chosen, centres.max(keepdims=True) * 1.5)[0]))
        eta = np.linspace(natural.min() - reach, top, 200)
        y = _values(chosen, centres, natural)
        return cls(
            family_name,
            centres,
            y,
            np.exp([_log_density(chosen, y, mean, at) for mean, at in zip(centres, natural, strict=True)]),
            eta,
            chosen.log_partition(eta),
            chosen.mean(eta),
            chosen.variance(eta),
            is_discrete=chosen.is_discrete,
        ).plot(ax)

    @classmethod
    def from_estimator(cls, model: Any, X: Any, *, ax: Axes | None = None) -> Self:
        """Draw the family of a fitted model, with densities at the quartiles of its predicted means.

        Parameters
        ----------
        model
            A ``GLM``, a ``LogisticRegression`` of two classes, or a ``PoissonRegressor``.
        X
            Rows.
        ax
            Axes to draw on.
        """
        from suffice.discriminative import GLM, LogisticRegression, PoissonRegressor

        if isinstance(model, GLM):
            family, means = model.family, model.predict(X)
        elif isinstance(model, PoissonRegressor):
            family, means = "poisson", model.predict(X)
        elif isinstance(model, LogisticRegression) and len(model.classes_) == 2:
            family, means = "bernoulli", model.predict_proba(X)[:, 1]
        else:
            raise ValueError(
                f"{type(model).__name__} is no GLM, LogisticRegression of two classes or PoissonRegressor: use "
                "from_family, with the name of a family"
            )
        quartiles = np.quantile(np.asarray(means, dtype=np.float64), [0.25, 0.5, 0.75])
        return cls.from_family(family, means=np.unique(quartiles).tolist(), ax=ax)

    def _grid(self) -> tuple[int, int]:
        return 2, 2

    def _size(self) -> tuple[float, float]:
        return 1.5 * WIDTH, 1.5 * HEIGHT

    def _draw(self) -> None:
        ax, *panels = self.axes_
        entries: list[tuple[Any, str]] = []
        for code, (mean, density) in enumerate(zip(self.means, self.densities, strict=True)):
            look: dict[str, Any] = {
                "color": class_colour(code),
                "linestyle": line_style(code),
                "linewidth": 1.5,
            }
            if self.is_discrete:
                look |= {"marker": class_marker(code), "markersize": 4, "linestyle": "none"}
                ax.vlines(self.y + 0.06 * code, 0.0, density, color=look["color"], linewidth=1.0)
            offset = 0.06 * code if self.is_discrete else 0.0  # beside each other
            (line,) = ax.plot(self.y + offset, density, **look)
            entries.append((line, f"mean {format_number(float(f'{mean:.3g}'))}"))
        ax.set_ylim(0.0, 1.05 * float(np.nanmin([self.densities.max(), 4 * np.median(self.densities.max(axis=1))])))
        ax.legend(*zip(*entries, strict=True), frameon=False, fontsize=8, labelcolor=FOREGROUND, handlelength=1.6)
        label_axes(ax, "y", "probability" if self.is_discrete else "density")
        curves = ((self.log_partition, "a(η)"), (self.mean, "a′(η), the mean"), (self.variance, "a″(η), the variance"))
        panels[2].set_ylim(0.0, 1.08 * float(self.variance.max()))
        for panel, (values, title) in zip(panels, curves, strict=True):
            panel.plot(self.eta, values, color=class_colour(0), linewidth=1.8)
            panel.set_xlim(self.eta[0], self.eta[-1])
            set_axes_title(panel, title)
            label_axes(panel, "η")
        set_axes_title(ax, "p(y; η)")
        self._set_title(f"{self.name[:1].upper()}{self.name[1:]} family")


def _default_means(family: Any) -> tuple[float, ...]:
    low, high = family.mean_range
    if np.isfinite(high):
        return tuple(low + (high - low) * share for share in (0.2, 0.5, 0.8))
    return (1.0, 3.0, 6.0) if np.isfinite(low) else (-2.0, 0.0, 2.0)


def _natural_parameters(family: Any, means: FloatArray) -> FloatArray:
    """Return the natural parameter of each mean, (k,)."""
    try:
        eta = np.asarray(family.natural_parameter(means), dtype=np.float64)
        known = np.shape(family.log_partition(eta)) == np.shape(family.variance(eta)) == means.shape
    except (TypeError, ValueError, NotImplementedError):
        known = False
    if not known:
        raise ValueError(
            f"the {family.name} family has not one natural parameter that follows from the mean: draw one that has, "
            "such as 'gaussian', 'bernoulli', 'poisson', 'exponential' or NegativeBinomial(2.0)"
        )
    return eta


def _values(family: Any, means: FloatArray, natural: FloatArray) -> FloatArray:
    """Return the values over which densities are drawn, (m,)."""
    spread = np.sqrt(np.asarray(family.variance(natural), dtype=np.float64))
    low, high = family.mean_range
    first, last = max(low, float((means - 4 * spread).min())), min(high, float((means + 4 * spread).max()))
    if family.is_discrete:
        return np.arange(np.floor(first), np.ceil(last) + 1)
    inner = 1e-3 * (last - first)
    return np.linspace(first + inner * np.isfinite(low), last - inner * np.isfinite(high), 300)


def _log_density(family: Any, y: FloatArray, mean: float, eta: float) -> FloatArray:
    if isinstance(family, type) and issubclass(family, Distribution):
        return np.asarray(family.from_natural(np.float64(eta)).log_prob(y))
    assert isinstance(family, Family)
    return family.log_likelihood(y, mean)
