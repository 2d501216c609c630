"""The log-likelihood of one target as a function of its linear predictor z: one formula per family and link."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from suffice.families import links
from suffice.families.base import TINY
from suffice.families.links import LARGEST_EXPONENT, normal_functions

#: What is divided by is held above this, so that the reciprocal of its square is finite.
SMALLEST_DIVISOR = 1e-100


class Terms(NamedTuple):
    """A row's log-likelihood in the form y A(z) + r B(z), where r is 1 - y for the Bernoulli and 1 for the others.

    In y eta - a(eta), A is eta and B is -a; for the Bernoulli, A is log p and B is log q, which are stable where their
    difference eta is not.
    """

    a: Any
    b: Any
    a_slope: Any
    b_slope: Any


def _over(xp: Any, z: Any) -> Any:
    return 1 / xp.clip(z, min=SMALLEST_DIVISOR)


def _gaussian_identity(xp: Any, z: Any) -> Terms:
    return Terms(z, -z * z / 2, xp.ones_like(z), -z)


def _gaussian_log(xp: Any, z: Any) -> Terms:
    mean = xp.exp(xp.clip(z, max=LARGEST_EXPONENT / 2 - 1))  # its square must not overflow
    return Terms(mean, -mean * mean / 2, mean, -mean * mean)


def _bernoulli_logit(xp: Any, z: Any) -> Terms:
    rest = xp.log1p(xp.exp(-xp.abs(z)))  # exponent <= 0: cannot overflow
    p, q = links.logit.mean(z), links.logit.mean(-z)
    return Terms(xp.clip(z, max=0.0) - rest, xp.clip(-z, max=0.0) - rest, q, -p)


def _bernoulli_probit(xp: Any, z: Any) -> Terms:
    normal, root2 = normal_functions(z), math.sqrt(2)
    # density / distribution, by erfcx: both underflow together, their ratio does not
    a_slope, b_slope = (math.sqrt(2 / math.pi) / normal.erfcx(side / root2) for side in (-z, z))
    return Terms(normal.log_ndtr(z), normal.log_ndtr(-z), a_slope, -b_slope)


def _bernoulli_cloglog(xp: Any, z: Any) -> Terms:
    rate = xp.clip(links.log.mean(z), min=TINY)
    p = -xp.expm1(-rate)
    # log(1 - exp(-rate)) is log(rate) - rate / 2 for small rates, where rate itself underflows
    return Terms(xp.where(z < -30, z - rate / 2, xp.log(p)), -rate, rate * xp.exp(-rate) / p, -rate)


def _bernoulli_log(xp: Any, z: Any) -> Terms:
    q = -xp.expm1(z)
    return Terms(z, xp.log(q), xp.ones_like(z), -xp.exp(z) * _over(xp, q))


def _bernoulli_identity(xp: Any, z: Any) -> Terms:
    return Terms(xp.log(z), xp.log1p(-z), _over(xp, z), -_over(xp, 1 - z))


def _poisson_log(xp: Any, z: Any) -> Terms:
    mean = links.log.mean(z)
    return Terms(z, -mean, xp.ones_like(z), -mean)


def _poisson_identity(xp: Any, z: Any) -> Terms:
    return Terms(xp.log(z), -z, _over(xp, z), -xp.ones_like(z))


def _gamma_negative_inverse(xp: Any, z: Any) -> Terms:
    return Terms(z, xp.log(-z), xp.ones_like(z), -_over(xp, -z))


def _gamma_inverse(xp: Any, z: Any) -> Terms:
    return Terms(-z, xp.log(z), -xp.ones_like(z), _over(xp, z))


def _gamma_log(xp: Any, z: Any) -> Terms:
    rate = links.log.mean(-z)
    return Terms(-rate, -z, rate, -xp.ones_like(z))


def _gamma_identity(xp: Any, z: Any) -> Terms:
    rate = _over(xp, z)
    return Terms(-rate, -xp.log(z), rate * rate, -rate)


class Form(NamedTuple):
    """A pair of family and link: its terms, and the predictors between which the mean is one the family can have."""

    terms: Callable[[Any, Any], Terms]
    low: float = -math.inf
    high: float = math.inf
    closed: bool = True  # whether a mean at the end of its range is one the family can have

    def legal(self, xp: Any, z: Any) -> tuple[Any, Any]:
        """Return which predictors give a mean that can be, None for all, and z with a legal one in place of others."""
        if math.isinf(self.low) and math.isinf(self.high):
            return None, z
        legal = (z >= self.low) & (z <= self.high) if self.closed else (z > self.low) & (z < self.high)
        inner = 0.5 if self.low < 0.5 < self.high else -0.5
        return legal, xp.where(legal, z, xp.full_like(z, inner))


# Of each family, by the link's name; the usual link first.
GAUSSIAN = {"identity": Form(_gaussian_identity), "log": Form(_gaussian_log)}
BERNOULLI = {
    "logit": Form(_bernoulli_logit),
    "probit": Form(_bernoulli_probit),
    "cloglog": Form(_bernoulli_cloglog),
    "log": Form(_bernoulli_log, high=0.0),
    "identity": Form(_bernoulli_identity, low=0.0, high=1.0),
}
POISSON = {"log": Form(_poisson_log), "identity": Form(_poisson_identity, low=0.0)}
GAMMA = {
    "negative_inverse": Form(_gamma_negative_inverse, high=0.0, closed=False),
    "inverse": Form(_gamma_inverse, low=0.0, closed=False),
    "log": Form(_gamma_log),
    "identity": Form(_gamma_identity, low=0.0, closed=False),
}
