"""Generalised linear models: any family; Poisson, gamma and Tweedie regression with scikit-learn's penalty."""

from __future__ import annotations

from dataclasses import replace
from functools import cache, partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import RegressorMixin
from sklearn.exceptions import ConvergenceWarning

from suffice import partitioned, validation
from suffice.data import EncodedDataset, as_dataset
from suffice.data.dataset import Piece, length, model_for_parts, read_again
from suffice.discriminative.encoding import drop_rows_without_weight
from suffice.discriminative.facts import estimates_dispersion
from suffice.discriminative.inference import Inference, check_level
from suffice.discriminative.intervals import (
    check_observations,
    check_of,
    critical_value,
    mean_errors,
    mean_interval,
    observation_interval,
    on_host,
)
from suffice.discriminative.objective import NegativeLogLikelihood, predictors_of, target_moments
from suffice.discriminative.path import Path, alpha_strengths, by_alpha, by_l1_l2, check_ratio, strengths
from suffice.discriminative.penalties import Penalties, Scale, check_l1_ratio, check_strength
from suffice.discriminative.regression import Regression
from suffice.estimator import keeps_precision, row_wise, scored_dataset
from suffice.families import Family, NegativeBinomial, Response, Tweedie, as_family
from suffice.families.links import Link, array_namespace
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.libraries import beside
from suffice.solvers import Newton
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, NumbersLike, RandomState, SolverLike, VectorLike

#: Initial theta of a negative binomial, and the tolerance of its steps relative to theta.
FIRST_THETA, THETA_PRECISION, THETA_STEPS = 1.0, 1e-10, 60
#: A theta larger than this, relative to the mean, is indistinguishable from Poisson: its score is rounding error.
LARGEST_THETA, SMALLEST_THETA = 1e5, 1e-6


