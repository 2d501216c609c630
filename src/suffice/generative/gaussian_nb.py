"""Naive Bayes over measurements: independent Gaussian features."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt

from suffice.estimator import read_attribute
from suffice.families.priors import smoothing_strength
from suffice.generative import leave_one_out
from suffice.generative.base import PriorsGiven, Tuned, check_smoothing
from suffice.generative.discrete import ALPHAS
from suffice.generative.independent import Independent, added_to_variance, added_variance, smoothed
from suffice.kernels import Batch
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import DiagonalMoments, Labels, Statistics
from suffice.statistics.base import FloatArray
from suffice.statistics.moments import never_varies

if TYPE_CHECKING:
    from suffice.typing import ClassPriors


class GaussianNB(PriorsGiven):
    """Naive Bayes with a Gaussian per class and feature.

    A drop-in replacement for scikit-learn's class of the same name, which also takes missing cells (NaN) and sparse
    rows, merges, forgets, samples and explains.

    Parameters
    ----------
    priors
        The class priors, (k,), or a dictionary from class to prior; by default the classes' shares of the rows,
        "laplace" for these with one row more of each class.
    var_smoothing
        The share of the largest feature variance that is added to all variances. For a feature whose own variance, over
        all rows, is less than a thousandth of the largest, it is that share of a thousand times its own.
    alpha
        A number of pseudo-observations with the feature's variance over all rows, added to each class: one number, one
        per feature, or "auto" to choose it by held-out rows.
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
    class_prior_ : ndarray of shape (k,)
        The class priors.
    classes_ : ndarray of shape (k,)
        The classes.
    epsilon_ : float
        What was added to each variance.
    theta_ : ndarray of shape (k, d)
        The mean of each feature in each class.
    var_ : ndarray of shape (k, d)
        The variance of each feature in each class, smoothed.
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
    >>> X = np.array([[-1.0, -1.0], [-2.0, -1.0], [-3.0, -2.0], [1.0, 1.0], [2.0, 1.0], [3.0, 2.0]])
    >>> model = GaussianNB().fit(X, [1, 1, 1, 2, 2, 2])
    >>> model.predict([[-0.8, -1.0], [np.nan, 2.0]])
    array([1, 2])
    >>> model.theta_
    array([[-2.        , -1.33333333],
           [ 2.        ,  1.33333333]])
    """

    _keeps_float32 = True
    _symbols: ClassVar[Mapping[str, str]] = {"mu": "theta_", "sigma": "var_", "phi": "class_prior_"}
    _tuned: ClassVar[dict[str, Tuned]] = {"alpha": Tuned((0.0, *ALPHAS), 0.0)}

    def __init__(
        self,
        *,
        priors: ClassPriors = None,
        var_smoothing: float = 1e-9,
        alpha: float | npt.ArrayLike | Literal["auto"] = 0.0,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.alpha = alpha
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.var_smoothing, str) or not 0 <= self.var_smoothing < np.inf:
            raise ValueError(f"var_smoothing must be a finite number, 0 or more; got {self.var_smoothing!r}")
        check_smoothing(self.alpha)

    def _can_wait(self, x: Any) -> bool:
        return isinstance(x, np.ndarray) and not np.isinf(x).any()

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        return DiagonalMoments.over(labels, True)

    def _conditional(self, statistics: Any) -> Independent:
        return smoothed(statistics, self._params.var_smoothing, self._setting("alpha"))

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        alpha = smoothing_strength(self._setting("alpha"), statistics.mean.shape[1])
        constant = never_varies(*statistics.pooled())

        def variances(weights: FloatArray, spread: FloatArray, total: FloatArray, overall: FloatArray) -> FloatArray:
            added = added_to_variance(np.where(constant, 0.0, overall), self._params.var_smoothing)[:, None, :]
            smooth = (spread + alpha * overall[:, None, :]) / (weights[:, :, None] + alpha) + added
            return np.where(constant, 1.0, smooth)

        return leave_one_out.independent(self, statistics, rows, variances)

    @read_attribute
    def class_prior_(self) -> FloatArray:
        """The class priors, (k,)."""
        return self._prior(self.statistics_)

    @read_attribute
    def theta_(self) -> FloatArray:
        """The mean of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        mean: FloatArray = conditional.mean
        return mean

    @read_attribute
    def var_(self) -> FloatArray:
        """The variance of each class and feature, (k, d)."""
        conditional: Any = self.joint_.conditional
        variance: FloatArray = conditional.variance
        return variance

    @read_attribute
    def epsilon_(self) -> FloatArray:
        """The smoothing, added to the variances of each feature, (d,)."""
        return added_variance(self.statistics_, self._params.var_smoothing)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags
