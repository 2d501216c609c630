"""Regressions of shares: beta and Dirichlet."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import special

from suffice.families import Beta, Dirichlet, Response
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.statistics import Curvature, DiagonalMoments, Labels

from .test_response import LIBRARIES, curve, namespace, skip_probit, slope_of

BETAS = [Response.of("beta", link) for link in Beta.row_likelihood.link_names]
EVERY_BETA = pytest.mark.parametrize("response", BETAS, ids=lambda response: response.name)
DIRICHLET = Response.of("dirichlet")
PRECISIONS = [-3.0, 0.0, 1.5, 6.0]


def legal(response):
    """Predictors of the mean that the link allows, away from its ends."""
    return np.array([-2.0, -0.7, -0.2]) if response.link.name == "log" else np.array([-2.0, -0.3, 0.1, 0.8])


def beta_grid(response):
    """Every predictor with every precision and target."""
    one, two, y = np.meshgrid(legal(response), PRECISIONS, [1e-6, 0.2, 0.5, 0.97])
    return np.stack([one.ravel(), two.ravel()], axis=1), y.ravel()


def beta_member(response, z):
    mean, precision = response.link.mean(z[:, 0]), np.exp(z[:, 1])
    return Beta(mean * precision, (1 - mean) * precision)


def compositions(n=24, parts=3):
    rng = np.random.default_rng(5)
    return rng.normal(size=(n, parts)) * 2, rng.dirichlet(np.full(parts, 0.7), n)


@EVERY_BETA
@pytest.mark.parametrize("library", LIBRARIES)
def test_beta_value_and_slope(response, library):
    skip_probit(response, library)
    z, y = beta_grid(response)
    found = curve(response, z, y, library)
    assert [part.shape for part in found] == [(len(y),), (len(y), 2), (len(y), 2, 2)]
    np.testing.assert_allclose(found.value, beta_member(response, z).log_prob(y), rtol=1e-11, atol=1e-11)
    numeric = slope_of(lambda at: curve(response, at, y, library).value, z)
    np.testing.assert_allclose(found.slope, numeric, rtol=1e-7, atol=1e-7)
    assert not np.asarray(response.log_base(namespace(library).asarray(y))).any()
    np.testing.assert_allclose(
        np.asarray(response.mean(namespace(library).asarray(z))), response.link.mean(z[:, 0]), rtol=1e-14
    )


@EVERY_BETA
def test_beta_information_is_the_expected_curvature(response):
    # On the log-odds of y the density is smooth and falls off exponentially: the trapezoid rule gives all digits.
    odds = np.linspace(-200, 36, 12_001)
    y, step = special.expit(odds), odds[1] - odds[0]
    for z in np.stack(np.meshgrid([-1.2, -0.3], [1.1, 3.0]), axis=-1).reshape(-1, 2):
        rows = np.tile(z, (len(y), 1))
        found = response.curve(rows, y)
        chance = np.exp(found.value + special.log_expit(odds) + special.log_expit(-odds)) * step
        assert chance.sum() == pytest.approx(1, rel=1e-9)
        np.testing.assert_allclose(chance @ found.slope, [0, 0], atol=1e-8)
        outer = found.slope[:, :, None] * found.slope[:, None, :]
        np.testing.assert_allclose(np.tensordot(chance, outer, 1), found.curvature[0], rtol=1e-7)
        second = -slope_of(lambda at: response.curve(at, y).slope, rows)
        np.testing.assert_allclose(np.tensordot(chance, second, 1), found.curvature[0], rtol=1e-6)


@pytest.mark.parametrize("library", LIBRARIES)
def test_beta_precise_and_vague(library):
    response = Response.of("beta")
    import mpmath

    z = np.array([[0.3, np.log(1e8)], [-4.0, np.log(1e8)], [0.3, np.log(1e-8)], [-9.0, np.log(1e-8)], [30.0, 0.0]])
    y = np.array([0.574449, 0.017987, 0.4, 1e-9, 0.5])
    found = curve(response, z, y, library)
    for row in range(len(y)):
        with mpmath.workdps(60):
            one, two, at = (mpmath.mpf(float(each)) for each in (*z[row], y[row]))
            mean, precision = 1 / (1 + mpmath.exp(-one)), mpmath.exp(two)
            a, b = mean * precision, (1 - mean) * precision
            value = (a - 1) * mpmath.log(at) + (b - 1) * mpmath.log(1 - at) - mpmath.log(mpmath.beta(a, b))
            pull = mpmath.digamma(precision) - mpmath.digamma(a) + mpmath.log(at)
            push = mpmath.digamma(precision) - mpmath.digamma(b) + mpmath.log(1 - at)
            slope = a * (1 - mean) * (pull - push), a * pull + b * push
            first, second, whole = (mpmath.psi(1, each) for each in (a, b, precision))
            cross = a * (1 - mean) * (a * first - b * second)
            curvature = (
                (a * (1 - mean)) ** 2 * (first + second),
                cross,
                cross,
                a * a * first + b * b * second - precision**2 * whole,
            )
        noise = 1e-15 * max(1.0, float(precision))  # what the rounding of y and the mean themselves leaves
        np.testing.assert_allclose(found.value[row], float(value), rtol=1e-12, atol=noise)
        np.testing.assert_allclose(found.slope[row], [float(each) for each in slope], rtol=1e-9, atol=noise)
        np.testing.assert_allclose(found.curvature[row].ravel(), [float(each) for each in curvature], rtol=1e-12)


@EVERY_BETA
@pytest.mark.parametrize("library", LIBRARIES)
def test_no_beta_predictor_gives_nan(response, library):
    skip_probit(response, library)
    far = np.array([0.0, 1e-300, 1e-12, 1.0, 37.0, 300.0, 709.0, 1e5, 1e300, np.inf])
    one, two, y = np.meshgrid([*far, *-far], [*far, *-far], [5e-324, 1e-9, 0.5, 1 - 1e-16])
    found = curve(response, np.stack([one.ravel(), two.ravel()], axis=1), y.ravel(), library)
    assert not any(np.isnan(part).any() for part in found)
    assert (found.value < np.inf).all()
    assert (found.curvature[:, [0, 1], [0, 1]] >= 0).all()
    assert np.isfinite(found.curvature).all()
    np.testing.assert_array_equal(found.curvature, np.swapaxes(found.curvature, 1, 2))


def test_a_beta_mean_of_one_has_no_likelihood():
    found = Response.of("beta", "log").curve(np.array([[0.0, 1.0], [0.5, 1.0]]), np.array([0.5, 0.5]))
    assert found.value.tolist() == [-np.inf, -np.inf]
    assert not found.slope.any()
    assert not found.curvature.any()


@pytest.mark.parametrize("library", LIBRARIES)
def test_dirichlet_value_slope_and_information(library):
    z, y = compositions()
    found = curve(DIRICHLET, z, y, library)
    assert [part.shape for part in found] == [(24,), (24, 3), (24, 3, 3)]
    np.testing.assert_allclose(found.value, Dirichlet(np.exp(z)).log_prob(y), rtol=1e-11, atol=1e-11)
    numeric = slope_of(lambda at: curve(DIRICHLET, at, y, library).value, z)
    np.testing.assert_allclose(found.slope, numeric, rtol=1e-7, atol=1e-7)
    expected = np.exp(Dirichlet.mean(np.exp(z) - 1))  # the slope is linear in log y: its mean is the one at E log y
    np.testing.assert_allclose(curve(DIRICHLET, z, expected, library).slope, 0, atol=1e-10)
    numeric = -slope_of(lambda at: curve(DIRICHLET, at, expected, library).slope, z)
    np.testing.assert_allclose(found.curvature, numeric, rtol=1e-6, atol=1e-7)
    a = np.exp(z)
    natural = Dirichlet.variance(a - 1) * a[:, :, None] * a[:, None, :]
    np.testing.assert_allclose(found.curvature, natural, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        np.asarray(DIRICHLET.mean(namespace(library).asarray(z))), a / a.sum(axis=1, keepdims=True), rtol=1e-13
    )


def test_two_parts_are_a_beta():
    z, y = beta_grid(Response.of("beta"))
    beta = Response.of("beta").curve(z, y)
    mean = special.expit(z[:, 0])
    logs = np.stack([special.log_expit(z[:, 0]), special.log_expit(-z[:, 0])], axis=1) + z[:, 1:]
    both = DIRICHLET.curve(logs, np.stack([y, 1 - y], axis=1))
    turn = np.stack([np.stack([1 - mean, -mean], axis=1), np.ones((len(y), 2))], axis=1)  # of log a, log b by z
    np.testing.assert_allclose(both.value, beta.value, rtol=1e-11, atol=1e-11)
    np.testing.assert_allclose((turn @ both.slope[:, :, None])[:, :, 0], beta.slope, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(turn @ both.curvature @ np.swapaxes(turn, 1, 2), beta.curvature, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("library", LIBRARIES)
def test_dirichlet_far_out(library):
    far = np.array([-np.inf, -1e300, -700.0, -40.0, 0.0, 18.4, 300.0, 709.0, 1e300, np.inf])
    z = np.stack(np.meshgrid(far, far, [-50.0, 0.0, 18.4]), axis=-1).reshape(-1, 3)
    found = curve(DIRICHLET, z, np.tile([0.2, 5e-324, 0.8], (len(z), 1)), library)
    assert not any(np.isnan(part).any() for part in found)
    assert (found.value < np.inf).all()
    assert np.isfinite(found.curvature).all()
    assert (np.diagonal(found.curvature, axis1=1, axis2=2) >= 0).all()


def test_dirichlet_information_stays_a_covariance_at_large_concentrations():
    a = np.array([[1e8, 3e8, 6e8]])
    share = a / a.sum()
    found = DIRICHLET.curve(np.log(a), share).curvature[0]
    np.testing.assert_allclose(found, 1e9 * (np.diag(share[0]) - share.T @ share) + np.diag([0.5] * 3), rtol=1e-7)
    # In the direction of all parts only the precision is told: (k - 1) / 2, out of entries of 1e8.
    assert found.sum() == pytest.approx(1.0, abs=1e-5)


def test_dirichlet_information_is_never_negative():
    z = np.stack(np.meshgrid(np.linspace(-60, 30, 200), np.linspace(-60, 30, 200)), axis=-1).reshape(-1, 2)
    found = DIRICHLET.curve(z, np.full(z.shape, 0.5)).curvature
    assert (np.diagonal(found, axis1=1, axis2=2) >= 0).all()


def fitted(engine, batch, response, theta, steps=60):
    """Fisher scoring with halved steps, through the engine's kernels."""
    what = Curvature.over(response, theta)
    here = engine.accumulate(what, [batch])
    for _ in range(steps):
        step = np.linalg.solve(here.hessian, here.gradient.T.ravel()).reshape(theta.shape[1], -1).T
        for halving in range(30):
            there = engine.accumulate(Curvature.over(response, here.theta + step / 2**halving), [batch])
            if there.value >= here.value - 1e-9:
                break
        here = there
        if np.abs(step).max() < 1e-9:
            break
    return here


