"""Additive models with pairs of columns: a classifier and a regressor."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, is_classifier
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from suffice import partitioned, validation
from suffice.additive.backfitting import BinnedRows, Term
from suffice.additive.binned_fit import (
    POWERS,
    BinnedFit,
    EncodedRows,
    fit_classes,
    fit_numbers,
    known_choice,
    read_numbers,
)
from suffice.additive.bins import MOST_BINS, Bins, ColumnBins
from suffice.additive.choice import AdditiveSolution, FittedTerms, choose_and_fit
from suffice.additive.parts import (
    Targets,
    encode_columns,
    encode_part,
    gather_parts,
    survey_parts,
    take_cells,
)
from suffice.additive.scorer import AdditiveScorer
from suffice.additive.terms import AdditiveTerm
from suffice.data import as_dataset
from suffice.data.dataset import Dataset, Piece, is_in_parts, missing_targets, model_for_parts, read_again
from suffice.data.refusals import refused_in_parts
from suffice.discriminative.class_weight import class_weights
from suffice.discriminative.perceptron import ClassTotals
from suffice.estimator import FittedParameters, accuracy_in_parts, row_wise, scored_dataset
from suffice.explain import EXPECTED_NUMBER, ClassScores, Contribution, Explanation
from suffice.generative.columns import Column, read_columns
from suffice.html_fragments import fragment, notes, table
from suffice.kernels.engine import permitted_threads
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, parameters

if TYPE_CHECKING:
    from suffice.typing import ClassWeight, MatrixLike, RandomState, VectorLike


class AdditiveModel(FittedParameters, Stored, BaseEstimator):  # type: ignore[misc]
    """A linear predictor that is a sum of functions of columns and of pairs of columns."""

    terms_: list[AdditiveTerm]
    solution_: AdditiveSolution
    n_features_in_: int
    _bins: list[ColumnBins]
    _intercept: FloatArray  # (t,)
    _fitted: FittedTerms  # of rows in bins, for a fit to others

    def __init__(
        self,
        *,
        interactions: Literal["auto"] | int | Sequence[tuple[Any, Any]] = "auto",
        max_bins: int | None = None,
        monotone: Mapping[Any, int] | None = None,
        folds: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.interactions = interactions
        self.max_bins = max_bins
        self.monotone = monotone
        self.folds = folds
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _fitted_html(self) -> str:
        terms = sorted(self.terms_, key=lambda term: -term.importance)
        rows = [(term.name, f"{term.importance:.4g}") for term in terms[:20]]
        left = [f"... and {len(terms) - 20} more terms"] if len(terms) > 20 else []
        return fragment(table(["term", "mean absolute effect"], rows), notes([*left, self.solution_.reason]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags

    def _check_settings(self) -> None:
        most = self.max_bins
        if most is not None and not (isinstance(most, int | np.integer) and 2 <= most <= MOST_BINS):
            raise ValueError(f"max_bins must be None or a whole number from 2 to {MOST_BINS}; got {most!r}")
        if self.folds is not None and not (isinstance(self.folds, int | np.integer) and self.folds >= 2):
            raise ValueError(f"folds must be None or a whole number, 2 or more; got {self.folds!r}")
        given = self.interactions
        if isinstance(given, bool) or not (
            given == "auto"
            if isinstance(given, str)
            else (isinstance(given, int | np.integer) and given >= 0) or isinstance(given, Sequence)
        ):
            raise ValueError(
                "interactions must be 'auto', the largest number of pairs, or a list of pairs of columns; got "
                f"{given!r}"
            )

    # Learning.

    def _encode_rows(self, data: Dataset, targets: Callable[[ClassTotals | None], Targets]) -> EncodedRows:
        """Set the bins of the columns, and return all rows in bins.

        Parameters
        ----------
        targets
            Returns what reads the targets of a part, given the classes of all rows; None for a regressor.
        """
        most, has_classes = int(self.max_bins or MOST_BINS), is_classifier(self)
        part = data.in_memory
        if part is not None:
            columns = self._read(part["X"], reset=True)
            rows = len(columns[0].values)
            if rows < 2:
                raise self._too_few(rows)
            if part.get("y") is None:
                raise missing_targets()
            read = targets(ClassTotals.of(part) if has_classes else None)
            weight = read(part, rows)[1]
            validation.check_weight(1.0 if weight is None else float(weight.max()))
            kept = columns if weight is None or weight.all() else take_cells(columns, weight > 0)
            self._bins = [ColumnBins.of(column, most) for column in kept]
            return encode_part(lambda _: columns, self._bins, read, part)
        with read_again(data) as parts:
            self._read(parts.example(), reset=True)
            reader = partial(type(self)._read, model_for_parts(self, parts), reset=False)
            survey = survey_parts(parts, reader, most, has_classes)
            validation.check_weight(survey.rows)
            if survey.rows < 2:
                raise self._too_few(survey.rows)
            self._bins = survey.bins(most)
            encode = partial(encode_part, reader, self._bins, targets(survey.classes))
            encoded = gather_parts(parts, encode, len(self._bins), survey.rows)
        validation.check_weight(len(encoded.target))
        return encoded

    def _too_few(self, rows: int) -> ValueError:
        return ValueError(f"{type(self).__name__} needs at least 2 rows; got n_samples = {rows}")

    def _set_columns(self, columns: Sequence[ColumnBins]) -> None:
        """Set the bins of the columns, and their names."""
        self._bins = list(columns)
        self.n_features_in_ = len(columns)
        self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)

    def _keep(self, fit: BinnedFit) -> FittedTerms:
        """Set the attributes of a fit."""
        self._bins, self._intercept = list(fit.scorer.columns), fit.scorer.intercept
        self.terms_, self.solution_ = list(fit.scorer.terms), fit.solution
        return fit.terms

    def _choose(self, rows: BinnedRows, columns: Sequence[ColumnBins]) -> FittedTerms:
        """Return the fit with penalties and pairs that are chosen on folds."""
        names = [each.name for each in columns]
        monotone = self._monotone(names, rows.predictors)
        return choose_and_fit(
            rows,
            columns,
            monotone,
            self._pairs(names, monotone),
            None if self.folds is None else int(self.folds),
            check_random_state(self.random_state),
            self._threads(),
        )

    def _threads(self) -> int:
        if self.n_jobs is None:
            return permitted_threads()
        if not isinstance(self.n_jobs, int | np.integer) or self.n_jobs == 0:
            raise ValueError(f"n_jobs must be a number of threads, -1 or None; got {self.n_jobs!r}")
        return permitted_threads() if self.n_jobs < 0 else int(self.n_jobs)

    def _monotone(self, names: list[Any], predictors: int) -> dict[int, int]:
        if self.monotone is not None and not isinstance(self.monotone, Mapping):
            raise ValueError(f"monotone must be a dict of columns, {{'age': 1}}, or None; got {self.monotone!r}")
        found: dict[int, int] = {}
        for name, direction in (self.monotone or {}).items():
            place = self._place(name, names, "monotone")
            if direction not in (-1, 0, 1):
                raise ValueError(f"monotone[{name!r}] must be 1 (rising), -1 (falling) or 0; got {direction!r}")
            if not self._bins[place].ordered:
                raise ValueError(f"monotone[{name!r}]: the column holds categories, which have no order; give numbers")
            if direction and predictors > 1:
                raise ValueError(f"monotone needs a number or two classes to predict; y has {predictors} classes")
            if direction:
                found[place] = int(direction)
        return found

    def _pairs(self, names: list[Any], monotone: dict[int, int]) -> Any:
        if isinstance(self.interactions, str | int | np.integer):
            return self.interactions if isinstance(self.interactions, str) else int(self.interactions)
        found = []
        for pair in self.interactions:
            if isinstance(pair, str) or not isinstance(pair, Sequence) or len(pair) != 2:
                raise ValueError(f"interactions holds {pair!r}: each must be a pair of columns, ('age', 'hours')")
            left, right = (self._place(name, names, "interactions") for name in pair)
            if left == right:
                raise ValueError(f"interactions holds {pair!r}: a pair has two different columns")
            if left in monotone or right in monotone:
                at = left if left in monotone else right
                raise ValueError(
                    f"interactions holds {pair!r}, and monotone {names[at]!r}: a pair could undo what is monotone; "
                    "leave the column out of one of them"
                )
            found.append((min(left, right), max(left, right)))
        return sorted(set(found))

    @staticmethod
    def _place(name: Any, names: list[Any], parameter: str) -> int:
        if name in names:
            return names.index(name)
        raise ValueError(f"{parameter} names {name!r}, which is no column of X; the columns are {names}")

    # Predictions.

    def _read(self, X: Any, reset: bool) -> list[Column]:
        columns = read_columns(X)
        if reset:
            self.n_features_in_ = len(columns)
            self.__dict__.pop("feature_names_in_", None)
            if all(isinstance(column.name, str) for column in columns):
                self.feature_names_in_ = np.array([column.name for column in columns], dtype=object)
        else:
            validation.check_columns(self, X, len(columns), False)
        for column in columns:
            if column.type not in ("int", "float", "bool", "str", "mixed", "label", "nothing"):
                raise ValueError(
                    f"column {column.name!r} holds {column.type}, which an additive model cannot read: convert it to "
                    "numbers or strings, or leave it out"
                )
        return columns

    def _predictors(self, X: Any, offset: Any) -> FloatArray:
        """Return the linear predictors of rows, (n, t)."""
        check_is_fitted(self, "terms_")
        scores = self.scorer().predictors(encode_columns(self._read(X, reset=False), self._bins))
        known = validation.per_row("offset", offset, len(scores))
        return scores if known is None else scores + known[:, None]

    def _contributions(self, X: Any) -> tuple[int, list[FloatArray], list[list[Any]]]:
        """Return the number of rows, the contribution of each term, (n, t) each, and the cells of its columns."""
        check_is_fitted(self, "terms_")
        if is_in_parts(X):
            raise refused_in_parts("rows in memory", "explain", X)
        columns = self._read(X, reset=False)
        bins = encode_columns(columns, self._bins)
        parts = self.scorer().contributions(bins)
        cells = [[self._cell(columns, term.fitted, row) for row in range(bins.shape[1])] for term in self.terms_]
        return bins.shape[1], parts, cells

    @staticmethod
    def _cell(columns: list[Column], term: Term, row: int) -> Any:
        used = [columns[term.left]] if term.right is None else [columns[term.left], columns[term.right]]
        shown = [column.values[row] if column.known[row] else None for column in used]
        plain = [each.item() if isinstance(each, np.generic) else each for each in shown]
        if len(plain) == 1:
            return plain[0]
        return ", ".join(
            "missing" if each is None else f"{each:.6g}" if isinstance(each, float) else str(each) for each in plain
        )

    # Editing.

    def term(self, name: Any) -> AdditiveTerm:
        """Return a term by the name of its column, or of a pair: ``"age × hours"`` or ``("age", "hours")``."""
        at = self._term(name)
        return self.terms_[at]

    def _term(self, name: Any) -> int:
        check_is_fitted(self, "terms_")
        for at, term in enumerate(self.terms_):
            if name in (term.name, term.columns) or (len(term.columns) == 1 and name == term.columns[0]):
                return at
        raise ValueError(f"no term is called {name!r}; the terms are {[term.name for term in self.terms_]}")

    def edit(self, name: Any, values: npt.ArrayLike) -> Self:
        """Replace the values of a term; predictions use them from now on.

        Parameters
        ----------
        name
            The term, as for :meth:`term`.
        values
            What each cell adds, in the shape of the term's ``values``.
        """
        at = self._term(name)
        before = self.terms_[at].values
        given = np.asarray(values, dtype=np.float64)
        if given.shape != before.shape:
            raise ValueError(f"values of {name!r} must have the shape {before.shape}; got {given.shape}")
        if not np.isfinite(given).all():
            raise ValueError(f"values of {name!r} must be finite")
        term = self.terms_[at]
        edited = replace(term, values=given.copy(), fitted=term.fitted._replace(line=None))
        self.terms_ = [*self.terms_[:at], edited, *self.terms_[at + 1 :]]
        return self

    def remove(self, name: Any) -> Self:
        """Remove a term; the others keep their values."""
        at = self._term(name)
        self.terms_ = [*self.terms_[:at], *self.terms_[at + 1 :]]
        return self

    @property
    def forget(self) -> NoReturn:
        """Not available, and ``hasattr`` says so: the terms depend on all rows at once."""
        raise AttributeError(
            f"{type(self).__name__} cannot forget rows: its terms depend on all rows at once; fit again without them"
        )

    def scorer(self) -> AdditiveScorer:
        """Return what scores rows in bins."""
        raise NotImplementedError

    # The file.

    def _contents(self) -> Contents:
        check_is_fitted(self, "terms_")
        columns_and_terms, arrays = self.scorer().written()
        return Contents(
            kind=type(self).__name__,
            settings={
                **self._parameters_written(),
                "features": self.n_features_in_,
                "feature_names": parameters.feature_names(self),
                **columns_and_terms,
                "solution": self.solution_._replace(seconds=0.0)._asdict(),  # the same fit writes the same file
                **self._more_settings(),
            },
            statistics={},
            arrays=arrays,
        )

    def _more_settings(self) -> dict[str, Any]:
        return {}

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        settings = contents.settings
        model = cls._with_parameters(settings)
        parameters.restore_features(model, settings)
        scorer = AdditiveScorer.of_contents(contents)
        model._bins, model._intercept, model.terms_ = list(scorer.columns), scorer.intercept, list(scorer.terms)
        model.solution_ = AdditiveSolution(**settings["solution"])
        model._restore(settings)
        return model

    def _restore(self, settings: Any) -> None:
        """Set what a subclass has in the file."""


class AdditiveClassifier(ClassifierMixin, AdditiveModel):  # type: ignore[misc]
    """Classes by additive log-odds: a sum of functions of columns, and of pairs of columns that interact.

    Columns are binned: numbers by quantiles, categories by level, missing cells in a bin of their own. Each term has a
    value per bin (or pair of bins), smoothed over neighbouring bins; how much is estimated from the data for each term
    and class. Pairs are those whose cells differ most from the sum of their columns on held-out rows; they are kept if
    they reduce the held-out loss by more than its standard error. Terms of columns without pairs are straight lines if
    these do not increase it by more. A prediction is the sum of the values that :meth:`explain` shows.

    Parameters
    ----------
    interactions
        ``"auto"``; the largest number of pairs, 0 for none; or a list of pairs of columns.
    max_bins
        Most bins of a column, 2 to 254, besides those of missing cells and other levels; None for 254, or, of numbers
        if there are k > 2 classes and 1,000 rows, 640 / k, but not less than 64.
    monotone
        By column: 1 if the log-odds of the second class must rise with it, -1 if they must fall. Such columns are in no
        pair. Two classes only.
    class_weight
        ``"balanced"``, or a weight for each class by its label.
    folds
        Folds on which penalties and pairs are chosen: None for 5, or 3 if there are many rows and classes.
    random_state
        Seed of the folds.
    n_jobs
        Number of threads: None for all permitted cores.

    Attributes
    ----------
    classes_ : (k,)
    terms_ : list of :class:`AdditiveTerm`
    intercept_ : (1,), or (k,) for more than two classes
    solution_ : how penalties and pairs were chosen: held-out losses, number of pairs, reason
    n_features_in_ : number of columns
    feature_names_in_ : names of the columns, if X had names

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> x, y = load_wine(return_X_y=True, as_frame=True)
    >>> model = AdditiveClassifier().fit(x[::2], y[::2])
    >>> round(model.score(x[1::2], y[1::2]), 2)
    0.96
    """

    classes_: npt.NDArray[Any]
    _labels: Labels

    def __init__(
        self,
        *,
        interactions: Literal["auto"] | int | Sequence[tuple[Any, Any]] = "auto",
        max_bins: int | None = None,
        monotone: Mapping[Any, int] | None = None,
        class_weight: ClassWeight = None,
        folds: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            interactions=interactions,
            max_bins=max_bins,
            monotone=monotone,
            folds=folds,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.class_weight = class_weight

    def fit(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> Self:
        """Fit the model to rows and their classes.

        Parameters
        ----------
        X
            Rows, (n, d): a data frame with columns of numbers, strings or categories; or an array of numbers. Missing
            cells are NaN or None. Rows may also be in files, in a stream of batches, or in a collection of Dask or
            Spark: they are binned where they are, and gathered here, one byte a cell.
        y
            The class of each row.
        sample_weight
            The weight of each row, 1 by default; only ratios of weights matter.
        offset
            A known part of each row's log-odds, (n,); two classes only.
        """
        with self._learning(anew=True):
            data = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset)
            encoded = self._encode_rows(data, self._targets)
            if encoded.offset is not None and len(self._labels) > 2:
                raise ValueError(f"offset needs two classes; y has {len(self._labels)}")
            self._fit_classes(encoded)
        return self

    def fit_bins(
        self,
        columns: Sequence[ColumnBins],
        bins: Bins,
        codes: npt.NDArray[np.int64],
        labels: Labels,
        weight: FloatArray | None = None,
        *,
        groups: npt.NDArray[np.int64] | None = None,
        times: FloatArray | None = None,
    ) -> Self:
        """Fit the model to rows in bins.

        Parameters
        ----------
        columns
            The bins of each column.
        bins
            The bin of each cell, (d, n).
        codes
            The class of each row: its place among the labels.
        labels
            The classes.
        weight
            The weight of each row; 1 by default.
        groups
            The group of each row; rows of a group are held out together.
        times
            The time of each row; held-out rows are later than those that are learned.
        """
        with self._learning(anew=True):
            self._set_columns(columns)
            self._set_classes(labels)
            encoded = EncodedRows(bins, codes.astype(np.float64), weight, None, groups, times)
            self._fitted = self._fit_classes(encoded)
        return self

    def refit_bins(self, bins: Bins, codes: npt.NDArray[np.int64], weight: FloatArray | None = None) -> Self:
        """Fit the terms to other rows in bins, with the penalties and pairs that :meth:`fit_bins` chose.

        Parameters
        ----------
        bins, codes, weight
            As for :meth:`fit_bins`, of the same columns and classes.
        """
        encoded = EncodedRows(bins, codes.astype(np.float64), weight, None)
        self._fit_classes(encoded, self._fitted)
        return self

    def _fit_classes(self, encoded: EncodedRows, chosen: FittedTerms | None = None) -> FittedTerms:
        choose = self._choose if chosen is None else known_choice(chosen, self._threads())
        widen = chosen is None and self.max_bins is None
        return self._keep(fit_classes(encoded, self._bins, self._labels, choose, widen))

    def _set_classes(self, labels: Labels, like: npt.NDArray[Any] | None = None) -> None:
        self._labels, self.classes_ = labels, validation.classes_array(labels, like)
        if len(labels) < 2:
            raise ValueError(f"y has one class, {labels.names[0]!r}: a classifier needs rows of at least 2 classes")

    def scorer(self) -> AdditiveScorer:
        """Return what scores rows in bins."""
        return AdditiveScorer(self._bins, self._intercept, self.terms_, self._labels)

    def _targets(self, found: ClassTotals | None) -> Targets:
        """Set the classes, and return what reads those of a part's rows."""
        assert found is not None
        self._set_classes(found.labels, found.like)
        return partial(_read_classes, found, self.class_weight)

    @property
    def intercept_(self) -> FloatArray:
        """The log-odds of a row whose terms are all 0."""
        return self._intercept.copy()

    @row_wise("score")
    def decision_function(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return the log-odds of the second class, (n,), or one score per class, (n, k)."""
        scores = self._predictors(X, offset)
        return scores[:, 0] if len(self._labels) == 2 else scores

    @row_wise("probability")
    def predict_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return p(y | x), (n, k)."""
        return np.asarray(np.exp(self.predict_log_proba(X, offset=offset)))

    @row_wise("log_probability")
    def predict_log_proba(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return log p(y | x), (n, k)."""
        scores = self._predictors(X, offset)
        if len(self._labels) == 2:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        scores = scores - scores.max(axis=1, keepdims=True)
        return np.asarray(scores - np.log(np.exp(scores).sum(axis=1, keepdims=True)))

    @row_wise("prediction")
    def predict(self, X: MatrixLike, *, offset: VectorLike = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row, (n,)."""
        scores = self._predictors(X, offset)
        codes = (scores[:, 0] > 0).astype(np.int64) if len(self._labels) == 2 else scores.argmax(axis=1)
        return np.asarray(self.classes_[codes])

    def score(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> float:
        """Return the accuracy: the share of rows whose class is predicted correctly.

        Parameters
        ----------
        X, y, sample_weight, offset
            As for :meth:`fit`. Rows in parts are read once, on their workers.
        """
        data = scored_dataset(self, X, y, sample_weight, offset=offset)
        if data is not None:
            return accuracy_in_parts(self, data)
        from sklearn.metrics import accuracy_score  # slow to import, and fits do not need it

        return float(accuracy_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Return what each term adds to the log-odds of each row; with the intercept they add up to them exactly."""
        rows, parts, cells = self._contributions(X)
        names = [term.name for term in self.terms_]
        two = len(self._labels) == 2
        base = [0.0, float(self._intercept[0])] if two else self._intercept.tolist()
        found = []
        for row in range(rows):
            each = np.array([part[row] for part in parts]).reshape(len(parts), len(self._intercept)).T  # (t, terms)
            by_class = np.concatenate([np.zeros_like(each), each]) if two else each
            scores = ClassScores(self.classes_.tolist(), names, [cell[row] for cell in cells], by_class.tolist(), base)
            found.append(Explanation.of(scores, row=row))
        return found

    def _more_settings(self) -> dict[str, Any]:
        return {"classes": {"names": list(self._labels), "dtype": self.classes_.dtype.kind}}

    def _restore(self, settings: Any) -> None:
        self._labels = Labels(tuple(settings["classes"]["names"]))
        like = np.empty(0, dtype=object) if settings["classes"]["dtype"] == "O" else None
        self.classes_ = validation.classes_array(self._labels, like)


class AdditiveRegressor(RegressorMixin, AdditiveModel):  # type: ignore[misc]
    """Numbers by an additive predictor: a sum of functions of columns, and of pairs of columns that interact.

    As :class:`AdditiveClassifier`, for the mean of y or, with a family other than gaussian, for its logarithm.

    Parameters
    ----------
    family
        The distribution of y: ``"gaussian"``; or with a log link ``"poisson"`` for counts, ``"gamma"`` or
        ``"inverse_gaussian"`` for positive numbers.
    interactions, max_bins, folds, random_state, n_jobs
        As for :class:`AdditiveClassifier`.
    monotone
        By column: 1 if the prediction must rise with it, -1 if it must fall. Such columns are in no pair.

    Attributes
    ----------
    terms_ : list of :class:`AdditiveTerm`
    intercept_ : the predictor of a row whose terms are all 0
    solution_ : how penalties and pairs were chosen: held-out losses, number of pairs, reason
    n_features_in_ : number of columns
    feature_names_in_ : names of the columns, if X had names

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(-1, 1, size=(500, 2))
    >>> y = x[:, 0] * x[:, 1] + 0.1 * rng.normal(size=500)
    >>> model = AdditiveRegressor().fit(x, y)
    >>> [term.name for term in model.terms_], round(model.score(x, y), 1)
    (['0', '1', '0 × 1'], 0.9)
    """

    def __init__(
        self,
        *,
        family: str = "gaussian",
        interactions: Literal["auto"] | int | Sequence[tuple[Any, Any]] = "auto",
        max_bins: int | None = None,
        monotone: Mapping[Any, int] | None = None,
        folds: int | None = None,
        random_state: RandomState = 0,
        n_jobs: int | None = None,
    ) -> None:
        super().__init__(
            interactions=interactions,
            max_bins=max_bins,
            monotone=monotone,
            folds=folds,
            random_state=random_state,
            n_jobs=n_jobs,
        )
        self.family = family

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.family != "gaussian"
        return tags

    def _check_settings(self) -> None:
        super()._check_settings()
        if self.family not in POWERS:
            raise ValueError(f"family must be one of {list(POWERS)}; got {self.family!r}")

    def fit(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> Self:
        """Fit the model to rows and their numbers.

        Parameters
        ----------
        X
            Rows, (n, d), as for :meth:`AdditiveClassifier.fit`.
        y
            The number of each row.
        sample_weight
            The weight of each row, 1 by default; only ratios of weights matter.
        offset
            A known part of each row's predictor, (n,): for counts, the logarithm of the exposure.
        """
        with self._learning(anew=True):
            data = as_dataset(X, y=y, sample_weight=sample_weight, offset=offset)
            encoded = self._encode_rows(data, lambda _: partial(read_numbers, self.family))
            self._fit_numbers(encoded)
        return self

    def fit_bins(
        self,
        columns: Sequence[ColumnBins],
        bins: Bins,
        target: FloatArray,
        weight: FloatArray | None = None,
        *,
        groups: npt.NDArray[np.int64] | None = None,
        times: FloatArray | None = None,
    ) -> Self:
        """Fit the model to rows in bins.

        Parameters
        ----------
        columns
            The bins of each column.
        bins
            The bin of each cell, (d, n).
        target
            The number of each row.
        weight
            The weight of each row; 1 by default.
        groups, times
            As for :meth:`AdditiveClassifier.fit_bins`.
        """
        with self._learning(anew=True):
            self._set_columns(columns)
            target = read_numbers(self.family, {"y": target}, len(target))[0]
            self._fitted = self._fit_numbers(EncodedRows(bins, target, weight, None, groups, times))
        return self

    def refit_bins(self, bins: Bins, target: FloatArray, weight: FloatArray | None = None) -> Self:
        """Fit the terms to other rows in bins, with the penalties and pairs that :meth:`fit_bins` chose.

        Parameters
        ----------
        bins, target, weight
            As for :meth:`fit_bins`, of the same columns.
        """
        target = read_numbers(self._params.family, {"y": target}, len(target))[0]
        self._fit_numbers(EncodedRows(bins, target, weight, None), self._fitted)
        return self

    def _fit_numbers(self, encoded: EncodedRows, chosen: FittedTerms | None = None) -> FittedTerms:
        choose = self._choose if chosen is None else known_choice(chosen, self._threads())
        return self._keep(fit_numbers(encoded, self._bins, self.family, choose))

    def scorer(self) -> AdditiveScorer:
        """Return what scores rows in bins."""
        link: Literal["identity", "log"] = "identity" if self._params.family == "gaussian" else "log"
        return AdditiveScorer(self._bins, self._intercept, self.terms_, Labels(), link)

    @property
    def intercept_(self) -> float:
        """The predictor of a row whose terms are all 0."""
        return float(self._intercept[0])

    @row_wise("prediction")
    def predict(self, X: MatrixLike, *, offset: VectorLike = None) -> FloatArray:
        """Return the mean of y for each row, (n,)."""
        scores = self._predictors(X, offset)[:, 0]
        return scores if self._params.family == "gaussian" else np.asarray(np.exp(scores))

    def score(
        self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None, *, offset: VectorLike = None
    ) -> float:
        """Return R², the share of the variance of y that the predictions explain.

        Parameters
        ----------
        X, y, sample_weight, offset
            As for :meth:`fit`. Rows in parts are read twice: for the mean of y, and for the squares.
        """
        data = scored_dataset(self, X, y, sample_weight, offset=offset)
        if data is None:
            from sklearn.metrics import r2_score  # slow to import, and fits do not need it

            return float(r2_score(y, self.predict(X, offset=offset), sample_weight=sample_weight))
        with read_again(data) as rows:
            mean = float(partitioned.mean_target(rows)[0])
            left, total, _ = partitioned.sum_over(rows, partial(_squares, model_for_parts(self, rows), mean))
        return float(1 - left / total) if total > 0 else float(left == 0)

    def explain(self, X: MatrixLike) -> list[Explanation]:
        """Return what each term adds to the predictor of each row; with the intercept they add up to it exactly."""
        rows, parts, cells = self._contributions(X)
        gaussian = self._params.family == "gaussian"
        found = []
        for row in range(rows):
            each = [
                Contribution(term.name, cell[row], float(part[row, 0]))
                for term, part, cell in zip(self.terms_, parts, cells, strict=True)
            ]
            total = self.intercept_ + sum(part.effect for part in each)
            kept = tuple(sorted((part for part in each if part.effect != 0), key=lambda part: -abs(part.effect)))
            found.append(
                Explanation(
                    prediction=total if gaussian else float(np.exp(total)),
                    against=None,
                    probability=None,
                    base=self.intercept_,
                    total=total,
                    contributions=kept,
                    unit=EXPECTED_NUMBER if gaussian else "log of the expected number",
                    row=row,
                )
            )
        return found


def _read_classes(
    found: ClassTotals, class_weight: Any, piece: Piece, rows: int
) -> tuple[FloatArray, FloatArray | None]:
    """Return the codes of the classes of rows, and the weights."""
    codes = found.codes
    if codes is None or len(codes) != rows:
        codes = validation.known_codes(found.labels, validation.targets(piece["y"], rows), fixed=True)[1]
    with validation.one_of_many():
        weight = validation.weights(piece.get("sample_weight"), rows)
    return codes.astype(np.float64), class_weights(class_weight, found.labels, codes, weight, found.weights)


def _squares(model: AdditiveRegressor, mean: float, piece: Piece) -> FloatArray:
    """Return the weighted sums of squares about the predictions and about the mean of y, and the weight."""
    weights = partitioned.part_weights(piece)
    target = validation.numbers(piece["y"], len(weights))
    prediction = model.predict(piece["X"], offset=piece.get("offset"))
    return np.array([weights @ (target - prediction) ** 2, weights @ (target - mean) ** 2, weights.sum()])
