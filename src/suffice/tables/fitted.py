"""The fitted model of a table: predictions, explanations, updates and files, without scikit-learn."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.rounding import FloatArray, LostDigitsError, NegativeEvidenceError
from suffice.store import Contents, Stored, nest_contents, unnest_contents
from suffice.tables.candidates import Candidate
from suffice.tables.decision import Decision, ThresholdMeasures, find_positive
from suffice.tables.encoding import Bins, Block, Targets, encode_rows, numeric_ranges
from suffice.tables.errors import TableError, digits_error, kind_cure
from suffice.tables.findings import ONE_CLASS, Finding
from suffice.tables.importance import Importance
from suffice.tables.predictors import Predictor, restore_predictor
from suffice.tables.predictors.naive_bayes import Description, to_cells
from suffice.tables.prefetch import prefetch
from suffice.tables.schema import Field, Schema
from suffice.tables.sources import open_table
from suffice.tables.sources.base import HERE, Source, Watch, arrow
from suffice.tables.totals import without_total

if TYPE_CHECKING:
    import pyarrow

    from suffice.discriminative.summary import Summary
    from suffice.explain import Explanation
    from suffice.metrics import Evaluation
    from suffice.tables.ledger import Ledger
    from suffice.tables.term_summary import TermSummary
    from suffice.typing import TableLike, VectorLike

#: Parameters of a model of a table, as :class:`suffice.tables.TableModel` documents them.
PARAMETERS = (
    "columns",
    "cost",
    "folds",
    "group",
    "in_database",
    "ledger",
    "model",
    "most_rows",
    "positive",
    "random_state",
    "task",
    "threshold",
    "time",
    "weight",
)

Ranges = dict[str, tuple[float, float]]  # of numeric columns, by name


class FittedTable(Stored):
    """A model of a table that was fitted before, as a file holds it.

    :class:`suffice.tables.TableModel`, a scikit-learn estimator, also fits. Commands that predict from a file use this
    class: scikit-learn takes longer to import than they take.
    """

    schema_: Schema
    model_: str
    candidates_: list[Candidate]
    warnings_: list[Finding]
    thresholds_: list[ThresholdMeasures]
    importance_: list[Importance]
    _decision: Decision | None  # the threshold of predictions; None: the most probable class
    predictor_: Predictor
    rows_: int
    skipped_: int
    fitted_rows_: int
    summed_: str
    seconds_: float  # that the fit took
    summed_note_: str
    _labels: Labels  # the classes
    _bins: Bins | None  # bins of a numeric target: the classes of the description
    _description: Description | None  # None if the predictor is naive Bayes itself
    _noise: float
    ranges_: dict[str, tuple[float, float]]  # range of each numeric feature, and of the target
    ledger_: Ledger | None  # of the learned rows

    def __init__(
        self,
        model: str = "auto",
        *,
        columns: Mapping[str, str] | None = None,
        task: str | None = None,
        folds: int = 5,
        most_rows: int | str | None = "auto",
        random_state: int = 0,
        in_database: bool | None = None,
        ledger: bool = False,
        group: str | None = None,
        time: str | None = None,
        weight: str | None = None,
        positive: Any = None,
        cost: Sequence[float] | None = None,
        threshold: float | None = None,
    ) -> None:
        self.model = model
        self.columns = columns
        self.task = task
        self.folds = folds
        self.most_rows = most_rows
        self.random_state = random_state
        self.in_database = in_database
        self.ledger = ledger
        self.group = group
        self.time = time
        self.weight = weight
        self.positive = positive
        self.cost = cost
        self.threshold = threshold

    # Predictions.

    @property
    def estimator_(self) -> Any:
        """The fitted estimator."""
        self._check_fitted()
        return self.predictor_.estimator

    @property
    def description_(self) -> Description:
        """Naive Bayes model of the rows of each class."""
        self._check_fitted()
        return self.predictor_.inner if self._description is None else self._description

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, (k,)."""
        self._check_classes()
        return np.array(self._labels.names)

    @property
    def noise_(self) -> float:
        """Root mean square of the residuals."""
        self._check_fitted()
        noise = self.predictor_.residual_noise()
        return self._noise if noise is None else noise

    def _check_fitted(self) -> None:
        if "predictor_" not in vars(self):
            from sklearn.utils.validation import check_is_fitted

            check_is_fitted(self, "predictor_")

    def _check_classes(self) -> None:
        self._check_fitted()
        if self.schema_.task != "classes":
            raise AttributeError(f"this model predicts {self.schema_.task}, not classes: use predict")

    def open(self, table: TableLike, target: bool = False) -> Source:
        """Open a table, and check that it has the columns of the model; categories and texts are read as strings."""
        self._check_fitted()
        source = open_table(table)
        self.schema_.check_columns(source.schema().names, source.name, target)
        source.read_as_written(self.schema_.strings)
        return source

    def blocks(self, table: TableLike) -> Iterator[tuple[Any, Block]]:
        """Yield the batches of a table, each with its encoded features."""
        source = self.open(table)
        schema = self.schema_.with_separators(source.numbers)
        first = 0
        for batch in prefetch(source.batches()):
            yield batch, Block.of(batch, schema, first)
            first += batch.num_rows

    def _predictions(self, table: Any) -> FloatArray:
        found = [self.predictor_.predict(block) for _, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows: there is nothing to predict")
        return np.concatenate(found)

    def predict(self, table: TableLike) -> npt.NDArray[Any]:
        """Return the class, or the expected number, of each row, (n,).

        The class is the most probable one; with a threshold, the positive class where its probability is at least that.
        """
        predictions = self._predictions(table)
        return self.named(predictions) if self.schema_.task == "classes" else predictions

    @property
    def threshold_(self) -> float | None:
        """The threshold of the probability of the positive class; None if the most probable class is predicted."""
        self._check_fitted()
        return None if self._decision is None else self._decision.threshold

    @property
    def positive_(self) -> Any:
        """The positive class of two: the given one, or the second, or the first if it is rare; None for others."""
        self._check_fitted()
        if self.positive is None and len(self._labels) != 2:
            return None
        if self._decision is not None:
            return self._labels.names[self._decision.positive]
        counts = self.description_.class_count_
        return self._labels.names[find_positive(self.positive, self._labels, self.schema_.target, counts)]

    def decide(self, probabilities: FloatArray) -> npt.NDArray[np.int64]:
        """Return the code of the predicted class for each row of probabilities, (n,)."""
        if self._decision is not None:
            return self._decision.decide(probabilities)
        return np.asarray(probabilities.argmax(axis=1))

    def named(self, probabilities: FloatArray) -> npt.NDArray[Any]:
        """Return the predicted class for each row of probabilities, (n,)."""
        return np.asarray(self.classes_[self.decide(probabilities)])

    def predict_proba(self, table: TableLike) -> FloatArray:
        """Return the probabilities of the classes, (n, k)."""
        self._check_classes()
        return self._predictions(table)

    def evaluate(self, table: TableLike, watch: Watch | None = None) -> Evaluation:
        """Return the measures of the predictions on a table with known targets.

        Rows of a class that is unknown to the model count as errors: see :class:`suffice.metrics.Evaluation`.
        """
        self._check_fitted()
        seen = self.start_evaluation()
        for block, targets in self._labelled_batches(table, watch):
            found = self.predictor_.predict(block)
            if self.schema_.task == "classes":
                codes = targets.places(self._labels)
                seen.add(found, codes, targets.unknown(codes), block.weights, self.decide(found))
            else:
                seen.add(found, targets.values, weights=block.weights)
        if not seen.rows:
            raise TableError(f"no row has a target in {self.schema_.target!r}: there is nothing to compare with")
        return seen

    def start_evaluation(self) -> Evaluation:
        """Return an evaluation without rows."""
        from suffice.metrics import Evaluation

        positive = self.positive_
        code = 1 if positive is None else self._labels.names.index(positive)
        return Evaluation(self.schema_.task, self._labels, code)

    def score(self, table: TableLike, y: VectorLike = None) -> float:
        """Return the accuracy; R² for numbers and counts."""
        source = table if y is None else with_target(table, y, self.schema_.target)[0]
        measures = self.evaluate(source).summary()
        return measures["accuracy"] if self.schema_.task == "classes" else measures["R²"]

    def explain(self, table: TableLike) -> list[Explanation]:
        """Return an explanation of each row: the contribution of each column to the score."""
        from suffice.tables.explanation import explain_rows

        found: list[Explanation] = []
        for batch, block in self.blocks(table):
            found.extend(explain_rows(self, block, batch))
        return found

    def summary(self, level: float = 0.95) -> Summary | TermSummary:
        """Return the coefficients of a regression in the units and levels of the table, with errors and tests.

        For an additive model: the importance of its terms, and their effects with standard errors.

        Parameters
        ----------
        level
            The probability with which an interval covers the truth.

        Examples
        --------
        >>> import pandas as pd
        >>> from suffice import TableModel
        >>> table = pd.DataFrame({"area": [40, 55, 80, 120, 45, 90], "price": [101.5, 139, 202, 299, 113, 226]})
        >>> TableModel("linear").fit(table, "price").summary().frame()["coefficient"].round(3)
        intercept    2.418
        area         2.479
        Name: coefficient, dtype: float64
        """
        self._check_fitted()
        note = f"fitted to {self.fitted_rows_:,} of {self.rows_:,} rows, drawn at random"
        return self.predictor_.summary(level, (note,) if self.fitted_rows_ < self.rows_ else ())

    def log_evidence(self, table: TableLike) -> FloatArray:
        """Return log p(x) of each row, (n,); it is low for outliers."""
        found = [self.description_.log_evidence(to_cells(block)) for _, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows")
        return np.concatenate(found)

    def sample(self, n: int = 1, random_state: int | None = None) -> pyarrow.Table:
        """Return an Arrow table of rows, with their target, drawn from the description.

        Numbers outside the observed range are drawn again.
        """
        from suffice.tables.synthesis import draw_rows

        self._check_fitted()
        if not isinstance(n, int | np.integer) or n < 0:
            raise ValueError(f"n must be a whole number, 0 or more; got {n!r}")
        return draw_rows(self, n, random_state)

    def impute(self, table: TableLike) -> pyarrow.Table:
        """Return a table as Arrow, with missing cells estimated from the other cells of their row."""
        from suffice.tables.imputation import impute_batch

        pa = arrow()
        source = self.open(table)
        schema = self.schema_.with_separators(source.numbers)
        found = [impute_batch(self, batch, block, schema)[0] for batch, block in self.blocks(source)]
        if not found:
            raise TableError("the table has no rows")
        return pa.concat_tables([pa.Table.from_batches([each]) for each in found], promote_options="permissive")

    def _labelled_rows(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield the rows with a target, each block with class codes or numbers."""
        for block, targets in self._labelled_batches(table, watch):
            yield block, self._values(targets)

    def _labelled_batches(
        self, table: Any, watch: Watch | None = None, learned: bool = False
    ) -> Iterator[tuple[Block, Targets]]:
        """Yield the rows with a target, each block with its targets; ``learned`` rows have the cells of constants."""
        source = self.open(table, target=True)
        schema = self.schema_.with_separators(source.numbers)
        first, expected = 0, source.rows()
        for batch in prefetch(without_total(source.batches())):
            if learned:
                self._check_constants(batch)
            block, targets = encode_rows(batch, schema, first)
            first += batch.num_rows
            if block.rows:
                yield block, targets
            if watch is not None:
                watch("reading", first, expected)

    def _check_constants(self, batch: pyarrow.RecordBatch) -> None:
        """Raise if a column that had one cell in all rows learned has another."""
        if not self.schema_.constants:
            return
        from suffice.tables.constants import find_varying

        for name in find_varying(batch, self.schema_):
            cells = self.schema_.constants[name]
            raise TableError(
                f"column {name!r} was {repr(cells[0]) if cells else 'missing'} in all rows that the model learned, and "
                "is not in some of these: they were never learned, and nothing was forgotten"
            )

    def _values(self, targets: Targets) -> npt.NDArray[Any]:
        return targets.into(self._labels) if self.schema_.task == "classes" else targets.values

    def description_codes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the class codes of the description."""
        return values if self._bins is None else self._bins.codes(values)

    def to_sql(self, dialect: str = "duckdb", *, table: str = "data", keep: Sequence[str] = ()) -> str:
        """Return a SELECT that computes the predictions inside a database.

        Parameters
        ----------
        dialect
            "duckdb" or "postgresql".
        table
            The name of the table, with the columns of the model, of any types; it is quoted. It may include a schema:
            ``shop.visits`` or ``"My Shop"."visits"``.
        keep
            Columns to copy to the result, such as a key.

        Returns
        -------
        str
            The query. Its columns are ``prediction`` and, for classes, a column ``p_<class>`` each, with the values of
            :meth:`predict_proba`. The models ``"text"`` and ``"local"`` have no query. A cell that :meth:`predict`
            refuses makes the query fail, with the column's name.
        """
        from suffice.tables.sql_export import table_query

        self._check_fitted()
        return table_query(self, dialect, table, keep)

    def export(self, path: str | os.PathLike[str], to: str) -> Path:
        """Write the model as a file for programs without suffice, and return its path.

        Parameters
        ----------
        path
            The file; an existing one is replaced, when the new one is complete.
        to
            "onnx": a graph of standard operators, for ONNX runtimes; it needs the extra ``onnx``. "python": one file
            with ``predict`` and ``predict_proba`` that needs NumPy alone. "json": the parameters as plain values.

        Raises
        ------
        TableError
            If the model reads a text column, or is "local" or "text".

        Examples
        --------
        >>> import json, tempfile
        >>> import pandas as pd
        >>> from suffice import TableModel
        >>> table = pd.DataFrame({"area": [40, 55, 80, 120, 45, 90], "price": [101.5, 139, 202, 299, 113, 226]})
        >>> model = TableModel("linear").fit(table, "price")
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     written = json.loads(model.export(f"{folder}/price.json", "json").read_text())
        >>> written["columns"][0]["name"], written["terms"][0]["form"]
        ('area', 'linear')
        """
        from suffice.tables.export import write_model

        self._check_fitted()
        return write_model(self, path, to)

    # Updates.

    def update(self, table: TableLike, watch: Watch | None = None) -> Self:
        """Add rows: the sums become exactly those of a fit to all rows.

        Rows may be of new classes. A column that was ignored since it did not vary is read if it varies in these rows.
        Parameters that were chosen on held-out rows, such as the temperature of a generative model, do not change. An
        error leaves the model unchanged.
        """
        self._refuse_unless_exact("learn more rows exactly")
        model = self._copy()
        model._learn_rows(table, watch)
        vars(self).update(vars(model))
        return self

    def _copy(self) -> Self:
        """Return a copy that can learn rows and columns without a change of this model."""
        model = copy.copy(self)
        model.predictor_, model._description = copy.deepcopy(self.predictor_), copy.deepcopy(self._description)
        return model

    def _learn_rows(self, table: TableLike, watch: Watch | None) -> None:
        source = self.open(table, target=True)
        first, expected = 0, source.rows()
        for batch in prefetch(without_total(source.batches())):
            self._learn_columns(batch)
            block, targets = encode_rows(batch, self.schema_.with_separators(source.numbers), first)
            first += batch.num_rows
            if block.rows:
                self._learn_block(block, targets)
            if watch is not None:
                watch("reading", first, expected)
        self.predictor_.finish_update()

    def _learn_columns(self, batch: pyarrow.RecordBatch) -> None:
        """Read the columns of a batch that did not vary so far, and vary with it."""
        if not self.schema_.constants:
            return
        from suffice.tables.constants import find_varying, infer_field

        constants = self.schema_.constants
        varying = find_varying(batch, self.schema_)
        fields = {
            name: infer_field(name, constants[name], self.rows_, column, self.schema_)
            for name, column in varying.items()
        }
        lacking = constants.keys() - set(batch.schema.names)
        fields |= {
            name: replace(self.schema_.field(name), why="some tables lack this column", constant=None)
            for name in lacking
        }
        self._set_fields(fields)

    def _check_hours(self, block: Block) -> None:
        """Raise if rows to be learned have times in a column of dates that had none, and whose hours are not read."""
        for feature, column in zip(block.features, block.columns, strict=True):
            has_hours = feature.part == "time" and "hour" in self.schema_.field(feature.column).parts
            if feature.part == "time" and not has_hours and (column % 1 > 0).any():
                raise TableError(
                    f"column {feature.column!r} holds times, and midnights alone in the rows so far: fit again to all "
                    "rows"
                )

    def _learn_block(self, block: Block, targets: Targets) -> None:
        self._check_hours(block)
        if self.schema_.task == "classes":
            self._set_labels(self._labels.union(targets.labels)[0])
        values = self._values(targets)
        self.predictor_.add(block, values)
        self.ranges_ = join_ranges(self.ranges_, numeric_ranges(block))
        if self.schema_.task != "classes":
            span = float(values.min()), float(values.max())
            self.ranges_ = join_ranges(self.ranges_, {self.schema_.target: span})
        if self._description is not None:
            more = self._description.sum_block(block, self.description_codes(values), self._description_labels)
            self._description.set_statistics(self._description.statistics_ + more)
        if self.ledger_ is not None:
            self.ledger_ = self.ledger_.add_rows(block, values, self._labels)
        self.rows_ += block.rows
        self.fitted_rows_ = self.rows_

    def _set_labels(self, labels: Labels) -> None:
        """Set the classes, of which there may be more than before."""
        if self._decision is not None:
            positive = self._labels.names[self._decision.positive]
            self._decision = replace(self._decision, positive=labels.names.index(positive))
        self._labels = self.predictor_.labels = labels
        if len(labels) > 1:
            self.warnings_ = [each for each in self.warnings_ if each.code != ONE_CLASS]

    def _set_fields(self, fields: Mapping[str, Field]) -> None:
        """Read columns that had the same cell in all rows so far as given fields, or ignore them for another reason."""
        from suffice.tables.constants import encode_constants

        constants = {name: self.schema_.constants[name] for name in fields}
        self.schema_ = self.schema_.with_fields(fields)
        added = {name: cells for name, cells in constants.items() if fields[name].kind != "ignore"}
        if not added:
            return
        if self.ledger_ is not None:
            name, cells = next(iter(added.items()))
            raise TableError(
                f"column {name!r} was {repr(cells[0]) if cells else 'missing'} in all rows of a ledger, which has no "
                f"digests of it, and varies: fit again to all rows, or {kind_cure(name, fields[name].kind)}"
            )
        row = encode_constants(self.schema_, added)
        self._check_hours(row)
        self.predictor_.add_columns(self.schema_.features, row)
        if self._description is not None:
            self._description = self._description.add_columns(self.schema_.features, row)
        self.ranges_ = join_ranges(self.ranges_, numeric_ranges(row))

    def forget(self, table: TableLike, watch: Watch | None = None) -> dict[str, float]:
        """Subtract rows, exact to rounding or refused, and return a certificate.

        Without a ledger (``ledger=True`` at the fit), rows that were never learned are refused only if a count or a
        variance would become negative, and are subtracted otherwise. With a ledger, each row must have been learned, as
        often as it is given. An error leaves the model unchanged.

        Returns
        -------
        dict
            ``rows``: number of rows subtracted; ``left``: number of rows that remain; ``digits_kept``: a bound of the
            decimal digits to which the sums of the worst column are known; ``verified``: whether a ledger confirmed
            each row.
        """
        self._refuse_unless_exact("forget rows")
        predictor, description, ledger = copy.deepcopy(self.predictor_), copy.deepcopy(self._description), self.ledger_
        if description is not None and set(description.statistics_.labels) - set(self._description_labels):
            raise TableError(
                f"this model was merged from models of other values of {self.schema_.target!r}, whose bins describe "
                "the rows of each: it does not know which part a row belongs to; fit again to the rows that remain"
            )
        rows = 0
        sums: Predictor | Description = predictor  # whose rows are subtracted
        try:
            for block, targets in self._labelled_batches(table, watch, learned=True):
                values = self._values(targets)
                if ledger is not None:
                    ledger = _remove_from_ledger(ledger, block, targets, values, self._labels)
                sums = predictor
                predictor.remove(block, values)
                if description is not None:
                    sums = description
                    gone = description.sum_block(block, self.description_codes(values), self._description_labels)
                    description.subtract(gone)
                rows += block.rows
            if rows >= self.rows_:
                raise TableError("these are all rows that the model has learned: nothing would be left of it")
            sums = predictor
            kept = predictor.finish_removal()
            if description is not None:
                sums = description
                kept = min(kept, description.digits_kept())
        except NegativeEvidenceError as error:
            raise TableError(
                f"some of these rows were never learned, or were forgotten before ({error}): nothing was forgotten"
            ) from None
        except LostDigitsError as error:
            raise digits_error(sums.column_at(error.place), error) from None
        self._take(predictor, description, ledger, self.rows_ - rows)
        return {"rows": rows, "left": self.rows_, "digits_kept": kept, "verified": ledger is not None}

    @property
    def temperature_note(self) -> str | None:
        """What to know of the temperature after rows were added or taken out; None for models without one."""
        if not self.predictor_.model_type.is_tempered:
            return None
        scorer: Any = self.predictor_.scorer
        return (
            f"the temperature stays {scorer.temperature:.3g}, as chosen at the fit: log-odds before it are those of a "
            "new fit, probabilities differ by some hundredths at most"
        )

    def _take(self, predictor: Any, description: Description | None, ledger: Ledger | None, rows: int) -> None:
        self.predictor_, self._description, self.ledger_ = predictor, description, ledger
        self.rows_ = self.fitted_rows_ = rows

    @property
    def _description_labels(self) -> Labels:
        return self._labels if self._bins is None else self._bins.labels

    def _refuse_unless_exact(self, what: str) -> None:
        self._check_fitted()
        if not self.predictor_.model_type.exact:
            raise self.predictor_.unsupported(what)

    # Files.

    def _contents(self) -> Contents:
        self._check_fitted()
        parts = {"predictor": self.predictor_.contents()}
        if self._description is not None:
            parts["description"] = self._description._contents()
        if self.ledger_ is not None:
            parts["ledger"] = self.ledger_.contents()
        return nest_contents(
            "TableModel",
            {
                "parameters": {
                    **{name: getattr(self, name) for name in PARAMETERS},
                    "columns": dict(self.columns) if self.columns else None,
                    "cost": None if self.cost is None else [float(each) for each in self.cost],
                    "positive": self.positive.item() if isinstance(self.positive, np.generic) else self.positive,
                },
                "schema": self.schema_.to_plain(),
                "classes": list(self._labels),
                "bins": None if self._bins is None else self._bins.edges.tolist(),
                "predictor": {"form": self.model_, **self.predictor_.settings()},
                "candidates": [
                    {**vars(each), "seconds": 0.0} for each in self.candidates_
                ],  # the same fit writes the same file
                "warnings": [vars(each) for each in self.warnings_],
                "decision": None if self._decision is None else vars(self._decision),
                "thresholds": [vars(each) for each in self.thresholds_],
                "importance": [vars(each) for each in self.importance_],
                "rows": self.rows_,
                "skipped": self.skipped_,
                "noise": self._noise,
                "fitted_rows": self.fitted_rows_,
                "summed": self.summed_,
                "ranges": {name: list(span) for name, span in self.ranges_.items()},
            },
            parts,
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, parts = unnest_contents(contents)
        model = cls(**settings["parameters"])
        model.schema_ = Schema.from_plain(settings["schema"])
        model._labels = Labels(tuple(settings["classes"]))
        model._bins = None if settings["bins"] is None else Bins(np.array(settings["bins"]))
        model.model_ = settings["predictor"]["form"]
        model.predictor_ = restore_predictor(
            settings["predictor"], parts["predictor"], model.schema_.task, model._labels
        )
        description = parts.get("description")
        model._description = None if description is None else Description._from_contents(description)
        model.ranges_ = {name: (low, high) for name, (low, high) in settings.get("ranges", {}).items()}
        model.ledger_ = None
        if "ledger" in parts:
            from suffice.tables.ledger import Ledger

            model.ledger_ = Ledger.from_contents(parts["ledger"])
        model.candidates_ = [Candidate(**each) for each in settings["candidates"]]
        model.warnings_ = [Finding(**each) for each in settings.get("warnings", [])]
        decision = settings.get("decision")
        model._decision = None if decision is None else Decision(**decision)
        model.thresholds_ = [ThresholdMeasures(**each) for each in settings.get("thresholds", [])]
        model.importance_ = [Importance(**each) for each in settings.get("importance", [])]
        model.rows_, model.skipped_ = int(settings["rows"]), int(settings["skipped"])
        model._noise = float(settings["noise"])
        model.fitted_rows_ = int(settings["fitted_rows"])
        model.summed_ = str(settings.get("summed", HERE))
        return model


def with_target(table: TableLike, target: Any, name: str = "target", strings: Any = ()) -> tuple[Source, str]:
    """Return the table as a source with the target as a column, and the name of that column."""
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
    both = open_table(whole.append_column(name, pa.array(values, from_pandas=True)))
    both.categorical, both.missing, both.numbers = source.categorical, source.missing, source.numbers
    return both, name


def join_ranges(one: Ranges, two: Ranges) -> Ranges:
    """Return the union of ranges."""
    spans = {name: [each[name] for each in (one, two) if name in each] for name in {**one, **two}}
    return {name: (min(low for low, _ in some), max(high for _, high in some)) for name, some in spans.items()}


def _remove_from_ledger(
    ledger: Ledger, block: Block, targets: Targets, values: npt.NDArray[Any], labels: Labels
) -> Ledger:
    """Return a ledger without the rows of a block; raise for the first row that is not in it."""
    from suffice.tables.ledger import UnknownRowError

    try:
        return ledger.remove_rows(block, values, labels)
    except UnknownRowError as error:
        row = block.first + int(np.flatnonzero(targets.known)[error.row]) + 1
        raise TableError(
            f"row {row} was never learned, or is given more often than it was learned (it is not in the model's "
            "ledger): nothing was forgotten"
        ) from None
