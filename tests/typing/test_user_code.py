"""Code as a user's strict project has it: ``mypy --strict`` checks the types, and pytest that it runs.

``make types`` checks this file. Answers have types of their own, and not Any; so have estimators after ``fit``.
"""

import operator
from functools import reduce
from pathlib import Path
from typing import Any, assert_type

import numpy as np
import numpy.typing as npt
import pandas
import pytest
from sklearn.model_selection import KFold

from suffice import (
    GDA,
    AdditiveClassifier,
    AdditiveRegressor,
    BernoulliNB,
    CategoricalNB,
    GammaRegressor,
    GaussianNB,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    LogisticRegressionCV,
    MultinomialNB,
    OrdinalRegression,
    Perceptron,
    PoissonRegressor,
    RidgeCV,
    SoftmaxRegression,
    TableModel,
    TextClassifier,
    load,
)
from suffice.additive import AdditiveSolution, AdditiveTerm
from suffice.discriminative import LocallyWeightedRegression
from suffice.discriminative.path import Path as PenaltyPath
from suffice.discriminative.result_table import ResultTable
from suffice.explain import Explanation
from suffice.selection import cross_validate
from suffice.solvers import Newton
from suffice.text import CountVectorizer, HashingVectorizer, TextExplanation, TfidfVectorizer
from suffice.typing import ClassPriors, MatrixLike, SparseRows, VectorLike

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[Any]

RANDOM = np.random.default_rng(0)
X: npt.NDArray[np.int64] = RANDOM.poisson(3.0, (60, 3))
Y: npt.NDArray[np.int64] = RANDOM.integers(0, 3, 60)
Z: Floats = X @ np.array([1.0, 0.5, 0.0]) + RANDOM.exponential(size=60)


def test_generative_classifiers() -> None:
    gaussian = GaussianNB(priors=[0.3, 0.3, 0.4]).fit(X, Y)
    assert_type(gaussian, GaussianNB)
    assert_type(gaussian.predict(X), Labels)
    assert_type(gaussian.predict_proba(X), Floats)
    assert_type(gaussian.predict_log_proba(X), Floats)
    assert_type(gaussian.predict_joint_log_proba(X), Floats)
    assert_type(gaussian.log_evidence(X), Floats)
    assert_type(gaussian.score(X, Y), float)
    assert_type(gaussian + gaussian, GaussianNB)
    # Of sum(models), typeshed says T | Literal[0], whatever T is: reduce keeps the type.
    assert_type(reduce(operator.add, [gaussian, gaussian]), GaussianNB)
    assert_type(gaussian.partial_fit(X, Y).forget(X, Y), GaussianNB)
    assert_type(gaussian.with_params(alpha=0.5), GaussianNB)

    discriminant = GDA("tied", shrinkage="auto", priors={0: 0.2, 1: 0.3, 2: 0.5}).fit(X.tolist(), Y.tolist())
    assert_type(discriminant, GDA)
    assert_type(discriminant.decision_function(X), Floats)
    assert_type(discriminant.transform(X), Floats)
    assert_type(discriminant.means_, Floats)
    assert_type(discriminant.covariance_, Floats)
    assert_type(discriminant.coef_, Floats)
    assert_type(discriminant.shrinkage_, float | Floats)

    for model in (MultinomialNB(), BernoulliNB(), CategoricalNB()):
        assert model.fit(X, Y).predict_proba(X).shape == (60, 3)
    assert_type(MultinomialNB().fit(X, Y).feature_log_prob_, Floats)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifiers_with_linear_scores() -> None:
    logistic = LogisticRegression().fit(X, Y == 1, sample_weight=np.ones(60))
    assert_type(logistic, LogisticRegression)
    assert_type(logistic.predict(X), Labels)
    assert_type(logistic.predict_proba(X), Floats)
    assert_type(logistic.predict_log_proba(X), Floats)
    assert_type(logistic.decision_function(X), Floats)
    assert_type(logistic.predict_se(X), Floats)
    assert_type(logistic.predict_interval(X), tuple[Floats, Floats])
    assert_type(logistic.score(X, Y == 1), float)
    assert_type(SoftmaxRegression().fit(X, Y).predict_proba(X), Floats)
    assert_type(OrdinalRegression().fit(X, Y).predict_proba(X), Floats)
    perceptron = Perceptron(random_state=np.random.RandomState(0), class_weight="balanced").fit(X, Y)
    assert_type(perceptron, Perceptron)
    assert_type(perceptron.decision_function(X), Floats)
    assert_type(perceptron.predict(X), Labels)


def test_regressions() -> None:
    linear = LinearRegression().fit(X, Z)
    assert_type(linear, LinearRegression)
    assert_type(linear.predict(X), Floats)
    assert_type(linear.coef_, Floats)
    assert_type(linear.intercept_, float | Floats)
    assert_type(linear.confint(), ResultTable)
    assert_type(linear.predict_se(X), Floats)
    assert_type(linear.predict_interval(X, of="observation"), tuple[Floats, Floats])
    assert_type(PoissonRegressor().fit(X, Z, exposure=np.ones(60)).predict(X), Floats)
    assert_type(GammaRegressor().fit(X, Z + 1).predict(X), Floats)
    local = LocallyWeightedRegression().fit(X, Z)
    assert_type(local.predict(X), Labels)
    assert_type(local.predict(X, return_std=True), tuple[Floats, Floats])


