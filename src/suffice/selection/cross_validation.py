"""Cross-validation in one pass: the model that predicts a fold is estimated from the sums of the other folds."""

from __future__ import annotations

import copy
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.base import clone, is_classifier
from sklearn.model_selection import ParameterGrid

from suffice.data import ArrayDataset, Dataset
from suffice.data.dataset import dataset_in_parts, model_for_parts, open_location, read_again, take_named_columns
from suffice.data.refusals import refused_in_parts
from suffice.data.sample import take_rows
from suffice.html_fragments import fragment, table
from suffice.selection import tuning
from suffice.selection.folds_in_parts import scores_in_parts, temperature_of
from suffice.selection.rows import Folds, Index, Rows, SummedModel, indices_of
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.typing import MatrixLike, VectorLike

Scoring = Literal["accuracy", "neg_log_loss"]


@dataclass(frozen=True, eq=False)
class CrossValidation:
    """How well each setting predicts rows that were held out."""

    settings: list[dict[str, Any]]
    scores: FloatArray  # (settings, folds)
    scoring: str

    @property
    def mean(self) -> FloatArray:
        """The mean over the folds, (settings,)."""
        return np.asarray(self.scores.mean(axis=1))

    @property
    def std(self) -> FloatArray:
        """The standard deviation over the folds, (settings,)."""
        return np.asarray(self.scores.std(axis=1))

    @property
    def best_index(self) -> int:
        """The place of the best setting; the first of several that are equally good."""
        return int(np.argmax(np.where(np.isnan(self.mean), -np.inf, self.mean)))

    @property
    def best(self) -> dict[str, Any]:
        """The best setting."""
        return self.settings[self.best_index]

    @property
    def best_score(self) -> float:
        """The mean score of the best setting."""
        return float(self.mean[self.best_index])

    @property
    def _names(self) -> list[str]:
        return [", ".join(f"{name}={value}" for name, value in each.items()) or "as given" for each in self.settings]

    def _repr_html_(self) -> str:
        numbers = zip(self._names, self.mean, self.std, strict=True)
        rows = [(name, f"{mean:.4f}", f"{std:.4f}") for name, mean, std in numbers]
        heads = ["setting", f"{self.scoring}, mean of {self.scores.shape[1]} folds", "standard deviation"]
        return fragment(table(heads, rows, best=self.best_index))

    def __str__(self) -> str:
        """Show one line per setting, the best one marked."""
        names = self._names
        width = max(map(len, names))
        return "\n".join(
            f"{'*' if row == self.best_index else ' '} {name:<{width}}  {self.scoring} {mean:.4f} ± {std:.4f}"
            for row, (name, mean, std) in enumerate(zip(names, self.mean, self.std, strict=True))
        )


