"""From rows of a table to answers: one class for each way in which models read rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from scipy.special import log_softmax, softmax

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents
from suffice.tables.blocks import Block
from suffice.tables.describing import Description, cells_of
from suffice.tables.design import Design, design_of
from suffice.tables.errors import TableError
from suffice.tables.forms import FORMS, Form
from suffice.tables.matrices import stacked
from suffice.tables.schema import Task

Learnt = tuple[Block, npt.NDArray[Any]]  # rows, and codes of classes or numbers


class Effects(NamedTuple):
    """What each feature adds to the score of each class, or to the linear predictor of a number."""

    parts: list[FloatArray]  # of each class, (n, features)
    base: FloatArray  # (n, k)


class Predictor(ABC):
    """A fitted model of a target given the rows of a table.

    Parameters
    ----------
    form
        Which model it is.
    task
        What is predicted.
    labels
        The classes; empty where a number is predicted.
    """

    reads: ClassVar[tuple[str, ...]]
    inner: Any  # the estimator that does the work

    def __init__(self, form: Form, task: Task, labels: Labels) -> None:
        self.form = form
        self.task = task
        self.labels = labels

    @classmethod
    def of(cls, form: Form, task: Task, labels: Labels) -> Predictor:
        """Return a predictor of a form that has learnt nothing yet."""
        kind = next(each for each in (Described, Designed, Written, Near) if form.reads in each.reads)
        return kind(form, task, labels)

    @abstractmethod
    def prepare(self, sample: Block) -> None:
        """Settle how rows are read, by a sample of them."""

    def complete(self, description: Description) -> None:  # noqa: B027  (few have to)
        """Settle what a sample cannot tell of all rows, by their sums."""

    @abstractmethod
    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows, block by block."""

    @abstractmethod
    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), whose softmax is p(y | x); or expected numbers, (n,)."""

    @abstractmethod
    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""

    def answers(self, block: Block) -> FloatArray:
        """Return the probabilities of the classes, (n, k), or expected numbers, (n,)."""
        scores = self.scores(block)
        return np.asarray(softmax(scores, axis=1)) if self.task == "classes" else scores

    def log_answers(self, block: Block) -> FloatArray:
        """Return the log-probabilities of the classes, (n, k)."""
        return np.asarray(log_softmax(self.scores(block), axis=1))

    # The algebra, where the model is a reading of a sum.

    def _refused(self, what: str) -> TableError:
        return TableError(
            f"a model of the form {self.form.name!r} is no sum over rows, and cannot {what}: fit it again to the rows "
            "that shall count, or use nb, gda, linear or text"
        )

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows, as if they had been there from the start."""
        raise self._refused("learn more rows exactly")

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows, and return the digits that this cost."""
        raise self._refused("forget rows")

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        raise self._refused("be merged")

    # Files.

    def settings(self) -> dict[str, Any]:
        """Return what a file must hold beside the inner model."""
        return {}

    def restore(self, settings: Any) -> None:  # noqa: B027  (few have to)
        """Take up what :meth:`settings` wrote."""

    def contents(self) -> Contents:
        """Return what a file holds of the inner model."""
        found: Contents = self.inner._contents()
        return found


class Described(Predictor):
    """Naive Bayes, which reads cells as they are."""

    reads = ("cells",)
    inner: Description

    def prepare(self, sample: Block) -> None:
        """Nothing is to be settled."""
        self.inner = Description.over(sample.features)

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows, block by block."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log p(x, y), (n, k), divided by the temperature."""
        joint: FloatArray = self.inner._rows_read(cells_of(block), "joint")
        return joint / self.inner._temperature()

    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""
        joint = self.inner._joint
        parts, base = joint.contributions(self.inner._readable(joint, cells_of(block)))
        return Effects([part / joint.temperature for part in parts], base / joint.temperature)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows."""
        more = self.inner.summed(block, values, self.labels)
        self.inner.remember(more if self.inner.is_empty else self.inner.statistics_ + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        removal = self.inner.statistics_.remove(self.inner.summed(block, values, self.labels))
        self.inner.remember(removal.left)
        return float(removal.digits_lost)

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = Described(self.form, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


class Designed(Predictor):
    """Models with linear predictors, which read a matrix."""

    reads = ("design", "curves")
    design: Design

    def prepare(self, sample: Block) -> None:
        """Settle which columns the matrix has."""
        sums = self.form.exact
        self.design = design_of(sample, curves=self.form.reads == "curves", text=not sums)
        if sums and self.design.is_sparse:
            raise TableError(f"{self.form.name} would need {self.design.width} columns, which are too many for it")
        self.inner = _estimator(self.form, self.task, len(self.labels))

    def complete(self, description: Description) -> None:
        """Give columns to levels and gaps that the sample lacks."""
        self.design = self.design.completed(description.levels(), description.gaps())

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows: block by block where the model is a sum, from all of them where it is not."""
        if self.form.exact:
            for block, values in rows:
                self.add(block, values)
            return self
        with stacked((self.design.encode(block), values) for block, values in rows) as (matrix, values), _quiet():
            self.inner.fit(matrix, values if self.task != "classes" else np.array(self.labels.names)[values])
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, k), or expected numbers, (n,)."""
        matrix = self.design.encode(block)
        if self.task != "classes":
            return np.asarray(self.inner.predict(matrix))
        if self.form.generative:
            return np.asarray(self.inner._rows_read(matrix, "joint") / self.inner._temperature())
        coef, intercept = self.inner._scores_of_classes()
        scores = np.full((block.rows, len(self.labels)), -np.inf)  # of a class without rows
        scores[:, self.labels.positions(Labels.of(self.inner.classes_))] = matrix @ coef.T + intercept
        return np.asarray(scores)

    def effects(self, block: Block) -> Effects:
        """Return the scores taken apart, feature by feature."""
        matrix = self.design.encode(block)
        if self.form.generative:
            joint = self.inner._joint
            parts, base = joint.contributions(matrix)
            return Effects([self.design.grouped(part) / joint.temperature for part in parts], base / joint.temperature)
        if self.task == "classes":
            coef, intercept = self.inner._scores_of_classes()
        else:
            coef, intercept = np.atleast_2d(self.inner.coef_), np.atleast_1d(self.inner.intercept_)
        parts = [self.design.grouped(_times(matrix, row)) for row in coef]
        return Effects(parts, np.tile(intercept, (block.rows, 1)))

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows."""
        if not self.form.exact:
            super().add(block, values)
        with _quiet():
            self.inner.partial_fit(self.design.encode(block), *self._targets(values))

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        if not self.form.exact:
            return super().remove(block, values)
        self.inner.__dict__.pop("digits_lost_", None)
        self.inner.forget(self.design.encode(block), *self._targets(values)[:1])
        return float(self.inner.digits_lost_)

    def _targets(self, values: npt.NDArray[Any]) -> tuple[Any, ...]:
        """Return the targets as the inner model takes them, and the classes that there may be."""
        if self.task != "classes":
            return (values,)
        names = np.array(self.labels.names)
        return names[values], names

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both, in a design that says the columns of either."""
        if not self.form.exact:
            return super().merged(other)
        both = Designed(self.form, self.task, self.labels.union(other.labels)[0])
        both.design = self.design.union(other.design)
        both.inner = _moved(self, both.design) + _moved(other, both.design)
        return both

    def settings(self) -> dict[str, Any]:
        """Return the design."""
        return {"design": self.design.to_plain()}

    def restore(self, settings: Any) -> None:
        """Take up the design."""
        self.design = Design.from_plain(settings["design"])


def _times(matrix: Any, row: FloatArray) -> Any:
    return matrix.multiply(row[None, :]) if hasattr(matrix, "multiply") else matrix * row


def _moved(predictor: Designed, design: Design) -> Any:
    """Return the inner model with its sums over the columns of another design."""
    from suffice.tables.matrices import transformed

    A, b = predictor.design.into(design)
    inner = predictor.inner
    if np.array_equal(A, np.eye(len(A))) and not b.any():
        return inner
    contents = inner._contents()
    statistics = {name: transformed(each, A, b) for name, each in contents.statistics.items()}
    settings = {**contents.settings, "features": design.width}
    return type(inner)._from_contents(Contents(contents.kind, settings, statistics, contents.arrays))


def _estimator(form: Form, task: Task, classes: int) -> Any:
    from suffice import discriminative, generative

    match form.name:
        case "gda":
            return generative.GDA(covariance="tied", shrinkage="oas")
        case "gda-full":
            return generative.GDA(covariance="full", shrinkage="oas")
        case "linear":
            return discriminative.LinearRegression()
        case "poisson":
            return discriminative.PoissonRegression(l2=1.0, inference=False)
        case "softmax":
            return discriminative.SoftmaxRegression(l2=1.0, inference=False)
        case "additive" if task == "numbers":
            return discriminative.LinearRegression(l2=1.0)
        case "additive" if task == "counts":
            return discriminative.PoissonRegression(l2=1.0, inference=False)
    return discriminative.LogisticRegression(l2=1.0, inference=False)


class Written(Predictor):
    """Text classifiers, which read words."""

    reads = ("text",)

    def prepare(self, sample: Block) -> None:
        """See that there is text."""
        from suffice.documents import TextClassifier

        if not any(feature.kind == "text" for feature in sample.features):
            raise TableError("the model 'text' reads text, and no column holds any: give --kind COLUMN=text")
        self.inner = TextClassifier()

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Learn from rows, block by block."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    @staticmethod
    def texts(block: Block) -> list[str]:
        """Return the text of each row, of all columns that hold some."""
        columns = [
            column for feature, column in zip(block.features, block.columns, strict=True) if feature.kind == "text"
        ]
        return list(map("\n".join, zip(*columns, strict=True)))

    def scores(self, block: Block) -> FloatArray:
        """Return the log-probabilities of the classes, (n, k)."""
        with np.errstate(divide="ignore"):
            return np.asarray(self.inner.predict_log_proba(self.texts(block)))

    def effects(self, block: Block) -> Effects:
        """Return what the words of each row add together."""
        found = [self.inner.explain(text) for text in self.texts(block)]
        place = next(place for place, feature in enumerate(block.features) if feature.kind == "text")
        parts = []
        for code in range(len(self.labels)):
            part = np.zeros((block.rows, len(block.features)))
            part[:, place] = [each.contributions[code].sum() for each in found]
            parts.append(part)
        return Effects(parts, np.stack([each.base for each in found]))

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Learn from more rows."""
        names = np.array(self.labels.names)
        self.inner.partial_fit(self.texts(block), names[values], classes=names)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> float:
        """Unlearn rows exactly."""
        self.inner.forget(self.texts(block), np.array(self.labels.names)[values])
        return 0.0

    def merged(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = Written(self.form, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


class Near(Predictor):
    """Locally weighted regression, which reads the rows around a query."""

    reads = ("near",)
    design: Design

    def prepare(self, sample: Block) -> None:
        """Settle the scales of distances."""
        from suffice.discriminative import LocallyWeightedRegression

        if len(self.labels) > 2:
            raise TableError(f"the model 'local' tells two classes apart; the target has {len(self.labels)}")
        self.design = design_of(sample)
        family: Any = "bernoulli" if self.task == "classes" else "gaussian"
        self.inner = LocallyWeightedRegression(bandwidth="auto", family=family, l2=1e-3)

    def learn(self, rows: Iterable[Learnt]) -> Self:
        """Keep the rows."""
        with stacked((self.design.encode(block), values) for block, values in rows) as (matrix, values), _quiet():
            if sparse.issparse(matrix):
                raise TableError(
                    f"the model 'local' would measure distances in {self.design.width} columns: use another"
                )
            self.inner.fit(np.array(matrix), values)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log-scores of the classes, (n, 2), or expected numbers, (n,)."""
        with _quiet():
            if self.task == "classes":
                return np.asarray(self.inner.predict_log_proba(self.design.encode(block)))
            return np.asarray(self.inner.predict(self.design.encode(block)))

    def effects(self, block: Block) -> Effects:
        """Say that there is nothing to take apart."""
        raise TableError(
            "the model 'local' fits anew around every row and has no parts to show: use another to explain"
        )

    settings = Designed.settings
    restore = Designed.restore


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep warnings back that say what a table's columns are bound to be: dependent, far apart, few."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def restored(plain: Any, contents: Contents, task: Task, labels: Labels) -> Predictor:
    """Return the predictor that a file holds."""
    from suffice.store import Stored

    found = Predictor.of(FORMS[plain["form"]], task, labels)
    found.restore(plain)
    found.inner = Stored.kinds[contents.kind]._from_contents(contents)
    return found
