"""GLMs of families with parameters: against statsmodels and scikit-learn, and wherever rows may come from."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from sklearn.linear_model import TweedieRegressor

from suffice import GLM, GammaRegressor, PoissonRegressor
from suffice.discriminative import SeparationWarning
from suffice.families import NegativeBinomial, Response, Tweedie

ROWS = 400
RANDOM = np.random.default_rng(7)
X = RANDOM.normal(size=(ROWS, 3))
MEAN = np.exp(0.5 + X @ [0.4, -0.3, 0.2])
COUNTS = RANDOM.negative_binomial(2, 2 / (2 + MEAN)).astype(float)
CLAIMS = Tweedie(1.5).draw(Tweedie(1.5).natural_parameter(MEAN), RANDOM)
WEIGHT = RANDOM.integers(1, 4, ROWS).astype(float)
OFFSET = RANDOM.uniform(-0.5, 0.5, ROWS)
TARGETS = {NegativeBinomial(2): COUNTS, Tweedie(1.5): CLAIMS}
BOTH = pytest.mark.parametrize("family", TARGETS, ids=repr)

LINKS = sm.families.links
CASES = {
    "negative binomial": (NegativeBinomial(2), "log", COUNTS, sm.families.NegativeBinomial(alpha=0.5)),
    "canonical": (
        NegativeBinomial(4),
        "canonical",
        COUNTS,
        lambda: sm.families.NegativeBinomial(alpha=0.25, link=LINKS.NegativeBinomial(alpha=0.25)),
    ),
    "tweedie": (Tweedie(1.5), "log", CLAIMS, sm.families.Tweedie(var_power=1.5, link=LINKS.Log())),
    "near poisson": (Tweedie(1.1), "log", CLAIMS, sm.families.Tweedie(var_power=1.1, link=LINKS.Log())),
    "near gamma": (Tweedie(1.9), "log", CLAIMS, sm.families.Tweedie(var_power=1.9, link=LINKS.Log())),
}


def theta(model):
    return np.append(model.intercept_, model.coef_)


def errors(model):
    return model.summary().inference.standard_errors


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("weighted", [False, True], ids=["plain", "weights and offsets"])
@pytest.mark.filterwarnings("ignore::statsmodels.genmod.generalized_linear_model.DomainWarning")
def test_all_numbers_are_statsmodels(case, weighted):
    family, link, y, theirs = CASES[case]
    theirs = theirs() if callable(theirs) else theirs
    known = {"freq_weights": WEIGHT, "offset": OFFSET} if weighted and link == "log" else {}
    mine = {"sample_weight": WEIGHT, "offset": OFFSET} if known else {}
    model = GLM(family, link, tol=1e-12).fit(X, y, **mine)
    other = sm.GLM(y, sm.add_constant(X), theirs, **known).fit(tol=1e-14, maxiter=300)
    np.testing.assert_allclose(theta(model), other.params, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(errors(model), other.bse, rtol=1e-8)
    assert model.facts_.deviance == pytest.approx(other.deviance, rel=1e-10)
    assert model.facts_.null_deviance == pytest.approx(other.null_deviance, rel=1e-8)
    assert model.dispersion_ == pytest.approx(other.scale, rel=1e-8)
    assert model.facts_.log_likelihood == pytest.approx(other.llf, rel=1e-8)
    np.testing.assert_allclose(model.predict(X), other.predict(sm.add_constant(X)), rtol=1e-8)


@pytest.mark.parametrize("power", [1.3, 1.7])
def test_tweedie_is_scikit_learns(power):
    other = TweedieRegressor(power=power, alpha=0.1, link="log", solver="newton-cholesky", tol=1e-12).fit(X, CLAIMS)
    model = GLM(Tweedie(power), l2=0.1 * ROWS, tol=1e-12).fit(X, CLAIMS)  # its penalty goes with the mean of the losses
    np.testing.assert_allclose(theta(model), np.append(other.intercept_, other.coef_), rtol=1e-7)
    assert model.score(X, CLAIMS) == pytest.approx(other.score(X, CLAIMS), rel=1e-7)


@pytest.mark.parametrize("link", ["log", "identity", "inverse", "canonical"])
@BOTH
def test_the_slope_vanishes_under_every_link(family, link):
    y, x = TARGETS[family], np.tanh(X)
    model = GLM(family, link).fit(x, y)
    assert model.solution_.converged
    best = model.facts_.log_likelihood
    for place in range(4):
        for step in (-1e-3, 1e-3):
            other = model.solution_.theta.copy()
            other[place] += step * max(abs(float(other[place, 0])), 0.1)
            mean = Response.of(family, link).mean(np.c_[np.ones(ROWS), x] @ other)
            assert family.log_likelihood(y, mean, model.dispersion_).sum() < best


@BOTH
def test_a_start_at_the_end_of_the_range_is_left(family):
    x, y = np.abs(X) + 0.1, TARGETS[family]
    model = GLM(family, "identity", fit_intercept=False).fit(x, y)  # theta = 0 would be a mean of 0
    assert model.solution_.converged
    mean = model.predict(x)
    assert (mean > 0).all()
    scores = x * ((y - mean) / family.variance_function(mean))[:, None]
    np.testing.assert_allclose(scores.sum(axis=0), 0, atol=1e-5 * np.abs(scores).sum())


@BOTH
def test_rows_may_come_in_any_form(family):
    y = TARGETS[family]
    whole = GLM(family, tol=1e-10).fit(X, y)

    def stream():
        for start in range(0, ROWS, 150):
            yield X[start : start + 150], y[start : start + 150]

    for other in (GLM(family, tol=1e-10).fit(stream), GLM(family, tol=1e-10).fit(sp.csr_array(X), y)):
        np.testing.assert_allclose(theta(other), theta(whole), rtol=1e-8)
        assert other.facts_.log_likelihood == pytest.approx(whole.facts_.log_likelihood, rel=1e-10)
        np.testing.assert_allclose(errors(other), errors(whole), rtol=1e-7)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    batches = GLM(family)
    for rows, targets in stream():
        batches.partial_fit(rows, targets)
    np.testing.assert_allclose(theta(batches), theta(whole), atol=0.05)


def test_large_theta_is_poisson():
    model, other = GLM(NegativeBinomial(1e10)).fit(X, COUNTS), PoissonRegressor().fit(X, COUNTS)
    np.testing.assert_allclose(theta(model), theta(other), rtol=1e-6)
    assert model.facts_.log_likelihood == pytest.approx(other.facts_.log_likelihood, rel=1e-6)


def test_power_near_two_is_gamma():
    y = np.random.default_rng(0).gamma(3.0, MEAN / 3)
    model = GLM(Tweedie(1.99999)).fit(X, y)
    other = GammaRegressor(dispersion=model.dispersion_).fit(X, y)
    np.testing.assert_allclose(theta(model), theta(other), rtol=1e-4)
    assert model.facts_.log_likelihood == pytest.approx(other.facts_.log_likelihood, rel=1e-4)


@BOTH
@pytest.mark.parametrize("units", [1e-9, 1e6])
def test_units_do_not_matter(family, units):
    if isinstance(family, NegativeBinomial):
        x = X * units
        assert np.allclose(GLM(family).fit(x, COUNTS).coef_ * units, GLM(family).fit(X, COUNTS).coef_, rtol=1e-7)
    else:
        small, plain = (GLM(family, "identity").fit(np.tanh(X), CLAIMS * by) for by in (units, 1.0))
        np.testing.assert_allclose(theta(small) / units, theta(plain), rtol=1e-7)
        assert small.dispersion_ / units**0.5 == pytest.approx(plain.dispersion_, rel=1e-7)


def test_zeros_that_a_column_tells_apart_are_said_to_be_separated():
    group = (X[:, :1] > 1).astype(float)
    y = np.where(group[:, 0] > 0, 0.0, COUNTS)
    with pytest.warns(SeparationWarning, match="with y = 0"):
        model = GLM(NegativeBinomial(2)).fit(group, y)
    assert not model.solution_.converged
    assert model.separation_.of == "counts"


def test_robust_errors_are_the_sandwich_of_scores_and_expected_information():
    model = GLM(NegativeBinomial(2), covariance="HC0", tol=1e-12).fit(X, COUNTS)
    design, mean = np.c_[np.ones(ROWS), X], model.predict(X)
    bread = np.linalg.inv(design.T @ (design * (mean / (1 + mean / 2))[:, None]))
    scores = design * ((COUNTS - mean) / (1 + mean / 2))[:, None]
    expected = np.sqrt(np.diagonal(bread @ scores.T @ scores @ bread))
    np.testing.assert_allclose(errors(model), expected, rtol=1e-7)


def test_the_summary_names_the_family_with_its_parameters():
    assert "GLM (NegativeBinomial(theta=2.0)/log)" in str(GLM(NegativeBinomial(2)).fit(X, COUNTS).summary())
    assert "GLM (Tweedie(power=1.5)/log)" in str(GLM(Tweedie(1.5)).fit(X, CLAIMS).summary())


@pytest.mark.parametrize("power", [1.2, 1.8])
def test_lasso_and_other_solvers_reach_the_same_place(power):
    family = Tweedie(power)
    plain = GLM(family, l2=1.0, tol=1e-10).fit(X, CLAIMS)
    other = GLM(family, l2=1.0, solver="batch", tol=1e-9, max_iter=5000).fit(X, CLAIMS)
    np.testing.assert_allclose(theta(other), theta(plain), rtol=1e-5)
    sparse = GLM(family, l1=150.0).fit(X, CLAIMS)
    assert (sparse.coef_ == 0).any()
    slope = X.T @ ((CLAIMS - sparse.predict(X)) * sparse.predict(X) ** (1 - power))
    assert (np.abs(slope[sparse.coef_ == 0]) <= 150.0 * (1 + 1e-6)).all()
    np.testing.assert_allclose(np.abs(slope[sparse.coef_ != 0]), 150.0, rtol=1e-4)


@pytest.mark.parametrize("family", ["poisson", "bernoulli", NegativeBinomial(2)], ids=str)
def test_the_null_model_of_targets_that_are_all_zero_is_certain_of_them(family) -> None:
    facts = GLM(family, l2=1.0).fit(X, np.zeros(ROWS)).facts_
    assert facts.null_deviance == pytest.approx(0.0, abs=1e-9)
    assert facts.null_log_likelihood == pytest.approx(0.0, abs=1e-9)
