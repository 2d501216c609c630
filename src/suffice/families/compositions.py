"""How families of shares read linear predictors: classes, a share between 0 and 1, and the parts of a whole."""

from __future__ import annotations

import math
from typing import Any, ClassVar, NamedTuple

import array_api_compat
import numpy as np

from suffice.families import links
from suffice.families.base import require
from suffice.families.gamma_functions import gamma_remainders
from suffice.families.links import Link
from suffice.families.readings import Curve, Reading, held_inside, impossible
from suffice.families.terms import BERNOULLI, Form, Terms
from suffice.statistics.base import FloatArray

#: Concentrations are held at exp of this, so that their products with logs and slopes are finite.
LARGEST_LOG_CONCENTRATION = 300.0


class _ShareReading(Reading):
    """What readings of shares have in common: log b(y) is 0, and a share's variance is that of one trial, or less."""

    def unit_variance(self, xp: Any, mean: Any) -> Any:
        return mean * (1 - mean)


class MultinomialReading(_ShareReading):
    """The log-probability of the class that a code names; the last class has no predictor."""

    name = "multinomial"
    link_names = (links.softmax.name,)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the classes, but for the last."""
        if targets < 2:
            raise ValueError(f"a multinomial regression tells 2 classes or more apart; there is {targets}")
        return tuple(f"class {code}" for code in range(targets - 1))

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError naming the first target that is no class code."""
        legal = (y >= 0) & (y < (math.inf if classes is None else classes)) & (y == xp.floor(y))
        words = "a code, 0 or more" if classes is None else f"a code from 0 to {classes - 1}"
        require("y", y, legal, f"a multinomial target must be {words}")

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the softmax."""
        mean, slope = link.mean_and_slope(z)
        codes = xp.astype(y, xp.int64, copy=False)
        chosen = codes[:, None] == xp.arange(z.shape[1], device=array_api_compat.device(z))[None, :]
        top = xp.clip(xp.max(z, axis=1), min=0.0)
        rest = xp.log(xp.exp(-top) + xp.sum(xp.exp(z - top[:, None]), axis=1))  # exponents <= 0: cannot overflow
        value = xp.sum(xp.where(chosen, z, xp.zeros_like(z)), axis=1) - top - rest
        return Curve(value, xp.astype(chosen, xp.float64) - mean[:, :-1], slope[:, :-1, :])

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return the probability of each class, (n, k)."""
        return link.mean(z)

    def saturated(self, xp: Any, y: Any) -> Any:
        """Return 0, the log of probability 1."""
        return xp.zeros_like(y)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the log-odds of each class against the last."""
        return np.asarray(link.link(held_inside(mean, 0.0, math.inf)))


class _Concentration(NamedTuple):
    """The Dirichlet log-density of rows, told by shares and a total: concentration = total * share."""

    value: Any  # (n,)
    pull: Any  # (n, k), the derivative of the value by the log of each concentration
    share: Any  # (n, k)
    total: Any  # (n,)
    part_excess: Any  # (n, k), a^2 trigamma(a) - a of each concentration a
    total_excess: Any  # (n,), the same of the total


def _concentration(xp: Any, log_y: Any, log_share: Any, log_total: Any) -> _Concentration:
    """Return the density with the leading terms of its gamma functions cancelled on paper.

    With log Gamma(a) = a log a - a + g(a), its log is g(total) and, of each part, a (log y - log share) - log y - g(a):
    what is left is of the size of the total times the distance of y from the shares, not of the total times its log.
    """
    share, total = xp.exp(log_share), xp.exp(log_total)
    a = share * total[:, None]
    parts = gamma_remainders(xp, a, log_share + log_total[:, None])
    whole = gamma_remainders(xp, total, log_total)
    away = a * (log_y - log_share)
    value = xp.sum(away - log_y - parts.log_gamma, axis=1) + whole.log_gamma
    pull = away - parts.digamma + share * whole.digamma[:, None]
    return _Concentration(value, pull, share, total, parts.trigamma, whole.trigamma)


def _total(mean: FloatArray, variance: FloatArray | None, otherwise: float) -> float:
    """Return the total concentration at which shares of this mean have this variance, summed over the parts."""
    spread = 0.0 if variance is None else float(np.sum(variance))
    if not spread > 0:
        return otherwise
    return float(np.clip(np.sum(mean * (1 - mean)) / spread - 1, 0.1, 1e8))


def _cloglog(xp: Any, z: Any) -> Terms:
    # Its log q is minus exp z, and so is the slope: held where the square of that is finite.
    return BERNOULLI["cloglog"].terms(xp, xp.clip(z, max=LARGEST_LOG_CONCENTRATION))


class BetaReading(_ShareReading):
    """The first predictor is a link away from the mean, the second is the log of the precision a + b.

    The canonical link, a - 1 and b - 1 linear, is not offered: it would leave a and b free to be negative, and the mean
    no function of one predictor.
    """

    name = "beta"
    forms: ClassVar[dict[str, Form]] = {
        "logit": BERNOULLI["logit"],
        "probit": BERNOULLI["probit"],
        "cloglog": Form(_cloglog),
        "log": BERNOULLI["log"]._replace(closed=False),
    }
    link_names = tuple(forms)

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the two parameters."""
        return ("mean", "precision")

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError naming the first target that is not between 0 and 1."""
        words = (
            "a beta target must be between 0 and 1, and neither of them; "
            "where it can be, shrink all n targets to the middle: (y * (n - 1) + 0.5) / n"
        )
        require("y", y, (y > 0) & (y < 1), words)

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the beta with a = mean precision, b = (1 - mean) precision."""
        form = self.forms[link.name]
        legal, at = form.legal(xp, z[:, 0])
        terms = form.terms(xp, at)
        log_y = xp.stack([xp.log(y), xp.log1p(-y)], axis=1)
        log_total = xp.clip(z[:, 1], max=LARGEST_LOG_CONCENTRATION)
        beta = _concentration(xp, log_y, xp.stack([terms.a, terms.b], axis=1), log_total)
        slopes, excess = xp.stack([terms.a_slope, terms.b_slope], axis=1), beta.part_excess  # of log a, log b by z_1
        slope = xp.stack([xp.sum(slopes * beta.pull, axis=1), xp.sum(beta.pull, axis=1)], axis=1)
        mean_mean = xp.sum(slopes * slopes * (beta.share * beta.total[:, None] + excess), axis=1)
        mean_precision = xp.sum(slopes * excess, axis=1)  # a and b themselves cancel: their sum does not hang on z_1
        precision_precision = xp.sum(excess, axis=1) - beta.total_excess
        first = xp.stack([mean_mean, mean_precision], axis=1)
        second = xp.stack([mean_precision, precision_precision], axis=1)
        curve = Curve(beta.value, slope, xp.stack([first, second], axis=1))
        return curve if legal is None else impossible(xp, legal, curve)

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return a / (a + b)."""
        return link.mean(z[:, 0])

    def saturated(self, xp: Any, y: Any) -> Any:
        """Raise ValueError: there is none."""
        raise _unbounded(self.name)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the link of the mean, and the log of the precision that the variance tells."""
        mean = held_inside(mean, 0.0, 1.0)
        return np.append(link.link(mean), np.log(_total(mean, variance, 1.0)))


