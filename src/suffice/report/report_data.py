"""One pass over a table: measures of all rows, some rows drawn for pictures, and the rows that were hardest."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import Evaluation, poisson_deviances
from suffice.model_types import Task
from suffice.statistics.base import FloatArray
from suffice.tables import TableError, TableModel
from suffice.tables.encoding import Block, Names
from suffice.tables.errors import listed
from suffice.tables.prefetch import ahead
from suffice.tables.row_sample import Sample, hash_rows
from suffice.tables.scan import rows_of
from suffice.tables.schema import Schema
from suffice.tables.sources.base import Watch, arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Rows that pictures are drawn from, at most.
DRAWN = 20_000
#: How many rows are explained: those that were most confidently wrong, and those that were least sure.
WRONG, UNSURE = 5, 3


@dataclass(frozen=True, eq=False)
class HardRow:
    """A row that was hard to answer."""

    hardness: float
    place: int  # in its table, from 0
    value: Any  # the code of its class, -1 for one that the model does not know; or its number
    answer: Any  # probabilities of the classes, (k,), or the expected number
    cells: pa.RecordBatch = field(repr=False)


class Hardest:
    """The rows of a stream that are hardest, of as many as may be held.

    Examples
    --------
    >>> hardest = Hardest(1)
    >>> batch = arrow().record_batch({"a": [7, 8, 9]})
    >>> hardest.add(np.array([0.2, 0.9, -np.inf]), np.arange(3), np.zeros(3), np.zeros(3), batch)
    >>> [(row.place, row.cells["a"][0].as_py()) for row in hardest.rows]
    [(1, 8)]
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.rows: list[HardRow] = []

    def add(
        self,
        hardness: FloatArray,
        places: npt.NDArray[np.intp],
        values: npt.NDArray[Any],
        answers: FloatArray,
        batch: pa.RecordBatch,
    ) -> None:
        """Look at the rows of a batch; those whose hardness is -inf are never held."""
        for row in np.argsort(-hardness, kind="stable")[: self.most]:
            if hardness[row] > -np.inf:
                cells = batch.take(arrow().array([row]))  # a slice would keep the whole batch
                self.rows.append(HardRow(float(hardness[row]), int(places[row]), values[row], answers[row], cells))
        self.rows = sorted(self.rows, key=lambda row: (-row.hardness, row.place))[: self.most]


