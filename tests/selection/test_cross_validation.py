"""Cross-validation from sums, beside models fitted anew for every fold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn import naive_bayes
from sklearn.base import clone
from sklearn.datasets import load_digits, load_wine
from sklearn.metrics import log_loss, r2_score
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.model_selection import cross_val_score as sklearn_cross_val_score

from suffice import (
    GDA,
    BernoulliNB,
    CategoricalNB,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MultinomialNB,
    PoissonNB,
    SoftmaxRegression,
)
from suffice.selection import cross_validate
from suffice.selection.tuning import best_temperature, log_score
from tests.generative.rows import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)


@each_case
@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss"])
def test_scores_are_those_of_models_fitted_anew(case: Case, scoring: Any) -> None:
    x, y = case.draw(60)
    result = cross_validate(case.make(), x, y, folds=4, scoring=scoring)
    for fold, (train, held) in enumerate(StratifiedKFold(4).split(x, y)):
        model = case.make().fit(x[train], y[train])
        if scoring == "accuracy":
            expected = model.score(x[held], y[held])
        else:
            # A fold without a class of the others gives its rows the least probability there is.
            log_p = model.predict_log_proba(x[held])
            expected = np.mean(log_p[np.arange(len(held)), np.searchsorted(model.classes_, y[held])])
        np.testing.assert_allclose(result.scores[0, fold], expected, rtol=1e-8)


def test_same_winner_as_a_grid_search() -> None:
    x, y = load_digits(return_X_y=True)
    grid = {"alpha": list(np.logspace(-3, 3, 13)), "fit_prior": [True, False]}
    result = cross_validate(MultinomialNB(), x, y, grid=grid, folds=5)
    search = GridSearchCV(naive_bayes.MultinomialNB(), grid, cv=5).fit(x, y)
    np.testing.assert_allclose(result.mean, search.cv_results_["mean_test_score"])
    assert result.best == search.best_params_
    assert result.best_score == pytest.approx(search.best_score_)
    assert str(result).count("\n") == 25
    assert "*" in str(result)


def test_settings_that_change_the_sum_are_summed_apart() -> None:
    x, y = load_wine(return_X_y=True)
    grid = {"covariance": ["tied", "full", "diagonal"], "shrinkage": [None, 0.1]}
    result = cross_validate(GDA(), x, y, grid=grid, folds=StratifiedKFold(3, shuffle=True, random_state=0))
    assert result.scores.shape == (6, 3)
    for settings, scores in zip(result.settings, result.scores, strict=True):
        for (train, held), score in zip(
            StratifiedKFold(3, shuffle=True, random_state=0).split(x, y), scores, strict=True
        ):
            assert GDA(**settings).fit(x[train], y[train]).score(x[held], y[held]) == pytest.approx(score)


def test_folds_of_every_form() -> None:
    x, y = CASES[0].draw(40)
    parts = [held for _, held in KFold(4, shuffle=True, random_state=1).split(x)]
    listed = cross_validate(GaussianNB(), x, y, folds=parts)
    split = cross_validate(GaussianNB(), x, y, folds=KFold(4, shuffle=True, random_state=1))
    np.testing.assert_array_equal(listed.scores, split.scores)
    own = cross_validate(GaussianNB(), x, y, folds=4, scoring=lambda codes, posterior: float(posterior.max()))
    assert own.scores.shape == (1, 4)
    for folds, words in [(1, "at least 2"), (99, "40 rows cannot"), ("many", "'loo'"), ([np.arange(40)], "at least 2")]:
        with pytest.raises(ValueError, match=words):
            cross_validate(GaussianNB(), x, y, folds=folds)
    with pytest.raises(ValueError, match="scoring"):
        cross_validate(GaussianNB(), x, y, scoring="roc")  # type: ignore[arg-type]


@each_case
def test_leave_one_out_is_refitting_without_the_row(case: Case) -> None:
    x, y = case.draw(36)
    if case.name == "CategoricalNB":
        x = np.concatenate([x, x])  # a category that only one row has would leave the vocabulary with it
        y = np.concatenate([y, y])
    result = cross_validate(case.make(), x, y, folds="loo", scoring="neg_log_loss")
    each = []
    for row in range(len(y)):
        others = np.arange(len(y)) != row
        model = case.make().fit(x[others], y[others])
        each.append(model.predict_log_proba(x[row : row + 1])[0, list(model.classes_).index(y[row])])
    np.testing.assert_allclose(result.mean[0], np.mean(each), rtol=1e-6)


def test_weights_count_in_scores() -> None:
    x, y = CASES[0].draw(60)
    weight = np.random.default_rng(0).integers(1, 4, 60).astype(float)
    result = cross_validate(GaussianNB(), x, y, folds=3, sample_weight=weight)
    for fold, (train, held) in enumerate(StratifiedKFold(3).split(x, y)):
        model = GaussianNB().fit(x[train], y[train], sample_weight=weight[train])
        assert result.scores[0, fold] == pytest.approx(model.score(x[held], y[held], sample_weight=weight[held]))


def test_smoothing_chosen_by_the_data() -> None:
    x, y = load_digits(return_X_y=True)
    chosen = MultinomialNB(alpha="auto").fit(x, y)
    alpha = chosen._setting("alpha")  # noqa: SLF001
    assert 1 < alpha < 10_000  # pixels are counted in the thousands
    np.testing.assert_allclose(chosen.predict_proba(x), MultinomialNB(alpha=alpha).fit(x, y).predict_proba(x))
    assert clone(chosen).alpha == "auto"
    few = CategoricalNB(alpha="auto").fit([["a"], ["b"]], [0, 1])  # too few to hold any out
    assert few._setting("alpha") == 1.0  # noqa: SLF001


def test_shrinkage_chosen_by_the_data() -> None:
    random = np.random.default_rng(0)
    y = np.repeat([0, 1], 20)
    x = random.normal(size=(40, 60)) + 0.5 * y[:, None]
    model = GDA(shrinkage="cv").fit(x, y)
    assert 0 < model.shrinkage_ <= 1
    fresh = random.normal(size=(2000, 60)) + 0.5 * np.repeat([0, 1], 1000)[:, None]
    assert model.score(fresh, np.repeat([0, 1], 1000)) > 0.8


def test_temperature_calibrates_what_is_overconfident() -> None:
    random = np.random.default_rng(0)
    y = random.integers(0, 2, 1000)
    once = random.normal(size=(1000, 1)) + y[:, None]
    x = np.repeat(once, 10, axis=1) + 0.01 * random.normal(size=(1000, 10))  # one fact told ten times
    bare, cool = GaussianNB().fit(x, y), GaussianNB(temperature="auto").fit(x, y)
    assert 5 < cool._choice("temperature", 1.0) < 20  # noqa: SLF001
    np.testing.assert_array_equal(bare.predict(x), cool.predict(x))
    codes = y.astype(np.int64)
    before, after = (log_score(model.predict_log_proba(x), codes, np.ones(1000)) for model in (bare, cool))
    assert before < -1
    assert after > -0.6


def test_a_few_scores_far_off_do_not_make_posteriors_uniform() -> None:
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, 1000)
    joint = random.normal(size=(1000, 3)) + 8.0 * np.eye(3)[codes]
    joint[:5] = np.where(np.eye(3)[codes[:5]] == 1, -1e6, 0.0)
    best = best_temperature(joint, codes, np.ones(1000))
    assert best < 5  # it was 1e4
    assert log_score(joint, codes, np.ones(1000), best) >= log_score(joint, codes, np.ones(1000))


def test_a_temperature_that_a_fit_chooses_is_chosen_in_each_fold() -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(400, 1)) + 0.3 * random.normal(size=(400, 6))  # columns that repeat each other
    y = (x[:, 0] + random.normal(size=400) > 0).astype(int)
    automatic, fixed = GaussianNB(temperature="auto"), GaussianNB()
    mine = cross_validate(automatic, x, y, folds=3, scoring="neg_log_loss").scores[0]
    expected = []
    for train, held in StratifiedKFold(3).split(x, y):
        model = GaussianNB(temperature="auto").fit(x[train], y[train])
        expected.append(-log_loss(y[held], model.predict_proba(x[held])))
    np.testing.assert_allclose(mine, expected, rtol=1e-12)
    assert mine.mean() > cross_validate(fixed, x, y, folds=3, scoring="neg_log_loss").scores.mean() + 0.1
    with pytest.raises(TypeError, match=r"GaussianNB\(temperature='auto'\) again for every fold"):
        cross_validate(automatic, lambda: iter([(x, y)]), None, folds=3, scoring="neg_log_loss")


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e9])
@pytest.mark.parametrize("noise", [0.0, 1.0, 1e3])
def test_a_temperature_is_bounded_and_never_worse_than_1(scale: float, noise: float) -> None:
    random = np.random.default_rng(1)
    codes = random.integers(0, 4, 200)
    joint = scale * (np.eye(4)[codes] + noise * random.standard_cauchy(size=(200, 4)))
    best = best_temperature(joint, codes, np.ones(200))
    assert 0.05 <= best <= 100
    assert log_score(joint, codes, np.ones(200), best) >= log_score(joint, codes, np.ones(200))


def test_temperature_is_the_maximum() -> None:
    random = np.random.default_rng(0)
    joint = 5 * random.normal(size=(200, 3))
    codes = (joint + 20 * random.gumbel(size=joint.shape)).argmax(axis=1)
    best = best_temperature(joint, codes, np.ones(200))
    tried = best * np.array([1.0, 0.98, 1.02, 0.5, 2.0])
    values = [200 * log_score(joint, codes, np.ones(200), each) - np.log(each) ** 2 / 2 for each in tried]
    assert values[0] == max(values)
    with_impossible = np.where(random.random(joint.shape) < 0.1, -np.inf, joint)
    assert np.isfinite(best_temperature(with_impossible, codes, np.ones(200)))


def test_models_that_are_not_read_from_sums_are_fitted_anew() -> None:
    random = np.random.default_rng(2)
    x = random.normal(size=(90, 3))
    y = np.array(["a", "b", "c"])[(x @ random.normal(size=(3, 3)) + random.normal(size=(90, 3))).argmax(axis=1)]
    result = cross_validate(SoftmaxRegression(), x, y, grid={"C": [0.1, 10.0]}, scoring="neg_log_loss")
    for place, c in enumerate([0.1, 10.0]):
        beside = sklearn_cross_val_score(SoftmaxRegression(C=c), x, y, cv=5, scoring="neg_log_loss")
        np.testing.assert_allclose(result.scores[place], beside, rtol=1e-9)
    two = np.where(y == "a", "a", "b")
    right = cross_validate(LogisticRegression(C=1.0), x, two, folds=4)
    np.testing.assert_allclose(
        right.scores[0], sklearn_cross_val_score(LogisticRegression(C=1.0), x, two, cv=4), rtol=1e-12
    )
    weight = random.integers(1, 3, 90)
    weighted = cross_validate(LogisticRegression(C=1.0), x, two, folds="loo", sample_weight=weight)
    assert weighted.scores.shape == (1, 1)


def test_regressions_of_numbers_are_judged_by_a_function() -> None:
    random = np.random.default_rng(3)
    x = random.normal(size=(60, 2))
    y = x @ [1.0, -2.0] + random.normal(size=60)
    found = cross_validate(LinearRegression(), x, y, scoring=r2_score)
    np.testing.assert_allclose(found.scores[0], sklearn_cross_val_score(LinearRegression(), x, y, cv=KFold(5)))
    with pytest.raises(ValueError, match=r"LinearRegression predicts numbers: give a function.*r2_score"):
        cross_validate(LinearRegression(), x, y)


def test_models_that_are_fitted_anew_take_a_function_of_the_posterior() -> None:
    x, y = load_wine(return_X_y=True)
    x, y = x[y < 2][::4, :2], y[y < 2][::4]

    def share_right(codes: Any, posterior: Any) -> float:
        return float((posterior.argmax(axis=1) == codes).mean())

    expected = cross_validate(LogisticRegression(C=1.0), x, y, folds=3).scores
    found = cross_validate(LogisticRegression(C=1.0), x, y, folds=3, scoring=share_right).scores
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"scoring": "f2"}, "scoring must be 'accuracy', 'neg_log_loss' or a function; got 'f2'"),
        ({"folds": "few"}, "folds must be a number, 'loo', a splitter or a list of row numbers; got 'few'"),
    ],
)
def test_models_that_are_fitted_anew_refuse_other_scores_and_folds(settings: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        cross_validate(LogisticRegression(C=1.0), [[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1], **settings)


def _gapped(x: np.ndarray) -> np.ndarray:
    x = x.astype(float)
    x[3, 1] = x[5, 0] = np.nan
    return x


TWO = np.arange(12) % 2
COUNTS = np.random.default_rng(0).poisson(1.0 + TWO[:, None], size=(12, 3)).astype(float)
LEFT_OUT: dict[str, tuple[Any, Any]] = {
    "GaussianNB with gaps": (GaussianNB(), _gapped(COUNTS)),
    "diagonal GDA with gaps": (GDA("diagonal", missing="em"), _gapped(COUNTS)),
    "PoissonNB with gaps": (PoissonNB(), _gapped(COUNTS)),
    "BernoulliNB with gaps": (BernoulliNB(), _gapped(COUNTS)),
    "BernoulliNB of 0 and 1": (BernoulliNB(binarize=None), np.minimum(COUNTS, 1)),
    "BernoulliNB above less than 0": (BernoulliNB(binarize=-0.5), COUNTS - 1),
    "sparse MultinomialNB": (MultinomialNB(), sparse.csr_array(COUNTS)),
    "given priors": (MultinomialNB(class_prior=[0.3, 0.7]), COUNTS),
}


@pytest.mark.parametrize("name", LEFT_OUT)
def test_scores_of_rows_left_out_are_those_of_models_without_them(name: str) -> None:
    model, x = LEFT_OUT[name]
    found = cross_validate(model, x, TWO, folds="loo", scoring="neg_log_loss").scores
    each = []
    for row in range(12):
        others = np.arange(12) != row
        each.append(clone(model).fit(x[others], TWO[others]).predict_log_proba(x[[row]])[0, TWO[row]])
    np.testing.assert_allclose(found, [[np.mean(each)]], rtol=1e-9)


def test_a_grid_of_smoothings_of_two_classes_is_scored_as_each_alone() -> None:
    x = _gapped(COUNTS)
    for model in (PoissonNB(), BernoulliNB()):
        together = cross_validate(model, x, TWO, {"alpha": [0.1, 1.0, 10.0]}, folds=3).scores
        alone = [
            [
                clone(model).set_params(alpha=alpha).fit(x[train], TWO[train]).score(x[held], TWO[held])
                for train, held in StratifiedKFold(3).split(x, TWO)
            ]
            for alpha in (0.1, 1.0, 10.0)
        ]
        np.testing.assert_array_equal(together, alone)


def test_parameters_are_checked_before_rows_are_summed() -> None:
    with pytest.raises(ValueError, match="covariance must be one of tied, full"):
        cross_validate(GDA(), np.zeros((4, 1)), [0, 1, 0, 1], grid={"covariance": ["round"]}, folds=2)
