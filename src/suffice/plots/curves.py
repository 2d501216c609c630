"""How well probabilities rank rows: ROC curves, and precision against recall."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.metrics import Ranking, corners, precision_recall_curve, rank, roc_auc, roc_curve
from suffice.metrics import average_precision as measure_average_precision
from suffice.plots.display import Display
from suffice.plots.inputs import probabilities, scored
from suffice.plots.style import HEIGHT, INK, WIDTH, colour, dashes, legend, legend_rows, name_axes
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Curves = Mapping[Any, npt.ArrayLike]


def _by_name(values: Any) -> dict[Any, FloatArray]:
    """Return curves by name; one that has none is called by nothing."""
    named = values if isinstance(values, Mapping) else {"": values}
    return {name: np.asarray(each, dtype=np.float64) for name, each in named.items()}


def _rank_one_vs_rest(y: Any, p: Any, classes: Any) -> dict[Any, Ranking]:
    """Return the ranking of the rows by the probability of each class (of two, the second)."""
    labels, given, known = scored(y, p, classes)
    names = known.tolist()
    codes = range(1, 2) if len(names) == 2 else range(len(names))
    found = {names[code]: rank(labels == names[code], given[:, code]) for code in codes}
    for label, ranking in found.items():
        if not ranking.positives or not ranking.negatives:
            raise ValueError(
                f"class {label!r} has {ranking.positives} of {len(labels)} rows: a curve needs some of it and some not"
            )
    return found


class _Ranking(Display):
    """Curves in the unit square, one for each class against the rest."""

    _x: dict[Any, FloatArray]
    _y: dict[Any, FloatArray]

    def _check(self) -> None:
        if self._x.keys() != self._y.keys():
            raise ValueError(f"the curves must have the same names; got {list(self._x)} and {list(self._y)}")
        for name in self._x:
            if self._x[name].shape != self._y[name].shape:
                raise ValueError(
                    f"curve {name!r} has {self._x[name].size} points in one direction and {self._y[name].size} in the "
                    "other: there must be as many"
                )

    @classmethod
    def from_estimator(cls, model: Any, X: Any, y: Any, *, ax: Axes | None = None) -> Self:
        """Draw how well a fitted model ranks rows.

        Parameters
        ----------
        model
            Any classifier with ``predict_proba``.
        X, y
            Rows that it has not learnt from, and their classes.
        ax
            Where to draw.
        """
        p, classes = probabilities(model, X)
        return cls.from_predictions(y, p, classes=classes, ax=ax)

    @classmethod
    def from_predictions(cls, y: Any, p: Any, *, classes: Any = None, ax: Axes | None = None) -> Self:
        """Draw how well probabilities rank rows.

        Parameters
        ----------
        y
            The classes of the rows, (n,).
        p
            Their probabilities, (n, k); of two classes, those of the second may stand alone, (n,).
        classes
            The classes in the order of the probabilities; sorted by default.
        ax
            Where to draw.
        """
        return cls._of(_rank_one_vs_rest(y, p, classes)).plot(ax)

    @classmethod
    @abstractmethod
    def _of(cls, found: dict[Any, Ranking]) -> Self:
        """Return the curves of classes."""

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT + 0.19 * legend_rows([_entry(name, 0.0) for name in self._x])

    def _draw_curves(self, scores: Mapping[Any, float], **how: Any) -> int:
        """Draw all curves, and return how many rows their legend takes."""
        entries: list[tuple[Any, str]] = []
        for place, name in enumerate(self._x):
            (line,) = self.ax_.plot(
                self._x[name], self._y[name], color=colour(place), linestyle=dashes(place), linewidth=1.8, **how
            )
            entries.append((line, _entry(name, scores[name])))
        self.ax_.set_xlim(-0.02, 1.02)
        self.ax_.set_ylim(-0.02, 1.02)
        self.ax_.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        self.ax_.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
        return legend(self.ax_, entries)


def _entry(name: Any, score: float) -> str:
    return f"{name}: {score:.3f}" if name != "" else f"{score:.3f}"


class RocCurveDisplay(_Ranking):
    """Receiver operating characteristic: the share of a class that is found, against the share of others taken for it.

    Parameters
    ----------
    fpr, tpr
        The shares of others and of the class, along the thresholds: arrays, or dictionaries from class to array.
    auc
        The area under each curve; measured by default.

    Examples
    --------
    >>> display = RocCurveDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> display.auc
    {1: 0.75}
    """

    def __init__(
        self,
        fpr: npt.ArrayLike | Curves,
        tpr: npt.ArrayLike | Curves,
        *,
        auc: float | Mapping[Any, float] | None = None,
    ) -> None:
        self.fpr, self.tpr = self._x, self._y = _by_name(fpr), _by_name(tpr)
        self._check()
        if auc is None:
            auc = {name: float(np.trapezoid(self.tpr[name], self.fpr[name])) for name in self.fpr}
        self.auc = {name: float(each) for name, each in _by_name(auc).items()}

    @classmethod
    def _of(cls, found: dict[Any, Ranking]) -> Self:
        curves = {label: roc_curve(corners(ranking)) for label, ranking in found.items()}
        return cls(
            {label: curve.false_positive_rate for label, curve in curves.items()},
            {label: curve.true_positive_rate for label, curve in curves.items()},
            auc={label: roc_auc(ranking) for label, ranking in found.items()},
        )

    def _draw(self) -> None:
        self.ax_.plot([0, 1], [0, 1], color=INK, linewidth=0.8, linestyle=(0, (2, 3)))
        rows = self._draw_curves(self.auc)
        name_axes(self.ax_, "share of others taken for it", "share found")
        self._entitle("How many are found, for how many false alarms (area under the curve)", rows)


class PrecisionRecallDisplay(_Ranking):
    """Precision against recall: how many of those taken for a class are of it, against how many of the class are found.

    Parameters
    ----------
    precision, recall
        Along the thresholds: arrays, or dictionaries from class to array.
    average_precision
        The average precision of each curve; measured by default.
    shares
        Each class's share of the rows: the precision of a blind guess.

    Examples
    --------
    >>> display = PrecisionRecallDisplay.from_predictions([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    >>> {label: round(value, 3) for label, value in display.average_precision.items()}
    {1: 0.833}
    """

    def __init__(
        self,
        precision: npt.ArrayLike | Curves,
        recall: npt.ArrayLike | Curves,
        *,
        average_precision: float | Mapping[Any, float] | None = None,
        shares: float | Mapping[Any, float] | None = None,
    ) -> None:
        self.precision, self.recall = self._y, self._x = _by_name(precision), _by_name(recall)
        self._check()
        if average_precision is None:
            average_precision = {
                name: measure_average_precision(self.precision[name], self.recall[name]) for name in self.recall
            }
        self.average_precision = {name: float(each) for name, each in _by_name(average_precision).items()}
        self.shares = {} if shares is None else {name: float(each) for name, each in _by_name(shares).items()}

    @classmethod
    def _of(cls, found: dict[Any, Ranking]) -> Self:
        curves = {label: precision_recall_curve(ranking) for label, ranking in found.items()}
        return cls(
            {label: curve.precision for label, curve in curves.items()},
            {label: curve.recall for label, curve in curves.items()},
            shares={label: each.positives / (each.positives + each.negatives) for label, each in found.items()},
        )

    def _draw(self) -> None:
        places = {name: place for place, name in enumerate(self.recall)}
        for name, share in self.shares.items():
            self.ax_.axhline(share, color=colour(places[name]), linewidth=0.8, linestyle=(0, (2, 3)))
        rows = self._draw_curves(self.average_precision, drawstyle="steps-post")
        name_axes(self.ax_, "share found (recall)", "share of alarms that are right")
        self._entitle("How many alarms are right, for how many found (average precision)", rows)
