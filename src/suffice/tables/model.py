"""TableModel: predict one column of a table from the others."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import BaseEstimator

from suffice.estimator import FittedRepr
from suffice.html_fragments import fragment, notes, table
from suffice.statistics import Labels, Parts
from suffice.store import Contents
from suffice.tables.constants import unite_fields
from suffice.tables.errors import TableError, UsageError
from suffice.tables.fitted import FittedTable, join_ranges
from suffice.tables.fitting import fit_table
from suffice.tables.sources import Dialect, Source, open_table
from suffice.tables.sources.base import Watch
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import TableLike, VectorLike


class ReadingWarning(UserWarning):
    """Cells of a column may be read wrongly.

    Commas may separate decimals or thousands, days and months of dates may be swapped, or a column of numbers or dates
    has cells that are none. ``columns``, ``decimal``, ``thousands``, ``day_first`` and ``missing`` of
    :func:`suffice.fit` say how to read them.
    """


class TableModel(FittedRepr, FittedTable, BaseEstimator):  # type: ignore[misc]
    """Predict one column of a table from the others.

    The kind of each column is inferred from its cells: numeric, count, boolean, category, date or text; identifiers are
    ignored. Cells may be missing. Beside the predictor, every model holds a naive Bayes description of the rows of each
    class, which samples rows, imputes missing cells and detects outliers.

    Parameters
    ----------
    model
        ``"auto"`` selects the simplest model within one standard error of the lowest cross-validated loss. For classes:
        ``"nb"``, ``"gda"``, ``"gda-full"``, ``"logistic"``, ``"softmax"``, ``"additive"`` (functions of columns and of
        pairs of columns), ``"local"``, ``"text"``. For numbers: ``"linear"``, ``"additive"``, ``"local"``. For counts:
        ``"poisson"`` and those for numbers.
    columns
        Kinds by column, instead of the inferred ones: "numeric", "count", "boolean", "category", "date", "text" or
        "ignore".
    task
        ``"classes"``, ``"numbers"`` or ``"counts"``; inferred from the target by default.
    folds
        Number of cross-validation folds. If rows times features times classes are more than 160,000, fewer of them are
        held out.
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

    group
        Column whose equal values mark rows that belong together, such as those of one customer: they are held out
        together. It is no feature unless ``columns`` gives it a kind.
    time
        Column of dates or numbers: models are compared on rows that are later than all rows they were fitted to. It is
        no feature unless ``columns`` gives it a kind. Not together with ``group``.
    weight
        Column of numbers, 0 or more: how much each row counts, in the fit and in all measures. It is no feature unless
        ``columns`` gives it a kind. :meth:`update`, :meth:`forget` and :meth:`evaluate` read it, too.

    positive
        The class, of two or more, whose probability is compared with the threshold, and whose precision and recall are
        measured; by default the second of two, or the first if less than a third of the rows are of it.
    cost
        Costs of a false positive and of a false negative, such as ``(1, 10)``: the threshold of lowest cost on held-out
        rows is chosen.
    threshold
        The positive class is predicted where its probability is at least this; by default that of ``cost``, or else the
        most probable class is predicted.

    Attributes
    ----------
    schema_ : the columns and their kinds
    model_ : the name of the model
    candidates_ : cross-validated losses of the models, the chosen one first, and of the baseline, which predicts the
        class frequencies, or the mean, for every row; one model and the baseline if the model was given
    warnings_ : columns that leak the target, copies of rows, classes that are never predicted, too few rows
    threshold_ : the threshold of predictions; None if the most probable class is predicted
    positive_ : the class whose probability is compared with the threshold, and whose PR AUC is measured
    thresholds_ : recall, precision and cost of thresholds on held-out rows, of two classes or with ``positive``
    importance_ : how much the loss of held-out rows rises if a column is shuffled, the most important first
    classes_ : (k,), if the task is classes
    rows_, skipped_ : number of rows learned, and of rows without a target, which are skipped
    fitted_rows_ : number of rows that the model was fitted to
    summed_ : where sums were computed: "here", "in DuckDB", "in PostgreSQL, of words here"
    ranges_ : the range of each numeric feature among the rows that models were compared on
    noise_ : root mean square of the residuals, if the task is numbers
    estimator_ : the fitted estimator
    description_ : naive Bayes model of the rows
    ledger_ : digests of the learned rows; None without a ledger
    predictor_ : Predictor
        The model as predictions use it: its scores of blocks of rows.
    seconds_ : float
        Seconds that the fit took.
    summed_note_ : str
        Why sums were computed here and not in the database; empty otherwise.

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

    def _fitted_html(self) -> str:
        facts = [
            ("target", f"{self.schema_.target} ({self.schema_.task})"),
            ("model", self.predictor_.model_type.title),
            ("rows", f"{self.rows_:,}"),
            ("columns", f"{len(self.schema_.predictors):,}"),
        ]
        found = [(each.model, f"{each.loss:.4g}") for each in self.candidates_ if not each.is_baseline]
        rises = [(each.column, f"{each.rise:.3g} ± {each.error:.2g}") for each in self.importance_[:10]]
        return fragment(
            table([], facts),
            table(["candidate", "held-out loss"], found) if found else "",
            table(["column", "rise of the held-out loss if shuffled"], rises) if rises else "",
            notes([each.message for each in self.warnings_]),
        )

    def fit(self, table: TableLike, target: VectorLike, *, watch: Watch | None = None) -> Self:
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
        fit_table(self, table, target, watch)
        for field in self.schema_.fields:
            if field.is_uncertain:
                warn_user(field.note, ReadingWarning)
        return self

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, TableModel):
            return NotImplemented
        self._refuse_unless_exact("be merged")
        other._refuse_unless_exact("be merged")
        one, two = _with_united_columns(self, other)
        _check_mergeable(one, two)
        both = type(self)(**self.get_params(deep=False))
        both.predictor_ = one.predictor_.merge(two.predictor_)
        both.predictor_.finish_update()
        both._merge_temperatures(one, two)
        both._description = None
        if one._description is not None and two._description is not None:
            both._description = copy.deepcopy(one._description)
            both._description.set_statistics(one._description.statistics_ + _components(one, two))
        both.schema_, both.model_, both.candidates_ = one.schema_, one.model_, []
        both.warnings_ = [*one.warnings_, *(each for each in two.warnings_ if each not in one.warnings_)]
        both._decision, both.thresholds_, both.importance_ = one._decision, [], []
        both._labels = one._labels
        both._set_labels(one._labels.union(two._labels)[0])
        both._bins, both._noise = one._bins, one._noise
        both.rows_, both.skipped_ = one.rows_ + two.rows_, one.skipped_ + two.skipped_
        both.fitted_rows_ = both.rows_
        both.ranges_ = join_ranges(one.ranges_, two.ranges_)
        both.ledger_ = None
        if one.ledger_ is not None and two.ledger_ is not None:
            both.ledger_ = one.ledger_.merge(two.ledger_)
        both.summed_ = one.summed_ if one.summed_ == two.summed_ else f"{one.summed_} and {two.summed_}"
        return both

    def _merge_temperatures(self, one: TableModel, two: TableModel) -> None:
        """Set the temperature to the harmonic mean of those of two models, weighted by their rows.

        The temperature of a model of one class says nothing.
        """
        if self.predictor_.model_type.is_tempered:
            models = [model for model in (one, two) if len(model._labels) > 1] or [one]
            joints: list[Any] = [model.predictor_.scorer for model in models]
            shares = [model.rows_ / joint.temperature for model, joint in zip(models, joints, strict=True)]
            self.predictor_.set_temperature(sum(model.rows_ for model in models) / sum(shares))

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
    table: TableLike,
    target: VectorLike,
    model: str = "auto",
    *,
    watch: Watch | None = None,
    collect: bool = False,
    decimal: str | None = None,
    thousands: str | None = None,
    day_first: bool | None = None,
    missing: Sequence[str] = (),
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
        Name of the model; by default the simplest within one standard error of the lowest cross-validated loss.
    watch
        Progress callback.
    collect
        Whether a data frame of Dask or Spark of any size is fetched; see :func:`open_table`.
    decimal, thousands, missing
        Separators of numbers that are strings, found for each column by default, and further strings that stand for a
        missing cell; see :class:`Dialect`.
    day_first
        Whether dates such as 03/04/2024 begin with the day, or with the month; found for each column by default.
    settings
        Further parameters of :class:`TableModel`: ``columns``, ``task``, ``folds``, ``group``, ``time``, ``weight``,
        ``positive``, ``cost``, ``threshold``, …

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import suffice
    >>> wine = load_wine(as_frame=True).frame
    >>> model = suffice.fit(wine, target="target")
    >>> model.schema_.task, bool(model.score(wine) > 0.97)
    ('classes', True)
    """
    if collect or missing or any(each is not None for each in (decimal, thousands, day_first)):
        if isinstance(table, Source):
            raise UsageError("the table is open already: give these arguments to open_table")
        strings = [str(name) for name, kind in (settings.get("columns") or {}).items() if kind in ("category", "text")]
        dialect = Dialect(missing=tuple(missing), decimal=decimal, thousands=thousands, day_first=day_first)
        table = open_table(table, dialect=dialect, strings=strings, collect=collect)
    return TableModel(model, **settings).fit(table, target, watch=watch)


def _with_united_columns(one: TableModel, two: TableModel) -> list[TableModel]:
    """Return two models that read the columns that do not vary in the rows of one of them as the other does."""
    fields = unite_fields(one.schema_, two.schema_, (one.rows_, two.rows_))
    models = [model._copy() if own else model for model, own in zip((one, two), fields, strict=True)]
    for model, own in zip(models, fields, strict=True):
        if own:
            model._set_fields(own)
    return models


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
        ("weight", one.schema_.roles.weight, two.schema_.roles.weight),
        ("threshold", one.threshold_, two.threshold_),
        ("positive class", one.threshold_ and one.positive_, two.threshold_ and two.positive_),
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
        if name in kinds[0] and one.schema_.field(name).parts != two.schema_.field(name).parts:
            raise TableError(
                f"column {name!r} holds times in one model and midnights alone in the other, which knows no hours: fit "
                "one model to all rows"
            )
    if list(kinds[0]) != list(kinds[1]):
        mine, theirs = next(pair for pair in zip(*kinds, strict=True) if pair[0] != pair[1])
        raise TableError(
            f"the models read columns in different orders, {mine!r} where the other reads {theirs!r}: give both tables "
            "the same order of columns, and fit again"
        )
