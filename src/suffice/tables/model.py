"""TableModel: predict one column of a table from the others."""

from __future__ import annotations

import copy
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.explain import Explanation
from suffice.metrics import Evaluation
from suffice.model_types import MODEL_TYPES, ModelType
from suffice.statistics import Labels, NormalEquations, Parts
from suffice.statistics.base import FloatArray, NegativeEvidenceError
from suffice.store import Contents, Stored, nest_contents, unnest_contents
from suffice.tables import scan
from suffice.tables.candidates import candidates, find_model_type
from suffice.tables.encoding import Bins, Block, Targets, numeric_ranges
from suffice.tables.errors import TableError
from suffice.tables.explanation import explain_rows
from suffice.tables.imputation import impute_batch
from suffice.tables.ledger import Ledger, UnknownRowError
from suffice.tables.model_search import Candidate, evaluate_candidates
from suffice.tables.predictors import Predictor, make_predictor, restore_predictor
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.predictors.naive_bayes import Description, NaiveBayesPredictor, subtract_statistics, to_cells
from suffice.tables.prefetch import prefetch
from suffice.tables.pushdown.database import PushdownError, TableDatabase, choose_database, is_faster_in_database
from suffice.tables.pushdown.scan import DatabaseScan
from suffice.tables.schema import Schema
from suffice.tables.sources import open_table
from suffice.tables.sources.base import Source, Watch, arrow
from suffice.tables.synthesis import draw_rows

#: With ``most_rows="auto"``, regressions are fitted to all rows where a pass takes no more products than these, and to
#: so many drawn rows otherwise.
PRODUCTS = 2e9
DRAWN = 500_000