class NumberRegression(RegressorMixin, Regression):  # type: ignore[misc]
    """A generalised linear model that predicts the mean of y."""

    classes_: npt.NDArray[Any]  #: of a multinomial family
    coef_: FloatArray
    intercept_: Any
    _parts: int  # number of classes or parts of y; 1 for plain numbers

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        response = self._response()
        tags.target_tags.positive_only = response.likelihood.positive_targets
        tags.regressor_tags.poor_score = response.family.name not in ("gaussian", "poisson")
        return tags

    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        offset: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
    ) -> Self:
        """Learn from more rows; theta is close to that of :meth:`fit` for any split and order of the rows.

        The objective of earlier rows is approximated by a parabola at their optimum. From time to time theta is
        refitted to a uniform sample of all rows, of at most about a million numbers, which the model and its file keep
        until the next :meth:`fit`. Rows of :meth:`fit` are in the parabola only, not in the sample.

        If ``solver`` is a :class:`~suffice.solvers.StochasticGradient` with a ``step``, stochastic gradient descent is
        used instead, from theta = 0: ``theta := theta - step * gradient of the row`` for each row, in order; steps
        become shorter only with ``decay``, and no row is kept.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            As for :meth:`fit`.
        """
        return self._learn_batches(X, y, sample_weight, offset, exposure, trials)

    def _targets(self, y: Any, rows: int, reset: bool) -> tuple[Any, int]:
        response = self._response()
        if response.family.name == "multinomial":
            column = validation.targets(y, rows)
            known = Labels() if reset else Labels.of(self.classes_)
            labels, codes = validation.known_codes(known, column, fixed=not reset)
            if reset:
                self.classes_ = validation.classes_array(labels, column[:0])
            self._parts = len(labels)
            return codes, self._parts
        numbers = validation.numbers_there(y, rows, several=response.vector_targets)
        parts = numbers.shape[1] if numbers.ndim == 2 else 1
        if not reset and parts != self._parts:
            raise ValueError(f"y has {parts} parts a row; the model has learned {self._parts}")
        self._parts = parts
        return numbers, parts

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        coef, intercept = self._linear(theta)
        if len(coef) == 1 or self._is_beta:
            return coef[0], float(intercept[0])
        return coef, intercept

    @property
    def _is_beta(self) -> bool:
        """Whether there is a second predictor, of the precision, which is the same for all rows."""
        return self._response().family.name == "beta"

    def _set_theta(self, theta: FloatArray) -> None:
        super()._set_theta(theta)
        if self._is_beta:
            self.precision_ = float(np.exp(theta[0, 1])) if self._params.fit_intercept else 1.0

    def _stacked(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        if self._is_beta:
            coef = np.concatenate([coef, np.zeros_like(coef)])
            intercept = np.append(intercept, np.log(self.precision_))
        return super()._stacked(coef, intercept)

    def _parameter_names(self) -> list[str]:
        names = self._names()
        response = self._response()
        if self.solution_.theta.shape[1] == 1:
            return names
        if response.family.name == "multinomial":
            return [f"{label}: {name}" for label in self.classes_[:-1] for name in names]
        if self._is_beta:
            return [*names, *(f"precision: {name}" for name in names)]
        return [f"{part}: {name}" for part in response.predictor_names(self._parts) for name in names]

    def _moving(self) -> npt.NDArray[np.bool_]:
        moving = np.ones(self.solution_.theta.shape, dtype=bool)
        if self._response().family.name == "beta":
            moving[int(self._params.fit_intercept) :, 1] = False  # the precision is the same for all rows
        return np.asarray(moving.T.ravel())

    @row_wise("prediction")
    @keeps_precision()
    def predict(self, X: MatrixLike, *, offset: VectorLike = None, exposure: VectorLike = None) -> FloatArray:
        """Return the mean of y for each row, (n,), or (n, k) for several classes or parts.

        Parameters
        ----------
        X
            Rows, (n, d).
        offset, exposure
            As for :meth:`fit`.
        """
        found: FloatArray = self._response().mean(self._predictors(X, offset, exposure))
        return found

    @row_wise("standard_error")
    def predict_se(
        self, X: MatrixLike, *, scale: str = "link", offset: VectorLike = None, exposure: VectorLike = None
    ) -> FloatArray:
        """Return the standard error of the prediction for each row, (n,); (n, k) for several classes or parts.

        It uses the covariance of the fit.

        Parameters
        ----------
        X
            Rows, (n, d).
        scale
            ``"link"``, the error of the linear predictor; or ``"mean"``, that of the mean, by the delta method. For
            several classes or parts only ``"mean"``.
        offset, exposure
            As for :meth:`fit`: the error of a mean depends on them.
        """
        if scale not in ("link", "mean"):
            raise ValueError(f"scale must be 'link' or 'mean'; got {scale!r}")
        z = self._predictors(X, offset, exposure)
        response = self._response()
        if z.shape[1] > 1 and not self._is_beta:
            if scale == "link":
                raise ValueError(f"{response.name} has {z.shape[1]} linear predictors per row: give scale='mean'")
            several: FloatArray = self._share_intervals(X, response.mean(z), z.shape[1], None)
            return several
        error = self._predictor_error(X, z.shape[1])
        found: FloatArray = error if scale == "link" else mean_errors(response, z, error)
        return found

    @row_wise("lower", "upper")
    def predict_interval(
        self,
        X: MatrixLike,
        level: float = 0.95,
        *,
        of: str = "mean",
        offset: VectorLike = None,
        exposure: VectorLike = None,
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of an interval for each row, each (n,), or (n, k) for several parts.

        Parameters
        ----------
        X
            Rows, (n, d).
        level
            Confidence level.
        of
            ``"mean"``: confidence interval of the mean of y, that of the linear predictor mapped through the inverse
            link (for several classes or parts, on the logit scale). ``"observation"``: prediction interval of a new y
            (of weight 1 if weights are precisions), by quantiles of the family's distribution, averaged over that of
            the linear predictor.
        offset, exposure
            As for :meth:`fit`.
        """
        check_level(level)
        check_of(of)
        response = self._response()
        if of == "observation":
            check_observations(response, self._params.dispersion)
        z = self._predictors(X, offset, exposure)
        if z.shape[1] > 1 and not self._is_beta:
            found: tuple[Any, Any] = self._share_intervals(X, response.mean(z), z.shape[1], level)
            return found
        error = self._predictor_error(X, z.shape[1])
        if of == "mean":
            return mean_interval(response, z, critical_value(level, self._df()) * error)
        dispersion = self.dispersion_ if not self._is_beta else 1 / self.precision_
        if self._params.weights == "sampling" and estimates_dispersion(response, self._params.dispersion):
            dispersion *= self.facts_.rows / self.solution_.weight  # whatever the scale of the weights
        low, high = observation_interval(
            response, on_host(z[:, 0]), on_host(error), dispersion, self._df_of_dispersion(), level
        )
        return beside(z, low), beside(z, high)

    def _predictors(self, X: Any, offset: Any, exposure: Any) -> Any:
        """Return the linear predictors of each row, (n, t), in the library of X."""
        self._check_fitted()
        z = self._read(X, *self._linear())
        known = self._offset(offset, exposure, z.shape[0])
        z = z if known is None else z + beside(z, known)[:, None]
        if self._is_beta:
            xp = array_namespace(z)
            z = xp.concat([z[:, :1], xp.full_like(z[:, :1], np.log(self.precision_))], axis=1)
        return z

    def score(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        offset: VectorLike = None,
        exposure: VectorLike = None,
        trials: VectorLike = None,
    ) -> float:
        """Return D², the share of the deviance that the model explains: R² for a Gaussian.

        It is relative to the null model of these rows: an intercept, and their offsets.

        Parameters
        ----------
        X, y, sample_weight, offset, exposure, trials
            As for :meth:`fit`. Rows in parts are read twice: for their targets, and for the deviances.
        """
        self._check_fitted()
        response = self._response()
        if self._reads_classes() or not response.likelihood.has_deviance:
            raise ValueError(f"{response.name} has no deviance, and so no score: use its log-likelihood in summary()")
        beside = {"offset": offset, "exposure": exposure, "trials": trials}
        given = scored_dataset(self, X, y, sample_weight, **beside)
        if given is None:
            given = as_dataset(X, y=y, sample_weight=sample_weight, **beside)
        with read_again(given) as rows:
            model = model_for_parts(self, rows)
            targets = EncodedDataset.of_parts(rows.map_parts(partial(_without_features, model)), self._engine)
            try:
                only = NegativeLogLikelihood(targets, response)
                some = targets.some_rows
                level = response.start(target_moments(some.y, some.weight)[0])
                start = level if some.offset is None else level - np.average(some.offset, weights=some.weight)
                null = Newton().minimise(only, np.reshape(start, (1, -1))).theta
                its = float(targets.reduce(partial(_null_deviance, response, null)))
            finally:
                targets.release()
            mine = float(partitioned.sum_over(rows, partial(_deviance, model))[0])
        return float(1 - mine / its) if its > 0 else float(mine == 0)

    def _forget_facts(self) -> None:
        super()._forget_facts()
        for name in ("family_", "family_error_"):
            self.__dict__.pop(name, None)

    def _more_settings(self) -> dict[str, Any]:
        classes = getattr(self, "classes_", None)
        found: dict[str, Any] = {"parts": self._parts, "classes": None if classes is None else classes.tolist()}
        return {**found, "theta": [self.family_.theta, self.family_error_]} if hasattr(self, "family_") else found

    def _restore(self, settings: Any) -> None:
        self._parts = int(settings["parts"])
        estimated = settings.get("theta")
        if estimated is not None:
            self.family_, self.family_error_ = NegativeBinomial(estimated[0]), float(estimated[1])
        if settings["classes"] is not None:
            self.classes_ = validation.classes_array(Labels.of(np.asarray(settings["classes"])))


def _without_features(model: NumberRegression, piece: Piece) -> Batch:
    """Return the targets of rows with their weights and offsets, without features."""
    numbers = validation.numbers(piece.get("y"), length(piece["X"]))
    weight = partitioned.part_weights(piece)
    if piece.get("trials") is not None:
        numbers, times = model._proportions(numbers, piece["trials"], len(numbers))
        weight = weight * times
    model._response().check_targets(numbers)
    known = model._offset(piece.get("offset"), piece.get("exposure"), len(numbers))
    return drop_rows_without_weight(Batch(np.empty((len(numbers), 0)), numbers, weight, known))


def _null_deviance(response: Response, theta: FloatArray, rows: Batch, _: Engine) -> float:
    """Return the deviance of rows under a model without features."""
    z = np.broadcast_to(theta, (rows.rows, theta.shape[1]))
    z = z if rows.offset is None else z + rows.offset[:, None]
    return float(rows.weight @ response.deviance(z, rows.y))


def _deviance(model: NumberRegression, piece: Piece) -> FloatArray:
    """Return the deviance of rows under a model, and their total weight."""
    targets = _without_features(model, {**piece, "sample_weight": None})
    z = np.asarray(model._read(piece["X"], *model._linear()))
    z = z if targets.offset is None else z + targets.offset[:, None]
    weight = partitioned.part_weights(piece) * targets.weight
    return np.array([weight @ model._response().deviance(z, targets.y), weight.sum()])


class GLM(NumberRegression):
    """A generalised linear model: y has an exponential family distribution, and the link of its mean is linear in x.

    Parameters
    ----------
    family
        ``"gaussian"``, ``"bernoulli"`` (or ``"binomial"``), ``"poisson"``, ``"exponential"``, ``"gamma"``,
        ``"inverse_gaussian"``, ``"negative_binomial"``, ``"multinomial"``, ``"beta"``, ``"dirichlet"``; a family of
        :mod:`suffice.families`, as ``NegativeBinomial(theta=2)`` and ``Tweedie(power=1.5)``; or a
        :class:`~suffice.families.Family` of your own. Theta of a negative binomial is estimated if it is not given.
    link
        Default: the canonical link; for the inverse Gaussian, families with parameters and your own, the log or another
        link that keeps the mean in its range. ``"identity"``, ``"log"``, ``"logit"``, ``"probit"``, ``"cloglog"``,
        ``"cauchit"``, ``"inverse"``, ``"negative_inverse"``, ``"sqrt"``, ``"inverse_squared"``, ``"canonical"``,
        ``"power(1.5)"`` or :class:`~suffice.families.Power` with any exponent, if valid for the family.
    l2, l1
        Penalties, 0 by default: minimises ``-log-likelihood + l1 |theta| + l2 theta² / 2``. The intercept is not
        penalised. They are on the scale of a sum over rows: with ``alpha`` of a mean over n rows, ``l2 = n alpha``.
    fit_intercept
        Whether the linear predictor has an intercept.
    solver
        ``"auto"``, ``"newton"``, ``"batch"``, ``"stochastic"``, or a solver of :mod:`suffice.solvers` with settings.
    tol
        Tolerance of the solver: error of the linear predictors, relative to their scale.
    max_iter
        Most steps of the solver; for the stochastic solver, passes.
    warm_start
        Whether :meth:`fit` starts from the previous theta.
    inference
        Whether the information matrix for standard errors is computed; ``"auto"``: unless it is expensive.
    weights
        Meaning of ``sample_weight``: ``"frequency"``, number of observations of the row; ``"precision"``, inverse
        variance of its y, as the weights of R's ``lm`` and ``glm``; ``"sampling"``, inverse probability of selection,
        with robust errors (``"HC1"`` if ``covariance="classical"``).
    dispersion
        ``"family"``: estimated if the family has one, else 1. ``"pearson"``: estimated by Pearson's statistic for
        every family, as in quasi-Poisson and quasi-binomial models. A number: its known value.
    covariance
        Covariance of the coefficients, for all standard errors and intervals: ``"classical"``; ``"HC0"`` to ``"HC4"``,
        robust to heteroscedasticity; ``"clustered"``, robust to dependence within groups, with tests by t with
        groups - 1 degrees of freedom (``"clustered-residual-df"``: as without groups, which is R's); ``"newey-west"``,
        robust to autocorrelation of rows in time order.
    lags
        Number of lags of ``"newey-west"``; None for ``4 (n / 100)^(2/9)``, which the summary shows.
    random_state
        Seed of the row order of the stochastic solver; None for a new one at every fit.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    coef_ : (d,), or (t, d) for several predictors per row
    intercept_ : float, or (t,)
    theta_ : (p, t), intercept and coefficients
    covariance_ : (q, q), of theta column by column, with the names of the coefficients
    dispersion_ : the estimated dispersion; 1 where the family has none
    solution_ : result of the solver: theta, reason of stopping, trace
    separation_ : the separation of the classes, or of counts of 0; None if there is none
    facts_ : likelihoods and deviances
    family_ : the family with its estimated ``theta``, where the family was ``NegativeBinomial()``
    family_error_ : the standard error of this theta
    classes_ : ndarray of shape (k,)
        The classes, where the family has classes.
    n_iter_ : int
        Number of iterations of the solver.
    precision_ : float
        The precision of a beta regression.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0], [4.0]])
    >>> model = GLM("gamma", "log").fit(x, np.exp(1 + 0.5 * x[:, 0]))
    >>> round(model.intercept_, 6), model.coef_.round(6)
    (1.0, array([0.5]))
    """

    _fixed_parameters = ("family", "link", "fit_intercept")

    def __init__(
        self,
        family: str | Family | type[Family] = "gaussian",
        link: str | Link | None = None,
        *,
        l2: float = 0.0,
        l1: float = 0.0,
        fit_intercept: bool = True,
        solver: SolverLike = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
        inference: bool | str = "auto",
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            inference=inference,
            weights=weights,
            dispersion=dispersion,
            covariance=covariance,
            lags=lags,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
            device=device,
        )
        self.family = family
        self.link = link
        self.l2 = l2
        self.l1 = l1

    def _check_penalties(self) -> None:
        check_strength("l2", self.l2)
        check_strength("l1", self.l1)

    def _penalties(self, weight: float) -> Penalties:
        return Penalties(float(self.l1), float(self.l2))

    def _penalty_named(self) -> str:
        return ", ".join(f"{name} = {value:g}" for name, value in (("l1", self.l1), ("l2", self.l2)) if value)

    def path(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        penalties: int | NumbersLike = 50,
        eps: float = 1e-3,
        ratio: float = 1.0,
        offset: VectorLike = None,
    ) -> Path:
        """Return the regularisation path of the elastic net; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight, offset
            Rows, as for :meth:`fit`.
        penalties
            ``l1 = ratio * penalty`` and ``l2 = (1 - ratio) * penalty``; or their number, evenly spaced on the log
            scale, from the smallest at which all coefficients are zero down to its share ``eps``.
        ratio
            The share of l1, above 0: 1 is the lasso.

        Returns
        -------
        Path
            The largest penalty first.
        """
        check_ratio(ratio, "ratio")

        def chosen(steepest: float, weight: float) -> FloatArray:
            return strengths(steepest, penalties, eps, ratio)

        return self._path(X, y, sample_weight, offset, ratio, chosen, lambda weight: by_l1_l2)

    def _response(self) -> Response:
        family = as_family(self._params.family)
        if _is_incomplete(family):
            family = getattr(self, "family_", NegativeBinomial(FIRST_THETA))
        return Response.of(family, self._params.link)

    def _check_settings(self) -> None:
        super()._check_settings()
        if _is_incomplete(as_family(self.family)) and self.link == "canonical":
            raise ValueError("the canonical link depends on theta, which is unknown: give theta, or another link")

    def _check_family(self, what: str) -> None:
        if _is_incomplete(as_family(self.family)):
            raise ValueError(f"{what} does not estimate theta: use fit, or give NegativeBinomial(theta)")

    def _estimate_family(
        self, likelihood: NegativeLogLikelihood, start: FloatArray
    ) -> tuple[NegativeLogLikelihood, FloatArray]:
        if not _is_incomplete(as_family(self.family)):
            return likelihood, start
        coefficients, theta = start, FIRST_THETA
        # The information of theta and of the coefficients is orthogonal: they are estimated in turns.
        for _ in range(self.max_iter):
            before = theta
            coefficients = self._solve(likelihood, coefficients, hessian=False)[0].theta
            theta, error = estimate_theta(likelihood, coefficients, theta)
            likelihood = replace(likelihood, response=Response.of(NegativeBinomial(theta), self.link))
            if abs(np.log(theta / before)) <= self.tol:
                break
        else:
            words = f"GLM: theta of the negative binomial did not converge in {self.max_iter} rounds: raise max_iter"
            warn_user(words, ConvergenceWarning)
        self.family_, self.family_error_ = NegativeBinomial(theta), error
        return likelihood, coefficients

    def _shapes(self) -> int:
        return int(hasattr(self, "family_"))

    def _inference(self) -> Inference:
        found = super()._inference()
        if not hasattr(self, "family_"):
            return found
        note = f"theta = {self.family_.theta:.6g} was estimated, with a standard error of {self.family_error_:.3g}"
        return replace(found, notes=(note, *found.notes))


def _is_incomplete(family: Any) -> bool:
    """Whether a family has a parameter that is estimated with the coefficients."""
    return not isinstance(family, type) and bool(family.unknown)


def estimate_theta(likelihood: NegativeLogLikelihood, coefficients: FloatArray, start: float) -> tuple[float, float]:
    """Return the maximum likelihood estimate of a negative binomial's theta, and its standard error.

    Newton's method in log theta, for given coefficients; each step is a pass over the rows.
    """
    log_theta = float(np.log(start))
    for _ in range(THETA_STEPS):
        theta = float(np.exp(log_theta))
        what = partial(_theta_sums, likelihood.response, coefficients, likelihood.intercept, NegativeBinomial(theta))
        score, information, counts, weight = likelihood.data.reduce(what)
        slope, curvature = theta * score, theta * theta * information - theta * score
        step = float(np.clip(slope / curvature if curvature > 0 else np.sign(slope), -1.0, 1.0))
        log_theta += step
        if log_theta > np.log(LARGEST_THETA * max(counts / weight, 1.0)):
            raise ValueError(
                "theta of NegativeBinomial has no finite estimate: the counts vary no more than those of a Poisson "
                "distribution; use the family 'poisson', or give theta"
            )
        if log_theta < np.log(SMALLEST_THETA):
            raise ValueError("theta of NegativeBinomial has no estimate above 0: nearly all counts are 0; give theta")
        if abs(step) <= THETA_PRECISION:
            break
    return float(np.exp(log_theta)), float(1 / np.sqrt(information)) if information > 0 else np.nan


def _theta_sums(
    response: Response, coefficients: FloatArray, intercept: bool, family: NegativeBinomial, rows: Batch, engine: Engine
) -> FloatArray:
    """Return the sums of theta's score and information, of the counts, and of the weights."""
    mean = response.mean(predictors_of(coefficients, intercept, rows, engine))
    y = to_host(rows.y)[rows.start : rows.stop]
    weight = np.ones(len(y)) if rows.weight is None else to_host(rows.weight)[rows.start : rows.stop]
    return np.array([weight @ column for column in (*family.score(y, mean), y, np.ones(len(y)))])


