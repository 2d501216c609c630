"""Diagnostics of a fit: residuals, leverage and influence of each row; variance inflation factors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy import special

from suffice.discriminative.covariance import nearest_name
from suffice.discriminative.cumulative import has_distribution, tails
from suffice.discriminative.inference import Inference
from suffice.discriminative.intervals import on_host
from suffice.discriminative.layout import Layout
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.discriminative.result_table import ResultTable, data_frame
from suffice.discriminative.robust import FULL_LEVERAGE, Rows, blocks, predictor_covariance
from suffice.families import Response
from suffice.kernels import Batch
from suffice.solvers.linear_algebra import Symmetric
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    import pandas

    from suffice.typing import VectorLike

#: Variance inflation is unknown if the correlations of the coefficients have a smaller eigenvalue.
LEAST_EIGENVALUE = 1e-13
#: Most rows listed in a text.
LISTED = 5


@dataclass(frozen=True, eq=False, repr=False)
class Diagnostics:
    """Residuals and influence of each row of a fit; NaN for rows of weight 0.

    If weights are frequencies, the values of a row are those of one of its observations.
    """

    title: str  #: the model, its family and link
    names: tuple[str, ...]  #: of the p coefficients
    rank: int  #: number of fitted parameters
    rows: float  #: number of observations
    dispersion: float
    linear_predictor: FloatArray  #: (n,)
    fitted: FloatArray  #: (n,), the means
    response: FloatArray  #: (n,), y - mean
    pearson: FloatArray  #: (n,), (y - mean) / sqrt(V(mean))
    deviance: FloatArray  #: (n,), square root of the row's deviance, with the sign of the response residual
    working: FloatArray  #: (n,), on the scale of the linear predictor
    quantile: FloatArray  #: (n,), normal quantiles of P(y), drawn between P(< y) and P(<= y) where y is discrete
    leverage: FloatArray  #: (n,), the diagonal of the hat matrix
    standardised_pearson: FloatArray  #: (n,), pearson / sqrt(dispersion (1 - leverage))
    standardised_deviance: FloatArray  #: (n,), the same for deviance residuals
    studentised: FloatArray  #: (n,), with the dispersion, if it is estimated, without the row: ``rstudent`` of lm
    cooks_distance: FloatArray  #: (n,), Cook's distance: the change of all coefficients without the row
    dfbetas: FloatArray | None  #: (n, p), the change of each coefficient in standard errors; None if not requested
    # Standardised values, Cook's distance and DFBETAs are NaN for a row of leverage 1.
    vif: ResultTable  #: the variance inflation factors
    notes: tuple[str, ...] = ()

    #: The columns of :meth:`frame`.
    COLUMNS = (
        "fitted", "response", "pearson", "deviance", "working", "quantile", "leverage", "standardised_pearson",
        "standardised_deviance", "studentised", "cooks_distance",
    )  # fmt: skip

    def frame(self) -> pandas.DataFrame:
        """Return a pandas data frame with a row for each row; DFBETAs are columns ``dfbetas: name``."""
        columns: dict[str, Any] = {name: getattr(self, name) for name in self.COLUMNS}
        if self.dfbetas is not None:
            columns |= {f"dfbetas: {name}": column for name, column in zip(self.names, self.dfbetas.T, strict=True)}
        return data_frame(columns, range(len(self.fitted)))  # type: ignore[arg-type]

    def summary(self) -> ResultTable:
        """Return the quartiles and ends of the residuals, the leverage and Cook's distance."""
        names = ("deviance", "pearson", "quantile", "studentised", "leverage", "cooks_distance")
        found = np.array([_quantiles(getattr(self, name)) for name in names])
        heads = ("min", "1q", "median", "3q", "max")
        columns = dict(zip(heads, found.T, strict=True))
        return ResultTable(f"Diagnostics of {self.title}", names, columns, self._remarks())

    def _remarks(self) -> tuple[str, ...]:
        far, often = 4 / max(self.rows, 1.0), 2 * self.rank / max(self.rows, 1.0)
        distance, leverage = np.nan_to_num(self.cooks_distance), np.nan_to_num(self.leverage)
        largest = [int(row) for row in np.argsort(-distance, kind="stable")[:LISTED] if distance[row] > far]
        listed = f" (largest: {', '.join(map(str, largest))})" if largest else ""
        full = np.flatnonzero(leverage >= 1)
        fitted_alone = f"{', '.join(map(str, full[:LISTED].tolist()))}{', ...' if len(full) > LISTED else ''}"
        remarks = [
            f"rows with Cook's distance above 4 / n = {far:.3g}: {int((distance > far).sum())}{listed}",
            f"rows with leverage above 2 p / n = {often:.3g}: {int((leverage > often).sum())}",
        ]
        remarks += [f"rows with leverage 1, whose residual is 0 whatever y is: {fitted_alone}"] if len(full) else []
        factors = self.vif["vif"] ** (1 / self.vif["df"])
        large = [name for name, factor in zip(self.vif.names, factors, strict=True) if factor > 10]
        remarks += [f"variance inflation above 10 of {', '.join(large[:10])}"] if large else []
        return (*remarks, *self.notes)

    def __str__(self) -> str:
        return f"{self.summary()}\n\n{self.vif}"

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return f"<div>{self.summary()._repr_html_()}{self.vif._repr_html_()}</div>"


