"""Base of classifiers that are estimated from one sum over rows: learning, merging, forgetting, prediction."""

from __future__ import annotations

import copy
import itertools
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt
import scipy
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data import ArrayDataset, Dataset, as_dataset
from suffice.data.dataset import Piece, model_for_parts, no_rows, read_again
from suffice.data.sql import DatabaseSums
from suffice.estimator import ClassifierInPartsMixin, ReadFromStatistics, keeps_precision, read_attribute, row_wise
from suffice.families.priors import smoothing_strength
from suffice.generative import em_unlabelled, leave_one_out
from suffice.generative.conditional import Conditional, against_average, log_ratio, strongest
from suffice.generative.explanation import Explanations
from suffice.generative.joint import Joint, What, read_many
from suffice.html_fragments import fragment, notes, table
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.errors import UnsupportedKernelError
from suffice.kernels.libraries import beside, is_foreign, is_sparse, logs_to_float32, named_classes
from suffice.kernels.protocol import Kernels
from suffice.partitioned import sample_rows
from suffice.selection import tuning
from suffice.selection.rows import Rows
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import ALL_DIGITS, FloatArray
from suffice.store import Contents, Stored, parameters

if TYPE_CHECKING:
    from suffice.typing import ClassLabel, MatrixLike, VectorLike

R = TypeVar("R")
Codes = npt.NDArray[np.int64]
RandomState = int | np.random.Generator | np.random.RandomState | None
#: The classes of rows, the sum over the rows, and an empty array of the type of the labels.
Summed = tuple[Labels, Any, npt.NDArray[Any]]

#: Rows are held until they have this many values: adding to the sum costs at least as much as reading these.
_MOST_HELD = 1 << 16
#: A batch with more values than this is summed at once.
_SMALL = 1 << 12


class Tuned(NamedTuple):
    """A parameter that may be chosen by held-out rows."""

    values: tuple[float, ...]  # that are tried
    start: float  # in use before any is chosen
    word: str = "auto"  # the value of the parameter that asks for the choice

    def chooses(self, value: Any) -> bool:
        """Whether this value of the parameter asks for the choice."""
        return isinstance(value, str) and value == self.word


TEMPERATURE = Tuned((), 1.0)


#: Most classes of a model that a notebook shows.
_SHOWN_CLASSES = 20