def cross_validate(
    model: Any,
    X: MatrixLike,
    y: VectorLike,
    grid: Mapping[str, Sequence[Any]] | Sequence[Mapping[str, Sequence[Any]]] | None = None,
    folds: int | Literal["loo"] | Iterable[Any] | Any = 5,
    scoring: Scoring | Callable[[Any, FloatArray], float] = "accuracy",
    sample_weight: VectorLike = None,
) -> CrossValidation:
    """Score every setting of a grid on rows held out, from sums taken in one pass.

    A model is fitted from a sum. So the rows of each fold are summed once, and what the other folds taught is those
    sums added up: no setting of the grid costs another pass of fitting.

    Parameters
    ----------
    model
        A classifier or regression; it is not changed. Generative classifiers of this package are read from sums; any
        other model, such as a logistic regression, is fitted anew for every fold and setting. So are models with
        ``temperature="auto"`` if the score depends on it.
    X, y, sample_weight
        Rows, their classes and weights; or a collection of Dask, a data frame of Spark, files or a function that starts
        a stream, as for ``fit``.
    grid
        For each setting the values to try, as scikit-learn's ``ParameterGrid`` takes them; the model as it is by
        default.
    folds
        How many stratified folds, in the order of the rows as scikit-learn's ``cv`` cuts them; "loo" to leave out one
        row at a time; a splitter of scikit-learn; or a list of the row numbers of each fold. Rows of a cluster are
        cut into the same folds as if they were here, by their number or "loo" alone. Folds of models that predict
        numbers are not stratified.
    scoring
        "accuracy", "neg_log_loss", or a function of the true class codes and the posteriors, (n, k), of rows here. For
        models that predict numbers, a function of the targets and the predictions.

    Returns
    -------
    CrossValidation
        All scores, and the best setting.

    Examples
    --------
    >>> import numpy as np
    >>> from suffice import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 50)
    >>> X = rng.normal(size=(100, 3)) + y[:, None]
    >>> result = cross_validate(GaussianNB(), X, y, grid={"var_smoothing": [1e-9, 1.0]})
    >>> result.scores.shape
    (2, 5)
    >>> sorted(result.best)
    ['var_smoothing']
    """
    X = X if getattr(model, "_reads_one_text", False) else open_location(X)
    settings = [dict(each) for each in ParameterGrid(grid)] if grid else [{}]
    candidates = [clone(model).set_params(**each) for each in settings]
    name = scoring if isinstance(scoring, str) else getattr(scoring, "__name__", "score")
    _check_arguments(folds, scoring)
    X, own = take_named_columns(X, {"y": y, "sample_weight": sample_weight})
    y, sample_weight = own["y"], own["sample_weight"]
    in_parts = dataset_in_parts(X, y=y, sample_weight=sample_weight)
    # Only a fit chooses a temperature, which the best class does not depend on.
    chooses = scoring != "accuracy" and any(getattr(each, "temperature", None) == "auto" for each in candidates)
    if chooses or not isinstance(model, SummedModel):
        if in_parts is not None:
            setting = "(temperature='auto')" if chooses else ""
            raise refused_in_parts("refits", f"{type(model).__name__}{setting}", X)
        refitted = scores_of_refits(candidates, X, y, sample_weight, folds, scoring)
        return CrossValidation(settings, np.array(refitted), name)
    data = ArrayDataset({"X": X, "y": y, "sample_weight": sample_weight}) if in_parts is None else in_parts
    with read_again(data) as rows:
        scores = _scores_by_sums(settings, candidates, rows, folds, scoring)
    return CrossValidation(settings, np.array(scores), name)


def _check_arguments(folds: Any, scoring: Any) -> None:
    """Raise if folds or scoring is invalid."""
    of_rows = isinstance(folds, int | np.integer | Iterable) or hasattr(folds, "split")
    if folds != "loo" if isinstance(folds, str) else not of_rows:
        raise ValueError(f"folds must be a number, 'loo', a splitter or a list of row numbers; got {folds!r}")
    if not callable(scoring) and scoring not in ("accuracy", "neg_log_loss"):
        raise ValueError(f"scoring must be 'accuracy', 'neg_log_loss' or a function; got {scoring!r}")


def _scores_by_sums(
    settings: list[dict[str, Any]], candidates: list[Any], data: Dataset, folds: Any, scoring: Any
) -> list[list[float]]:
    """Return the scores of each setting, fold by fold."""
    scores: dict[int, list[float]] = {}
    for _, places in itertools.groupby(
        sorted(range(len(settings)), key=lambda place: _summed(candidates[place])),
        key=lambda place: _summed(candidates[place]),
    ):
        alike = list(places)  # they share their sums
        first = candidates[alike[0]]
        encoded = first.encode_rows(data)
        # The features that the first model has set are those of all.
        models = [model_for_parts(copy.copy(first).set_params(**settings[place]), data) for place in alike]
        rows = encoded.in_memory
        found = (
            scores_in_parts(models, encoded, folds, scoring) if rows is None else _scores(models, rows, folds, scoring)
        )
        scores.update(zip(alike, found, strict=True))
    return [scores[place] for place in range(len(settings))]


def _summed(model: SummedModel) -> str:
    """Return the parameters that determine what a model sums, as a key to sort by."""
    return repr(model.summed_parameters())


