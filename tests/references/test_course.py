"""The course's problem sets: the results of its solutions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat
from sklearn.linear_model import LogisticRegression

from suffice import GDA, BernoulliNB, MultinomialNB

from .data import unpacked


@pytest.fixture(scope="module")
def course() -> Path:
    return unpacked("cs229")


def table(path: Path) -> tuple[np.ndarray, np.ndarray]:
    columns = np.loadtxt(path, delimiter=",", skiprows=1)
    return columns[:, :-1], columns[:, -1]


def test_discriminant_beside_logistic_regression(course: Path) -> None:
    accuracy = {}
    for name in ("ds1", "ds2"):
        train, valid = (table(course / "2018-ps1" / f"{name}_{part}.csv") for part in ("train", "valid"))
        for model in (GDA(), LogisticRegression(C=np.inf, max_iter=10_000)):
            accuracy[name, type(model).__name__] = model.fit(*train).score(*valid)
    # The classes of ds1 are not Gaussian, which misleads the discriminant; those of ds2 are, and both find one line.
    assert accuracy["ds1", "GDA"] == pytest.approx(0.83)
    assert accuracy["ds1", "LogisticRegression"] == pytest.approx(0.90)
    assert accuracy["ds2", "GDA"] == pytest.approx(0.91)
    assert accuracy["ds2", "LogisticRegression"] == pytest.approx(0.91)


def test_taking_the_logarithm_makes_the_first_set_gaussian(course: Path) -> None:
    (x, y), (x_valid, y_valid) = (table(course / "2018-ps1" / f"ds1_{part}.csv") for part in ("train", "valid"))
    bent = [np.c_[part[:, 0], np.log(part[:, 1].clip(1e-3))] for part in (x, x_valid)]
    assert GDA().fit(bent[0], y).score(bent[1], y_valid) >= 0.88


def test_unlabelled_rows_of_four_clusters(course: Path) -> None:
    x, z = table(course / "2018-ps3" / "ds3_train.csv")
    known = z >= 0
    model = GDA("full").fit(x[known], z[known], unlabelled=x[~known])
    assert known.sum() == 20
    assert (np.diff(model.em_trace_) >= 0).all()
    few = GDA("full").fit(x[known], z[known])
    assert model.log_evidence(x).mean() > few.log_evidence(x).mean()
    np.testing.assert_allclose(model.class_count_.sum(), len(x))


def test_spam_from_the_words_of_a_mail(course: Path) -> None:
    train, test = (loadmat(course / "coursera" / f"spam{part}.mat") for part in ("Train", "Test"))
    y, y_test = train["y"].ravel(), test["ytest"].ravel()
    for model, least in ((BernoulliNB(), 0.94), (MultinomialNB(), 0.97)):
        assert model.fit(train["X"], y).score(test["Xtest"], y_test) > least
