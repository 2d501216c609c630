"""Log-gamma and its derivatives in any array library, without their leading terms, which overflow."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

#: Bernoulli numbers B_2, B_4, ..., B_16, the coefficients of Stirling's series.
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510)
_OF_DIGAMMA = tuple(number / (2 * k) for k, number in enumerate(_BERNOULLI, start=1))
_OF_LOG_GAMMA = tuple(number / (2 * k - 1) for k, number in enumerate(_OF_DIGAMMA, start=1))
#: From here on the eight terms of the series have full precision; smaller arguments are shifted by this.
_FAR = 10


class Remainders(NamedTuple):
    """Log-gamma and its derivatives minus the leading terms of Stirling's series, at x > 0."""

    log_gamma: Any  # log Gamma(x) - x log x + x
    digamma: Any  # x (digamma(x) - log x): -1 at 0, -1/2 at infinity
    trigamma: Any  # x (x trigamma(x) - 1): 1 at 0, 1/2 at infinity


def gamma_remainders(xp: Any, x: Any, log_x: Any) -> Remainders:
    """Return the remainders at x >= 0, in float64 of any array library.

    ``log_x`` is needed where x underflows to 0. Sums and differences of log-gammas, digammas and trigammas at large x
    are those of the remainders if their leading terms cancel analytically.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy.special import digamma
    >>> x = np.array([0.5, 30.0])
    >>> found = gamma_remainders(np, x, np.log(x))
    >>> np.allclose(found.digamma, x * (digamma(x) - np.log(x)), rtol=1e-13)
    True
    """
    is_near = x < _FAR
    near = xp.clip(x, max=float(_FAR))
    far = xp.where(is_near, near + _FAR, x)
    over = 1 / far
    trigamma_far = over * _series(over * over, _BERNOULLI) + 0.5
    digamma_far = -over * _series(over * over, _OF_DIGAMMA) - 0.5
    stirling = over * _series(over * over, _OF_LOG_GAMMA) + math.log(2 * math.pi) / 2

    # Near 0, from Gamma(x) = Gamma(x + 10) / (x (x + 1) ... (x + 9)); the term of the pole is kept separate, exactly.
    steps = [near + step for step in range(1, _FAR)]
    log_far = xp.log(far)
    log_gamma_near = (far - 0.5) * log_far - far + stirling - xp.log(math.prod(steps)) - log_x - near * (log_x - 1)
    digamma_near = near * (log_far + digamma_far * over - sum(1 / step for step in steps) - log_x) - 1
    trigamma_near = (
        near * (near * (over * (1 + trigamma_far * over) + sum(1 / (step * step) for step in steps)) - 1) + 1
    )
    return Remainders(
        xp.where(is_near, log_gamma_near, stirling - log_x / 2),
        xp.where(is_near, digamma_near, digamma_far),
        xp.where(is_near, trigamma_near, trigamma_far),
    )


def _series(x: Any, coefficients: tuple[float, ...]) -> Any:
    """Return the sum of coefficients[k] x^k."""
    total = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        total = (total + coefficient) * x
    return total + coefficients[0]


def log_gamma(xp: Any, x: Any) -> Any:
    """Return log Gamma(x) at x > 0, float64 of any array library.

    Examples
    --------
    >>> import numpy as np
    >>> np.exp(log_gamma(np, np.array([1.0, 5.0]))).round(12)
    array([ 1., 24.])
    """
    if isinstance(x, np.ndarray):
        import scipy  # slow to import, and few rows need it

        return scipy.special.gammaln(x)
    log_x = xp.log(x)
    return gamma_remainders(xp, x, log_x).log_gamma + x * (log_x - 1)
