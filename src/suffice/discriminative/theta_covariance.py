"""The covariance of theta, and the variance of linear predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.discriminative.layout import Layout
from suffice.discriminative.robust import blocks, predictor_covariance
from suffice.families.links import share_covariance
from suffice.kernels import Batch, Engine
from suffice.kernels.libraries import beside, taken
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray
from suffice.store import check_shapes


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

    @classmethod
    def classical(cls, layout: Layout, information: FloatArray, dispersion: float) -> Self:
        """Return the inverse of the information matrix, times the dispersion."""
        factored = Symmetric.of(information)
        root = factored.root()
        return cls(layout, dispersion * (root @ root.T), factored.undetermined)

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
