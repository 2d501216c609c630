"""Naive Bayes over a table; every TableModel has one as the description of its rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.column_kinds import FEATURE_KINDS
from suffice.generative.categories import Coded
from suffice.generative.joint import Joint, What
from suffice.generative.product import Cells, Product, TextColumns, class_weights, kind_of, pruned, summarise
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.engine import engine_for
from suffice.kernels.errors import UnderflowError
from suffice.statistics import Labels, Parts, Statistics
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored
from suffice.store.parameters import decode_parameters, encode_parameters
from suffice.tables.encoding import Block
from suffice.tables.errors import TableError, squares_underflow
from suffice.tables.predictors.base import Effects, EncodedRows, Predictor
from suffice.tables.predictors.scorers import Scorer
from suffice.tables.schema import Feature

if TYPE_CHECKING:
    from suffice.generative.mixed_nb import MixedNB

_ENGINE = ThreadEngine()


def to_cells(block: Block) -> Cells:
    """Return rows as MixedNB takes them, grouped by kind."""
    places = {
        kind: tuple(place for place, feature in enumerate(block.features) if feature.kind == kind)
        for kind in FEATURE_KINDS
    }
    places = {kind: found for kind, found in places.items() if found}
    return Cells(len(block.features), places, {kind: _part(kind, block, found) for kind, found in places.items()})


def _part(kind: str, block: Block, places: tuple[int, ...]) -> Any:
    columns = [block.columns[place] for place in places]
    if kind == "text":
        return TextColumns(tuple(columns))
    if kind == "category":
        vocabularies = tuple(column.vocabulary for column in columns)
        codes = np.stack([column.codes for column in columns]).T
        return Coded(codes, vocabularies, tuple(map(len, vocabularies)))
    return np.stack(columns).T  # in column order, as they are in memory


#: Parameters of :class:`suffice.MixedNB`, as a file names them.
_PARAMETERS: dict[str, Any] = {
    "alpha": 1.0,
    "columns": None,
    "n_jobs": None,
    "priors": None,
    "temperature": 1.0,
    "var_smoothing": 1e-9,
}


class Description(Stored):
    """Naive Bayes over blocks of a table: the sums, and the p(x, y) that is estimated from them, without scikit-learn.

    A file holds it as it holds a :class:`suffice.MixedNB`; :meth:`estimator` returns that estimator.

    Parameters
    ----------
    column_kinds
        The kind of each feature, by name.
    parameters
        Parameters of MixedNB that differ from its defaults.
    """

    statistics_: Any  # Parts, the sums; missing before the first rows

    def __init__(self, column_kinds: Mapping[str, str], parameters: Mapping[str, Any] = MappingProxyType({})) -> None:
        self.column_kinds_ = dict(column_kinds)
        self.parameters = {**_PARAMETERS, **parameters}

    @classmethod
    def over(cls, features: tuple[Feature, ...]) -> Self:
        """Return an unfitted model of these features."""
        return cls({feature.name: feature.kind for feature in features})

    def set_statistics(self, statistics: Parts) -> Self:
        """Replace the sums."""
        self.statistics_ = statistics
        vars(self).pop("joint_", None)
        return self

    def with_params(self, *, temperature: float) -> Self:
        """Return the model of the same sums with another temperature."""
        found = type(self)(self.column_kinds_, {**self.parameters, "temperature": temperature})
        return found.set_statistics(self.statistics_)

    @cached_property
    def joint_(self) -> Joint:
        """The estimated p(x, y)."""
        known, given = pruned(self.statistics_), self.parameters
        rows = class_weights(known)
        if given["priors"] is None:
            prior = validation.shares(known.labels, rows)
        else:
            prior = validation.priors(given["priors"], known.labels, rows=rows)
        try:
            conditional = Product.estimate(known, given["alpha"], given["var_smoothing"])
        except UnderflowError as error:
            raise squares_underflow(self._names("numeric")[error.column], error.size) from None
        return Joint(known.labels, prior, conditional, float(given["temperature"]))

    @property
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class, (k,)."""
        return class_weights(self.statistics_)

    def score(self, cells: Cells, what: What) -> FloatArray:
        """Return one score, or one for each class, of every row."""
        conditional: Any = self.joint_.conditional
        x = conditional.scorable(cells)
        scores: FloatArray = self.joint_.read(engine_for(None, x), x, what)
        return scores

    def log_evidence(self, cells: Cells) -> FloatArray:
        """Return log p(x) of each row, (n,)."""
        base: Any = self.joint_.conditional.log_base(cells)
        return np.asarray(self.score(cells, "evidence") + base)

    def subtract(self, gone: Statistics) -> None:
        """Take rows out of the sum."""
        self.set_statistics(pruned(self.statistics_ - gone))

    def digits_kept(self) -> float:
        """Return how many digits of the sums are known; raise with the column if they are too few."""
        _ = self.joint_
        return float(self.statistics_.digits_kept())

    def column_at(self, place: tuple[int, ...]) -> str | None:
        """Return the column at a place of the sums, if it is one."""
        if not place:
            return None
        kind = kind_of(self.statistics_.parts[place[0]])
        names = [str(name) for name, each in self.column_kinds_.items() if each == kind]
        return names[place[1]] if len(place) > 1 else ", ".join(names)

    def __add__(self, other: Self) -> Self:
        found = type(self)(self.column_kinds_, self.parameters)
        return found.set_statistics(self.statistics_ + other.statistics_)

    def estimator(self) -> MixedNB:
        """Return the estimator of the same sums and parameters."""
        from suffice.generative.mixed_nb import MixedNB

        return MixedNB._from_contents(self._contents())

    def _contents(self) -> Contents:
        labels = self.statistics_.labels
        classes = validation.classes_array(labels, np.array(labels.names))
        return Contents(
            kind=type(self).__name__,
            settings={
                "parameters": encode_parameters(self.parameters),
                "chosen": {},
                "classes": {"names": list(labels), "dtype": classes.dtype.kind},
                "classes_fixed": False,
                "features": len(self.column_kinds_),
                "feature_names": list(self.column_kinds_),
                "column_kinds": [[name, kind] for name, kind in self.column_kinds_.items()],
            },
            statistics={"sum": self.statistics_},
            arrays={},
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls(dict(settings["column_kinds"]), decode_parameters(settings["parameters"]))
        if len(model.column_kinds_) != int(settings["features"]):
            raise ValueError(f"column_kinds has {len(model.column_kinds_)} kinds for {settings['features']} features")
        statistics: Any = contents.statistics["sum"]
        labels = Labels(tuple(settings["classes"]["names"]))
        if statistics.labels != labels:
            raise ValueError(f"the sum is of the classes {list(statistics.labels)!r}, the model of {list(labels)!r}")
        model.set_statistics(statistics)
        _ = model.joint_
        return model

    def sum_block(self, block: Block, codes: npt.NDArray[np.int64], labels: Labels) -> Parts:
        """Return the sum over rows."""
        try:
            return _ENGINE.accumulate(partial(summarise, labels), Batch(to_cells(block), codes, block.weights))
        except OverflowError as error:
            column = _find_overflow(block)
            raise (
                error if column is None else TableError(f"the sums of column {column!r} overflow float64: rescale it")
            ) from None

    @property
    def is_empty(self) -> bool:
        """Whether no row was learned."""
        return "statistics_" not in vars(self)

    def levels(self) -> dict[str, tuple[str, ...]]:
        """Return the categories of each categorical feature."""
        names = [name for name, kind in self.column_kinds_.items() if kind == "category"]
        conditional: Any = self.joint_.conditional
        found = conditional.factors["category"].vocabularies if names else ()
        return {name: tuple(map(str, levels)) for name, levels in zip(names, found, strict=True)}

    def known(self) -> dict[str, FloatArray]:
        """Return the number of rows of each class in which each feature is known; texts are never missing."""
        found: dict[str, FloatArray] = {}
        for part in self.statistics_.parts:
            kind = kind_of(part)
            names = [str(name) for name, each in self.column_kinds_.items() if each == kind]
            for place, name in enumerate(names):
                if kind == "category":
                    found[name] = part.feature(place).sum(axis=1)
                else:
                    found[name] = part.rows if kind == "text" else part.observed[:, place]
        return found

    def constants(self) -> dict[str, tuple[str | float, ...]]:
        """Return the features that do not vary, with the cell of all rows; with none if all cells are missing."""
        found: dict[str, tuple[str | float, ...]] = {}
        rows = self.class_count_
        for name, known in self.known().items():
            kind = self.column_kinds_[name]
            if kind not in ("numeric", "category") or not ((known == 0).all() or (known == rows).all()):
                continue
            part: Any = next(part for part in self.statistics_.parts if kind_of(part) == kind)
            place = self._names(kind).index(name)
            seen = known > 0
            cells = list(part.vocabularies[place]) if kind == "category" else np.unique(part.mean[seen, place]).tolist()
            if len(cells) <= 1 and (kind == "category" or not part.spread[seen, place].any()):
                found[name] = tuple(cells)
        return found

    def _names(self, kind: str) -> list[str]:
        """Return the names of the features of a kind, in the order of their sums."""
        return [str(name) for name, each in self.column_kinds_.items() if each == kind]

    def add_columns(self, features: Sequence[Feature], cells: Block) -> Self:
        """Return the description of the same rows with columns that do not vary: sums follow from the class weights.

        Parameters
        ----------
        features
            All features, in their new order.
        cells
            One row, with the cells of all rows in the new columns.
        """
        weights, labels = self.class_count_, self.statistics_.labels
        rows = replace(cells[np.zeros(len(labels), dtype=np.int64)], weights=weights)
        more = Description.over(cells.features)
        more.set_statistics(more.sum_block(rows, np.arange(len(labels)), labels))
        found = type(self)({feature.name: feature.kind for feature in features}, self.parameters)
        parts = []
        for kind in FEATURE_KINDS:
            names = found._names(kind)
            pair = [(each, part) for each in (self, more) for part in each.statistics_.parts if kind_of(part) == kind]
            if len(pair) == 2:
                have = [name for each, _ in pair for name in each._names(kind)]
                parts.append(_join_columns(pair[0][1], pair[1][1], [have.index(name) for name in names]))
            elif pair:
                parts.append(pair[0][1])
        return found.set_statistics(Parts(tuple(parts)))

    def gaps(self) -> dict[str, bool]:
        """Return which features have missing cells."""
        rows = self.class_count_.sum()
        return {name: bool(known.sum() < rows) for name, known in self.known().items()}


class NaiveBayesPredictor(Predictor):
    """Naive Bayes on the cells, without a design matrix."""

    _inner: Description

    @property
    def scorer(self) -> Scorer:
        """The estimated p(x, y)."""
        return self._inner.joint_

    @property
    def estimator(self) -> Any:
        """The estimator, with the sums of the description."""
        return self._inner.estimator()

    def set_temperature(self, temperature: float) -> None:
        """Divide the scores by a temperature."""
        self.inner = self.inner.with_params(temperature=temperature)

    def prepare(self, sample: Block) -> None:
        """Do nothing: there is no encoding to choose."""
        self.inner = Description.over(sample.features)

    def learn(self, rows: Iterable[EncodedRows]) -> Self:
        """Fit the model to blocks of rows."""
        for block, codes in rows:
            self.add(block, codes)
        return self

    def scores(self, block: Block) -> FloatArray:
        """Return log p(x, y), (n, k), divided by the temperature."""
        return np.asarray(self._inner.score(to_cells(block), "joint") / self._inner.joint_.temperature)

    def effects(self, block: Block) -> Effects:
        """Return the contribution of each feature to the scores."""
        joint = self.inner.joint_
        conditional: Any = joint.conditional
        parts, base = joint.contributions(conditional.readable(to_cells(block)))
        return Effects([part / joint.temperature for part in parts], base / joint.temperature)

    def add(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Add rows."""
        more = self.inner.sum_block(block, values, self.labels)
        self.inner.set_statistics(more if self.inner.is_empty else self.inner.statistics_ + more)

    def remove(self, block: Block, values: npt.NDArray[Any]) -> None:
        """Subtract rows."""
        self.inner.subtract(self.inner.sum_block(block, values, self.labels))

    def column_at(self, place: tuple[int, ...]) -> str | None:
        """Return the column at a place of the sums, if it is one."""
        return self._inner.column_at(place)

    def finish_removal(self) -> float:
        """Estimate the model, and return how many digits of the sums are known."""
        return float(self.inner.digits_kept())

    def add_columns(self, features: Sequence[Feature], cells: Block) -> None:
        """Add columns that had the same cell in all rows."""
        self.inner = self.inner.add_columns(features, cells)

    def restore_estimator(self, contents: Contents) -> None:
        """Set the description to that of a file."""
        self.inner = Description._from_contents(contents)

    def merge(self, other: Any) -> Predictor:
        """Return the model of the rows of both."""
        both = NaiveBayesPredictor(self.model_type, self.task, self.labels.union(other.labels)[0])
        both.inner = self.inner + other.inner
        return both


def _join_columns(one: Any, two: Any, order: Sequence[int]) -> Any:
    """Return one sum over the columns of two sums of the same rows and classes, in a given order."""
    if hasattr(one, "vocabularies"):
        names = [*one.vocabularies, *two.vocabularies]
        ends = np.cumsum([0, *map(len, names)])
        columns = np.concatenate([np.zeros(0, dtype=np.intp), *(np.arange(ends[at], ends[at + 1]) for at in order)])
        both = replace(
            one,
            counts=np.hstack([one.counts, two.counts]),
            counts_error=np.hstack([one.count_errors, two.count_errors]),
            vocabularies=tuple(names),
        )
        return both.take_columns(columns, tuple(names[place] for place in order))
    if one.misses_cells or two.misses_cells:
        one, two = one.with_cells(), two.with_cells()
    if hasattr(one, "counts"):
        one, two = (replace(each, counts_error=each.count_errors) for each in (one, two))
    else:
        one, two = (replace(each, bounds=np.stack(each.error)) for each in (one, two))
    shape = getattr(one, one.table_field).shape
    tables = [field.name for field in fields(one) if np.shape(getattr(one, field.name))[-2:] == shape]
    joined = {name: np.concatenate([getattr(one, name), getattr(two, name)], axis=-1)[..., order] for name in tables}
    return replace(one, **joined)


def _find_overflow(block: Block) -> str | None:
    """Return the column whose sum of squares overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        for feature, column in zip(block.features, block.columns, strict=True):
            if feature.kind in ("numeric", "count") and not np.isfinite(np.nansum(np.square(column))):
                return feature.name
    return None
