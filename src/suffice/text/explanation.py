"""Why a text was given its class: the log-odds, word by word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.generative.conditional import log_ratio
from suffice.generative.explanation import Comparison, compared, remark_on, sum_effects
from suffice.statistics.base import FloatArray


class WordReason(NamedTuple):
    """One word's part in a text's log-odds."""

    word: str
    times: int  # it occurs in the text
    log_odds: float


@dataclass(frozen=True, eq=False)
class TextExplanation:
    """The log-odds of a text's classes, taken apart.

    ``log_odds[k]``, log p(class k | text) - log p(class ``against`` | text), is ``base[k]``, which holds the prior and
    what does not depend on the words, plus the sum of ``contributions[k]`` over the words. Classes that words make
    impossible are treated as in :class:`suffice.generative.Explanation`.
    """

    classes: npt.NDArray[Any]  # (k,)
    probabilities: FloatArray  # (k,)
    against: Any  # the class that log-odds are taken against
    words: list[str]  # (w,) the words that are known, in the order of the text
    counts: npt.NDArray[np.int64]  # (w,) how often each occurs
    parts: FloatArray  # (k, w) the log-probability of each word in each class, up to what all classes share
    level: FloatArray  # (k,) the log of the prior, and what does not depend on the words
    unseen: list[str]  # words that were never learnt, and change nothing
    empty: str  # what tells the class of a text of which no word is known

    @property
    def contributions(self) -> FloatArray:
        """What each word adds to the log-odds of each class, (k, w)."""
        return log_ratio(self.parts, self.parts[self._against])

    @property
    def base(self) -> FloatArray:
        """What the prior, and all that does not depend on the words, add to the log-odds, (k,)."""
        return log_ratio(self.level, self.level[self._against])

    @property
    def log_odds(self) -> FloatArray:
        """The log-odds of each class against the reference class, (k,)."""
        return log_ratio(self._scores, self._scores[self._against])

    @property
    def impossible(self) -> npt.NDArray[np.bool_]:
        """Which classes cannot have produced the text, (k,)."""
        return np.isneginf(self._totals)

    @property
    def _against(self) -> int:
        return int(np.flatnonzero(self.classes == self.against)[0])

    @property
    def _totals(self) -> FloatArray:
        return np.asarray(self.level + self.parts.sum(axis=1))

    @property
    def _scores(self) -> FloatArray:
        """The scores of the classes, (k,); where none is possible, those of the priors."""
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities) if self.impossible.all() else self._totals

    @property
    def label(self) -> Any:
        """The most probable class."""
        return self.classes[int(np.argmax(self.probabilities))]

    @property
    def by_prior_alone(self) -> bool:
        """Whether no word of the text is known, so that the answer is that of the priors."""
        return not self.words and self.empty == "the priors"

    def reasons(self, label: Any = None, against: Any = None, n: int | None = None) -> list[WordReason]:
        """Return the words that speak for one class rather than another, the strongest first.

        Parameters
        ----------
        label
            The class; by default the most probable one.
        against
            The other class; by default the most probable of the others.
        n
            How many words at most; all of them by default.
        """
        one, two = self._pair(label, against)
        effects = log_ratio(self.parts[one], self.parts[two])
        order = np.argsort(-np.abs(effects), kind="stable")
        order = order[effects[order] != 0][:n]
        return [WordReason(self.words[i], int(self.counts[i]), float(effects[i])) for i in order]

    def compare(self, label: Any = None, against: Any = None) -> Comparison:
        """Return the log-odds of one class against another; by default of the two most probable ones."""
        one, two = self._pair(label, against)
        return Comparison(
            self.classes[one],
            self.classes[two],
            float(log_ratio(self._scores[one], self._scores[two])),
            float(log_ratio(self.level[one], self.level[two])),
        )

    def _pair(self, label: Any, against: Any) -> tuple[int, int]:
        return compared(self.classes, self.probabilities, label, against)

    def __str__(self) -> str:
        """Show the class, the strongest words for and against it, and what was not known."""
        one, two = self._pair(None, None)
        label, against, odds, base = self.compare()
        lines = [
            f"{label!s}: probability {self.probabilities[one]:.4f}, log-odds {odds:+.3f} against "
            f"{against!s}{remark_on(self.impossible, two)}",
            f"  {base:+9.3f}  prior and base",
        ]
        if not self.words:
            lines.append(f"  no word of this text is known: the answer is that of {self.empty}")
        for word, times, effect in self.reasons(n=10):
            lines.append(f"  {effect:+9.3f}  {word}" + (f" × {times}" if times > 1 else ""))
        if len(self.words) > 10:
            rest = sum_effects([each.log_odds for each in self.reasons()[10:]])
            lines.append(f"  {rest:+9.3f}  {len(self.words) - 10} other words")
        if self.unseen:
            shown = ", ".join(self.unseen[:10]) + (", …" if len(self.unseen) > 10 else "")
            lines.append(f"  never learnt: {shown}")
        return "\n".join(lines)