class SummedClassifier(Stored, ClassifierInPartsMixin, ReadFromStatistics, BaseEstimator, ABC):  # type: ignore[misc]
    """A classifier that keeps one sum over its rows, and nothing else of them.

    A subclass defines how rows are validated (:meth:`_features`) and what is summed (:meth:`_sum`). ``partial_fit``
    adds to the sum, ``forget`` subtracts from it, ``+`` adds two sums.
    """

    #: Attributes that describe one fit to one data set: another fit and ``+`` delete them.
    _fit_attributes: ClassVar[tuple[str, ...]] = ()

    n_jobs: int | None
    classes_: npt.NDArray[Any]
    _memory: RunningSum

    # Hooks of subclasses.

    @abstractmethod
    def _features(self, X: Any, reset: bool) -> Any:
        """Return validated rows as engines read them; ``reset`` for the first rows."""

    @abstractmethod
    def _sum(self, x: Any, codes: Codes, weight: FloatArray | None, labels: Labels) -> Any:
        """Return the sum over rows, codes being of the labels."""

    def _dataset(self, X: Any, y: Any, sample_weight: Any) -> Dataset:
        """Return rows, their classes and weights as a dataset."""
        return as_dataset(X, y=y, sample_weight=sample_weight)

    def _first_features(self, X: Any, sample_weight: Any) -> Any:
        """Return the features of the first rows, which may determine the encoding of all."""
        return self._features(X, reset=True)

    def _set_features(self, data: Dataset) -> None:
        """Set the number and the names of the features of a dataset in parts; some models read some of its rows."""
        self._features(data.example(), reset=True)

    def _reads_once(self) -> bool:
        """Whether the sum needs one pass over the rows."""
        return True

    def _hold_rows(self, x: Any, codes: Codes, weight: FloatArray | None) -> tuple[Any, int] | None:
        """Return rows that may be added to the sum later, and their size; None for rows that must be summed now.

        Rows that their sum would refuse must be summed now.
        """
        return None

    def _sum_held(self, held: list[Any], labels: Labels) -> Any:
        """Return the sum over rows that :meth:`_hold_rows` returned."""
        raise NotImplementedError

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        """Return the sum over a table, computed by its database; None where rows must be read."""
        return None

    def _sum_to_keep(self, statistics: Any) -> Any:
        """Return a sum in the form in which it is kept."""
        return statistics

    @abstractmethod
    def _check_mergeable(self, other: Self) -> None:
        """Raise if the sums of two models are not compatible."""

    # Learning.

    def partial_fit(
        self, X: MatrixLike, y: VectorLike = None, classes: VectorLike = None, sample_weight: VectorLike = None
    ) -> Self:
        """Learn from more rows: the result is that of :meth:`fit` to all rows, in any split and order.

        Parameters
        ----------
        X, y, sample_weight
            Rows, their classes and weights, as for :meth:`fit`.
        classes
            All classes; others then raise. By default, classes are added when they first occur.

        Returns
        -------
        self
        """
        first = "_memory" not in vars(self)
        with self._learning(anew=first):
            data = self._dataset(X, y, sample_weight)
            return self._learn_first(data, classes) if first else self._learn_more(data, classes)

    def _learn_first(self, data: Dataset, classes: Any = None) -> Self:
        """Learn from the first rows."""
        known, fixed = (Labels(), False) if classes is None else (validation.announced_classes(classes), True)
        piece = data.in_memory
        if piece is None:
            with nullcontext(data) if self._reads_once() else read_again(data) as rows:
                self._set_features(rows)
                labels, statistics, like = self._sum_parts(rows, known, fixed)
        else:
            x = self._first_features(piece["X"], piece.get("sample_weight"))
            codes, weight, labels, like = self._encode(x, piece, known, fixed)
            statistics = self._sum(x, codes, weight, labels)
        self._remember(labels, like if classes is None else np.asarray(classes), statistics, fixed)
        return self

    def _learn_more(self, data: Dataset, classes: Any) -> Self:
        """Add rows to the sum."""
        memory = self._memory
        if classes is not None and not set(validation.announced_classes(classes)) <= set(memory.labels):
            raise ValueError(
                f"`classes={classes!r}` is not the same as on last call to partial_fit, was: {self.classes_!r}"
            )
        piece = data.in_memory
        if piece is None:
            labels, statistics, _ = self._sum_parts(data, memory.labels, memory.fixed)
        else:
            x = self._features(piece["X"], reset=False)
            codes, weight, labels, _ = self._encode(x, piece, memory.labels, memory.fixed)
            held = self._hold_rows(x, codes, weight) if labels is memory.labels else None
            if held is not None:
                memory.add_later(*held, self._sum_held)
                return self
            statistics = self._sum(x, codes, weight, labels)
        labels = memory.labels.union(labels)[0]
        memory.replace(labels, memory.statistics + statistics)
        self.classes_ = validation.classes_array(labels, self.classes_)
        return self

    def _encode(
        self, x: Any, piece: Piece, known: Labels, fixed: bool
    ) -> tuple[Codes, FloatArray | None, Labels, npt.NDArray[Any]]:
        """Return the class codes and weights of rows, all classes, and an empty array of the type of the labels."""
        column = validation.targets(piece.get("y"), x.shape[0])
        labels, codes = validation.known_codes(known, column, fixed)
        return codes, validation.weights(piece.get("sample_weight"), x.shape[0]), labels, column[:0]

    def _encode_part(self, known: Labels, fixed: bool, piece: Piece) -> Rows:
        """Return one part of many as validated rows; its weights may all be 0."""
        with validation.one_of_many():
            x = self._features(piece["X"], reset=False)
            codes, weight, labels, like = self._encode(x, piece, known, fixed)
        return Rows(x, codes, weight, labels, like, piece.get("place"))

    def _sum_parts(self, data: Dataset, known: Labels, fixed: bool) -> Summed:
        """Return the sum over a dataset in parts, computed where the parts are; its features are set already."""
        if data.aggregates is not None:
            summed = self._sum_table(data.aggregates, known, fixed)
            if summed is not None:
                return summed
        model = model_for_parts(self, data)
        found: Summed | None = data.map_parts(partial(_sum_part, model, known, fixed)).reduce(
            partial(_add_parts, model)
        )
        if found is None:
            raise no_rows()
        validation.check_weight(found[1].weight)
        return found

    def _sum_table(self, sums: DatabaseSums, known: Labels, fixed: bool) -> Summed | None:
        """Return the sum over a table, computed by its database; None where the model needs the rows."""
        found = np.array(sums.find_classes().names)
        labels, _ = validation.known_codes(known, found, fixed)
        try:
            statistics = self._sum_in_database(sums, labels)
        except UnsupportedKernelError:
            return None
        if statistics is None:
            return None
        validation.check_weight(statistics.weight)
        return labels, statistics, found[:0]

    def forget(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Subtract rows: the result is that of :meth:`fit` to the other rows, exact to rounding, or refused.

        Parameters
        ----------
        X, y, sample_weight
            Rows that were learned, with their classes and weights.

        Returns
        -------
        self
            The sum carries a bound of its rounding error; what is estimated from it is right to a millionth: means in
            standard deviations, variances and counts relative to themselves. A temperature, or smoothing, that was
            chosen at the fit (``"auto"``) stays as it was chosen from all rows.

        Raises
        ------
        NegativeEvidenceError
            If it can be detected that rows were never learned. The model is unchanged then.
        LostDigitsError
            If rounding would leave too few digits of what remains, such as without a row far from all others. The
            model is unchanged then: fit the remaining rows.
        """
        self._check_fitted()
        labels = self._memory.labels
        with self._learning(anew=False):
            data = self._dataset(X, y, sample_weight)
            _, statistics, _ = self._sum_parts(data, labels, fixed=True)
            self._memory = self._memory.copied()
            left = self._memory.statistics - statistics
            self._memory.replace(labels, self._sum_to_keep(left))
            if left.weight > 0 and left.digits_kept() < ALL_DIGITS:
                self._check_read()  # raises if too few digits are left
        return self

    def __add__(self, other: Any) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        self._check_fitted()
        other._check_fitted()
        self._check_mergeable(other)
        merged = copy.copy(self)
        for name in self._fit_attributes:
            merged.__dict__.pop(name, None)
        with merged._learning(anew=False):
            labels, _, _ = self._memory.labels.union(other._memory.labels)
            statistics = self.statistics_ + other.statistics_
            merged._memory = RunningSum(labels, statistics, self._memory.fixed and other._memory.fixed)
            merged.classes_ = validation.classes_array(labels, self.classes_)
        return merged

    def __radd__(self, other: Any) -> Self:
        """Add to 0, the start value of ``sum(models)``."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    # The sum.

    def _drop_fit_attributes(self) -> None:
        """Delete the attributes that describe the fit before."""
        for name in self._fit_attributes:
            self.__dict__.pop(name, None)

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Any, fixed: bool = False) -> None:
        """Keep a new sum in place of the one before."""
        self._memory = RunningSum(labels, self._sum_to_keep(statistics), fixed)
        self.classes_ = validation.classes_array(labels, like)

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_memory" in state:  # a copy learns on its own
            state = {**state, "_memory": state["_memory"].copied()}
        return state

    def _unread(self) -> None:
        if "_memory" in vars(self):
            self._memory.unread()

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the model has learned from rows."""
        return "_memory" in vars(self)

    def _check_fitted(self) -> None:
        if "_memory" not in vars(self):  # faster than check_is_fitted for a fitted model
            check_is_fitted(self)

    @read_attribute
    def statistics_(self) -> Any:
        """The sum over all rows learned, from which the model is read."""
        self._check_fitted()
        return self._memory.statistics


class GenerativeClassifier(SummedClassifier):
    """A classifier that estimates p(x, y), and predicts by Bayes' rule.

    A subclass defines what is summed (:meth:`_summariser`), and how p(x | y) and p(y) are estimated from the sum
    (:meth:`_conditional`, :meth:`_prior`). Only the sum is kept, so models stream, merge and forget.

    It implements :class:`~suffice.selection.rows.SummedModel`, by which cross-validation uses it.
    """

    #: Parameters that may be chosen by held-out rows.
    _tuned: ClassVar[dict[str, Tuned]] = {}

    #: Whether log p(x, y) is that of a density; if not, only log_evidence adds the terms that all classes share.
    _joint_is_density: ClassVar[bool] = True

    _keeps_float32 = False  # as in scikit-learn, for all but Gaussian features

    _fit_attributes = ("em_trace_",)

    device: str | None
    temperature: float | str
    n_features_in_: int
    _chosen: dict[str, float]

    # Hooks of subclasses.

    @abstractmethod
    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        """Return the summariser of a batch whose y holds codes into the labels."""

    @abstractmethod
    def _conditional(self, statistics: Any) -> Conditional:
        """Return p(x | y), estimated from the sum."""

    @abstractmethod
    def _prior(self, statistics: Any) -> FloatArray:
        """Return p(y), (k,)."""

    @abstractmethod
    def _prior_is_learned(self) -> bool:
        """Whether p(y) is the classes' shares of the rows."""

    def _check_settings(self) -> None:
        """Raise if a parameter is invalid, before any row is read."""
        temperature = self.temperature
        if is_auto(temperature):
            return
        if isinstance(temperature, str) or not 0 < float(temperature) < np.inf:
            raise ValueError(f"temperature must be a finite number above 0, or 'auto'; got {temperature!r}")

    def _features(self, X: Any, reset: bool) -> Any:
        """Return validated rows as engines read them; ``reset`` for the first rows."""
        return validation.features(self, X, reset)

    def _can_wait(self, x: Any) -> bool:
        """Whether the sum of a small batch refuses no cell of it, so that the batch may be summed later."""
        return False

    def _hold_rows(self, x: Any, codes: Codes, weight: FloatArray | None) -> tuple[HeldRows, int] | None:
        may_wait = is_small(x) and self._can_wait(x)
        return (copy_rows(x, codes, weight), count_values(x)) if may_wait else None

    def _sum_held(self, held: list[HeldRows], labels: Labels) -> Statistics:
        batch = stack_held(held)
        return self._sum(batch.x, batch.y, batch.weight, labels)

    def _sum(self, x: Any, codes: Codes, weight: FloatArray | None, labels: Labels) -> Statistics:
        summariser = self._summariser(labels)
        return engine_for(self._engine, x).accumulate(summariser, Batch(x, codes, weight))

    def _sum_in_database(self, sums: DatabaseSums, labels: Labels) -> Any:
        return sums.sum_classes(self._summariser(labels), labels)

    def _summed_parameters(self) -> dict[str, Any]:
        """Return the parameters that determine what is summed."""
        return {}

    def _left_out(self, statistics: Statistics, rows: Rows) -> FloatArray:
        """Return log p(x, y) of each row, (n, k), estimated from all other rows."""
        return leave_one_out.one_by_one(self, statistics, rows)

    def _generative(self, statistics: Statistics) -> Joint:
        """Return the p(x, y) whose likelihood expectation maximisation increases."""
        return self.estimate_joint(statistics).with_temperature(1.0)

    def _log_smoothing(self, conditional: Any) -> float:
        """Return the log-density, up to a constant, of the prior to which smoothing corresponds."""
        return 0.0

    def _setting(self, name: str) -> Any:
        """Return a parameter; the value that was chosen where held-out rows choose it."""
        value, tuned = getattr(self._params, name), self._tuned[name]
        return self._choice(name, tuned.start) if tuned.chooses(value) else value

    def _choice(self, name: str, otherwise: float) -> float:
        """Return the value that was chosen for a parameter; ``otherwise`` if there were no rows to choose it by."""
        return float(getattr(self, "_chosen", {}).get(name, otherwise))

    # Learning.

    def fit(
        self,
        X: MatrixLike,
        y: VectorLike = None,
        sample_weight: VectorLike = None,
        *,
        unlabelled: MatrixLike | None = None,
        unlabelled_weight: float = 1.0,
    ) -> Self:
        """Fit the model to rows and their classes; earlier rows are forgotten.

        Parameters
        ----------
        X
            Rows, (n, d); a stream of batches (X, y) or (X, y, sample_weight), which may be larger than memory: an
            iterator, or a function that returns one; a path, a URL or a list of paths of files; a Dask collection or
            Spark data frame, which is summed on its workers; or a :class:`~suffice.data.Dataset`.
        y
            The class of each row, (n,): numbers, strings or booleans. For data frames on a cluster it may be the name
            of a column; for files and Spark it must be.
        sample_weight
            Weight of each row, 1 by default.
        unlabelled
            Rows without a class, from which the model learns by expectation maximisation; ``em_trace_`` holds the
            log-likelihood after each step. The sums that are kept are expectations: ``+`` adds them, which differs from
            a fit to all rows at once.
        unlabelled_weight
            The weight of a row without a class; one with a class has weight 1.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            part = data.in_memory
            others = None if unlabelled is None else as_dataset(unlabelled)
            self._chosen = {}
            tuned = self._chosen_parameters()
            reads_once = part is not None or (others is None and not tuned and self._reads_once())
            with nullcontext(data) if reads_once else read_again(data) as kept:
                if part is not None:
                    rows = self._encode_first(part)
                    if tuned or others is not None:
                        rows = rows.with_codes_here()
                    statistics, trace = self._first_sum(rows)
                    self._remember(rows.labels, rows.like, statistics)
                else:
                    self._set_features(kept)
                    labels, statistics, like = self._sum_parts(kept, Labels(), fixed=False)
                    self._remember(labels, like, statistics)
                    trace = []
                if trace:
                    self.em_trace_ = trace
                if others is not None:
                    self._learn_unlabelled(kept, others, unlabelled_weight)
                if tuned:
                    self._tune(tuned, rows if part is not None else self._encode_part(labels, True, sample_rows(kept)))
            self._check_read()
        return self

    def _learn_unlabelled(self, data: Dataset, unlabelled: Dataset, weight: float) -> None:
        """Learn from rows without a class by expectation maximisation."""
        labels = self._memory.labels
        rows = data.map_parts(partial(_rows_of_part, model_for_parts(self, data), labels))
        with read_again(unlabelled) as kept:
            features = kept.map_parts(partial(_features_of_part, model_for_parts(self, kept)))
            statistics, self.em_trace_ = em_unlabelled.learn(self, rows, features, weight, self._memory.statistics)
        self._memory.replace(labels, statistics)

    def _learn_first(self, data: Dataset, classes: Any = None) -> Self:
        self._chosen = {}
        return super()._learn_first(data, classes)

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Any, fixed: bool = False) -> None:
        self._drop_fit_attributes()
        super()._remember(labels, like, statistics, fixed)

    def _encode_first(self, piece: Piece) -> Rows:
        """Return validated rows in memory; the number and the names of the features are set."""
        sample_weight = piece.get("sample_weight")
        x = self._first_features(piece["X"], sample_weight)
        labels, codes, like = validation.coded(validation.beside_rows(x, piece.get("y")), x.shape[0])
        return Rows(x, codes, validation.weights(sample_weight, x.shape[0]), labels, like)

    def _first_sum(self, rows: Rows) -> tuple[Statistics, list[float]]:
        """Return the sum over all rows of a fit; and the log-likelihood after each step of expectation maximisation."""
        return self._sum(rows.x, rows.codes, rows.weight, rows.labels), []

    def _check_mergeable(self, other: Self) -> None:
        mine, theirs = self.summed_parameters(), other.summed_parameters()
        for name in mine:
            if repr(mine[name]) != repr(theirs[name]):
                raise ValueError(
                    f"models with {name}={mine[name]!r} and {name}={theirs[name]!r} have different sums: they "
                    "cannot be merged"
                )
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(f"models of {self.n_features_in_} and of {other.n_features_in_} features cannot be merged")
        names = [list(getattr(model, "feature_names_in_", [])) for model in (self, other)]
        if all(names) and names[0] != names[1]:
            raise ValueError(f"models of the features {names[0]!r} and {names[1]!r} cannot be merged")

    def _chosen_parameters(self) -> list[str]:
        """Return the parameters that held-out rows choose."""
        tuned = {**self._tuned, "temperature": TEMPERATURE}
        return [name for name, each in tuned.items() if each.chooses(getattr(self._params, name))]

    def _tune(self, names: list[str], rows: Rows) -> None:
        """Choose parameters by held-out rows."""
        values = [self._tuned[name].values for name in names if name != "temperature"]
        grid = [dict(zip(names, each, strict=False)) for each in itertools.product(*values)]
        candidates = [self._under(**{**each, "temperature": 1.0}) for each in grid]
        best = tuning.choose(candidates, rows)
        if best is not None:
            self._chosen = {**grid[best.place], **({"temperature": best.temperature} if "temperature" in names else {})}
        self._memory.unread()

    def set_statistics(self, statistics: Statistics) -> Self:
        """Replace the sum: the model is estimated from this one, with the current parameters.

        Parameters
        ----------
        statistics
            A sum of the kind that ``statistics_`` is.

        Examples
        --------
        >>> from suffice import GaussianNB
        >>> one = GaussianNB().fit([[1.0], [2.0], [5.0], [7.0]], ["low", "low", "high", "high"])
        >>> GaussianNB().set_statistics(one.statistics_ + one.statistics_).class_count_
        array([4., 4.])
        """
        features = getattr(statistics, "features", None)
        if features is not None and getattr(self, "n_features_in_", features) != features:
            raise ValueError(f"the sum is of {features} features, the model of {self.n_features_in_}")
        with self._learning(anew=True):
            if features is not None:
                self.n_features_in_ = features
            self._chosen = {}
            labels = self._labels_of(statistics)
            self._remember(labels, np.array(labels.names), statistics)
        return self

    # Steps of cross-validation: see suffice.selection.rows.SummedModel.

    def summed_parameters(self) -> dict[str, Any]:
        """Return the parameters that determine what is summed: models must agree on them to be merged."""
        return self._summed_parameters()

    def encode_rows(self, data: Dataset) -> Dataset:
        """Return a dataset whose parts are validated rows; the number and the names of the features are set."""
        self._check_settings()
        piece = data.in_memory
        if piece is not None:
            return ArrayDataset(self._encode_first(piece).with_codes_here())
        self._set_features(data)
        return data.map_parts(partial(_encode_part, model_for_parts(self, data)))

    def sum_rows(self, rows: Rows, *, complete: bool = True) -> Statistics:
        """Return the sum over validated rows.

        Parameters
        ----------
        complete
            Whether these are all rows that the sum is taken over, and not one part of them.
        """
        return self._first_sum(rows)[0] if complete else self._sum(rows.x, rows.codes, rows.weight, rows.labels)

    def estimate_joint(self, statistics: Statistics) -> Joint:
        """Return p(x, y), estimated from a sum."""
        return self._joint_of(statistics, self._conditional(statistics))

    def score_rows(self, joints: Sequence[Joint], x: Any, what: Any) -> list[Any]:
        """Return the scores of validated rows under each of several p(x, y) that were estimated from the same sum."""
        x = self._readable(joints[0], x)
        return read_many(joints, engine_for(self._engine, x), x, what)

    def score_left_out(self, statistics: Statistics, rows: Rows) -> FloatArray:
        """Return log p(x, y) of each row, (n, k), estimated from all other rows."""
        return self._left_out(statistics, rows)

    # The sum, and the model that is estimated from it.

    def _what_fixes(self) -> dict[str, Any]:
        return self._summed_parameters()

    def _check_readable(self, wanted: Self) -> None:
        for name, tuned in {**self._tuned, "temperature": TEMPERATURE}.items():
            if tuned.chooses(getattr(wanted, name)) and name not in self._chosen:
                raise ValueError(
                    f"{name}={tuned.word!r} is chosen by held-out rows, and the model keeps only sums: fit again"
                )

    def _check_read(self) -> None:
        _ = self.joint_

    @property
    def joint_(self) -> Joint:
        """The estimated p(x, y): its class conditionals, prior and temperature."""
        self._check_fitted()
        return self._memory.model(self.estimate_joint)

    def _joint_of(self, statistics: Statistics, conditional: Conditional) -> Joint:
        """Return p(x, y) with this p(x | y)."""
        return Joint(self._labels_of(statistics), self._prior(statistics), conditional, self._temperature())

    def _temperature(self) -> float:
        """Return the temperature; if it is "auto", the one that was chosen."""
        temperature = self._params.temperature
        return self._choice("temperature", 1.0) if is_auto(temperature) else float(temperature)

    def _labels_of(self, statistics: Any) -> Labels:
        labels: Labels = statistics.labels
        return labels

    def _readable(self, joint: Joint, x: Any) -> Any:
        """Return validated rows as the conditionals of p(x, y) read them."""
        return x

    def _score_features(self, joint: Joint, x: Any, what: What) -> Any:
        """Return one score, or one for each class, of every validated row."""
        x = self._readable(joint, x)
        return joint.read(engine_for(self._engine, x), x, what)

    def _score(self, X: Any, what: What) -> Any:
        """Return one score, or one for each class, of every row."""
        self._check_fitted()
        return self._score_features(self.joint_, self._features(X, reset=False), what)

    # Predictions.

    @row_wise("prediction")
    def predict(self, X: MatrixLike) -> npt.NDArray[Any]:
        """Return the most probable class of each row, (n,)."""
        codes = self._score(X, "best")
        return self.classes_[codes] if isinstance(codes, np.ndarray) else named_classes(self.classes_, codes)

    @row_wise("probability")
    @keeps_precision()
    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return p(y | x), (n, k)."""
        found: FloatArray = self._score(X, "posterior")
        return found

    @row_wise("log_probability")
    @keeps_precision(logs_to_float32)
    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return log p(y | x), (n, k)."""
        found: FloatArray = self._score(X, "log_posterior")
        return found

    @row_wise("joint_log_probability")
    @keeps_precision()
    def predict_joint_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return log p(x, y), (n, k)."""
        joint = self._score(X, "joint")
        base = self.joint_.conditional.log_base(self._features(X, reset=False)) if self._joint_is_density else None
        found: FloatArray = joint if base is None else joint + beside(joint, base)[:, None]
        return found

    def _source(self) -> Joint:
        """Return the p(x, y) that rows are drawn from."""
        return self.joint_

    @row_wise("log_evidence")
    def log_evidence(self, X: MatrixLike) -> FloatArray:
        """Return log p(x) of each row, (n,): low for rows unlike any that were learned."""
        self._check_fitted()
        x = self._features(X, reset=False)
        joint = self._source()
        evidence = self._score_features(joint, x, "evidence")
        base = joint.conditional.log_base(x)
        found: FloatArray = evidence if base is None else evidence + beside(evidence, base)
        return found

    @read_attribute
    def coef_(self) -> FloatArray:
        """The coefficients of the log-odds, where they are linear in x: (1, d) for two classes, else (k, d)."""
        return self._theta()[0]

    @read_attribute
    def intercept_(self) -> FloatArray:
        """The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,)."""
        return self._theta()[1]

    def _theta(self) -> tuple[FloatArray, FloatArray]:
        joint = self.joint_ if hasattr(self, "_memory") else None
        two = joint is not None and len(joint.labels) == 2
        theta = None if joint is None else joint.apart if two else joint.theta
        if theta is None or joint is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: it has no coef_")
        coef, intercept = theta.coef / joint.temperature, theta.intercept / joint.temperature
        return (log_ratio(coef[1:], coef[:1]), log_ratio(intercept[1:], intercept[:1])) if two else (coef, intercept)

    def sample(self, n: int = 1, y: VectorLike = None, random_state: RandomState = None, **how: Any) -> tuple[Any, Any]:
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n
            Number of rows.
        y
            The class of the rows, or one class per row; drawn from the priors by default.
        random_state
            Random seed or generator.

        Returns
        -------
        X, y
            Rows, (n, d), and their classes, (n,).
        """
        joint = self._source()
        random = _generator(random_state)
        if y is None:
            codes = joint.draw_classes(n, random)
        else:
            labels: Any = y
            codes = np.repeat(joint.labels.encode([labels]), n) if np.ndim(labels) == 0 else joint.labels.encode(labels)
        return self._as_given(joint.conditional.sample(codes, random, **how)), self.classes_[codes]

    def _as_given(self, rows: Any) -> Any:
        """Return drawn rows in the format of the user's rows."""
        return rows

    def explain(self, X: MatrixLike, against: ClassLabel | None = None) -> Explanations:
        """Return the contribution of each feature to the log-odds of rows.

        Parameters
        ----------
        X
            Rows, (n, d).
        against
            The class that log-odds are taken against; the first class by default, so that for two classes they
            are those of the second.

        Returns
        -------
        Explanations
            One explanation for each row. Contributions and base, which holds the prior, add up exactly to the log-odds.
            A cell that a class cannot have adds -inf to it: see :attr:`Explanations.impossible`.
        """
        joint = self.joint_
        x = self._features(X, reset=False)
        x = x if isinstance(x, np.ndarray) or not is_foreign(x) else to_host(x)
        parts, base = joint.contributions(self._readable(joint, x))
        place = 0 if against is None else int(joint.labels.encode([against])[0])
        return Explanations(
            classes=self.classes_,
            against=self.classes_[place],
            features=self._feature_names(),
            values=self._explained_values(X, x),
            parts=[part / joint.temperature for part in parts],
            level=base / joint.temperature,
            log_prior=joint.log_prior,
        )

    def _explained_values(self, X: Any, x: Any) -> Any:
        """Return the cells as an explanation shows them, (n, d), of rows as given and as read."""
        return _shown(X)

    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return the features with the largest log-odds for each class, per unit of the feature.

        The odds are those against the average of all classes; only for models whose posterior is linear in x. They are
        infinite for a feature that is impossible in some classes.
        """
        theta = self.joint_.theta
        if theta is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: use explain(X)")
        apart = against_average(theta.coef) / self.joint_.temperature
        names = self._feature_names()
        return {
            label: [(str(names[j]), float(row[j])) for j in strongest(row, own)[:n]]
            for label, row, own in zip(self.classes_.tolist(), apart, theta.coef, strict=True)
        }

    def _fitted_html(self) -> str:
        lines = zip(self.classes_, self.joint_.prior, self.class_count_, strict=True)
        rows = [(str(label), f"{prior:.4f}", f"{count:,.6g}") for label, prior, count in lines]
        left = [f"... and {len(rows) - _SHOWN_CLASSES} more classes"] if len(rows) > _SHOWN_CLASSES else []
        heads = ["class", "p(y)", "weight of its rows"]
        known = table(heads, rows[:_SHOWN_CLASSES]) + notes([f"{self.n_features_in_:,} features", *left])
        return fragment(known, *self._parameters_html())

    def _parameters_html(self) -> list[str]:
        """Return the estimates of p(x | y) as HTML; none by default."""
        return []

    def _feature_names(self) -> npt.NDArray[Any]:
        names = getattr(self, "feature_names_in_", None)
        return np.array([f"x{j}" for j in range(self.n_features_in_)]) if names is None else np.asarray(names)

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "chosen": dict(self._chosen),
                "classes": {"names": list(self._memory.labels), "dtype": self.classes_.dtype.kind},
                "classes_fixed": self._memory.fixed,
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                **self._more_settings(),
            },
            statistics={"sum": self.statistics_},
            arrays={},
        )

    def _more_settings(self) -> dict[str, Any]:
        """Return further settings that a file stores, so that the model can continue to learn."""
        return {}

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings, families=contents.families)
        labels = Labels(tuple(settings["classes"]["names"]))
        model._chosen = dict(settings["chosen"])
        parameters.restore_features(model, settings)
        model._restore(settings)
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        statistics: Any = contents.statistics["sum"]
        if statistics.labels != labels:
            raise ValueError(f"the sum is of the classes {list(statistics.labels)!r}, the model of {list(labels)!r}")
        features = getattr(statistics, "features", model.n_features_in_)
        if features != model.n_features_in_:
            raise ValueError(f"the sum is of {features} features, the model of {model.n_features_in_}")
        model._memory = RunningSum(labels, statistics, bool(settings["classes_fixed"]))
        model.classes_ = validation.classes_array(labels, like)
        if statistics.weight > 0:  # no rows are left after all were taken out
            _ = model.joint_
        return model

    def _restore(self, settings: Any) -> None:
        """Restore what :meth:`_more_settings` wrote."""


class PriorsGiven(GenerativeClassifier):
    """A classifier whose class priors are the classes' shares of the rows, unless the user gives ``priors``."""

    priors: Any

    def _class_weights(self, statistics: Any) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""
        weights: FloatArray = statistics.weights
        return weights

    def _prior_is_learned(self) -> bool:
        return self._params.priors is None or isinstance(self._params.priors, str)

    def _prior(self, statistics: Any) -> FloatArray:
        rows = self._class_weights(statistics)
        if self._params.priors is not None:
            return validation.priors(self._params.priors, statistics.labels, rows=rows)
        return validation.shares(statistics.labels, rows)

    @read_attribute
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class, (k,)."""
        return self._class_weights(self.statistics_)


class RunningSum:
    """A sum that is updated by small batches.

    Adding one row to a sum over fifty thousand words changes few of them but copies all, and estimating a model takes
    as many logarithms. So small batches are buffered until the sum is needed or the buffer is full, and the estimated
    model is cached until the sum or a parameter changes.

    Parameters
    ----------
    labels
        The classes.
    statistics
        The sum: it has ``+`` and ``-``.
    fixed
        Whether the classes are fixed: others then raise.
    model
        The model that was read from the sum.
    """

    def __init__(self, labels: Labels, statistics: Any, fixed: bool = False, model: Any = None) -> None:
        self.labels = labels
        self.fixed = fixed
        self._statistics = statistics
        self._held: list[Any] = []
        self._held_size = 0
        self._sum_held: Callable[[list[Any], Labels], Any] | None = None
        self._model = model

    def copied(self) -> RunningSum:
        """Return an independent copy."""
        return RunningSum(self.labels, self.statistics, self.fixed, self._model)

    def __getstate__(self) -> dict[str, Any]:
        return {"labels": self.labels, "statistics": self.statistics, "fixed": self.fixed}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]

    @property
    def statistics(self) -> Any:
        """The sum over all rows."""
        if self._held:
            assert self._sum_held is not None
            self._statistics = self._statistics + self._sum_held(self._held, self.labels)
            self._held, self._held_size = [], 0
        return self._statistics

    def replace(self, labels: Labels, statistics: Any) -> None:
        """Hold another sum."""
        self.labels, self._statistics = labels, statistics
        self._held, self._held_size, self._model = [], 0, None

    def add_later(self, rows: Any, size: int, sum_held: Callable[[list[Any], Labels], Any]) -> None:
        """Hold validated rows, whose codes are of these labels.

        Parameters
        ----------
        rows
            One item of the list that ``sum_held`` is called with.
        size
            About how many values they have.
        sum_held
            Returns the sum over all rows that are held.
        """
        self._held.append(rows)
        self._held_size += size + 64  # the cost of holding a batch
        self._sum_held, self._model = sum_held, None
        if self._held_size >= _MOST_HELD:
            _ = self.statistics

    @property
    def is_read(self) -> bool:
        """Whether the cached model is up to date."""
        return self._model is not None

    def model(self, read: Callable[[Any], R]) -> R:
        """Return the model that is estimated from the sum, once."""
        if self._model is None:
            self._model = read(self.statistics)
        model: R = self._model
        return model

    def unread(self) -> None:
        """Drop the model that was read: a setting has changed."""
        self._model = None


class HeldRows(NamedTuple):
    """Rows of an array or of CSR that are held until they are summed."""

    cells: Any  # a dense array, or the stored values, columns and row lengths of CSR
    shape: tuple[int, int]
    codes: npt.NDArray[np.int64]
    weight: FloatArray | None

    @property
    def weights(self) -> FloatArray:
        """One weight per row."""
        return np.ones(self.shape[0]) if self.weight is None else self.weight

    def dense(self) -> npt.NDArray[Any]:
        """Return the rows as an array."""
        if not isinstance(self.cells, tuple):
            return np.asarray(self.cells)
        data, indices, lengths = self.cells
        ends = np.concatenate([[0], np.cumsum(lengths)])
        return np.asarray(scipy.sparse.csr_array((data, indices, ends), shape=self.shape).toarray())


def is_small(x: Any) -> bool:
    """Whether rows are few enough to be held."""
    return (isinstance(x, np.ndarray) or is_sparse(x)) and count_values(x) <= _SMALL


def count_values(x: Any) -> int:
    """Return about how many values an array or CSR holds."""
    return int(x.nnz) + int(x.shape[0]) if is_sparse(x) else int(x.size)


def copy_rows(x: Any, codes: npt.NDArray[np.int64], weight: FloatArray | None) -> HeldRows:
    """Return a copy of rows; of CSR without the cost of another matrix object."""
    cells = (x.data.copy(), x.indices.copy(), np.diff(x.indptr)) if is_sparse(x) else x.copy()
    return HeldRows(cells, x.shape, codes.copy(), None if weight is None else weight.copy())


def stack_held(held: list[HeldRows]) -> Batch:
    """Return rows that are held as one batch."""
    codes = np.concatenate([rows.codes for rows in held])
    weight = None
    if any(rows.weight is not None for rows in held):
        weight = np.concatenate([rows.weights for rows in held])
    if not all(isinstance(rows.cells, tuple) for rows in held):
        return Batch(np.concatenate([rows.dense() for rows in held]), codes, weight)
    data, indices, lengths = (np.concatenate(parts) for parts in zip(*(rows.cells for rows in held), strict=True))
    ends = np.concatenate([[0], np.cumsum(lengths)])
    x = scipy.sparse.csr_array((data, indices, ends), shape=(len(codes), held[0].shape[1]))
    return Batch(x, codes, weight)


def is_auto(value: Any) -> bool:
    """Whether a parameter is chosen by the data."""
    return isinstance(value, str) and value == "auto"


def source_joint(model: GenerativeClassifier) -> Joint:
    """Return the p(x, y) that a fitted model draws rows from: ``joint_``, or a density where its scores are none."""
    return model._source()


def check_smoothing(alpha: Any) -> None:
    """Raise unless alpha is "auto", or a finite number of 0 or more, or one such number per feature."""
    if not isinstance(alpha, str):
        smoothing_strength(alpha, np.size(alpha))
    elif alpha != "auto":
        raise ValueError(f"alpha must be a number, one number per feature, or 'auto'; got {alpha!r}")


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _shown(X: Any) -> Any:
    """Return the rows as the user gave them, to be looked up cell by cell."""
    if is_sparse(X):
        return X.tocsr()
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=None if hasattr(X, "dtype") else object)


def _sum_part(model: SummedClassifier, known: Labels, fixed: bool, piece: Piece) -> Summed:
    rows = model._encode_part(known, fixed, piece)
    return rows.labels, model._sum(rows.x, rows.codes, rows.weight, rows.labels), rows.like


def _add_parts(model: SummedClassifier, one: Summed, two: Summed) -> Summed:
    labels = one[0].union(two[0])[0]
    numbers = one[2].dtype.kind in "biuf" and two[2].dtype.kind in "biuf"
    kind = np.result_type(one[2], two[2]) if numbers else object
    like = one[2] if one[2].dtype == two[2].dtype else np.empty(0, dtype=kind)
    return labels, model._sum_to_keep(one[1]) + two[1], like


def _encode_part(model: GenerativeClassifier, piece: Piece) -> Rows:
    return model._encode_part(Labels(), False, piece)


def _rows_of_part(model: GenerativeClassifier, labels: Labels, piece: Piece) -> Rows:
    return model._encode_part(labels, True, piece)


def _features_of_part(model: GenerativeClassifier, piece: Piece) -> Any:
    return model._features(piece["X"], reset=False)
