"""A model of a table: columns of any kind in, classes, numbers or counts out, with reasons."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored
from suffice.tables import reading
from suffice.tables.ahead import ahead
from suffice.tables.blocks import Block
from suffice.tables.choosing import Candidate, judge
from suffice.tables.describing import Description, cells_of
from suffice.tables.errors import TableError
from suffice.tables.explaining import RowExplanation, explained
from suffice.tables.forms import Form, candidates, form_of
from suffice.tables.imputing import imputed
from suffice.tables.measures import Evaluation
from suffice.tables.nesting import nested, unnested
from suffice.tables.predictors import Described, Predictor, restored
from suffice.tables.reading import Watch
from suffice.tables.sampling import drawn
from suffice.tables.schema import Schema
from suffice.tables.sources import Source, arrow, open_table
from suffice.tables.targets import Answers, Bins


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
        Models that are no sums over rows are fitted to so many rows, drawn at random, where there are more of them; to
        all, with None. Those that are sums take in every row in any case.
    random_state
        The seed of the folds, and of the rows that are drawn.

    Attributes
    ----------
    schema_ : the columns and what they are taken for
    model_ : the form of the model
    candidates_ : how well each form predicted held-out rows, the best first; empty where the model was given
    classes_ : (k,), where classes are predicted
    rows_, skipped_ : rows learnt, and rows left out because they have no target
    fitted_rows_ : rows that the model was fitted to
    noise_ : of numbers, how far they lie from what is expected of them: the root of the mean square
    estimator_ : the estimator that does the work
    description_ : naive Bayes over the rows

    Examples
    --------
    >>> import pandas as pd
    >>> streets = ["loud", "loud", "calm", "calm", "loud", None]
    >>> table = pd.DataFrame({"area": [40, 55, 80, 120, 45, 90], "street": streets, "sold": list("nnyyny")})
    >>> model = TableModel("nb").fit(table, "sold")
    >>> model.predict(pd.DataFrame({"area": [100], "street": [None]}))
    array(['y'], dtype='<U1')
    >>> print(model.explain(table[:1])[0])
    n: probability 0.9992, log-odds +7.152 against y
         +0.000  prior and base
         +5.989  area = 40
         +1.163  street = loud
    """

    schema_: Schema
    model_: str
    candidates_: list[Candidate]
    predictor_: Predictor
    rows_: int
    skipped_: int
    noise_: float
    fitted_rows_: int

    def __init__(
        self,
        model: str = "auto",
        *,
        columns: Mapping[str, str] | None = None,
        task: str | None = None,
        folds: int = 5,
        most_rows: int | None = 1_000_000,
        random_state: int = 0,
    ) -> None:
        self.model = model
        self.columns = columns
        self.task = task
        self.folds = folds
        self.most_rows = most_rows
        self.random_state = random_state

    # Learning.

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
        if self.most_rows is not None and self.most_rows < 1:
            raise ValueError(f"most_rows must be 1 or more, or None for all rows; got {self.most_rows!r}")
        source, name = _with_target(table, target)
        start = time.perf_counter()

        found = reading.read(source, name, self.columns, self.task, self._drawn, self.random_state, watch)
        self._settle(found, watch)
        self.seconds_ = time.perf_counter() - start
        return self

    def _drawn(self, schema: Schema) -> int:
        """Return how many rows to draw: those that models are compared by, and others are fitted to."""
        if self.model != "auto" and form_of(self.model, schema).exact:
            return reading.COMPARED
        return max(self.most_rows or 0, reading.COMPARED)

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
        self.predictor_ = self._fitted(form, found, sample)
        if form.generative and form.name != "text":
            self.predictor_.inner.set_params(temperature=best.temperature)
        self._description = None if isinstance(self.predictor_, Described) else found.description
        self.schema_, self.model_ = schema, form.name
        self._labels, self._bins = labels, found.bins
        self.rows_, self.skipped_ = found.rows, found.skipped
        self.noise_ = 0.0
        if schema.task == "numbers":
            self.noise_ = float(np.sqrt(np.mean((values - self.predictor_.answers(sample)) ** 2)))

    def _fitted(self, form: Form, found: reading.Read, sample: Block) -> Predictor:
        """Return the model of all rows, or of as many as it may have."""
        predictor = Predictor.of(form, found.schema.task, found.labels)
        self.fitted_rows_ = found.rows
        if isinstance(predictor, Described):
            predictor.inner = found.description
            return predictor
        predictor.prepare(sample)
        if found.rows > sample.rows:
            predictor.complete(found.description)
        if form.exact or self.most_rows is None:
            return predictor.learn(found.again())
        self.fitted_rows_ = found.sample.num_rows
        return predictor.learn(found.drawn())

    @property
    def estimator_(self) -> Any:
        """The estimator that does the work."""
        return self.predictor_.inner

    @property
    def description_(self) -> Description:
        """Naive Bayes over the rows, class by class."""
        check_is_fitted(self, "predictor_")
        return self.predictor_.inner if self._description is None else self._description

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes, (k,)."""
        if self.schema_.task != "classes":
            raise AttributeError(f"this model predicts {self.schema_.task}, not classes")
        return reading.names_array(self._labels)

    # Answers.

    def blocks(self, table: Any) -> Iterator[tuple[Any, Block]]:
        """Yield the batches of a table, and what the model sees of each."""
        check_is_fitted(self, "predictor_")
        source = open_table(table)
        self.schema_.check_columns(source.schema().names, source.name)
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
        if self.schema_.task != "classes":
            raise AttributeError(f"this model predicts {self.schema_.task}, not classes: use predict")
        return self._answers(table)

    def evaluate(self, table: Any, watch: Watch | None = None) -> Evaluation:
        """Return how well the model predicts a table whose target is known."""
        check_is_fitted(self, "predictor_")
        seen = Evaluation(self.schema_.task, self._labels)
        for block, values in self._learnt(table, watch):
            seen.add(self.predictor_.answers(block), values)
        if not seen.rows:
            raise TableError(f"no row has a target in {self.schema_.target!r}: there is nothing to compare with")
        return seen

    def score(self, table: Any, y: Any = None) -> float:
        """Return the accuracy, or R² of numbers and counts."""
        source, _ = (table, "") if y is None else _with_target(table, y, self.schema_.target)
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
        """Draw rows, with their target, from the description: an Arrow table."""
        check_is_fitted(self, "predictor_")
        if n < 0:
            raise ValueError(f"n must not be negative; got {n}")
        return drawn(self, n, random_state)

    def impute(self, table: Any) -> Any:
        """Return a table with its missing cells filled in by what the others of their row suggest: an Arrow table."""
        pa = arrow()
        found = [imputed(self, batch, block)[0] for batch, block in self.blocks(table)]
        if not found:
            raise TableError("the table has no rows")
        return pa.Table.from_batches(found)

    # The algebra.

    def _learnt(self, table: Any, watch: Watch | None = None) -> Iterator[tuple[Block, npt.NDArray[Any]]]:
        """Yield rows that have a target, with codes of the classes, or numbers."""
        source = open_table(table)
        self.schema_.check_columns(source.schema().names, source.name, target=True)
        first, expected = 0, source.rows()
        for batch in ahead(source.batches()):
            block, answers = reading.rows_of(batch, self.schema_, first)
            first += batch.num_rows
            if block.rows:
                yield block, self._values(answers)
            if watch is not None:
                watch("reading", first, expected)

    def _values(self, answers: Answers) -> npt.NDArray[Any]:
        return answers.into(self._labels) if self.schema_.task == "classes" else answers.values

    def _codes(self, values: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
        return values if self._bins is None else self._bins.codes(values)

    def update(self, table: Any, watch: Watch | None = None) -> Self:
        """Learn from more rows, exactly as if they had been there from the start."""
        self._refuse_unless_exact("learn more rows exactly")
        for block, values in self._learnt(table, watch):
            self.predictor_.add(block, values)
            if self._description is not None:
                more = self._description.summed(block, self._codes(values), self._description_labels)
                self._description.remember(self._description.statistics_ + more)
            self.rows_ += block.rows
        return self

    def forget(self, table: Any, watch: Watch | None = None) -> dict[str, float]:
        """Unlearn rows exactly, and return a certificate: how many rows are gone, and the digits that are left."""
        self._refuse_unless_exact("forget rows")
        lost, rows = 0.0, 0
        for block, values in self._learnt(table, watch):
            lost = max(lost, self.predictor_.remove(block, values))
            if self._description is not None:
                gone = self._description.summed(block, self._codes(values), self._description_labels)
                removal = self._description.statistics_.remove(gone)
                self._description.remember(removal.left)
                lost = max(lost, float(removal.digits_lost))
            rows += block.rows
        self.rows_ -= rows
        return {"rows": rows, "left": self.rows_, "digits_lost": lost, "digits_kept": 15.9 - lost}

    @property
    def _description_labels(self) -> Labels:
        return self._labels if self._bins is None else self._bins.labels

    def _refuse_unless_exact(self, what: str) -> None:
        check_is_fitted(self, "predictor_")
        if not self.predictor_.form.exact:
            raise self.predictor_._refused(what)

    def __add__(self, other: Any) -> Self:
        if not isinstance(other, TableModel):
            return NotImplemented
        self._refuse_unless_exact("be merged")
        _check_alike(self, other)
        both = type(self)(**self.get_params(deep=False))
        both.predictor_ = self.predictor_.merged(other.predictor_)
        both._description = None
        if self._description is not None and other._description is not None:
            both._description = self._description + other._description
        both.schema_, both.model_, both.candidates_ = self.schema_, self.model_, []
        both._labels = self._labels.union(other._labels)[0]
        both._bins = self._bins
        both.rows_, both.skipped_ = self.rows_ + other.rows_, self.skipped_ + other.skipped_
        both.fitted_rows_ = both.rows_
        both.noise_ = float(
            np.hypot(self.noise_ * self.rows_**0.5, other.noise_ * other.rows_**0.5) / max(both.rows_, 1) ** 0.5
        )
        return both

    def __radd__(self, other: Any) -> Self:
        """Let ``sum(models)`` start from its 0."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

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

    # Files.

    def _contents(self) -> Contents:
        check_is_fitted(self, "predictor_")
        parts = {"predictor": self.predictor_.contents()}
        if self._description is not None:
            parts["description"] = self._description._contents()
        return nested(
            type(self).__name__,
            {
                "parameters": {**self.get_params(deep=False), "columns": dict(self.columns) if self.columns else None},
                "schema": self.schema_.to_plain(),
                "classes": list(self._labels),
                "bins": None if self._bins is None else self._bins.edges.tolist(),
                "predictor": {"form": self.model_, **self.predictor_.settings()},
                "candidates": [vars(each) for each in self.candidates_],
                "rows": self.rows_,
                "skipped": self.skipped_,
                "noise": self.noise_,
                "fitted_rows": self.fitted_rows_,
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
        model.candidates_ = [Candidate(**each) for each in settings["candidates"]]
        model.rows_, model.skipped_ = int(settings["rows"]), int(settings["skipped"])
        model.noise_ = float(settings["noise"])
        model.fitted_rows_ = int(settings["fitted_rows"])
        return model


def _with_target(table: Any, target: Any, name: str = "target") -> tuple[Source, str]:
    """Return the table as a source that holds the target, and the target's name."""
    source = open_table(table)
    if isinstance(target, str):
        return source, target
    pa = arrow()
    values = target.to_list() if hasattr(target, "to_list") else list(target)
    whole = pa.Table.from_batches(list(source.batches()))
    if len(values) != whole.num_rows:
        raise ValueError(
            f"the table has {whole.num_rows} rows and the target {len(values)}: there must be one for each"
        )
    values = [value.item() if isinstance(value, np.generic) else value for value in values]
    return open_table(whole.append_column(name, pa.array(values))), name


def _check_alike(one: TableModel, two: TableModel) -> None:
    for what, mine, theirs in (
        ("form", one.model_, two.model_),
        ("target", one.schema_.target, two.schema_.target),
        ("task", one.schema_.task, two.schema_.task),
    ):
        if mine != theirs:
            raise TableError(f"models of the {what} {mine!r} and {theirs!r} cannot be merged: fit them alike")
    mine_kinds = {feature.name: feature.kind for feature in one.schema_.features}
    their_kinds = {feature.name: feature.kind for feature in two.schema_.features}
    if mine_kinds != their_kinds:
        name = next(name for name in {**mine_kinds, **their_kinds} if mine_kinds.get(name) != their_kinds.get(name))
        raise TableError(
            f"the models take column {name!r} for {mine_kinds.get(name, 'nothing')} and "
            f"{their_kinds.get(name, 'nothing')}: fit both with --kind {name}=KIND"
        )


def fit(table: Any, target: Any, model: str = "auto", *, watch: Watch | None = None, **settings: Any) -> TableModel:
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
    settings
        Others of :class:`TableModel`: ``columns``, ``task``, ``folds``, ``random_state``.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> import suffice
    >>> wine = load_wine(as_frame=True).frame
    >>> model = suffice.fit(wine, target="target")
    >>> model.schema_.task, bool(model.score(wine) > 0.97)
    ('classes', True)
    """
    return TableModel(model, **settings).fit(table, target, watch=watch)
