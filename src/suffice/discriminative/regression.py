"""A generalised linear model: a family, a link, a penalty, and a solver that finds theta."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np

from suffice import door
from suffice.data import EncodedDataset, as_dataset
from suffice.discriminative.arriving import Arriving
from suffice.discriminative.facts import facts_of
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.least_squares import solve
from suffice.discriminative.objective import Likelihood, target_moments
from suffice.discriminative.robust import robust_covariance
from suffice.discriminative.separation import SeparationWarning, can_separate, find_separation, separable_rows
from suffice.discriminative.solving import CollinearityWarning, dependence, solver_of, warn_unless_converged
from suffice.engines import Batch, Engine
from suffice.engines.array_blocks import to_host
from suffice.engines.choice import engine_for
from suffice.engines.memory import check_host_memory
from suffice.engines.results import beside
from suffice.families import Response
from suffice.solvers import ElasticNet, Solution
from suffice.solvers.linear_algebra import Symmetric, dependencies
from suffice.solvers.objective import MANY, flat, shaped
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

#: Standard errors take one more pass, with products of all pairs of parameters: it is left out above so many products.
DEAR = 2e10
#: At an optimum Newton's next step is nothing beside theta; where rows are separated, theta has far to go.
RESTLESS = 1e-3
COVARIANCES = ("classical", "HC0", "HC1", "HC2", "HC3")


def check_penalties(model: Any) -> None:
    """Raise where a penalty or a tolerance makes no sense."""
    for name in ("l2", "l1"):
        value = getattr(model, name)
        if not (isinstance(value, int | float | np.number) and 0 <= value < np.inf):
            raise ValueError(f"{name} must be a finite number, 0 or more; got {value!r}")
    if not (isinstance(model.tol, int | float | np.number) and 0 < model.tol < np.inf):
        raise ValueError(f"tol must be a number above 0; got {model.tol!r}")


class Regression(Arriving):
    """A model of p(y | x): y is of an exponential family whose mean is a link away from theta' [1, x]."""

    #: Whether every class has its own column of theta where there is a penalty, none being pinned at 0.
    _treats_classes_alike: ClassVar[bool] = False

    solver: Any
    tol: float
    max_iter: int
    warm_start: bool
    inference: bool | str
    random_state: Any
    n_iter_: int

    def __init__(
        self,
        *,
        l2: float = 0.0,
        l1: float = 0.0,
        fit_intercept: bool = True,
        solver: Any = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
        inference: bool | str = "auto",
        covariance: str = "classical",
        random_state: Any = 0,
        engine: Engine | None = None,
    ) -> None:
        self.l2 = l2
        self.l1 = l1
        self.fit_intercept = fit_intercept
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.warm_start = warm_start
        self.inference = inference
        self.covariance = covariance
        self.random_state = random_state
        self.engine = engine

    def _check_settings(self) -> None:
        """Raise where a setting makes no sense, before any row is read."""
        check_penalties(self)
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number, 1 or more; got {self.max_iter!r}")
        if self.inference not in (True, False, "auto"):
            raise ValueError(f"inference must be True, False or 'auto'; got {self.inference!r}")
        if self.covariance not in COVARIANCES:
            raise ValueError(f"covariance must be one of {', '.join(COVARIANCES)}; got {self.covariance!r}")
        solver_of(self.solver, self.tol, self.max_iter, False, None)
        if self.l1 > 0 and self.solver not in ("auto", "newton"):
            raise ValueError(f"l1 > 0 needs solver='auto' or 'newton'; got solver={self.solver!r}")

    # Learning.

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        offset: Any = None,
        exposure: Any = None,
        trials: Any = None,
    ) -> Self:
        """Find theta from rows and their targets.

        Parameters
        ----------
        X
            Rows, (n, d): NumPy, a data frame, CSR, an array of torch, CuPy or JAX; a collection of Dask or a data frame
            of Spark, whose workers hold it and sum it once for every pass; or a function that starts a stream of
            batches (X, y), (X, y, sample_weight) or {"X": X, "y": y, ...}, which is called for every pass. An iterator
            over such batches is kept in a temporary file where it does not fit into memory.
        y
            The target of each row; None where batches bring them. Of data frames in a stream or on a cluster, this and
            what follows may be the names of columns, and on Spark must be.
        sample_weight
            How often each row counts, once by default: a row of weight 2 is two rows, in standard errors too. Where y
            holds shares between 0 and 1 (bernoulli) or rates (Poisson; numbers that are not whole), weights are what
            these are means over: the trials, or the exposures.
        offset
            A known part of each row's linear predictor, (n,).
        exposure
            How long, large or often each row was looked at, (n,): its log is an offset of a model with a log link.
        trials
            How many trials each row stands for, (n,): y then holds the successes (bernoulli only). The trials of a row
            are one observation: degrees of freedom count it once, and robust covariances sum its score first.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            return self._fit(X, y, sample_weight, offset, exposure, trials)

    def _fit(self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any) -> Self:
        given = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset, exposure=exposure, trials=trials)
        data, targets = self._encode(given)
        self._forget_facts()
        shape = self._shape(data.n_features, targets)
        check_host_memory((data.n_rows, data.n_features), "theta, its slope and coef_", 4, *shape)
        with door.naming_cells():
            try:
                self._learn(data, targets)
            except ValueError:  # a solver may have seen a sample, or fewer columns: the rows as they came are named
                self._likelihood(data, targets).slope(np.zeros(shape))
                raise
            finally:
                data.release()
        return self

    def _forget_facts(self) -> None:
        """Drop what is said about a fit to rows that all were there at once."""
        for name in ("facts_", "dispersion_"):
            self.__dict__.pop(name, None)
        self._information = self._covariance = self.separation_ = None
        self._notes = []

    def _learn(self, data: EncodedDataset, targets: int) -> None:
        laid, layout = lay_out(data, self.fit_intercept)
        likelihood = self._likelihood(laid, targets)
        if likelihood.symmetric and self.covariance != "classical":
            raise ValueError(
                f"covariance={self.covariance!r} of more than two classes with a penalty is not known: use "
                "'classical', l2=0, or SoftmaxRegression"
            )
        try:
            start = self._start(likelihood, targets, layout)
            solution = self._solve(likelihood, start, self._wants_information(likelihood, start))
            self._take(likelihood, layout, solution)
        finally:
            if laid is not data:
                laid.release()

    def _likelihood(self, data: EncodedDataset, targets: int) -> Likelihood:
        response = self._response()
        alike = self._shape(data.n_features, targets)[1] > response.predictors(targets)
        free = None
        if response.family.name == "beta":  # the precision is one number for all rows
            free = np.ones((data.n_features + self.fit_intercept, 2))
            free[int(self.fit_intercept) :, 1] = 0.0
        return Likelihood(data, response, self.fit_intercept, float(self.l2), alike, free)

    def _wants_information(self, likelihood: Likelihood, start: FloatArray) -> bool:
        if self.inference != "auto":
            return bool(self.inference)
        return start.size <= MANY and likelihood.count * float(start.size) ** 2 <= DEAR

    def _start(self, likelihood: Likelihood, targets: int, layout: Layout) -> FloatArray:
        """Return where the solver starts: from the mean of y, or from what was learnt before."""
        response, rows = likelihood.response, likelihood.data.some_rows
        shape = self._shape(rows.features, targets)
        if self.warm_start and self.__sklearn_is_fitted__():
            before = self._pinned_theta(shape[1])
            if before.shape == (self.n_features_in_ + int(self.fit_intercept), shape[1]):
                return layout.inward(before)
        start = np.zeros(shape)
        if targets == 1 or response.vector_targets:
            level = response.start(*target_moments(rows))
            if rows.offset is not None:
                level = level - np.average(rows.offset, weights=rows.weight)
            if self.fit_intercept:
                start[0] = level
        few = likelihood.sample(min(max(1000, 10 * start.size), 10 * MANY))
        value = few.slope(start).value
        flat_start = not self.fit_intercept and response.family.name not in ("bernoulli", "multinomial")
        if not np.isfinite(value) or (flat_start and start.size <= MANY):
            linked = _linked(few, start)
            start = linked if not np.isfinite(value) or few.slope(linked).value > value else start
        return start

    def _shape(self, features: int, targets: int) -> tuple[int, int]:
        """Return the shape of theta as a solver sees it."""
        alike = self._treats_classes_alike and (self.l2 > 0 or self.l1 > 0) and targets > 2
        return features + self.fit_intercept, self._response().predictors(targets) + alike

    def _pinned_theta(self, predictors: int) -> FloatArray:
        """Return theta with so many columns: as the solver sees it."""
        return self.theta_

    def _solve(self, likelihood: Likelihood, start: FloatArray, information: bool) -> Solution:
        """Return where the penalised log-likelihood is highest."""
        if self.l1 > 0:
            strength = np.full(start.shape, float(self.l1))
            strength[: int(self.fit_intercept)] = 0.0
            return ElasticNet(strength, self.tol, self.max_iter).minimise(likelihood, start)
        solver = solver_of(self.solver, self.tol, self.max_iter, information, self.random_state)
        solution: Solution = solver.minimise(likelihood, start)
        if information and solution.information is None:
            bend = likelihood.curvature(solution.theta)
            solution = replace(solution, information=bend.information)
        return solution

    def _take(self, likelihood: Likelihood, layout: Layout, solution: Solution) -> None:
        """Keep what was found, and say what is wrong with it."""
        if not np.isfinite(solution.log_likelihood):
            raise ValueError(
                f"{type(self).__name__} found no theta under which the rows are possible ({likelihood.response.name}): "
                "give fit_intercept=True, another link, or standardise X"
            )
        theta = solution.theta
        value = solution.log_likelihood + self._penalty(likelihood, solution)
        self._layout, self._information = layout, solution.information
        rank = int(np.count_nonzero(theta)) if self.l1 > 0 else theta.size
        if likelihood.free is not None:
            rank = int(likelihood.free.sum())
        self._notes = []
        if solution.information is not None and self.l1 == 0:
            factored = Symmetric.of(solution.information)
            rank -= theta.size - factored.rank
            if factored.rank < theta.size and self.l2 == 0:
                self._say_collinear(likelihood, theta.shape)
        rank -= int(likelihood.symmetric and self.fit_intercept)
        self.facts_ = facts_of(likelihood, theta, value, rank)
        self.dispersion_ = self.facts_.dispersion
        self._covariance = None
        if self._information is not None and self.l1 == 0 and self.covariance != "classical":
            self._covariance = layout.covariance_outward(
                robust_covariance(
                    self.covariance,
                    likelihood.data,
                    likelihood.response,
                    theta,
                    self.fit_intercept,
                    self._information,
                )
            )
        self.solution_ = replace(
            solution,
            theta=layout.outward(theta),
            gradient=layout.gradient_outward(solution.gradient),
            information=None,
        )
        self.n_iter_ = max(len(solution.trace), 1)
        self._set_theta(self.solution_.theta)
        warn_unless_converged(self, solution)
        self._look_for_separation(likelihood, layout, solution)

    def _penalised(self) -> bool:
        """Whether a penalty keeps theta finite."""
        return self.l2 > 0 or self.l1 > 0

    def _look_for_separation(self, likelihood: Likelihood, layout: Layout, solution: Solution) -> None:
        """Say so where theta would grow for ever: that is no fit, though its slope vanishes."""
        if self._penalised() or not can_separate(likelihood.response) or not _restless(solution, likelihood):
            return
        rows = likelihood.data.batch
        if rows is None:
            why = words = "theta had far to go still: the rows are separated, or nearly; give l2 > 0"
        else:
            names = self._names() if layout.kept is None else list(np.array(self._names())[layout._places()])
            found = find_separation(
                likelihood.data.engine_for_part(rows),
                separable_rows(likelihood.response, rows),
                solution.theta.shape[1] + 1,
                solution.theta,
                self.fit_intercept,
                names,
                counts=likelihood.response.likelihood.positive_targets,
            )
            if found is None:
                return
            self.separation_ = found
            words = found.message(firth=hasattr(self, "penalty"))
            why = f"the {found.of} are separated: no finite theta is best"
        self.solution_ = replace(self.solution_, converged=False, why=why)
        self._notes.append(words)
        warn_user(f"{type(self).__name__}: {words}", SeparationWarning)

    def _penalty(self, likelihood: Likelihood, solution: Solution) -> float:
        """Return what the penalty takes from the log-likelihood."""
        theta = solution.theta[int(self.fit_intercept) :]
        return float(self.l2 / 2 * (theta * theta).sum() + self.l1 * np.abs(theta).sum())

    def _say_collinear(self, likelihood: Likelihood, shape: tuple[int, ...]) -> None:
        """Name the columns that depend on others, where the curvature is singular.

        At the end of a link's range the curvature of a few rows can outweigh all others, or vanish: it is singular then
        though the columns are not, so the columns themselves are asked.
        """
        names = np.array(self._names())
        if self._layout.kept is not None:
            names = names[self._layout._places()]
        plain = likelihood.data.transform(_with_targets_zero)
        least_squares = Likelihood(plain, Response.of("gaussian"), likelihood.intercept)
        found = dependencies(least_squares.curvature(np.zeros((shape[0], 1))).information)
        if not found:
            self._notes.append(
                "the curvature of the log-likelihood is singular, though no column depends on others: some means are "
                "at the end of their range, and some standard errors are not known"
            )
        sentences = [dependence(str(names[column]), [str(name) for name in names[others]]) for column, others in found]
        if sentences:
            self._notes.append(f"dependent columns: {'; '.join(sentences)}")
            warn_user(
                f"{type(self).__name__}: {'; '.join(sentences[:10])}. The rows do not tell these coefficients apart: "
                "the smallest that fit are given. Drop the columns, or give l2 > 0",
                CollinearityWarning,
            )


def _restless(solution: Solution, likelihood: Likelihood) -> bool:
    """Whether theta may still have far to go though its slope vanishes, or every row is predicted already."""
    if solution.information is None:
        return solution.log_likelihood > -1e-3 * likelihood.weight
    step = shaped(Symmetric.of(solution.information).solve(flat(solution.gradient)), solution.theta)
    return bool((np.abs(step) > RESTLESS * np.abs(solution.theta)).any()) or not solution.converged


def _with_targets_zero(rows: Batch, _: Engine) -> Batch:
    return Batch(rows.x, beside(rows.x, np.zeros(rows.x.shape[0])), rows.weight)


def _linked(likelihood: Likelihood, start: FloatArray) -> FloatArray:
    """Return a start whose predictors are near the link of each row's own target, as the first step of R's glm."""
    rows, response = likelihood.data.some_rows, likelihood.response
    if start.shape[1] > 1:
        return start
    y = to_host(rows.y)
    aims = response.start((y + np.average(y, weights=rows.weight)) / 2)  # held off the ends of the range
    weight = response.curve(aims[:, None], y).curvature[:, 0, 0]
    weight = np.ascontiguousarray(weight if rows.weight is None else weight * rows.weight)
    offset = rows.offset if rows.offset is not None else 0.0
    near = replace(rows, y=aims - offset, weight=weight, offset=None)
    return solve(engine_for(None, rows.x).accumulate(NormalEquations.over(), near), likelihood.intercept).theta
