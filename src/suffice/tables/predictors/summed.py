"""Predictors from sums over a design matrix: Gaussian discriminants and least squares, without their estimators."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.generative.correlated import STRUCTURES
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.statistics import Labels, NormalEquations, Statistics
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.design_matrix import (
    FLAT,
    Design,
    Number,
    build_design,
    drop_unused_levels,
    levels_term,
    number_term,
    recentre_at_zero,
)
from suffice.tables.encoding import Block, CodedColumn
from suffice.tables.errors import TableError
from suffice.tables.predictors.base import EncodedRows, Predictor, StatisticsPredictor
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.schema import Feature

#: Largest size of the covariances of all classes, in bytes.
_COVARIANCES = 1 << 30
#: Parameters of the estimator of each model that the scores depend on, as a file has them.
_PARAMETERS: dict[str, dict[str, Any]] = {
    "gda": {"covariance": "tied", "shrinkage": "oas", "priors": None, "unbiased": False, "temperature": 1.0},
    "gda-full": {"covariance": "full", "shrinkage": "oas", "priors": None, "unbiased": False, "temperature": 1.0},
    "linear": {"solver": "normal", "fit_intercept": True, "positive": False},
}


class SummedPredictor(StatisticsPredictor, LinearPredictor):
    """Models that are fitted from sums over a design matrix, and so updated and merged exactly.

    The sums are moments of classes, or normal equations.
    """

    def _set_statistics(self, statistics: Any, **settings: Any) -> None:
        """Replace the sums, and some settings of the file."""
        known = {} if self._stored is None else dict(self._stored.settings)
        known = {"parameters": _PARAMETERS[self.model_type.name], "feature_names": None, **known}
        if self.task == "classes":
            names = list(statistics.labels)
            kind = validation.classes_array(statistics.labels, np.array(names)).dtype.kind
            known = {"chosen": {}, "classes_fixed": False, **known}
            known["classes"] = {"names": names, "dtype": kind}
        else:
            known = {"one_target": True, "pace": None, **known, "observations": None}
        known |= {"features": statistics.features, **settings}
        self._set_contents(
            Contents("GDA" if self.task == "classes" else "LinearRegression", known, {"sum": statistics}, {})
        )

    def set_temperature(self, temperature: float) -> None:
        """Divide the scores by a temperature."""
        assert self._stored is not None
        names = ("parameters", "fitted_parameters")
        given = {name: self._stored.settings[name] for name in names if name in self._stored.settings}
        changed = {name: {**each, "temperature": float(temperature)} for name, each in given.items()}
        self._set_contents(replace(self._stored, settings={**self._stored.settings, **changed}))

    def prepare(self, sample: Block) -> None:
        """Choose the columns of the design matrix."""
        self.design = build_design(sample, text=False, apart=True)
        self._check_width()
        self.columns = self.design.width

    def _check_width(self) -> None:
        if self.design.is_sparse:
            raise TableError(
                f"{self.model_type.name} would need {self.design.width} columns, which are too many for it"
            )
        needed = 8.0 * len(self.labels) * self.design.width**2
        if self.model_type.name == "gda-full" and needed > _COVARIANCES:
            raise TableError(
                f"gda-full would hold {len(self.labels):,} covariances of {self.design.width:,} columns, "
                f"{needed / 2**30:.1f} GiB: gda shares one"
            )

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""
        for block, values in rows:
            self.add(block, values)
        self.finish_update()
        return self

    def learn_from_sums(self, sums: Callable[[Any], Statistics]) -> Self:
        """Fit from sums over all rows that a database computes, over the columns of this design.

        Parameters
        ----------
        sums
            Computes them: :class:`NormalEquations`, or the statistics that a function of the classes returns.
        """
        self._set_statistics(sums(NormalEquations if self.task != "classes" else self._moments.over))
        self.finish_update()
        return self

    @property
    def _moments(self) -> type[Statistics]:
        """The moments that the covariances are estimated from."""
        return STRUCTURES[_PARAMETERS[self.model_type.name]["covariance"]].moments

    def _sum(self, block: Block, values: npt.NDArray[Any]) -> Statistics:
        """Return the sums over rows; a class that none of them has is not in them."""
        matrix = self.design.encode(block)
        engine = engine_for(None, matrix)
        if self.task != "classes":
            y = np.asarray(values, dtype=np.float64)
            return engine.accumulate(NormalEquations.over(), Batch(matrix, y, block.weights))
        present, codes = np.unique(values, return_inverse=True)
        labels = Labels(tuple(self.labels.names[code] for code in present))
        return engine.accumulate(self._moments.over(labels), Batch(matrix, codes, block.weights))

    def residual_noise(self) -> float | None:
        """Return the root mean square of the residuals of least squares."""
        statistics = self.statistics
        if not isinstance(statistics, NormalEquations):
            return None
        scorer: Any = self.scorer
        left = statistics.scatter[-1, -1] - statistics.xy[:, 0] @ scorer.coef
        return float(np.sqrt(max(left, 0.0) / max(statistics.total, 1.0)))

    # Updates and merges.

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows, which may have new levels and missing cells."""
        if self.statistics is not None and (flat := self._flat_numbers()):
            columns = dict(zip((feature.name for feature in block.features), block.columns, strict=True))
            cells = {name: np.append(columns[name], level) for name, level in flat.items()}
            self._rescale({name: number_term(name, each) for name, each in cells.items()})
        self._change_design(self.design.extend_to_rows(block))
        self._check_width()
        more = self._sum(block, values)
        self._set_statistics(more if self.statistics is None else self.statistics + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Subtract rows, and drop levels and missing indicators that no other row has."""
        if self.design.extend_to_rows(block) is not self.design:
            raise TableError(
                "some of these rows have cells that were never learned: forget only rows that were learned"
            )
        weights = np.ones(block.rows) if block.weights is None else block.weights
        gone, weight = weights @ self.design.encode(block), float(weights.sum())
        rows, mean, _ = _totals(self.statistics)
        left = np.maximum(rows * mean - gone, 0.0) / max(rows - weight, 1e-300)
        spans = self.design.spans
        terms = (drop_unused_levels(term, rows - weight, left[spans[term.feature]]) for term in self.design.terms)
        self._change_design(Design(self.design.features, tuple(map(recentre_at_zero, terms))))
        self._set_statistics(self.statistics - self._sum(block, values))

    def finish_removal(self) -> float:
        """Restandardise the sums, estimate the model, and return how many digits of the sums are known."""
        self.finish_update()
        _ = self.scorer
        return float(self.statistics.digits_kept())

    def column_at(self, place: tuple[int, ...]) -> str | None:
        """Return the column at a place of the sums, if it is one."""
        names = [term.feature for term in self.design.terms for _ in term.names]
        return [*names, "the target"][place[0]] if place else None

    def add_columns(self, features: Sequence[Feature], cells: Block) -> None:
        """Add columns that had the same cell in all rows: each column of the design is constant."""
        more = [
            levels_term(feature.name, column, True)
            if isinstance(column, CodedColumn)
            else number_term(feature.name, column)
            for feature, column in zip(cells.features, cells.columns, strict=True)
            if feature.kind != "text"
        ]
        terms = {term.feature: term for term in (*self.design.terms, *more)}
        design = Design(tuple(features), tuple(terms[each.name] for each in features if each.name in terms))
        A, b = np.zeros((design.width, self.design.width)), np.zeros(design.width)
        for term in self.design.terms:
            A[design.spans[term.feature], self.design.spans[term.feature]] = np.eye(len(term.names))
        new = Design(cells.features, tuple(more))
        row = new.encode(cells, is_sparse=False)[0]
        for term in more:
            b[design.spans[term.feature]] = row[new.spans[term.feature]]
        self.design = design
        self._check_width()
        self._set_statistics(self.statistics.transformed(A, b))

    def finish_update(self) -> None:
        """Restandardise the sums by the means and variances of all rows."""
        self._change_design(self.design.restandardise(*_totals(self.statistics)))

    def _flat_numbers(self) -> dict[str, float]:
        """Return the numeric features that have not varied, with their value: the scale of their terms is arbitrary."""
        _, mean, variance = _totals(self.statistics)
        starts = {term: self.design.spans[term.feature].start for term in self.design.terms if isinstance(term, Number)}
        flat = {term: start for term, start in starts.items() if variance[start] <= FLAT**2}
        known = {term: 1.0 - mean[start + 1] if term.gaps else 1.0 for term, start in flat.items()}
        return {
            term.feature: float(term.centre + term.scale * mean[start] / known[term]) if known[term] > 0 else np.nan
            for term, start in flat.items()
        }

    def _rescale(self, terms: Mapping[str, Number]) -> None:
        """Take the centre and the scale of some features from other terms."""
        changed = (
            replace(term, centre=terms[term.feature].centre, scale=terms[term.feature].scale)
            if isinstance(term, Number) and term.feature in terms
            else term
            for term in self.design.terms
        )
        self._change_design(Design(self.design.features, tuple(changed)))

    def _change_design(self, design: Design) -> None:
        """Transform the sums to the columns of another design."""
        if design is self.design or design.terms == self.design.terms:
            return
        if self.statistics is not None:
            self._set_statistics(_with_design(self.statistics, self.design, design))
        self.design = design

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both, in the union of their designs."""
        both = SummedPredictor(self.model_type, self.task, self.labels.union(other.labels)[0])
        one, two = copy.copy(self), copy.copy(other)
        mine, theirs = self._flat_numbers(), other._flat_numbers()
        levels = {name: np.array([mine[name], theirs[name]]) for name in mine.keys() & theirs.keys()}
        terms = {term.feature: term for term in two.design.terms if isinstance(term, Number)}
        one._rescale(
            {name: number_term(name, levels[name]) if name in levels else terms[name] for name in mine if name in terms}
        )
        both.design, both._stored = one.design.union(two.design), self._stored
        mine, theirs = (_with_design(each.statistics, each.design, both.design) for each in (one, two))
        both._set_statistics(mine + theirs)
        return both


def _totals(statistics: Any) -> tuple[float, FloatArray, FloatArray]:
    """Return the number of rows, and the mean and variance of each column."""
    if isinstance(statistics, NormalEquations):
        rows = statistics.total
        return rows, statistics.mean_x, np.diagonal(statistics.xx) / max(rows, 1e-300)
    weights = statistics.weights
    rows = float(weights.sum())
    mean = weights @ statistics.mean / rows
    spread = statistics.spread if statistics.spread.ndim == 2 else statistics.spread.sum(axis=0)
    between = weights @ (statistics.mean - mean) ** 2
    return rows, mean, (np.diagonal(spread) + between) / rows


def _with_design(statistics: Any, design: Design, target: Design) -> Any:
    """Return sums transformed to the columns of another design."""
    return statistics if design.terms == target.terms else statistics.transformed(*design.map_to(target))
