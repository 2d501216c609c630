"""A family of one's own, in this one file: regressions, naive Bayes, streams, clusters, and files."""

import pickle
import sys
from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp
import statsmodels.api as sm
from scipy import stats
from sklearn.base import clone

import suffice
from suffice import GLM, FamilyNB, PoissonNB
from suffice.families import Bernoulli, Exponential, Family, NegativeBinomial, Response, Tweedie
from suffice.store import StoreError


class Geometric(Family):
    """Failures before the first success, of probability p: eta = log(1 - p), a(eta) = -log p."""

    name = "geometric"
    support = "a whole number, 0 or more"
    mean_range = (0.0, np.inf)
    is_discrete = True

    def log_partition(self, eta):
        return -np.log(-np.expm1(eta))

    def mean(self, eta):
        return 1 / np.expm1(-eta)

    def variance(self, eta):
        return self.mean(eta) * (1 + self.mean(eta))

    def natural_parameter(self, mean):
        return -np.log1p(1 / mean)

    def draw(self, eta, random):
        return random.geometric(-np.expm1(eta)) - 1


@dataclass(frozen=True)
class Binomial(Family):
    """Successes of a known number of trials: a family with a parameter, whose mean has an upper end."""

    trials: int

    name = "binomial_counts"
    support = "a whole number, 0 to the trials"
    is_discrete = True

    @property
    def mean_range(self):
        return 0.0, float(self.trials)

    def log_base(self, y):
        from scipy.special import gammaln

        return gammaln(self.trials + 1) - gammaln(y + 1) - gammaln(self.trials - y + 1)

    def log_partition(self, eta):
        return self.trials * np.logaddexp(0, eta)

    def mean(self, eta):
        return self.trials / (1 + np.exp(-eta))

    def variance(self, eta):
        return self.mean(eta) * (1 - self.mean(eta) / self.trials)

    def natural_parameter(self, mean):
        return np.log(mean) - np.log(self.trials - mean)


RANDOM = np.random.default_rng(3)
X = RANDOM.normal(size=(300, 2))
Y = (RANDOM.geometric(1 / (1 + np.exp(0.4 + X @ [0.5, -0.3]))) - 1).astype(float)


def theta(model):
    return np.append(model.intercept_, model.coef_)


@pytest.mark.parametrize("given", [Geometric, Geometric()], ids=["class", "instance"])
def test_a_regression_is_statsmodels(given):
    model = GLM(given, tol=1e-12).fit(X, Y)
    other = sm.GLM(Y, sm.add_constant(X), sm.families.NegativeBinomial(alpha=1.0)).fit(tol=1e-14)
    np.testing.assert_allclose(theta(model), other.params, rtol=1e-8)
    np.testing.assert_allclose(model.summary().inference.standard_errors, other.bse, rtol=1e-8)
    assert model.facts_.log_likelihood == pytest.approx(other.llf, rel=1e-10)
    assert model.facts_.deviance == pytest.approx(other.deviance, rel=1e-10)
    assert "GLM (Geometric()/log)" in str(model.summary())
    assert model.score(X, Y) == pytest.approx(1 - other.deviance / other.null_deviance, rel=1e-8)


@pytest.mark.parametrize("link", ["log", "identity", "inverse", "canonical"])
def test_every_link_that_fits_the_range_of_the_mean(link):
    x = np.tanh(X)
    model, other = GLM(Geometric, link, tol=1e-10).fit(x, Y), GLM(NegativeBinomial(1), link, tol=1e-10).fit(x, Y)
    np.testing.assert_allclose(theta(model), theta(other), rtol=1e-7)
    np.testing.assert_allclose(model.predict(x), other.predict(x), rtol=1e-7)


def test_a_link_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="there is no response geometric/logit; there are: geometric/log, "):
        GLM(Geometric, "logit").fit(X, Y)
    with pytest.raises(ValueError, match=r"y\[3\] is 0.5: a geometric target must be a whole number, 0 or more"):
        GLM(Geometric).fit(X, np.where(np.arange(300) == 3, 0.5, Y))