class DirichletReading(_ShareReading):
    """Each predictor is the log of a part's concentration.

    The canonical link, concentration - 1 linear, is not offered: it would leave concentrations free to be negative.
    """

    name = "dirichlet"
    link_names = (links.log.name,)
    vector_targets = True

    def predictor_names(self, targets: int) -> tuple[str, ...]:
        """Return the parts."""
        if targets < 2:
            raise ValueError(f"a dirichlet target has 2 parts or more; there is {targets}")
        return tuple(f"part {part}" for part in range(targets))

    def check_targets(self, xp: Any, y: Any, classes: int | None) -> None:
        """Raise ValueError naming the first part that is not positive, or row whose parts do not sum to 1."""
        if len(y.shape) != 2 or y.shape[1] < 2 or classes not in (None, y.shape[1]):
            parts = "k), with 2 parts or more" if classes is None else f"{classes})"
            raise ValueError(f"y must be the parts of each row, (n, {parts}; its shape is {tuple(y.shape)}")
        cure = "drop the part, or add a small number to every part and divide each row by its sum"
        require("y", y, (y > 0) & (y < math.inf), f"a part of a dirichlet target must be above 0; {cure}")
        total = xp.sum(y, axis=1)
        # float32 shares sum to 1 within 1e-6
        cure = "divide each row by its sum"
        require("the sum of y", total, xp.abs(total - 1) <= 1e-6, f"the parts of a dirichlet target sum to 1; {cure}")

    def curve(self, xp: Any, link: Link, z: Any, y: Any) -> Curve:
        """Return the curve of the Dirichlet with concentrations exp z."""
        z = xp.clip(z, max=LARGEST_LOG_CONCENTRATION)
        top = xp.max(z, axis=1, keepdims=True)
        log_total = top + xp.log(xp.sum(xp.exp(z - top), axis=1, keepdims=True))
        dirichlet = _concentration(xp, xp.log(y), z - log_total, log_total[:, 0])
        share = dirichlet.share
        products = share[:, :, None] * share[:, None, :] * dirichlet.total_excess[:, None, None]
        curvature = dirichlet.total[:, None, None] * links.share_covariance(xp, share) - products
        code = xp.arange(z.shape[1], device=array_api_compat.device(z))
        own = xp.clip(curvature + dirichlet.part_excess[:, :, None], min=0.0)  # never negative, but by rounding
        return Curve(dirichlet.value, dirichlet.pull, xp.where(code[:, None] == code[None, :], own, curvature))

    def mean(self, xp: Any, link: Link, z: Any) -> Any:
        """Return each concentration's share of their sum, (n, k)."""
        return links.softmax.mean(z[:, :-1] - z[:, -1:])

    def saturated(self, xp: Any, y: Any) -> Any:
        """Raise ValueError: there is none."""
        raise _unbounded(self.name)

    def start(self, link: Link, mean: FloatArray, variance: FloatArray | None) -> FloatArray:
        """Return the log of the mean times the total concentration that the variance tells."""
        mean = held_inside(mean, 0.0, 1.0)
        return np.asarray(link.link(mean / mean.sum() * _total(mean, variance, float(mean.size))))


def _unbounded(name: str) -> ValueError:
    return ValueError(
        f"a {name} regression has no deviance: the density at y grows without bound as the precision does; "
        "compare log-likelihoods instead"
    )
