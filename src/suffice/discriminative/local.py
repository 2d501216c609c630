"""Locally weighted regression: a fit at every query to the rows near it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np
import numpy.typing as npt
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from suffice import partitioned, validation
from suffice.data import EncodedDataset, as_dataset
from suffice.data.dataset import Piece
from suffice.discriminative.layout import check_squares
from suffice.discriminative.local_fit import (
    SETTINGS,
    Answer,
    LocalRows,
    LocalScorer,
    QueryFit,
    beside,
    check_rows,
    log_expit,
    numbers,
    warn_of,
)
from suffice.estimator import FittedParameters, row_wise
from suffice.families.links import array_namespace
from suffice.html_fragments import fragment, table
from suffice.kernels.libraries import joined
from suffice.kernels.neighbourhood import Neighbourhood, Shape
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, parameters

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike


def _is_classifier(model: LocallyWeightedRegression) -> bool:
    if model._params.family != "bernoulli":
        raise AttributeError(
            f"LocallyWeightedRegression(family={model._params.family!r}) predicts numbers, not classes"
        )
    return True


def _is_regressor(model: LocallyWeightedRegression) -> bool:
    if model._params.family != "gaussian":
        raise AttributeError(
            f"LocallyWeightedRegression(family={model._params.family!r}) predicts classes, not numbers"
        )
    return True


class LocallyWeightedRegression(FittedParameters, Stored, BaseEstimator):  # type: ignore[misc]
    """Locally weighted regression: at every query, a polynomial fitted to the rows near it.

    At a query q it maximises the sum over rows of ``w_i k(|x_i - q| / bandwidth) log p(y_i | theta' [1, x_i - q])``,
    less ``l2 / 2`` times the squares of all coefficients but the first, and predicts from that one, the value at q.
    The model keeps all rows, and every prediction reads those near the query.

    For a query far from all rows (the kernel at the nearest is below 1e-12: for the Gaussian, beyond 7.4 bandwidths)
    the prediction uses the nearest rows, as weights are relative to the largest, with a :class:`FarFromDataWarning`.
    If no row is within a bounded kernel, the nearest rows have equal weights. Rows below e^-50 of the largest weight
    are ignored. Slopes that are not identified (a single neighbour, neighbours in a line) are those of least norm.

    Parameters
    ----------
    bandwidth
        Bandwidth of the kernel, in the units of X: scale the features first. ``"auto"``: leave-one-out
        cross-validation, on at most 2,000 evenly spaced rows.
    family
        ``"gaussian"``: y holds numbers, one column or several, fitted by least squares. ``"bernoulli"``: y holds two
        classes, fitted by Newton's method; every coefficient, also the first, has a penalty of 1e-4 / 2 times the mean
        square of its part of the log-odds near the query, relative to a weight of 1 of the nearest row, so that the fit
        is finite if all neighbours have one class.
    degree
        Degree of the polynomial: 0, a weighted mean (Nadaraya-Watson); 1, linear; 2, with all squares and products.
    kernel
        Weight at a distance of r bandwidths: ``"gaussian"`` exp(-r^2 / 2), ``"epanechnikov"`` 1 - r^2, ``"tricube"``
        (1 - r^3)^3, ``"uniform"`` 1; the last three are 0 beyond r = 1.
    l2
        Weight of the ridge penalty on slopes and curvatures.
    max_iter, tol
        Most Newton steps, and tolerance of the local log-likelihood, for ``"bernoulli"``.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    bandwidth_ : float
        The bandwidth in use.
    leave_one_out_ : ndarray of shape (g, 2)
        With ``bandwidth="auto"``: the bandwidths tried, and the mean squared error (or log-loss) of each.
    classes_ : ndarray of shape (2,)
        The classes, for ``family="bernoulli"``.
    n_iter_ : int
        Number of bandwidths tried; 1 if it is given.
    n_features_in_ : int
        Number of features.
    residual_variance_ : float or ndarray of shape (t,)
        The residual variance, for ``family="gaussian"``.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> x = np.linspace(0, 6, 200)[:, None]
    >>> model = LocallyWeightedRegression(bandwidth=0.2).fit(x, np.sin(x[:, 0]))
    >>> model.predict([[np.pi / 2], [np.pi]]).round(2)
    array([0.98, 0.  ])
    """

    _fixed_parameters = ("family",)
    _symbols: ClassVar[Mapping[str, str]] = {"tau": "bandwidth_", "theta": "local_fit"}

    def __init__(
        self,
        bandwidth: float | Literal["auto"] = 1.0,
        family: Literal["gaussian", "bernoulli"] = "gaussian",
        degree: int = 1,
        kernel: Shape = "gaussian",
        l2: float = 0.0,
        max_iter: int = 100,
        tol: float = 1e-10,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.bandwidth = bandwidth
        self.family = family
        self.degree = degree
        self.kernel = kernel
        self.l2 = l2
        self.max_iter = max_iter
        self.tol = tol
        self.n_jobs = n_jobs
        self.device = device

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if self.family == "bernoulli":
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
            tags.target_tags.multi_output = True
        return tags

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Store the rows, and choose the bandwidth if it is ``"auto"``.

        Parameters
        ----------
        X
            Rows, (n, d), dense. Rows in parts (a stream, files, Dask, Spark) are gathered: the model keeps all rows in
            memory.
        y
            Numbers, (n,) or (n, t); or for ``family="bernoulli"`` one of two classes for each row, (n,). For data
            frames in parts, the name of the column.
        sample_weight
            Frequency weight of each row. Rows of weight 0 are not kept.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        return self._keep(*self._gather(X, y, sample_weight, reset=True))

    def _gather(self, X: Any, y: Any, sample_weight: Any, reset: bool) -> tuple[Any, Any, Any]:
        """Return validated rows in memory, their targets and weights."""
        data = as_dataset(X, y=y, sample_weight=sample_weight)
        if data.in_memory is None and reset:
            validation.features(self, data.example(), reset=True, accept_sparse=False)
            reset = False
        rows = partitioned.gather_rows(data.map_parts(partial(_read_part, self, reset)))
        return rows["X"], rows.get("y"), rows.get("sample_weight")

    def _keep(self, x: Any, y: Any, sample_weight: Any) -> Self:
        targets, shape = self._targets(y, x.shape[0])
        rows = LocalRows.of(x, targets, validation.weights(sample_weight, x.shape[0]))
        check_squares(EncodedDataset.of_batch(rows.batch, self._engine))
        if self.family == "bernoulli" and len(np.unique(rows.targets)) < 2:
            only = self.classes_[int(rows.targets[0, 0])]
            raise ValueError(f"all rows of weight above 0 are of the class {only!r}: two classes are needed")
        self.__dict__.pop("leave_one_out_", None)
        self.__dict__.pop("_variance", None)
        self._rows, self._shape = rows, shape
        if self.bandwidth == "auto":
            self.bandwidth_, self.leave_one_out_ = rows.tuned(self._settings(), self._engine)
        else:
            self.bandwidth_ = float(self.bandwidth)
        self.n_iter_ = len(self.leave_one_out_) if self.bandwidth == "auto" else 1
        return self

    def partial_fit(
        self, X: MatrixLike, y: VectorLike = None, classes: VectorLike = None, sample_weight: VectorLike = None
    ) -> Self:
        """Store more rows: the result is that of :meth:`fit` to all rows.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes
            Not used: the classes are those of the rows.
        """
        if "_rows" not in vars(self):
            return self.fit(X, y, sample_weight)
        with self._learning(anew=False):
            return self._add(X, y, sample_weight)

    def _add(self, X: Any, y: Any, sample_weight: Any) -> Self:
        x, y, sample_weight = self._gather(X, y, sample_weight, reset=False)
        known, weight = self._rows, validation.weights(sample_weight, x.shape[0])
        x = joined([known.batch.x, array_namespace(known.batch.x).asarray(x)])
        old = self.classes_[known.targets[:, 0].astype(int)] if self.family == "bernoulli" else known.targets
        new = np.asarray(y)
        targets = np.concatenate([old if new.ndim > 1 or old.ndim == 1 else old[:, 0], new])
        weights = np.concatenate([known.weight, np.ones(len(new)) if weight is None else weight])
        return self._keep(x, targets, weights)

    @overload
    def predict(self, X: MatrixLike, return_std: Literal[False] = False) -> npt.NDArray[Any]: ...
    @overload
    def predict(self, X: MatrixLike, return_std: Literal[True]) -> tuple[FloatArray, FloatArray]: ...
    @row_wise("prediction", return_std=("standard_error",))
    def predict(self, X: MatrixLike, return_std: bool = False) -> Any:
        """Return the value at each query, (n,) or (n, t); or its most probable class, (n,).

        Parameters
        ----------
        X
            Queries, (n, d).
        return_std
            Whether to return :meth:`standard_error` as a second array; for ``family="gaussian"``.
        """
        check_is_fitted(self)
        if return_std:
            _is_regressor(self)
            answer = self._asked(X, with_variance=True)
            return self._shaped(X, answer.value), self._shaped(X, self._errors(answer))
        answer = self._asked(X)
        if self._params.family == "gaussian":
            return self._shaped(X, answer.value)
        return beside(X, self.classes_[(answer.value[:, 0] > 0).astype(np.intp)])

    def _fitted_html(self) -> str:
        facts = [("bandwidth", f"{self.bandwidth_:.5g}"), ("rows kept", f"{len(self._rows.targets):,}")]
        return fragment(table([], facts))

    def local_fit(self, query: VectorLike) -> QueryFit:
        """Return the fit at one query: its theta, the weights of the rows, and the line (or curve) itself.

        Parameters
        ----------
        query
            The query, (d,); a number for one feature. For ``family="gaussian"`` and one target.

        Examples
        --------
        >>> x = np.arange(5.0)[:, None]
        >>> fit = LocallyWeightedRegression(bandwidth=1.0).fit(x, [0.0, 1.0, 2.0, 3.0, 8.0]).local_fit(1.0)
        >>> fit.weights.round(2)
        array([0.61, 1.  , 0.61, 0.14, 0.01])
        >>> fit.theta.round(2), fit.predict([[1.0]]).round(2)  # intercept and slope; the line at the query
        (array([-0.06,  1.07]), array([1.01]))
        """
        check_is_fitted(self)
        _is_regressor(self)
        if self._shape:
            raise ValueError(f"local_fit is for one target; y has {self._rows.targets.shape[1]}")
        asked = np.atleast_1d(np.asarray(query, dtype=np.float64))
        if asked.ndim != 1:
            raise ValueError(f"local_fit is for one query, (d,); the shape of this one is {asked.shape}")
        x = validation.features(self, asked[None, :], reset=False)
        check_rows(x)
        neighbourhood = Neighbourhood(self._params.kernel, self.bandwidth_, self._params.degree)
        return self._rows.fit_at(np.asarray(x, dtype=np.float64)[0], neighbourhood, float(self._params.l2))

    @available_if(_is_regressor)  # type: ignore[untyped-decorator]
    @row_wise("standard_error")
    def standard_error(self, X: MatrixLike) -> FloatArray:
        """Return the standard error of the fit at each query, (n,) or (n, t).

        The fit is linear in the targets, l(q)'y, so its variance is l'l times that of the targets,
        :attr:`residual_variance_`. It does not include the bias of the fit, which grows with the bandwidth.
        """
        check_is_fitted(self)
        found: FloatArray = self._shaped(X, self._errors(self._asked(X, with_variance=True)))
        return found

    @property
    def residual_variance_(self) -> float | FloatArray:
        """The residual variance: a number, or (t,) for several targets.

        The weighted sum of squared residuals over the total weight less 2 tr H - tr H'H, the degrees of freedom of the
        fit, with H the smoother matrix; on at most 2,000 evenly spaced rows. It is estimated at first use.
        """
        check_is_fitted(self)
        _is_regressor(self)
        if not hasattr(self, "_variance"):
            self._variance = self._rows.residual_variance(self._settings(), self.bandwidth_, self._engine)
        return float(self._variance[0]) if not self._shape else self._variance

    @available_if(_is_classifier)  # type: ignore[untyped-decorator]
    @row_wise("score")
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the log-odds of the second class at each query, (n,)."""
        check_is_fitted(self)
        found: FloatArray = beside(X, self._asked(X).value[:, 0])
        return found

    @available_if(_is_classifier)  # type: ignore[untyped-decorator]
    @row_wise("probability")
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return the probabilities of the two classes at each query, (n, 2)."""
        check_is_fitted(self)
        log_odds = self._asked(X).value
        found: FloatArray = beside(X, expit(np.hstack([-log_odds, log_odds])))
        return found

    @available_if(_is_classifier)  # type: ignore[untyped-decorator]
    @row_wise("log_probability")
    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return the logarithms of the probabilities of the two classes at each query, (n, 2)."""
        check_is_fitted(self)
        log_odds = self._asked(X).value
        found: FloatArray = beside(X, log_expit(np.hstack([-log_odds, log_odds])))
        return found

    def score(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> float:
        """Return R² of the predictions, or the accuracy for classes."""
        from sklearn.metrics import accuracy_score, r2_score  # slow to import, and fits do not need them

        check_is_fitted(self)
        rows = partitioned.gather_rows(as_dataset(X, y=y, sample_weight=sample_weight))
        measure = accuracy_score if self._params.family == "bernoulli" else r2_score
        return float(measure(rows.get("y"), self.predict(rows["X"]), sample_weight=rows.get("sample_weight")))

    def _check_settings(self) -> None:
        if self.family not in ("gaussian", "bernoulli"):
            raise ValueError(f"family must be 'gaussian' or 'bernoulli'; got {self.family!r}")
        width = 1.0 if isinstance(self.bandwidth, str) and self.bandwidth == "auto" else self.bandwidth
        if not isinstance(width, Real) or not 0 < float(width) < np.inf:
            raise ValueError(f"bandwidth must be a finite number above 0, or 'auto'; got {self.bandwidth!r}")
        for name in ("l2", "tol"):
            value = getattr(self, name)
            if not isinstance(value, Real) or not 0 <= float(value) < np.inf:
                raise ValueError(f"{name} must be a finite number, 0 or more; got {value!r}")
        if not isinstance(self.max_iter, int | np.integer) or self.max_iter < 1:
            raise ValueError(f"max_iter must be a whole number, at least 1; got {self.max_iter!r}")
        Neighbourhood(self.kernel, float(width), self.degree)

    def _targets(self, y: Any, rows: int) -> tuple[FloatArray, tuple[int, ...]]:
        """Return the targets as numbers, (n, t), and the shape of the prediction for one query."""
        if self.family == "gaussian":
            return numbers(y, rows)
        column = validation.targets(y, rows)
        labels, codes = Labels.discover(column)
        if len(labels) != 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{'multiclass' if len(labels) > 2 else 'one class'}: y holds the {len(labels)} class(es) "
                f"{list(labels)[:5]!r}; family='bernoulli' needs two"
            )
        self.classes_ = validation.classes_array(labels, column)
        return codes.astype(np.float64)[:, None], ()

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self._params, name) for name in SETTINGS}

    def scorer(self) -> LocalScorer:
        """Return what predicts, without the estimator."""
        check_is_fitted(self)
        return LocalScorer(self._rows, self._settings(), self.bandwidth_)

    def _asked(self, X: Any, with_variance: bool = False) -> Answer:
        """Return the local fits at the queries; warn about queries far from all rows."""
        x = validation.features(self, X, reset=False, accept_sparse=False)
        check_rows(x)
        answer = self._rows.ask(x, self._settings(), self.bandwidth_, self._engine, with_variance)
        warn_of(answer, self.bandwidth_, self._params.max_iter)
        return answer

    def _errors(self, answer: Answer) -> FloatArray:
        """Return the standard errors, (n, t)."""
        return np.sqrt(np.outer(answer.variance, np.atleast_1d(self.residual_variance_)))

    def _shaped(self, X: Any, values: FloatArray) -> Any:
        return beside(X, values.reshape(len(values), *self._shape))

    def _contents(self) -> Contents:
        check_is_fitted(self)
        classes = None
        if self._params.family == "bernoulli":
            classes = {"names": self.classes_.tolist(), "dtype": self.classes_.dtype.kind}
        tuned = {"leave_one_out": self.leave_one_out_} if hasattr(self, "leave_one_out_") else {}
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "bandwidth": self.bandwidth_,
                "classes": classes,
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "shape": list(self._shape),
            },
            statistics={},
            arrays={**self._rows.arrays(), **tuned},
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, arrays = contents.settings, contents.arrays
        model = cls._with_parameters(settings)
        model._check_settings()
        model.bandwidth_ = float(settings["bandwidth"])
        parameters.restore_features(model, settings)
        if settings["classes"] is not None:
            like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
            model.classes_ = validation.classes_array(Labels(tuple(settings["classes"]["names"])), like)
        if "leave_one_out" in arrays:
            model.leave_one_out_ = arrays["leave_one_out"]
        model.n_iter_ = len(arrays.get("leave_one_out", [None]))
        model._shape = tuple(settings["shape"])
        if model._params.family == "bernoulli" and (len(model.classes_) != 2 or model._shape):
            raise ValueError(f"family='bernoulli' needs two classes and one target; got {settings['classes']!r}")
        model._rows = LocalRows.from_arrays(arrays, model.n_features_in_, math.prod(model._shape))
        return model


def _read_part(model: LocallyWeightedRegression, reset: bool, piece: Piece) -> Piece:
    return {**piece, "X": validation.features(model, piece["X"], reset, accept_sparse=False)}
