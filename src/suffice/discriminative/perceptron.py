"""The perceptron: a linear classifier, updated by every misclassified row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from suffice import monitoring, partitioned, validation
from suffice.data import EncodedDataset, as_dataset
from suffice.data.dataset import Piece, model_for_parts, no_rows
from suffice.discriminative.base import never_fitted
from suffice.discriminative.class_weight import class_weights
from suffice.discriminative.layout import check_squares
from suffice.estimator import ClassifierInPartsMixin, FittedParameters, coefficients_html, keeps_precision, row_wise
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.descent import Correction
from suffice.kernels.engine import engine_for
from suffice.kernels.inputs import JOINT, Reading
from suffice.kernels.libraries import named_classes
from suffice.kernels.protocol import Kernels
from suffice.solvers.base import Step, thin_trace
from suffice.solvers.stochastic import shuffled
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, check_shapes, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import ClassWeight, MatrixLike, RandomState, VectorLike


class Perceptron(FittedParameters, Stored, ClassifierInPartsMixin, BaseEstimator):  # type: ignore[misc]
    """The perceptron: theta := theta + eta0 (y - 1{theta' x > 0}) x for each row, until no row is misclassified.

    A row on the boundary, theta' x = 0, is a mistake of either class, as in scikit-learn; with ``boundary="second"`` it
    is of the second class, as in textbooks: g(z) = 1{z >= 0}. With more than two classes each has a theta, the
    predicted class has the largest theta' x, and a mistake adds x to the theta of the row's class and subtracts it from
    that of the predicted class; scikit-learn fits one class against the others instead.

    If a hyperplane separates the classes, the rule finds one after at most (R / margin)^2 mistakes, with R the length
    of the longest row, including the intercept's 1. Otherwise theta does not converge: the last theta is kept, or with
    ``average`` the mean. The perceptron has no probabilities; logistic regression has.

    Parameters
    ----------
    boundary
        What a row with theta' x = 0 is, of two classes: ``"mistake"``, a mistake of either class, and predicted as the
        first, as in scikit-learn; ``"second"``, of the second class, in steps and in predictions. From theta = 0 the
        two take other steps; rows are on the boundary later where they are whole numbers, as in exercises.
    fit_intercept
        Whether there is an intercept; without one the boundary passes through 0.
    max_iter
        Most epochs of :meth:`fit`.
    tol
        :meth:`fit` stops if the loss per row, max(0, -y theta' x) with y of -1 and 1, has not decreased by this much
        for ``n_iter_no_change`` epochs; None to stop only where the rows are separated.
    shuffle
        Whether :meth:`fit` shuffles the rows for each epoch.
    average
        Whether to keep the mean of theta over all rows visited, which depends less on the last rows.
    eta0
        Step size. From theta = 0 it changes the length of theta, not the predicted classes.
    random_state
        Seed or generator of the shuffles; 0 by default. None for new ones at every fit.
    n_iter_no_change
        Number of epochs without a decrease of the loss after which :meth:`fit` stops.
    warm_start
        Whether :meth:`fit` starts from the theta of the last fit, if it had the same classes.
    class_weight
        Factor of the steps of each class: a dict, or ``"balanced"`` for weights inverse to the class frequencies.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.
    device
        None: the device that holds the rows. ``"cuda"``: rows in host memory are streamed through the GPU.

    Attributes
    ----------
    classes_
        The classes, (k,).
    coef_
        (1, d) for two classes, else (k, d).
    intercept_
        (1,) for two classes, else (k,).
    theta_
        The intercepts, where there are any, above the coefficients: (p, 1) for two classes, else (p, k).
    trace_
        The last theta, the loss and the step size of each epoch and each call of ``partial_fit``, thinned beyond
        10,000; empty after a model is loaded.
    mistakes_
        Number of mistakes in each epoch.
    n_iter_
        Number of epochs. An epoch without mistakes is the last: scikit-learn goes on for ``n_iter_no_change`` epochs,
        which change nothing.
    separated_
        Whether the last epoch was without mistakes: then the last theta separates the rows.
    why_
        Why the fit stopped, in words.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    Examples
    --------
    >>> model = Perceptron(random_state=0).fit([[0.0], [1.0], [3.0], [4.0]], ["low", "low", "high", "high"])
    >>> model.predict([[-1.0], [5.0]])
    array(['low', 'high'], dtype='<U4')
    >>> model.why_
    'the rows are separated: the last epoch was without mistakes'

    By hand, with g(0) = 1: the first row is right, the second is taken for class 1, the third for class 0.

    >>> rule = Perceptron(boundary="second", fit_intercept=False, shuffle=False)
    >>> rule.fit([[1.0, 1.0], [-1.0, 1.0], [0.0, 1.0]], [1, 0, 1]).theta_.ravel(), rule.mistakes_
    (array([1., 0.]), [2, 0])
    """

    classes_: npt.NDArray[Any]
    n_features_in_: int
    mistakes_: list[int]
    trace_: tuple[Step, ...]
    n_iter_: int
    separated_: bool
    why_: str
    _labels: Labels
    coef_: FloatArray
    intercept_: FloatArray
    _theta: FloatArray  # (p, t), the last one; t is 1 for two classes
    _total: FloatArray  # (p, t), the sum of theta over the rows visited
    _visits: int
    _loss: float  # of the last epoch

    _fixed_parameters = ("fit_intercept",)
    _symbols: ClassVar[Mapping[str, str]] = {"theta": "theta_", "w": "coef_", "b": "intercept_"}

    def __init__(
        self,
        *,
        boundary: Literal["mistake", "second"] = "mistake",
        fit_intercept: bool = True,
        max_iter: int = 1000,
        tol: float | None = 1e-3,
        shuffle: bool = True,
        average: bool = False,
        eta0: float = 1.0,
        random_state: RandomState = 0,
        n_iter_no_change: int = 5,
        warm_start: bool = False,
        class_weight: ClassWeight = None,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.boundary = boundary
        self.fit_intercept = fit_intercept
        self.max_iter = max_iter
        self.tol = tol
        self.shuffle = shuffle
        self.average = average
        self.eta0 = eta0
        self.random_state = random_state
        self.n_iter_no_change = n_iter_no_change
        self.warm_start = warm_start
        self.class_weight = class_weight
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.device = device

    # Learning.

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Fit the model to rows, in epochs until there are no mistakes.

        Parameters
        ----------
        X
            Rows, (n, d): a NumPy or array-API array, a scipy sparse matrix or a data frame.
        y
            The class of each row, (n,).
        sample_weight
            Factor of the steps of each row, (n,). A row of weight 0 is never a mistake.
        """
        with self._learning(anew=True):
            return self._fit(X, y, sample_weight)

    @classmethod
    def _conversion(cls, name: str, value: Any) -> str | None:
        if name in ("penalty", "alpha", "l1_ratio"):
            learning_rate = f", and a learning rate alpha is eta0={value!r}" if name == "alpha" else ""
            return (
                f"Perceptron has no {name}: it has no penalty, for which use LogisticRegression(C=1.0){learning_rate}"
            )
        return super()._conversion(name, value)

    def _check_settings(self) -> None:
        if self.boundary not in ("mistake", "second"):
            raise ValueError(f"boundary must be 'mistake' or 'second'; got {self.boundary!r}")
        if self.max_iter < 1:
            raise ValueError(f"max_iter must be at least 1; got {self.max_iter}")
        if self.n_iter_no_change < 1:
            raise ValueError(f"n_iter_no_change must be at least 1; got {self.n_iter_no_change}")
        if not 0 < self.eta0 < np.inf:
            raise ValueError(f"eta0 must be finite and above 0; got {self.eta0:g}")

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        self._take_assigned()
        known = getattr(self, "_theta", None) if self.warm_start else None
        given = as_dataset(X, y=y, sample_weight=sample_weight)
        rows = given.rereadable()
        try:
            validation.features(self, rows.example(), reset=True)
            found: ClassTotals | None = rows.map_parts(ClassTotals.of).reduce(ClassTotals.plus)
            if found is None:
                raise no_rows()
            found.check()
            labels = found.labels
            encode = partial(_encode_part, model_for_parts(self, rows), found)
            data = EncodedDataset.of_parts(rows.map_parts(encode), self._engine)
            if known is not None and (labels != self._labels or len(known) != data.n_features + self.fit_intercept):
                known = None
            self._begin(labels, found.like, known)
            check_squares(data)
            return self._find(data)
        finally:
            if rows is not given:
                rows.release()

    def _find(self, data: EncodedDataset) -> Self:
        """Run epochs until there are no mistakes, or ``max_iter`` of them."""
        random = check_random_state(self.random_state)
        least, unchanged = np.inf, 0
        is_reported = monitoring.is_reported()
        with validation.naming_cells():
            for _ in range(self.max_iter):
                self._epoch(data, random.randint(2**31 - 1) if self.shuffle else None)
                loss = self._loss / data.n_rows
                unchanged = unchanged + 1 if self.tol is not None and loss > least - self.tol else 0
                least = min(least, loss)
                if is_reported:
                    monitoring.report(self.n_iter_, data.n_rows, self.mistakes_[-1])
                if self.separated_ or unchanged >= self.n_iter_no_change:
                    break
        self.coef_, self.intercept_ = self._shown()
        if self.separated_:
            return self
        if unchanged >= self.n_iter_no_change:
            self.why_ = f"the loss per row has not decreased by {self.tol:g} for {self.n_iter_no_change} epochs"
            return self
        self.why_ = f"all {self.max_iter} epochs are over, and there were {self.mistakes_[-1]} mistakes in the last"
        warn_user(
            f"the rows are not separated: {self.mistakes_[-1]} of {data.n_rows} were mistakes in the last of "
            f"{self.max_iter} epochs. If they are not linearly separable, use average=True, or logistic "
            "regression; else raise max_iter",
            ConvergenceWarning,
        )
        return self

    def partial_fit(
        self, X: MatrixLike, y: VectorLike = None, classes: VectorLike = None, sample_weight: VectorLike = None
    ) -> Self:
        """Learn from a batch of rows in one epoch, in row order.

        Parameters
        ----------
        X, y, sample_weight
            As for :meth:`fit`.
        classes
            All classes; needed in the first call if its y lacks some.
        """
        first = not hasattr(self, "_theta")
        with self._learning(anew=first):
            return self._learn_more(X, y, classes, sample_weight, first)

    def _learn_more(self, X: Any, y: Any, classes: Any, sample_weight: Any, first: bool) -> Self:
        self._take_assigned()
        data = as_dataset(X, y=y, sample_weight=sample_weight)
        if data.in_memory is None:  # the model is passed from worker to worker
            if first and classes is None:
                classes = list(partitioned.find_classes(data))
            partitioned.learn_in_order(self, data, partial(_learn_part, classes))
            return self
        X, y, sample_weight = (data.in_memory.get(name) for name in ("X", "y", "sample_weight"))
        x = validation.features(self, X, reset=first)
        column = validation.targets(y, x.shape[0])
        announced = None if classes is None else validation.announced_classes(classes)
        labels = self._labels if not first else Labels.of(column) if announced is None else announced
        if not first and announced is not None and announced != labels:
            raise ValueError(f"classes is not the same as on the last call to partial_fit: it was {list(labels)!r}")
        labels, codes = validation.known_codes(labels, column, fixed=True)
        if isinstance(self.class_weight, str):
            raise ValueError(
                f"class_weight={self.class_weight!r} needs all rows at once: give a dict of weights, or use fit"
            )
        weight = validation.weights(sample_weight, len(codes))
        if len(labels) < 2 or (first and classes is None):
            ClassTotals.of({"y": y, "sample_weight": sample_weight}).check()
        weight = class_weights(self.class_weight, labels, codes, weight)
        if first:
            self._begin(labels, column if classes is None else np.asarray(classes), None)
        with validation.naming_cells():
            self._epoch(EncodedDataset.of_batch(Batch(x, codes, weight), self._engine), None)
        self.coef_, self.intercept_ = self._shown()
        return self

    def _begin(self, labels: Labels, column: npt.NDArray[Any], theta: FloatArray | None) -> None:
        """Start at a theta, or at 0."""
        if self._params.boundary == "second" and len(labels) > 2:
            raise ValueError(
                f"boundary='second' is a rule for two classes, and there are {len(labels)}: leave it out; of several "
                "classes with the largest theta' x, the first is predicted"
            )
        shape = self.n_features_in_ + int(self.fit_intercept), 1 if len(labels) == 2 else len(labels)
        self._labels = labels
        self.classes_ = validation.classes_array(labels, column)
        self._theta = np.zeros(shape) if theta is None else theta
        self._total, self._visits = np.zeros(shape), 0
        self.mistakes_, self.n_iter_, self.trace_ = [], 0, ()

    def _epoch(self, data: EncodedDataset, seed: int | None) -> None:
        """Run one epoch over the rows, shuffled by a seed or in their order."""
        rule = _correct_second if self._params.boundary == "second" else _correct
        visit = partial(_visit, rule, len(self._labels.names), self.fit_intercept, self.eta0, seed)
        seen, visits = data.fold(visit, (Correction(self._theta, np.zeros_like(self._theta), 0, 0.0), 0))
        self._theta, self._total = seen.theta, self._total + seen.total
        self._visits += visits
        self._loss = seen.loss
        self.mistakes_ = [*self.mistakes_, seen.mistakes]  # a new list: an interrupted epoch keeps the old one
        self.n_iter_ += 1
        number = self.n_iter_
        line = Step(
            float(number), seen.loss, float("nan"), monitoring.since_start(), seen.theta.copy(), number, self.eta0
        )
        self.trace_ = thin_trace((*self.trace_, line))
        self.separated_ = seen.mistakes == 0
        rest = "there were mistakes in the last epoch"
        self.why_ = "the rows are separated: the last epoch was without mistakes" if self.separated_ else rest

    # Predictions.

    @property
    def _kept(self) -> FloatArray:
        """The theta of predictions, (p, t)."""
        return self._total / self._visits if self._params.average and self._visits else self._theta

    @property
    def theta_(self) -> FloatArray:
        """The intercepts, where there are any, above the coefficients: (p, t)."""
        self._labels_checked()
        coef = np.atleast_2d(np.asarray(self.coef_, dtype=np.float64))
        if not self._params.fit_intercept:
            return coef.T
        level = np.broadcast_to(np.asarray(self.intercept_, dtype=np.float64).ravel(), (len(coef),))
        return np.concatenate([level[None, :], coef.T])

    def _fitted_html(self) -> str:
        names = getattr(self, "feature_names_in_", [f"x{place}" for place in range(self.n_features_in_)])
        features = [str(name) for name in names]
        names = ["intercept", *features] if self._params.fit_intercept else features
        theta = self.theta_
        columns = ["coefficient"] if theta.shape[1] == 1 else [str(label) for label in self.classes_]
        return coefficients_html(names, theta, columns, [f"{self.n_iter_} epochs: {self.why_}"])

    def _shown(self) -> tuple[FloatArray, FloatArray]:
        """Return ``coef_`` and ``intercept_`` as they were learned."""
        kept, first = self._kept, int(self._params.fit_intercept)
        return np.array(kept[first:].T, order="C"), kept[0].copy() if first else np.zeros(kept.shape[1])

    def _is_assigned(self) -> bool:
        """Whether ``coef_`` or ``intercept_`` were changed after the fit."""
        coef, intercept = self._shown()
        return not (np.array_equal(self.coef_, coef) and np.array_equal(self.intercept_, intercept))

    def _take_assigned(self) -> None:
        """Continue from coefficients that were changed after the fit."""
        if hasattr(self, "_theta") and self._is_assigned():
            self._theta = self.theta_
            self._total, self._visits = np.zeros_like(self._theta), 0

    @row_wise("score")
    @keeps_precision()
    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return theta' x: (n,), positive for the second class, where there are two; else (n, k)."""
        scores = self._scores(X, JOINT)
        found: FloatArray = scores[:, 0] if len(self.classes_) == 2 else scores
        return found

    @row_wise("prediction")
    def predict(self, X: MatrixLike) -> npt.NDArray[Any]:
        """Return the class of each row, (n,)."""
        if len(self._labels_checked()) == 2:
            scores = to_host(self._scores(X, JOINT))[:, 0]
            codes = (scores >= 0 if self._params.boundary == "second" else scores > 0).astype(np.int64)
        else:
            codes = to_host(self._scores(X, Reading("best")))
        found: npt.NDArray[Any] = named_classes(self.classes_, codes)
        return found

    def _labels_checked(self) -> Labels:
        check_is_fitted(self, "classes_")
        if "_labels" not in vars(self):  # coefficients and classes were assigned to an unfitted model
            self._labels = validation.announced_classes(self.classes_)
            self.n_features_in_ = int(np.shape(self.coef_)[-1])
        return self._labels

    def _scores(self, X: Any, reading: Reading) -> Any:
        self._labels_checked()
        x = validation.features(self, X, reset=False)
        coef = np.ascontiguousarray(self.coef_, dtype=np.float64)
        intercept = np.ascontiguousarray(np.broadcast_to(self.intercept_, (len(coef),)), dtype=np.float64)

        def score(part: Batch, kernels: Kernels) -> Any:
            return kernels.linear_scores(part, coef, intercept, reading)

        with validation.naming_cells():
            return engine_for(self._engine, x).map_rows(score, Batch(x))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    # The file.

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {**state, "mistakes_": list(state["mistakes_"])} if "mistakes_" in state else state

    def _contents(self) -> Contents:
        if hasattr(self, "coef_") and not hasattr(self, "_theta"):
            raise never_fitted(self, "a file")
        labels = self._labels_checked()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "classes": {"names": list(labels), "dtype": self.classes_.dtype.str},
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "mistakes": self.mistakes_,
                "visits": self._visits,
                "why": self.why_,
            },
            statistics={},
            arrays={
                "theta": self._theta,
                "total": self._total,
                **({"coef": self.coef_, "intercept": self.intercept_} if self._is_assigned() else {}),
            },
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings)
        labels = Labels(tuple(settings["classes"]["names"]))
        if len(labels) < 2:
            raise ValueError(f"a perceptron has at least two classes; the file names {list(labels)!r}")
        parameters.restore_features(model, settings)
        model._begin(labels, np.empty(0, dtype=settings["classes"]["dtype"]), contents.arrays["theta"])
        check_shapes(contents.arrays, {"theta": model._total.shape, "total": model._total.shape})
        model._total, model._visits = contents.arrays["total"], int(settings["visits"])
        model.mistakes_ = [int(mistakes) for mistakes in settings["mistakes"]]
        model.n_iter_ = len(model.mistakes_)
        model.separated_ = model.mistakes_[-1] == 0
        model.why_ = str(settings["why"])
        model.coef_, model.intercept_ = model._shown()
        if "coef" in contents.arrays:
            check_shapes(contents.arrays, {"coef": model.coef_.shape, "intercept": model.intercept_.shape})
            model.coef_, model.intercept_ = contents.arrays["coef"], contents.arrays["intercept"]
        return model


class ClassTotals(NamedTuple):
    """The classes of rows, and the weight of each."""

    labels: Labels
    weights: FloatArray  # (k,)
    like: npt.NDArray[Any]  # an empty array of the type of the labels
    codes: npt.NDArray[np.int64] | None = None  # of all rows, if they are one part

    @classmethod
    def of(cls, piece: Piece) -> ClassTotals:
        """Return the classes of one part."""
        column = validation.targets(piece.get("y"), None)
        labels, codes = Labels.discover(column)
        with validation.one_of_many():
            weight = validation.weights(piece.get("sample_weight"), len(codes))
        weights = np.bincount(codes, weights=weight, minlength=len(labels)).astype(np.float64)
        return cls(labels, weights, column[:0], codes)

    def plus(self, other: ClassTotals) -> ClassTotals:
        """Return the classes of both."""
        labels, mine, theirs = self.labels.union(other.labels)
        weights = np.zeros(len(labels))
        weights[mine] += self.weights
        weights[theirs] += other.weights
        return ClassTotals(labels, weights, self.like)

    def weights_of(self, names: list[Any]) -> FloatArray:
        """Return the weights of some classes, 0 for those without rows."""
        each = dict(zip(self.labels, self.weights.tolist(), strict=True))
        return np.array([each.get(name, 0.0) for name in names])

    def check(self) -> None:
        """Raise if there are no rows of two classes."""
        validation.check_weight(float(self.weights.sum()))
        present = np.flatnonzero(self.weights > 0)
        if len(present) < 2:
            raise ValueError(
                "a perceptron needs rows of at least 2 classes; those with weight are of 1 class, "
                f"{self.labels.names[present[0]]!r}"
            )


def _encode_part(model: Perceptron, classes: ClassTotals, piece: Piece) -> Batch:
    x = validation.features(model, piece["X"], reset=False)
    codes = classes.codes
    if codes is None or len(codes) != x.shape[0]:
        column = validation.targets(piece["y"], x.shape[0])
        codes = validation.known_codes(classes.labels, column, fixed=True)[1]
    with validation.one_of_many():
        weight = validation.weights(piece.get("sample_weight"), x.shape[0])
    return Batch(x, codes, class_weights(model.class_weight, classes.labels, codes, weight, classes.weights))


def _correct(
    kernels: Kernels, batch: Batch, theta: FloatArray, classes: int, intercept: bool, order: Any, step: float
) -> Correction:
    return kernels.correct(batch, theta, classes, intercept, order, step)


def _correct_second(
    kernels: Kernels, batch: Batch, theta: FloatArray, classes: int, intercept: bool, order: Any, step: float
) -> Correction:
    """Return the corrections of two classes where theta' x = 0 is the second class.

    Of several classes, the first with the largest score is predicted. With the scores z of the second class, -z of the
    first, and 0 of a class without rows, that is the second where z >= 0, and never the third.
    """
    swapped = replace(batch, y=1 - np.asarray(to_host(batch.y)))
    three = np.concatenate([theta, -theta, np.zeros_like(theta)], axis=1)
    found = kernels.correct(swapped, three, 3, intercept, order, step)
    return Correction(found.theta[:, :1], found.total[:, :1], found.mistakes, found.loss / 2)


def _visit(
    correct: Callable[..., Correction],
    classes: int,
    intercept: bool,
    step: float,
    seed: int | None,
    state: tuple[Correction, int],
    batch: Batch,
    kernels: Kernels,
) -> tuple[Correction, int]:
    """Run one epoch over a batch, continuing from those before."""
    before, visits = state
    order = batch.start + shuffled(batch.rows, seed)
    found = correct(kernels, batch, before.theta, classes, intercept, order, step)
    visits += batch.rows if batch.weight is None else int(np.count_nonzero(batch.weight))
    total, mistakes, loss = before.total + found.total, before.mistakes + found.mistakes, before.loss + found.loss
    return Correction(found.theta, total, mistakes, loss), visits


def _learn_part(classes: Any, model: Perceptron, piece: Piece) -> Perceptron:
    return copy.deepcopy(model).partial_fit(piece["X"], piece["y"], classes, piece.get("sample_weight"))
