"""Logistic regression with the penalty chosen by cross-validation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from suffice import validation
from suffice.data.dataset import dataset_in_parts, open_location, take_named_columns
from suffice.data.refusals import refused_in_parts
from suffice.discriminative.logistic import LogisticRegression
from suffice.discriminative.summary import Summary
from suffice.estimator import FittedRepr, check_parameters, read_parameters, refuse_addition, write_parameters
from suffice.kernels.libraries import taken
from suffice.parameter_names import NamedParameters
from suffice.selection.rows import Index
from suffice.statistics.base import FloatArray
from suffice.store import Contents, Stored, nest_contents, unnest_contents

if TYPE_CHECKING:
    from suffice.typing import (
        ClassWeight,
        FoldsLike,
        MatrixLike,
        NumbersLike,
        RandomState,
        ScoringLike,
        SolverLike,
        VectorLike,
    )


class LogisticRegressionCV(FittedRepr, NamedParameters, ClassifierMixin, Stored, BaseEstimator):  # type: ignore[misc]
    """Logistic regression whose penalty is chosen by cross-validation.

    As scikit-learn's LogisticRegressionCV: in each fold, a path of penalties, each started from the optimum of the
    last; then a fit to all rows with the penalty of the best mean score. The attributes are those of scikit-learn with
    ``use_legacy_attributes=False``.

    Parameters
    ----------
    Cs
        Inverse penalties to choose from; or their number, evenly spaced on the log scale from 1e-4 to 1e4.
    l1_ratios
        Shares of l1 in the penalty to choose from: 0 is a ridge, 1 the lasso.
    fit_intercept
        Whether there is an intercept; it is not penalised.
    cv
        Number of stratified folds, None for 5; a splitter of scikit-learn; or pairs of row numbers of training and test
        rows.
    scoring
        None: accuracy. A name of scikit-learn's scorers, such as ``"neg_log_loss"``, or a scorer. ``sample_weight`` of
        the fit weights the scores.
    solver, tol, max_iter, random_state, verbose, n_jobs, device
        As for :class:`~suffice.LogisticRegression`.
    class_weight
        Weight of each class, or ``"balanced"``: inversely proportional to the weight of its rows among all rows.

    Attributes
    ----------
    C_ : the chosen inverse penalty
    l1_ratio_ : the chosen share of l1
    Cs_ : (c,), all inverse penalties
    l1_ratios_ : (r,), all shares
    scores_ : (folds, r, c), scores of rows held out
    coefs_paths_ : (folds, r, c, k, p), coefficients, the intercept last if there is one; k is 1 for two classes
    n_iter_ : (folds, r, c), iterations of each fit
    estimator_ : the :class:`~suffice.LogisticRegression` of all rows
    classes_, coef_, intercept_ : those of ``estimator_``
    n_features_in_ : number of features
    feature_names_in_ : names of the features, if X has them

    Examples
    --------
    >>> random = np.random.default_rng(0)
    >>> x = random.normal(size=(200, 3))
    >>> y = (x[:, 0] + random.logistic(size=200) > 0).astype(int)
    >>> model = LogisticRegressionCV(Cs=[0.01, 0.1, 1.0], scoring="neg_log_loss").fit(x, y)
    >>> model.C_, model.scores_.shape, model.predict(x[:3])
    (1.0, (5, 1, 3), array([0, 0, 1]))
    """

    estimator_: LogisticRegression

    def __init__(
        self,
        *,
        Cs: int | NumbersLike = 10,
        l1_ratios: NumbersLike = (0.0,),
        fit_intercept: bool = True,
        cv: FoldsLike = None,
        scoring: ScoringLike = None,
        solver: SolverLike = "auto",
        tol: float = 1e-8,
        max_iter: int = 100,
        class_weight: ClassWeight = None,
        random_state: RandomState = 0,
        verbose: bool = False,
        n_jobs: int | None = None,
        device: str | None = None,
    ) -> None:
        self.Cs = Cs
        self.l1_ratios = l1_ratios
        self.fit_intercept = fit_intercept
        self.cv = cv
        self.scoring = scoring
        self.solver = solver
        self.tol = tol
        self.max_iter = max_iter
        self.class_weight = class_weight
        self.random_state = random_state
        self.verbose = verbose
        self.n_jobs = n_jobs
        self.device = device

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> Self:
        """Choose the penalty, and fit the model to all rows.

        Parameters
        ----------
        X, y, sample_weight
            Rows in memory, their classes and weights, as for :meth:`suffice.LogisticRegression.fit`.
        """
        if dataset_in_parts(open_location(X), y=y, sample_weight=sample_weight) is not None:
            raise refused_in_parts("rows in memory", type(self).__name__, X)
        X, own = take_named_columns(X, {"y": y, "sample_weight": sample_weight})
        y, sample_weight = own["y"], own["sample_weight"]
        Cs, ratios = self._grid()
        rows = validation.features(self, X, reset=True)
        labels = validation.targets(y, rows.shape[0])
        check_classification_targets(labels)
        weight = validation.weights(sample_weight, rows.shape[0])
        classes = validation.coded(labels, rows.shape[0])[0]
        model = self._model(np.asarray(list(classes)), labels, weight)
        splits = list(check_cv(self.cv, labels, classifier=True).split(np.zeros((rows.shape[0], 1)), labels))
        found = [
            [self._path(model, rows, labels, weight, train, test, Cs, ratio) for ratio in ratios]
            for train, test in splits
        ]
        self.coefs_paths_, self.scores_, self.n_iter_ = (
            np.array([[each[place] for each in fold] for fold in found]) for place in range(3)
        )
        best = np.unravel_index(int(self.scores_.mean(axis=0).T.argmax()), (len(Cs), len(ratios)))  # the first C wins
        self.Cs_, self.l1_ratios_ = Cs, ratios
        self.C_, self.l1_ratio_ = float(Cs[best[0]]), float(ratios[best[1]])
        final = model.set_params(C=self.C_, l1_ratio=self.l1_ratio_, warm_start=False, inference="auto")
        self.estimator_ = final.fit(X, y, sample_weight)
        return self

    def _grid(self) -> tuple[FloatArray, FloatArray]:
        """Return the inverse penalties and the shares of l1 to choose from."""
        given: Any = self.Cs
        number = isinstance(given, int | np.integer) and not isinstance(given, bool)
        if number and given < 1:
            raise ValueError(f"Cs must be inverse penalties, or their number, 1 or more; got {self.Cs!r}")
        Cs = np.logspace(-4, 4, int(given)) if number else np.asarray(given, dtype=np.float64).ravel()
        if not Cs.size or not (Cs > 0).all():
            raise ValueError(f"Cs must be inverse penalties above 0, or their number; got {self.Cs!r}")
        ratios = np.asarray(self.l1_ratios, dtype=np.float64).ravel()
        if not ratios.size or not ((ratios >= 0) & (ratios <= 1)).all():
            raise ValueError(f"l1_ratios must be numbers from 0 to 1; got {self.l1_ratios!r}")
        return Cs, ratios

    def _model(
        self, classes: npt.NDArray[Any], labels: npt.NDArray[Any], weight: FloatArray | None
    ) -> LogisticRegression:
        """Return the model of a fold, without a penalty; balanced weights of classes are those of all rows."""
        class_weight = self.class_weight
        if isinstance(class_weight, str) and class_weight == "balanced":
            found = compute_class_weight(class_weight, classes=classes, y=labels, sample_weight=weight)
            class_weight = dict(zip(classes.tolist(), found.tolist(), strict=True))
        return LogisticRegression(
            fit_intercept=self.fit_intercept,
            class_weight=class_weight,
            solver=self.solver,
            tol=self.tol,
            max_iter=self.max_iter,
            warm_start=True,
            inference=False,
            random_state=self.random_state,
            verbose=self.verbose,
            n_jobs=self.n_jobs,
            device=self.device,
        )

    def _path(
        self,
        model: LogisticRegression,
        rows: Any,
        labels: npt.NDArray[Any],
        weight: FloatArray | None,
        train: Index,
        test: Index,
        Cs: FloatArray,
        ratio: float,
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return coefficients, (c, k, p), scores and iterations, (c,), of a fold; each fit starts from the last."""
        missing = set(labels.tolist()) - set(labels[train].tolist())
        if missing:
            raise ValueError(
                f"cv: a fold holds out all rows of class {sorted(missing, key=str)[0]!r}, and cannot learn it: give "
                "fewer folds, or drop the class"
            )
        path = type(model)(**model.get_params(deep=False))
        x, held = taken(rows, train), taken(rows, test)
        more = {} if weight is None else {"sample_weight": weight[test]}
        scorer = check_scoring(path, self.scoring)
        coefs, scores, steps = [], [], []
        for C in Cs:
            path.set_params(C=float(C), l1_ratio=float(ratio))
            path.fit(x, labels[train], None if weight is None else weight[train])
            levels = np.atleast_1d(path.intercept_)[:, None]
            coefs.append(np.hstack([path.coef_, levels]) if self.fit_intercept else np.array(path.coef_))
            scores.append(float(scorer(path, held, labels[test], **more)))
            steps.append(int(np.max(path.n_iter_)))
        return np.array(coefs), np.array(scores), np.array(steps)

    __add__ = __radd__ = refuse_addition

    @property
    def classes_(self) -> npt.NDArray[Any]:
        """The classes."""
        return self._fitted("classes_").classes_

    @property
    def coef_(self) -> FloatArray:
        """Coefficients, (1, d) for two classes, else (k, d)."""
        return self._fitted("coef_").coef_

    @property
    def intercept_(self) -> FloatArray:
        """Intercepts, (1,) or (k,)."""
        return self._fitted("intercept_").intercept_

    def _fitted(self, name: str) -> LogisticRegression:
        if "estimator_" not in vars(self):
            raise AttributeError(f"{type(self).__name__} has no {name} before fit")
        return self.estimator_

    def _ask(self) -> LogisticRegression:
        check_is_fitted(self)
        return self.estimator_

    def predict(self, X: MatrixLike) -> npt.NDArray[Any]:
        """Return the most probable class of each row, (n,)."""
        return self._ask().predict(X)

    def predict_proba(self, X: MatrixLike) -> FloatArray:
        """Return p(y | x), (n, k)."""
        return self._ask().predict_proba(X)

    def predict_log_proba(self, X: MatrixLike) -> FloatArray:
        """Return log p(y | x), (n, k)."""
        return self._ask().predict_log_proba(X)

    def decision_function(self, X: MatrixLike) -> FloatArray:
        """Return the log-odds of the second class, (n,), or one score per class, (n, k)."""
        return self._ask().decision_function(X)

    def score(self, X: MatrixLike, y: VectorLike = None, sample_weight: VectorLike = None) -> float:
        """Return the score of the parameter ``scoring``: accuracy by default."""
        if self.scoring is None:
            return self._ask().score(X, y, sample_weight)
        more = {} if sample_weight is None else {"sample_weight": sample_weight}
        return float(check_scoring(self._ask(), self.scoring)(self.estimator_, X, y, **more))

    def summary(self, level: float = 0.95) -> Summary:
        """Return the table of coefficients of ``estimator_``, at the chosen penalty."""
        return self._ask().summary(level)

    # The file.

    _ARRAYS = ("Cs", "l1_ratios", "scores", "coefs_paths", "n_iter")

    def _contents(self) -> Contents:
        check_is_fitted(self)
        own = {
            "parameters": write_parameters(self.get_params(deep=False)),
            "C": self.C_,
            "l1_ratio": self.l1_ratio_,
        }
        arrays = {name: np.asarray(getattr(self, f"{name}_")) for name in self._ARRAYS}
        chosen = Contents("choice", {}, {}, arrays)
        return nest_contents(type(self).__name__, own, {"estimator": self.estimator_._contents(), "choice": chosen})

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        own, parts = unnest_contents(contents)
        given = read_parameters(own["parameters"], {})
        check_parameters(cls, given)
        model = cls(**given)
        model.C_, model.l1_ratio_ = float(own["C"]), float(own["l1_ratio"])
        for name in cls._ARRAYS:
            setattr(model, f"{name}_", parts["choice"].arrays[name])
        model.estimator_ = LogisticRegression._from_contents(parts["estimator"])
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model.estimator_, name):
                setattr(model, name, getattr(model.estimator_, name))
        return model
