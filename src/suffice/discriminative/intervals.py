"""Standard errors of linear predictors, and intervals of means and of new observations."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import stats

from suffice.discriminative.cumulative import has_distribution, predictive_quantiles
from suffice.discriminative.layout import Layout
from suffice.discriminative.robust import blocks, predictor_covariance
from suffice.families import Response
from suffice.families.links import Inverse, Link, NegativeInverse, Power, array_namespace, share_covariance
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import beside, taken
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray
from suffice.store import check_shapes

#: Rows in a block of quantiles.
_ROWS = 4096


def check_of(of: str) -> None:
    """Raise if an interval is not of a mean or an observation."""
    if of not in ("mean", "observation"):
        raise ValueError(f"of must be 'mean' or 'observation'; got {of!r}")


def critical_value(level: float, df: float) -> float:
    """Return the half-width of an interval in standard errors.

    Examples
    --------
    >>> round(critical_value(0.95, np.inf), 3), round(critical_value(0.95, 10.0), 3)
    (1.96, 2.228)
    """
    return float(stats.t.isf((1 - level) / 2, df) if np.isfinite(df) else stats.norm.isf((1 - level) / 2))


@dataclass(frozen=True, eq=False)
class PredictorVariance:
    """The variance of a linear predictor as a function of x - centre, which does not cancel."""

    centre: FloatArray  # (d,), where the variance is least
    whitener: FloatArray  # W, (d, d), lower triangular: the variance is base + |W (x - centre)|²
    level_variance: float  # at the centre
    scale: FloatArray  # (t,), factor of both: the noise variance of each target, if they are at unit noise

    @classmethod
    def of_covariance(cls, covariance: FloatArray, centre: FloatArray, intercept: bool) -> Self:
        """Return the variance from the covariance of theta, (p, p), whose intercept is that at the centre."""
        first = int(intercept)
        slopes, level_variance = covariance[first:, first:], 0.0
        if intercept:
            further = -Symmetric.of(slopes).solve(covariance[1:, 0])
            level_variance = max(float(covariance[0, 0] + covariance[1:, 0] @ further), 0.0)
            centre = centre + further
        root = np.asarray(np.linalg.qr(_root(slopes)[:, ::-1], mode="r"))  # reversed: lower triangular
        return cls(centre, np.ascontiguousarray(root[::-1, ::-1]), level_variance, np.ones(1))

    def at(self, engine: Engine, x: Any) -> Any:
        """Return the variance of each row's predictors, (n, t), in the library of x."""
        if not len(self.centre):
            return self.level_variance * np.broadcast_to(self.scale, (x.shape[0], len(self.scale)))
        score = partial(_distances, self.centre[None, :], self.whitener[None, :, :])
        distances = -2 * engine.map_rows(score, Batch(x))[:, :1]  # squared
        return (distances + self.level_variance) * beside(x, self.scale)[None, :]


def _distances(centre: FloatArray, whitener: FloatArray, batch: Batch, kernels: Any) -> Any:
    return kernels.quadratic_scores(batch, centre, whitener, np.zeros(1))