@cache
def _named_response(family: str | Tweedie, link: str) -> Response:
    return Response.of(family, link)


class MeanPenalisedRegression(NumberRegression):
    """A generalised linear model whose penalty is beside the mean over rows, as scikit-learn has it."""

    _penalty_scale: ClassVar[Scale] = "alpha"

    def __init__(
        self,
        *,
        alpha: float = 0.0,
        l1_ratio: float = 0.0,
        fit_intercept: bool = True,
        solver: SolverLike = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
        inference: bool | str = "auto",
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            inference=inference,
            weights=weights,
            dispersion=dispersion,
            covariance=covariance,
            lags=lags,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
            device=device,
        )
        self.alpha = alpha
        self.l1_ratio = l1_ratio

    def _check_penalties(self) -> None:
        check_strength("alpha", self.alpha)
        check_l1_ratio(self.l1_ratio)

    def _penalties(self, weight: float) -> Penalties:
        strength = self.alpha * weight
        return Penalties(float(self.l1_ratio * strength), float((1 - self.l1_ratio) * strength))

    def _penalty_named(self) -> str:
        return f"alpha = {self.alpha:g}" + (f", l1_ratio = {self.l1_ratio:g}" if self.l1_ratio else "")

    def path(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        alphas: int | NumbersLike = 50,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        offset: VectorLike = None,
    ) -> Path:
        """Return the regularisation path of the elastic net; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight, offset
            Rows, as for :meth:`fit`.
        alphas
            The penalties, as the parameter ``alpha``; or their number, evenly spaced on the log scale, from the
            smallest at which all coefficients are zero down to its share ``eps``.
        l1_ratio
            Share of the l1 penalty, above 0: 1 is the lasso. It takes the place of the parameter ``l1_ratio``.

        Returns
        -------
        Path
            The largest penalty first.
        """
        check_ratio(l1_ratio, "l1_ratio")

        def penalties(steepest: float, weight: float) -> FloatArray:
            return alpha_strengths(steepest, alphas, eps, l1_ratio, weight)

        return self._path(X, y, sample_weight, offset, l1_ratio, penalties, by_alpha)