@pytest.mark.parametrize("precision", [0.3, 20.0, 1e5])
def test_a_beta_regression_without_features_is_the_family_s_own_estimate(precision):
    y = Beta(0.3 * precision, 0.7 * precision).sample(300, random_state=0)
    response = Response.of("beta")
    columns = Beta.sufficient_columns(y[:, None])
    moments = DiagonalMoments(Labels((0,)), np.array([300.0]), columns.mean(axis=0)[None, :], np.zeros((1, 2)))
    member = Beta.estimate(moments)
    start = response.start(y.mean(), y.var())[None, :]
    found = fitted(ThreadEngine(), Batch(np.empty((300, 0)), y), response, start)
    total = (member.a + member.b).item()
    np.testing.assert_allclose(
        found.theta.ravel(), [special.logit(member.a.item() / total), np.log(total)], rtol=1e-5, atol=1e-6
    )


def test_a_dirichlet_regression_without_features_is_the_family_s_own_estimate():
    y = Dirichlet([0.4, 3.0, 8.0, 1.0]).sample(400, random_state=1)
    moments = DiagonalMoments(Labels((0,)), np.array([400.0]), np.log(y).mean(axis=0)[None, :], np.zeros((1, 4)))
    start = DIRICHLET.start(y.mean(axis=0), y.var(axis=0))[None, :]
    found = fitted(ThreadEngine(), Batch(np.empty((400, 0)), y), DIRICHLET, start)
    np.testing.assert_allclose(np.exp(found.theta), Dirichlet.estimate(moments).concentration, rtol=1e-7)