def _quantiles(values: FloatArray) -> FloatArray:
    known = values[np.isfinite(values)]
    return np.quantile(known, [0, 0.25, 0.5, 0.75, 1]) if known.size else np.full(5, np.nan)


class FittedModel(NamedTuple):
    """The facts of a fit that diagnostics need."""

    title: str
    names: tuple[str, ...]  # of the coefficients
    rank: int
    rows: float
    df_residual: float
    dispersion: float
    deviance: float
    fixed_dispersion: bool  # whether the dispersion is known, not estimated
    likelihood: bool  # whether the family's distribution holds; False for a quasi-likelihood

    @classmethod
    def of(cls, fit: Inference, fixed_dispersion: bool, likelihood: bool) -> FittedModel:
        """Return the facts of a fit."""
        facts = fit.rank, fit.rows, fit.df_residual, fit.dispersion, fit.deviance
        return cls(fit.title, fit.names, *facts, fixed_dispersion, likelihood)


def diagnose(
    objective: NegativeLogLikelihood,
    theta: FloatArray,
    layout: Layout,
    information: FloatArray,
    model: FittedModel,
    dfbetas: bool,
    terms: Mapping[str, Sequence[str]] | None,
    seed: Any,
) -> Diagnostics:
    """Return the diagnostics of a fit with one linear predictor: one pass over its rows.

    Parameters
    ----------
    objective, theta, layout
        The rows and theta in the solver's coordinates; the layout that maps theta back.
    information
        The negative expected Hessian, including that of the penalty.
    model
        Facts of the fit.
    dfbetas
        Whether to compute DFBETAs.
    terms
        The coefficients of each term, for variance inflation.
    seed
        Random seed of the quantile residuals of discrete responses.
    """
    factored = Symmetric.of(information)
    covariance = layout.covariance_outward(factored.inverse())
    inverse = factored.root() @ factored.root().T
    outward = np.column_stack([layout.outward(unit[:, None])[:, 0] for unit in np.eye(len(theta))])  # (p, h)
    errors = np.sqrt(np.maximum(np.einsum("ij,jk,ik->i", outward, inverse, outward), 0.0))
    directions = outward @ inverse if dfbetas else None
    with_quantiles = model.likelihood and has_distribution(objective.response)
    what = partial(
        _diagnose_batch, objective.response, theta, objective.intercept, inverse, directions, model, with_quantiles
    )
    parts = list(objective.data.map(what))
    columns = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _Part._fields[:-1]}
    quantile = _quantile_residuals(objective.response, columns.pop("log_below"), columns.pop("log_above"), seed)
    spread, square = columns.pop("left_out"), columns["deviance"]
    e = np.sign(columns["response"]) * np.abs(square)
    h, phi = columns["leverage"], model.dispersion
    with np.errstate(divide="ignore", invalid="ignore"):
        one_less = np.where(h < 1, 1 - h, np.nan)
        root = np.sqrt(one_less)
        studentised = np.sign(e) * np.sqrt(e**2 + h * columns["pearson"] ** 2 / one_less)
        studentised = studentised if model.fixed_dispersion else studentised / spread
        if objective.response.name == "gaussian/identity":
            studentised = e / (spread * root)
        changes = None
        if dfbetas:
            changes = np.concatenate([part.changes for part in parts])
            changes /= spread[:, None] * np.where(errors > 0, errors, np.nan)
            changes[:, np.isnan(np.diagonal(covariance))] = np.nan
        return Diagnostics(
            title=model.title,
            names=model.names,
            rank=model.rank,
            rows=model.rows,
            dispersion=phi,
            **columns,
            quantile=quantile,
            standardised_pearson=columns["pearson"] / (np.sqrt(phi) * root),
            standardised_deviance=e / (np.sqrt(phi) * root),
            studentised=studentised,
            cooks_distance=(columns["pearson"] / one_less) ** 2 * h / (phi * model.rank),
            dfbetas=changes,
            vif=variance_inflation(covariance, model.names, objective.intercept, terms),
            notes=()
            if with_quantiles
            else (f"there are no quantile residuals: the distribution of {objective.response.name} is unknown",),
        )


