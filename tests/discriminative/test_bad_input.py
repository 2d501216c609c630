"""Bad input: an error that names the value, the place and the cure, and a model that is as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from suffice import (
    GLM,
    ElasticNet,
    GammaRegressor,
    Lasso,
    LinearRegression,
    LogisticRegression,
    PoissonRegressor,
    Ridge,
    SoftmaxRegression,
    TweedieRegressor,
    solvers,
)

X = np.arange(12.0).reshape(6, 2) % 5
Y = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])


def broken(value: float) -> np.ndarray:
    x = X.copy()
    x[4, 1] = value
    return x


COMPLAINTS: dict[str, tuple[Callable[[], Any], str]] = {
    "negative l2": (lambda: GLM(l2=-1.0).fit(X, Y), "l2 must be a finite number, 0 or more; got -1.0"),
    "negative C": (lambda: LogisticRegression(C=-1.0).fit(X, Y), "C must be a number above 0, inf without a penalty"),
    "C of 0": (lambda: LogisticRegression(C=0).fit(X, Y), "C must be a number above 0, inf without a penalty; got 0"),
    "share of l1": (lambda: LogisticRegression(l1_ratio=2).fit(X, Y), "l1_ratio must be a number from 0 to 1; got 2"),
    "l1_ratio None": (lambda: LogisticRegression(l1_ratio=None).fit(X, Y), "l1_ratio must be a number from 0 to 1"),
    "alpha": (lambda: PoissonRegressor(alpha=-1).fit(X, Y), "alpha must be a finite number, 0 or more; got -1"),
    "power": (lambda: TweedieRegressor(power=0.5).fit(X, Y), "power must be 0 .*; got 0.5"),
    "link of a power": (lambda: TweedieRegressor(link="logit").fit(X, Y), "link must be 'auto', 'identity' or 'log'"),
    "a solver that penalises the intercept": (
        lambda: LogisticRegression(solver="liblinear").fit(X, Y),
        "no solver 'liblinear', which penalises the intercept: use 'auto'",
    ),
    "negative alpha": (lambda: Lasso(-0.5).fit(X, Y), "alpha must be a finite number, 0 or more; got -0.5"),
    "alpha of a name": (lambda: Ridge("strong").fit(X, Y), "alpha must be a finite number, 0 or more, or one for each"),
    "alphas": (lambda: Ridge([1.0, 2.0]).fit(X, Y), "Number of targets and number of penalties .* 2 != 1"),
    "l1_ratio": (lambda: ElasticNet(l1_ratio=2).fit(X, Y), "l1_ratio must be a number from 0 to 1; got 2"),
    "selection": (lambda: Lasso(selection="best").fit(X, Y), "selection must be 'cyclic' or 'random'; got 'best'"),
    "positive of Ridge": (lambda: Ridge(positive="yes").fit(X, Y), "positive must be True or False; got 'yes'"),
    "no tolerance": (lambda: GLM(tol=0.0).fit(X, Y), "tol must be a number above 0"),
    "no steps": (lambda: GLM(max_iter=0).fit(X, Y), "max_iter must be a whole number, 1 or more; got 0"),
    "solver": (lambda: GLM(solver="magic").fit(X, Y), "solver must be one of auto, newton, batch, stochastic"),
    "linear solver": (lambda: LinearRegression("magic").fit(X, Y), "solver must be one of"),
    "l1 by gradient": (lambda: GLM(l1=1.0, solver="batch").fit(X, Y), "l1 = 1 needs solver='auto' or 'newton'"),
    "covariance": (lambda: GLM(covariance="HC9").fit(X, Y), "covariance must be one of classical, HC0"),
    "inference": (lambda: GLM(inference="maybe").fit(X, Y), "inference must be True, False or 'auto'"),
    "family": (lambda: GLM("cauchy").fit(X, Y), "there is no regression for 'cauchy'; there is for: gaussian"),
    "link": (lambda: GLM("poisson", "logit").fit(X, Y), "there is no response poisson/logit"),
    "count": (lambda: PoissonRegressor().fit(X, Y - 1), r"y\[0\] is -1.0: a poisson target must be"),
    "positive": (lambda: GammaRegressor().fit(X, Y), r"y\[0\] is 0.0: a gamma target must be a finite number above 0"),
    "proportion": (
        lambda: GLM("bernoulli").fit(X, 2 * Y),
        r"y\[1\] is 2.0: a bernoulli target must be between 0 and 1",
    ),
    "beta": (lambda: GLM("beta").fit(X, Y), r"y\[0\] is 0.0"),
    "dirichlet": (lambda: GLM("dirichlet").fit(X, np.c_[Y, 1 - Y]), r"y\[0, 0\] is 0.0"),
    "NaN target": (lambda: LinearRegression().fit(X, np.where(Y, np.nan, 1.0)), r"y\[1\] is nan"),
    "name": (lambda: LinearRegression().fit(X, list("ababab")), r"y\[0\] is 'a': Unknown label type"),
    "continuous class": (lambda: LogisticRegression().fit(X, Y / 2), r"y\[1\] is 0.5"),
    "one class": (lambda: LogisticRegression().fit(X, Y * 0), "y has one class, 0"),
    "NaN": (lambda: LogisticRegression().fit(broken(np.nan), Y), r"contains NaN: X\[4, 1\] is nan"),
    "infinity": (lambda: PoissonRegressor().fit(broken(np.inf), Y), r"contains infinity: X\[4, 1\] is inf"),
    "linear NaN": (lambda: LinearRegression().fit(broken(np.nan), Y), r"contains NaN: X\[4, 1\] is nan"),
    "sparse NaN": (
        lambda: GLM("poisson").fit(sparse.csr_array(broken(np.nan)), Y),
        r"contains NaN: X\[4, 1\] is nan",
    ),
    "offset length": (
        lambda: GLM().fit(X, Y, offset=[1.0]),
        "X has 6 rows and offset has 1: there must be one per row",
    ),
    "offset value": (lambda: GLM().fit(X, Y, offset=[0, 0, np.nan, 0, 0, 0]), r"offset\[2\] is nan; it must be finite"),
    "exposure": (lambda: PoissonRegressor().fit(X, Y, exposure=Y), r"exposure\[0\] is 0; it must be above 0"),
    "exposure link": (lambda: LogisticRegression().fit(X, Y, exposure=Y + 1), "exposure needs a log link"),
    "trials": (lambda: GLM("binomial").fit(X, 3 * Y, trials=[2] * 6), r"y\[1\] is 3 of trials\[1\] = 2"),
    "trials family": (lambda: PoissonRegressor().fit(X, Y, trials=[2] * 6), "trials need the bernoulli family"),
    "weights": (lambda: GLM().fit(X, Y, sample_weight=[-1.0] * 6), r"sample_weight\[0\] is -1"),
    "class weight": (lambda: LogisticRegression(class_weight={7: 1.0}).fit(X, Y), "class_weight names 7"),
    "class weights": (lambda: LogisticRegression(class_weight="even").fit(X, Y), "class_weight must be 'balanced'"),
    "negative class weight": (
        lambda: LogisticRegression(class_weight={0: -1.0}).fit(X, Y),
        r"class_weight must hold finite numbers, 0 or more; got \{0: -1.0\}",
    ),
    "other classes later": (
        lambda: LogisticRegression().partial_fit(X, Y, classes=[0, 1]).partial_fit(X, Y, classes=[0, 2]),
        r"`classes=\[0, 2\]` is not the same as on last call to partial_fit",
    ),
    "bias_reduction": (lambda: LogisticRegression(bias_reduction="yes").fit(X, Y), "bias_reduction must be True or F"),
    "firth and C": (lambda: LogisticRegression(bias_reduction=True, C=1.0).fit(X, Y), "is a penalty itself: leave C"),
    "firth of three": (
        lambda: LogisticRegression(bias_reduction=True).fit(X, np.arange(6) % 3),
        "for two classes; y has 3",
    ),
    "long step": (
        lambda: LinearRegression(solvers.BatchGradient(step=10.0)).fit(X, Y),
        r"step=10 is too long: .* try step=",
    ),
    "long steps": (
        lambda: LogisticRegression(solver=solvers.StochasticGradient(step=1e9), C=1.0).fit(X, Y),
        r"step=1e\+09 is too long: .* try step=",
    ),
    "width": (lambda: GLM().fit(X, Y).predict(X[:, :1]), "X has 1 features, but GLM is expecting 2"),
    "interval": (lambda: LinearRegression().fit(X, Y).predict_interval(X, 95), "level must be a probability between"),
    "interval of": (lambda: GLM().fit(X, Y).predict_interval(X, of="all"), "of must be 'mean' or 'observation'; got"),
    "too few rows": (lambda: LinearRegression().fit(X[:3], Y[:3]).predict_interval(X), "there is no interval"),
    "scale of an error": (lambda: GLM().fit(X, Y).predict_se(X, scale="log"), "scale must be 'link' or 'mean'; got"),
    "no interval of a lasso": (
        lambda: GLM(l1=0.1).fit(X, Y).predict_interval(X),
        "there is no .*: l1 = 0.1: coefficients set to zero",
    ),
    "no interval of classes": (
        lambda: LogisticRegression().fit(X, np.arange(len(Y)) % 2).predict_interval(X, of="observation"),
        "an observation is a class, which has no interval: give of='mean'",
    ),
    "no interval of a quasi-likelihood": (
        lambda: GLM("poisson", dispersion="pearson").fit(X, np.arange(len(Y))).predict_interval(X, of="observation"),
        "has no distribution of observations: give of='mean', or a family such as NegativeBinomial",
    ),
    "ratio": (lambda: ElasticNet(l1_ratio=0).path(X, Y), "l1_ratio of a path must be above 0"),
    "penalties": (lambda: GLM().path(X, Y, penalties=[-1.0]), "penalties must be finite numbers"),
    "Cs of path": (lambda: LogisticRegression().path(X, Y, Cs=[1.0, 0.0]), "Cs must be numbers above 0"),
    "alphas of path": (lambda: PoissonRegressor().path(X, Y, alphas=[-1.0]), "alphas must be finite numbers"),
    "count of path": (
        lambda: LogisticRegression().path(X, Y, Cs=0),
        "Cs must be penalties, or their number, 1 or more",
    ),
    "eps of path": (lambda: LogisticRegression().path(X, Y, eps=2.0), "eps must be a share between 0 and 1"),
    "positive by steps": (
        lambda: LinearRegression("newton", positive=True).fit(X, Y),
        "positive=True is solved from the sums; got solver='newton'",
    ),
    "kind of weights": (
        lambda: GLM(weights="relative").fit(X, Y),
        "weights must be one of frequency, precision, sampling; got",
    ),
    "dispersion": (
        lambda: GLM(dispersion=-1.0).fit(X, Y),
        "dispersion must be 'family', 'pearson' or a number above 0",
    ),
    "lags": (
        lambda: GLM(covariance="newey-west", lags=1.5).fit(X, Y),
        "lags must be None or a whole number, 0 or more",
    ),
    "lags of another": (
        lambda: GLM(lags=2).fit(X, Y),
        "lags need covariance='newey-west'; covariance is 'classical'",
    ),
    "no groups": (lambda: GLM(covariance="clustered").fit(X, Y), "covariance='clustered' needs groups: give"),
    "no groups of linear": (
        lambda: LinearRegression(covariance="clustered").fit(X, Y),
        "'clustered' needs groups: give",
    ),
    "groups in vain": (lambda: GLM().fit(X, Y, groups=Y), "groups need covariance='clustered'"),
    "a missing group": (
        lambda: GLM(covariance="clustered").fit(X, Y, groups=[None, *Y[1:]]),
        r"groups\[0\] is None; every row needs a group",
    ),
    "one group": (
        lambda: GLM(covariance="clustered").fit(X, Y, groups=np.zeros(len(Y))),
        "all rows are of one group, 0: clustered errors need 2 groups or more",
    ),
    "frequencies in time": (
        lambda: GLM(covariance="newey-west").fit(X, Y, np.full(len(Y), 2.0)),
        "weights='frequency' repeats them: give weights='precision' or 'sampling'",
    ),
    "dispersion of classes": (
        lambda: GLM("multinomial", dispersion="pearson").fit(X, np.arange(len(Y)) % 3),
        "dispersion='pearson' is for families with one predictor a row",
    ),
    "linear covariance": (
        lambda: LinearRegression(covariance="HC9").fit(X, Y),
        "covariance must be one of classical, HC0, HC1, HC2, HC3, HC4, clustered, clustered-residual-df, newey-west; "
        "got 'HC9'",
    ),
    "robust covariance of two targets": (
        lambda: LinearRegression(covariance="HC1").fit(X, np.c_[Y, Y]),
        "covariance='HC1' is for one target; y has several",
    ),
    "score of proportions": (
        lambda: GLM("beta").fit(X, (Y + 1) / 3).score(X, (Y + 1) / 3),
        r"beta/logit has no deviance, and so no score: use its log-likelihood in summary\(\)",
    ),
    "other parts later": (
        lambda: (
            GLM("dirichlet").partial_fit(X, np.c_[Y + 1, 2 - Y] / 3).partial_fit(X, np.c_[Y + 1, 3 - Y, Y * 0 + 1] / 5)
        ),
        "y has 3 parts a row; the model has learned 2",
    ),
    "stochastic steps of proportions": (
        lambda: GLM("beta", solver="stochastic").fit(X, (Y + 1) / 3),
        "there are no stochastic steps for beta/logit, whose precision is common to all rows: use another solver",
    ),
    "targets beside a stream": (
        lambda: LinearRegression().fit(iter([(X, Y)]), Y),
        "a stream whose batches bring their own y: leave y out",
    ),
    "empty stream": (
        lambda: LinearRegression().fit(iter([])),
        r"no rows \(samples\): there is nothing to learn from",
    ),
    "long steps in a batch": (
        lambda: (
            LinearRegression(solvers.StochasticGradient(step=1e300)).partial_fit(1e5 * X, Y).partial_fit(1e5 * X, Y)
        ),
        r"step=1e\+300 is too long: in this batch .* try step=6",
    ),
    "long steps in a first batch": (
        lambda: PoissonRegressor(solver=solvers.StochasticGradient(step=1e5)).partial_fit(1e5 * X, Y),
        r"step=100000 is too long: in this batch .* try step=6",
    ),
    "new class": (
        lambda: SoftmaxRegression().partial_fit(X, Y).partial_fit(X, Y + 1),
        "do not exist in the initial classes",
    ),
    "summary of batches": (lambda: PoissonRegressor().partial_fit(X, Y).summary(), "for standard errors: use fit"),
    "merging": (lambda: LinearRegression().fit(X, Y) + LinearRegression().fit(X[:, :1], Y), "do not go together"),
}


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", COMPLAINTS)
def test_complaints_name_the_value_and_the_cure(name: str) -> None:
    act, words = COMPLAINTS[name]
    with pytest.raises(ValueError, match=words):
        act()


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"l1": 2}, r"LinearRegression has no l1: use Lasso\(alpha=2 / n\), with n the total weight of the rows"),
        ({"l2": 3}, r"LinearRegression has no l2: use Ridge\(alpha=3\)"),
        ({"smoothing": 1}, "unexpected keyword argument 'smoothing'"),
    ],
)
def test_penalties_of_other_models_are_converted(settings: dict[str, Any], words: str) -> None:
    with pytest.raises(TypeError, match=words):
        LinearRegression(**settings)


def test_the_row_that_is_named_is_the_callers() -> None:
    """However the solver samples rows and packs columns."""
    random = np.random.default_rng(0)
    x = random.normal(size=(60_000, 40))
    y = (random.random(60_000) < 0.5).astype(int)
    x[54_321, 7] = np.nan
    with pytest.raises(ValueError, match=r"X\[54321, 7\] is nan"):
        LogisticRegression().fit(x, y)
    wide = sparse.random_array((500, 20_000), density=0.001, random_state=0, format="csr")
    wide.data[-1] = np.inf
    row, column = np.argwhere(~np.isfinite(wide.toarray()))[0]
    with pytest.raises(ValueError, match=rf"X\[{row}, {column}\] is inf"):
        LogisticRegression(C=1.0).fit(wide, np.arange(500) % 2)


def test_a_refused_batch_leaves_a_linear_model_as_it_was() -> None:
    model = LinearRegression().fit(X, Y)
    before = model.theta_.copy()
    for act in (
        lambda: model.partial_fit(broken(np.nan), Y),
        lambda: model.partial_fit(X, np.c_[Y, Y]),
        lambda: model.forget(100 * X[:2], Y[:2]),
    ):
        with pytest.raises(ValueError, match=r"NaN|target|never|digits|sum"):
            act()
        np.testing.assert_array_equal(model.theta_, before)


def test_intercepts_without_features_that_matter() -> None:
    with pytest.warns(UserWarning, match="x0 is constant; x1 is constant"):
        model = LinearRegression().fit(np.ones((6, 2)), Y)
    np.testing.assert_allclose(model.predict(np.ones((1, 2))), Y.mean())
    with pytest.warns(UserWarning, match="x0 = a combination of intercept"):
        constant = LogisticRegression().fit(np.ones((6, 2)), Y)
    np.testing.assert_allclose(constant.predict_proba(np.ones((1, 2)))[0, 1], Y.mean())


def test_linear_models_of_other_features_or_of_no_model_do_not_add() -> None:
    mine = LinearRegression().fit(pd.DataFrame(X, columns=["a", "b"]), Y)
    theirs = LinearRegression().fit(pd.DataFrame(X, columns=["a", "c"]), Y)
    with pytest.raises(
        ValueError, match=r"models of different features cannot be added: \['a', 'b'\] and \['a', 'c'\]"
    ):
        mine + theirs
    with pytest.raises(TypeError, match=r"unsupported operand type\(s\) for \+: 'LinearRegression' and 'int'"):
        mine + 1  # type: ignore[operator]


def test_models_of_other_kinds_of_weights_do_not_merge() -> None:
    frequency, precision = (LinearRegression(weights=kind).fit(X, Y) for kind in ("frequency", "precision"))
    with pytest.raises(ValueError, match="weights='frequency' and weights='precision' cannot be added"):
        frequency + precision
