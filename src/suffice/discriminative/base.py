"""Base classes of models with coefficients and of linear classifiers; solvers in model files."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.utils.validation import check_is_fitted

from suffice import solvers, validation
from suffice.discriminative.coefficients import add_first_class, split_theta
from suffice.discriminative.contrasts import estimate_contrasts
from suffice.discriminative.covariance import Covariance
from suffice.discriminative.fit_rows import check_columns
from suffice.discriminative.inference import Inference
from suffice.discriminative.penalties import RIDGE, PenalisedModel
from suffice.discriminative.result_table import ResultTable
from suffice.discriminative.robust import CLUSTERED, COVARIANCES, depend_on
from suffice.discriminative.summary import Summary
from suffice.estimator import (
    ClassifierInPartsMixin,
    accuracy_in_parts,
    coefficients_html,
    keeps_precision,
    read_parameters,
    row_wise,
    scored_dataset,
    write_parameters,
)
from suffice.families.links import Link
from suffice.kernels import Batch
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import beside, logs_to_float32, named_classes
from suffice.solvers import Solution
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.solvers.truncated_newton import TruncatedNewton
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Stored, StoreError, class_name, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike


class LinearPredictor(PenalisedModel, Stored, BaseEstimator):  # type: ignore[misc]
    """A model of y whose predictors are z = theta' [1, x]: one column of theta per predictor.

    Predictions use ``coef_`` and ``intercept_`` as they are now, also if assigned or changed in place after the fit;
    inference then raises.
    """

    _symbols: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(("theta", "beta"), "theta_"),
        **dict.fromkeys(("w", "weights"), "coef_"),
        **dict.fromkeys(("b", "bias"), "intercept_"),
        **dict.fromkeys(("cost", "loss", "history"), "solution_"),
    }

    fit_intercept: bool
    n_jobs: int | None
    device: str | None
    n_features_in_: int
    coef_: Any
    intercept_: Any

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model can predict."""
        return "coef_" in vars(self)

    def _check_fitted(self) -> None:
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)
        if "n_features_in_" not in vars(self):
            self._adopt()

    def _adopt(self) -> None:
        """Set what a fit would have set for coefficients that were assigned to an unfitted model."""
        if not hasattr(self, "intercept_"):
            raise ValueError("coef_ was assigned without intercept_: assign intercept_ too, 0.0 for none")
        self.n_features_in_ = int(np.shape(self.coef_)[-1])

    def _linear(self, theta: FloatArray | None = None) -> tuple[FloatArray, FloatArray]:
        """Return coefficients, (t, d), and intercepts, (t,): those of a theta, or the current attributes."""
        if theta is not None:
            return split_theta(theta, bool(self._params.fit_intercept))
        self._check_fitted()
        coef = np.atleast_2d(np.ascontiguousarray(self.coef_, dtype=np.float64))
        intercept = np.asarray(self.intercept_, dtype=np.float64).ravel()
        if coef.ndim != 2 or coef.shape[1] != self.n_features_in_ or len(intercept) not in (1, len(coef)):
            raise ValueError(
                f"coef_ and intercept_ have the shapes {np.shape(self.coef_)} and {np.shape(self.intercept_)}, which "
                f"do not match {self.n_features_in_} features: assign arrays of the shapes that fit set"
            )
        return coef, np.array(np.broadcast_to(intercept, (len(coef),)))

    @property
    def theta_(self) -> FloatArray:
        """The coefficients, (p, t), the intercept first if there is one; read-only."""
        theta = self._stacked(*self._linear())
        theta.flags.writeable = False
        return theta

    @theta_.setter
    def theta_(self, theta: Any) -> None:
        self._set_theta(np.array(theta, dtype=np.float64))

    def _stacked(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        """Return coefficients, (t, d), and intercepts, (t,), as theta, (p, t)."""
        return np.concatenate([intercept[None, :], coef.T]) if self._params.fit_intercept else np.array(coef.T)

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        """Return ``coef_`` and ``intercept_`` of a theta, (p, t)."""
        return self._linear(theta)

    def _set_theta(self, theta: FloatArray) -> None:
        """Set the fitted attributes from theta, (p, t)."""
        self.coef_, self.intercept_ = self._shown(theta)

    def _is_assigned(self, theta: FloatArray) -> bool:
        """Whether ``coef_`` or ``intercept_`` differ from those of a theta, (p, t)."""
        coef, intercept = self._shown(theta)
        return not (np.array_equal(self.coef_, coef) and np.array_equal(self.intercept_, intercept))

    @abstractmethod
    def _fitted_theta(self) -> FloatArray:
        """Return theta as it was learned, (p, t)."""

    _learned: ClassVar[str] = "solution_"  # an attribute that a fit sets, and an assignment of coefficients does not

    def _check_learned(self, what: str) -> None:
        """Raise if coefficients were assigned to a model that was never fitted."""
        if not hasattr(self, self._learned):
            raise never_fitted(self, what)

    def _check_unassigned(self, what: str) -> None:
        """Raise if coefficients were changed after the fit: the result would not be that of the fit."""
        self._check_learned(what)
        if self._is_assigned(self._fitted_theta()):
            raise ValueError(
                f"coef_ or intercept_ was changed after the fit: {what} would not be that of these coefficients; fit "
                "again, or restore them"
            )

    def _read(self, X: Any, coef: FloatArray, intercept: FloatArray, reading: Reading = JOINT) -> Any:
        """Return a function of x coef' + intercept for every row, in the rows' array library."""
        self._check_fitted()
        x = validation.features(self, X, reset=False)
        with validation.naming_cells():
            x = self._as_read(x)
            found = engine_for(self._engine, x).map_rows(partial(linear_scores, coef, intercept, reading), Batch(x))
        warn_of_extrapolation(type(self).__name__, self._not_estimable(x))
        return found

    def null_directions(self) -> FloatArray | None:
        """Return directions of theta, (k, p), that change no row of the fit; None without any, or if unknown."""
        return None

    def _not_estimable(self, x: Any) -> npt.NDArray[np.bool_]:
        """Whether the predictors of rows, (n,), change with theta along directions that change no row of the fit."""
        null = self.null_directions() if hasattr(self, self._learned) else None  # assigned: all are estimable
        if null is None or not len(null):
            return np.zeros(x.shape[0], dtype=bool)
        return depend_on(null, x, bool(self._params.fit_intercept))

    @property
    def _least_features(self) -> int:
        """The minimum number of columns of X; 0 if the intercept alone is a model."""
        return int(not self.fit_intercept)

    def _as_read(self, x: Any) -> Any:
        """Return the features in which the predictors are linear."""
        return x

    def _names(self) -> list[str]:
        """Return the names of a column of theta: of the intercept and the features."""
        names = getattr(self, "feature_names_in_", None)
        features = [f"x{place}" for place in range(self.n_features_in_)] if names is None else [str(n) for n in names]
        return ["intercept", *features] if self._params.fit_intercept else features

    def _fitted_html(self) -> str:
        theta, classes = self.theta_, getattr(self, "classes_", ())
        columns = ["coefficient"]
        if theta.shape[1] > 1:
            named = len(classes) == theta.shape[1]
            columns = [str(classes[place]) if named else f"predictor {place}" for place in range(theta.shape[1])]
        solution = getattr(self, "solution_", None)
        remarks = []
        if solution is not None:
            remarks = [f"{'Converged' if solution.converged else 'Not converged'}: {solution.reason}"]
        return coefficients_html(self._names(), theta, columns, remarks)

    @abstractmethod
    def _inference(self) -> Inference:
        """Return the inference about theta."""

    @property
    def covariance_(self) -> Covariance:
        """The covariance of the coefficients, (q, q), theta column by column, with their names.

        Its kind is the parameter ``covariance`` of the fit. Every standard error, test and interval uses it. NaN for
        coefficients that are not identified.
        """
        self._check_fitted()
        self._check_unassigned("the covariance")
        try:
            fit = self._inference()
        except ValueError as error:
            raise AttributeError(f"covariance_ is unknown: {error}") from None
        if fit.covariance is None:
            raise AttributeError(f"covariance_ is unknown: {'; '.join(fit.notes)}")
        return Covariance(fit.names, fit.covariance, fit.covariance_kind)

    def confint(
        self,
        level: float = 0.95,
        method: str = "wald",
        X: MatrixLike | None = None,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        **rows: Any,
    ) -> ResultTable:
        """Return the confidence interval of each coefficient.

        Parameters
        ----------
        level
            Confidence level.
        method
            ``"wald"``: from the estimate and its standard error, by ``covariance``. ``"profile"``: from the profile
            likelihood, as R's ``confint`` of a glm; it needs the rows of the fit again, as a model does not keep
            them. For :class:`~suffice.LinearRegression` both are the same.
        X, y, sample_weight, **rows
            For ``"profile"``: the rows of the fit, and their ``offset``, ``exposure`` and ``trials``.

        Returns
        -------
        ResultTable
            With the columns ``lower`` and ``upper``.

        Examples
        --------
        >>> from suffice import PoissonRegressor
        >>> x, y = np.arange(6.0)[:, None], np.array([1, 0, 3, 2, 5, 9])
        >>> model = PoissonRegressor().fit(x, y)
        >>> np.asarray(model.confint())[1].round(3), np.asarray(model.confint(method="profile", X=x, y=y))[1].round(3)
        (array([0.216, 0.866]), array([0.239, 0.898]))
        """
        self._check_fitted()
        self._check_unassigned("an interval")
        fit = self._inference()
        if method not in ("wald", "profile"):
            raise ValueError(f"method must be 'wald' or 'profile'; got {method!r}")
        check_columns("confint", rows)
        found, kind = fit.interval(level), fit.covariance_kind
        if method == "profile":
            if self._params.weights == "sampling":
                raise ValueError("there is no profile likelihood under weights='sampling': give method='wald'")
            found, kind = self._profile(level, X, y, sample_weight=sample_weight, **rows), "profile likelihood"
        columns = {"lower": found[:, 0], "upper": found[:, 1]}
        return ResultTable(f"{100 * level:g}% intervals, {kind}", fit.names, columns, fit.notes)

    def _profile(self, level: float, X: Any, y: Any, **rows: Any) -> FloatArray:
        """Return the profile likelihood interval of each free parameter, (q, 2)."""
        raise ValueError(f"there is no profile likelihood of {type(self).__name__}: give method='wald'")

    def contrast(self, contrasts: str | Sequence[str], level: float = 0.95) -> ResultTable:
        """Return estimates, standard errors, tests and intervals of linear combinations of coefficients.

        Parameters
        ----------
        contrasts
            Linear expressions in the names of coefficients, as ``"x1 - x2"``, ``"2 * x1 + x2 = 1"``; one or several.
            Names may be quoted with backquotes. The right-hand side is the value under the null hypothesis, 0 by
            default.
        level
            Confidence level.

        Returns
        -------
        ResultTable
            A row for each; ``details["test"]`` is Wald's test of all of them together.

        Examples
        --------
        >>> from suffice import LinearRegression
        >>> x = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.0], [4.0, 4.0]])
        >>> model = LinearRegression().fit(x, np.array([1.0, 2.5, 2.0, 4.0, 3.0]))
        >>> model.contrast("x0 - x1")["estimate"].round(4)
        array([1.6767])
        """
        self._check_fitted()
        self._check_unassigned("a contrast")
        return estimate_contrasts(self._inference(), contrasts, level)

    def summary(self, level: float = 0.95) -> Summary:
        """Return a table of coefficients with standard errors, tests and intervals, and the goodness of fit.

        Parameters
        ----------
        level
            Confidence level.

        Returns
        -------
        Summary
            It prints as a table; ``frame()`` is the table as a data frame.
        """
        self._check_fitted()
        self._check_unassigned("a summary")
        return self._inference().summary(level)

    def _restore_features(self, settings: Any) -> Self:
        """Restore the number and names of the features from a file's settings."""
        parameters.restore_features(self, settings)
        return self


def linear_scores(coef: FloatArray, intercept: FloatArray, reading: Reading, batch: Batch, kernels: Any) -> Any:
    """Return a function of x coef' + intercept for every row of a batch."""
    return kernels.linear_scores(batch, coef, intercept, reading)


class ScoredClasses(ClassifierInPartsMixin, LinearPredictor):
    """A classifier with one linear score per class, whose softmax is p(y | x)."""

    classes_: npt.NDArray[Any]
    coef_: FloatArray
    intercept_: FloatArray
    _labels: Labels

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    _one_predictor_of_two: ClassVar[bool] = True  # whether two classes have one predictor, the log-odds of the second
    _two: bool  # whether there are two classes, and one predictor

    def _set_labels(self, labels: Labels) -> None:
        """Set the classes."""
        self._labels = labels
        self._two = len(labels.names) <= 2 and self._one_predictor_of_two

    def _adopt(self) -> None:
        if not hasattr(self, "classes_"):
            raise ValueError("coef_ was assigned without classes_: assign classes_ too, such as np.array([0, 1])")
        super()._adopt()
        self.classes_ = np.asarray(self.classes_)
        self._set_labels(validation.announced_classes(self.classes_))

    def class_coefficients(self) -> tuple[FloatArray, FloatArray]:
        """Return coefficients, (k, d), and intercepts, (k,), of every class; 0 for the first of two."""
        coef, intercept = self._linear()
        expected = 1 if self._two else len(self._labels)
        if len(coef) != expected:
            raise ValueError(f"coef_ has {len(coef)} rows; it must have {expected}, as fit set it")
        if self._two:
            return add_first_class(coef, intercept)
        return coef, intercept

    @row_wise("score")
    @keeps_precision()
    def decision_function(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return the log-odds of the second class, (n,), or one score per class, (n, k).

        Parameters
        ----------
        X
            Rows, (n, d).
        offset
            A known part of each row's linear predictors, (n,), as for ``fit``.
        """
        found: FloatArray = self._class_scores(X, offset)
        return found

    def _class_scores(self, X: Any, offset: Any) -> Any:
        """Return the scores of :meth:`decision_function` in float64."""
        self._check_fitted()
        coef, intercept = self.class_coefficients()
        if len(coef) > 2:
            return self._moved(self._read(X, coef, intercept), offset)
        scores = self._read(X, coef[1:] - coef[:1], intercept[1:] - intercept[:1])
        return self._moved(scores, offset)[:, 0]

    def _moved(self, scores: Any, offset: Any) -> Any:
        """Return scores of all classes, or the log-odds of the second, with the rows' offsets added."""
        known = validation.per_row("offset", offset, scores.shape[0])
        if known is None:
            return scores
        classes = len(self._labels)
        moves = np.arange(classes) == 1 if self._two else np.arange(classes) < classes - 1  # one class has no predictor
        shift = np.outer(known, moves)
        return scores + beside(scores, shift if scores.shape[1] > 1 else shift[:, 1:] - shift[:, :1])

    def _ask(self, X: Any, reading: Reading, offset: Any) -> Any:
        self._check_fitted()
        coef, intercept = self.class_coefficients()
        if offset is None:
            return self._read(X, coef, intercept, reading)
        scores = Batch(self._moved(self._read(X, coef, intercept), offset))
        same = partial(linear_scores, np.eye(len(coef)), np.zeros(len(coef)), reading)
        return engine_for(self._engine, scores.x).map_rows(same, scores)

    @row_wise("prediction")
    def predict(self, X: MatrixLike, *, offset: VectorLike = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row, (n,); an offset is that of :meth:`decision_function`."""
        codes = self._ask(X, Reading("best"), offset)
        found: npt.NDArray[Any] = named_classes(self.classes_, codes)
        return found

    @row_wise("probability")
    @keeps_precision()
    def predict_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return p(y | x), (n, k); an offset is that of :meth:`decision_function`."""
        found: FloatArray = self._ask(X, Reading("posterior"), offset)
        return found

    @row_wise("log_probability")
    @keeps_precision(logs_to_float32)
    def predict_log_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return log p(y | x), (n, k); an offset is that of :meth:`decision_function`."""
        found: FloatArray = self._ask(X, Reading("log_posterior"), offset)
        return found

    def score(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> float:
        """Return the accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for :meth:`fit`. Rows in parts are read once, where they are.
        offset
            As for :meth:`decision_function`.
        """
        data = scored_dataset(self, X, y, sample_weight, offset=offset)
        if data is not None:
            return accuracy_in_parts(self, data)
        from sklearn.metrics import accuracy_score  # slow to import, and fits do not need it

        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    # The file.

    def _classes_written(self) -> dict[str, Any]:
        return {"classes": {"names": list(self._labels), "dtype": self.classes_.dtype.kind}}

    def _restore_classes(self, settings: Any) -> None:
        self._set_labels(Labels(tuple(settings["classes"]["names"])))
        if len(self._labels) < 2:
            raise ValueError(f"a classifier has at least two classes; the file names {list(self._labels)!r}")
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        self.classes_ = validation.classes_array(self._labels, like)


#: The solvers of model files, by class name.
SOLVERS: dict[str, type] = {
    kind.__name__: kind
    for kind in (
        solvers.Auto,
        solvers.Newton,
        solvers.BatchGradient,
        solvers.StochasticGradient,
        QuasiNewton,
        TruncatedNewton,
    )
}


def write_solver(solver: Any) -> dict[str, Any]:
    """Return a solver as a file stores it: its name, or the class name of a user's solver, and its settings.

    Examples
    --------
    >>> write_solver(solvers.Newton(tol=1e-6))
    {'solver': 'Newton', 'tol': 1e-06, 'max_iter': 100}
    """
    kind = type(solver)
    if not is_dataclass(solver):
        raise TypeError(
            f"solver={solver!r} cannot be saved, as its settings are unknown: make {kind.__name__} a dataclass, or "
            "set_params(solver='auto') before saving, which does not change a fitted model"
        )
    own = SOLVERS.get(kind.__name__) is not kind
    settings = {field.name: getattr(solver, field.name) for field in fields(solver)}
    return {"solver": class_name(kind) if own else kind.__name__, **settings}


def read_solver(plain: Mapping[str, Any], given: Mapping[str, type]) -> Any:
    """Return the solver that :func:`write_solver` wrote; a user's class is looked up among those given."""
    settings = dict(plain)
    name = settings.pop("solver")
    known: dict[str, type] = {**SOLVERS, **given}
    if name not in known:
        short = name.rpartition(":")[2].rpartition(".")[2]
        raise StoreError(
            f"needs the solver {name}, which is not part of suffice: import the class yourself and give load(path, "
            f"families=[{short}])"
        )
    return known[name](**settings)


def never_fitted(model: Any, what: str) -> NotFittedError:
    """Return the error about what needs rows, of a model whose coefficients were assigned before any fit."""
    return NotFittedError(
        f"the coefficients of this {type(model).__name__} were assigned, and it was never fitted to rows: {what} needs "
        "a fit"
    )


def warn_unless_converged(model: Any, solution: Solution) -> None:
    """Warn if a solver has not converged, with the last line of its trace."""
    if not solution.converged:
        last = f"; {solution.trace[-1]}" if solution.trace else ""
        warn_user(
            f"{type(model).__name__} did not converge: {solution.reason}{last}. Raise max_iter, or try another solver",
            ConvergenceWarning,
        )


class CollinearityWarning(UserWarning):
    """Columns are linear combinations of others: their coefficients are not identified."""


class PrecisionWarning(UserWarning):
    """Results without any correct digit after rounding, which are not given."""


class RankDeficiencyWarning(UserWarning):
    """Predictions of rows that the columns of the fit do not determine, as some depended on others."""


def warn_of_extrapolation(
    model: str, rows: npt.NDArray[np.bool_], position: Callable[[int], int] = lambda row: row
) -> None:
    """Warn of rows, (n,), whose predictions the rows of the fit do not determine, given their positions."""
    if not rows.any():
        return
    first, count = position(int(np.argmax(rows))), int(rows.sum())
    warn_user(
        f"{model}: columns of the fit depend on others, and {count:,} of these {len(rows):,} rows (the first is row "
        f"{first}) break these dependences: the fit does not determine their predictions, and gives those of the "
        "coefficients that it chose; their standard errors are NaN",
        RankDeficiencyWarning,
    )


def dependence(name: str, others: list[str]) -> str:
    """Return a sentence about a column that is a linear combination of others, or constant.

    Examples
    --------
    >>> dependence("total", ["north", "south"])
    'total = a combination of north, south'
    """
    return f"{name} = a combination of {', '.join(others)}" if others else f"{name} is constant"


def warn_of_collinearity(model: Any, sentences: list[str]) -> None:
    """Warn of collinear columns, given a sentence about each."""
    warn_user(
        f"{type(model).__name__}: {'; '.join(sentences[:10])}. Their coefficients are not identified: the solution of "
        f"least norm is given. Drop the columns, or {RIDGE[model._penalty_scale]}",
        CollinearityWarning,
    )


def check_tolerance(model: Any) -> None:
    """Raise if the tolerance of a solver is invalid."""
    if not (isinstance(model.tol, int | float | np.number) and 0 < model.tol < np.inf):
        raise ValueError(f"tol must be a number above 0; got {model.tol!r}")


#: Meanings of row weights.
WEIGHTS = ("frequency", "precision", "sampling")


def check_inference_settings(model: Any) -> None:
    """Raise if ``weights``, ``dispersion``, ``covariance`` or ``lags`` of a model are invalid."""
    if model.weights not in WEIGHTS:
        raise ValueError(f"weights must be one of {', '.join(WEIGHTS)}; got {model.weights!r}")
    number = isinstance(model.dispersion, int | float | np.number) and not isinstance(model.dispersion, bool)
    if model.dispersion not in ("family", "pearson") and not (number and 0 < model.dispersion < np.inf):
        raise ValueError(f"dispersion must be 'family', 'pearson' or a number above 0; got {model.dispersion!r}")
    if model.covariance not in COVARIANCES:
        raise ValueError(f"covariance must be one of {', '.join(COVARIANCES)}; got {model.covariance!r}")
    lags = model.lags
    if lags is not None and not (isinstance(lags, int | np.integer) and not isinstance(lags, bool) and lags >= 0):
        raise ValueError(f"lags must be None or a whole number, 0 or more; got {lags!r}")
    if lags is not None and model.covariance != "newey-west":
        raise ValueError(f"lags need covariance='newey-west'; covariance is {model.covariance!r}")


def check_groups(covariance: str, groups: VectorLike) -> None:
    """Raise if groups are given but not used, or needed but not given; None if that is not yet known."""
    if covariance in CLUSTERED and groups is None:
        raise ValueError(f"covariance={covariance!r} needs groups: give fit(X, y, groups=...), the cluster of each row")
    if covariance not in CLUSTERED and groups is not None:
        raise ValueError(f"groups need covariance='clustered'; covariance is {covariance!r}")


def covariance_kind(covariance: str, weights: str) -> str:
    """Return the kind of covariance that is estimated: sampling weights have no classical one.

    Examples
    --------
    >>> covariance_kind("classical", "sampling"), covariance_kind("HC3", "sampling")
    ('HC1', 'HC3')
    """
    return "HC1" if weights == "sampling" and covariance == "classical" else covariance


def weights_as_trials(rows: Batch) -> Batch:
    """Return rows whose weights are the number of observations that each target is the mean of.

    Examples
    --------
    >>> weights_as_trials(Batch(np.zeros((2, 1)), np.array([0.5, 0.0]), np.array([8.0, 0.0]))).trials
    array([8., 1.])
    """
    return replace(rows, trials=np.where(rows.weight > 0, rows.weight, 1.0))


def solvers_written(settings: dict[str, Any]) -> dict[str, Any]:
    """Return an estimator's parameters as its file stores them: a solver as its name and settings."""
    plain = dict(settings)
    for name, value in settings.items():
        if hasattr(value, "minimise"):
            plain[name] = write_solver(value)
        elif isinstance(value, Link):
            plain[name] = value.name
    return write_parameters(plain)


def solvers_read(plain: dict[str, Any], families: Mapping[str, type]) -> dict[str, Any]:
    """Return the parameters that :func:`solvers_written` wrote; ``families`` are classes they may need."""
    settings = read_parameters(plain, families)
    for name, value in settings.items():
        if isinstance(value, dict) and "solver" in value:
            settings[name] = read_solver(value, families)
    return settings
