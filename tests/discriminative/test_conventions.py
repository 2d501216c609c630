"""scikit-learn's own checks of its conventions."""

from __future__ import annotations

from typing import Any

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from suffice import (
    GLM,
    ElasticNet,
    ElasticNetCV,
    GammaRegressor,
    Lasso,
    LassoCV,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    RidgeCV,
    SoftmaxRegression,
)
from suffice.families import Tweedie

MODELS = [
    LinearRegression(),
    Ridge(),
    Lasso(),
    ElasticNet(),
    RidgeCV(),
    LassoCV(),
    LogisticRegression(),
    SoftmaxRegression(),
    PoissonRegressor(),
    GLM(),
]
#: The same ways through the code.
OTHER_SETTINGS = [
    LinearRegression(positive=True),
    Ridge(positive=True),
    Lasso(positive=True),
    RidgeCV(cv=3),
    ElasticNetCV(l1_ratio=[0.5, 1.0]),
    LinearRegression("newton"),
    LogisticRegression(C=1.0),
    LogisticRegression(C=2.0, l1_ratio=1.0),
    LogisticRegression(solver="newton"),
    GammaRegressor(),
    GLM("gaussian", l1=0.1),
    GLM("poisson", "log", l2=0.5),
    GLM(Tweedie(power=1.5)),
]

#: Where these models differ from the conventions: the check, and why.
DIFFERENT = {"check_estimators_empty_data_messages": "rows without columns are a model with an intercept alone"}


@pytest.mark.filterwarnings("ignore::UserWarning")  # their rows are often separated, dependent or few
@parametrize_with_checks(MODELS, expected_failed_checks=lambda _: DIFFERENT)
def test_estimators_pass_scikit_learns_checks(estimator: Any, check: Any) -> None:
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")
@parametrize_with_checks(OTHER_SETTINGS, expected_failed_checks=lambda _: DIFFERENT)
def test_conventions_under_other_settings(estimator: Any, check: Any) -> None:
    check(estimator)
