"""What comes in to a generalised linear model: rows, targets, weights, offsets, exposures and trials."""

from __future__ import annotations

import copy
from abc import abstractmethod
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from suffice import door
from suffice.data import Dataset, EncodedDataset
from suffice.data.dataset import Piece
from suffice.data.encoded import Summary, engine_for_parts, model_for_parts, no_rows
from suffice.discriminative.fitted import Fitted
from suffice.engines import Batch
from suffice.engines.array_blocks import to_host
from suffice.engines.results import taken
from suffice.families import Response
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
    ) -> tuple[Batch, int]:
        """Return rows as engines read them, and how many classes or parts y has."""
        x = door.features(self, X, reset)
        count = x.shape[0]
        targets, levels = self._targets(door.beside_rows(x, y), count, reset)
        often = door.weights(sample_weight, count)
        weight = self._weights(targets, often)
        times = _factors(weight, often)
        known = self._offset(offset, exposure, count)
        if trials is not None:
            targets, times = self._proportions(to_host(targets), trials, count)
            weight = times if weight is None else weight * times
        response = self._response()
        if levels == 1 or response.vector_targets:
            response.check_targets(targets)
        rows = drop_rows_without_weight(Batch(x, targets, weight, known, trials=times))
        return (weights_as_trials(rows) if _holds_means(response, rows) else rows), levels

    def _encode(self, data: Dataset) -> tuple[EncodedDataset, int]:
        """Return all rows as kernels read them, kept between passes, and how many classes or parts y has."""
        if data.in_memory is not None:  # one part: its classes are all there are
            batch, levels = self._rows(**{name: data.in_memory.get(name) for name in COLUMNS}, reset=True)
            return EncodedDataset.of_batch(batch, self.engine), levels
        door.features(self, data.example(), reset=True)
        encoded = data.map_parts(partial(_encode_part, model_for_parts(self, data), self._reads_classes()))
        seen: Seen | None
        kept, seen = encoded.persist(Seen.of, Seen.plus)
        if seen is None:
            raise no_rows()
        try:
            _, levels = self._targets(seen.example, len(seen.example), reset=True)
            recode = partial(_recode_part, model_for_parts(self._settled(seen), data), seen.trials)
            sample = recode(EncodedPart(seen.summary.batch(), seen.labels))
            total = seen.summary.weight if seen.labels is None else float(np.sum(self._settled_weights(seen)))
            door.check_weight(total)
        except Exception:
            kept.release()
            raise
        engine = engine_for_parts(data, self.engine)
        rows, features = seen.summary.rows, seen.summary.features
        return EncodedDataset(kept.map_parts(recode), engine, rows, features, total, sample), levels

    def _reads_classes(self) -> bool:
        return self._response().family.name == "multinomial"

    def _settled(self, seen: Seen) -> Self:
        """Return the model with settings that depend on all rows settled."""
        return self

    def _settled_weights(self, seen: Seen) -> FloatArray:
        """Return the weight of each class's rows, as it counts."""
        weight = self._settled(seen)._weights(np.arange(len(seen.weights)), seen.weights)
        assert weight is not None
        return weight

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

    def _proportions(self, successes: FloatArray, trials: Any, count: int) -> tuple[FloatArray, FloatArray]:
        """Return the share of successes, and the trials."""
        if self._response().family.name != "bernoulli":
            raise ValueError(f"trials go with the bernoulli family; this is {self._response().family.name}")
        if self._reads_classes():
            name = type(self).__name__
            raise ValueError(f"trials go with counts of successes, but y of {name} holds classes: use GLM('binomial')")
        times = door.per_row("trials", trials, count)
        assert times is not None
        bad = np.flatnonzero((times <= 0) | (successes > times) | (successes < 0))
        if bad.size:
            row = int(bad[0])
            raise ValueError(
                f"y[{row}] is {successes[row]:g} of trials[{row}] = {times[row]:g}: successes must be 0 to the trials, "
                "of which there must be some"
            )
        return successes / times, times


def _factors(weight: FloatArray | None, often: FloatArray | None) -> FloatArray | None:
    """Return what the weights of classes multiplied those of rows by; None where there are none."""
    if weight is None or weight is often:
        return None
    factor = weight if often is None else np.divide(weight, often, out=np.ones(len(weight)), where=often > 0)
    return np.where(factor > 0, factor, 1.0)


def _holds_means(response: Response, rows: Batch) -> bool:
    """Whether weights can only be trials, or exposures: targets that are counted otherwise are not whole numbers."""
    if response.family.name not in ("bernoulli", "poisson") or rows.weight is None or rows.trials is not None:
        return False
    return bool((rows.y % 1 != 0).any())


