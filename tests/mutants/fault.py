"""Definition of a seeded fault."""

from __future__ import annotations

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Fault:
    """A text in one file, its faulty replacement, and the tests that should notice it.

    The text of a fault in native/ is whole statements, or one expression: all of them are compiled at once.
    """

    name: str  #: what is broken
    area: str
    file: str
    old: str  #: occurs in the file exactly once
    new: str
    tests: tuple[str, ...]  #: tests, files or folders that should notice it
    crash: bool = False  #: whether the process may end by a signal
    hang: bool = False  #: whether a test may never end

    @property
    def slug(self) -> str:
        """The name as a file is named."""
        return re.sub(r"\W+", "-", self.name).strip("-").lower()

    @property
    def native(self) -> bool:
        """Whether it is compiled."""
        return self.file.startswith("native/")

    def applied(self, text: str) -> str:
        """Return the file's text with the fault."""
        return self._replaced(text, self.new)

    def switched(self, text: str, number: int) -> str:
        """Return C++ text in which the fault is there in processes that ask for its number."""
        if self.old.rstrip().endswith((";", "}")):
            return self._replaced(text, f"if (seeded_fault({number})) {{ {self.new} }} else {{ {self.old} }}")
        return self._replaced(text, f"(seeded_fault({number}) ? ({self.new}) : ({self.old}))")

    def _replaced(self, text: str, new: str) -> str:
        if text.count(self.old) != 1:
            raise SystemExit(
                f"the fault '{self.name}' no longer applies, rewrite it: its text occurs {text.count(self.old)} times "
                f"in {self.file}, not once"
            )
        return text.replace(self.old, new)
