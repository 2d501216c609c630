"""LogisticRegressionCV against scikit-learn; its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegressionCV as Theirs
from sklearn.model_selection import StratifiedKFold
from sklearn.utils.estimator_checks import parametrize_with_checks

import suffice
from suffice import LogisticRegressionCV
from suffice.data.refusals import RowsInPartsError

RANDOM = np.random.default_rng(0)
X = RANDOM.normal(size=(150, 3)) * [1.0, 2.0, 0.5]
Z = X @ [1.0, -0.5, 1.0]
TWO = (Z + RANDOM.logistic(size=150) > 0).astype(int)
THREE = np.array(["a", "b", "c"])[TWO + (Z > 1)]
WEIGHT = RANDOM.random(150) + 0.3
CLOSE = {"tol": 1e-10, "max_iter": 10_000, "l1_ratios": (0.0,), "use_legacy_attributes": False}


@pytest.mark.parametrize("y", [TWO, THREE], ids=["two classes", "three classes"])
@pytest.mark.parametrize(
    "settings",
    [
        {"scoring": None},
        {"scoring": "neg_log_loss", "class_weight": "balanced"},
        {"scoring": None, "fit_intercept": False},
    ],
    ids=str,
)
@pytest.mark.needs("scikit-learn 1.9")
def test_paths_scores_and_choice_are_those_of_scikit_learn(y: Any, settings: dict[str, Any]) -> None:
    mine = LogisticRegressionCV(Cs=4, cv=3, **settings).fit(X, y, WEIGHT)
    their = Theirs(Cs=4, cv=3, **CLOSE, **settings).fit(X, y, WEIGHT)
    assert pytest.approx(their.C_) == mine.C_
    assert mine.n_iter_.shape == their.n_iter_.shape
    np.testing.assert_allclose(mine.Cs_, their.Cs_)
    np.testing.assert_allclose(mine.scores_, their.scores_, atol=1e-5)
    np.testing.assert_allclose(mine.coefs_paths_, their.coefs_paths_, atol=2e-4)
    np.testing.assert_allclose(mine.coef_, their.coef_, atol=2e-4)
    np.testing.assert_allclose(mine.predict_proba(X), their.predict_proba(X), atol=1e-5)
    assert mine.score(X, y) == pytest.approx(their.score(X, y), abs=1e-5)


def test_shares_of_l1_are_minima_of_each_fold() -> None:
    """scikit-learn's saga stops short of them."""
    model = LogisticRegressionCV(Cs=[0.05, 1.0], cv=3, l1_ratios=[0.5, 1.0]).fit(X, TWO)
    for fold, (train, _) in enumerate(StratifiedKFold(3).split(X, TWO)):
        for place, ratio in enumerate((0.5, 1.0)):
            for at, C in enumerate((0.05, 1.0)):
                coef = model.coefs_paths_[fold, place, at, 0]
                p = 1 / (1 + np.exp(-(X[train] @ coef[:3] + coef[3])))
                slope = C * X[train].T @ (p - TWO[train]) + (1 - ratio) * coef[:3]
                off = np.where(coef[:3] != 0, slope + ratio * np.sign(coef[:3]), np.maximum(np.abs(slope) - ratio, 0))
                np.testing.assert_allclose(off, 0.0, atol=1e-3)


def test_sparse_rows_choose_alike() -> None:
    dense = np.where(np.abs(X) > 0.5, X, 0.0)
    one, two = LogisticRegressionCV(Cs=3, cv=3).fit(dense, TWO), LogisticRegressionCV(Cs=3, cv=3)
    two.fit(sparse.csr_array(dense), TWO)
    assert one.C_ == two.C_
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-6)


def test_a_file_keeps_the_choice(tmp_path: Path) -> None:
    model = LogisticRegressionCV(Cs=3, cv=3).fit(X, THREE)
    model.save(tmp_path / "model")
    again = suffice.load(tmp_path / "model")
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(again.scores_, model.scores_)
    assert (again.C_, again.l1_ratio_) == (model.C_, model.l1_ratio_)
    assert str(again.summary()) == str(model.summary())


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda: LogisticRegressionCV(Cs=0).fit(X, TWO), ValueError, "Cs must be inverse penalties, or their number"),
        (lambda: LogisticRegressionCV(Cs=[-1.0]).fit(X, TWO), ValueError, "Cs must be inverse penalties above 0"),
        (lambda: LogisticRegressionCV(l1_ratios=[2.0]).fit(X, TWO), ValueError, "l1_ratios must be numbers from 0 to"),
        (lambda: LogisticRegressionCV().fit(iter([(X, TWO)])), RowsInPartsError, "reads all rows at once"),
        (
            lambda: LogisticRegressionCV(cv=[(np.arange(2, 150), np.arange(2))]).fit(X, np.repeat([0, 1], [2, 148])),
            ValueError,
            "a fold holds out all rows of class 0",
        ),
    ],
)
def test_complaints(act: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        act()


@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks([LogisticRegressionCV(Cs=2, cv=3)])
def test_it_passes_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)