@dataclass(eq=False)
class Seen:
    """A model, and what a table shows of it.

    Parameters
    ----------
    model
        The model.
    name
        What the table is called.
    """

    model: TableModel
    name: str
    rows: int = 0
    skipped: int = 0  # rows without a target
    missing: dict[str, int] = field(default_factory=dict)  # by column
    wrong: list[HardRow] = field(default_factory=list)
    unsure: list[HardRow] = field(default_factory=list)
    table: Any = None  # the rows that were drawn, of classes that the model knows

    def __post_init__(self) -> None:
        self.evaluation = Evaluation(self.task, self.model.predictor_.labels)

    @classmethod
    def of(cls, model: TableModel, table: Any, watch: Watch | None = None) -> Seen:
        """Go through a table once.

        Rows of a class that the model does not know are errors, as :meth:`TableModel.evaluate` counts them; curves and
        dots leave them out.
        """
        source, schema = model.open(table, target=True), model.schema_
        seen = cls(model, _short(source.name))
        sample, hard, unsure = Sample(DRAWN), Hardest(WRONG), Hardest(WRONG + UNSURE)
        expected, first = source.rows(), 0
        for batch in ahead(source.batches()):
            block, answers = rows_of(batch, schema, first)
            places = first + np.flatnonzero(answers.known)
            first += batch.num_rows
            seen.skipped += batch.num_rows - block.rows
            if block.rows:
                batch = batch.filter(arrow().array(answers.known))
                values = seen.values_of(answers)
                found = model.predictor_.answers(block)
                unknown = answers.unknown(values) if seen.task == "classes" else []
                seen.evaluation.add(found, values, unknown)
                seen.rows += block.rows
                seen._count_gaps(batch, block)
                hashes = hash_rows(block, answers.values, answers.labels)
                known = slice(None) if not unknown else values >= 0
                sample.add(batch if not unknown else batch.filter(arrow().array(known)), hashes[known])
                hard.add(seen._wrongness(found, values), places, values, found, batch)
                if seen.task == "classes":
                    unsure.add(-lead(found), places, values, found, batch)
            if watch is not None:
                watch("reading", first, expected)
        if not seen.rows:
            raise TableError(f"no row of {source.name} has a target in {schema.target!r}: there is nothing to report")
        if seen.unknown_rows == seen.rows:
            raise TableError(
                f"no row of {source.name} has a class in {schema.target!r} that the model knows: it holds "
                f"{listed(seen.evaluation.unknown)}, and the model knows {listed(seen.classes)}; correct the cells, or "
                "fit again"
            )
        seen.wrong = hard.rows
        shown = {row.place for row in hard.rows}
        seen.unsure = [row for row in unsure.rows if row.place not in shown][:UNSURE]
        seen.table = sample.table()
        return seen

    def values_of(self, answers: Any) -> npt.NDArray[Any]:
        """Return codes of the model's classes, -1 for others, or numbers."""
        known: npt.NDArray[Any] = (
            answers.places(self.model.predictor_.labels) if self.task == "classes" else answers.values
        )
        return known

    def _wrongness(self, answers: FloatArray, values: npt.NDArray[Any]) -> FloatArray:
        """Return how wrong each answer is; -inf where it is right.

        For a class that the model does not know, what it left to all classes but its answer stands for the probability.
        """
        if self.task == "classes":
            own = np.where(values >= 0, answers[np.arange(len(values)), values], 1 - answers.max(axis=1))
            with np.errstate(divide="ignore"):
                cost = -np.log(np.maximum(own, 0.0))
            return np.where(answers.argmax(axis=1) == values, -np.inf, cost)
        amount = poisson_deviances(values, answers) if self.task == "counts" else np.abs(values - answers)
        return np.where(amount > 0, amount, -np.inf)

    def _count_gaps(self, batch: pa.RecordBatch, block: Block) -> None:
        """Count missing cells, column by column."""
        gaps = {name: batch.column(name).null_count for name in batch.schema.names}
        for feature, column in zip(block.features, block.columns, strict=True):
            gaps[feature.column] = int(is_missing(column).sum())
        for name, count in gaps.items():
            self.missing[name] = self.missing.get(name, 0) + count

    # What the sections ask for.

    @property
    def schema(self) -> Schema:
        """The columns of the table."""
        return self.model.schema_

    @property
    def task(self) -> Task:
        """What is predicted."""
        return self.model.schema_.task

    @property
    def target(self) -> str:
        """The column that is predicted."""
        return self.model.schema_.target

    @property
    def reads_text(self) -> bool:
        """Whether the model reads words alone."""
        return self.model.predictor_.form.reads == "text"

    @property
    def classes(self) -> list[str]:
        """The classes as they are written."""
        return [str(name) for name in self.model.predictor_.labels]

    @cached_property
    def _read(self) -> tuple[Block, Any]:
        return rows_of(self.table, self.schema)

    @property
    def block(self) -> Block:
        """The rows that were drawn."""
        return self._read[0]

    @cached_property
    def values(self) -> npt.NDArray[Any]:
        """Their classes as codes, or their numbers, (n,)."""
        return self.values_of(self._read[1])

    @cached_property
    def answers(self) -> FloatArray:
        """What the model answers: probabilities, (n, k), or numbers, (n,)."""
        return self.model.predictor_.answers(self.block)

    @property
    def unknown_rows(self) -> int:
        """How many rows are of classes that the model does not know."""
        return sum(self.evaluation.unknown.values())

    @property
    def is_learned(self) -> bool:
        """Whether these are, by their number and their classes, the rows that the model learned from."""
        if self.rows != self.model.rows_:
            return False
        if self.task != "classes":
            return True
        learned = self.model.description_._class_weights(self.model.description_.statistics_)
        return bool(np.array_equal(self.evaluation.confusion.sum(axis=1)[: len(learned)], learned))

    @property
    def held_out(self) -> dict[str, float]:
        """Measures of rows that were held out when the model was fitted, by name; none where there were none."""
        found = self.model.candidates_[0] if self.model.candidates_ else None
        if found is None or not np.isfinite(found.loss):
            return {}
        loss = {"classes": "log loss", "numbers": "RMSE", "counts": "Poisson deviance"}[self.task]
        others = {"accuracy": "accuracy", "absolute error": "MAE"}
        return {loss: found.loss} | {others[name]: found.measures[name] for name in others if name in found.measures}

    @property
    def is_sample(self) -> bool:
        """Whether pictures show some of the rows only."""
        return self.block.rows < self.rows - self.unknown_rows

    def some(self, most: int) -> npt.NDArray[np.intp]:
        """Return the places of at most so many of the rows that were drawn, in their order."""
        rows = self.block.rows
        if rows <= most:
            return np.arange(rows)
        return np.sort(np.random.default_rng(0).choice(rows, most, replace=False))

    def numbers(self) -> dict[str, FloatArray]:
        """Return the columns of numbers and counts that were drawn; parts of dates are none."""
        return {
            feature.name: column
            for feature, column in zip(self.block.features, self.block.columns, strict=True)
            if feature.kind in ("numeric", "count") and feature.part is None and np.isfinite(column).any()
        }


def lead(p: FloatArray) -> FloatArray:
    """Return how far the most probable class is ahead of the next, (n,).

    Examples
    --------
    >>> lead(np.array([[0.25, 0.75], [0.5, 0.5]])).tolist()
    [0.5, 0.0]
    """
    best = np.partition(p, -2, axis=1)[:, -2:]
    return np.asarray(best[:, 1] - best[:, 0])


def is_missing(column: Any) -> npt.NDArray[np.bool_]:
    """Return which cells of a block's column are missing."""
    if isinstance(column, Names):
        return np.asarray(column.codes < 0)
    if isinstance(column, list):
        return np.array([not text for text in column], dtype=np.bool_)
    return np.asarray(np.isnan(column))


def _short(name: str) -> str:
    """Return a table's name without the folders that it is in.

    Examples
    --------
    >>> _short("/data/2024/houses.csv"), _short("3 files of parts/*.csv"), _short("the data frame")
    ('houses.csv', '3 files of *.csv', 'the data frame')
    """
    start, between, location = name.rpartition(" files of ")
    return start + between + (PurePath(location).name or location)
