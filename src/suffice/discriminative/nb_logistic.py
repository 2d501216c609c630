"""Logistic regression on the log-count ratios of naive Bayes, for documents."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from suffice import monitoring, validation
from suffice.data import Dataset, EncodedDataset, as_dataset
from suffice.data.dataset import Piece, engine_for_parts, model_for_parts, no_rows
from suffice.discriminative.base import ScoredClasses
from suffice.discriminative.class_weight import class_weights
from suffice.discriminative.encoding import EncodedPart, Seen
from suffice.discriminative.inference import Inference
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.discriminative.penalties import Scale
from suffice.families import Response
from suffice.kernels import Batch, Engine
from suffice.kernels.array_blocks import to_host
from suffice.kernels.descent import Ascent
from suffice.kernels.engine import engine_for
from suffice.kernels.errors import NegativeCountError, NonFiniteError
from suffice.kernels.libraries import is_foreign
from suffice.kernels.native import Ridge
from suffice.kernels.protocol import Kernels
from suffice.solvers.base import Objective, ValueGradient
from suffice.solvers.quasi_newton import QuasiNewton
from suffice.statistics import EventCounts, Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes, parameters
from suffice.user_warnings import warn_user

if TYPE_CHECKING:
    from suffice.typing import ClassWeight, MatrixLike, RandomState, VectorLike

#: Features, or stored values, in a block: few enough to stay in cache.
TOGETHER = 1 << 14


@dataclass(frozen=True, eq=False)
class LogRatios:
    """The smoothed counts of features in classes, as log-ratios of a class to all others.

    With n_kj the count of feature j in class k, m_kj that in all other classes, N_k and M_k their sums over the d
    features, r_kj = log (n_kj + alpha) / (N_k + d alpha) - log (m_kj + alpha) / (M_k + d alpha).

    Examples
    --------
    >>> LogRatios(np.array([[3.0, 1.0], [1.0, 3.0]]), 1.0).table().round(4)
    array([[-0.6931],
           [ 0.6931]])
    """

    counts: FloatArray  #: (k, d)
    alpha: float

    @property
    def told(self) -> FloatArray:
        """The counts of the classes with a predictor, (t, d): for two classes, the second."""
        return self.counts[1:] if len(self.counts) == 2 else self.counts

    def table(self) -> FloatArray:
        """Return the ratios, (d, t)."""
        here, others = self._sums()
        return self._logs(0.0, np.log(others / here))

    def scores(self, counted: Any, rows: Any, codes: npt.NDArray[np.int64], weight: float) -> FloatArray:
        """Return the leave-one-out sum_j r_kj x_ij of every row i, (n, t): r without the row's own counts.

        Parameters
        ----------
        counted
            The counts of each row, CSR.
        rows
            The rows x, CSR with the same sparsity structure.
        codes
            The class of each row, (n,).
        weight
            The weight of each row in the counts, which is subtracted.
        """
        here, others = self._sums()
        column = codes - (len(self.counts) == 2)  # of the row's class; -1: it has none
        single = bool((counted.data == 1).all())
        scores = rows @ self._logs(weight) if single else self._each(counted, rows, column, weight)
        size, taken = _over_rows(rows, rows.data), weight * _over_rows(counted, counted.data)
        level = np.log(np.maximum(others - taken[:, None], self.alpha) / here)
        mine = np.flatnonzero(column >= 0)
        if single:
            scores[mine, column[mine]] = self._own(rows, codes, weight)[mine]
        level[mine, column[mine]] = np.log(
            others[column[mine]] / np.maximum(here[column[mine]] - taken[mine], self.alpha)
        )
        return np.ascontiguousarray(scores + size[:, None] * level)

    def _sums(self) -> tuple[FloatArray, FloatArray]:
        """Return the smoothed totals of each class, and of all others, (t,)."""
        flat = self.alpha * self.counts.shape[1]
        sums = self.told.sum(axis=1)
        return sums + flat, self.counts.sum() - sums + flat

    def _logs(self, taken: float, level: FloatArray | float = 0.0) -> FloatArray:
        """Return log (n + alpha) / (m - taken + alpha) + level, (d, t)."""
        told, total = self.told, self.counts.sum(axis=0)
        logs = np.empty(told.shape[::-1])
        for start in range(0, len(total), TOGETHER):
            some = slice(start, start + TOGETHER)
            here = told[:, some]
            others = np.maximum(total[some] - here - taken, 0.0)
            logs[some] = np.log((here + self.alpha) / (others + self.alpha)).T + level
        return logs

    def _own(self, rows: Any, codes: npt.NDArray[np.int64], taken: float) -> FloatArray:
        """Return the score of each row's own class, (n,), without the row's counts."""
        flat = np.repeat(codes * self.counts.shape[1], np.diff(rows.indptr)) + rows.indices
        here = self.counts.reshape(-1)[flat]
        others = self.counts.sum(axis=0)[rows.indices] - here
        logs = np.log((np.maximum(here - taken, 0.0) + self.alpha) / (others + self.alpha))
        return _over_rows(rows, rows.data * logs)

    def _each(self, counted: Any, rows: Any, column: npt.NDArray[np.int64], weight: float) -> FloatArray:
        """Return the scores, (n, t), for rows of different weights."""
        told, total = self.told, self.counts.sum(axis=0)
        sums = np.zeros((rows.shape[0], len(told)))
        numbers = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        for start in range(0, rows.nnz, TOGETHER):
            some = slice(start, start + TOGETHER)
            place, number = rows.indices[some], numbers[some]
            here = told[:, place].T
            others = total[place][:, None] - here
            own = column[number][:, None] == np.arange(len(told))
            taken = weight * counted.data[some][:, None]
            here = np.maximum(here - np.where(own, taken, 0.0), 0.0) + self.alpha
            others = np.maximum(others - np.where(own, 0.0, taken), 0.0) + self.alpha
            np.add.at(sums, number, rows.data[some][:, None] * np.log(here / others))
        return sums


def _over_rows(rows: Any, values: FloatArray) -> FloatArray:
    """Return the sum over each row of values at its stored positions, (n,)."""
    return np.asarray(type(rows)((values, rows.indices, rows.indptr), shape=rows.shape) @ np.ones(rows.shape[1]))


def _of_length_one(counted: Any) -> Any:
    """Return CSR rows, each divided by its Euclidean length."""
    squares = sparse.csr_array((counted.data**2, counted.indices, counted.indptr), shape=counted.shape)
    lengths = np.sqrt(squares @ np.ones(counted.shape[1]))
    lengths[lengths == 0] = 1.0
    values = counted.data / np.repeat(lengths, np.diff(counted.indptr))
    return sparse.csr_array((values, counted.indices, counted.indptr), shape=counted.shape)


def _centred(intercept: FloatArray) -> FloatArray:
    """Return the intercepts of classes, centred if every class has one, as a common constant has no effect."""
    return np.array(intercept) if len(intercept) == 1 else np.asarray(intercept - intercept.mean())


def _lightest(batch: Batch, _: Kernels | None = None) -> float:
    """Return the smallest weight above 0; 1 without weights, infinity if all are 0."""
    weight = batch.weight
    return 1.0 if weight is None else float(np.min(weight, initial=np.inf, where=weight > 0))


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows, their counts, and their classes."""

    counted: Any
    rows: Any
    codes: npt.NDArray[np.int64]
    weight: FloatArray | None

    @property
    def weight_in_all(self) -> float:
        """The total weight."""
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    def of(self, which: npt.NDArray[np.bool_]) -> Texts:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[which]
        return Texts(self.counted[which], self.rows[which], self.codes[which], weight)


