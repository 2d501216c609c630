"""Naive Bayes over counts of events: independent Poisson features."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy.typing as npt

from suffice.estimator import read_attribute
from suffice.families import Poisson
from suffice.generative import leave_one_out
from suffice.generative.discrete import EventNB
from suffice.generative.event_models import Arrivals
from suffice.kernels import Batch
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import EventCounts, Labels, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassPriors


class PoissonNB(EventNB):
    """Naive Bayes with a Poisson count per feature: how many in an hour, a page, a square metre.

    The posterior is logistic, as that of Gaussian classes with one covariance is.

    Parameters
    ----------
    alpha
        A prior worth that many rows at a rate of 1: one number, one per feature, or "auto".
    priors
        The class priors, (k,), or a dictionary from class to prior; by default the classes' shares of the rows,
        "laplace" for these with one row more of each class.
    temperature, n_jobs, device
        As for :class:`MultinomialNB`.

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
        The sum of each feature over the rows of each class.
    feature_log_prob_ : ndarray of shape (k, d)
        The logarithms of the rates.
    intercept_ : ndarray
        The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,).
    rate_ : ndarray of shape (k, d)
        The rate of each feature in each class, smoothed.
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
    >>> calls = np.array([[0, 2], [1, 3], [4, 9], [6, 8]])
    >>> model = PoissonNB().fit(calls, ["night", "night", "day", "day"])
    >>> model.rate_.round(2)
    array([[3.67, 6.  ],
           [0.67, 2.  ]])
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        priors: ClassPriors = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.priors = priors
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    force_alpha = True
    fit_prior = True

    @property
    def class_prior(self) -> Any:
        """The user's priors."""
        return self.priors

    @read_attribute
    def rate_(self) -> FloatArray:
        """The expected count of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        rate: FloatArray = conditional.family.rate
        return rate

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return EventCounts.over(labels, True)

    def _conditional(self, statistics: Any) -> Arrivals:
        return Arrivals.of(Poisson.estimate(statistics, self._alpha(statistics.counts.shape[1])))

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        return leave_one_out.arrivals(self, statistics, rows)

    def _log_smoothing(self, conditional: Any) -> float:
        alpha = self._alpha(conditional.coef.shape[1])
        return float(((conditional.coef - conditional.family.rate) @ alpha).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags
