"""Generative classifiers: p(x, y) is read from one sum over rows; what every model of this kind does."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from suffice import validation
from suffice.data import Dataset, as_dataset
from suffice.data.dataset import Piece, model_for_parts
from suffice.data.sql import DatabaseSums
from suffice.fitted_parameters import read_attribute
from suffice.generative import em_unlabelled, leave_one_out
from suffice.generative.conditional import Conditional, against_average, log_ratio, strongest
from suffice.generative.explanation import Explanations
from suffice.generative.joint import Joint, What, read_many
from suffice.generative.summed_classifier import (
    Codes,
    HeldRows,
    RunningSum,
    SummedClassifier,
    copy_rows,
    count_values,
    is_small,
    stack_held,
)
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.libraries import beside, is_foreign, is_sparse, named_classes
from suffice.kernels.protocol import Kernels
from suffice.partitioned import row_wise, sample_rows, sum_parts
from suffice.selection import tuning
from suffice.selection.rows import Rows
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray
from suffice.store import Contents, parameters

RandomState = int | np.random.Generator | np.random.RandomState | None


class GenerativeClassifier(SummedClassifier):
    """A classifier that knows p(x, y): it describes each class, and decides by Bayes' rule.

    A subclass says what to sum (:meth:`_summariser`) and how to read p(x | y) from the sum (:meth:`_conditional`). The
    sum is all that is kept of the rows, so models stream, merge and forget.
    """

    #: The settings that may be "auto", with the values that are tried and the value where nothing was tried yet.
    _tuned: ClassVar[dict[str, tuple[tuple[float, ...], float]]] = {}

    #: Whether the joint log-probabilities are those of a density; if not, only log_evidence adds what is left out.
    _joint_is_density: ClassVar[bool] = True

    _fit_attributes = ("em_trace_",)

    device: str | None
    temperature: float | str
    n_features_in_: int
    _chosen: dict[str, float]

    # What a subclass defines.

    @abstractmethod
    def _summariser(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        """Return the summariser of a batch whose y holds codes into the labels."""

    @abstractmethod
    def _conditional(self, statistics: Any) -> Conditional:
        """Return p(x | y) as the settings read it from the sum."""

    @abstractmethod
    def _prior(self, statistics: Any) -> FloatArray:
        """Return p(y), (k,)."""

    @abstractmethod
    def _prior_is_learnt(self) -> bool:
        """Whether p(y) is the classes' shares of the rows."""

    def _check_settings(self) -> None:
        """Raise where a setting makes no sense, before any row is read."""
        _check_temperature(self.temperature)

    def _features(self, X: Any, reset: bool) -> Any:
        """Return the rows as engines read them."""
        return validation.features(self, X, reset)

    def _can_wait(self, x: Any) -> bool:
        """Whether a small batch holds nothing that its sum would refuse, and may wait to be added."""
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

    def _sum_shape(self) -> dict[str, Any]:
        """Return the settings that change what is summed: models must agree on them to be merged."""
        return {}

    def _generative(self, statistics: Statistics) -> Joint:
        """Return the p(x, y) whose likelihood unlabelled rows raise."""
        return self._read(statistics).with_temperature(1.0)

    def _log_smoothing(self, conditional: Any) -> float:
        """Return the log-density of the prior that smoothing stands for, up to a constant."""
        return 0.0

    def _setting(self, name: str) -> Any:
        """Return a setting, as it was chosen where it is "auto"."""
        value = getattr(self._params, name)
        return self._choice(name, self._tuned[name][1]) if is_auto(value) else value

    def _choice(self, name: str, otherwise: float) -> float:
        """Return what was chosen for a setting; ``otherwise`` where no rows were there to choose by."""
        return float(getattr(self, "_chosen", {}).get(name, otherwise))

    # Learning.

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        unlabelled: Any = None,
        unlabelled_weight: float = 1.0,
    ) -> Self:
        """Learn from rows and their classes, forgetting what was learned before.

        Parameters
        ----------
        X
            Rows, (n, d); a stream of batches (X, y) or (X, y, sample_weight), which may be larger than memory: an
            iterator, or a function that starts one; a path, a URL or a list of paths of files; a collection of Dask or
            a data frame of Spark, which is summed where it lives; or a :class:`~suffice.data.Dataset`.
        y
            The class of each row, (n,): numbers, strings or booleans. Of a cluster's data frame, it may be the name of
            its column, and of files and Spark's must be.
        sample_weight
            One weight per row; every row counts once by default.
        unlabelled
            Rows without a class. They are taken in by expectation maximisation; ``em_trace_`` holds the
            log-likelihood after each step. What is kept are expected sums: ``+`` adds them, which is not what
            a fit to all rows would have expected.
        unlabelled_weight
            How much such a row counts beside one with a class.

        Returns
        -------
        self
        """
        with self._learning(anew=True):
            data = as_dataset(X, y=y, sample_weight=sample_weight)
            others = None if unlabelled is None else as_dataset(unlabelled)
            kept = data if self._reads_once() and others is None else data.rereadable()
            try:
                return self._fit(kept, others, unlabelled_weight)
            finally:
                if kept is not data:
                    kept.release()

    def _reads_once(self) -> bool:
        """Whether one pass over the rows is enough."""
        return not self._wants_tuning()

    def _fit(self, data: Dataset, unlabelled: Dataset | None, unlabelled_weight: float) -> Self:
        self._chosen = {}
        part, is_tuned = data.in_memory, self._wants_tuning()
        if part is not None:
            rows = self._prepare(part["X"], part.get("y"), part.get("sample_weight"))
            if unlabelled is not None or is_tuned:
                rows = rows.with_codes_here()
            labels, like = rows.labels, np.asarray(rows.like)
            statistics, trace = self._first_sum(rows)
        else:
            self._set_features(data)
            (labels, statistics, like), trace = sum_parts(self, data, Labels(), fixed=False), []
        self._remember(labels, like, statistics)
        if trace:
            self.em_trace_ = trace
        if unlabelled is not None:
            self._learn_unlabelled(data, unlabelled, unlabelled_weight)
        if is_tuned:
            self._tune(rows if part is not None else self._rows_of(labels, sample_rows(data)))
        _ = self._joint  # what cannot be read from the sum is said now, not at the first prediction
        return self

    def _learn_unlabelled(self, data: Dataset, unlabelled: Dataset, weight: float) -> None:
        """Take in rows without a class by expectation maximisation."""
        labels = self._memory.labels
        rows = data.map_parts(partial(_rows_of_part, model_for_parts(self, data), labels))
        kept = unlabelled.rereadable()
        try:
            features = kept.map_parts(partial(_features_of_part, model_for_parts(self, kept)))
            statistics, self.em_trace_ = em_unlabelled.learn(self, rows, features, weight, self._memory.statistics)
        finally:
            if kept is not unlabelled:
                kept.release()
        self._memory.replace(labels, statistics)

    def _learn_first(self, data: Dataset, classes: Any = None) -> Self:
        self._chosen = {}
        return super()._learn_first(data, classes)

    def _remember(self, labels: Labels, like: npt.NDArray[Any], statistics: Any, fixed: bool = False) -> None:
        self._drop_fit_attributes()
        super()._remember(labels, like, statistics, fixed)

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Rows:
        """Return validated rows and class codes for the first fit of a model."""
        x = self._first_features(X, sample_weight)
        labels, codes, like = validation.coded(validation.beside_rows(x, y), x.shape[0])
        return Rows(x, codes, validation.weights(sample_weight, x.shape[0]), labels, like)

    def _first_sum(self, rows: Rows) -> tuple[Statistics, list[float]]:
        """Return the sum over rows that come all at once; and the log-likelihood step by step, if there are steps."""
        return self._sum(rows.x, rows.codes, rows.weight, rows.labels), []

    def _rows_of(self, labels: Labels, piece: Piece) -> Rows:
        """Return the rows of a part, whose classes are known."""
        rows, known, like = self._one_part(piece, labels, True)
        return Rows(*rows, known, like)

    def _check_mergeable(self, other: Self) -> None:
        mine, theirs = self._sum_shape(), other._sum_shape()
        for name in mine:
            if repr(mine[name]) != repr(theirs[name]):
                raise ValueError(
                    f"models with {name}={mine[name]!r} and {name}={theirs[name]!r} have not summed the same things: "
                    "they cannot be merged"
                )
        if self.n_features_in_ != other.n_features_in_:
            raise ValueError(f"models of {self.n_features_in_} and of {other.n_features_in_} features cannot be merged")
        names = [list(getattr(model, "feature_names_in_", [])) for model in (self, other)]
        if all(names) and names[0] != names[1]:
            raise ValueError(f"models of the features {names[0]!r} and {names[1]!r} cannot be merged")

    def _wants_tuning(self) -> bool:
        params = self._params
        return any(is_auto(getattr(params, name)) for name in (*self._tuned, "temperature"))

    def _tune(self, rows: Rows) -> None:
        """Choose the settings that are "auto" by how well they predict rows held out."""
        wanted = {name: grid for name, (grid, _) in self._tuned.items() if is_auto(getattr(self._params, name))}
        self._chosen = tuning.choose(self, rows, wanted, is_auto(self._params.temperature))
        self._memory.unread()

    def _left_out(self, statistics: Statistics, rows: Rows) -> FloatArray:
        """Return log p(x, y) of each row, (n, k), under what all other rows teach."""
        return leave_one_out.one_by_one(self, statistics, rows)

    # The sum, and what was read from it.

    def _what_fixes(self) -> dict[str, Any]:
        return self._sum_shape()

    def _check_readable(self, wanted: Self) -> None:
        for name in (*self._tuned, "temperature"):
            if is_auto(getattr(wanted, name)) and name not in self._chosen:
                raise ValueError(f"{name}='auto' is chosen by rows held out, which the sums do not hold: fit again")

    def _check_read(self) -> None:
        _ = self._joint

    @property
    def _joint(self) -> Joint:
        self._check_fitted()
        return self._memory.model(self._read)

    def _read(self, statistics: Statistics) -> Joint:
        """Return p(x, y) as the settings read it from a sum."""
        return self._joint_of(statistics, self._conditional(statistics))

    def _joint_of(self, statistics: Statistics, conditional: Conditional) -> Joint:
        """Return p(x, y) with this p(x | y)."""
        return Joint(self._labels_of(statistics), self._prior(statistics), conditional, self._temperature())

    def _temperature(self) -> float:
        """Return the temperature, as it was chosen where it is "auto"."""
        temperature = self._params.temperature
        return self._choice("temperature", 1.0) if is_auto(temperature) else float(temperature)

    def _labels_of(self, statistics: Any) -> Labels:
        labels: Labels = statistics.labels
        return labels

    def _rows_read(self, X: Any, what: What) -> Any:
        self._check_fitted()
        x = self._features(X, reset=False)
        return self._ask(self._joint, x, what)

    def _readable(self, joint: Joint, x: Any) -> Any:
        """Return validated rows as p(x, y) reads them."""
        return x

    def _ask(self, joint: Joint, x: Any, what: What) -> Any:
        """Return one reading of every validated row."""
        x = self._readable(joint, x)
        return joint.read(engine_for(self._engine, x), x, what)

    def _ask_many(self, joints: Sequence[Joint], x: Any, what: Any) -> list[Any]:
        """Return one reading of every row under each of several p(x, y) read from the same sum."""
        x = self._readable(joints[0], x)
        return read_many(joints, engine_for(self._engine, x), x, what)

    # Answers.

    @row_wise("prediction")
    def predict(self, X: Any) -> Any:
        """Return the most probable class of each row, (n,)."""
        codes = self._rows_read(X, "best")
        return named_classes(self.classes_, codes)

    @row_wise("probability")
    def predict_proba(self, X: Any) -> Any:
        """Return p(y | x), (n, k)."""
        return self._rows_read(X, "posterior")

    @row_wise("log_probability")
    def predict_log_proba(self, X: Any) -> Any:
        """Return log p(y | x), (n, k)."""
        return self._rows_read(X, "log_posterior")

    @row_wise("joint_log_probability")
    def predict_joint_log_proba(self, X: Any) -> Any:
        """Return log p(x, y), (n, k)."""
        joint = self._rows_read(X, "joint")
        base = self._joint.conditional.log_base(self._features(X, reset=False)) if self._joint_is_density else None
        return joint if base is None else joint + beside(joint, base)[:, None]

    def _source(self) -> Joint:
        """Return the p(x, y) that rows are thought to come from."""
        return self._joint

    @row_wise("log_evidence")
    def log_evidence(self, X: Any) -> Any:
        """Return log p(x) of each row, (n,): low for rows unlike any that were learned."""
        self._check_fitted()
        x = self._features(X, reset=False)
        joint = self._source()
        evidence = self._ask(joint, x, "evidence")
        base = joint.conditional.log_base(x)
        return evidence if base is None else evidence + beside(evidence, base)

    @read_attribute
    def coef_(self) -> FloatArray:
        """The coefficients of the log-odds, where they are linear in x: (1, d) for two classes, else (k, d)."""
        return self._theta()[0]

    @read_attribute
    def intercept_(self) -> FloatArray:
        """The intercepts of the log-odds, where they are linear in x: (1,) for two classes, else (k,)."""
        return self._theta()[1]

    def _theta(self) -> tuple[FloatArray, FloatArray]:
        joint = self._joint if hasattr(self, "_memory") else None
        two = joint is not None and len(joint.labels) == 2
        theta = None if joint is None else joint.apart if two else joint.theta
        if theta is None or joint is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: it has no coef_")
        coef, intercept = theta.coef / joint.temperature, theta.intercept / joint.temperature
        return (log_ratio(coef[1:], coef[:1]), log_ratio(intercept[1:], intercept[:1])) if two else (coef, intercept)

    def sample(self, n: int = 1, y: Any = None, random_state: RandomState = None, **how: Any) -> tuple[Any, Any]:
        """Draw rows and their classes from the model.

        Parameters
        ----------
        n
            How many rows.
        y
            The class of the rows, or one class per row; drawn from the priors by default.
        random_state
            A seed or generator, for the same rows again.

        Returns
        -------
        X, y
            Rows, (n, d), and their classes, (n,).
        """
        joint = self._source()
        random = _generator(random_state)
        if y is None:
            codes = joint.draw_classes(n, random)
        elif np.ndim(y) == 0:
            codes = np.repeat(joint.labels.encode([y]), n)
        else:
            codes = joint.labels.encode(y)
        return self._as_given(joint.conditional.sample(codes, random, **how)), self.classes_[codes]

    def _as_given(self, rows: Any) -> Any:
        """Return drawn rows in the form the user's rows have."""
        return rows

    def explain(self, X: Any, against: Any = None) -> Explanations:
        """Take the log-odds of rows apart, feature by feature.

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
        joint = self._joint
        x = self._features(X, reset=False)
        x = x if isinstance(x, np.ndarray) or not is_foreign(x) else to_host(x)
        parts, base = joint.contributions(self._readable(joint, x))
        place = 0 if against is None else int(joint.labels.encode([against])[0])
        return Explanations(
            classes=self.classes_,
            against=self.classes_[place],
            features=self._feature_names(),
            values=_shown(X),
            parts=[part / joint.temperature for part in parts],
            level=base / joint.temperature,
            log_prior=joint.log_prior,
        )

    def top_features(self, n: int = 10) -> dict[Any, list[tuple[str, float]]]:
        """Return the features that speak most for each class, with what one unit of them adds to its log-odds.

        The odds are those against the average of all classes; only for models whose posterior is linear in x. They are
        infinite for a feature that is impossible in some classes.
        """
        theta = self._joint.theta
        if theta is None:
            raise AttributeError(f"the posterior of this {type(self).__name__} is not linear in x: use explain(X)")
        apart = against_average(theta.coef) / self._joint.temperature
        names = self._feature_names()
        return {
            label: [(str(names[j]), float(row[j])) for j in strongest(row, own)[:n]]
            for label, row, own in zip(self.classes_.tolist(), apart, theta.coef, strict=True)
        }

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
                "digits_lost": getattr(self, "digits_lost_", 0.0),
                **self._more_settings(),
            },
            statistics={"sum": self.statistics_},
            arrays={},
        )

    def _more_settings(self) -> dict[str, Any]:
        """Return what else a file must hold for the model to go on."""
        return {}

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings, families=contents.families)
        labels = Labels(tuple(settings["classes"]["names"]))
        model._chosen = dict(settings["chosen"])
        parameters.restore_features(model, settings)
        if settings["digits_lost"]:
            model.digits_lost_ = float(settings["digits_lost"])
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
        _ = model._joint
        return model

    def _restore(self, settings: Any) -> None:
        """Take back what :meth:`_more_settings` wrote."""


class PriorsGiven(GenerativeClassifier):
    """A classifier whose class priors are the classes' shares of the rows, unless the user gives ``priors``."""

    priors: Any

    def _class_weights(self, statistics: Any) -> FloatArray:
        """Return the weight of the rows of each class, (k,)."""
        weights: FloatArray = statistics.weights
        return weights

    def _prior_is_learnt(self) -> bool:
        return self._params.priors is None

    def _prior(self, statistics: Any) -> FloatArray:
        if self._params.priors is not None:
            return validation.priors(self._params.priors, statistics.labels)
        return validation.shares(statistics.labels, self._class_weights(statistics))

    @read_attribute
    def class_count_(self) -> FloatArray:
        """The weight of the rows of each class, (k,)."""
        return self._class_weights(self.statistics_)


def is_auto(value: Any) -> bool:
    """Whether a setting is to be chosen by the data."""
    return isinstance(value, str) and value == "auto"


def _check_temperature(value: Any) -> None:
    if is_auto(value):
        return
    if isinstance(value, str) or not 0 < float(value) < np.inf:
        raise ValueError(f"temperature must be a finite number above 0, or 'auto'; got {value!r}")


def _generator(random_state: RandomState) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31))
    return np.random.default_rng(random_state)


def _shown(X: Any) -> Any:
    """Return the rows as the user gave them, to be looked up cell by cell."""
    if is_sparse(X):
        return X.tocsr()
    return X.to_numpy() if hasattr(X, "to_numpy") else np.asarray(X, dtype=None if hasattr(X, "dtype") else object)


def _rows_of_part(model: GenerativeClassifier, labels: Labels, piece: Piece) -> Rows:
    return model._rows_of(labels, piece).with_codes_here()


def _features_of_part(model: GenerativeClassifier, piece: Piece) -> Any:
    return model._features(piece["X"], reset=False)
