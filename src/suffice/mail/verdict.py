"""Verdicts: the class of a message by its log-odds, and when a filter has learned enough for them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.mail.errors import MailError

#: A message is ham below the first probability of spam, spam from the second on, and unsure between.
CUTS = (0.3, 0.9)
#: Messages of spam, and of all other classes, that a filter must learn before it calls anything spam.
MIN_MESSAGES = 20
#: While one side, spam or the rest, has more than ``MAX_RATIO`` times the messages of the other, nothing is called
#: spam, unless the other has ``ENOUGH``.
MAX_RATIO, ENOUGH = 10, 200
#: Probability of a class from which a verdict is certain: log-odds of 8.
CERTAIN = 0.99966


@dataclass(frozen=True)
class Verdict:
    """The class of a message, with its probabilities.

    Examples
    --------
    >>> verdict = make_verdict([-3.0], ("ham", "spam"))
    >>> verdict.label, round(verdict.probability, 3)
    ('ham', 0.047)
    >>> make_verdict([0.1], ("ham", "spam")).label
    'unsure'
    """

    label: str  #: a class, or "unsure"
    probability: float  #: of spam
    log_odds: float  #: of spam
    probabilities: dict[str, float]  #: of every class
    trouble: tuple[tuple[str, str], ...] = ()  #: problems of the message: name and detail
    ready: bool = True  #: whether enough was learned; otherwise nothing is called spam

    @property
    def certain(self) -> bool:
        """Whether the probability of one class is at least ``CERTAIN``."""
        return max(self.probabilities.values()) >= CERTAIN

    def as_dict(self) -> dict[str, Any]:
        """Return the verdict for JSON output."""
        return {
            "verdict": self.label,
            "p": self.probability,
            "log_odds": self.log_odds,
            "classes": self.probabilities,
            "ready": self.ready,
            "trouble": [{"what": what, "detail": detail} for what, detail in self.trouble],
        }


def check_cuts(cuts: tuple[float, float]) -> tuple[float, float]:
    """Return two valid cuts; raise MailError otherwise."""
    low, high = cuts
    if not 0 <= low <= high <= 1:
        raise MailError(f"the cuts must be two probabilities, the lower one first; got {low} and {high}")
    return float(low), float(high)


def missing_messages(counts: Mapping[str, float]) -> dict[str, int]:
    """Return how many messages of spam and of ham must still be learned before anything is called spam.

    Examples
    --------
    >>> missing_messages({"ham": 100, "spam": 25}), missing_messages({"ham": 25, "spam": 495})
    ({}, {'ham': 25})
    """
    spam = counts.get("spam", 0)
    sides = {"spam": spam, "ham": sum(counts.values()) - spam}
    needed = max(MIN_MESSAGES, min(math.ceil(max(sides.values()) / MAX_RATIO), ENOUGH))
    return {name: math.ceil(needed - count) for name, count in sides.items() if count < needed}


def is_ready(counts: Mapping[str, float]) -> bool:
    """Return whether enough messages of spam and of other classes were learned."""
    return not missing_messages(counts)


def make_verdict(
    totals: Sequence[float],
    classes: Sequence[str],
    cuts: tuple[float, float] = CUTS,
    trouble: Sequence[tuple[str, str]] = (),
    counts: Mapping[str, float] | None = None,
    *,
    anyway: bool = False,
) -> Verdict:
    """Return the verdict for log-odds: of spam for two classes, of each class for more.

    Parameters
    ----------
    totals
        The log-odds, discounted.
    classes
        The classes, ham and spam first.
    cuts
        The probabilities of spam between which the verdict is unsure.
    trouble
        Problems of the message: exceeded limits, broken encodings.
    counts
        Number of learned messages of each class, if known. Classes without any are excluded; with too few messages,
        nothing is called spam.
    anyway
        Whether to call messages spam even with too few learned messages.
    """
    log_odds = totals[0] if len(classes) == 2 else totals[classes.index("spam")]
    spam = _logistic(log_odds)
    probabilities = _class_probabilities(spam, _logistic(-log_odds), totals, classes, counts)
    ready = anyway or counts is None or is_ready(counts)
    if spam >= cuts[1]:
        label = "spam" if ready else "unsure"
    elif spam >= cuts[0]:
        label = "unsure"
    else:
        label = max((name for name in probabilities if name != "spam"), key=lambda name: probabilities[name])
    return Verdict(label, spam, log_odds, probabilities, tuple(trouble), ready)


def _class_probabilities(
    spam: float, rest: float, totals: Sequence[float], classes: Sequence[str], counts: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the probability of each class: the rest is divided among the learned classes other than spam.

    Their log-odds are one class against the others, so halves of them are log-probabilities up to a constant.
    """
    if len(classes) == 2:
        return {classes[0]: rest, classes[1]: spam}
    others = {name: total / 2 for name, total in zip(classes, totals, strict=True) if name != "spam"}
    if counts is not None and any(counts.get(name, 0) > 0 for name in others):
        others = {name: half for name, half in others.items() if counts.get(name, 0) > 0}
    top = max(others.values())
    norm = math.fsum(math.exp(half - top) for half in others.values())
    shares = {name: rest * math.exp(half - top) / norm for name, half in others.items()}
    return {name: spam if name == "spam" else shares.get(name, 0.0) for name in classes}


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(max(z, -700.0)) / (1 + math.exp(max(z, -700.0)))
