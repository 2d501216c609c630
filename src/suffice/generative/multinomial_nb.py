"""Naive Bayes over words: the multinomial event model, and its complement."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from suffice.estimator import read_attribute
from suffice.generative import leave_one_out
from suffice.generative.conditional import Linear, log_without_zeros
from suffice.generative.discrete import EventNB
from suffice.generative.event_models import Words, complement_weights
from suffice.generative.joint import Joint
from suffice.kernels import Batch
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import EventCounts, Labels, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import ClassPriors


class MultinomialNB(EventNB):
    """Naive Bayes with the multinomial event model: a row is a bag of words, each drawn from its class's vocabulary.

    A drop-in replacement for scikit-learn's class of the same name, which also merges, forgets, samples and explains.

    Parameters
    ----------
    alpha
        Laplace smoothing, added to every count: one number, one per feature, or "auto" to choose it by how well rows
        are predicted that were held out. At 0 a word that a class has never seen makes the class impossible.
    force_alpha
        If False, an alpha below 1e-10 is set to 1e-10.
    fit_prior
        Whether class priors are the classes' shares of the rows; uniform otherwise.
    class_prior
        The priors, (k,), or a dictionary from class to prior; "laplace" for the classes' shares of the rows with one
        row more of each.
    temperature
        Scores are divided by it: above 1, posteriors are less extreme; "auto" calibrates it on held-out rows.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

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
    >>> words = np.array([[2, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> model = MultinomialNB().fit(words, ["ham", "ham", "spam"])
    >>> model.predict([[0, 0, 1]])
    array(['spam'], dtype='<U4')
    >>> model.forget(words[1:2], ["ham"]).class_count_
    array([1., 1.])
    """

    _joint_is_density = False

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriors = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return EventCounts.over(labels, True)

    def _conditional(self, statistics: Any) -> Words:
        return Words.estimate(statistics, self._alpha(statistics.counts.shape[1]))

    def _linear(self, statistics: Any, columns: npt.NDArray[np.intp]) -> Linear | None:
        alpha = self._alpha(statistics.counts.shape[1])
        total = statistics.counts.sum(axis=1) + alpha.sum()
        if not (total > 0).all():
            return None
        log_p, zero = log_without_zeros((statistics.counts[:, columns] + alpha[columns]) / total[:, None])
        level = np.zeros(len(total))
        return Linear(log_p, level, veto=None if zero is None else Linear(zero, level))

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        return leave_one_out.words(self, statistics, rows)

    def _log_smoothing(self, conditional: Any) -> float:
        alpha = self._alpha(conditional.coef.shape[1])
        return float((conditional.coef @ alpha).sum())

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        return tags


class ComplementNB(MultinomialNB):
    """Naive Bayes that scores a class by how unlike a row is to all *other* classes: steadier where classes are uneven.

    A drop-in replacement for scikit-learn's class of the same name. Its scores are weights, not probabilities; samples,
    evidence and unlabelled rows use the multinomial model of the same counts.

    Parameters
    ----------
    alpha, force_alpha, fit_prior, class_prior, temperature, n_jobs, device
        As for :class:`MultinomialNB`. Priors do not change predictions.
    norm
        Whether each class's weights are divided by their sum.

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
    feature_all_ : ndarray of shape (d,)
        The sum of each feature over all rows.
    feature_count_ : ndarray of shape (k, d)
        The sum of each feature over the rows of each class.
    feature_log_prob_ : ndarray of shape (k, d)
        The weights of the features.
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
    >>> words = np.array([[2, 1, 0], [1, 0, 0], [0, 1, 3]])
    >>> ComplementNB().fit(words, [0, 0, 1]).predict([[0, 0, 1]])
    array([1])
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriors = None,
        norm: bool = False,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        super().__init__(
            alpha=alpha,
            force_alpha=force_alpha,
            fit_prior=fit_prior,
            class_prior=class_prior,
            temperature=temperature,
            n_jobs=n_jobs,
            device=device,
        )
        self.norm = norm

    @read_attribute
    def feature_all_(self) -> FloatArray:
        """The counts of each feature over all classes, (d,)."""
        return np.asarray(self.statistics_.counts.sum(axis=0))

    def estimate_joint(self, statistics: Any) -> Joint:
        """Return the weights of the complements, as scores linear in x."""
        if self.class_prior is not None:
            self._prior(statistics)  # raises where it does not fit the classes, though no prediction depends on it
        alpha = self._alpha(statistics.counts.shape[1])
        linear = complement_weights(statistics, alpha, bool(self._params.norm))
        return Joint(self._labels_of(statistics), np.ones(linear.classes), linear, self._temperature())

    def _linear(self, statistics: Any, columns: npt.NDArray[np.intp]) -> Linear | None:
        return None

    def _generative(self, statistics: Statistics) -> Joint:
        return MultinomialNB.estimate_joint(self, statistics).with_temperature(1.0)

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        return leave_one_out.one_by_one(self, statistics, rows)

    def _source(self) -> Joint:
        return self._generative(self.statistics_)
