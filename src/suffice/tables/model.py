"""TableModel: predict one column of a table from the others."""

from __future__ import annotations

import copy
import time
from contextlib import closing
from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator

from suffice.model_types import MODEL_TYPES, ModelType
from suffice.statistics import Labels, Parts
from suffice.store import Contents
from suffice.tables import scan
from suffice.tables.candidates import candidates, find_model_type
from suffice.tables.encoding import Block, numeric_ranges
from suffice.tables.errors import TableError
from suffice.tables.fitted import FittedTable, join_ranges, with_target
from suffice.tables.ledger import Ledger
from suffice.tables.model_search import evaluate_candidates
from suffice.tables.predictors import Predictor, make_predictor
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.predictors.naive_bayes import NaiveBayesPredictor
from suffice.tables.pushdown.database import PushdownError, TableDatabase, choose_database, is_faster_in_database
from suffice.tables.pushdown.scan import DatabaseScan
from suffice.tables.schema import Schema
from suffice.tables.sources import open_table
from suffice.tables.sources.base import Source, Watch

#: With ``most_rows="auto"``, regressions are fitted to all rows if a pass takes at most ``PRODUCTS`` products, and to
#: ``DRAWN`` random rows otherwise.
PRODUCTS = 2e9
DRAWN = 500_000