def test_a_range_with_two_ends():
    trials = 7
    y = RANDOM.binomial(trials, 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    model = GLM(Binomial(trials), "canonical", tol=1e-12).fit(X, y)
    other = GLM("binomial", tol=1e-12).fit(X, y, trials=np.full(300, float(trials)))
    np.testing.assert_allclose(theta(model), theta(other), rtol=1e-8)
    assert model.facts_.deviance == pytest.approx(other.facts_.deviance, rel=1e-8)
    assert model.facts_.log_likelihood == pytest.approx(other.facts_.log_likelihood, rel=1e-8)
    assert Response.of(Binomial(trials)).likelihood.link_names == ("identity", "canonical")


def test_streams_and_sparse_rows_and_pickles():
    whole = GLM(Geometric, tol=1e-10).fit(X, Y)

    def batches():
        for start in range(0, 300, 100):
            yield X[start : start + 100], Y[start : start + 100]

    for other in (GLM(Geometric, tol=1e-10).fit(batches), GLM(Geometric, tol=1e-10).fit(sp.csr_array(X), Y)):
        np.testing.assert_allclose(theta(other), theta(whole), rtol=1e-8)
    again = pickle.loads(pickle.dumps(whole))
    np.testing.assert_array_equal(again.predict(X), whole.predict(X))
    assert clone(whole).family is Geometric
    assert Geometric() == Geometric() != NegativeBinomial(1)
    assert hash(Geometric()) == hash(Geometric())
    assert repr(Geometric()) == "Geometric()"


def test_rows_of_dask():
    arrays = pytest.importorskip("dask.array")
    x, y = arrays.from_array(X, chunks=(100, 2)), arrays.from_array(Y, chunks=100)
    np.testing.assert_allclose(theta(GLM(Geometric, tol=1e-10).fit(x, y)), theta(GLM(Geometric).fit(X, Y)), rtol=1e-7)
    rows = np.abs(np.round(3 * X))
    here, there = FamilyNB(Geometric).fit(rows, Y > 1), FamilyNB(Geometric).fit(abs(x * 3).round(), y > 1)
    np.testing.assert_allclose(there.mean_, here.mean_, rtol=1e-12)


# Naive Bayes.

COUNTS = RANDOM.geometric(np.where(RANDOM.random((200, 1)) < 0.5, [[0.2, 0.7]], [[0.6, 0.3]])) - 1
CLASSES = np.where(COUNTS[:, 0] + RANDOM.integers(-1, 2, 200) > COUNTS[:, 1], "left", "right")


def test_naive_bayes_is_the_density_of_each_class():
    model = FamilyNB(Geometric, alpha=0).fit(COUNTS, CLASSES)
    means = np.array([COUNTS[name == CLASSES].mean(axis=0) for name in ("left", "right")])
    np.testing.assert_allclose(model.mean_, means, rtol=1e-12)
    log_p = np.array([stats.geom(1 / (1 + mean)).logpmf(COUNTS + 1).sum(axis=1) for mean in means]).T
    prior = np.log([np.mean(name == CLASSES) for name in ("left", "right")])
    np.testing.assert_allclose(model.predict_joint_log_proba(COUNTS), log_p + prior, rtol=1e-10)
    np.testing.assert_allclose(model.log_evidence(COUNTS), np.logaddexp(*(log_p + prior).T), rtol=1e-10)
    assert model.score(COUNTS, CLASSES) > 0.7


def test_naive_bayes_learns_in_batches_merges_forgets_and_takes_missing_cells():
    whole = FamilyNB(Geometric).fit(COUNTS, CLASSES)
    first, rest = FamilyNB(Geometric), FamilyNB(Geometric).fit(COUNTS[120:], CLASSES[120:])
    for row in range(0, 120, 7):
        first.partial_fit(COUNTS[row : row + 7][: 120 - row], CLASSES[row : row + 7][: 120 - row])
    np.testing.assert_allclose((first + rest).mean_, whole.mean_, rtol=1e-12)
    left = pickle.loads(pickle.dumps(whole)).forget(COUNTS[120:], CLASSES[120:])
    np.testing.assert_allclose(left.mean_, first.mean_, rtol=1e-12)
    sparse = FamilyNB(Geometric).fit(sp.csr_array(COUNTS), CLASSES)
    np.testing.assert_allclose(sparse.mean_, whole.mean_, rtol=1e-12)
    np.testing.assert_allclose(sparse.log_evidence(sp.csr_array(COUNTS)), whole.log_evidence(COUNTS), rtol=1e-10)
    gaps = COUNTS.astype(float)
    gaps[0, 1] = np.nan
    one = whole.predict_log_proba(gaps[:1])
    shares = np.log([np.mean(name == CLASSES) for name in ("left", "right")])
    log_p = Geometric().log_likelihood(COUNTS[0, 0], whole.mean_[:, 0]) + shares
    np.testing.assert_allclose(one[0], log_p - np.logaddexp(*log_p), rtol=1e-10)
    assert FamilyNB(Geometric).fit(gaps, CLASSES).mean_.shape == (2, 2)
    assert whole.with_params(alpha=50.0).mean_.std() < whole.mean_.std()
    assert FamilyNB(Geometric, alpha="auto").fit(COUNTS, CLASSES).score(COUNTS, CLASSES) > 0.7


def test_naive_bayes_draws_rows():
    model = FamilyNB(Geometric).fit(COUNTS, CLASSES)
    rows, classes = model.sample(20_000, random_state=0)
    drawn = np.array([rows[classes == name].mean(axis=0) for name in model.classes_])
    np.testing.assert_allclose(drawn, model.mean_, rtol=0.05)
    np.testing.assert_array_equal(rows, np.floor(rows))


def test_naive_bayes_of_a_built_in_family_is_the_estimator_of_its_name():
    mine, other = FamilyNB("poisson", alpha=0).fit(COUNTS, CLASSES), PoissonNB(alpha=0).fit(COUNTS, CLASSES)
    np.testing.assert_allclose(mine.predict_joint_log_proba(COUNTS), other.predict_joint_log_proba(COUNTS), rtol=1e-10)
    np.testing.assert_allclose(mine.natural_parameter_, np.log(other.rate_), rtol=1e-12)
    times = RANDOM.exponential(size=(60, 2)) * [[1.0, 3.0]]
    kind = np.arange(60) % 2
    waits = FamilyNB(Exponential, alpha=0).fit(times, kind)
    log_p = [stats.expon(scale=times[kind == k].mean(axis=0)).logpdf(times).sum(axis=1) for k in (0, 1)]
    np.testing.assert_allclose(waits.predict_joint_log_proba(times), np.array(log_p).T + np.log(0.5), rtol=1e-10)
    words = RANDOM.random((60, 3)) < 0.4
    there = FamilyNB(Bernoulli, alpha=0).fit(words, kind)
    share = np.array([words[kind == k].mean(axis=0) for k in (0, 1)])
    log_p = np.where(words[:, None, :], np.log(share), np.log1p(-share)).sum(axis=2) + np.log(0.5)
    np.testing.assert_allclose(there.predict_joint_log_proba(words), log_p, rtol=1e-10)


def test_a_feature_that_a_class_never_has_is_impossible_in_it_without_smoothing():
    x, y = np.array([[0, 1], [0, 2], [3, 1], [1, 0]]), ["none", "none", "some", "some"]
    model = FamilyNB(Geometric, alpha=0).fit(x, y)
    assert model.natural_parameter_[0, 0] == -np.inf
    np.testing.assert_array_equal(model.predict_proba([[2, 0]]), [[0.0, 1.0]])
    assert FamilyNB(Geometric, alpha=1).fit(x, y).predict_proba([[2, 0]])[0, 0] > 0
    empty = FamilyNB(Geometric).fit(np.c_[x, np.zeros(4)], y)  # a column of zeros tells nothing
    np.testing.assert_allclose(empty.predict_proba([[2, 0, 5]]), FamilyNB(Geometric).fit(x, y).predict_proba([[2, 0]]))
    with pytest.raises(ValueError, match="the mean of feature 0 in class 'b' is 1, at an end of the range of"):
        FamilyNB(Bernoulli, alpha=0).fit([[0], [1], [1]], ["a", "a", "b"])


@pytest.mark.parametrize(
    ("family", "x", "message"),
    [
        (Geometric, [[1.0, 2.0], [0.5, 1.0]], r"x\[1, 0\] is 0.5: a geometric value must be a whole number, 0 or more"),
        (Geometric, sp.csr_array([[0.0, 2.0], [0.0, -1.0]]), r"x\[1, 1\] is -1: a geometric value must be a whole"),
        (Tweedie(1.5), [[1.0, 2.0], [0.5, 1.0]], "the family tweedie has a dispersion, which naive Bayes does not"),
        ("gaussian", [[1.0, 2.0], [0.5, 1.0]], r"T\(x\) of the family gaussian is not x: .*; use GaussianNB"),
        ("dirichlet", [[1.0, 2.0], [0.5, 1.0]], r"T\(x\) of the family dirichlet is not x"),
    ],
)
def test_naive_bayes_says_what_it_cannot_read(family, x, message):
    with pytest.raises(ValueError, match=message):
        FamilyNB(family).fit(x, [0, 1])


def test_naive_bayes_refuses_a_smoothing_that_is_no_number():
    with pytest.raises(ValueError, match="alpha must be a number, one number per feature, or 'auto'; got 'much'"):
        FamilyNB(Geometric, alpha="much").fit(COUNTS, CLASSES)


def test_models_of_different_families_are_not_merged():
    one, two = (FamilyNB(family).fit(COUNTS, CLASSES) for family in (Geometric, NegativeBinomial(1)))
    with pytest.raises(ValueError, match="have different sums: they cannot be merged"):
        one + two


# Files.

MODELS = {
    "GLM": lambda family: GLM(family).fit(X, Y),
    "FamilyNB": lambda family: FamilyNB(family).fit(COUNTS, CLASSES),
}


@pytest.mark.parametrize("kind", MODELS)
def test_a_file_names_the_class_and_load_asks_for_it(kind, tmp_path, monkeypatch):
    model, path = MODELS[kind](Geometric), tmp_path / "model"
    model.save(path)
    name = f"{__name__}:Geometric"
    assert name.encode() in path.read_bytes()
    monkeypatch.setitem(sys.modules, __name__, None)  # importing it would fail: nothing is imported
    with pytest.raises(
        StoreError, match=rf"model needs the family {name}, which is not part of suffice: import the cla"
    ) as e:
        suffice.load(path)
    assert "load(path, families=[Geometric])" in str(e.value)
    with pytest.raises(StoreError, match=rf"needs the family {name}, .* \(given: {__name__}:Binomial\)"):
        suffice.load(path, families=[Binomial])
    rows = X if kind == "GLM" else COUNTS
    for given in ([Geometric], {name: Geometric}):
        again = suffice.load(path, families=given)
        assert again.family is Geometric
        np.testing.assert_array_equal(again.predict(rows), model.predict(rows))
    again.partial_fit(rows, Y if kind == "GLM" else CLASSES[:200])


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("family", [NegativeBinomial(1.5), Geometric()], ids=repr)
def test_parameters_of_a_family_are_kept(kind, family, tmp_path):
    model, path = MODELS[kind](family), tmp_path / "model"
    model.save(path)
    again = suffice.load(path, families=[Geometric])
    assert again.family == family
    assert type(again.family) is type(family)
    if kind == "GLM":
        assert str(again.summary()) == str(model.summary())


def test_a_family_with_parameters_of_ones_own_comes_back(tmp_path):
    y = RANDOM.binomial(5, 0.3, 300).astype(float)
    model, path = GLM(Binomial(5), "canonical").fit(X, y), tmp_path / "model"
    model.save(path)
    again = suffice.load(path, families=[Binomial])
    assert again.family == Binomial(5)
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
