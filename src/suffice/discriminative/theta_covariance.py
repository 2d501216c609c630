"""The covariance of theta, and the variance of linear predictors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.discriminative.layout import Layout
from suffice.discriminative.robust import (
    LEVERAGED,
    RobustCovariance,
    RobustFacts,
    blocks,
    clean_directions,
    depend_on,
    predictor_covariance,
)
from suffice.families.links import share_covariance
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import beside, dense, is_sparse, taken
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
    """Return R for which R'R is a matrix without negative eigenvalues, whatever the units of its columns are."""
    level = np.sqrt(np.maximum(np.diagonal(matrix), 0.0))
    scale = np.where(level > 0, level, 1.0)
    scaled = matrix / scale / scale[:, None]
    values, vectors = np.linalg.eigh((scaled + scaled.T) / 2)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T * scale)


@dataclass(frozen=True, eq=False)
class ThetaCovariance:
    """The covariance of theta in the solver's coordinates: centred X, and the columns that were kept."""

    layout: Layout
    matrix: FloatArray  # (h, h), theta column by column; finite: a pseudo-inverse if theta is not identified
    undetermined: npt.NDArray[np.bool_]  # (h,), which parameters are not identified
    unknown: FloatArray | None = None  # (k, q), directions of theta of X whose variance is unknown

    @classmethod
    def classical(cls, layout: Layout, information: FloatArray, dispersion: float) -> Self:
        """Return the inverse of the information matrix, times the dispersion."""
        factored = Symmetric.of(information)
        root = factored.root()
        return cls(layout, dispersion * (root @ root.T), factored.undetermined)

    @classmethod
    def robust(
        cls, layout: Layout, found: RobustCovariance, undetermined: npt.NDArray[np.bool_]
    ) -> tuple[Self, RobustFacts]:
        """Return a robust covariance, and its facts with the coefficients that rows of leverage 1 determine."""
        unknown, facts = directions_outward(layout, found)
        return cls(layout, found.matrix, undetermined, unknown if facts.kind in LEVERAGED else None), facts

    def outward(self) -> FloatArray:
        """Return the covariance of theta of X, (q, q); NaN for parameters that are not identified, or unknown."""
        known = np.where(self.undetermined[:, None] | self.undetermined[None, :], np.nan, self.matrix)
        found = self.layout.covariance_outward(known)
        if self.unknown is not None and len(self.unknown):
            found = np.array(found)
            loose = (self.unknown != 0).any(axis=0)
            found[loose, :] = found[:, loose] = np.nan
        return found

    def leaves_open(self, x: Any, predictors: int) -> npt.NDArray[np.bool_]:
        """Whether the variance of the first ``predictors`` linear predictors of rows is unknown, (n,)."""
        if self.unknown is None or not len(self.unknown):
            return np.zeros(x.shape[0], dtype=bool)
        size = self.layout.features + self.layout.intercept
        pieces = self.unknown[:, : predictors * size].reshape(-1, size)
        return depend_on(pieces, x, self.layout.intercept)

    def predictor_error(self, engine: Engine, x: Any, predictors: int) -> Any:
        """Return the standard error of the first linear predictor of each row, (n,), in the library of x."""
        layout, size = self.layout, len(self.matrix) // predictors
        seen = x if layout.kept is None else taken(x, layout.kept, axis=1)
        centre = np.zeros(size - layout.intercept) if layout.centre is None else layout.centre
        if layout.mixer is not None:
            rows = dense(x) if is_sparse(x) else np.asarray(to_host(x), dtype=np.float64)
            seen = beside(x, layout.place(rows))
            centre = np.zeros(size - layout.intercept)
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
            if not layout.is_plain and layout.kept is None:
                first = int(layout.intercept)
                design = np.column_stack([design[:, :first], layout.place(design[:, first:])])
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
        if self.unknown is not None:
            found["unknown"] = self.unknown
        places = {"kept": self.layout.kept, "centre": self.layout.centre, "mixer": self.layout.mixer}
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
        check_shapes(arrays, {"mixer": (layout.features, layout.features)})
        layout = replace(layout, kept=kept, centre=arrays.get("centre"), mixer=arrays.get("mixer"))
        unknown = arrays.get("unknown")
        check_shapes(arrays, {} if unknown is None else {"unknown": (len(unknown), arrays["theta"].size)})
        return cls(layout, arrays["covariance"], np.asarray(arrays["undetermined"], dtype=bool), unknown)


def directions_outward(layout: Layout, found: RobustCovariance) -> tuple[FloatArray, RobustFacts]:
    """Return the effects of rows of leverage 1 on theta of X, (k, q), and which coefficients they determine."""
    width = layout.features + layout.intercept if layout.kept is None else len(layout.kept) + layout.intercept
    thetas = (layout.outward(direction.reshape(-1, width).T).T.ravel() for direction in found.directions)
    spread = layout.covariance_outward(found.bread)
    directions = clean_directions(np.array(list(thetas)).reshape(-1, len(spread)), spread)
    uncertain = np.flatnonzero((directions != 0).any(axis=0)).tolist()
    return directions, found.facts._replace(uncertain=tuple(uncertain))


def null_outward(layout: Layout, products: FloatArray) -> FloatArray:
    """Return the directions of theta of X, (k, p), that change no row, given the products of the columns, (h, h)."""
    factored = Symmetric.of(products)
    level = layout.covariance_outward(np.diag(1 / np.where(factored.scale > 0, factored.scale, 1.0) ** 2))
    thetas = [layout.outward(direction[:, None])[:, 0] for direction in factored.null.T]
    return clean_directions(np.array(thetas).reshape(-1, len(level)), level)


def with_gaps(values: Any, unknown: npt.NDArray[np.bool_]) -> Any:
    """Return the values of rows, (n,) or (n, t), with NaN where they are unknown, in the library of the values."""
    if not unknown.any():
        return values
    found = np.array(to_host(values), dtype=np.float64)
    found[unknown] = np.nan
    return beside(values, found)
