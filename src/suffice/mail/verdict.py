"""What a filter says of a message."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from suffice.mail.errors import MailError

#: Below the first probability of spam a message is not spam; from the second on, it is. Between them nobody is sure.
CUTS = (0.3, 0.9)
#: Messages of spam, and of all else, that a filter has learned before it calls anything spam.
ENOUGH = 20
#: While one side has more than this many times the messages of the other, nothing is called spam, unless the other has
#: learned ``PLENTY``.
LOPSIDED, PLENTY = 10, 200
#: Log-odds of a message of n tokens are divided by n to this power, and by 1 + ``FEW`` / m where m messages of the
#: rarer side were learned (:func:`discount`). Chosen on draws of SpamAssassin and Enron 1, confirmed on other draws
#: of them: filters that learned 25 to 1,000 of each class lose no more ham than bogofilter, also on Enron 2 and 3.
LENGTH, FEW = 1 / 8, 2
#: The probability of a class beyond which a verdict is certain: log-odds of 8.
CERTAIN = 0.99966


@dataclass(frozen=True)
class Verdict:
    """What a filter says of a message.

    Examples
    --------
    >>> verdict = judged([-3.0], ("ham", "spam"))
    >>> verdict.label, round(verdict.probability, 3)
    ('ham', 0.047)
    >>> judged([0.1], ("ham", "spam")).label
    'unsure'
    """

    label: str  #: a class, or "unsure"
    probability: float  #: of spam
    log_odds: float  #: of spam
    probabilities: dict[str, float]  #: of every class
    trouble: tuple[tuple[str, str], ...] = ()  #: what is wrong with the message: which limit, in which way
    ready: bool = True  #: whether enough was learned; until then nothing is called spam

    @property
    def certain(self) -> bool:
        """Whether one class is as good as sure."""
        return max(self.probabilities.values()) >= CERTAIN

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return {
            "verdict": self.label,
            "p": self.probability,
            "log_odds": self.log_odds,
            "classes": self.probabilities,
            "ready": self.ready,
            "trouble": [{"what": what, "detail": detail} for what, detail in self.trouble],
        }


def check_cuts(cuts: tuple[float, float]) -> tuple[float, float]:
    """Return two cuts that make sense."""
    low, high = cuts
    if not 0 <= low <= high <= 1:
        raise MailError(f"the cuts must be two probabilities, the lower one first; got {low} and {high}")
    return float(low), float(high)


def missing(counts: Mapping[str, float]) -> dict[str, int]:
    """Return how many messages of spam and of ham are yet to be learned before anything is called spam.

    Examples
    --------
    >>> missing({"ham": 100, "spam": 25}), missing({"ham": 100, "spam": 2}), missing({"ham": 25, "spam": 495})
    ({}, {'spam': 18}, {'ham': 25})
    """
    spam = counts.get("spam", 0)
    sides = {"spam": spam, "ham": sum(counts.values()) - spam}
    needed = max(ENOUGH, min(math.ceil(max(sides.values()) / LOPSIDED), PLENTY))
    return {name: math.ceil(needed - count) for name, count in sides.items() if count < needed}


def is_ready(counts: Mapping[str, float]) -> bool:
    """Return whether enough of spam and of all else was learned."""
    return not missing(counts)


def discount(tokens: int, counts: Mapping[str, float]) -> float:
    """Return the factor by which the log-odds of a message are multiplied before a verdict: 1 / ((1 + 2/m) n^(1/8)).

    The tokens of a message are not independent, so the evidence of n of them is worth less than its sum: long ham of a
    kind that was never learned, such as a newsletter, would look like spam. Where few messages of the rarer side, spam
    or all else, were learned (m), any ham may be of such a kind.

    Parameters
    ----------
    tokens
        How many different tokens the message has, n.
    counts
        How many messages of each class were learned.

    Examples
    --------
    >>> [round(1 / discount(n, {"ham": 1000, "spam": 1000}), 2) for n in (1, 20, 100, 300, 1000)]
    [1.0, 1.46, 1.78, 2.04, 2.38]
    >>> [round(1 / discount(300, {"ham": m, "spam": m}), 2) for m in (25, 50, 100, 500)]
    [2.2, 2.12, 2.08, 2.05]
    """
    spam = counts.get("spam", 0)
    fewest = max(min(spam, sum(counts.values()) - spam), 1)
    return 1 / ((1 + FEW / fewest) * math.pow(max(tokens, 1), LENGTH))


def judged(
    totals: Sequence[float],
    classes: Sequence[str],
    cuts: tuple[float, float] = CUTS,
    trouble: Sequence[tuple[str, str]] = (),
    counts: Mapping[str, float] | None = None,
    *,
    anyway: bool = False,
) -> Verdict:
    """Return the verdict that follows from log-odds: of spam alone for two classes, of each class for more.

    Parameters
    ----------
    totals
        The log-odds, discounted.
    classes
        The classes, ham and spam first.
    cuts
        The probabilities of spam between which the verdict is unsure.
    trouble
        What is wrong with the message.
    counts
        How many messages of each class were learned, if that is known. Classes without any are left out; where there
        are too few, nothing is called spam.
    anyway
        Whether to call spam what it is even so.
    """
    log_odds = totals[0] if len(classes) == 2 else totals[classes.index("spam")]
    spam = _logistic(log_odds)
    shares = _shares(spam, _logistic(-log_odds), totals, classes, counts)
    ready = anyway or counts is None or is_ready(counts)
    if spam >= cuts[1]:
        label = "spam" if ready else "unsure"
    elif spam >= cuts[0]:
        label = "unsure"
    else:
        label = max((name for name in shares if name != "spam"), key=lambda name: shares[name])
    return Verdict(label, spam, log_odds, shares, tuple(trouble), ready)


def _shares(
    spam: float, rest: float, totals: Sequence[float], classes: Sequence[str], counts: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the probability of each class: what is not spam is divided among the others that were learned.

    Their log-odds are against all the rest, so halves of them are log-probabilities up to a constant.
    """
    if len(classes) == 2:
        return {classes[0]: rest, classes[1]: spam}
    others = {name: total / 2 for name, total in zip(classes, totals, strict=True) if name != "spam"}
    if counts is not None and any(counts.get(name, 0) > 0 for name in others):
        others = {name: half for name, half in others.items() if counts.get(name, 0) > 0}
    top = max(others.values())
    whole = math.fsum(math.exp(half - top) for half in others.values())
    shares = {name: rest * math.exp(half - top) / whole for name, half in others.items()}
    return {name: spam if name == "spam" else shares.get(name, 0.0) for name in classes}


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(max(z, -700.0)) / (1 + math.exp(max(z, -700.0)))
