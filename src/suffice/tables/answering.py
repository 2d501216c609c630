"""What a fitted model of a table answers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.metrics import Evaluation
from suffice.statistics import Labels, NormalEquations
from suffice.statistics.base import FloatArray
from suffice.tables import reading
from suffice.tables.ahead import ahead
from suffice.tables.blocks import Block
from suffice.tables.choosing import Candidate
from suffice.tables.describing import Description, cells_of
from suffice.tables.errors import TableError
from suffice.tables.explaining import RowExplanation, explained
from suffice.tables.imputing import imputed
from suffice.tables.ledger import Ledger
from suffice.tables.predictors import Predictor
from suffice.tables.sampling import drawn
from suffice.tables.schema import Schema
from suffice.tables.source import Source, Watch, arrow
from suffice.tables.sources import open_table
from suffice.tables.targets import Answers, Bins


class Answering(BaseEstimator):  # type: ignore[misc]
    """A fitted model of a table."""

    schema_: Schema
    model_: str
    candidates_: list[Candidate]
    predictor_: Predictor
    rows_: int
    skipped_: int
    fitted_rows_: int
    summed_: str
    summed_note_: str
    _labels: Labels  # the classes
    _bins: Bins | None  # of the numbers, as classes of the description
    _description: Description | None  # where the predictor is none itself
    _noise: float
    ranges_: dict[str, tuple[float, float]]  # least and largest number of each numeric feature, and of the target
    ledger_: Ledger | None  # of the rows that were learned, where one is kept

    @property
    def estimator_(self) -> Any:
        """The estimator that does the work."""
        self._check_fitted()
        return self.predictor_.inner

    @property
    def description_(self) -> Description:
        """Naive Bayes over the rows, class by class."""
        self._check_fitted()
        return self.predictor_.inner if self._description is None else self._description

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, (k,)."""
        self._check_classes()
        return np.array(self._labels.names)

    @property
    def noise_(self) -> float:
        """How far numbers lie from what is expected of them: the root of the mean square."""
        statistics = getattr(self.estimator_, "statistics_", None)
        if self.predictor_.form.exact and isinstance(statistics, NormalEquations):
            coef = np.atleast_2d(self.estimator_.coef_)[0]
            left = statistics.scatter[-1, -1] - statistics.xy[:, 0] @ coef
            return float(np.sqrt(max(left, 0.0) / max(statistics.total, 1.0)))
        return self._noise

    def _check_fitted(self) -> None:
        check_is_fitted(self, "predictor_")

    def _check_classes(self) -> None:
        self._check_fitted()
        if self.schema_.task != "classes":
            raise AttributeError(f"this model predicts {self.schema_.task}, not classes: use predict")

    def open(self, table: Any, target: bool = False) -> Source:
        """Return a table that has the columns that the model reads, those of names read as they are written."""
        source = open_table(table)
        self.schema_.check_columns(source.schema().names, source.name, target)
        source.read_as_written(self.schema_.strings)
        return source

    def blocks(self, table: Any) -> Iterator[tuple[Any, Block]]:
        """Yield the batches of a table, and what the model sees of each."""
        self._check_fitted()
        source = self.open(table)
        first = 0
        for batch in ahead(source.batches()):
            yield batch, Block.of(batch, self.schema_, first)
            first += batch.num_rows

    def _answers(self, table: Any) -> FloatArray:
        found = [self.predictor_.answers(block) for _, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows: there is nothing to predict")
        return np.concatenate(found)

    def predict(self, table: Any) -> npt.NDArray[Any]:
        """Return the most probable class, or the expected number, of each row, (n,)."""
        answers = self._answers(table)
        return self.named(answers) if self.schema_.task == "classes" else answers

    def named(self, probabilities: FloatArray) -> npt.NDArray[Any]:
        """Return the most probable class of each row of probabilities, (n,)."""
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def predict_proba(self, table: Any) -> FloatArray:
        """Return the probabilities of the classes, (n, k)."""
        self._check_classes()
        return self._answers(table)

    def evaluate(self, table: Any, watch: Watch | None = None) -> Evaluation:
        """Return how well the model predicts a table whose target is known.

        Rows of a class that the model does not know are errors: see :class:`suffice.metrics.Evaluation`.
        """
        self._check_fitted()
        seen = Evaluation(self.schema_.task, self._labels)
        for block, answers in self._answered(table, watch):
            found = self.predictor_.answers(block)
            if self.schema_.task == "classes":
                codes = answers.places(self._labels)
                seen.add(found, codes, answers.unknown(codes))
            else:
                seen.add(found, answers.values)
        if not seen.rows:
            raise TableError(f"no row has a target in {self.schema_.target!r}: there is nothing to compare with")
        return seen

    def score(self, table: Any, y: Any = None) -> float:
        """Return the accuracy, or R² of numbers and counts."""
        source = table if y is None else with_target(table, y, self.schema_.target)[0]
        measures = self.evaluate(source).summary()
        return measures["accuracy"] if self.schema_.task == "classes" else measures["R²"]

    def explain(self, table: Any) -> list[RowExplanation]:
        """Return why each row was given its answer: what each column adds."""
        found: list[RowExplanation] = []
        for batch, block in self.blocks(table):
            found.extend(explained(self.predictor_, block, batch))
        return found

    def log_evidence(self, table: Any) -> FloatArray:
        """Return log p(x) of each row, (n,): low for rows unlike any that were learnt."""
        found = [self.description_.log_evidence(cells_of(block)) for _, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows")
        return np.concatenate(found)

    def sample(self, n: int = 1, random_state: int | None = None) -> Any:
        """Draw rows, with their target, from the description: an Arrow table.

        Numbers lie in the range of the rows that were observed; those drawn outside it are drawn again.
        """
        self._check_fitted()
        if not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n must be a whole number, 0 or more; got {n!r}")
        return drawn(self, n, random_state)

    def impute(self, table: Any) -> Any:
        """Return a table with its missing cells filled in by what the others of their row suggest: an Arrow table."""
        pa = arrow()
        found = [imputed(self, batch, block)[0] for batch, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows")
        return pa.concat_tables([pa.Table.from_batches([each]) for each in found], promote_options="permissive")

    def _learnt(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows that have a target, with codes of the classes, or numbers."""
        for block, answers in self._answered(table, watch):
            yield block, self._values(answers)

    def _answered(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, Answers]]:
        """Yield rows that have a target, with their targets."""
        source = self.open(table, target=True)
        first, expected = 0, source.rows()
        for batch in ahead(source.batches()):
            block, answers = reading.rows_of(batch, self.schema_, first)
            first += batch.num_rows
            if block.rows:
                yield block, answers
            if watch is not None:
                watch("reading", first, expected)

    def _values(self, answers: Answers) -> npt.NDArray[Any]:
        return answers.into(self._labels) if self.schema_.task == "classes" else answers.values

    def _codes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the classes of the description."""
        return values if self._bins is None else self._bins.codes(values)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, RegressorTags

        tags = super().__sklearn_tags__()
        classes = "schema_" not in vars(self) or self.schema_.task == "classes"
        tags.estimator_type = "classifier" if classes else "regressor"
        tags.classifier_tags = ClassifierTags() if classes else None
        tags.regressor_tags = None if classes else RegressorTags()
        tags.target_tags.required = True
        tags.input_tags.allow_nan = tags.input_tags.categorical = tags.input_tags.string = True
        return tags


def with_target(table: Any, target: Any, name: str = "target", strings: Any = ()) -> tuple[Source, str]:
    """Return the table as a source that holds the target, and the target's name."""
    source = open_table(table, strings=strings)
    if isinstance(target, str | int):
        return source, str(target)
    pa = arrow()
    if not hasattr(target, "__len__"):
        raise TypeError(f"the target is the name of a column, or one value for each row; got {type(target).__name__}")
    values = target.to_list() if hasattr(target, "to_list") else list(target)
    whole = pa.Table.from_batches(list(source.batches()), source.schema())
    if len(values) != whole.num_rows:
        rows = whole.num_rows
        raise TableError(f"the table has {rows} rows and the target {len(values)}: there must be one for each")
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    return open_table(whole.append_column(name, pa.array(values, from_pandas=True))), name
