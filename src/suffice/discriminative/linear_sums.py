"""What is read from the normal equations of a linear regression: coefficients, predictions, inference; and its file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any, Self

import numpy as np

from suffice import door, partitioned
from suffice.discriminative.facts import gaussian_log_likelihood
from suffice.discriminative.fitted import solvers_read, solvers_written
from suffice.discriminative.inference import Inference, notes_on_rows
from suffice.discriminative.intervals import Interval, interval_of
from suffice.discriminative.layout import Layout
from suffice.discriminative.least_squares import LeastSquares, products_of, solve
from suffice.discriminative.predictor import LinearPredictor
from suffice.discriminative.solving import PrecisionWarning, dependence, warn_unsolved
from suffice.engines.choice import engine_for
from suffice.engines.descent import Pace
from suffice.fitted_parameters import ReadFromStatistics
from suffice.solvers import Solution, Step
from suffice.solvers.linear_algebra import dependencies
from suffice.solvers.objective import flat
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes, parameters
from suffice.user_warnings import warn_user

#: Fewer known digits of the residual variance than these are mentioned.
FEW_DIGITS = 4.0


class ReadFromSums(ReadFromStatistics, LinearPredictor):
    """A linear regression as it is read from its normal equations."""

    l2: float
    l1: float
    covariance: str
    _memory: NormalEquations
    _one_target: bool  # whether y came as (n,)
    _found: FloatArray | None = None  # (p, t), theta that was found from the rows
    _residual: FloatArray | None = None  # (t, t), the products of what is left of the targets, summed row by row
    _robust: FloatArray | None = None  # (p, p), the covariance that was estimated from the rows, about their means
    _solution: LeastSquares | None = None  # what was last read
    _pace: Pace | None = None  # of the next batch, where theta was found row by row
    _coef: Any = None  # coef_ and intercept_ as they were shown, or assigned
    _intercept: Any = None

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to predict from."""
        return "_memory" in vars(self)

    def _remember(self, statistics: NormalEquations) -> None:
        self._memory = statistics
        self._unread()

    def _unread(self) -> None:
        self._solution = self._coef = self._intercept = None

    def _check_read(self) -> None:
        _ = self._solved()

    def _check_readable(self, wanted: Self) -> None:
        self._check_unassigned("a model that is read from the sums")
        params = self._params
        changed = [name for name in ("l2", "l1", "fit_intercept") if getattr(wanted, name) != getattr(params, name)]
        if wanted.solver != "normal" and (changed or wanted.solver != params.solver):
            raise ValueError(
                f"solver={wanted.solver!r} finds theta from the rows, and the sums do not hold them: fit again, or "
                "give solver='normal' as well"
            )
        if wanted.covariance != "classical" and (changed or wanted.covariance != params.covariance):
            raise ValueError(
                f"covariance={wanted.covariance!r} is estimated from the rows, and the sums do not hold them: fit "
                "again, or give covariance='classical' as well"
            )

    def _under(self, **params: Any) -> Self:
        found = super()._under(**params)
        if found._params.solver == "normal":
            found._found = found._residual = found._pace = None
            found.__dict__.pop("solution_", None)
        if found._params.covariance == "classical":
            found._robust = None
        return found

    def _solved(self) -> LeastSquares:
        self._check_fitted()
        if self._solution is None:
            params = self._params
            self._solution = solve(
                self._memory, params.fit_intercept, params.l2, params.l1, self._found, self._residual
            )
            if not self._solution.solved:
                warn_unsolved(self, params.l1)
        return self._solution

    def _fitted_theta(self) -> FloatArray:
        return self._solved().theta

    def _is_assigned(self, theta: FloatArray) -> bool:
        return self._coef is not None and super()._is_assigned(theta)

    def _as_solution(self) -> Solution:
        """Return what normal equations give as the solution of a solver: one pass, and no slope left."""
        theta = self._solved().theta
        value = -0.5 * float(np.trace(self._solved().residual)) - 0.5 * self._params.l2 * float((self.coef_**2).sum())
        step = Step(1.0, value, 0.0, 0.0)
        solved = self._solved().solved
        why = "the normal equations are solved" if solved else "the conditions for a minimum do not hold"
        return Solution(theta, value, np.zeros_like(theta), solved, why, (step,))

    @property
    def statistics_(self) -> NormalEquations:
        """The normal equations: with them the model can be read anew, merged and taken apart."""
        self._check_fitted()
        return self._memory

    @property
    def n_iter_(self) -> int:
        """How many passes over the rows were made: 1 for the normal equations."""
        self._check_fitted()
        return max(len(self.solution_.trace), 1) if hasattr(self, "solution_") else 1

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        coef, intercept = self._linear(theta)
        return (coef[0], float(intercept[0])) if self._one_target else (coef, intercept)

    @property
    def coef_(self) -> Any:
        """The coefficients, (d,), or (t, d) of several targets."""
        if self._coef is None:
            self._coef, self._intercept = self._shown(self._solved().theta)
        return self._coef

    @coef_.setter
    def coef_(self, value: Any) -> None:
        _ = self.coef_  # both are shown, or none
        self._coef = value

    @property
    def intercept_(self) -> Any:
        """The intercept, or one per target, (t,)."""
        _ = self.coef_
        return self._intercept

    @intercept_.setter
    def intercept_(self, value: Any) -> None:
        _ = self.coef_
        self._intercept = value

    @property
    def rank_(self) -> int:
        """How many columns of X are independent."""
        return self._solved().factored.rank

    @property
    def dependent_columns_(self) -> list[tuple[str, list[str]]]:
        """The columns that are combinations of columns before them, with these; of none where one is constant."""
        self._check_fitted()
        intercept = self._params.fit_intercept
        names = np.array(self._names()[int(intercept) :])
        found = dependencies(products_of(self._memory, intercept).xx)
        return [(str(names[column]), [str(name) for name in names[others]]) for column, others in found]

    # Answers.

    @partitioned.row_wise("prediction")
    def predict(self, X: Any, interval: float | None = None, *, of: str = "target") -> Any:
        """Return the prediction for each row, (n,), or (n, t); with an interval, also its lower and upper ends.

        Parameters
        ----------
        X
            Rows, (n, d).
        interval
            The probability that the interval covers, as 0.95.
        of
            What the interval covers: ``"target"``, a new y; or ``"mean"``, the expectation of y.
        """
        predicted = self._read(X, *self._linear())
        if interval is None:
            return predicted[:, 0] if self._one_target else predicted
        x = door.features(self, X, reset=False)
        engine = engine_for(self.engine, x)
        reach = interval_of(engine, x, self._interval(interval, of))
        low, high = predicted - reach, predicted + reach
        if self._one_target:
            return predicted[:, 0], low[:, 0], high[:, 0]
        return predicted, low, high

    def _interval(self, level: float, of: str) -> Interval:
        self._check_unassigned("an interval")
        sums, solved, intercept = self._memory, self._solved(), self._params.fit_intercept
        if not solved.df_residual > 0:
            raise ValueError(f"there is no interval: {notes_on_rows(sums.weight, solved.rank, noise=True)[0]}")
        noise = np.diagonal(solved.noise())
        if np.isnan(noise).any():
            raise ValueError(f"there is no interval: {self._notes_on_digits()[0]}")
        centre = sums.mean_x if intercept else np.zeros(sums.features)
        if self._params.covariance != "classical":
            return Interval.robust(self._robust_known(), centre, intercept, noise, solved.df_residual, level, of)
        level_variance = 1 / sums.weight if intercept else 0.0
        return Interval(centre, solved.factored.whitener(), level_variance, noise, noise, solved.df_residual, level, of)

    def _robust_known(self) -> FloatArray:
        """Return the covariance that was estimated from the rows, (p, p), of an intercept at the means of X."""
        if self._robust is None:
            raise ValueError(
                f"covariance={self._params.covariance!r} is estimated from all rows at once, by fit; rows were added, "
                "merged or forgotten since: fit again, or use with_params(covariance='classical')"
            )
        return self._robust

    def _shift_intercept(self, shift: FloatArray, covariance: FloatArray) -> FloatArray:
        """Return the covariance of theta when the intercept is taken at x - shift instead of x; shift is (d,)."""
        if not self._params.fit_intercept:
            return covariance
        return Layout(self.n_features_in_, True, centre=shift).covariance_outward(covariance)

    def _notes_on_digits(self) -> list[str]:
        """Return a sentence where the sums hardly know the residual variance."""
        digits = float(self._solved().digits.min())
        if digits >= FEW_DIGITS:
            return []
        known = f"to about {digits:.1f} decimal digits" if digits > 0 else "to no digit: there are no standard errors"
        return [
            f"the features explain so much of y that the sums tell the residual variance {known}; fit, with all rows "
            "at once, reads them a second time"
        ]

    # Inference.

    def _parameter_names(self) -> list[str]:
        names = self._names()
        if self._one_target:
            return names
        return [f"y{target}: {name}" for target in range(self._memory.targets) for name in names]

    def _inference(self) -> Inference:
        sums, solved = self._memory, self._solved()
        notes = [
            dependence(name, others)
            for name, others in (self.dependent_columns_ if solved.factored.rank < sums.features else [])
        ]
        params, covariance = self._params, None
        if params.l1 > 0:
            notes.append("l1 > 0: there are no standard errors of coefficients that were set to zero")
        else:
            classical = params.covariance == "classical"
            covariance = solved.covariance() if classical else self._shift_intercept(sums.mean_x, self._robust_known())
        if params.l2 > 0:
            notes.append(f"l2 = {params.l2:g}: standard errors are those of the posterior under a Gaussian prior")
        notes += notes_on_rows(sums.weight, solved.rank, noise=True)
        if solved.df_residual > 0:
            notes += self._notes_on_digits()
            if not solved.digits.all():
                warn_user(f"{type(self).__name__}: {notes[-1]}", PrecisionWarning)
        deviance = np.where(solved.digits > 0, np.diagonal(solved.residual), np.nan)
        null = np.diagonal(products_of(sums, bool(params.fit_intercept)).yy)
        return Inference(
            title="LinearRegression (gaussian/identity)",
            names=tuple(self._parameter_names()),
            estimate=flat(solved.theta),
            covariance=covariance,
            distribution="t",
            df_residual=solved.df_residual,
            rows=sums.weight,
            rank=solved.rank * sums.targets,
            log_likelihood=sum(gaussian_log_likelihood(sums.weight, each) for each in deviance),
            null_log_likelihood=sum(gaussian_log_likelihood(sums.weight, each) for each in null),
            deviance=float(deviance.sum()),
            null_deviance=float(null.sum()),
            dispersion=float(np.trace(solved.noise())) / sums.targets,
            covariance_kind=params.covariance,
            notes=tuple(notes),
            intercept=bool(params.fit_intercept),
            density=True,
        )

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        found = {"centred_robust": self._robust, "found": self._found, "residual": self._residual}
        arrays = {name: array for name, array in found.items() if array is not None}
        if self._is_assigned(self._solved().theta):
            arrays["coef"], arrays["intercept"] = np.asarray(self.coef_), np.asarray(self.intercept_)
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(solvers_written),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "one_target": self._one_target,
                "pace": None if self._pace is None else asdict(self._pace),
            },
            statistics={"sum": self._memory},
            arrays=arrays,
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings, solvers_read)._restore_features(settings)
        model._one_target = bool(settings["one_target"])
        statistics = contents.statistics["sum"]
        if not isinstance(statistics, NormalEquations):
            raise ValueError(f"the sum must be of normal equations; it is a {type(statistics).__name__}")
        if statistics.features != model.n_features_in_:
            raise ValueError(f"the sum is of {statistics.features} features, the model of {model.n_features_in_}")
        size, targets = model.n_features_in_ + int(model._params.fit_intercept), statistics.targets
        robust = dict.fromkeys(("centred_robust", "robust"), (size, size))
        check_shapes(contents.arrays, {**robust, "found": (size, targets), "residual": (targets, targets)})
        model._robust, model._found = contents.arrays.get("centred_robust"), contents.arrays.get("found")
        if "robust" in contents.arrays:  # older files: of the intercept at x = 0
            model._robust = model._shift_intercept(-statistics.mean_x, contents.arrays["robust"])
        model._residual = contents.arrays.get("residual")
        pace = settings.get("pace")
        model._pace = None if pace is None else Pace(**pace)
        model._remember(statistics)
        if "coef" in contents.arrays:
            check_shapes(contents.arrays, {"coef": model.coef_.shape, "intercept": np.shape(model.intercept_)})
            intercept = contents.arrays["intercept"]
            model.coef_, model.intercept_ = contents.arrays["coef"], intercept if intercept.ndim else float(intercept)
        return model
