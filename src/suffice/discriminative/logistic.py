"""Logistic and softmax regression: classifiers whose log-odds are linear in x."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from suffice import partitioned, validation
from suffice.data import Dataset
from suffice.discriminative.base import ScoredClasses
from suffice.discriminative.class_weight import class_weights
from suffice.discriminative.coefficients import add_last_class, centre_classes
from suffice.discriminative.encoding import Seen
from suffice.discriminative.inference import check_level
from suffice.discriminative.intervals import (
    check_observations,
    check_of,
    critical_value,
    mean_errors,
    mean_interval,
)
from suffice.discriminative.path import Path, by_c, check_ratio, inverse_cs, is_count, strengths
from suffice.discriminative.penalties import Penalties, Scale, check_c, check_l1_ratio
from suffice.discriminative.regression import Regression
from suffice.estimator import row_wise
from suffice.families import Response
from suffice.families.links import array_namespace
from suffice.kernels.array_blocks import to_host
from suffice.kernels.inputs import Reading
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassWeight, MatrixLike, NumbersLike, RandomState, SolverLike, VectorLike

#: Two classes: the log-odds of the second are linear in x.
_TWO_CLASSES = Response.of("bernoulli")
#: Several classes: the log-odds of each against the last are linear in x.
_CLASSES = Response.of("multinomial")


class LinearClassifier(ScoredClasses, Regression):
    """A classifier with one linear score per class, whose softmax is p(y | x)."""

    _has_classes = True
    _penalty_scale: ClassVar[Scale] = "C"

    def __init__(
        self,
        *,
        C: float = np.inf,
        l1_ratio: float = 0.0,
        bias_reduction: bool = False,
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
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
        self.C = C
        self.l1_ratio = l1_ratio
        self.bias_reduction = bias_reduction
        self.class_weight = class_weight

    def _check_penalties(self) -> None:
        check_c(self.C)
        check_l1_ratio(self.l1_ratio)
        if not isinstance(self.bias_reduction, bool | np.bool_):
            raise ValueError(f"bias_reduction must be True or False; got {self.bias_reduction!r}")
        if self.bias_reduction and np.inf > self.C:
            raise ValueError(f"bias_reduction=True is a penalty itself: leave C at np.inf; got C={self.C!r}")

    def _penalties(self, weight: float) -> Penalties:
        return Penalties(float(self.l1_ratio / self.C), float((1 - self.l1_ratio) / self.C))

    def _penalty_named(self) -> str:
        return f"C = {self.C:g}" + (f", l1_ratio = {self.l1_ratio:g}" if self.l1_ratio else "")

    def _set_steps(self, steps: int) -> None:
        self.n_iter_ = np.array([steps], dtype=np.int32)

    # Learning.

    def _response(self) -> Response:
        return _TWO_CLASSES if self._two else _CLASSES

    def partial_fit(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        classes: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        offset: VectorLike = None,
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
        X, y, sample_weight, offset
            As for :meth:`fit`.
        classes
            All classes; needed in the first call unless its batch has rows of all of them.
        """
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give a dict of weights, or use fit"
            )
        if not self.__sklearn_is_fitted__():
            self._announced = None if classes is None else validation.announced_classes(classes)
        elif classes is not None and set(validation.announced_classes(classes)) != set(self._labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        try:
            return self._learn_batches(X, y, sample_weight, offset, None, None)
        finally:
            self._announced = None

    _announced: Labels | None = None  # classes that may have no rows in the first batch

    def _targets(self, y: Any, rows: int, reset: bool) -> tuple[Any, int]:
        if reset and self._announced is None:
            labels, codes, like = validation.coded(y, rows)
        else:
            column = validation.targets(y, rows)
            known = self._labels if self._announced is None else self._announced
            labels, codes = validation.known_codes(known, column, fixed=True)
            like = column[:0]
        if reset:
            self.classes_ = validation.classes_array(labels, like)
        self._set_labels(labels)
        classes = len(labels.names)
        if classes < 2:
            raise ValueError(f"y has one class, {labels.names[0]!r}: a classifier needs rows of at least 2 classes")
        if self.bias_reduction and classes > 2:
            raise ValueError(f"bias_reduction=True is for two classes; y has {classes}: give C=1.0")
        if not self._two:
            return codes, classes
        xp = array_namespace(codes)
        return xp.astype(codes, xp.float64), 1

    def path(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        Cs: int | NumbersLike = 50,
        eps: float = 1e-3,
        l1_ratio: float = 1.0,
        offset: VectorLike = None,
    ) -> Path:
        """Return the regularisation path of the elastic net; the model itself is not fitted.

        Parameters
        ----------
        X, y, sample_weight, offset
            Rows, as for :meth:`fit`.
        Cs
            Inverse strengths of the penalty, as the parameter ``C``; or their number, evenly spaced on the log scale,
            from the largest at which all coefficients are zero up to ``1 / eps`` times it.
        l1_ratio
            Share of the l1 penalty, above 0: 1 is the lasso. It takes the place of the parameter ``l1_ratio``.

        Returns
        -------
        Path
            The largest penalty, which is the smallest C, first.
        """
        check_ratio(l1_ratio, "l1_ratio")

        def penalties(steepest: float, weight: float) -> FloatArray:
            return strengths(steepest, Cs if is_count(Cs) else inverse_cs(Cs), eps, l1_ratio, "Cs")

        return self._path(X, y, sample_weight, offset, l1_ratio, penalties, lambda weight: by_c)

    def _weights(self, targets: Any, weight: FloatArray | None) -> FloatArray | None:
        if self.class_weight is None:
            return weight
        codes = to_host(targets).astype(np.int64, copy=False)
        return class_weights(self.class_weight, self._labels, codes, weight)

    def _reads_classes(self) -> bool:
        return True

    def _announce(self, data: Dataset) -> None:
        if self._announced is None:
            self._announced = partitioned.find_classes(data)

    def _settled(self, seen: Seen) -> Self:
        if self.class_weight != "balanced":
            return self
        each = class_weights("balanced", self._labels, np.arange(len(self._labels)), None, seen.weights)
        assert each is not None
        settled = copy.copy(self)
        settled.class_weight = dict(zip(self._labels, each.tolist(), strict=True))
        return settled

    # Predictions.

    @row_wise("standard_error")
    def predict_se(self, X: MatrixLike, *, scale: str = "link", offset: VectorLike = None) -> FloatArray:
        """Return the standard error of each row's log-odds or probability, (n,); (n, k) for more than two classes.

        It uses the covariance of the fit.

        Parameters
        ----------
        X
            Rows, (n, d).
        scale
            ``"link"``, the error of the log-odds of the second class; or ``"mean"``, that of its probability. For more
            than two classes only ``"mean"``, for every class.
        offset
            As for :meth:`decision_function`.
        """
        if scale not in ("link", "mean"):
            raise ValueError(f"scale must be 'link' or 'mean'; got {scale!r}")
        if not self._two:
            if scale == "link":
                raise ValueError(f"scale='link' needs two classes; there are {len(self._labels)}: give scale='mean'")
            posterior = self._ask(X, Reading("posterior"), offset)
            several: FloatArray = self._share_intervals(X, posterior, self._predictors, None)
            return several
        error = self._predictor_error(X, 1)
        found: FloatArray = error if scale == "link" else mean_errors(_TWO_CLASSES, self._log_odds(X, offset), error)
        return found

    @row_wise("lower", "upper")
    def predict_interval(
        self, X: MatrixLike, level: float = 0.95, *, of: str = "mean", offset: VectorLike = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the lower and the upper end of an interval of the probability of the second class, each (n,).

        The interval of the log-odds, mapped through the logistic function. For more than two classes, an interval for
        each, (n, k), on the logit scale of its probability.

        Parameters
        ----------
        X
            Rows, (n, d).
        level
            Confidence level.
        of
            ``"mean"``, the probability; a new observation is a class, and has no interval.
        offset
            As for :meth:`decision_function`.
        """
        check_level(level)
        check_of(of)
        if of == "observation":
            check_observations(self._response(), self._params.dispersion)
        if not self._two:
            found: tuple[Any, Any] = self._share_intervals(
                X, self._ask(X, Reading("posterior"), offset), self._predictors, level
            )
            return found
        reach = critical_value(level, self._df()) * self._predictor_error(X, 1)
        return mean_interval(_TWO_CLASSES, self._log_odds(X, offset), reach)

    @property
    def _predictors(self) -> int:
        return int(self.solution_.theta.shape[1])

    def _log_odds(self, X: Any, offset: Any) -> Any:
        return self._class_scores(X, offset)[:, None]

    def _parameter_names(self) -> list[str]:
        names = self._names()
        if self._two:
            return names
        columns = self.solution_.theta.shape[1]
        return [f"{label}: {name}" for label in self.classes_[:columns] for name in names]

    def _theta_columns(self, columns: int) -> tuple[int, int]:
        if self._two:
            return 1, 1
        return len(self._labels) - 1, len(self._labels) - 1 + int(self._treats_classes_alike)

    def _more_settings(self) -> dict[str, Any]:
        return self._classes_written()

    def _restore(self, settings: Any) -> None:
        self._restore_classes(settings)


class LogisticRegression(LinearClassifier):
    """Logistic regression: the log-odds of classes are linear in x. With more than two classes, softmax regression.

    Parameters
    ----------
    C
        Inverse strength of the penalty, as in scikit-learn: minimises ``-C log-likelihood + l1_ratio |theta| +
        (1 - l1_ratio) theta² / 2``, with theta of every class, without the intercepts. The default, inf, has no
        penalty, since the standard errors of a fit are those of maximum likelihood; scikit-learn's default is 1.0.
    l1_ratio
        Share of the l1 penalty: 0 is a ridge, 1 a lasso, between them an elastic net.
    bias_reduction
        Firth's method: maximises ``log-likelihood + log |information| / 2`` (two classes, without C): less biased on
        few rows, and finite if the classes are separated.
    fit_intercept
        Whether the linear predictor has an intercept.
    class_weight
        ``"balanced"``, or a weight for each class by its label.
    solver
        ``"auto"``, ``"newton"``, ``"batch"``, ``"stochastic"``, or a solver of :mod:`suffice.solvers` with settings;
        scikit-learn's ``"lbfgs"`` and ``"newton-cholesky"``, which is ``"newton"``; its ``"newton-cg"``, ``"sag"`` and
        ``"saga"`` are ``"auto"``. All have the same optimum.
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
        ``"family"``: 1. ``"pearson"``: estimated by Pearson's statistic, as in quasi-binomial models. A number: its
        known value.
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
    classes_ : (k,)
    coef_ : (1, d), or (k, d) for more than two classes, which then sum to zero over the classes without an l1 penalty
    intercept_ : (1,), or (k,)
    theta_ : (p, 1), or (p, k), intercept and coefficients
    covariance_ : (q, q), of theta column by column, with the names of the coefficients
    dispersion_ : 1, or the dispersion that ``dispersion`` gives
    separation_ : the separation of the classes; None if there is none
    solution_ : result of the solver: theta, reason of stopping, trace
    facts_ : likelihoods and deviances
    n_iter_ : ndarray of shape (1,)
        Number of iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> hours = np.array([[0.5], [1.0], [1.5], [2.0], [2.5], [3.0]])
    >>> model = LogisticRegression().fit(hours, ["fail", "fail", "pass", "fail", "pass", "pass"])
    >>> model.predict_proba([[1.75]]).round(6)
    array([[0.5, 0.5]])
    """

    _treats_classes_alike = True

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        if not self._two:
            centred = centre_classes(theta, len(self._labels))
            if self._params._sets_zeros and theta.shape == centred.shape:  # only the intercepts may be shifted
                first = int(self._params.fit_intercept)
                centred[first:] = theta[first:]
            theta = centred
        return super()._shown(theta)

    def _pinned_theta(self, predictors: int) -> FloatArray:
        """Return theta with this number of columns, as in the objective."""
        theta = self.theta_
        return theta if theta.shape[1] == predictors else theta[:, :-1] - theta[:, -1:]


class SoftmaxRegression(LinearClassifier):
    """Softmax regression with the last class as reference: its theta is 0, those of others are log-odds against it.

    The parameters are those of :class:`LogisticRegression`; the penalty is on the log-odds against the last class.

    Attributes
    ----------
    classes_ : (k,)
    coef_ : (k, d), whose last row is 0
    intercept_ : (k,), whose last entry is 0
    theta_ : (p, k - 1), the intercept first
    covariance_ : (q, q), of theta column by column, with the names of the coefficients
    separation_ : what separates the classes, if something does; else None
    solution_ : where the solver stopped, why, and its trace
    facts_ : likelihoods and deviances
    dispersion_ : float
        The estimated dispersion; 1 where the family has none.
    n_iter_ : ndarray of shape (1,)
        Number of iterations of the solver.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> x, y = load_iris(return_X_y=True)
    >>> model = SoftmaxRegression(C=1.0).fit(x, y)
    >>> round(model.score(x, y), 3), model.coef_[2]
    (0.96, array([0., 0., 0., 0.]))
    """

    _one_predictor_of_two = False

    def _shown(self, theta: FloatArray) -> tuple[FloatArray, Any]:
        return add_last_class(*super()._shown(theta))

    def _stacked(self, coef: FloatArray, intercept: FloatArray) -> FloatArray:
        return super()._stacked(coef[:-1] - coef[-1:], intercept[:-1] - intercept[-1:])
