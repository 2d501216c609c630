import array_api_strict
import numpy as np
import pytest
from scipy import special

from suffice.families.gamma_functions import gamma_remainders, log_gamma

X = np.concatenate([np.logspace(-12, 3, 301), [1.0, 2.0, 9.999999, 10.0, 10.000001]])


def test_remainders_against_scipy():
    found = gamma_remainders(np, X, np.log(X))
    scale = 1e-14 * (1 + X * np.abs(np.log(X)))  # the leading terms, of which scipy's value loses digits
    for ours, theirs, lost in (
        (found.log_gamma, special.gammaln(X) - X * np.log(X) + X, scale),
        (found.digamma, X * (special.digamma(X) - np.log(X)), scale),
        (found.trigamma, X * (X * special.polygamma(1, X) - 1), scale * (1 + X)),
    ):
        assert (np.abs(ours - theirs) <= 4e-14 * np.abs(theirs) + lost).all()


def test_all_digits_against_many_digits():
    import mpmath

    for x in (1e-300, 1e-8, 0.3, 1.4616, 9.99, 10.0, 10.5, 11.0, 77.0, 1e8, 1e100):
        found = gamma_remainders(np, np.array([x]), np.log([x]))
        with mpmath.workdps(250):
            at, log = mpmath.mpf(x), mpmath.log(mpmath.mpf(x))
            digamma, trigamma = mpmath.digamma(at), mpmath.psi(1, at)
            truth = mpmath.loggamma(at) - at * log + at, at * (digamma - log), at * (at * trigamma - 1)
            np.testing.assert_allclose(
                np.ravel(found), [float(each) for each in truth], rtol=3e-14 if x < 10 else 3e-15
            )


@pytest.mark.parametrize("x", [0.0, 1e-320, 1e300])
def test_nothing_overflows(x):
    log_x = np.array([-1e100 if x == 0 else np.log(x)])
    found = gamma_remainders(np, np.array([x]), log_x)
    assert np.isfinite(found).all()
    np.testing.assert_allclose(np.ravel(found[1:]), [-1.0, 1.0] if x < 1 else [-0.5, 0.5])


def test_log_gamma_in_other_libraries():
    ours = log_gamma(array_api_strict, array_api_strict.asarray(X))
    np.testing.assert_allclose(np.asarray(ours), special.gammaln(X), rtol=1e-13, atol=1e-14)


@pytest.mark.needs("torch")
def test_log_gamma_in_torch():
    import array_api_compat.torch as xp
    import torch

    np.testing.assert_allclose(log_gamma(xp, torch.asarray(X)).numpy(), special.gammaln(X), rtol=1e-13, atol=1e-14)
