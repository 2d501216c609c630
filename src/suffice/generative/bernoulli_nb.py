"""Naive Bayes over presences: the multivariate Bernoulli event model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from suffice.estimator import read_attribute
from suffice.families import Bernoulli
from suffice.generative import leave_one_out
from suffice.generative.discrete import EventNB
from suffice.generative.event_models import Presences
from suffice.kernels import Batch
from suffice.kernels.libraries import is_sparse
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import EventCounts, Labels, PresenceCounts, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassPriors


class BernoulliNB(EventNB):
    """Naive Bayes with the multivariate Bernoulli event model: each feature is present or absent.

    A drop-in replacement for scikit-learn's class of the same name, which also merges, forgets, samples and explains.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior, temperature, n_jobs, device
        As for :class:`MultinomialNB`; alpha is added to the counts of presence and of absence.
    binarize
        Threshold: a feature is present if it is above it; None if X has only numbers from 0 to 1.

    Attributes
    ----------
    class_count_ : ndarray of shape (k,)
        The weight of the rows of each class.
    class_log_prior_ : ndarray of shape (k,)
        The logarithms of the class priors.
    classes_ : ndarray of shape (k,)
        The classes.
    coef_ : ndarray
        The coefficients of the log-odds, where they are linear in x: (1, d) for two classes, else (k, d).
    feature_count_ : ndarray of shape (k, d)
        The weight of the rows of each class that have each feature.
    feature_log_prob_ : ndarray of shape (k, d)
        The logarithms of the estimated probabilities of the features.
    intercept_ : ndarray
        The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,).
    joint_ : Joint
        The estimated p(x, y): its class conditionals, prior and temperature.
    statistics_ : Statistics
        The sum over all rows, from which the model is read.
    em_trace_ : list of float
        The log-likelihood after each step of expectation maximisation, where there were any.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> import numpy as np
    >>> words = np.array([[1, 1, 0], [1, 0, 0], [0, 1, 1]])
    >>> model = BernoulliNB().fit(words, [0, 0, 1])
    >>> model.predict_proba([[1, 0, 0]]).round(3)
    array([[0.938, 0.062]])
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        binarize: float | None = 0.0,
        fit_prior: bool = True,
        class_prior: ClassPriors = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.binarize = binarize
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    def _summed_parameters(self) -> dict[str, Any]:
        return {"binarize": self._params.binarize}

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.binarize is not None and not -np.inf < self.binarize < np.inf:
            raise ValueError(f"binarize must be a number or None; got {self.binarize!r}")

    def _features(self, X: Any, reset: bool) -> Any:
        x = super()._features(X, reset)
        if self._params.binarize is None:
            values = x.data if is_sparse(x) else x
            if values.size and not values.max() <= 1 and (values > 1).any():
                raise ValueError(f"X holds {values.max():g}; with binarize=None it must hold numbers from 0 to 1")
        return x

    def _can_wait(self, x: Any) -> bool:
        values = x.data if is_sparse(x) else x
        return bool(np.isfinite(values).all()) if self._params.binarize is not None else super()._can_wait(x)

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        if self._params.binarize is None:
            return EventCounts.over(labels, True)
        return PresenceCounts.over(labels, self._params.binarize, True)

    def _conditional(self, statistics: Any) -> Presences:
        family = Bernoulli.estimate(statistics, self._alpha(statistics.counts.shape[1]))
        return Presences.of(family, self._params.binarize)

    @read_attribute
    def feature_log_prob_(self) -> FloatArray:
        """The log-probability that each feature is present, (k, d)."""
        conditional: Any = self.joint_.conditional
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(conditional.family.p))

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        return leave_one_out.presences(self, statistics, rows)

    def _log_smoothing(self, conditional: Any) -> float:
        alpha = self._alpha(conditional.coef.shape[1])
        log_q = -conditional.missing
        return float(((conditional.coef + 2 * log_q) @ alpha).sum())