@pytest.mark.parametrize("link", ["logit", "probit", "cloglog"])
def test_beta_regression_against_statsmodels(link):
    from statsmodels.genmod.families import links
    from statsmodels.othermod import betareg

    rng = np.random.default_rng(2)
    x = rng.normal(size=(250, 2))
    mean = special.expit(0.4 + x @ [0.8, -0.5])
    precision = np.exp(2.0 + x @ [0.3, 0.0])
    y = np.clip(rng.beta(mean * precision, (1 - mean) * precision), 1e-9, 1 - 1e-9)
    design = np.column_stack([np.ones(250), x])
    chosen = {"logit": links.Logit, "probit": links.Probit, "cloglog": links.CLogLog}[link]()
    theirs = betareg.BetaModel(y, design, exog_precision=design, link=chosen).fit(disp=0, gtol=1e-8, maxiter=500)
    response = Response.of("beta", link)
    start = np.zeros((3, 2))
    start[0] = response.start(y.mean(), y.var())
    found = fitted(ThreadEngine(), Batch(x, y), response, start)
    np.testing.assert_allclose(found.theta.T.ravel(), theirs.params, rtol=1e-4, atol=1e-5)
    assert found.value == pytest.approx(theirs.llf, rel=1e-9)
    assert found.value >= theirs.llf - 1e-9


