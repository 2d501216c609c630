"""Base of naive Bayes models of counts: smoothing, priors and buffered rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.estimator import read_attribute
from suffice.families.priors import check_alpha
from suffice.generative.base import GenerativeClassifier, Tuned, check_smoothing
from suffice.generative.conditional import Linear, narrowed
from suffice.generative.event_models import FORCED
from suffice.generative.joint import What
from suffice.kernels.errors import NegativeCountError
from suffice.kernels.libraries import is_sparse
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray
from suffice.user_warnings import warn_user

ALPHAS = tuple(float(alpha) for alpha in np.logspace(-4, 4, 33))


class DiscreteNB(GenerativeClassifier):
    """Naive Bayes with smoothed counts, and class priors from the data or from the user."""

    _tuned: ClassVar[dict[str, Tuned]] = {"alpha": Tuned(ALPHAS, 1.0)}
    _symbols: ClassVar[Mapping[str, str]] = {"phi": "feature_log_prob_"}

    alpha: Any
    force_alpha: bool
    fit_prior: bool
    class_prior: Any

    def _check_settings(self) -> None:
        super()._check_settings()
        check_smoothing(self.alpha)

    def _alpha(self, features: int) -> FloatArray:
        """Return the smoothing of each feature, (d,)."""
        alpha = check_alpha(self._setting("alpha"), features)
        if not self._params.force_alpha and alpha.min(initial=np.inf) < FORCED:
            warn_user(
                f"alpha too small will result in numeric errors, setting alpha = {FORCED:.1e}. Use `force_alpha=True` "
                "to keep alpha unchanged.",
            )
            alpha = np.maximum(alpha, FORCED)
        return alpha

    def _prior_is_learned(self) -> bool:
        given = self._params.class_prior
        return isinstance(given, str) or (given is None and bool(self._params.fit_prior))

    def _prior(self, statistics: Any) -> FloatArray:
        if self._params.class_prior is not None:
            return validation.priors(self._params.class_prior, statistics.labels, "class_prior", statistics.rows)
        if not self._params.fit_prior:
            return np.full(len(statistics.labels), 1 / len(statistics.labels))
        return validation.shares(statistics.labels, statistics.rows)

    @read_attribute
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class, (k,)."""
        rows: FloatArray = self.statistics_.rows
        return rows

    @read_attribute
    def class_log_prior_(self) -> FloatArray:
        """The log of the class priors, (k,)."""
        with np.errstate(divide="ignore"):
            return np.log(self._prior(self.statistics_))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.classifier_tags.poor_score = True
        return tags


class EventNB(DiscreteNB):
    """Naive Bayes over a count per class and feature."""

    def _can_wait(self, x: Any) -> bool:
        values = x.data if is_sparse(x) else x
        least = values.min(initial=0)  # NaN, which may be a missing cell, is not settled here
        return bool(least >= 0 and np.isfinite(values.max(initial=0)))

    def _sum(self, x: Any, codes: Any, weight: FloatArray | None, labels: Labels) -> Statistics:
        try:
            return super()._sum(x, codes, weight, labels)
        except NegativeCountError as error:
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: {error}") from None

    @abstractmethod
    def _conditional(self, statistics: Any) -> Linear:
        """Return p(x | y), which is linear for counts."""

    def _linear(self, statistics: Any, columns: npt.NDArray[np.intp]) -> Linear | None:
        """Return p(x | y) of rows that are 0 in all other columns, where that needs no look at the others' logs."""
        return None

    def _score(self, X: Any, what: What) -> Any:
        # One message between two that are learned: reading all words anew for it would take longer than learning them.
        if not is_sparse(X) or "_memory" not in vars(self) or self._memory.is_read:
            return super()._score(X, what)
        x = self._features(X, reset=False)
        columns, narrow = narrowed(x)
        linear = self._linear(self.statistics_, columns) if 8 * len(columns) < x.shape[1] else None
        if linear is None:
            return super()._score(X, what)
        return self._score_features(self._joint_of(self.statistics_, linear), narrow, what)

    @read_attribute
    def feature_count_(self) -> FloatArray:
        """The counts of each class and feature, (k, d)."""
        counts: FloatArray = self.statistics_.counts
        return counts

    @read_attribute
    def feature_log_prob_(self) -> FloatArray:
        """The log-probability of each feature in each class, (k, d)."""
        conditional: Any = self.joint_.conditional
        return np.asarray(conditional.theta.coef)
