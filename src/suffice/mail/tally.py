"""What became of messages that were to be learned."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

#: What became of a message that was to be learned.
Became = Literal["learned", "corrected", "known", "passed", "disputed"]


@dataclass
class Tally:
    """How many messages were learned, and what became of the others."""

    learned: int = 0
    corrected: int = 0  #: they had been learned as another class
    known: int = 0  #: they had been learned already
    passed: int = 0  #: the filter was right about them, and learns from errors only
    disputed: int = 0  #: they were learned, but the filter does not agree
    classes: dict[str, int] = field(default_factory=dict)  #: how many were learned or corrected of each class

    def add(self, became: Became, label: str) -> None:
        """Count one."""
        setattr(self, became, getattr(self, became) + 1)
        if became in ("learned", "corrected", "disputed"):
            self.classes[label] = self.classes.get(label, 0) + 1
