"""What a filter says of a message."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from suffice.mail.errors import MailError

#: Below the first probability of spam a message is not spam; from the second on, it is. Between them nobody is sure.
CUTS = (0.3, 0.9)


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

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return {
            "verdict": self.label,
            "p": self.probability,
            "log_odds": self.log_odds,
            "classes": self.probabilities,
            "trouble": [{"what": what, "detail": detail} for what, detail in self.trouble],
        }


def check_cuts(cuts: tuple[float, float]) -> tuple[float, float]:
    """Return two cuts that make sense."""
    low, high = cuts
    if not 0 <= low <= high <= 1:
        raise MailError(f"the cuts must be two probabilities, the lower one first; got {low} and {high}")
    return float(low), float(high)


def judged(
    totals: Sequence[float],
    classes: Sequence[str],
    cuts: tuple[float, float] = CUTS,
    trouble: Sequence[tuple[str, str]] = (),
) -> Verdict:
    """Return the verdict that follows from log-odds: of spam alone for two classes, of each class for more."""
    if len(classes) == 2:
        log_odds = totals[0]
        spam = _logistic(log_odds)
        shares = {classes[0]: _logistic(-log_odds), classes[1]: spam}
    else:
        each = [_logistic(total) for total in totals]
        whole = math.fsum(each)
        shares = {name: (p / whole if whole > 0 else 1 / len(classes)) for name, p in zip(classes, each, strict=True)}
        spam = shares["spam"]
        rest = math.fsum(p for name, p in shares.items() if name != "spam")
        log_odds = math.log(max(spam, 1e-300)) - math.log(max(rest, 1e-300))
    if spam >= cuts[1]:
        label = "spam"
    elif spam >= cuts[0]:
        label = "unsure"
    else:
        label = max((name for name in shares if name != "spam"), key=lambda name: shares[name])
    return Verdict(label, spam, log_odds, shares, tuple(trouble))


def _logistic(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(max(z, -700.0)) / (1 + math.exp(max(z, -700.0)))
