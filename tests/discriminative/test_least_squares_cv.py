"""RidgeCV, LassoCV and ElasticNetCV against scikit-learn; folds from sums, streams and files."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import linear_model as theirs
from sklearn.model_selection import KFold, ShuffleSplit

import suffice
from suffice import ElasticNetCV, LassoCV, RidgeCV
from suffice.data.refusals import RowsInPartsError
from suffice.statistics import NormalEquations

RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(120, 7)) * [1.0, 5.0, 0.2, 1.0, 2.0, 1.0, 3.0] + [0.0, 3.0, 1.0, -20.0, 0.0, 1.0, 0.0]
Y = X @ [1.0, -0.3, 4.0, 0.0, 0.5, 0.0, 0.0] + 2 * RANDOM.normal(size=120)
PAIR = np.column_stack([Y, X @ [0.0, 0.2, -3.0, 1.0, 0.0, 1.0, 0.0] + RANDOM.normal(size=120)])
WEIGHT = RANDOM.random(120) + 0.1
ALPHAS = np.logspace(-3, 4, 15)
CLOSE = {"tol": 1e-12, "max_iter": 200_000}
SHUFFLED = KFold(4, shuffle=True, random_state=0)


def alike(mine: Any, their: Any, *names: str) -> None:
    np.testing.assert_allclose(mine.alpha_, their.alpha_, rtol=1e-9)
    for name in ("coef_", "intercept_", *names):
        one, two = np.asarray(getattr(mine, name)), np.asarray(getattr(their, name))
        assert one.shape == two.shape or not their.fit_intercept, name
        np.testing.assert_allclose(one, two, rtol=1e-7, atol=1e-8, err_msg=name)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("y", [Y, PAIR], ids=["one target", "two targets"])
def test_leave_one_out_is_that_of_scikit_learn(intercept: bool, weight: Any, y: Any) -> None:
    for settings in ({}, {"alpha_per_target": True}, {"scoring": "neg_mean_absolute_error"}):
        settings = {"fit_intercept": intercept, "store_cv_results": True, **settings}
        mine, their = RidgeCV(ALPHAS, **settings), theirs.RidgeCV(ALPHAS, **settings)
        alike(mine.fit(X, y, weight), their.fit(X, y, weight), "best_score_", "cv_results_")
    alike(RidgeCV(ALPHAS).fit(X, y, weight), theirs.RidgeCV(ALPHAS).fit(X, y, weight), "best_score_")


def test_leave_one_out_of_other_rows_is_that_of_scikit_learn() -> None:
    stored = np.where(np.abs(X) > 1, X, 0.0)
    their = theirs.RidgeCV(ALPHAS).fit(stored, Y)
    alike(RidgeCV(ALPHAS).fit(sparse.csr_array(stored), Y), their, "best_score_")
    alphas = [0.1, 1.0, 10.0]
    alike(RidgeCV(alphas).fit(X[:5], Y[:5]), theirs.RidgeCV(alphas).fit(X[:5], Y[:5]), "best_score_")


@pytest.mark.parametrize("cv", [3, SHUFFLED, ShuffleSplit(3, random_state=0)], ids=["number", "KFold", "ShuffleSplit"])
@pytest.mark.parametrize("scoring", [None, "neg_mean_squared_error", "neg_mean_absolute_error"])
def test_folds_of_a_ridge_are_those_of_scikit_learn(cv: Any, scoring: str | None) -> None:
    settings = {"cv": cv, "scoring": scoring}
    mine, their = RidgeCV(ALPHAS, **settings), theirs.RidgeCV(ALPHAS, **settings)
    alike(mine.fit(X, PAIR), their.fit(X, PAIR), "best_score_")


@pytest.mark.parametrize("settings", [{}, {"positive": True}, {"fit_intercept": False}, {"cv": SHUFFLED}], ids=str)
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.needs("scikit-learn 1.9")
def test_the_path_of_a_lasso_is_that_of_scikit_learn(settings: Any, weight: Any) -> None:
    mine, their = LassoCV(**settings).fit(X, Y, weight), theirs.LassoCV(**settings, **CLOSE).fit(X, Y, weight)
    alike(mine, their, "alphas_", "mse_path_")
    assert mine.dual_gap_ <= 1e-8 * Y.var()


@pytest.mark.parametrize("alphas", [20, [0.01, 1.0, 0.1]], ids=["number", "list"])
@pytest.mark.needs("scikit-learn 1.9")
def test_shares_of_l1_are_chosen_as_by_scikit_learn(alphas: Any) -> None:
    settings = {"l1_ratio": [0.2, 0.7, 1.0], "alphas": alphas, "eps": 1e-2, "cv": 4}
    mine, their = ElasticNetCV(**settings).fit(X, Y), theirs.ElasticNetCV(**settings, **CLOSE).fit(X, Y)
    alike(mine, their, "alphas_", "mse_path_", "l1_ratio_")


@pytest.mark.parametrize("model", [RidgeCV(ALPHAS), RidgeCV(ALPHAS, cv=4), LassoCV(), ElasticNetCV()], ids=str)
def test_streams_and_files_choose_as_rows_in_memory(model: Any, tmp_path: Path) -> None:
    expected = model.fit(X, Y, WEIGHT)
    alpha, coef = expected.alpha_, expected.coef_
    names = [f"x{place}" for place in range(7)]

    def batches() -> Iterator[Any]:
        for start in range(0, 120, 33):
            yield X[start : start + 33], Y[start : start + 33], WEIGHT[start : start + 33]

    for given in (batches, batches()):
        again = model.fit(given)
        assert again.alpha_ == pytest.approx(alpha, rel=1e-9)
        np.testing.assert_allclose(again.coef_, coef, rtol=1e-7, atol=1e-9)
    table = pd.DataFrame(X, columns=names).assign(y=Y, w=WEIGHT)
    for number, start in enumerate(range(0, 120, 50)):
        table[start : start + 50].to_csv(tmp_path / f"{number}.csv", index=False)
    files = [tmp_path / f"{number}.csv" for number in range(3)]
    again = model.fit(files, y="y", sample_weight="w")
    assert again.alpha_ == pytest.approx(alpha, rel=1e-9)
    np.testing.assert_allclose(again.coef_, coef, rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("model", [LassoCV(), RidgeCV(ALPHAS, cv=5)], ids=str)
def test_every_row_is_summed_once(model: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    summed, of = [], NormalEquations.of.__func__

    def counted(cls: Any, batch: Any, kernels: Any) -> Any:
        summed.append(batch.rows)
        return of(cls, batch, kernels)

    monkeypatch.setattr(NormalEquations, "of", classmethod(counted))
    model.fit(X, Y)
    assert sum(summed) == len(X)


def test_files_keep_the_choice(tmp_path: Path) -> None:
    for model in (RidgeCV(ALPHAS, store_cv_results=True), LassoCV(), ElasticNetCV(l1_ratio=[0.5, 1.0])):
        model.fit(X, Y).save(tmp_path / "model")
        again = suffice.load(tmp_path / "model")
        assert again.alpha_ == model.alpha_
        np.testing.assert_array_equal(again.predict(X), model.predict(X))
        for name in ("mse_path_", "alphas_", "best_score_", "cv_results_", "l1_ratio_"):
            assert hasattr(again, name) == hasattr(model, name)
            if hasattr(model, name):
                np.testing.assert_array_equal(getattr(again, name), getattr(model, name))


def test_a_summary_is_of_the_chosen_penalty() -> None:
    model = RidgeCV(ALPHAS).fit(X, Y)
    ridge = suffice.Ridge(model.alpha_).fit(X, Y)
    np.testing.assert_allclose(model.covariance_, ridge.covariance_)
    assert f"alpha = {model.alpha_:g}" in str(model.summary())


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: RidgeCV([0.0]).fit(X, Y), ValueError, "alphas == 0.0, must be > 0.0"),
        (lambda: RidgeCV([1.0, -1.0], cv=3).fit(X, Y), ValueError, r"alphas\[1\] == -1.0, must be >= 0.0"),
        (lambda: RidgeCV(cv=3, store_cv_results=True).fit(X, Y), ValueError, "are incompatible"),
        (lambda: RidgeCV(gcv_mode="best").fit(X, Y), ValueError, "gcv_mode must be"),
        (lambda: LassoCV(eps=0.0).fit(X, Y), ValueError, "eps must be a number above 0; got 0.0"),
        (lambda: LassoCV(alphas=0).fit(X, Y), ValueError, "alphas must be penalties, or their number"),
        (lambda: ElasticNetCV(l1_ratio=0.0).fit(X, Y), ValueError, "not supported for l1_ratio=0"),
        (lambda: LassoCV().fit(X, PAIR), ValueError, "y should be a 1d array"),
        (lambda: LassoCV(cv=200).fit(X, Y), ValueError, "Cannot have number of splits n_splits=200"),
        (lambda: LassoCV(cv=3).fit(X, Y, np.arange(120) // 40), ValueError, "fold 0 of cv has rows of total weight 0"),
        (lambda: LassoCV(cv=SHUFFLED).fit(iter([(X, Y)])), RowsInPartsError, "takes rows by their position"),
        (lambda: RidgeCV(scoring="max_error").fit(iter([(X, Y)])), RowsInPartsError, "reads all rows at once"),
        (lambda: RidgeCV(cv=3, scoring="max_error").fit(iter([(X, Y)])), RowsInPartsError, "reads all rows at once"),
        (lambda: LassoCV().fit(X, Y).with_params(cv=3), ValueError, "needs other sums"),
    ],
)  # fmt: skip
def test_complaints(act: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        act()