def weights_as_trials(rows: Batch) -> Batch:
    """Return rows whose weights tell how many observations each target is the mean of.

    Examples
    --------
    >>> weights_as_trials(Batch(np.zeros((2, 1)), np.array([0.5, 0.0]), np.array([8.0, 0.0]))).trials
    array([8., 1.])
    """
    return replace(rows, trials=np.where(rows.weight > 0, rows.weight, 1.0))


def drop_rows_without_weight(rows: Batch) -> Batch:
    """Return the rows whose weight is not 0: the predictor of another may be so large that its terms overflow.

    Examples
    --------
    >>> drop_rows_without_weight(Batch(np.array([[1.0], [1e9]]), np.array([2.0, 3.0]), np.array([4.0, 0.0]))).y
    array([2.])
    """
    if rows.weight is None or rows.weight.all():
        return rows
    door.check_finite(rows.x)  # before rows are dropped: the message names positions in X as it was given
    places = np.flatnonzero(rows.weight)
    x, y, weight, offset = (taken(column, places) for column in (rows.x, rows.y, rows.weight, rows.offset))
    return Batch(x, y, weight, offset, trials=taken(rows.trials, places))


class EncodedPart(NamedTuple):
    """Rows of one part; where y is classes, it holds codes of the labels that these rows have."""

    batch: Batch
    labels: Labels | None = None
    like: Any = None  #: an empty array of the type the labels came in


class Seen(NamedTuple):
    """What there is to know about all rows."""

    summary: Summary
    labels: Labels | None  #: all classes
    weights: FloatArray  #: of the rows of each class
    example: Any  #: targets of every class; or one row of numbers
    trials: bool = False  #: whether targets are means of several trials

    @classmethod
    def of(cls, part: EncodedPart) -> Seen:
        """Return what there is to know about some rows."""
        batch, labels, like = part
        if labels is None:
            return cls(Summary.of(batch), None, np.empty(0), batch.y[:1], batch.trials is not None)
        weights = np.bincount(batch.y, weights=batch.weight, minlength=len(labels)).astype(np.float64)
        return cls(Summary.of(batch), labels, weights, door.classes_array(labels, like))

    def plus(self, other: Seen) -> Seen:
        """Return what there is to know about both; codes are those of the labels of both."""
        if self.labels is None or other.labels is None:
            example = self.example if len(self.example) else other.example
            return Seen(self.summary.plus(other.summary), None, self.weights, example, self.trials or other.trials)
        labels, mine, theirs = self.labels.union(other.labels)
        weights = np.zeros(len(labels))
        weights[mine] += self.weights
        weights[theirs] += other.weights
        summary = _recoded(self.summary, mine).plus(_recoded(other.summary, theirs))
        return Seen(summary, labels, weights, door.classes_array(labels, self.example))


def _recoded(summary: Summary, places: npt.NDArray[np.intp]) -> Summary:
    columns, stands_for = summary.sample
    return summary._replace(sample=({**columns, "y": places[columns["y"]]}, stands_for))


def _encode_part(model: Any, classes: bool, piece: Piece) -> EncodedPart:
    """Return the rows of one part, its classes coded by the labels of this part."""
    columns = [piece.get(name) for name in COLUMNS]
    with door.one_of_many():
        if not classes:
            model = copy.copy(model)
            model._targets(piece["y"], len(piece["y"]), reset=True)
            batch, _ = model._rows(*columns, reset=False)
            return EncodedPart(batch)
        x = door.features(model, piece["X"], reset=False)
        column = door.targets(piece["y"], x.shape[0])
        labels, codes = Labels.discover(column)
        weight = door.weights(piece.get("sample_weight"), x.shape[0])
        offset = door.per_row("offset", piece.get("offset"), x.shape[0])
        return EncodedPart(drop_rows_without_weight(Batch(x, codes, weight, offset)), labels, column[:0])


def _recode_part(model: Any, trials: bool, part: EncodedPart) -> Batch:
    """Return rows as kernels read them, once all classes are known, and whether targets are means of trials."""
    batch, labels = part.batch, part.labels
    if labels is None:
        return weights_as_trials(batch) if trials and batch.trials is None else batch
    targets, _ = model._targets(door.classes_array(labels), len(labels), reset=False)
    y = targets[batch.y]
    weight = model._weights(y, batch.weight)
    return replace(batch, y=y, weight=weight, trials=_factors(weight, batch.weight))
