"""Measures of a spam filter: the scores that it gave to messages in order, and whether each message is spam."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from operator import index
from typing import Any, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice import metrics
from suffice.metrics import CalibrationCurve, FloatArray, IntArray, Ranking

Measure = Literal["roca", "hm", "sm", "lam"]


class Roc(NamedTuple):
    """The errors of every cut, from the one that files nothing to the one that files everything."""

    hm: FloatArray  #: percent of ham filed as spam, increasing from 0 to 100
    sm: FloatArray  #: percent of spam not filed, decreasing from 100 to 0


class LearningCurve(NamedTuple):
    """The errors of a filter over time."""

    seen: IntArray  #: number of messages, increasing
    roca: FloatArray  #: (1 - area under the ROC curve) in percent, of all messages so far
    ham_lost: IntArray  #: ham messages filed as spam since the previous point
    spam_missed: IntArray  #: spam messages not filed since the previous point


class Unsure(NamedTuple):
    """The percentages of ham and of spam that a filter left unsure."""

    ham: float
    spam: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """Scores of messages before the filter learned them, and whether they are spam.

    Percentages are of ham or of spam, not of all messages; they are nan where there is none.

    Parameters
    ----------
    spam
        Whether each message is spam, in order of arrival, (n,).
    score
        The log-odds of spam, (n,); infinite ones are allowed.
    cut
        A message is filed as spam if its score is at least the cut.
    unsure
        Start and end of the unsure zone; the start belongs to it, the end does not.

    Examples
    --------
    >>> outcome = Outcome([False, True, False, True, True], [-3.0, 2.0, 0.5, 0.5, -0.1], unsure=(-1.0, 1.0))
    >>> outcome.hm, round(outcome.sm, 1)
    (50.0, 33.3)
    >>> outcome.roca
    25.0
    >>> outcome.unsure_share
    Unsure(ham=50.0, spam=66.66666666666667)
    """

    spam: npt.NDArray[np.bool_]  # (n,)
    score: FloatArray  # (n,)
    cut: float = 0.0
    unsure: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        spam, score = np.array(self.spam), np.array(self.score, dtype=np.float64)
        if not np.isin(spam, (0, 1)).all():
            raise ValueError(f"spam must be true or false for each message; got {spam[~np.isin(spam, (0, 1))][0]!r}")
        if spam.ndim != 1 or spam.shape != score.shape:
            raise ValueError(
                f"spam and score must have one entry per message; their shapes are {spam.shape} and {score.shape}"
            )
        if np.isnan(score).any():
            raise ValueError(f"the score of message {int(np.isnan(score).argmax())} is nan; it must be a log-odds")
        if np.isnan(self.cut):
            raise ValueError("the cut is nan; it must be a log-odds")
        if self.unsure is not None and not self.unsure[0] <= self.unsure[1]:
            raise ValueError(f"the unsure zone must be (low, high) with low <= high; got {self.unsure!r}")
        for name, array in (("spam", spam.astype(np.bool_)), ("score", score)):
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.spam)

    @property
    def filed(self) -> npt.NDArray[np.bool_]:
        """Whether each message was filed as spam, (n,)."""
        return self.score >= self.cut

    def _part(self, some: slice) -> Self:
        return replace(self, spam=self.spam[some], score=self.score[some])

    @property
    def ham_lost(self) -> int:
        """Number of ham messages that were filed as spam."""
        return int((self.filed & ~self.spam).sum())

    @property
    def spam_missed(self) -> int:
        """Number of spam messages that were not filed."""
        return int((self.spam & ~self.filed).sum())

    @property
    def hm(self) -> float:
        """Ham misclassification: percentage of ham that was filed as spam."""
        return _percent(self.ham_lost, self._hams)

    @property
    def sm(self) -> float:
        """Spam misclassification: percentage of spam that was not filed."""
        return _percent(self.spam_missed, self._spams)

    @property
    def lam(self) -> float:
        """Logistic average misclassification: the percentage whose logit is the mean of the logits of hm and sm.

        An error rate of 0 has no logit. For this measure, rates are always (errors + 1/2) / (messages + 1).

        Examples
        --------
        >>> round(Outcome([False] * 999 + [True] * 99, [-1.0] * 999 + [1.0] * 99).lam, 3)
        0.158
        """
        if not self._hams or not self._spams:
            return nan
        return 100 * float(_expit(self._lam_logit()[0]))

    @property
    def roca(self) -> float:
        """(1 - area under the ROC curve) in percent: how often a ham message scores higher than a spam message.

        Ties count half. It depends on the order of the scores alone, not on the cut.
        """
        return 100 * metrics.area_above_roc(self._ranking())

    @property
    def unsure_share(self) -> Unsure:
        """The percentages of ham and of spam whose scores lie in the unsure zone; 0 where there is no zone."""
        low, high = self.unsure or (0.0, 0.0)
        within = (low <= self.score) & (self.score < high)
        return Unsure(
            _percent((within & ~self.spam).sum(), self._hams), _percent((within & self.spam).sum(), self._spams)
        )

    def sm_at(self, hm: float = 0.1) -> float:
        """Return the least sm of the cuts whose hm is at most the given one.

        Only cuts between scores that were given are tried; there is no interpolation between them.

        Examples
        --------
        >>> outcome = Outcome([False, True, False, True, True], [-3.0, 2.0, 0.5, 0.5, -0.1])
        >>> round(outcome.sm_at(0.1), 1), outcome.sm_at(50)
        (66.7, 0.0)
        """
        if not hm >= 0:
            raise ValueError(f"hm must be a percentage, 0 or more; got {hm!r}")
        curve = self.roc()
        return float(curve.sm[curve.hm <= hm].min()) if self._hams else nan

    def interval(self, measure: Measure, level: float = 0.95) -> tuple[float, float]:
        """Return the confidence interval of a measure, in percent; (0, 100) without messages of a kind.

        Parameters
        ----------
        measure
            "hm" and "sm": exact binomial limits (Clopper and Pearson). "lam": normal on the logit scale. "roca": the
            same, with DeLong's variance; where that is 0, as where no pair is in the wrong order, exact limits from as
            many pairs as there are messages of the rarer kind.
        level
            Confidence level.

        Examples
        --------
        >>> outcome = Outcome([False] * 1000 + [True] * 500, [-1.0] * 999 + [1.0] * 501)
        >>> low, high = outcome.interval("hm")
        >>> round(low, 4), outcome.hm, round(high, 4)
        (0.0025, 0.1, 0.5559)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level!r}")
        if measure not in ("roca", "hm", "sm", "lam"):
            raise ValueError(f"measure must be 'roca', 'hm', 'sm' or 'lam'; got {measure!r}")
        low, high = self._interval(measure, level)
        return 100 * low, 100 * high

    def _interval(self, measure: Measure, level: float) -> tuple[float, float]:
        """Return the confidence interval of a measure, as shares."""
        if measure == "hm":
            return metrics.binomial_interval(self.ham_lost, self._hams, level)
        if measure == "sm":
            return metrics.binomial_interval(self.spam_missed, self._spams, level)
        fewest = min(self._hams, self._spams)
        if not fewest:
            return 0.0, 1.0
        if measure == "lam":
            return metrics.logit_interval(*self._lam_logit(), level)
        ranking = self._ranking()
        share, variance = metrics.area_above_roc(ranking), metrics.delong_variance(ranking)
        if variance == 0:
            return metrics.binomial_interval(share * fewest, fewest, level)
        slope = share * (1 - share)  # delta method: the derivative of the logit is 1 / slope
        return metrics.logit_interval(np.log(share / (1 - share)), variance / slope**2, level)

    def after(self, k: int) -> Self:
        """Return the outcome of the messages after the first k.

        Examples
        --------
        >>> len(Outcome([True, False, True], [1.0, -1.0, 2.0]).after(2))
        1
        """
        if index(k) < 0:
            raise ValueError(f"k must be 0 or more; got {k!r}")
        return self._part(slice(k, None))

    def learning_curve(self, points: int | Sequence[int] | IntArray = 50) -> LearningCurve:
        """Return the errors of the filter over time.

        Parameters
        ----------
        points
            The numbers of messages to measure after, increasing; or how many such points, evenly spaced.

        Examples
        --------
        >>> outcome = Outcome([False, True, True, False], [1.0, 0.0, 2.0, -1.0])
        >>> curve = outcome.learning_curve(2)
        >>> curve.seen, curve.roca, curve.ham_lost
        (array([2, 4]), array([100.,  25.]), array([1, 0]))
        """
        seen = np.atleast_1d(np.array(points, dtype=np.int64))
        if np.ndim(points):
            if len(seen) and (seen[0] < 1 or seen[-1] > len(self) or (np.diff(seen) <= 0).any()):
                raise ValueError(f"points must increase, from 1 to at most {len(self)} messages; got {seen.tolist()}")
        elif seen[0] < 1:
            raise ValueError(f"points must be 1 or more; got {points!r}")
        else:
            evenly = np.linspace(0, len(self), seen[0] + 1).round()
            seen = np.unique(evenly[evenly > 0]).astype(np.int64)
        lost, missed = (
            np.diff(np.append(0, wrong.cumsum())[seen], prepend=0)
            for wrong in (self.filed & ~self.spam, self.spam & ~self.filed)
        )
        before = [self._part(slice(k)).roca for k in seen]
        return LearningCurve(seen, np.array(before, dtype=np.float64), lost, missed)

    def roc(self) -> Roc:
        """Return the errors of every cut: between any two scores, below all and above all.

        Examples
        --------
        >>> Outcome([False, True, False, True], [-3.0, 2.0, 0.5, 0.5]).roc()
        Roc(hm=array([  0.,   0.,  50., 100.]), sm=array([100.,  50.,   0.,   0.]))
        """
        lost, found = self._ranking()
        with np.errstate(invalid="ignore"):  # nan without ham, or without spam
            return Roc(100 * lost / np.float64(self._hams), 100 * (self._spams - found) / np.float64(self._spams))

    def calibration_curve(self, bins: int = 10) -> CalibrationCurve:
        """Return the calibration curve of the probabilities of spam, in bins of equal width.

        Examples
        --------
        >>> Outcome([False, True, True], [-3.0, 3.0, np.inf]).calibration_curve(2).observed
        array([0., 1.])
        """
        return metrics.calibration_curve(metrics.calibration_sums(_expit(self.score), self.spam, index(bins)))

    def calibration_error(self, bins: int = 10) -> float:
        """Return the expected calibration error: the mean of abs(predicted - observed) over messages.

        Examples
        --------
        >>> Outcome([False, True], [-np.inf, np.inf]).calibration_error()
        0.0
        """
        return metrics.calibration_error(self.calibration_curve(bins))

    @property
    def _spams(self) -> int:
        return int(self.spam.sum())

    @property
    def _hams(self) -> int:
        return len(self) - self._spams

    def _ranking(self) -> Ranking:
        return metrics.rank(self.spam, self.score)

    def _lam_logit(self) -> tuple[float, float]:
        """Return the logit of ``lam`` and its variance."""
        wrong = np.array([self.ham_lost, self.spam_missed]) + 0.5
        right = np.array([self._hams, self._spams]) + 1 - wrong
        return float(np.log(wrong / right).mean()), float((1 / wrong + 1 / right).sum() / 4)


def _expit(logit: Any) -> Any:
    from scipy.special import expit

    return expit(logit)


def _percent(part: int | np.int64, whole: int) -> float:
    return 100 * float(part) / whole if whole else nan