class _Part(NamedTuple):
    """Diagnostics of some rows."""

    linear_predictor: FloatArray
    fitted: FloatArray
    response: FloatArray
    pearson: FloatArray
    deviance: FloatArray
    working: FloatArray
    leverage: FloatArray
    left_out: FloatArray  # square root of the dispersion, estimated from deviance residuals without the row
    log_below: FloatArray
    log_above: FloatArray
    changes: FloatArray  # (n, p), change of the coefficients without the row


def _diagnose_batch(
    response: Response,
    theta: FloatArray,
    intercept: bool,
    inverse: FloatArray,
    directions: FloatArray | None,
    model: FittedModel,
    with_quantiles: bool,
    part: Batch,
    kernels: Any,
) -> _Part:
    found = [
        _diagnose_rows(response, theta, inverse, directions, model, with_quantiles, rows)
        for rows in blocks(part, intercept, 8 * len(theta))
    ]
    return _Part(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _diagnose_rows(
    response: Response,
    theta: FloatArray,
    inverse: FloatArray,
    directions: FloatArray | None,
    model: FittedModel,
    with_quantiles: bool,
    rows: Rows,
) -> _Part:
    y = np.asarray(rows.y, dtype=np.float64).reshape(len(rows.design))
    z = rows.predictor(theta)
    mean, slope = (np.asarray(each, dtype=np.float64) for each in response.link.mean_and_slope(z[:, 0]))
    times = np.ones(len(y)) if rows.trials is None else rows.trials
    weight = np.where(rows.weight > 0, times, np.nan)  # of one observation
    curvature = weight * response.curve(z, y).curvature[:, 0, 0]
    away = y - mean
    pearson = away * np.sqrt(weight / np.asarray(response.unit_variance(mean)))
    deviance = np.sign(away) * np.sqrt(weight * np.asarray(response.deviance(z, y)))
    leverage = np.minimum(curvature * predictor_covariance(rows.design, inverse)[:, 0, 0], 1.0)
    leverage[leverage > FULL_LEVERAGE] = 1.0
    one_less = np.where(leverage < 1, 1 - leverage, np.nan)  # at 1 the residual is 0, and its standardised value 0 / 0
    with np.errstate(divide="ignore", invalid="ignore"):
        left = (model.deviance - deviance**2 / one_less) / (model.df_residual - 1)
        left_out = np.sqrt(np.maximum(left, 0.0)) if model.df_residual > 1 else np.full(len(y), np.nan)
        working = away / slope
        changes = np.zeros((len(y), 0))
        if directions is not None:
            pull = np.sqrt(curvature) * deviance / one_less
            changes = (rows.design @ directions.T) * pull[:, None]
    below = above = np.full(len(y), np.nan)
    if with_quantiles:
        trials = times if response.family.name == "bernoulli" else None
        dispersion = model.dispersion / weight if response.likelihood.has_dispersion else 1.0
        below, above = tails(response, y, mean, dispersion, trials)
    return _Part(z[:, 0], mean, away, pearson, deviance, working, leverage, left_out, below, above, changes)


def _quantile_residuals(response: Response, log_below: FloatArray, log_above: FloatArray, seed: Any) -> FloatArray:
    """Return normal quantiles of P(Y <= y); for discrete targets, drawn uniformly between P(Y < y) and P(Y <= y)."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if response.likelihood.is_discrete or response.family.name == "tweedie":
            own = np.maximum(np.exp(log_below) + np.exp(log_above) - 1, 0.0)
            share = np.random.default_rng(seed).random(len(own))
            log_below, log_above = (
                np.log(np.maximum(np.exp(log_below) - (1 - share) * own, 0.0)),
                np.log(np.maximum(np.exp(log_above) - share * own, 0.0)),
            )
        low = log_below < log_above
        return np.where(low, special.ndtri_exp(log_below), -special.ndtri_exp(log_above))


def variance_inflation(
    covariance: FloatArray, names: Sequence[str], intercept: bool, terms: Mapping[str, Sequence[str]] | None = None
) -> ResultTable:
    """Return variance inflation factors: the variance of each coefficient over that without the other columns.

    Parameters
    ----------
    covariance
        Of the coefficients, (p, p), an intercept first.
    names
        Of the coefficients.
    intercept
        Whether the first is an intercept, which has no factor.
    terms
        The coefficients of each term; a term of several has the generalised factor of Fox and Monette, as ``vif`` of
        R's car. By default every coefficient is a term.

    Examples
    --------
    >>> table = variance_inflation(np.array([[2.0, 1.0], [1.0, 2.0]]), ["a", "b"], False)
    >>> table["vif"].round(4)
    array([1.3333, 1.3333])
    """
    first = int(intercept)
    names, matrix = list(names[first:]), covariance[first:, first:]
    terms = {name: [name] for name in names} if terms is None else terms
    known = np.isfinite(np.diagonal(matrix))
    scale = np.sqrt(np.where(known, np.diagonal(matrix), 1.0))
    correlation = np.where(np.isfinite(matrix), matrix, 0.0) / scale / scale[:, None]
    correlation[~known, ~known] = 1.0
    _, whole = np.linalg.slogdet(correlation)
    # Below rounding, determinants of nearly collinear columns have no digit.
    is_known = not len(names) or np.linalg.eigvalsh(correlation)[0] > LEAST_EIGENVALUE
    factors, widths = [], []
    for term, columns in terms.items():
        members = [columns] if isinstance(columns, str) else list(columns)
        for name in members:
            if name not in names:
                raise ValueError(f"term {term!r}: there is no coefficient {name!r}; {nearest_name(name, names)}")
        places = np.array([names.index(name) for name in members], dtype=np.intp)
        others = np.setdiff1d(np.arange(len(names)), places)
        own, rest = (np.linalg.slogdet(correlation[np.ix_(some, some)])[1] for some in (places, others))
        factors.append(np.exp(own + rest - whole) if is_known and known[places].all() else np.nan)
        widths.append(len(places))
    roots = np.array(factors) ** (1 / (2 * np.array(widths, dtype=np.float64)))
    found = {"vif": factors, "df": widths, "vif^(1/(2 df))": roots}
    notes = () if is_known else ("the columns are nearly collinear: variance inflation has no correct digit",)
    return ResultTable("Variance inflation factors", tuple(terms), found, notes)


def with_rows_without_weight(found: Diagnostics, sample_weight: VectorLike) -> Diagnostics:
    """Return diagnostics with NaN for the rows of weight 0, which were left out; for rows in memory."""
    shape = getattr(sample_weight, "shape", None)
    if (shape is None and not isinstance(sample_weight, list | tuple)) or shape == ():
        return found
    weight = on_host(sample_weight)
    there, count = np.flatnonzero(weight), len(weight)
    if len(there) == count:
        return found
    changed: dict[str, Any] = {}
    for name in (*Diagnostics.COLUMNS, "linear_predictor", "dfbetas"):
        column = getattr(found, name)
        if column is not None:
            changed[name] = np.full((count, *column.shape[1:]), np.nan)
            changed[name][there] = column
    return replace(found, **changed)
