"""A model of a table: columns of any kind in, classes, numbers or counts out, with reasons."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.store import Contents, Stored
from suffice.tables import reading
from suffice.tables.algebra import Algebra
from suffice.tables.answering import with_target
from suffice.tables.blocks import Block, ranges_of
from suffice.tables.choosing import Candidate, judge
from suffice.tables.databases import RowsElsewhereError, TableDatabase, chosen, multiplies_faster
from suffice.tables.described import Described
from suffice.tables.describing import Description
from suffice.tables.designed import Designed
from suffice.tables.errors import TableError
from suffice.tables.forms import FORMS, Form, candidates, form_of
from suffice.tables.ledger import Ledger
from suffice.tables.nesting import nested, unnested
from suffice.tables.predictors import Predictor, restored
from suffice.tables.pushing import Pushed
from suffice.tables.schema import Schema
from suffice.tables.source import Source, Watch
from suffice.tables.sources import open_table
from suffice.tables.targets import Bins

#: With ``most_rows="auto"``, regressions are fitted to all rows where a pass takes no more products than these, and to
#: so many drawn rows otherwise.
PRODUCTS = 2e9
DRAWN = 500_000


class TableModel(Stored, Algebra):
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

        database = None if self.ledger else chosen(source, self.in_database, self.model)
        try:
            with closing(self._read(source, name, database, watch)) as found:
                self._settle(found, watch)
        finally:
            if database is not None:
                database.close()
        self.seconds_ = time.perf_counter() - start
        return self

    def _read(self, source: Source, target: str, database: TableDatabase | None, watch: Watch | None) -> reading.Read:
        """Go through a table: in its database, if there is one and it can; else by reading it."""
        asked, note = (target, self.columns, self.task, self._drawn, self._summed), ""
        if database is not None:
            try:
                return reading.read(Pushed(source, database, self.random_state, watch), *asked)
            except RowsElsewhereError as error:
                if self.in_database:
                    raise
                note = str(error)
        ledger = Ledger.empty(self.random_state) if self.ledger else None
        return reading.read(
            reading.Streamed(source, self.random_state, watch, note, ledger, self._may_need_all_rows()), *asked
        )

    def _may_need_all_rows(self) -> bool:
        """Whether the model may be a regression that is fitted to all rows, which takes several passes over them."""
        named = FORMS.get(self.model)
        return self.most_rows in (None, "auto") and (named is None or named.is_penalised)

    def _drawn(self, schema: Schema) -> int:
        """Return how many rows to draw: those that models are compared by, and others are fitted to."""
        if self.model != "auto" and form_of(self.model, schema).exact:
            return reading.COMPARED
        most = self.most_rows or 0
        return max(DRAWN if isinstance(most, str) else most, reading.COMPARED)

    def _summed(self, schema: Schema) -> Form | None:
        """Return the model that can be summed while rows are read: one that was asked for, and is a sum."""
        form = None if self.model == "auto" else form_of(self.model, schema)
        return form if form is not None and form.exact and form.reads != "cells" else None

    def _settle(self, found: reading.Read, watch: Watch | None) -> None:
        """Choose a model, and fit it to all rows."""
        schema, labels = found.schema, found.labels
        sample, values = found.compared(self.random_state)
        auto = self.model == "auto"
        forms = candidates(schema, len(labels), found.rows) if auto else [form_of(self.model, schema)]
        self.candidates_ = judge(forms, sample, values, schema.task, labels, self.folds, self.random_state, watch)
        best = self.candidates_[0]
        if auto and best.why:
            raise TableError(f"no model can be fitted to these rows ({best.model}: {best.why})")
        form = form_of(best.model, schema)
        if watch is not None:
            watch(f"fitting {form.name}", 0, None)
        self.summed_, self.summed_note_ = found.where, found.note
        self.predictor_ = self._fitted(form, best.penalty, found, sample, values)
        if form.is_tempered:
            self.predictor_.inner = self.predictor_.inner.with_params(temperature=best.temperature)
        self._description = None if isinstance(self.predictor_, Described) else found.description
        self.schema_, self.model_ = schema, form.name
        self._labels, self._bins = labels, found.bins
        self.ledger_ = found.ledger if form.exact else None
        self.rows_, self.skipped_ = found.rows, found.skipped
        self.ranges_ = ranges_of(sample)
        if schema.task != "classes":
            self.ranges_[schema.target] = float(values.min()), float(values.max())
        self._noise = 0.0
        if schema.task == "numbers":
            self._noise = float(np.sqrt(np.mean((values - self.predictor_.answers(sample)) ** 2)))

    def _fitted(
        self, form: Form, penalty: float, found: reading.Read, sample: Block, values: npt.NDArray[Any]
    ) -> Predictor:
        """Return the model of all rows, or of as many as it may have."""
        predictor = Predictor.of(form, found.schema.task, found.labels, penalty)
        self.fitted_rows_ = found.rows
        if isinstance(predictor, Described):
            predictor.inner = found.description
            return predictor
        if found.summed is not None:
            return found.summed
        predictor.prepare(sample)
        if found.rows > sample.rows:
            predictor.complete(found.description)
        if found.sums is not None and isinstance(predictor, Designed) and form.exact:
            if self.in_database or multiplies_faster(predictor.design.width):
                return found.sums.learnt(predictor, sample, values)
            self.summed_ += f", of products {reading.HERE}"
        if form.exact:
            return predictor.learn(found.again())
        if isinstance(predictor, Designed) and not found.holds_all and self._takes_all_rows(predictor, found, sample):
            return predictor.learn_in_passes(found.again, found.rows, found.drawn(), found.sample.num_rows)
        if self.most_rows is None:
            return predictor.learn(found.again())
        self.fitted_rows_ = found.sample.num_rows
        return predictor.learn(found.drawn())

    def _takes_all_rows(self, predictor: Designed, found: reading.Read, sample: Block) -> bool:
        """Whether a regression is fitted to more rows than are drawn: all of them."""
        if self.most_rows != "auto":
            return self.most_rows is None
        return found.keeps_all and found.rows * predictor.row_products(sample) <= PRODUCTS

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
        from suffice.tables.scored import table_query

        self._check_fitted()
        return table_query(self, dialect, table, keep)

    # Files.

    def _contents(self) -> Contents:
        self._check_fitted()
        parts = {"predictor": self.predictor_.contents()}
        if self._description is not None:
            parts["description"] = self._description._contents()
        if self.ledger_ is not None:
            parts["ledger"] = self.ledger_.contents()
        return nested(
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
        settings, parts = unnested(contents)
        model = cls(**settings["parameters"])
        model.schema_ = Schema.from_plain(settings["schema"])
        model._labels = Labels(tuple(settings["classes"]))
        model._bins = None if settings["bins"] is None else Bins(np.array(settings["bins"]))
        model.model_ = settings["predictor"]["form"]
        model.predictor_ = restored(settings["predictor"], parts["predictor"], model.schema_.task, model._labels)
        description = parts.get("description")
        model._description = None if description is None else Description._from_contents(description)
        model.ranges_ = {name: (low, high) for name, (low, high) in settings.get("ranges", {}).items()}
        model.ledger_ = Ledger.from_contents(parts["ledger"]) if "ledger" in parts else None
        model.candidates_ = [Candidate(**each) for each in settings["candidates"]]
        model.rows_, model.skipped_ = int(settings["rows"]), int(settings["skipped"])
        model._noise = float(settings["noise"])
        model.fitted_rows_ = int(settings["fitted_rows"])
        model.summed_ = str(settings.get("summed", reading.HERE))
        return model


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
