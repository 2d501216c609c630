"""How good a filter is: what it said of each message, in order of arrival, beside what the message turned out to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import nan
from operator import index
from typing import Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice.mail.intervals import ANYTHING, FloatArray, around, exact, logistic

IntArray = npt.NDArray[np.int64]
Measure = Literal["roca", "hm", "sm", "lam"]


class Roc(NamedTuple):
    """What every cut would cost, from the one that files nothing to the one that files everything."""

    hm: FloatArray  #: percent of ham lost, rising from 0 to 100
    sm: FloatArray  #: percent of spam missed, falling from 100 to 0


class LearningCurve(NamedTuple):
    """How a filter got on while messages came in."""

    seen: IntArray  #: after how many messages, rising
    roca: FloatArray  #: (1 - area under the ROC curve) in percent, of all messages up to there
    ham_lost: IntArray  #: how many ham messages were filed as spam since the point before
    spam_missed: IntArray  #: how many spam messages were not


class Reliability(NamedTuple):
    """Of messages that were given a probability of spam, how many were spam: one entry for each bin that has any."""

    predicted: FloatArray  #: the mean probability of spam
    observed: FloatArray  #: the share that was spam
    counts: IntArray  #: how many messages the bin has


class Unsure(NamedTuple):
    """Which part of the messages a filter left to its reader, in percent."""

    ham: float
    spam: float


@dataclass(frozen=True, eq=False)
class Outcome:
    """What a filter said of messages before it learnt from them, beside what they were.

    Percentages are of ham or of spam, not of all messages; they are nan where there is none.

    Parameters
    ----------
    spam
        Whether each message is spam, in order of arrival, (n,).
    score
        The log-odds of spam that it was given, (n,); infinite ones are allowed.
    cut
        A message is filed as spam where its score is this or more.
    unsure
        Where the zone of doubt starts and ends: a score from the first up to, but not at, the second lies in it.

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
        """How many ham messages were filed as spam."""
        return int((self.filed & ~self.spam).sum())

    @property
    def spam_missed(self) -> int:
        """How many spam messages were not filed."""
        return int((self.spam & ~self.filed).sum())

    @property
    def hm(self) -> float:
        """The percentage of ham that was filed as spam: ham misclassification."""
        return _percent(self.ham_lost, self._hams)

    @property
    def sm(self) -> float:
        """The percentage of spam that was not filed: spam misclassification."""
        return _percent(self.spam_missed, self._spams)

    @property
    def lam(self) -> float:
        """The logistic average of both, in percent: the share whose logit is halfway between theirs.

        No error at all has no logit, so for this measure, and always, shares are (errors + 1/2) / (messages + 1).

        Examples
        --------
        >>> round(Outcome([False] * 999 + [True] * 99, [-1.0] * 999 + [1.0] * 99).lam, 3)
        0.158
        """
        if not self._hams or not self._spams:
            return nan
        return 100 * float(logistic(self._lam_logit()[0]))

    @property
    def roca(self) -> float:
        """The area above the ROC curve, in percent: how often a ham message has a higher score than a spam message.

        Ties count half. It depends on the order of the scores alone, not on the cut.
        """
        if not self._hams or not self._spams:
            return nan
        return 100 * self._delong()[0]

    @property
    def unsure_share(self) -> Unsure:
        """The percentages of ham and of spam whose scores lie in the zone of doubt; 0 where there is no zone."""
        low, high = self.unsure or (0.0, 0.0)
        within = (low <= self.score) & (self.score < high)
        return Unsure(
            _percent((within & ~self.spam).sum(), self._hams), _percent((within & self.spam).sum(), self._spams)
        )

    def sm_at(self, hm: float = 0.1) -> float:
        """Return the least percentage of spam missed by a cut that loses so many percent of ham or less.

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
        """Return the confidence interval of a measure, in percent; from 0 to 100 where nothing is known.

        Parameters
        ----------
        measure
            "hm" and "sm": exact binomial limits (Clopper and Pearson). "lam": normal on the logit scale. "roca": the
            same, with DeLong's variance; where that is zero, as without a single pair in the wrong order, exact limits
            from as many pairs as there are messages of the rarer kind.
        level
            How often such intervals hold the true value.

        Examples
        --------
        >>> outcome = Outcome([False] * 1000 + [True] * 500, [-1.0] * 999 + [1.0] * 501)
        >>> low, high = outcome.interval("hm")
        >>> round(low, 4), outcome.hm, round(high, 4)
        (0.0025, 0.1, 0.5559)
        """
        if not 0 < level < 1:
            raise ValueError(f"level must be between 0 and 1; got {level!r}")
        if measure == "hm":
            return exact(self.ham_lost, self.ham_lost, self._hams, level)
        if measure == "sm":
            return exact(self.spam_missed, self.spam_missed, self._spams, level)
        if measure not in ("roca", "lam"):
            raise ValueError(f"measure must be 'roca', 'hm', 'sm' or 'lam'; got {measure!r}")
        fewest = min(self._hams, self._spams)
        if not fewest:
            return ANYTHING
        if measure == "lam":
            return around(*self._lam_logit(), level)
        share, variance = self._delong()
        if variance == 0:
            return exact(int(np.floor(share * fewest)), int(np.ceil(share * fewest)), fewest, level)
        odds = share * (1 - share)  # the slope of a logit is one over this
        return around(np.log(share / (1 - share)), variance / odds**2, level)

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
        """Return how the filter got on.

        Parameters
        ----------
        points
            After how many messages to look, rising; or at how many places, evenly spread.

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
                raise ValueError(f"points must rise, from 1 to at most {len(self)} messages; got {seen.tolist()}")
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
        """Return what every cut would cost: between any two scores, below all and above all.

        Examples
        --------
        >>> Outcome([False, True, False, True], [-3.0, 2.0, 0.5, 0.5]).roc()
        Roc(hm=array([  0.,   0.,  50., 100.]), sm=array([100.,  50.,   0.,   0.]))
        """
        order = np.argsort(-self.score, kind="stable")
        ranked, is_spam = self.score[order], self.spam[order]
        ends = np.flatnonzero(np.append(ranked[1:] != ranked[:-1], True)[: len(ranked)])  # a cut takes all of a tie
        found = np.append(0, is_spam.cumsum()[ends])
        lost = np.append(0, (~is_spam).cumsum()[ends])
        with np.errstate(invalid="ignore"):  # without ham there is no share of it: nan
            return Roc(100 * lost / np.float64(self._hams), 100 * (self._spams - found) / np.float64(self._spams))

    def reliability(self, bins: int = 10) -> Reliability:
        """Return whether the probabilities of spam mean what they say, in bins as wide as each other.

        Examples
        --------
        >>> Outcome([False, True, True], [-3.0, 3.0, np.inf]).reliability(2).observed
        array([0., 1.])
        """
        if index(bins) < 1:
            raise ValueError(f"bins must be 1 or more; got {bins!r}")
        p = logistic(self.score)
        place = np.minimum((p * bins).astype(np.int64), bins - 1)  # certainty belongs to the last bin
        counts = np.bincount(place, minlength=bins)
        full = counts > 0
        sums = (np.bincount(place, each, minlength=bins) for each in (p, self.spam))
        predicted, observed = (each[full] / counts[full] for each in sums)
        return Reliability(predicted, observed, counts[full])

    def calibration_error(self, bins: int = 10) -> float:
        """Return the expected calibration error: how far probabilities are from shares, on average over messages.

        Examples
        --------
        >>> Outcome([False, True], [-np.inf, np.inf]).calibration_error()
        0.0
        """
        predicted, observed, counts = self.reliability(bins)
        return float(np.average(np.abs(predicted - observed), weights=counts)) if len(self) else nan

    @property
    def _spams(self) -> int:
        return int(self.spam.sum())

    @property
    def _hams(self) -> int:
        return len(self) - self._spams

    def _misplaced(self) -> tuple[IntArray, IntArray]:
        """Return twice how many ham are above each spam, and twice how many spam are below each ham; ties count one."""
        spam, ham = np.sort(self.score[self.spam]), np.sort(self.score[~self.spam])
        above = 2 * len(ham) - np.searchsorted(ham, spam, "left") - np.searchsorted(ham, spam, "right")
        below = np.searchsorted(spam, ham, "left") + np.searchsorted(spam, ham, "right")
        return above, below

    def _delong(self) -> tuple[float, float]:
        """Return the share of pairs in the wrong order and the variance of it; 0 where it cannot be told."""
        above, below = self._misplaced()
        share = int(above.sum()) / (2 * self._hams * self._spams)
        if min(self._hams, self._spams) < 2:
            return share, 0.0
        by_spam = above.var(ddof=1) / (2.0 * self._hams) ** 2  # of whole numbers: no rounding where all are equal
        by_ham = below.var(ddof=1) / (2.0 * self._spams) ** 2
        return share, float(by_spam / self._spams + by_ham / self._hams)

    def _lam_logit(self) -> tuple[float, float]:
        """Return the logit of ``lam`` and its variance."""
        wrong = np.array([self.ham_lost, self.spam_missed]) + 0.5
        right = np.array([self._hams, self._spams]) + 1 - wrong
        return float(np.log(wrong / right).mean()), float((1 / wrong + 1 / right).sum() / 4)


def _percent(part: int | np.int64, whole: int) -> float:
    return 100 * float(part) / whole if whole else nan
