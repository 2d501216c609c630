"""Explanations of texts: the contribution of each word, and the words that are not in the vocabulary."""

from __future__ import annotations

from dataclasses import dataclass

from suffice.explain import Contribution, Explanation


@dataclass(frozen=True)
class TextExplanation(Explanation):
    """An explanation of a text: features are its words, values how often each occurs.

    Parameters
    ----------
    unseen
        Words that are not in the vocabulary; they add nothing.
    default
        What decides the class of a text without known words; None where the text has some.
    """

    unseen: tuple[str, ...] = ()
    default: str | None = None

    def describe(self, contribution: Contribution) -> str:
        """Return a word, and how often it occurs."""
        return f"{contribution.feature} × {contribution.value}" if contribution.value > 1 else contribution.feature

    def notes(self) -> list[str]:
        """Return the words that are not in the vocabulary."""
        notes = []
        if self.default is not None:
            notes.append(f"no known words: the prediction is that of {self.default}")
        if self.unseen:
            notes.append(
                f"not in the vocabulary: {', '.join(self.unseen[:10])}{', …' if len(self.unseen) > 10 else ''}"
            )
        return notes
