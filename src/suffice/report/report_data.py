"""Data of a report, from one pass over a table: metrics of all rows, a sample of rows, and the hardest rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.metrics import poisson_deviances
from suffice.model_types import Task
from suffice.plots.inputs import sample_rows
from suffice.statistics.base import FloatArray
from suffice.tables import Candidate, TableError, TableModel
from suffice.tables.encoding import Block, CodedColumn, encode_rows
from suffice.tables.errors import listed
from suffice.tables.findings import is_training_data
from suffice.tables.prefetch import prefetch
from suffice.tables.row_sample import RowSample, hash_rows
from suffice.tables.schema import Schema
from suffice.tables.sources.base import Watch, arrow

if TYPE_CHECKING:
    import pyarrow as pa

#: Maximum number of rows of the sample that plots are drawn from.
MAX_SAMPLE = 20_000
#: Number of explained rows: errors, and predictions of low confidence.
N_ERRORS, N_UNCERTAIN = 5, 3


@dataclass(frozen=True, eq=False)
class HardRow:
    """A row that is predicted wrongly or with low confidence."""

    difficulty: float
    index: int  # in its table, from 0
    target: Any  # class code, -1 for a class that is unknown to the model; or a number
    prediction: Any  # class probabilities, (k,), or a number
    cells: pa.RecordBatch = field(repr=False)


class HardestRows:
    """The rows of highest difficulty in a stream.

    Parameters
    ----------
    max_rows
        Maximum number of rows.

    Examples
    --------
    >>> hardest = HardestRows(1)
    >>> batch = arrow().record_batch({"a": [7, 8, 9]})
    >>> hardest.add(np.array([0.2, 0.9, -np.inf]), np.arange(3), np.zeros(3), np.zeros(3), batch)
    >>> [(row.index, row.cells["a"][0].as_py()) for row in hardest.rows]
    [(1, 8)]
    """

    def __init__(self, max_rows: int) -> None:
        self.max_rows = max_rows
        self.rows: list[HardRow] = []

    def add(
        self,
        difficulty: FloatArray,
        indices: npt.NDArray[np.intp],
        targets: npt.NDArray[Any],
        predictions: FloatArray,
        batch: pa.RecordBatch,
    ) -> None:
        """Add the rows of a batch, except those of difficulty -inf."""
        for row in np.argsort(-difficulty, kind="stable")[: self.max_rows]:
            if difficulty[row] > -np.inf:
                cells = batch.take(arrow().array([row]))  # a slice would keep the whole batch in memory
                self.rows.append(
                    HardRow(float(difficulty[row]), int(indices[row]), targets[row], predictions[row], cells)
                )
        self.rows = sorted(self.rows, key=lambda row: (-row.difficulty, row.index))[: self.max_rows]


@dataclass(eq=False)
class ReportData:
    """A model, and its results on a table.

    Parameters
    ----------
    model
        The fitted model.
    table_name
        Name of the table.
    """

    model: TableModel
    table_name: str
    n_rows: int = 0  # rows with a target
    n_skipped: int = 0  # rows without a target
    missing_counts: dict[str, int] = field(default_factory=dict)  # missing cells by column
    errors: list[HardRow] = field(default_factory=list)
    uncertain: list[HardRow] = field(default_factory=list)
    sample: Any = None  # a sample of the rows whose class is known to the model
    schema: Schema = field(init=False)  # how the table is read

    def __post_init__(self) -> None:
        self.schema = self.model.schema_
        self.evaluation = self.model.start_evaluation()

    @classmethod
    def from_table(cls, model: TableModel, table: Any, watch: Watch | None = None) -> ReportData:
        """Read a table once.

        Rows of a class that is unknown to the model count as errors, as in :meth:`TableModel.evaluate`; curves and
        points exclude them.
        """
        source = model.open(table, target=True)
        data = cls(model, _base_name(source.name))
        data.schema = schema = model.schema_.with_separators(source.numbers)
        sample, errors, uncertain = RowSample(MAX_SAMPLE), HardestRows(N_ERRORS), HardestRows(N_ERRORS + N_UNCERTAIN)
        expected, n_read = source.rows(), 0
        for batch in prefetch(source.batches()):
            block, labelled = encode_rows(batch, schema, n_read)
            indices = n_read + np.flatnonzero(labelled.known)
            n_read += batch.num_rows
            data.n_skipped += batch.num_rows - block.rows
            if block.rows:
                batch = batch.filter(arrow().array(labelled.known))
                targets = data.encode_targets(labelled)
                predictions = model.predictor_.predict(block)
                unknown = labelled.unknown(targets) if data.task == "classes" else []
                predicted = model.decide(predictions) if data.task == "classes" else None
                data.evaluation.add(predictions, targets, unknown, block.weights, predicted)
                data.n_rows += block.rows
                data._count_missing(batch, block)
                hashes = hash_rows(block, labelled.values, labelled.labels)
                known = slice(None) if not unknown else targets >= 0
                sample.add(batch if not unknown else batch.filter(arrow().array(known)), hashes[known])
                errors.add(data._error_size(predictions, targets), indices, targets, predictions, batch)
                if data.task == "classes":
                    uncertain.add(-probability_margin(predictions), indices, targets, predictions, batch)
            if watch is not None:
                watch("reading", n_read, expected)
        if not data.n_rows:
            raise TableError(f"no row of {source.name} has a target in {schema.target!r}: there is nothing to report")
        if data.n_unknown == data.n_rows:
            raise TableError(
                f"no row of {source.name} has a class in {schema.target!r} that the model knows: it holds "
                f"{listed(data.evaluation.unknown)}, and the model knows {listed(data.classes)}; correct the cells, or "
                "fit again"
            )
        data.errors = errors.rows
        shown = {row.index for row in errors.rows}
        data.uncertain = [row for row in uncertain.rows if row.index not in shown][:N_UNCERTAIN]
        data.sample = sample.table()
        return data

    def encode_targets(self, labelled: Any) -> npt.NDArray[Any]:
        """Return class codes, -1 for classes unknown to the model; or numbers."""
        targets: npt.NDArray[Any] = (
            labelled.places(self.model.predictor_.labels) if self.task == "classes" else labelled.values
        )
        return targets

    def _error_size(self, predictions: FloatArray, targets: npt.NDArray[Any]) -> FloatArray:
        """Return the log loss, deviance or absolute error of each row; -inf where the prediction is right.

        The probability of a class that is unknown to the model counts as 1 less that of the predicted class.
        """
        if self.task == "classes":
            rows = np.arange(len(targets))
            p = np.where(targets >= 0, predictions[rows, targets], 1 - predictions.max(axis=1))
            with np.errstate(divide="ignore"):
                loss = -np.log(np.maximum(p, 0.0))
            return np.where(self.model.decide(predictions) == targets, -np.inf, loss)
        is_count = self.task == "counts"
        error = poisson_deviances(targets, predictions) if is_count else np.abs(targets - predictions)
        return np.where(error > 0, error, -np.inf)

    def _count_missing(self, batch: pa.RecordBatch, block: Block) -> None:
        """Add the number of missing cells of each column."""
        counts = {name: batch.column(name).null_count for name in batch.schema.names}
        for feature, column in zip(block.features, block.columns, strict=True):
            counts[feature.column] = int(is_missing(column).sum())
        for name, count in counts.items():
            self.missing_counts[name] = self.missing_counts.get(name, 0) + count

    @property
    def task(self) -> Task:
        """Task of the model: classes, numbers or counts."""
        return self.model.schema_.task

    @property
    def target(self) -> str:
        """Name of the target column."""
        return self.model.schema_.target

    @property
    def is_text_model(self) -> bool:
        """Whether the model reads only text."""
        return self.model.predictor_.model_type.reads == "text"

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [str(name) for name in self.model.predictor_.labels]

    @cached_property
    def _encoded_sample(self) -> tuple[Block, Any]:
        return encode_rows(self.sample, self.schema)

    @property
    def block(self) -> Block:
        """Features of the sample."""
        return self._encoded_sample[0]

    @cached_property
    def targets(self) -> npt.NDArray[Any]:
        """Class codes or numbers of the sample, (n,)."""
        return self.encode_targets(self._encoded_sample[1])

    @cached_property
    def predictions(self) -> FloatArray:
        """Predictions for the sample: class probabilities, (n, k), or numbers, (n,)."""
        return self.model.predictor_.predict(self.block)

    @property
    def n_unknown(self) -> int:
        """Number of rows of classes that are unknown to the model."""
        return sum(self.evaluation.unknown.values())

    @cached_property
    def is_training_data(self) -> bool:
        """Whether the table has as many rows, and as many of each class or range of the target, as that of the fit."""
        if not is_training_data(self.model, self.evaluation):
            return False
        if self.task == "classes" or self.is_sampled:
            return True
        fitted = self.model.description_.class_count_
        codes = self.model.description_codes(self.targets)
        return bool(np.allclose(np.bincount(codes, self.block.weights, len(fitted)), fitted, rtol=1e-9))

    @property
    def models(self) -> list[Candidate]:
        """The models that were compared, without the baseline."""
        return [each for each in self.model.candidates_ if not each.is_baseline]

    @property
    def held_out_metrics(self) -> dict[str, float]:
        """Metrics on the held-out rows of cross-validation by name; empty where the model was not cross-validated."""
        candidate = self.model.candidates_[0] if self.model.candidates_ else None
        if candidate is None or not np.isfinite(candidate.loss):
            return {}
        loss = {"classes": "log loss", "numbers": "RMSE", "counts": "Poisson deviance"}[self.task]
        others = {"accuracy": "accuracy", "absolute error": "MAE"}
        measures = candidate.measures
        return {loss: candidate.loss} | {others[name]: measures[name] for name in others if name in measures}

    @property
    def is_sampled(self) -> bool:
        """Whether the sample has fewer rows than the table."""
        return self.block.rows < self.n_rows - self.n_unknown

    def sample_rows(self, max_rows: int) -> npt.NDArray[np.intp]:
        """Return the sorted indices of at most ``max_rows`` rows of the sample."""
        return sample_rows(self.block.rows, max_rows, random_state=0)

    def numeric_columns(self) -> dict[str, FloatArray]:
        """Return the numeric and count columns of the sample by name; parts of dates are excluded."""
        return {
            feature.name: column
            for feature, column in zip(self.block.features, self.block.columns, strict=True)
            if feature.kind in ("numeric", "count") and feature.part is None and np.isfinite(column).any()
        }


def probability_margin(p: FloatArray) -> FloatArray:
    """Return the highest less the second highest probability of each row, (n,).

    Examples
    --------
    >>> probability_margin(np.array([[0.25, 0.75], [0.5, 0.5]])).tolist()
    [0.5, 0.0]
    """
    highest = np.partition(p, -2, axis=1)[:, -2:]
    return np.asarray(highest[:, 1] - highest[:, 0])


def is_missing(column: Any) -> npt.NDArray[np.bool_]:
    """Return whether each cell of an encoded column is missing."""
    if isinstance(column, CodedColumn):
        return np.asarray(column.codes < 0)
    if isinstance(column, list):
        return np.array([not text for text in column], dtype=np.bool_)
    return np.asarray(np.isnan(column))


def _base_name(name: str) -> str:
    """Return the name of a table without its folders.

    Examples
    --------
    >>> _base_name("/data/2024/houses.csv"), _base_name("3 files of parts/*.csv"), _base_name("the data frame")
    ('houses.csv', '3 files of *.csv', 'the data frame')
    """
    prefix, separator, location = name.rpartition(" files of ")
    return prefix + separator + (PurePath(location).name or location)
