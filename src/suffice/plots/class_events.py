"""Pictures of classes by what is counted: shares and words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.plots.class_conditionals import ClassConditionalsDisplay, per_class
from suffice.plots.style import HEIGHT, WIDTH, bare, beside_bar, colour, headline, legend, name_axes, shortened


class ClassFrequenciesDisplay(ClassConditionalsDisplay):
    """Counts, presences, categories: a bar for each class and name.

    Parameters
    ----------
    classes
        The classes, (k,).
    names
        What is counted, (m,).
    shares
        The length of each bar, (k, m).
    what
        What a bar's length is.
    feature
        The feature whose categories or counts are named; None where the names are features.
    upright
        Whether bars stand on the names: for names that are numbers in order.

    Examples
    --------
    >>> ClassFrequenciesDisplay(["ham", "spam"], ["free", "lunch"], [[0.1, 0.6], [0.8, 0.1]]).shares.shape
    (2, 2)
    """

    def __init__(
        self,
        classes: npt.ArrayLike,
        names: Sequence[Any],
        shares: npt.ArrayLike,
        *,
        what: str = "share of rows",
        feature: str | None = None,
        upright: bool = False,
    ) -> None:
        self.classes = np.asarray(classes)
        self.names = list(names)
        self.shares = per_class("shares", shares, (len(self.classes), len(self.names)))
        self.what = what
        self.feature = feature
        self.upright = upright

    def _size(self) -> tuple[float, float]:
        if self.upright:
            return WIDTH, HEIGHT
        bars = self.shares.size
        return WIDTH, float(np.clip(1.3 + 0.14 * bars + 0.06 * len(self.names), 1.6, 12.0))

    def _draw(self) -> None:
        from matplotlib.ticker import MaxNLocator

        ax = self.ax_
        thick = 0.8 / len(self.classes)
        places = np.arange(len(self.names))
        entries: list[tuple[Any, str]] = []
        for code, label in enumerate(self.classes):
            middle = places + (code - (len(self.classes) - 1) / 2) * thick
            draw = ax.bar if self.upright else ax.barh
            bars = draw(middle, self.shares[code], 0.9 * thick, color=colour(code))
            entries.append((bars, str(label)))
        rows = legend(ax, entries)
        names = [shortened(name, 18) for name in self.names]
        if self.upright:
            every = -(-len(names) // 12)
            ax.set_xticks(places[::every], names[::every])
            name_axes(ax, self.feature or "", self.what)
        else:
            ax.set_yticks(places, names)
            ax.tick_params(axis="y", length=0)
            ax.spines["left"].set_visible(False)
            ax.xaxis.set_major_locator(MaxNLocator(5))
            ax.set_ylim(len(names) - 0.5, -0.5)
            name_axes(ax, self.what)
        about = self.what.capitalize() + ", by class"
        self._entitle(about if self.feature is None else f"How {self.feature} is distributed in each class", rows)


class ClassWordsDisplay(ClassConditionalsDisplay):
    """Text: the words that speak most for each class, a panel for each.

    Parameters
    ----------
    words
        For each class, (word, log-odds) pairs, the strongest first, as ``TextClassifier.top_words`` gives them.
    feature
        The column of text, where there are several.

    Examples
    --------
    >>> ClassWordsDisplay({"ham": [("lunch", 1.5), ("monday", 1.1)], "spam": [("free", 2.0)]}).classes.tolist()
    ['ham', 'spam']
    """

    def __init__(self, words: Mapping[Any, Sequence[tuple[str, float]]], *, feature: str | None = None) -> None:
        if not words:
            raise ValueError("there are no classes: words must hold one list of words for each")
        self.words = {label: [(str(word), float(value)) for word, value in pairs] for label, pairs in words.items()}
        self.feature = feature
        self.classes = np.array(list(self.words), dtype=object)

    def _grid(self) -> tuple[int, int]:
        columns = 1 if len(self.words) == 1 else 2
        return -(-len(self.words) // columns), columns

    def _size(self) -> tuple[float, float]:
        return WIDTH, 0.4 + self._grid()[0] * (0.35 + 0.2 * self._rows())

    def _rows(self) -> int:
        return max(3, *(len(pairs) for pairs in self.words.values()))

    def _draw(self) -> None:
        longest = max((value for pairs in self.words.values() for _, value in pairs), default=1.0)
        for code, (ax, (label, pairs)) in enumerate(zip(self.axes_, self.words.items(), strict=False)):
            values = [value for _, value in pairs]
            ax.barh(range(len(pairs)), values, 0.72, color=colour(code))
            ax.set_yticks(range(len(pairs)), [shortened(word, 16) for word, _ in pairs])
            ax.set_ylim(self._rows() - 0.4, -0.6)
            ax.set_xlim(min([0.0, *values]), max(longest, 1e-9) * 1.25)
            ax.set_xticks([])
            bare(ax)
            for row, value in enumerate(values):
                beside_bar(ax, value, row, value)
            headline(ax, shortened(label, 20))
        for spare in self.axes_[len(self.words) :]:
            spare.set_axis_off()
        if self._is_own:
            where = "" if self.feature is None else f" in {self.feature}"
            self._entitle(f"The words{where} that speak most for each class, and their log-odds")
