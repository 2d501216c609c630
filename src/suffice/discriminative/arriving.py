"""What comes in to a generalised linear model: rows, targets, weights, offsets, exposures and trials."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np

from suffice import door
from suffice.discriminative.fitted import Fitted
from suffice.engines import Batch
from suffice.families.bernoulli import log_choose
from suffice.statistics.base import FloatArray


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