class PoissonRegressor(MeanPenalisedRegression):
    """Poisson regression: counts whose log-rate is linear in x.

    The parameters and attributes are those of :class:`GLM`, whose family and link are ``"poisson"`` and ``"log"``,
    except for the penalty.

    Parameters
    ----------
    alpha
        Strength of the penalty, as in scikit-learn: minimises ``mean deviance / 2 + alpha (l1_ratio |theta| +
        (1 - l1_ratio) theta² / 2)`` without the intercept, where the mean over rows is weighted. The default, 0, has no
        penalty, since the standard errors of a fit are those of maximum likelihood; scikit-learn's default is 1.0.
    l1_ratio
        Share of the l1 penalty: 0 is a ridge, 1 a lasso, between them an elastic net.
    fit_intercept, solver, tol, max_iter, warm_start, inference, weights, dispersion, covariance, lags, random_state
        As for :class:`GLM`.
    verbose, n_jobs, device
        As for :class:`GLM`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The coefficients.
    covariance_ : Covariance
        The covariance of theta, (q, q), column by column, with the names of the coefficients.
    dispersion_ : float
        The estimated dispersion; 1 where the family has none.
    facts_ : Facts
        Likelihoods and deviances.
    intercept_ : float
        The intercept.
    n_iter_ : int
        Number of iterations of the solver.
    separation_ : Separation or None
        The separation of the rows, where there is one.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> hours, calls = np.array([1.0, 2.0, 4.0]), np.array([3, 4, 15])
    >>> model = PoissonRegressor().fit(np.array([[0.0], [0.0], [1.0]]), calls, exposure=hours)
    >>> model.predict([[0.0], [1.0]], exposure=[1.0, 1.0]).round(6)
    array([2.333333, 3.75    ])
    """

    def _response(self) -> Response:
        return _named_response("poisson", "log")


