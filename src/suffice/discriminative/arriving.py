"""What comes in to a generalised linear model: rows, targets, weights, offsets, exposures and trials."""

from __future__ import annotations

import operator
from abc import abstractmethod
from functools import partial
from operator import itemgetter
from typing import Any, NamedTuple, Self

import numpy as np

from suffice import afar, door
from suffice.discriminative.fitted import Fitted
from suffice.engines import Batch
from suffice.engines.cluster import Shards
from suffice.engines.spread import Piece, Spread
from suffice.families.bernoulli import log_choose
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

#: What a row may come with, in the order of the arguments of ``fit``.
COLUMNS = ("X", "y", "sample_weight", "offset", "exposure", "trials")


class Arriving(Fitted):
    """A generalised linear model that checks and names what it is given."""

    @abstractmethod
    def _targets(self, y: Any, rows: int, reset: bool) -> tuple[Any, int]:
        """Return y as kernels read it, and how many classes or parts there are (1 for plain numbers).

        They are remembered (reset), or compared with those that were.
        """

    def _rows(
        self, X: Any, y: Any, sample_weight: Any, offset: Any, exposure: Any, trials: Any, reset: bool
    ) -> tuple[Batch, int, float]:
        """Return rows as engines read them, how many classes or parts y has, and what y adds to the log-likelihood."""
        x = door.features(self, X, reset)
        count = x.shape[0]
        targets, levels = self._targets(y, count, reset)
        weight = self._weights(targets, door.weights(sample_weight, count))
        known = self._offset(offset, exposure, count)
        constant = 0.0
        if trials is not None:
            targets, weight, constant = self._proportions(targets, weight, trials, count)
        response = self._response()
        if levels == 1 or response.vector_targets:
            response.check_targets(targets)
        return Batch(x, targets, weight, known), levels, constant

    def _rows_spread(self, spread: Spread, trials: bool) -> tuple[Shards, int, float]:
        """Return rows of a cluster, held by its workers; see :meth:`_rows`."""
        door.features(self, spread.example(), reset=True)
        seen = self._look(spread)
        _, levels = self._targets(seen.example, len(seen.example), reset=True)
        model = afar.traveller(self._settled(seen))
        rows = spread.each(partial(_part, model))
        shards = Shards.of(rows.each(itemgetter(0)))
        door.check_weight(shards.total)
        constant = rows.each(itemgetter(2)).total(operator.add) if trials else 0.0
        return shards, levels, constant or 0.0

    def _look(self, spread: Spread) -> Seen:
        """Return what there is to know about all targets before any part is read."""
        seen = spread.only("y", "sample_weight").each(partial(_seen, self._reads_classes())).total(Seen.plus)
        if seen is None:
            raise afar.nothing()
        return seen

    def _reads_classes(self) -> bool:
        return self._response().family.name == "multinomial"

    def _settled(self, seen: Seen) -> Self:
        """Return the model with settings that depend on all rows settled."""
        return self

    def _weights(self, targets: Any, weight: FloatArray | None) -> FloatArray | None:
        """Return the weights of rows; a classifier multiplies in those of their classes."""
        return weight

    def _offset(self, offset: Any, exposure: Any, count: int) -> FloatArray | None:
        known = door.per_row("offset", offset, count)
        if exposure is None:
            return known
        if self._response().link.name != "log":
            raise ValueError(
                f"exposure needs a log link, under which its log is an offset; this is {self._response().name}: give "
                "an offset"
            )
        times = door.per_row("exposure", exposure, count)
        assert times is not None
        bad = np.flatnonzero(times <= 0)
        if bad.size:
            raise ValueError(f"exposure[{bad[0]}] is {times[bad[0]]:g}; it must be above 0")
        return np.log(times) if known is None else known + np.log(times)

    def _proportions(
        self, successes: FloatArray, weight: FloatArray | None, trials: Any, count: int
    ) -> tuple[FloatArray, FloatArray, float]:
        """Return the share of successes, the trials as weights, and the log of the binomial coefficients."""
        if self._response().family.name != "bernoulli":
            raise ValueError(f"trials go with the bernoulli family; this is {self._response().family.name}")
        times = door.per_row("trials", trials, count)
        assert times is not None
        bad = np.flatnonzero((times <= 0) | (successes > times) | (successes < 0))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"y[{row}] is {successes[row]:g} of trials[{row}] = {times[row]:g}: successes must be 0 to the trials, "
                "of which there must be some"
            )
        each = np.asarray(log_choose(times, successes))
        constant = float(each.sum() if weight is None else weight @ each)
        return successes / times, times if weight is None else weight * times, constant


class Seen(NamedTuple):
    """What all targets together are."""

    example: Any  #: targets of every class; or one row of numbers
    weights: FloatArray  #: of the classes

    def plus(self, other: Seen) -> Seen:
        """Return both together."""
        if not len(self.weights):
            return self
        labels, mine, theirs = Labels.of(self.example).union(Labels.of(other.example))
        sums = np.zeros(len(labels))
        sums[mine] += self.weights
        sums[theirs] += other.weights
        return Seen(door.classes_array(labels, np.asarray(self.example)), sums)


def _seen(classes: bool, piece: Piece) -> Seen:
    if not classes:
        numbers = door.numbers(piece["y"], len(piece["y"]), several=True)
        return Seen(numbers[:1], np.empty(0))
    column = door.targets(piece["y"], len(piece["y"]))
    labels, codes = Labels.discover(column)
    with door.one_of_many():
        weight = door.weights(piece.get("sample_weight"), len(column))
    sums = np.bincount(codes, weights=weight, minlength=len(labels)).astype(np.float64)
    return Seen(door.classes_array(labels, column[:0]), sums)


def _part(model: Any, piece: Piece) -> Any:
    with door.one_of_many():
        return model._rows(*(piece.get(name) for name in COLUMNS), reset=False)
