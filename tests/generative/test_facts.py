"""Facts that the mathematics promises: logistic posteriors, recovered parameters, calibrated posteriors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import expit, gammaln, logsumexp, softmax
from scipy.stats import multivariate_normal, norm, poisson

from suffice import GDA, BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB, PoissonNB

from .rows import CASES, Case

each_case = pytest.mark.parametrize("case", CASES, ids=str)


def test_posterior_of_gaussians_with_one_covariance_is_logistic() -> None:
    x, y = CASES[0].draw(300, classes=2)
    model = GDA().fit(x, y)
    sigma = np.linalg.inv(model.covariance_)
    theta = sigma @ (model.means_[1] - model.means_[0])
    np.testing.assert_allclose(model.coef_, [theta], rtol=1e-9)
    np.testing.assert_allclose(model.predict_proba(x)[:, 1], expit(x @ theta + model.intercept_[0]), atol=1e-10)


def test_posterior_of_many_gaussians_with_one_covariance_is_softmax() -> None:
    x, y = CASES[0].draw(300)
    model = GDA().fit(x, y)
    np.testing.assert_allclose(
        model.predict_proba(x), softmax(x @ model.coef_.T + model.intercept_, axis=1), atol=1e-10
    )
    level = -0.5 * np.einsum("kd,kd->k", model.means_ + model.xbar_, model.coef_) + np.log(model.priors_)
    np.testing.assert_allclose(model.intercept_, level, rtol=1e-9)


def test_posterior_of_poisson_classes_is_logistic() -> None:
    x, y = CASES[5].draw(300, classes=2)
    model = PoissonNB(alpha=0.5).fit(x, y)
    theta = np.log(model.rate_[1] / model.rate_[0])
    level = -(model.rate_[1] - model.rate_[0]).sum() + np.log(np.mean(y == 1) / np.mean(y == 0))
    np.testing.assert_allclose(model.predict_proba(x)[:, 1], expit(x @ theta + level), atol=1e-12)
    joint = np.stack([np.log(np.mean(y == k)) + poisson(model.rate_[k]).logpmf(x).sum(1) for k in (0, 1)], axis=1)
    np.testing.assert_allclose(model.predict_joint_log_proba(x), joint, rtol=1e-10)
    np.testing.assert_allclose(model.log_evidence(x), logsumexp(joint, axis=1), rtol=1e-10)


def test_estimates_are_the_notes() -> None:
    x = np.array([[2, 0, 1], [0, 1, 0], [1, 1, 1], [0, 3, 0]])
    y = np.array([0, 0, 1, 1])
    words = [[3 / 7, 2 / 7, 2 / 7], [2 / 9, 5 / 9, 2 / 9]]
    np.testing.assert_allclose(np.exp(MultinomialNB().fit(x, y).feature_log_prob_), words)
    np.testing.assert_allclose(np.exp(BernoulliNB().fit(x, y).feature_log_prob_), [[0.5, 0.5, 0.5], [0.5, 0.75, 0.5]])


def test_an_unseen_word_without_smoothing_says_nothing_and_with_smoothing_something_sane() -> None:
    words, y = np.array([[3, 1, 0], [1, 2, 0]]), ["ham", "spam"]
    with np.errstate(all="raise"):
        bare = MultinomialNB(alpha=0).fit(words, y)
        posterior = bare.predict_proba([[0, 0, 1], [1, 0, 0]])
    assert bare.log_evidence([[0, 0, 1]])[0] == -np.inf
    np.testing.assert_allclose(posterior[0], [0.5, 0.5])  # no class can have written it: what is left is the prior
    np.testing.assert_allclose(posterior[1], [9 / 13, 4 / 13])
    smoothed = MultinomialNB().fit(words, y).predict_proba([[1, 0, 1]])
    np.testing.assert_allclose(smoothed, [[(4 / 7 / 7), (2 / 6 / 6)]] / np.array((4 / 7 / 7) + (2 / 6 / 6)))


@pytest.mark.parametrize("model", [MultinomialNB, BernoulliNB, PoissonNB, CategoricalNB])
def test_no_smoothing_makes_the_unseen_impossible_not_nan(model: Any) -> None:
    x = np.array([[1, 0, 2], [1, 1, 0], [0, 1, 1], [0, 1, 3]])
    fitted = model(alpha=0).fit(x, [0, 0, 1, 1])
    proba = fitted.predict_proba(x)
    assert np.isfinite(proba).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert not np.isnan(fitted.predict_joint_log_proba(x)).any()
    assert proba[0, 1] == 0  # class 1 has never seen feature 0


def test_evidence_of_a_bag_of_words_carries_the_coefficient() -> None:
    x, y = CASES[2].draw(50)
    model = MultinomialNB().fit(x, y)
    coefficient = gammaln(x.sum(1) + 1) - gammaln(x + 1).sum(1)
    expected = logsumexp(model.predict_joint_log_proba(x), axis=1) + coefficient
    np.testing.assert_allclose(model.log_evidence(x), expected, rtol=1e-12)
    # Over all documents of three words, probabilities sum to one.
    every = np.array([[a, b, c, 3 - a - b - c] for a in range(4) for b in range(4 - a) for c in range(4 - a - b)])
    np.testing.assert_allclose(np.exp(model.log_evidence(every)).sum(), 1)


@each_case
def test_evidence_is_the_sum_over_classes(case: Case) -> None:
    x, y = case.draw(40)
    model = case.make().fit(x, y)
    if "Complement" not in case.name and "Multinomial" not in case.name:
        np.testing.assert_allclose(model.log_evidence(x), logsumexp(model.predict_joint_log_proba(x), axis=1))
    np.testing.assert_allclose(model.predict_proba(x), np.exp(model.predict_log_proba(x)), atol=1e-12)
    np.testing.assert_array_equal(model.predict(x), model.classes_[model.predict_proba(x).argmax(axis=1)])


@each_case
def test_samples_teach_what_they_were_drawn_from(case: Case) -> None:
    x, y = case.draw(60)
    model = case.make().fit(x, y)
    drawn, labels = model.sample(40_000, random_state=1)
    again, _ = model.sample(40_000, random_state=1)
    assert (np.asarray(drawn) == np.asarray(again)).all()
    shares = np.bincount(labels, minlength=3) / len(labels)
    np.testing.assert_allclose(shares, np.bincount(y, minlength=3) / len(y), atol=0.02)
    relearnt = case.make().set_params(**({"alpha": 1e-3} if case.exact else {})).fit(drawn, labels)
    if "smoothed" not in case.name and "shrunk" not in case.name and "Complement" not in case.name:
        np.testing.assert_allclose(relearnt.predict_proba(x), model.predict_proba(x), atol=0.12)
    one_class, only = model.sample(7, y=2, random_state=0)
    assert len(one_class) == 7
    assert (only == 2).all()


@pytest.mark.parametrize("model", [GDA("full"), GaussianNB(), GDA("tied"), PoissonNB(alpha=0.01)], ids=str)
def test_posteriors_are_calibrated_on_rows_of_the_model(model: Any) -> None:
    x, y = (CASES[5] if isinstance(model, PoissonNB) else CASES[0]).draw(200, classes=2)
    drawn, labels = model.fit(x, y).sample(30_000, random_state=0)
    posterior = model.predict_proba(drawn)[:, 1]
    for low in np.arange(0, 1, 0.2):
        inside = (posterior >= low) & (posterior < low + 0.2)
        assert abs(posterior[inside].mean() - labels[inside].mean()) < 4 * 0.5 / np.sqrt(max(inside.sum(), 1)) + 1e-9


def test_parameters_are_recovered() -> None:
    random = np.random.default_rng(0)
    covariance = np.array([[2.0, 0.6], [0.6, 1.0]])
    y = random.choice(2, size=50_000, p=[0.3, 0.7])
    x = random.multivariate_normal([0, 0], covariance, len(y)) + y[:, None] * [1.0, -2.0]
    model = GDA().fit(x, y)
    np.testing.assert_allclose(model.priors_, [0.3, 0.7], atol=0.01)
    np.testing.assert_allclose(model.means_, [[0, 0], [1, -2]], atol=0.03)
    np.testing.assert_allclose(model.covariance_, covariance, atol=0.04)


def test_missing_cells_are_integrated_out() -> None:
    x, y = CASES[0].draw(120)
    holes = x.copy()
    holes[::3, 1] = np.nan
    holes[1::4, 0] = np.nan
    holes[5] = np.nan
    for kind in ("full", "tied"):
        model = GDA(kind).fit(x, y)
        joint = model.predict_joint_log_proba(holes)
        for row in (0, 1, 3, 5, 9):
            known = ~np.isnan(holes[row])
            for k in range(3):
                covariance = model.covariance_ if kind == "tied" else model.covariance_[k]
                density = (
                    multivariate_normal(model.means_[k][known], covariance[np.ix_(known, known)]).logpdf(
                        holes[row, known]
                    )
                    if known.any()
                    else 0.0
                )
                np.testing.assert_allclose(joint[row, k], np.log(model.priors_[k]) + density, rtol=1e-9)
        np.testing.assert_allclose(model.predict_proba(holes)[5], model.priors_)
    naive = GaussianNB().fit(x, y)
    expected = np.nansum(norm(naive.theta_, np.sqrt(naive.var_)).logpdf(holes[:, None, :]), axis=2)
    np.testing.assert_allclose(naive.predict_joint_log_proba(holes), expected + np.log(naive.class_prior_), rtol=1e-10)


def test_naive_bayes_skips_missing_cells_when_it_learns() -> None:
    x, y = CASES[0].draw(120)
    x[::3, 1] = np.nan
    x[5] = np.nan
    model = GaussianNB(var_smoothing=0).fit(x, y)
    for k in range(3):
        np.testing.assert_allclose(model.theta_[k], np.nanmean(x[y == k], axis=0), rtol=1e-12)
        np.testing.assert_allclose(model.var_[k], np.nanvar(x[y == k], axis=0), rtol=1e-10)
    np.testing.assert_allclose(model.class_prior_, np.bincount(y) / len(y))
    words, y = CASES[2].draw(60)
    words = words.astype(float)
    words[::4, 2] = np.nan
    present = BernoulliNB(alpha=1.0).fit(words, y)
    known = ~np.isnan(words)
    for k in range(3):
        expected = (((words > 0) & known)[y == k].sum(0) + 1) / (known[y == k].sum(0) + 2)
        np.testing.assert_allclose(np.exp(present.feature_log_prob_[k]), expected)
    rates = PoissonNB(alpha=0).fit(words, y)
    np.testing.assert_allclose(rates.rate_[1], np.nanmean(words[y == 1], axis=0))
    np.testing.assert_allclose(
        MultinomialNB().fit(words, y).feature_count_, MultinomialNB().fit(np.nan_to_num(words), y).feature_count_
    )


def test_em_makes_no_more_steps_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.generative.em_missing.STEPS", 2)
    x = np.random.default_rng(0).normal(size=(60, 3))
    x[::4, 1] = np.nan
    assert len(GDA(missing="em").fit(x, np.arange(60) % 2).em_trace_) == 2


def test_em_for_missing_cells_raises_the_likelihood_to_its_top() -> None:
    random = np.random.default_rng(0)
    covariance = np.array([[1.0, 0.8, 0.2], [0.8, 1.0, 0.1], [0.2, 0.1, 1.0]])
    y = random.integers(0, 2, 4000)
    x = random.multivariate_normal(np.zeros(3), covariance, len(y)) + y[:, None] * [2.0, 0.0, 1.0]
    holes = np.where(random.random(x.shape) < 0.3, np.nan, x)
    for kind in ("tied", "full"):
        model = GDA(kind, missing="em").fit(holes, y)
        assert (np.diff(model.em_trace_) >= 0).all()
        assert len(model.em_trace_) > 3
        learned = model.covariance_ if kind == "tied" else model.covariance_[0]
        np.testing.assert_allclose(learned, covariance, atol=0.12)
        np.testing.assert_allclose(model.means_, [[0, 0, 0], [2, 0, 1]], atol=0.1)
        complete = GDA(kind).fit(x, y)
        assert abs(model.score(x, y) - complete.score(x, y)) < 0.01
        np.testing.assert_allclose(GDA(kind, missing="em").fit(x, y).means_, complete.means_)
        with pytest.raises(ValueError, match="NaN"):
            GDA(kind).fit(holes, y)
        with pytest.raises(ValueError, match="all at once"):
            model.partial_fit(holes[:5], y[:5])


@pytest.mark.parametrize("labels", [["red", "blue", "grey"], [0, 1, 5]], ids=["names", "codes"])
def test_a_category_that_only_rows_of_no_weight_hold_was_never_seen(labels: list[Any]) -> None:
    x = np.array(labels, dtype=object if isinstance(labels[0], str) else np.int64)[[0, 1, 0, 1, 2]][:, None]
    y, weight = np.array([0, 0, 1, 1, 1]), np.array([1.0, 1.0, 1.0, 1.0, 0.0])
    absent = CategoricalNB().fit(x[:4], y[:4])
    streamed = CategoricalNB().fit(iter([(x[:2], y[:2], weight[:2]), (x[2:], y[2:], weight[2:])]))
    later = CategoricalNB().partial_fit(x[3:], y[3:], [0, 1], weight[3:]).partial_fit(x[:3], y[:3])
    for model in (CategoricalNB().fit(x, y, weight), streamed, later):
        assert [names.tolist() for names in model.categories_] == [sorted(labels[:2])]
        np.testing.assert_array_equal(model.n_categories_, absent.n_categories_)
        np.testing.assert_allclose(model.predict_log_proba(x), absent.predict_log_proba(x), rtol=1e-12)
    assert CategoricalNB(min_categories=6).fit(x, y, weight).n_categories_.tolist() == [6]