def _scores(models: list[SummedModel], rows: Rows, folds: Any, scoring: Any) -> list[list[float]]:
    """Return the scores of models that share their sums, fold by fold."""
    temperatures = [temperature_of(model) for model in models]
    if isinstance(folds, str):
        whole = models[0].sum_rows(rows)
        left_out = [model.score_left_out(whole, rows) for model in models]
        return [[_score(scoring, rows, *each)] for each in zip(temperatures, left_out, strict=True)]
    parts = Folds(rows, indices_of(folds, rows.codes))
    others = parts.others(models[0])
    what = "best" if scoring == "accuracy" else "joint"
    scores = [
        [
            _score(scoring, part, temperature, tuning.on_host(result))
            for temperature, result in zip(temperatures, results, strict=True)
        ]
        for part, results in zip(parts.parts, parts.scores(models, others, what), strict=True)
    ]  # by fold, then by model
    return [list(row) for row in zip(*scores, strict=True)]


def _score(scoring: Any, rows: Rows, temperature: float, result: Any) -> float:
    """Return the score of rows from their best classes, or from their log p(x, y)."""
    if scoring == "accuracy":
        best = result if result.ndim == 1 else result.argmax(axis=1)
        right = best == rows.codes
        return float(right.mean() if rows.weight is None else np.average(right, weights=rows.weight))
    if scoring == "neg_log_loss":
        return tuning.log_score(result, rows.codes, rows.weights, temperature)
    return float(scoring(rows.codes, np.exp(tuning.log_posterior(result / temperature))))


# Models that are not estimated from sums.


def scores_of_refits(
    models: Sequence[Any], X: MatrixLike, y: VectorLike, sample_weight: VectorLike, folds: Any, scoring: Any
) -> list[list[float]]:
    """Return the scores of models, fold by fold, each fitted to the rows of the other folds.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> x = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> scores_of_refits([LogisticRegression()], x, np.array(["a", "a", "b", "b"]), None, 2, "accuracy")
    [[1.0, 1.0]]
    """
    name = type(models[0]).__name__
    classifies = is_classifier(models[0])
    if scoring in ("accuracy", "neg_log_loss") and not classifies:
        raise ValueError(
            f"scoring={scoring!r} judges classes, and {name} predicts numbers: give a function of the targets and the "
            "predictions, such as sklearn.metrics.r2_score"
        )
    targets = np.asarray(y)
    labels, codes = Labels.discover(targets) if classifies else (Labels(), targets)
    if isinstance(folds, str):
        held_out = [np.array([row]) for row in range(len(targets))]
    else:
        held_out = indices_of(folds, codes, classifies)
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    scores = [
        [_refit_score(clone(model), X, targets, codes, labels, weight, held, scoring) for held in held_out]
        for model in models
    ]
    if isinstance(folds, str):
        weights = np.ones(len(targets)) if weight is None else weight
        return [[float(np.average(each, weights=weights))] for each in scores]
    return scores


def _refit_score(
    model: Any,
    X: Any,
    targets: npt.NDArray[Any],
    codes: npt.NDArray[Any],
    labels: Labels,
    weight: npt.NDArray[np.float64] | None,
    held: Index,
    scoring: Any,
) -> float:
    """Return the score of the rows held out under the model of all others."""
    others = np.setdiff1d(np.arange(len(targets)), held)
    weighted = {} if weight is None else {"sample_weight": weight[others]}
    model.fit(take_rows(X, others), targets[others], **weighted)
    rows = take_rows(X, held)
    mine = np.ones(len(held)) if weight is None else weight[held]
    if scoring == "accuracy":
        return float(np.average(np.asarray(model.predict(rows)) == targets[held], weights=mine))
    if not len(labels):
        return float(scoring(targets[held], np.asarray(model.predict(rows))))
    posterior = np.zeros((len(held), len(labels)))  # of a class that the other folds do not have, nothing
    posterior[:, labels.encode(model.classes_)] = model.predict_proba(rows)
    if callable(scoring):
        return float(scoring(codes[held], posterior))
    with np.errstate(divide="ignore"):
        return tuning.log_score(np.log(posterior), codes[held], mine)