class GammaRegressor(MeanPenalisedRegression):
    """Gamma regression: positive numbers whose log-mean is linear in x, with a standard deviation ∝ the mean.

    The parameters are those of :class:`PoissonRegressor`; the family and link are ``"gamma"`` and ``"log"``.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The coefficients.
    covariance_ : Covariance
        The covariance of theta, (q, q), column by column, with the names of the coefficients.
    dispersion_ : float
        The estimated dispersion; 1 where the family has none.
    facts_ : Facts
        Likelihoods and deviances.
    intercept_ : float
        The intercept.
    n_iter_ : int
        Number of iterations of the solver.
    separation_ : Separation or None
        The separation of the rows, where there is one.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> model = GammaRegressor().fit(np.array([[0.0], [0.0], [1.0], [1.0]]), np.array([1.0, 3.0, 5.0, 11.0]))
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([2., 8.])
    """

    def _response(self) -> Response:
        return _named_response("gamma", "log")


#: The families whose variance is a power of the mean, by that power; between 1 and 2 they are Tweedie's.
POWERS = {0.0: "gaussian", 1.0: "poisson", 2.0: "gamma", 3.0: "inverse_gaussian"}


class TweedieRegressor(MeanPenalisedRegression):
    """A regression whose variance is proportional to a power of the mean.

    Parameters
    ----------
    power
        Power of the mean: 0 is a Gaussian, 1 Poisson, 2 gamma, 3 inverse Gaussian, between 1 and 2 a compound of
        Poisson and gamma, with exact zeros.
    alpha
        Strength of the penalty, as for :class:`PoissonRegressor`: 0, none, by default; scikit-learn's default is 1.0.
    l1_ratio
        Share of the l1 penalty.
    link
        ``"auto"``: ``"identity"`` if the power is 0, else ``"log"``. Or one of these.
    fit_intercept, solver, tol, max_iter, warm_start, inference, weights, dispersion, covariance, lags, random_state
        As for :class:`GLM`.
    verbose, n_jobs, device
        As for :class:`GLM`.

    Attributes
    ----------
    coef_ : ndarray of shape (d,)
        The coefficients.
    covariance_ : Covariance
        The covariance of theta, (q, q), column by column, with the names of the coefficients.
    dispersion_ : float
        The estimated dispersion; 1 where the family has none.
    facts_ : Facts
        Likelihoods and deviances.
    intercept_ : float
        The intercept.
    n_iter_ : int
        Number of iterations of the solver.
    separation_ : Separation or None
        The separation of the rows, where there is one.
    solution_ : Solution
        The result of the solver, where an iterative solver was used: theta, reason of stopping, trace.
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> claims = np.array([0.0, 2.0, 0.0, 6.0])
    >>> model = TweedieRegressor(power=1.5).fit(np.array([[0.0], [0.0], [1.0], [1.0]]), claims)
    >>> model.predict([[0.0], [1.0]]).round(6)
    array([1., 3.])
    """

    _fixed_parameters = ("power", "link", "fit_intercept")

    def __init__(
        self,
        *,
        power: float = 0.0,
        alpha: float = 0.0,
        l1_ratio: float = 0.0,
        link: str = "auto",
        fit_intercept: bool = True,
        solver: SolverLike = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        warm_start: bool = False,
        inference: bool | str = "auto",
        weights: str = "frequency",
        dispersion: str | float = "family",
        covariance: str = "classical",
        lags: int | None = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            l1_ratio=l1_ratio,
            fit_intercept=fit_intercept,
            solver=solver,
            tol=tol,
            max_iter=max_iter,
            warm_start=warm_start,
            inference=inference,
            weights=weights,
            dispersion=dispersion,
            covariance=covariance,
            lags=lags,
            random_state=random_state,
            verbose=verbose,
            n_jobs=n_jobs,
            device=device,
        )
        self.power = power
        self.link = link

    def _check_settings(self) -> None:
        power = self.power
        number = isinstance(power, int | float | np.number) and not isinstance(power, bool)
        if not number or not (power in POWERS or 1 < power < 2):
            raise ValueError(
                f"power must be 0 (Gaussian), 1 (Poisson), 2 (gamma), 3 (inverse Gaussian), or between 1 and 2; got "
                f"{power!r}"
            )
        if self.link not in ("auto", "identity", "log"):
            raise ValueError(f"link must be 'auto', 'identity' or 'log'; got {self.link!r}")
        super()._check_settings()

    def _response(self) -> Response:
        params = self._params
        family = POWERS.get(float(params.power)) or Tweedie(params.power)
        link = params.link if params.link != "auto" else "log" if params.power > 0 else "identity"
        return _named_response(family, link)