@dataclass(frozen=True, eq=False)
class Corrected:
    """Naive Bayes on some rows and the solver of theta; each penalty starts from the solution of the last."""

    engine: Engine
    batch: Batch  # its offset is the naive Bayes part of the scores
    response: Response
    scale: FloatArray  # (d, t), the ratios
    towards: float
    intercept: bool
    level: FloatArray  # (t,), the current intercepts
    probabilities: FloatArray  # (n, k)

    @classmethod
    def of(cls, engine: Engine, texts: Texts, classes: int, alpha: float, towards: float, intercept: bool) -> Self:
        """Return naive Bayes on these rows."""
        two, codes = classes == 2, texts.codes
        labels = Labels(tuple(range(classes)))
        sums = engine.accumulate(EventCounts.over(labels), Batch(texts.counted, codes, texts.weight))
        ratios = LogRatios(sums.counts, alpha)
        offset = None
        if towards != 0:
            light = min(_lightest(Batch(texts.counted, weight=texts.weight)), 1.0)
            offset = towards * ratios.scores(texts.counted, texts.rows, codes, light)
        probabilities = np.zeros((len(codes), classes))
        probabilities[np.arange(len(codes)), 1 - codes if two else codes] = 1.0
        batch = Batch(texts.rows, codes.astype(np.float64) if two else codes, texts.weight, offset)
        response = Response.of("bernoulli" if two else "multinomial")
        scale = ratios.table()
        return cls(engine, batch, response, scale, towards, intercept, np.zeros(scale.shape[1]), probabilities)

    def solve(self, l2: float, tol: float, most: int, seed: int) -> Ascent:
        """Return theta minus its prior mean, for a penalty."""
        start = np.zeros((len(self.scale) + self.intercept, len(self.level)))
        start[: int(self.intercept)] = self.level
        weight = self.batch.rows if self.batch.weight is None else float(self.batch.weight.sum())
        kernels: Any = self.engine.kernels  # only native kernels have it
        ascent: Ascent = kernels.dual_ascent(
            self.batch,
            self.response,
            start,
            self.intercept,
            Ridge(l2, self.scale, self.response.name != "bernoulli/logit"),
            self.probabilities,
            most,
            tol * weight,
            seed,
        )
        self.level[:] = ascent.theta[0] if self.intercept else 0.0
        monitoring.report(ascent.rounds, self.batch.rows, ascent.gap)
        return ascent

    def linear(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coefficients of x, (t, d), and intercepts, (t,)."""
        first = int(self.intercept)
        coef = np.empty(self.scale.shape[::-1])
        np.multiply(theta[first:] + self.towards, self.scale, out=coef.T)
        return coef, _centred(theta[0]) if first else np.zeros(len(coef))

    def loss(self, theta: FloatArray, texts: Texts) -> float:
        """Return the log-loss of other rows."""
        coef, intercept = self.linear(theta)
        scores = texts.rows @ coef.T + intercept
        if scores.shape[1] == 1:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(scores)), texts.codes]
        return float(losses.sum() if texts.weight is None else texts.weight @ losses)


@dataclass(frozen=True, eq=False)
class ScaledObjective(Objective):
    """Minus a log-likelihood as a function of theta, with coefficients = scale * theta; plus a ridge on theta."""

    likelihood: NegativeLogLikelihood  #: of the coefficients, without a penalty
    scale: FloatArray  #: (p, t), factors of theta; 1 for intercepts
    l2: float

    capabilities = frozenset({"hessian_diagonal"})

    @property
    def weight(self) -> float:
        """The total weight of the rows."""
        return self.likelihood.weight

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return self.likelihood.n_rows

    def value_gradient(self, theta: FloatArray) -> ValueGradient:
        """Return value and gradient at theta, (p, t)."""
        found, strength = self.likelihood.value_gradient(self.scale * theta), self._strength()
        value = found.value + 0.5 * float((strength * theta * theta).sum())
        return ValueGradient(value, self.scale * found.gradient + strength * theta)

    def hessian_diagonal(self, theta: FloatArray) -> FloatArray:
        """Return the diagonal of the expected Hessian at theta, in its shape."""
        return self.scale**2 * self.likelihood.hessian_diagonal(self.scale * theta) + self._strength()

    def _strength(self) -> FloatArray:
        strength = np.full((len(self.scale), 1), self.l2)
        strength[: int(self.likelihood.intercept)] = 0.0
        return strength


def _encode_part(model: NBLogisticRegression, piece: Piece) -> EncodedPart:
    """Return the counts of the rows of one part; classes are coded by the labels of this part."""
    x = validation.features(model, piece["X"], reset=False)
    column = validation.targets(piece.get("y"), x.shape[0])
    labels, codes = Labels.discover(column)
    with validation.one_of_many():
        weight = validation.weights(piece.get("sample_weight"), x.shape[0])
    with validation.naming_cells():
        return EncodedPart(Batch(model._counted(x), codes, weight), labels, column[:0])


def _recode_part(labels: Labels, each: FloatArray | None, part: EncodedPart) -> Batch:
    """Return rows with codes and weights of all classes."""
    batch = part.batch
    codes = batch.y if part.labels is None else labels.positions(part.labels)[batch.y]
    if each is None:
        return replace(batch, y=codes)
    return replace(batch, y=codes, weight=each[codes] if batch.weight is None else batch.weight * each[codes])


def _with_naive_bayes(
    settings: NBLogisticRegression, ratios: LogRatios, towards: float, light: float, batch: Batch, _: Engine
) -> Batch:
    """Return rows whose offsets are the leave-one-out naive Bayes part of their scores."""
    codes, two = batch.y, len(ratios.counts) == 2
    rows = batch.x if settings.norm is None else _of_length_one(batch.x)
    offset = None
    if towards != 0:
        offset = towards * ratios.scores(batch.x, rows, codes, light)
        offset = offset if two else offset[:, :-1] - offset[:, -1:]  # 0 for the last class
        offset = np.ascontiguousarray(offset)
    return Batch(rows, codes.astype(np.float64) if two else codes, batch.weight, offset)


#: Candidates of ``C="auto"``, and the number of folds.
CANDIDATES = (1.0, 2.0, 5.0, 10.0, 20.0)
PARTS = 3


class NBLogisticRegression(ScoredClasses):
    """Logistic regression on naive Bayes log-count ratios, for text: NBSVM with probabilities, for two or more classes.

    A row x holds the presence of each feature, and has length 1. The score of class k is
    ``b_k + sum_j theta_kj r_kj x_j``, where r_kj is the log-ratio of the frequencies of feature j in class k and in all
    others; p(y | x) is the softmax of the scores. With theta = 1 for two classes (1/2 for more) this is naive Bayes,
    towards which theta is shrunk: it minimises ``-C log-likelihood + (theta - towards)² / 2``. In the fit, the naive
    Bayes part of a row's score is computed without the row, whose own words would reveal its class.

    Parameters
    ----------
    alpha
        Smoothing: added to each count of a feature in a class.
    C
        Inverse strength of the penalty of theta's distance from naive Bayes, as in :class:`LogisticRegression`;
        ``"auto"`` chooses it by cross-validated log-loss.
    towards
        Prior mean of theta, in units of naive Bayes: 0 is Wang and Manning's model.
    binarize
        Threshold: a feature is 1 where x is above it, else 0. None uses x as it is.
    norm
        ``"l2"`` divides each row by its Euclidean length, so that long texts do not have more weight. None does not.
    fit_intercept
        Whether scores have intercepts.
    class_weight
        ``"balanced"``, or a weight for each class by its label.
    tol
        Tolerance: distance from the optimum in log-likelihood per row.
    max_iter
        Most rounds over the rows.
    random_state
        Seed of the order of rows.
    verbose
        Whether each pass over the rows is printed to stderr.
    n_jobs
        Number of threads: None for all permitted cores (bounded by OMP_NUM_THREADS and threadpoolctl), -1 for all
        cores of the machine.

    Attributes
    ----------
    classes_ : (k,)
    coef_ : (1, d), or (k, d) for more than two classes: the coefficients of x, theta r
    intercept_ : (1,), or (k,), which then sum to zero
    ratios_ : (1, d), or (k, d), r
    C_ : the inverse strength of the penalty
    losses_ : with ``C="auto"``, the cross-validated mean log-loss of each C; else empty
    gap_ : bound of the distance from the optimum in log-likelihood per row, at the last round
    n_iter_ : number of rounds
    theta_ : ndarray of shape (p, t)
        Intercept and coefficients of x.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of shape (d,)
        Names of the features, where the rows had names, all of them strings.

    References
    ----------
    Wang and Manning, "Baselines and Bigrams: Simple, Good Sentiment and Topic Classification", ACL 2012.

    Examples
    --------
    >>> words = np.array([[2, 0, 1], [1, 0, 0], [0, 1, 1], [0, 3, 1]])
    >>> model = NBLogisticRegression().fit(words, ["ham", "ham", "spam", "spam"])
    >>> model.predict([[1, 0, 1], [0, 1, 0]])
    array(['ham', 'spam'], dtype='<U4')
    >>> model.ratios_.round(2)
    array([[-1.81,  1.41,  0.31]])
    """

    _penalty_scale: ClassVar[Scale] = "C"
    ratios_: FloatArray
    C_: float
    losses_: dict[float, float]
    gap_: float
    n_iter_: int

    _learned = "ratios_"

    def __init__(
        self,
        *,
        alpha: float = 0.5,
        C: float | str = 5.0,
        towards: float = 1.0,
        binarize: float | None = 0.0,
        norm: str | None = "l2",
        fit_intercept: bool = True,
        class_weight: ClassWeight = None,
        tol: float = 3e-4,
        max_iter: int = 1000,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
    ) -> None:
        self.alpha = alpha
        self.C = C
        self.towards = towards
        self.binarize = binarize
        self.norm = norm
        self.fit_intercept = fit_intercept
        self.class_weight = class_weight
        self.tol = tol
        self.max_iter = max_iter
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.positive_only = True
        tags.classifier_tags.poor_score = True  # for rows that are not counts
        return tags

    # Learning.

    @property
    def _least_features(self) -> int:
        return 1  # there must be features to count

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Fit the model to rows and their classes.

        Parameters
        ----------
        X
            Counts of features in rows, (n, d): CSR, NumPy or a data frame; or rows in parts, as for
            :class:`LogisticRegression`.
        y
            The class of each row; None if batches have them; the name of a column for files and Spark.
        sample_weight
            Weight of each row, 1 by default.
        """
        with self._learning(anew=True):
            return self._fit(X, y, sample_weight)

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> Self:
        data = as_dataset(X, y=y, sample_weight=sample_weight)
        if data.in_memory is not None:
            self._fit_rows(*(data.in_memory.get(name) for name in ("X", "y", "sample_weight")))
        else:
            self._fit_parts(data)
        if not self.gap_ <= self.tol:
            warn_user(
                f"{type(self).__name__} did not converge: max_iter={self.max_iter} rounds were made, and theta "
                f"is about {self.gap_:.2g} per row from the optimum. Raise max_iter or tol, or lower C",
                ConvergenceWarning,
            )
        return self

    def _fit_rows(self, X: Any, y: Any, sample_weight: Any) -> None:
        """Compute theta from rows in memory, by dual coordinate ascent."""
        x = validation.features(self, X, reset=True)
        column = validation.targets(y, x.shape[0])
        labels, codes = Labels.discover(column)
        self._set_classes(labels, column[:0])
        weight = class_weights(self.class_weight, labels, codes, validation.weights(sample_weight, len(codes)))
        with validation.naming_cells():
            counted = self._counted(x)
        texts = Texts(counted, self._normed(counted), codes, weight)
        self._choose_penalty(texts)
        corrected = self._corrected(texts)
        ascent = corrected.solve(1 / self.C_, self.tol, self.max_iter, self._seed())
        self.coef_, self.intercept_ = corrected.linear(ascent.theta)
        self.ratios_ = corrected.scale.T
        self.gap_, self.n_iter_ = ascent.gap / texts.weight_in_all, ascent.rounds

    def _fit_parts(self, data: Dataset) -> None:
        """Compute theta from rows in parts: a pass for the classes, one for the counts, and one for each L-BFGS step.

        The optimum is that of rows in memory. ``C="auto"`` is chosen on a sample of the rows.
        """
        validation.features(self, data.example(), reset=True)
        parts = data.map_parts(partial(_encode_part, model_for_parts(self, data)))
        kept, seen = parts.persist(Seen.of, Seen.plus)
        scaled: EncodedDataset | None = None
        try:
            if seen is None:
                raise no_rows()
            validation.check_weight(float(seen.weights.sum()))
            self._set_classes(seen.labels, seen.example)
            labels = self._labels
            each = class_weights(self.class_weight, labels, np.arange(len(labels)), None, seen.weights)
            recode = partial(_recode_part, labels, each)
            sample = recode(EncodedPart(seen.summary.batch(), labels))
            engine, rows, features = engine_for_parts(data, self._engine), seen.summary.rows, seen.summary.features
            total = float(seen.weights.sum() if each is None else seen.weights @ each)
            counted = EncodedDataset(kept.map_parts(recode), engine, rows, features, total, sample)
            self._choose_penalty(Texts(sample.x, self._normed(sample.x), sample.y, sample.weight))
            ratios = LogRatios(counted.sum(EventCounts.over(labels)).counts, float(self.alpha))
            lightest = min(counted.map(_lightest)) if self._towards else 1.0
            score = partial(_with_naive_bayes, self._params, ratios, self._towards, min(lightest, 1.0))
            scaled = counted.transform(score, persist=True)
            self._descend(scaled, ratios.table())
        finally:
            if scaled is not None:
                scaled.release()
            kept.release()

    def _descend(self, data: EncodedDataset, scale: FloatArray) -> None:
        """Compute theta by L-BFGS over rows whose offsets are their naive Bayes scores."""
        first = int(self.fit_intercept)
        response = Response.of("bernoulli" if self._two else "multinomial")
        scales = np.concatenate([np.ones((first, scale.shape[1])), scale])
        likelihood = NegativeLogLikelihood(
            data, response, bool(first), symmetric=not self._two, predictors=1 if self._two else len(self._labels)
        )
        objective = ScaledObjective(likelihood, scales, 1 / self.C_)
        theta, tol = np.zeros_like(scales), float(np.sqrt(self.tol))
        self.gap_, self.n_iter_ = np.inf, 0
        while self.gap_ > self.tol and self.n_iter_ < self.max_iter:
            solution = QuasiNewton(tol, self.max_iter - self.n_iter_).minimise(objective, theta)
            theta, tol = solution.theta, tol / 10
            self.n_iter_ += max(solution.n_steps, 1)
            # The Hessian is at least 1 / C: this bounds the distance of the value from the minimum.
            self.gap_ = float((solution.gradient**2).sum()) * self.C_ / (2 * data.weight)
        coef = scales[first:] * (theta[first:] + self._towards)
        self.coef_ = np.ascontiguousarray(coef.T)
        self.intercept_ = _centred(theta[0]) if first else np.zeros(scale.shape[1])
        self.ratios_ = np.ascontiguousarray(scale.T)

    def _set_classes(self, labels: Labels, like: npt.NDArray[Any]) -> None:
        if len(labels) < 2:
            raise ValueError(f"y has one class, {labels.names[0]!r}: a classifier needs rows of at least 2 classes")
        self._set_labels(labels)
        self.classes_ = validation.classes_array(labels, like)

    def _choose_penalty(self, texts: Texts) -> None:
        self.losses_ = self._losses(texts) if self.C == "auto" else {}
        self.C_ = min(self.losses_, key=lambda each: self.losses_[each]) if self.losses_ else float(self.C)

    @property
    def _towards(self) -> float:
        """The prior mean of theta."""
        return float(self.towards) if self._two else float(self.towards) / 2

    def _check_settings(self) -> None:
        for name in ("alpha", "tol") + (() if self.C == "auto" else ("C",)):
            value = getattr(self, name)
            if not (isinstance(value, int | float | np.number) and 0 < value < np.inf):
                also = ", or 'auto'" if name == "C" else ""
                raise ValueError(f"{name} must be a finite number above 0{also}; got {value!r}")
        if not (isinstance(self.towards, int | float | np.number) and np.isfinite(self.towards)):
            raise ValueError(f"towards must be a finite number; got {self.towards!r}")
        if self.binarize is not None and not 0 <= self.binarize < np.inf:
            raise ValueError(f"binarize must be a finite number, 0 or more, or None; got {self.binarize!r}")
        if self.norm not in (None, "l2"):
            raise ValueError(f"norm must be 'l2' or None; got {self.norm!r}")
        if not (isinstance(self.max_iter, int | np.integer) and self.max_iter >= 1):
            raise ValueError(f"max_iter must be a whole number, 1 or more; got {self.max_iter!r}")

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _corrected(self, texts: Texts) -> Corrected:
        engine = engine_for(self._engine, texts.rows)
        intercept = bool(self.fit_intercept)
        return Corrected.of(engine, texts, len(self._labels), float(self.alpha), self._towards, intercept)

    def _losses(self, texts: Texts) -> dict[float, float]:
        """Return the cross-validated mean log-loss of each C, that of the strongest penalty first."""
        losses = dict.fromkeys(CANDIDATES, 0.0)
        order = np.argsort(texts.codes, kind="stable")
        part = np.empty(len(order), dtype=np.int64)
        part[order] = np.arange(len(order)) % PARTS  # rows of every class in every fold
        for number in range(PARTS):
            known, asked = texts.of(part != number), texts.of(part == number)
            corrected = self._corrected(known)
            for each in CANDIDATES:
                theta = corrected.solve(1 / each, self.tol, self.max_iter, self._seed()).theta
                losses[each] += corrected.loss(theta, asked)
        return {each: loss / texts.weight_in_all for each, loss in losses.items()}

    # Validation.

    def _counted(self, x: Any) -> Any:
        """Return the counts of rows as CSR: presences, or x itself."""
        x = sparse.csr_array(to_host(x) if is_foreign(x) else x)
        if not x.has_canonical_format:  # a cell may have duplicate entries
            x = x.copy()
            x.sum_duplicates()
        bad = np.flatnonzero(~((x.data >= 0) & (x.data < np.inf)))
        if bad.size:
            row = int(np.searchsorted(x.indptr, bad[0], side="right")) - 1
            cell, value = (row, int(x.indices[bad[0]])), float(x.data[bad[0]])
            if not np.isfinite(value):
                raise NonFiniteError("x", cell, value)
            error = NegativeCountError("x", cell, value)
            raise ValueError(f"Negative values in data passed to {type(self).__name__}: {error}")
        binarize = self._params.binarize
        values = x.data if binarize is None else x.data > binarize
        return sparse.csr_array((values.astype(np.float64), x.indices, x.indptr), shape=x.shape)

    def _normed(self, counted: Any) -> Any:
        return counted if self._params.norm is None else _of_length_one(counted)

    def _as_read(self, x: Any) -> Any:
        return self._normed(self._counted(x))

    def _fitted_theta(self) -> FloatArray:
        return self.theta_

    def _inference(self) -> Inference:
        raise ValueError(f"{type(self).__name__} has no standard errors: its features depend on y")

    def is_penalised(self) -> bool:
        """Whether the parameters have a penalty: always."""
        return True

    # The file.

    def _contents(self) -> Contents:
        self._check_fitted()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                "C": self.C_,
                "losses": list(self.losses_.items()),
                "gap": self.gap_,
                "rounds": self.n_iter_,
                **self._classes_written(),
            },
            statistics={},
            arrays={"coef": self.coef_, "intercept": self.intercept_, "ratios": self.ratios_},
        )

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings, arrays = contents.settings, contents.arrays
        model = cls._with_parameters(settings)._restore_features(settings)
        model._restore_classes(settings)
        rows = 1 if model._two else len(model._labels)
        shapes = {"coef": (rows, model.n_features_in_), "intercept": (rows,), "ratios": (rows, model.n_features_in_)}
        check_shapes(arrays, shapes)
        model.coef_, model.intercept_, model.ratios_ = arrays["coef"], arrays["intercept"], arrays["ratios"]
        model.C_, model.gap_, model.n_iter_ = settings["C"], settings["gap"], settings["rounds"]
        model.losses_ = dict(settings["losses"])
        return model
