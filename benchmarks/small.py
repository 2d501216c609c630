"""Small calls, compared with scikit-learn: fits of 100 rows, predictions of one row, transforms of one document."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import sklearn.feature_extraction.text as scikit_text
from sklearn import discriminant_analysis, linear_model, naive_bayes

import suffice
import suffice.text
from benchmarks.harness import Task, Work

ROWS, FEATURES = 100, 5
#: A small call takes less than what the clock and the garbage collector disturb it by.
CALLS = 50
#: Calls of a fit that chooses a penalty on folds.
FOLD_CALLS = 2
WORDS = 150


def repeated(call: Callable[[], object], calls: int = CALLS) -> Work:
    """Return the work of many calls."""

    def work() -> None:
        for _ in range(calls):
            call()

    return work


def estimators() -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield pairs of estimators: their name, ours, scikit-learn's, X and y."""
    random = np.random.default_rng(0)
    x = random.normal(size=(ROWS, FEATURES))
    counts = random.poisson(2.0, size=x.shape)
    codes = random.integers(0, 4, size=x.shape)
    slope = x @ np.array([1.0, -0.5, 0.3, 0.0, 0.2])
    two = (slope + random.logistic(size=ROWS) > 0).astype(int)
    three = np.digitize(slope + random.logistic(size=ROWS), [-1.0, 1.0])
    numbers = slope + random.normal(size=ROWS)
    events = random.poisson(np.exp(slope / 3))
    positive = random.gamma(2.0, np.exp(slope / 3) / 2)
    claims = positive * (random.random(ROWS) > 0.2)
    yield "GaussianNB", suffice.GaussianNB(), naive_bayes.GaussianNB(), x, two
    yield "MultinomialNB", suffice.MultinomialNB(), naive_bayes.MultinomialNB(), counts, two
    yield "ComplementNB", suffice.ComplementNB(), naive_bayes.ComplementNB(), counts, two
    yield "BernoulliNB", suffice.BernoulliNB(), naive_bayes.BernoulliNB(), counts > 1, two
    yield "CategoricalNB", suffice.CategoricalNB(), naive_bayes.CategoricalNB(), codes, two
    yield "GDA tied", suffice.GDA(), discriminant_analysis.LinearDiscriminantAnalysis(), x, two
    yield "GDA full", suffice.GDA("full"), discriminant_analysis.QuadraticDiscriminantAnalysis(), x, two
    yield "LinearRegression", suffice.LinearRegression(), linear_model.LinearRegression(), x, numbers
    yield "Ridge", suffice.Ridge(), linear_model.Ridge(), x, numbers
    yield "Lasso", suffice.Lasso(alpha=0.1), linear_model.Lasso(alpha=0.1), x, numbers
    yield "ElasticNet", suffice.ElasticNet(alpha=0.1), linear_model.ElasticNet(alpha=0.1), x, numbers
    yield "RidgeCV", suffice.RidgeCV(), linear_model.RidgeCV(), x, numbers
    yield "LassoCV", suffice.LassoCV(), linear_model.LassoCV(), x, numbers
    yield "ElasticNetCV", suffice.ElasticNetCV(), linear_model.ElasticNetCV(), x, numbers
    folds = linear_model.LogisticRegressionCV(l1_ratios=(0,), use_legacy_attributes=False)
    yield "LogisticRegressionCV", suffice.LogisticRegressionCV(), folds, x, two
    yield "LogisticRegression", suffice.LogisticRegression(), linear_model.LogisticRegression(), x, two
    lasso = linear_model.LogisticRegression(l1_ratio=1.0, solver="saga")  # stops at 1e-4, ours at the minimum
    yield "LogisticRegression with l1", suffice.LogisticRegression(C=1.0, l1_ratio=1.0), lasso, x, two
    yield "LogisticRegression of 3 classes", suffice.LogisticRegression(), linear_model.LogisticRegression(), x, three
    yield "PoissonRegressor", suffice.PoissonRegressor(), linear_model.PoissonRegressor(), x, events
    yield "GammaRegressor", suffice.GammaRegressor(), linear_model.GammaRegressor(), x, positive
    yield "TweedieRegressor", suffice.TweedieRegressor(power=1.5), linear_model.TweedieRegressor(power=1.5), x, claims
    yield "Perceptron", suffice.Perceptron(), linear_model.Perceptron(), x, two


def tasks() -> Iterator[Task]:
    """Yield the tasks."""
    for name, ours, its, x, y in estimators():
        ours.fit(x, y), its.fit(x, y)
        calls = FOLD_CALLS if name in ("LassoCV", "ElasticNetCV", "LogisticRegressionCV") else CALLS
        yield Task(
            f"{calls} × {name} fit, {ROWS} × {FEATURES}",
            repeated(lambda ours=ours, x=x, y=y: ours.fit(x, y), calls),
            {"fit": repeated(lambda its=its, x=x, y=y: its.fit(x, y), calls)},
            {},
        )
        row = x[:1]
        yield Task(
            f"{CALLS} × {name} predict, 1 × {FEATURES}",
            repeated(lambda ours=ours, row=row: ours.predict(row)),
            {"predict": repeated(lambda its=its, row=row: its.predict(row))},
            {},
        )
    random = np.random.default_rng(0)
    words = [f"word{place}" for place in range(3000)]
    documents = [" ".join(random.choice(words, WORDS)) for _ in range(300)]
    for name in ("CountVectorizer", "TfidfVectorizer", "HashingVectorizer"):
        ours, its = getattr(suffice.text, name)().fit(documents), getattr(scikit_text, name)().fit(documents)
        few = [" ".join(random.choice(words, WORDS // 10)) for _ in range(3)]
        yield Task(
            f"{CALLS} × {name} fit_transform of 3 documents of {WORDS // 10} words",
            repeated(lambda ours=ours, few=few: ours.fit_transform(few)),
            {"fit_transform": repeated(lambda its=its, few=few: its.fit_transform(few))},
            {},
        )
        ours.fit(documents), its.fit(documents)
        for size in (WORDS, WORDS // 10):
            one = [" ".join(random.choice(words, size))]
            assert abs(ours.transform(one) - its.transform(one)).sum() < 1e-12
            yield Task(
                f"{CALLS} × {name} transform of one document of {size} words",
                repeated(lambda ours=ours, one=one: ours.transform(one)),
                {"transform": repeated(lambda its=its, one=one: its.transform(one))},
                {},
            )
