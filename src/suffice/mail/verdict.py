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
#: Log-odds are not beyond this.
_MOST = 700.0


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


def is_ready(counts: Mapping[str, float]) -> bool:
    """Return whether enough of spam and of all else was learned.

    Examples
    --------
    >>> is_ready({"ham": 100, "spam": 25}), is_ready({"ham": 100, "spam": 2})
    (True, False)
    """
    spam = counts.get("spam", 0)
    return min(spam, sum(counts.values()) - spam) >= ENOUGH


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
        The log-odds.
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
    if len(classes) == 2:
        log_odds = totals[0]
        spam = _logistic(log_odds)
        shares = {classes[0]: _logistic(-log_odds), classes[1]: spam}
    else:
        shares, log_odds = _shares(totals, classes, counts)
        spam = shares["spam"]
    ready = anyway or counts is None or is_ready(counts)
    if spam >= cuts[1]:
        label = "spam" if ready else "unsure"
    elif spam >= cuts[0]:
        label = "unsure"
    else:
        label = max((name for name in shares if name != "spam"), key=lambda name: shares[name])
    return Verdict(label, spam, log_odds, shares, tuple(trouble), ready)


def _shares(
    totals: Sequence[float], classes: Sequence[str], counts: Mapping[str, float] | None
) -> tuple[dict[str, float], float]:
    """Return the probability of each class, and the log-odds of spam.

    Halves of log-odds against the rest are log-probabilities up to a constant: for two classes they are just that.
    """
    halves = {name: total / 2 for name, total in zip(classes, totals, strict=True)}
    if counts is not None and any(counts.values()):
        halves = {name: half for name, half in halves.items() if counts.get(name, 0) > 0 or name == "spam"}
    top = max(halves.values())
    rest = math.fsum(math.exp(half - top) for name, half in halves.items() if name != "spam")
    log_odds = halves["spam"] - top - math.log(rest) if rest > 0 else _MOST
    whole = rest + math.exp(halves["spam"] - top)
    shares = {name: math.exp(halves[name] - top) / whole if name in halves else 0.0 for name in classes}
    return shares, max(-_MOST, min(log_odds, _MOST))


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(max(z, -700.0)) / (1 + math.exp(max(z, -700.0)))
