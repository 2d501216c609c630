"""Naive Bayes over categories: names of any kind, and measurements cut into bins."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_array

from suffice import partitioned, validation
from suffice.data import Dataset
from suffice.data.frames import data_frame
from suffice.data.sql import DatabaseSums
from suffice.estimator import read_attribute
from suffice.generative import leave_one_out
from suffice.generative.categories import Coded, coded
from suffice.generative.discrete import DiscreteNB
from suffice.generative.event_models import Categories, category_table
from suffice.generative.joint import Joint
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import is_foreign, is_sparse
from suffice.kernels.protocol import Kernels
from suffice.selection.rows import Rows
from suffice.statistics import CategoryCounts, Labels, NamedCategoryCounts, Statistics
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    import narwhals as nw

    from suffice.typing import ClassPriors


class CategoricalNB(DiscreteNB):
    """Naive Bayes with a categorical distribution per class and feature.

    A drop-in replacement for scikit-learn's class of the same name, which also takes strings and other labels, missing
    cells (NaN, None) and categories it has never seen, merges, forgets, samples and explains.

    Parameters
    ----------
    alpha
        Laplace smoothing, added to the count of every category: one number, one per feature, or "auto". An unseen
        category has the probability of one with a count of 0.
    force_alpha, fit_prior, class_prior, temperature, n_jobs, device
        As for :class:`MultinomialNB`.
    min_categories
        Minimum number of categories of a feature: one number or one per feature. By default whole numbers have the
        categories 0 to the largest, other labels those that were seen. Rows of weight 0 are ignored, unlike in
        scikit-learn: a category of such rows alone is unseen.
    bins
        Cut measurements into this many bins of equally many rows, each counted by its weight, by the quantiles of the
        rows given to :meth:`fit` (of a sample, where they are in parts; of the first batch of :meth:`partial_fit`); or
        a list of the inner edges of each feature's bins (of one feature, the edges themselves).

    Attributes
    ----------
    bin_edges_ : list of ndarray
        The inner edges of the bins of each feature, where ``bins`` is given.
    categories_ : list of ndarray
        The categories of each feature.
    category_count_ : list of ndarray
        The weight of the rows with each category of each feature, (k, categories).
    class_count_ : ndarray of shape (k,)
        The weight of the rows of each class.
    class_log_prior_ : ndarray of shape (k,)
        The logarithms of the class priors.
    classes_ : ndarray of shape (k,)
        The classes.
    feature_log_prob_ : list of ndarray
        The logarithms of the probabilities of the categories of each feature, (k, categories).
    n_categories_ : ndarray of shape (d,)
        The number of categories of each feature.
    joint_ : Joint
        The estimated p(x, y): its class conditionals, prior and temperature.
    statistics_ : Statistics
        The sum over all rows, from which the model is read.
    em_trace_ : list of float
        The log-likelihood after each step of expectation maximisation, where there were any.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> weather = [["sunny", "hot"], ["rain", "mild"], ["rain", "cool"], ["sunny", "mild"]]
    >>> model = CategoricalNB().fit(weather, ["no", "yes", "yes", "no"])
    >>> model.predict([["rain", "hot"], ["fog", None]])
    array(['yes', 'no'], dtype='<U3')
    >>> model.categories_[1].tolist()
    ['cool', 'hot', 'mild']
    """

    def __init__(
        self,
        *,
        alpha: float | npt.ArrayLike | Literal["auto"] = 1.0,
        force_alpha: bool = True,
        fit_prior: bool = True,
        class_prior: ClassPriors = None,
        min_categories: int | npt.ArrayLike | None = None,
        bins: Any = None,
        temperature: float | Literal["auto"] = 1.0,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.alpha = alpha
        self.force_alpha = force_alpha
        self.fit_prior = fit_prior
        self.class_prior = class_prior
        self.min_categories = min_categories
        self.bins = bins
        self.temperature = temperature
        self.n_jobs = n_jobs
        self.device = device

    # Validation.

    def _summed_parameters(self) -> dict[str, Any]:
        edges = getattr(self, "bin_edges_", None)
        return {"bins": self._params.bins if edges is None else [each.tolist() for each in edges]}

    def _check_settings(self) -> None:
        super()._check_settings()
        if isinstance(self.bins, int | np.integer) and self.bins < 2:
            raise ValueError(f"bins must be at least 2; got {self.bins!r}")
        if self.min_categories is not None:
            least = np.asarray(self.min_categories)
            if least.dtype.kind not in "iu":
                raise ValueError(f"'min_categories' should have integral type. Got {least.dtype} instead.")

    def _features(self, X: Any, reset: bool) -> Any:
        if self._params.bins is not None:
            return self._binned(self._measurements(X, reset), reset)
        if is_sparse(X):
            raise TypeError("sparse data was passed: the category 0 is not an empty cell; use X.toarray()")
        X = to_host(X) if is_foreign(X) else validation.plain_rows(X)
        if type(X) is np.ndarray and X.ndim == 2 and X.dtype.kind in "biu" and 0 not in X.shape:
            return coded(validation.features(self, X, reset))
        columns = _columns(X)
        table = X if hasattr(X, "columns") else columns
        validation.check_columns(self, table, len(columns), reset)
        return coded(columns)

    def _reads_once(self) -> bool:
        return super()._reads_once() and not isinstance(self._params.bins, int | np.integer)

    def _set_features(self, data: Dataset) -> None:
        if isinstance(self._params.bins, int | np.integer):  # bin edges are quantiles of a sample
            some = partitioned.sample_rows(data)
            self._first_features(some["X"], some.get("sample_weight"))
        else:
            super()._set_features(data)

    def _first_features(self, X: Any, sample_weight: Any) -> Any:
        if self._params.bins is None:
            return super()._first_features(X, sample_weight)
        values = self._measurements(X, True)
        return self._binned(values, True, validation.weights(sample_weight, len(values)))

    def _measurements(self, X: Any, reset: bool) -> FloatArray:
        """Return numbers that are to be cut into bins."""
        if is_sparse(X):
            raise TypeError("X is sparse, and bins need dense columns: use X.toarray()")
        x = validation.features(self, X, reset)
        values = np.asarray(to_host(x) if is_foreign(x) else x, dtype=np.float64)
        if np.isinf(values).any():
            row, column = np.argwhere(np.isinf(values))[0]
            raise ValueError(f"X[{row}, {column}] is {values[row, column]:g}; it must be finite, or NaN where missing")
        return values

    def _binned(self, values: FloatArray, reset: bool, weight: FloatArray | None = None) -> Coded:
        if reset:
            self.bin_edges_ = _edges(self._params.bins, values, weight)
        codes = np.stack([np.searchsorted(edges, values[:, j], "right") for j, edges in enumerate(self.bin_edges_)], 1)
        codes[np.isnan(values)] = -1
        return Coded(codes, None, tuple(len(edges) + 1 for edges in self.bin_edges_))

    # What to sum, and how to read it.

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return sums.count_categories(labels) if self._params.bins is None else None

    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        raise NotImplementedError("categories are summed by name")

    def _sum(self, x: Coded, codes: Any, weight: FloatArray | None, labels: Labels) -> Statistics:
        engine = engine_for(self._engine, x.codes)
        sizes = tuple(max(size, 1) for size in x.sizes)
        counted = engine.accumulate(CategoryCounts.over(labels, sizes, True), Batch(x.codes, codes, weight))
        return _named(counted, [x.names(feature) for feature in range(len(sizes))])

    def _conditional(self, statistics: Any) -> Categories:
        statistics = _seen(statistics)
        vocabularies: tuple[Labels, ...] = statistics.vocabularies
        alpha, sizes = self._alpha(len(vocabularies)), self._sizes(vocabularies)
        statistics.check_digits(np.repeat(alpha, statistics.sizes))
        tables = [
            category_table(statistics.feature(feature), alpha[feature], sizes[feature])
            for feature in range(len(vocabularies))
        ]
        return Categories(tables, vocabularies)

    def _least(self, features: int) -> npt.NDArray[np.int64]:
        """Return the minimum number of categories of each feature, (d,)."""
        if self._params.bins is not None:
            return np.array([len(edges) + 1 for edges in self.bin_edges_])
        least = np.asarray(0 if self._params.min_categories is None else self._params.min_categories)
        if least.shape not in ((), (features,)):
            raise ValueError(
                f"'min_categories' should have shape ({features},) when an array-like is provided. "
                f"Got {least.shape} instead."
            )
        return np.broadcast_to(least, (features,))

    def _readable(self, joint: Joint, x: Any) -> Any:
        conditional: Any = joint.conditional
        return x.into(conditional.vocabularies) if isinstance(x, Coded) else x

    def _explained_values(self, X: Any, x: Any) -> Any:
        shown = super()._explained_values(X, x)
        if self._params.bins is None:
            return shown
        table = np.empty(x.codes.shape, dtype=object)
        for j, edges in enumerate(self.bin_edges_):
            ends = ["-inf", *(f"{edge:.6g}" for edge in edges), "inf"]
            for i, code in enumerate(x.codes[:, j]):
                cell = shown[i, j]
                table[i, j] = None if code < 0 else f"{cell:.6g} in [{ends[code]}, {ends[code + 1]})"
        return table

    def _as_given(self, rows: Any) -> Any:
        """Return the names of drawn codes; for bins, their numbers."""
        columns = [
            np.array(names.names, dtype=object)[rows[:, j]] for j, names in enumerate(self._seen_counts.vocabularies)
        ]
        table = np.stack(columns, axis=1)
        whole = all(isinstance(name, int) for names in self._seen_counts.vocabularies for name in names)
        return table.astype(np.int64) if whole else table

    # What was read.

    @property
    def _seen_counts(self) -> Any:
        return _seen(self.statistics_)

    @read_attribute
    def categories_(self) -> list[npt.NDArray[Any]]:
        """The categories of each feature that were seen."""
        return [validation.classes_array(names) for names in self._seen_counts.vocabularies]

    @read_attribute
    def n_categories_(self) -> npt.NDArray[np.int64]:
        """The number of categories of each feature, (d,)."""
        return self._sizes(self._seen_counts.vocabularies)

    def _sizes(self, vocabularies: tuple[Labels, ...]) -> npt.NDArray[np.int64]:
        least = self._least(len(vocabularies))
        return np.array([_size(names, least[feature]) for feature, names in enumerate(vocabularies)])

    @read_attribute
    def category_count_(self) -> list[FloatArray]:
        """The count of each category in each class: one (k, categories) per feature."""
        counts = [self._seen_counts.feature(feature) for feature in range(self.n_features_in_)]
        return [self._spread_out(feature, part, 0.0) for feature, part in enumerate(counts)]

    @read_attribute
    def feature_log_prob_(self) -> list[FloatArray]:
        """The log-probability of each category in each class: one (k, categories) per feature."""
        conditional: Any = self.joint_.conditional
        tables = conditional.tables
        return [self._spread_out(feature, table[:-1].T, table[-1][:, None]) for feature, table in enumerate(tables)]

    def _spread_out(self, feature: int, seen: FloatArray, unseen: Any) -> FloatArray:
        """Return what belongs to the categories that were seen, with the others in between, (k, categories)."""
        names = self._seen_counts.vocabularies[feature]
        whole = np.empty((len(seen), int(self.n_categories_[feature])))
        whole[:] = unseen
        places = [int(name) for name in names] if _are_codes(names) else list(range(len(names)))
        whole[:, places] = seen
        return whole

    def _left_out(self, statistics: Any, rows: Rows) -> FloatArray:
        return leave_one_out.categories(self, _seen(statistics), rows)

    def _log_smoothing(self, conditional: Any) -> float:
        total = 0.0
        each = zip(
            self._alpha(len(conditional.tables)), conditional.tables, self._sizes(conditional.vocabularies), strict=True
        )
        for alpha, table, size in each:
            if alpha > 0:
                unseen = int(size) - (len(table) - 1)
                total += alpha * float(table[:-1].sum() + unseen * table[-1].sum())
        return total

    def _more_settings(self) -> dict[str, Any]:
        edges = getattr(self, "bin_edges_", None)
        return {"bin_edges": None if edges is None else [each.tolist() for each in edges]}

    def _restore(self, settings: Any) -> None:
        if settings["bin_edges"] is not None:
            self.bin_edges_ = [np.array(each, dtype=np.float64) for each in settings["bin_edges"]]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.sparse = False
        return tags


def _columns(X: Any) -> list[npt.NDArray[Any]]:
    """Return the columns of a table of anything, checking its shape."""
    frame = data_frame(X)
    if frame is not None:
        return [_cells(column) for column in frame.iter_columns()]
    table = np.asarray(X)
    if table.dtype.kind in "US" and not isinstance(X, np.ndarray):
        table = np.asarray(X, dtype=object)  # numbers beside strings keep their type
    error = validation.one_dimension_error(X) if table.ndim < 2 else None
    if error is not None:
        raise error
    validation.check_no_dates("X", table)
    table = check_array(table, dtype=None, ensure_all_finite=False)
    return [table[:, feature] for feature in range(table.shape[1])]


def _cells(column: nw.Series[Any]) -> npt.NDArray[Any]:
    """Return the cells of a column of a data frame; whole numbers beside missing cells stay whole numbers."""
    if (column.dtype.is_integer() or column.dtype.is_decimal()) and column.null_count():
        return np.fromiter(column.to_list(), dtype=object, count=len(column))
    return np.asarray(column.to_numpy())


def _are_codes(names: Labels) -> bool:
    """Whether names are codes: whole numbers, 0 and above."""
    return all(isinstance(name, int) and name >= 0 for name in names)


def _size(names: Labels, least: Any) -> int:
    """Return how many categories a feature has, those between the codes that were seen included."""
    seen = int(max(names, default=-1)) + 1 if _are_codes(names) else len(names)
    return max(seen, int(least))


def _seen(statistics: NamedCategoryCounts) -> NamedCategoryCounts:
    """Return the counts without categories that have none: rows that were forgotten take theirs with them."""
    kept, vocabularies, start = [], [], 0
    for names in statistics.vocabularies:
        counts = statistics.counts[:, start : start + len(names)].sum(axis=0)
        seen = np.flatnonzero(counts > 0)
        vocabularies.append(names if len(seen) == len(names) else Labels(tuple(names.names[code] for code in seen)))
        kept.append(start + seen)
        start += len(names)
    if sum(map(len, kept)) == start:
        return statistics
    return statistics.take_columns(np.concatenate(kept), tuple(vocabularies))


def _named(counted: CategoryCounts, names: list[Labels]) -> NamedCategoryCounts:
    """Return counts of codes as counts of the names that occurred."""
    spare = [Labels((0,)) if not len(known) else known for known in names]  # a feature of which no cell is known
    named = NamedCategoryCounts(
        counted.labels,
        counted.rows,
        counted.counts,
        tuple(spare),
        rows_error=counted.rows_error,
        counts_error=counted.counts_error,
        least=counted.least,
    )
    return _seen(named)


def _edges(bins: Any, values: FloatArray, weight: FloatArray | None) -> list[FloatArray]:
    """Return the inner edges of each feature's bins."""
    if not isinstance(bins, int | np.integer):
        several = bins if values.shape[1] != 1 or (len(bins) and np.ndim(bins[0])) else [bins]
        if any(np.ndim(each) != 1 for each in several):
            raise ValueError(f"bins must be a list of edges for each of {values.shape[1]} features; got {bins!r}")
        edges = [np.sort(np.asarray(each, dtype=np.float64)) for each in several]
        if len(edges) != values.shape[1]:
            raise ValueError(f"bins must list the edges of {values.shape[1]} features; got {len(edges)} lists")
        if any(np.isnan(each).any() for each in edges):
            raise ValueError(f"bins must have no edge that is nan; got {bins!r}")
        return edges
    shares = np.arange(1, int(bins)) / int(bins)
    weights = np.ones(len(values)) if weight is None else weight
    return [np.unique(_quantiles(column, shares, weights)) for column in values.T]


def _quantiles(column: FloatArray, shares: FloatArray, weights: FloatArray) -> FloatArray:
    """Return the quantiles of the known cells of a column, by weight; empty if there are none.

    If a share ends between two values, the quantile is their mean (Hyndman and Fan's second definition), with frequency
    weights.

    Examples
    --------
    >>> _quantiles(np.array([3.0, 1.0, np.nan, 2.0]), np.array([0.5]), np.array([1.0, 1.0, 1.0, 2.0]))
    array([2.])
    >>> _quantiles(np.array([4.0, 1.0, 2.0, 3.0]), np.array([0.25, 0.5]), np.ones(4))
    array([1.5, 2.5])
    """
    known = ~np.isnan(column) & (weights > 0)
    order = np.argsort(column[known], kind="stable")
    values, below = column[known][order], np.cumsum(weights[known][order])
    if not len(values):
        return values
    wanted, last = shares * below[-1], len(values) - 1
    rounding = 1e-12 * below[-1]
    first = np.searchsorted(below, wanted - rounding, side="left")
    then = np.minimum(np.searchsorted(below, wanted + rounding, side="right"), last)
    return np.asarray((values[first] + values[then]) / 2)