class TableModel(Stored, BaseEstimator):  # type: ignore[misc]
    """Predict one column of a table from the others.

    Columns are taken for what their cells suggest: numbers, counts, booleans, categories, dates, free text; identifiers
    are left out. Missing cells are no obstacle. Beside the model that predicts, every table's model carries a
    description of its rows, class by class, from which it samples, fills in cells, and tells rows that are unlike all
    others.

    Parameters
    ----------
    model
        ``"auto"`` takes the one that predicts held-out rows best. Of classes: ``"nb"``, ``"gda"``, ``"gda-full"``,
        ``"logistic"``, ``"softmax"``, ``"additive"`` (curves of the numbers), ``"local"``, ``"text"``. Of numbers:
        ``"linear"``, ``"additive"``, ``"local"``. Of counts: ``"poisson"`` and those of numbers.
    columns
        A dictionary from column to kind, where it is not what the cells suggest: "numeric", "count", "boolean",
        "category", "date", "text" or "ignore".
    task
        Whether the target is ``"classes"``, ``"numbers"`` or ``"counts"``; by default what its cells suggest.
    folds
        How many folds are held out in turn when models are compared.
    most_rows
        How many rows regressions and other models that are not read from sums are fitted to, at most; they are drawn at
        random. None: all rows. ``"auto"``: all rows where rows times parameters are no more than 2e9 (100 million rows
        of 20 numbers), otherwise 500,000. All rows of a file are kept in a compact form while they are read: in memory
        up to 128 MB, then in a temporary file. Of a table that its database sums, and for ``"local"``, ``"auto"`` is
        500,000. Models that are read from sums take in every row in any case.
    random_state
        The seed of the folds, and of the rows that are drawn. Rows are drawn by their contents: folds and all that is
        chosen by them (temperatures, penalties) depend neither on the order of the rows nor on where they lie. In other
        units, or with the columns in another order, other rows are held out, as with another seed. Only of more than
        30,000 rows that PostgreSQL sums does the server draw the rows: read them (``in_database=False``) for the same
        ones.
    in_database
        Whether sums over rows are taken by the database that holds them, DuckDB or PostgreSQL. A server is then read
        only the first rows and those that are drawn. By default where that is faster: of a server always, but products
        of columns, which ``"gda"`` and ``"linear"`` sum, only of few; of DuckDB never.
    ledger
        Whether to keep a digest of each row that is learned (8 bytes a row in the model's file), so that :meth:`forget`
        refuses rows that were never learned. Rows are then read, even of a database. Models that are not read from
        sums cannot forget, and keep none.

    Attributes
    ----------
    schema_ : the columns and what they are taken for
    model_ : the form of the model
    candidates_ : how well each form predicted held-out rows, the best first; one, where the model was given
    classes_ : (k,), where classes are predicted
    rows_, skipped_ : rows learnt, and rows left out because they have no target
    fitted_rows_ : rows that the model was fitted to
    summed_ : where sums were taken: "here", "in DuckDB", "in PostgreSQL, of words here"
    ranges_ : the least and largest number of each numeric feature among the rows that models were compared by
    noise_ : of numbers, how far they lie from what is expected of them: the root of the mean square
    estimator_ : the estimator that does the work
    description_ : naive Bayes over the rows
    ledger_ : digests of the rows that were learned; None where none are kept

    Examples
    --------
    >>> import pandas as pd
    >>> streets = ["loud", "loud", "calm", "calm", "loud", None]
    >>> table = pd.DataFrame({"area": [40, 55, 80, 120, 45, 90], "street": streets, "sold": list("nnyyny")})
    >>> model = TableModel("nb").fit(table, "sold")
    >>> model.predict(pd.DataFrame({"area": [100], "street": [None]}))
    array(['y'], dtype='<U1')
    >>> print(model.explain(table[:1])[0])
    n: probability 0.8722, log-odds +1.920 against y
         +0.000  prior and base
         +1.608  area = 40
         +0.312  street = loud
    """

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
    ) -> None:
        self.model = model
        self.columns = columns
        self.task = task
        self.folds = folds
        self.most_rows = most_rows
        self.random_state = random_state
        self.in_database = in_database
        self.ledger = ledger

    def fit(self, table: Any, target: Any, *, watch: Watch | None = None) -> Self:
        """Learn to predict a column of a table from the others.

        Parameters
        ----------
        table
            What :func:`open_table` takes: a file, a folder, a database, a data frame, a source.
        target
            The name of the column to predict; or one value for each row of the table.
        watch
            Called now and then with what is being done, how much of it is done, and of how much, where that is known.
        """
        if self.folds < 2:
            raise ValueError(f"folds must be 2 or more; got {self.folds!r}")
        if self.most_rows not in (None, "auto") and not (isinstance(self.most_rows, int) and self.most_rows >= 1):
            raise ValueError(f"most_rows must be 1 or more, 'auto', or None for all rows; got {self.most_rows!r}")
        if self.ledger and self.in_database:
            raise ValueError("ledger=True reads every row: leave out in_database=True")
        strings = [str(name) for name, kind in (self.columns or {}).items() if kind in ("category", "text")]
        source, name = with_target(table, target, strings=strings)
        start = time.perf_counter()

        database = None if self.ledger else choose_database(source, self.in_database, self.model)
        try:
            with closing(self._read(source, name, database, watch)) as found:
                self._settle(found, watch)
        finally:
            if database is not None:
                database.close()
        self.seconds_ = time.perf_counter() - start
        return self

    def _read(
        self, source: Source, target: str, database: TableDatabase | None, watch: Watch | None
    ) -> scan.ScanResult:
        """Go through a table: in its database, if there is one and it can; else by reading it."""
        asked, note = (target, self.columns, self.task, self._drawn, self._summed), ""
        if database is not None:
            try:
                return scan.scan_table(DatabaseScan(source, database, self.random_state, watch), *asked)
            except PushdownError as error:
                if self.in_database:
                    raise
                note = str(error)
        ledger = Ledger.empty(self.random_state) if self.ledger else None
        return scan.scan_table(
            scan.StreamScan(source, self.random_state, watch, note, ledger, self._may_cache_rows()), *asked
        )

    def _may_cache_rows(self) -> bool:
        """Whether the model may be a regression that is fitted to all rows, which takes several passes over them."""
        named = MODEL_TYPES.get(self.model)
        return self.most_rows in (None, "auto") and (named is None or named.is_penalised)

    def _drawn(self, schema: Schema) -> int:
        """Return how many rows to draw while a table is read.

        These are the rows that models are compared by. More are drawn where others are fitted to them, and are not
        drawn later from rows that are kept.
        """
        if self._may_cache_rows() or (self.model != "auto" and find_model_type(self.model, schema).exact):
            return scan.COMPARISON_ROWS
        return self._most_fitted or scan.COMPARISON_ROWS

    @property
    def _most_fitted(self) -> int | None:
        """How many rows a model is fitted to that is neither read from sums nor fitted to all rows of a large table."""
        if self.most_rows is None:
            return None
        return max(DRAWN if isinstance(self.most_rows, str) else self.most_rows, scan.COMPARISON_ROWS)

    def _summed(self, schema: Schema) -> ModelType | None:
        """Return the model that can be summed while rows are read: one that was asked for, and is a sum."""
        form = None if self.model == "auto" else find_model_type(self.model, schema)
        return form if form is not None and form.exact and form.reads != "cells" else None

    def _settle(self, found: scan.ScanResult, watch: Watch | None) -> None:
        """Choose a model, and fit it to all rows."""
        schema, labels = found.schema, found.labels
        sample, values = found.comparison_sample(self.random_state)
        auto = self.model == "auto"
        forms = candidates(schema, len(labels), found.rows) if auto else [find_model_type(self.model, schema)]
        self.candidates_ = evaluate_candidates(
            forms, sample, values, schema.task, labels, self.folds, self.random_state, watch
        )
        best = self.candidates_[0]
        if auto and best.why:
            raise TableError(f"no model can be fitted to these rows ({best.model}: {best.why})")
        form = find_model_type(best.model, schema)
        if watch is not None:
            watch(f"fitting {form.name}", 0, None)
        self.summed_, self.summed_note_ = found.where, found.note
        self.predictor_ = self._fitted(form, best.penalty, found, sample, values)
        if form.is_tempered:
            self.predictor_.inner = self.predictor_.inner.with_params(temperature=best.temperature)
        self._description = None if isinstance(self.predictor_, NaiveBayesPredictor) else found.description
        self.schema_, self.model_ = schema, form.name
        self._labels, self._bins = labels, found.bins
        self.ledger_ = found.ledger if form.exact else None
        self.rows_, self.skipped_ = found.rows, found.skipped
        self.ranges_ = numeric_ranges(sample)
        if schema.task != "classes":
            self.ranges_[schema.target] = float(values.min()), float(values.max())
        self._noise = 0.0
        if schema.task == "numbers":
            self._noise = float(np.sqrt(np.mean((values - self.predictor_.answers(sample)) ** 2)))

    def _fitted(
        self, form: ModelType, penalty: float, found: scan.ScanResult, sample: Block, values: npt.NDArray[Any]
    ) -> Predictor:
        """Return the model of all rows, or of as many as it may have."""
        predictor = make_predictor(form, found.schema.task, found.labels, penalty)
        self.fitted_rows_ = found.rows
        if isinstance(predictor, NaiveBayesPredictor):
            predictor.inner = found.description
            return predictor
        if found.summed is not None:
            return found.summed
        predictor.prepare(sample)
        if found.rows > sample.rows:
            predictor.extend_levels(found.description)
        if found.sums is not None and isinstance(predictor, LinearPredictor) and form.exact:
            if self.in_database or is_faster_in_database(predictor.design.width):
                return found.sums.fit_linear(predictor, sample, values)
            self.summed_ += f", of products {scan.HERE}"
        if form.exact:
            return predictor.learn(found.all_rows())
        if (
            isinstance(predictor, LinearPredictor)
            and found.rows > DRAWN
            and self._takes_all_rows(predictor, found, sample)
        ):
            return predictor.learn_in_passes(partial(found.all_rows, packed=True), found.rows)
        self.fitted_rows_ = min(found.rows, self._most_fitted or found.rows)
        return predictor.learn(found.drawn_again(self.fitted_rows_, self.random_state))

    def _takes_all_rows(self, predictor: LinearPredictor, found: scan.ScanResult, sample: Block) -> bool:
        """Whether a regression is fitted to all rows of a large table."""
        if self.most_rows != "auto":
            return self.most_rows is None
        return found.has_cached_rows and found.rows * predictor.row_products(sample) <= PRODUCTS

    # Predictions.

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
        for batch in prefetch(source.batches()):
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

    def explain(self, table: Any) -> list[Explanation]:
        """Return an explanation of each row: what each column adds to the score."""
        found: list[Explanation] = []
        for batch, block in self.blocks(table):
            found.extend(explain_rows(self.predictor_, block, batch))
        return found

    def log_evidence(self, table: Any) -> FloatArray:
        """Return log p(x) of each row, (n,): low for rows unlike any that were learnt."""
        found = [self.description_.log_evidence(to_cells(block)) for _, block in self.blocks(table)]
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
        return draw_rows(self, n, random_state)

    def impute(self, table: Any) -> Any:
        """Return a table with its missing cells filled in by what the others of their row suggest: an Arrow table."""
        pa = arrow()
        found = [impute_batch(self, batch, block)[0] for batch, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows")
        return pa.concat_tables([pa.Table.from_batches([each]) for each in found], promote_options="permissive")

    def _learnt(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows that have a target, with codes of the classes, or numbers."""
        for block, answers in self._answered(table, watch):
            yield block, self._values(answers)

    def _answered(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, Targets]]:
        """Yield rows that have a target, with their targets."""
        source = self.open(table, target=True)
        first, expected = 0, source.rows()
        for batch in prefetch(source.batches()):
            block, answers = scan.encode_rows(batch, self.schema_, first)
            first += batch.num_rows
            if block.rows:
                yield block, answers
            if watch is not None:
                watch("reading", first, expected)

    def _values(self, answers: Targets) -> npt.NDArray[Any]:
        return answers.into(self._labels) if self.schema_.task == "classes" else answers.values

    def _codes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        """Return the classes of the description."""
        return values if self._bins is None else self._bins.codes(values)

    def to_sql(self, dialect: str = "duckdb", *, table: str = "data", keep: Sequence[str] = ()) -> str:
        """Return a SELECT that gives the predictions for a table's rows, inside its database.

        Parameters
        ----------
        dialect
            "duckdb" or "postgresql".
        table
            The name of the table, whose columns are those that the model was fitted to, of whichever types; it is
            quoted. Its schema may stand before it, as in ``shop.visits`` or ``"My Shop"."visits"``.
        keep
            Columns to be passed on, such as the key of a row.

        Returns
        -------
        str
            The query. It gives ``prediction`` and, of classes, one column ``p_<class>`` for each, whose values are
            those of :meth:`predict_proba`. Models of text and of rows nearby have none. A cell that :meth:`predict`
            refuses fails the query, with the column's name.
        """
        from suffice.tables.sql_export import table_query

        self._check_fitted()
        return table_query(self, dialect, table, keep)

    # Updates.

    def update(self, table: Any, watch: Watch | None = None) -> Self:
        """Learn from more rows: the sums are exactly those of all rows, as if they had been there from the start.

        What was chosen by held-out rows, such as the temperature of a generative model, stays. Where something is wrong
        with the table, the model stays as it was.
        """
        self._refuse_unless_exact("learn more rows exactly")
        predictor, description, ledger = copy.deepcopy(self.predictor_), copy.deepcopy(self._description), self.ledger_
        rows, ranges = 0, self.ranges_
        for block, values in self._learnt(table, watch):
            predictor.add(block, values)
            ranges = _joined(ranges, numeric_ranges(block))
            if self.schema_.task != "classes":
                ranges = _joined(ranges, {self.schema_.target: (float(values.min()), float(values.max()))})
            if description is not None:
                more = description.sum_block(block, self._codes(values), self._description_labels)
                description.set_statistics(description.statistics_ + more)
            if ledger is not None:
                ledger = ledger.add_rows(block, values, self._labels)
            rows += block.rows
        predictor.finish_update()
        self._take(predictor, description, ledger, self.rows_ + rows)
        self.ranges_ = ranges
        return self

    def forget(self, table: Any, watch: Watch | None = None) -> dict[str, float]:
        """Unlearn rows exactly, and return a certificate.

        Without a ledger (``ledger=True`` at the fit) a sum cannot tell which rows it was taken over: rows that were
        never learned are refused where counts would be negative or spreads would be, and taken out of the sums
        otherwise. With a ledger, each row must have been learned, and as often as it is given. Where rows cannot be
        forgotten, the model stays as it was.

        Returns
        -------
        dict
            ``rows`` that were taken out, rows that are ``left``, ``digits_lost`` and ``digits_kept`` of each column's
            spread at least, and ``verified``: whether a ledger held each of these rows.
        """
        self._refuse_unless_exact("forget rows")
        predictor, description, ledger = copy.deepcopy(self.predictor_), copy.deepcopy(self._description), self.ledger_
        lost, rows = 0.0, 0
        try:
            for block, answers in self._answered(table, watch):
                values = self._values(answers)
                if ledger is not None:
                    ledger = _remove_from_ledger(ledger, block, answers, values, self._labels)
                lost = max(lost, predictor.remove(block, values))
                if description is not None:
                    gone = description.sum_block(block, self._codes(values), self._description_labels)
                    lost = max(lost, subtract_statistics(description, gone))
                rows += block.rows
        except NegativeEvidenceError as error:
            raise TableError(
                f"some of these rows were never learned, or were forgotten before ({error}): nothing was forgotten"
            ) from None
        if rows >= self.rows_:
            raise TableError("these are all rows that the model has learned: nothing would be left of it")
        predictor.finish_update()
        self._take(predictor, description, ledger, self.rows_ - rows)
        digits = {"digits_lost": lost, "digits_kept": 15.9 - lost}
        return {"rows": rows, "left": self.rows_, **digits, "verified": ledger is not None}

    def _take(self, predictor: Any, description: Description | None, ledger: Ledger | None, rows: int) -> None:
        self.predictor_, self._description, self.ledger_ = predictor, description, ledger
        self.rows_ = self.fitted_rows_ = rows

    @property
    def _description_labels(self) -> Labels:
        return self._labels if self._bins is None else self._bins.labels

    def _refuse_unless_exact(self, what: str) -> None:
        self._check_fitted()
        if not self.predictor_.form.exact:
            raise self.predictor_.unsupported(what)

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, TableModel):
            return NotImplemented
        self._refuse_unless_exact("be merged")
        other._refuse_unless_exact("be merged")
        _check_mergeable(self, other)
        both = type(self)(**self.get_params(deep=False))
        both.predictor_ = self.predictor_.merge(other.predictor_)
        both.predictor_.finish_update()
        both._merge_temperatures(self, other)
        both._description = None
        if self._description is not None and other._description is not None:
            both._description = copy.deepcopy(self._description)
            both._description.set_statistics(self._description.statistics_ + _components(self, other))
        both.schema_, both.model_, both.candidates_ = self.schema_, self.model_, []
        both._labels = self._labels.union(other._labels)[0]
        both._bins, both._noise = self._bins, self._noise
        both.rows_, both.skipped_ = self.rows_ + other.rows_, self.skipped_ + other.skipped_
        both.fitted_rows_ = both.rows_
        both.ranges_ = _joined(self.ranges_, other.ranges_)
        both.ledger_ = None
        if self.ledger_ is not None and other.ledger_ is not None:
            both.ledger_ = self.ledger_.merge(other.ledger_)
        both.summed_ = self.summed_ if self.summed_ == other.summed_ else f"{self.summed_} and {other.summed_}"
        return both

    def _merge_temperatures(self, one: TableModel, two: TableModel) -> None:
        """Take the temperatures of two models together: each counts by its rows.

        The sums are those of all rows; a temperature is what held-out rows of one part or the other asked for.
        """
        if self.predictor_.form.is_tempered:
            shares = [model.rows_ / model.predictor_.inner.joint_.temperature for model in (one, two)]
            inner = self.predictor_.inner
            self.predictor_.inner = inner.with_params(temperature=(one.rows_ + two.rows_) / sum(shares))

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # Files.

    def _contents(self) -> Contents:
        self._check_fitted()
        parts = {"predictor": self.predictor_.contents()}
        if self._description is not None:
            parts["description"] = self._description._contents()
        if self.ledger_ is not None:
            parts["ledger"] = self.ledger_.contents()
        return nest_contents(
            type(self).__name__,
            {
                "parameters": {**self.get_params(deep=False), "columns": dict(self.columns) if self.columns else None},
                "schema": self.schema_.to_plain(),
                "classes": list(self._labels),
                "bins": None if self._bins is None else self._bins.edges.tolist(),
                "predictor": {"form": self.model_, **self.predictor_.settings()},
                "candidates": [
                    {**vars(each), "seconds": 0.0} for each in self.candidates_
                ],  # the same fit, the same file
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
        model.ledger_ = Ledger.from_contents(parts["ledger"]) if "ledger" in parts else None
        model.candidates_ = [Candidate(**each) for each in settings["candidates"]]
        model.rows_, model.skipped_ = int(settings["rows"]), int(settings["skipped"])
        model._noise = float(settings["noise"])
        model.fitted_rows_ = int(settings["fitted_rows"])
        model.summed_ = str(settings.get("summed", scan.HERE))
        return model

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


def fit(
    table: Any,
    target: Any,
    model: str = "auto",
    *,
    watch: Watch | None = None,
    collect: bool = False,
    **settings: Any,
) -> TableModel:
    """Fit a model that predicts one column of a table from the others.

    Parameters
    ----------
    table
        A file (CSV, Parquet, Arrow, JSON lines), a folder or glob of them, a database's table, a data frame.
    target
        The name of the column to predict, or one value for each row.
    model
        Which model; by default the one that predicts held-out rows best.
    watch
        Told how far it is.
    collect
        Whether a data frame of Dask or Spark may be fetched whatever its size; see :func:`open_table`.
    settings
        Others of :class:`TableModel`: ``columns``, ``task``, ``folds``, ``random_state``, ``ledger``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import suffice
    >>> wine = load_wine(as_frame=True).frame
    >>> model = suffice.fit(wine, target="target")
    >>> model.schema_.task, bool(model.score(wine) > 0.97)
    ('classes', True)
    """
    if collect:
        table = open_table(table, collect=True)
    return TableModel(model, **settings).fit(table, target, watch=watch)


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
    both = open_table(whole.append_column(name, pa.array(values, from_pandas=True)))
    both.categorical = source.categorical
    return both, name


def _components(one: TableModel, two: TableModel) -> Any:
    """Return the sums of another's description, whose classes stand for what they do in the first.

    Fifths of the numbers of one table are not those of another's: they become classes of their own.
    """
    assert one._description is not None
    assert two._description is not None
    statistics = two._description.statistics_
    if one._bins is None or two._bins is None or np.array_equal(one._bins.edges, two._bins.edges):
        return statistics
    start = 1 + max(int(label) for label in one._description.statistics_.labels)
    labels = Labels(tuple(start + int(label) for label in statistics.labels))
    return Parts(tuple(replace(part, labels=labels) for part in statistics.parts))


def _joined(one: dict[str, tuple[float, float]], two: dict[str, tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """Return the ranges that hold those of both."""
    spans = {name: [each[name] for each in (one, two) if name in each] for name in {**one, **two}}
    return {name: (min(low for low, _ in some), max(high for _, high in some)) for name, some in spans.items()}


def _remove_from_ledger(
    ledger: Ledger, block: Block, answers: Targets, values: npt.NDArray[Any], labels: Labels
) -> Ledger:
    """Return a ledger without the rows of a block, or say which of them it does not hold."""
    try:
        return ledger.remove_rows(block, values, labels)
    except UnknownRowError as error:
        row = block.first + int(np.flatnonzero(answers.known)[error.row]) + 1
        raise TableError(
            f"row {row} was never learned, or is given more often than it was learned (it is not in the model's "
            "ledger): nothing was forgotten"
        ) from None


def _check_mergeable(one: TableModel, two: TableModel) -> None:
    if (one.ledger_ is None) != (two.ledger_ is None):
        raise TableError(
            "one of the models keeps a ledger of its rows and the other none: fit both with --ledger, or drop the "
            "ledger (model.ledger_ = None in Python)"
        )
    for what, mine, theirs in (
        ("form", one.model_, two.model_),
        ("target", one.schema_.target, two.schema_.target),
        ("task", one.schema_.task, two.schema_.task),
    ):
        if mine != theirs:
            raise TableError(f"models of the {what} {mine!r} and {theirs!r} cannot be merged: fit them alike")
    kinds = [{field.name: field.kind for field in model.schema_.predictors} for model in (one, two)]
    for name in {**kinds[0], **kinds[1]}:
        mine, theirs = (each.get(name, "ignore") for each in kinds)
        if mine != theirs:
            raise TableError(
                f"the models take column {name!r} for {mine} and {theirs}: fit both with --kind {name}={mine} "
                f"(columns={{{name!r}: {mine!r}}} in Python)"
            )
    if list(kinds[0]) != list(kinds[1]):
        mine, theirs = next(pair for pair in zip(*kinds, strict=True) if pair[0] != pair[1])
        raise TableError(
            f"the models read columns in different orders, {mine!r} where the other reads {theirs!r}: give both tables "
            "the same order of columns, and fit again"
        )