class TableModel(FittedTable, BaseEstimator):  # type: ignore[misc]
    """Predict one column of a table from the others.

    The kind of each column is inferred from its cells: numeric, count, boolean, category, date or text; identifiers are
    ignored. Cells may be missing. Beside the predictor, every model holds a naive Bayes description of the rows of each
    class, which samples rows, imputes missing cells and detects outliers.

    Parameters
    ----------
    model
        ``"auto"`` selects the model with the lowest cross-validated loss. For classes: ``"nb"``, ``"gda"``,
        ``"gda-full"``, ``"logistic"``, ``"softmax"``, ``"additive"`` (linear splines of the numbers), ``"local"``,
        ``"text"``. For numbers: ``"linear"``, ``"additive"``, ``"local"``. For counts: ``"poisson"`` and those for
        numbers.
    columns
        Kinds by column, instead of the inferred ones: "numeric", "count", "boolean", "category", "date", "text" or
        "ignore".
    task
        ``"classes"``, ``"numbers"`` or ``"counts"``; inferred from the target by default.
    folds
        Number of cross-validation folds.
    most_rows
        Maximum number of rows, drawn at random, that regressions and other models without sums are fitted to. None: all
        rows. ``"auto"``: all rows if rows times parameters are at most 2e9 (100 million rows of 20 numbers), else
        500,000. The rows of a file are kept in a compact encoding while they are read: in memory up to 128 MB, then in
        a temporary file. For ``"local"``, and for a table whose sums are computed in its database, ``"auto"`` is
        500,000. Models that are fitted from sums use every row in any case.
    random_state
        The seed of folds and samples. Rows are drawn by a hash of their contents: folds, temperatures and penalties do
        not depend on the order of the rows or on the kind of source. A change of units or of the order of columns
        changes the folds, as another seed does. Exception: if PostgreSQL computes the sums of more than 30,000 rows,
        the server draws the sample (``in_database=False`` draws the same rows as other sources).
    in_database
        Whether the database of the table, DuckDB or PostgreSQL, computes the sums; then only the first rows and a
        sample are read. Default: where that is faster. For PostgreSQL always, except sums of products (``"gda"``,
        ``"linear"``) of more than a few columns; for DuckDB never.
    ledger
        Whether to keep a digest of each learned row (8 bytes per row in the model file), so that :meth:`forget` refuses
        rows that were never learned. The rows of a database are then read, too. Models that are not fitted from sums
        cannot forget, and keep no ledger.

    Attributes
    ----------
    schema_ : the columns and their kinds
    model_ : the name of the model
    candidates_ : cross-validated losses of the models, the best first; one entry if the model was given
    classes_ : (k,), if the task is classes
    rows_, skipped_ : number of rows learned, and of rows without a target, which are skipped
    fitted_rows_ : number of rows that the model was fitted to
    summed_ : where sums were computed: "here", "in DuckDB", "in PostgreSQL, of words here"
    ranges_ : the range of each numeric feature among the rows that models were compared on
    noise_ : root mean square of the residuals, if the task is numbers
    estimator_ : the fitted estimator
    description_ : naive Bayes model of the rows
    ledger_ : digests of the learned rows; None without a ledger

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

    def fit(self, table: Any, target: Any, *, watch: Watch | None = None) -> Self:
        """Fit the model to a table.

        Parameters
        ----------
        table
            A table, as :func:`open_table` takes it: a file, a folder, a database, a data frame, a source.
        target
            The name of the column to predict, or one value for each row.
        watch
            Progress callback: called with the current step, the amount done, and the total if it is known.
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
                self._select_and_fit(found, watch)
        finally:
            if database is not None:
                database.close()
        self.seconds_ = time.perf_counter() - start
        return self

    def _read(
        self, source: Source, target: str, database: TableDatabase | None, watch: Watch | None
    ) -> scan.ScanResult:
        """Scan a table: in its database if possible, else by reading it."""
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
        """Whether the model may be a regression that is fitted to all rows, in several passes."""
        named = MODEL_TYPES.get(self.model)
        return self.most_rows in (None, "auto") and (named is None or named.is_penalised)

    def _drawn(self, schema: Schema) -> int:
        """Return the size of the sample that is drawn while a table is read.

        Models are compared on the sample. It is larger if models are fitted to it, unless they are fitted to cached
        rows.
        """
        if self._may_cache_rows() or (self.model != "auto" and find_model_type(self.model, schema).exact):
            return scan.COMPARISON_ROWS
        return self._most_fitted or scan.COMPARISON_ROWS

    @property
    def _most_fitted(self) -> int | None:
        """Maximum number of rows for models that are neither fitted from sums nor in passes over all rows."""
        if self.most_rows is None:
            return None
        return max(DRAWN if isinstance(self.most_rows, str) else self.most_rows, scan.COMPARISON_ROWS)

    def _summed(self, schema: Schema) -> ModelType | None:
        """Return the model whose sums are computed while rows are read: the one that the user names, if it has sums."""
        model_type = None if self.model == "auto" else find_model_type(self.model, schema)
        return model_type if model_type is not None and model_type.exact and model_type.reads != "cells" else None

    def _select_and_fit(self, found: scan.ScanResult, watch: Watch | None) -> None:
        """Choose a model, and fit it to all rows."""
        schema, labels = found.schema, found.labels
        sample, values = found.comparison_sample(self.random_state)
        auto = self.model == "auto"
        model_types = candidates(schema, len(labels), found.rows) if auto else [find_model_type(self.model, schema)]
        self.candidates_ = evaluate_candidates(
            model_types, sample, values, schema.task, labels, self.folds, self.random_state, watch
        )
        best = self.candidates_[0]
        if auto and best.why:
            raise TableError(f"no model can be fitted to these rows ({best.model}: {best.why})")
        model_type = find_model_type(best.model, schema)
        if watch is not None:
            watch(f"fitting {model_type.name}", 0, None)
        self.summed_, self.summed_note_ = found.where, found.note
        self.predictor_ = self._fitted(model_type, best.penalty, found, sample, values)
        if model_type.is_tempered:
            self.predictor_.inner = self.predictor_.inner.with_params(temperature=best.temperature)
        self._description = None if isinstance(self.predictor_, NaiveBayesPredictor) else found.description
        self.schema_, self.model_ = schema, model_type.name
        self._labels, self._bins = labels, found.bins
        self.ledger_ = found.ledger if model_type.exact else None
        self.rows_, self.skipped_ = found.rows, found.skipped
        self.ranges_ = numeric_ranges(sample)
        if schema.task != "classes":
            self.ranges_[schema.target] = float(values.min()), float(values.max())
        self._noise = 0.0
        if schema.task == "numbers":
            self._noise = float(np.sqrt(np.mean((values - self.predictor_.predict(sample)) ** 2)))

    def _fitted(
        self, model_type: ModelType, penalty: float, found: scan.ScanResult, sample: Block, values: npt.NDArray[Any]
    ) -> Predictor:
        """Return the model fitted to all rows, or to as many as it may use."""
        predictor = make_predictor(model_type, found.schema.task, found.labels, penalty)
        self.fitted_rows_ = found.rows
        if isinstance(predictor, NaiveBayesPredictor):
            predictor.inner = found.description
            return predictor
        if found.summed is not None:
            return found.summed
        predictor.prepare(sample)
        if found.rows > sample.rows:
            predictor.extend_levels(found.description)
        if found.sums is not None and isinstance(predictor, LinearPredictor) and model_type.exact:
            if self.in_database or is_faster_in_database(predictor.design.width):
                return found.sums.fit_linear(predictor, sample, values)
            self.summed_ += f", of products {scan.HERE}"
        if model_type.exact:
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
        both.ranges_ = join_ranges(self.ranges_, other.ranges_)
        both.ledger_ = None
        if self.ledger_ is not None and other.ledger_ is not None:
            both.ledger_ = self.ledger_.merge(other.ledger_)
        both.summed_ = self.summed_ if self.summed_ == other.summed_ else f"{self.summed_} and {other.summed_}"
        return both

    def _merge_temperatures(self, one: TableModel, two: TableModel) -> None:
        """Set the temperature to the harmonic mean of those of two models, weighted by their rows."""
        if self.predictor_.model_type.is_tempered:
            shares = [model.rows_ / model.predictor_.inner.joint_.temperature for model in (one, two)]
            inner = self.predictor_.inner
            self.predictor_.inner = inner.with_params(temperature=(one.rows_ + two.rows_) / sum(shares))

    def __radd__(self, other: Any) -> Self:
        """Add to 0, the start value of ``sum(models)``."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        model = super()._from_contents(contents)
        _ = model.predictor_.inner  # raises now if the estimator in the file is invalid
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
        A file (CSV, Parquet, Arrow, JSON lines), a folder or glob of them, a table of a database, a data frame.
    target
        The name of the column to predict, or one value for each row.
    model
        Name of the model; the one with the lowest cross-validated loss by default.
    watch
        Progress callback.
    collect
        Whether a data frame of Dask or Spark of any size is fetched; see :func:`open_table`.
    settings
        Further parameters of :class:`TableModel`: ``columns``, ``task``, ``folds``, ``random_state``, ``ledger``.

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


def _components(one: TableModel, two: TableModel) -> Any:
    """Return the sums of the second model's description, with class labels of the first.

    Bins of a numeric target differ between tables: those of the second model become classes of their own.
    """
    assert one._description is not None
    assert two._description is not None
    statistics = two._description.statistics_
    if one._bins is None or two._bins is None or np.array_equal(one._bins.edges, two._bins.edges):
        return statistics
    start = 1 + max(int(label) for label in one._description.statistics_.labels)
    labels = Labels(tuple(start + int(label) for label in statistics.labels))
    return Parts(tuple(replace(part, labels=labels) for part in statistics.parts))


def _check_mergeable(one: TableModel, two: TableModel) -> None:
    if (one.ledger_ is None) != (two.ledger_ is None):
        raise TableError(
            "one of the models keeps a ledger of its rows and the other none: fit both with --ledger, or drop the "
            "ledger (model.ledger_ = None in Python)"
        )
    for what, mine, theirs in (
        ("type", one.model_, two.model_),
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
                f"column {name!r} is {mine} in one model and {theirs} in the other: fit both with --kind {name}={mine} "
                f"(columns={{{name!r}: {mine!r}}} in Python)"
            )
    if list(kinds[0]) != list(kinds[1]):
        mine, theirs = next(pair for pair in zip(*kinds, strict=True) if pair[0] != pair[1])
        raise TableError(
            f"the models read columns in different orders, {mine!r} where the other reads {theirs!r}: give both tables "
            "the same order of columns, and fit again"
        )