def _root(matrix: FloatArray) -> FloatArray:
    """Return R for which R'R is a matrix without negative eigenvalues."""
    values, vectors = np.linalg.eigh((matrix + matrix.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)


@dataclass(frozen=True, eq=False)
class ThetaCovariance:
    """The covariance of theta in the solver's coordinates: centred X, and the columns that were kept."""

    layout: Layout
    matrix: FloatArray  # (h, h), theta column by column; finite: a pseudo-inverse if theta is not identified
    undetermined: npt.NDArray[np.bool_]  # (h,), which parameters are not identified

    def outward(self) -> FloatArray:
        """Return the covariance of theta of X, (q, q); NaN for parameters that are not identified."""
        known = np.where(self.undetermined[:, None] | self.undetermined[None, :], np.nan, self.matrix)
        return self.layout.covariance_outward(known)

    def predictor_error(self, engine: Engine, x: Any, predictors: int) -> Any:
        """Return the standard error of the first linear predictor of each row, (n,), in the library of x."""
        layout, size = self.layout, len(self.matrix) // predictors
        seen = x if layout.kept is None else taken(x, layout.kept, axis=1)
        centre = np.zeros(size - layout.intercept) if layout.centre is None else layout.centre
        variance = PredictorVariance.of_covariance(self.matrix[:size, :size], centre, layout.intercept)
        return variance.at(engine, seen)[:, 0] ** 0.5

    def share_errors(self, x: Any, shares: FloatArray, predictors: int) -> FloatArray:
        """Return the standard error of the logit of each share, (n, k), by the delta method.

        Predictors are logs of shares, up to a constant; that of the last share is given, or 0.
        """
        layout = self.layout
        seen = x if layout.kept is None else taken(x, layout.kept, axis=1)
        errors, start = np.empty_like(shares), 0
        for rows in blocks(Batch(seen), layout.intercept, 4 * len(self.matrix)):
            design = rows.design
            if layout.centre is not None:
                design = design - np.concatenate([[0.0], layout.centre])
            stop = start + len(design)
            p = shares[start:stop]
            jacobian = np.asarray(share_covariance(np, p))  # Jacobian of the shares by their logs, (n, k, k)
            slopes = jacobian[:, :, :predictors]
            variance = np.einsum("nka,nab,nkb->nk", slopes, predictor_covariance(design, self.matrix), slopes)
            with np.errstate(divide="ignore", invalid="ignore"):
                errors[start:stop] = np.sqrt(np.maximum(variance, 0.0)) / np.diagonal(jacobian, 0, 1, 2)
            start = stop
        return errors

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the covariance as plain arrays."""
        found = {"covariance": self.matrix, "undetermined": self.undetermined}
        places = {"kept": self.layout.kept, "centre": self.layout.centre}
        return {**found, **{name: value for name, value in places.items() if value is not None}}

    @classmethod
    def from_arrays(cls, layout: Layout, arrays: Any) -> Self:
        """Return the covariance that :meth:`arrays` wrote."""
        if "known" in arrays:  # older files: of theta of X, without parameters that are not identified
            known = np.asarray(arrays["known"], dtype=bool)
            places = np.flatnonzero(known)
            check_shapes(arrays, {"known": (arrays["theta"].size,), "covariance": (len(places), len(places))})
            whole = np.zeros((len(known), len(known)))
            whole[np.ix_(places, places)] = arrays["covariance"]
            return cls(layout, whole, ~known)
        kept = arrays.get("kept")
        columns = arrays["theta"].shape[1]
        size = columns * (layout.intercept + (layout.features if kept is None else len(kept)))
        check_shapes(arrays, {"covariance": (size, size), "undetermined": (size,), "centre": (layout.features,)})
        if kept is not None and not (kept.dtype.kind in "iu" and ((kept >= 0) & (kept < layout.features)).all()):
            raise ValueError(f"array 'kept' must hold positions of the {layout.features} features")
        layout = replace(layout, kept=kept, centre=arrays.get("centre"))
        return cls(layout, arrays["covariance"], np.asarray(arrays["undetermined"], dtype=bool))


def mean_interval(response: Response, predictor: Any, reach: Any) -> tuple[Any, Any]:
    """Return the ends of intervals of means: those of the predictors, (n, 1), mapped through the inverse link.

    Examples
    --------
    >>> low, high = mean_interval(Response.of("poisson"), np.zeros((1, 1)), np.array([np.log(2.0)]))
    >>> low.round(6), high.round(6)
    (array([0.5]), array([2.]))
    """
    xp = array_namespace(predictor)
    least, most = _domain(response.link)
    ends = [xp.clip(predictor[:, :1] + sign * reach[:, None], min=least, max=most) for sign in (-1.0, 1.0)]
    rest = predictor[:, 1:]
    with np.errstate(divide="ignore"):
        one, two = (response.mean(xp.concat([end, rest], axis=1)) for end in ends)
    low, high = support_of(response)
    return xp.clip(xp.minimum(one, two), min=low), xp.clip(xp.maximum(one, two), max=high)


def support_of(response: Response) -> tuple[float, float]:
    """Return the ends of the range of the mean.

    Examples
    --------
    >>> support_of(Response.of("gamma")), support_of(Response.of("bernoulli"))
    ((0.0, inf), (0.0, 1.0))
    """
    if response.family.name in ("bernoulli", "multinomial", "beta", "dirichlet"):
        return 0.0, 1.0
    return (0.0 if response.likelihood.positive_targets else -np.inf), np.inf


def _domain(link: Link) -> tuple[float | None, float | None]:
    """Return the ends of the range of the predictor; None where it is unbounded."""
    if isinstance(link, Power | Inverse):
        return 0.0, None
    return None, 0.0 if isinstance(link, NegativeInverse) else None


def observation_interval(
    response: Response, predictor: FloatArray, error: FloatArray, dispersion: float, df: float, level: float
) -> tuple[FloatArray, FloatArray]:
    """Return the ends of intervals of new observations, (n,), of one trial and weight 1.

    For a gaussian response with the identity link, Student's t interval about the mean. For others, quantiles of the
    family's distribution, averaged over that of the predictor.
    """
    if response.name == "gaussian/identity":
        reach = critical_value(level, df) * np.sqrt(error**2 + dispersion)
        return predictor - reach, predictor + reach
    ends: tuple[list[FloatArray], list[FloatArray]] = ([np.empty(0)], [np.empty(0)])
    for start in range(0, len(predictor), _ROWS):
        some = slice(start, start + _ROWS)
        for end, share in zip(ends, ((1 - level) / 2, (1 + level) / 2), strict=True):
            limits = predictor[some], error[some], dispersion, df, support_of(response)
            end.append(predictive_quantiles(response, share, *limits))
    return np.concatenate(ends[0]), np.concatenate(ends[1])


def check_observations(response: Response, dispersion: str | float) -> None:
    """Raise if new observations have no interval."""
    name = response.family.name
    if name in ("bernoulli", "multinomial"):
        raise ValueError("an observation is a class, which has no interval: give of='mean', for its probability")
    if response.likelihood.is_discrete and dispersion != "family":
        raise ValueError(
            f"a quasi-likelihood, {name} with dispersion={dispersion!r}, has no distribution of observations: give "
            "of='mean', or a family such as NegativeBinomial"
        )
    if not has_distribution(response):
        raise ValueError(f"the distribution function of {response.name} is unknown: give of='mean'")


def mean_errors(response: Response, predictor: Any, error: Any) -> Any:
    """Return the standard errors of means, (n, 1), by the delta method."""
    _, slope = response.link.mean_and_slope(predictor[:, 0])
    return abs(slope) * error


def on_host(column: Any) -> FloatArray:
    """Return an array of any library as float64 NumPy.

    Examples
    --------
    >>> on_host(np.array([1]))
    array([1.])
    """
    return np.asarray(to_host(column), dtype=np.float64)