def test_additive_models() -> None:
    classes = AdditiveClassifier(interactions=0, class_weight="balanced").fit(X, Y == 1, offset=np.zeros(60))
    assert_type(classes, AdditiveClassifier)
    assert_type(classes.predict(X), Labels)
    assert_type(classes.predict_proba(X), Floats)
    assert_type(classes.predict_log_proba(X), Floats)
    assert_type(classes.decision_function(X), Floats)
    assert_type(classes.score(X, Y == 1), float)
    assert_type(classes.intercept_, Floats)
    counts = AdditiveRegressor(family="poisson", interactions=[(0, 1)], monotone={2: 1}).fit(X, np.floor(Z))
    assert_type(counts, AdditiveRegressor)
    assert_type(counts.predict(X), Floats)
    assert_type(counts.intercept_, float)
    assert_type(counts.terms_, list[AdditiveTerm])
    assert_type(counts.term(0).values, Floats)
    assert_type(counts.explain(X), list[Explanation])
    assert_type(counts.solution_, AdditiveSolution)
    assert_type(counts.edit(0, counts.term(0).values * 2).remove(1), AdditiveRegressor)


def test_functions_of_a_users_own(tmp_path: Path) -> None:
    def fit(rows: MatrixLike, y: VectorLike, priors: ClassPriors = None) -> GaussianNB:
        return GaussianNB(priors=priors).fit(rows, y)

    def batches() -> list[tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]]:
        return [(X[:30], Y[:30]), (X[30:], Y[30:])]

    for model in (fit(X, Y), fit(X.tolist(), Y.tolist()), fit(iter(batches()), None), fit(batches, None)):
        np.testing.assert_allclose(model.theta_, fit(X, Y).theta_)
    fit(X, Y).save(tmp_path / "a.model")
    assert isinstance(load(tmp_path / "a.model"), GaussianNB)


def test_cross_validation() -> None:
    result = cross_validate(GDA(), X, Y, folds=3)
    assert_type(result.scores, Floats)


def test_penalties_folds_and_solvers() -> None:
    for solver in ("newton", Newton()):
        assert_type(LogisticRegression(C=1.0, solver=solver).fit(X, Y == 1).coef_, Floats)
    chosen = LogisticRegressionCV(Cs=[0.1, 1.0], cv=KFold(3), scoring="neg_log_loss").fit(X, Y == 1)
    assert_type(chosen, LogisticRegressionCV)
    assert_type(chosen.predict_proba(X), Floats)
    assert_type(RidgeCV(alphas=np.logspace(-2, 2, 5), cv=3).fit(X, Z).coef_, Floats)
    assert_type(LassoCV(alphas=[0.01, 0.1], cv=[(np.arange(30), np.arange(30, 60))]).fit(X, Z).predict(X), Floats)
    lasso = Lasso(alpha=0.1).fit(X, Z)
    assert_type(lasso.dual_gap_, float | Floats)
    assert_type(lasso.path(X, Z, alphas=[0.1, 1.0]), PenaltyPath)


def test_vectorisers() -> None:
    texts = ["good day", "bad day", "good"]
    for counts in (
        CountVectorizer(stop_words=["day"], analyzer="word").fit_transform(texts),
        TfidfVectorizer(tokenizer=str.split, token_pattern=None, vocabulary=["good", "bad"]).fit_transform(texts),
        HashingVectorizer(n_features=16, dtype=np.float32, strip_accents="unicode").transform(texts),
    ):
        assert_type(counts, SparseRows)
        assert counts.shape[0] == 3
    vectorizer = CountVectorizer(analyzer=str.split).fit(texts)
    assert_type(vectorizer, CountVectorizer)
    assert_type(vectorizer.get_feature_names_out(), Labels)


def test_texts_and_tables() -> None:
    texts = ["good day", "bad day", "good", "bad"] * 3
    words = TextClassifier("multinomial").fit(texts, ["a", "b"] * 6)
    assert_type(words, TextClassifier)
    assert_type(words.predict(texts), Labels)
    assert_type(words.predict_proba(texts), Floats)
    assert_type(words.explain("good"), TextExplanation)
    assert_type(words.explain(["good"]), list[TextExplanation])
    assert_type(words.top_words("a"), list[tuple[str, float]])
    assert_type(words.sample(2), tuple[list[str], Labels])

    table = {"x": np.repeat(np.arange(10.0), 4), "y": ["a", "b"] * 20}
    frame = pandas.DataFrame(table)
    model = TableModel("nb").fit(frame, "y")
    assert_type(model, TableModel)
    assert_type(model.predict(frame), Labels)
    assert_type(model.predict_proba(frame), Floats)
    assert_type(model.explain(frame), list[Explanation])
    assert_type(model.score(frame), float)