@pytest.mark.parametrize("library", LIBRARIES)
def test_engines_sum_vector_targets(library):
    xp = namespace(library)
    rng = np.random.default_rng(3)
    x, theta, weight = rng.normal(size=(50, 2)), rng.normal(size=(3, 3)), rng.random(50)
    y = rng.dirichlet([1.0, 2.0, 3.0], 50)
    offset = rng.normal(size=(50, 3))
    design = np.column_stack([np.ones(50), x])
    rows = DIRICHLET.curve(design @ theta + offset, y)
    arrays = (xp.asarray(each) for each in (x, y, weight, offset))
    found = ArrayEngine().accumulate(Curvature.over(DIRICHLET, theta), [Batch(*arrays)])
    np.testing.assert_allclose(found.value, weight @ rows.value, rtol=1e-12)
    np.testing.assert_allclose(found.gradient, design.T @ (weight[:, None] * rows.slope), rtol=1e-10, atol=1e-12)
    hessian = np.einsum("n,na,nij,nb->iajb", weight, design, rows.curvature, design).reshape(9, 9)
    np.testing.assert_allclose(found.hessian, hessian, rtol=1e-10, atol=1e-10)
    for dense_or_sparse in (x, sp.csr_array(x)):
        batch = Batch(dense_or_sparse, y, weight, offset)
        again = ThreadEngine(threads=2).accumulate(Curvature.over(DIRICHLET, theta), [batch])
        np.testing.assert_allclose(again.hessian, found.hessian, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize(
    ("name", "y", "theta", "message"),
    [
        ("dirichlet", np.full((4, 3), 1 / 3), (2, 2), r"y must have shape \(4, 2\); got \(4, 3\)"),
        ("dirichlet", np.full(4, 0.5), (2, 2), r"y must have shape \(4, 2\); got \(4,\)"),
        ("dirichlet", None, (2, 2), "y is needed: it holds the target of each row"),
        ("beta", np.full((4, 2), 0.5), (2, 2), r"y must have shape \(4,\); got \(4, 2\)"),
        ("beta", np.full(4, 0.5), (2, 1), r"theta must have shape \(2, 2\); got \(2, 1\)"),
        ("bernoulli", np.full(4, 0.5), (2, 2), r"theta must have shape \(2, 1\); got \(2, 2\)"),
    ],
)
@pytest.mark.parametrize("engine", [ThreadEngine(threads=1), ArrayEngine()], ids=["native", "arrays"])
def test_engines_refuse_targets_that_do_not_fit(engine, name, y, theta, message):
    with pytest.raises(ValueError, match=message):
        engine.accumulate(Curvature.over(Response.of(name), np.zeros(theta)), [Batch(np.zeros((4, 1)), y)])


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize(
    ("name", "y", "message"),
    [
        (
            "beta",
            [0.5, 1.0],
            r"y\[1\] is 1.0: a beta target must be above 0 and below 1; .* 0.5\) / n",
        ),
        ("beta", [0.5, np.nan], r"y\[1\] is nan: a beta target"),
        (
            "dirichlet",
            [[0.5, 0.5], [1.0, 0.0]],
            r"y\[1, 1\] is 0.0: a part of a dirichlet .* above 0; drop the part, or",
        ),
        ("dirichlet", [[0.5, 0.5], [np.nan, 1.0]], r"y\[1, 0\] is nan"),
        ("dirichlet", [[0.5, 0.5], [0.25, 0.25]], r"the sum of y\[1\] is 0.5: .* sum to 1; divide each row by its sum"),
        (
            "dirichlet",
            [0.5, 0.5],
            r"y must be the parts of each row, \(n, k\), with 2 parts or more; its shape is \(2,\)",
        ),
        ("dirichlet", [[1.0], [1.0]], r"its shape is \(2, 1\)"),
    ],
)
def test_targets(library, name, y, message):
    response, targets = Response.of(name), namespace(library).asarray(np.array(y))
    with pytest.raises(ValueError, match=message):
        response.check_targets(targets)


def test_legal_targets():
    Response.of("beta").check_targets([5e-324, 0.5, 1 - 1e-16])
    shares = np.random.default_rng(0).dirichlet(np.ones(5), 100)
    DIRICHLET.check_targets(shares.astype(np.float32), classes=5)
    with pytest.raises(ValueError, match=r"y must be the parts of each row, \(n, 4\); its shape is \(100, 5\)"):
        DIRICHLET.check_targets(shares, classes=4)


def test_bad_predictors():
    with pytest.raises(ValueError, match="beta/logit has 2 predictors per row; got 1"):
        Response.of("beta").curve(np.zeros((2, 1)), np.full(2, 0.5))
    with pytest.raises(ValueError, match=r"y must have a part per predictor, \(2, 3\); its shape is \(2, 2\)"):
        DIRICHLET.curve(np.zeros((2, 3)), np.full((2, 2), 0.5))
