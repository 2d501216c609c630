"""Exponential families, links, the log-likelihood of a row, and priors; no loops over data."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.families.base import Distribution, Family
    from suffice.families.bernoulli import Bernoulli, Binomial
    from suffice.families.beta import Beta
    from suffice.families.categorical import Categorical
    from suffice.families.dirichlet import Dirichlet
    from suffice.families.exponential import Exponential
    from suffice.families.gamma import Gamma
    from suffice.families.gaussian import Gaussian, GaussianKnownVariance
    from suffice.families.inverse_gaussian import InverseGaussian
    from suffice.families.links import Link, Power
    from suffice.families.multinomial import Multinomial
    from suffice.families.multivariate_gaussian import MultivariateGaussian, SingularCovarianceError
    from suffice.families.negative_binomial import NegativeBinomial
    from suffice.families.poisson import Poisson
    from suffice.families.priors import Penalty, check_alpha, laplace, oas_shrinkage, ridge, shrink_covariance
    from suffice.families.response import Curve, Response, as_family
    from suffice.families.tweedie import Tweedie

#: Module of each public name. Names are imported on first use: a model of a table needs few families.
_MODULES = {
    "Bernoulli": "bernoulli",
    "Beta": "beta",
    "Binomial": "bernoulli",
    "Categorical": "categorical",
    "Curve": "response",
    "Dirichlet": "dirichlet",
    "Distribution": "base",
    "Exponential": "exponential",
    "Family": "base",
    "Gamma": "gamma",
    "Gaussian": "gaussian",
    "GaussianKnownVariance": "gaussian",
    "InverseGaussian": "inverse_gaussian",
    "Link": "links",
    "Multinomial": "multinomial",
    "MultivariateGaussian": "multivariate_gaussian",
    "NegativeBinomial": "negative_binomial",
    "Penalty": "priors",
    "Poisson": "poisson",
    "Power": "links",
    "Response": "response",
    "SingularCovarianceError": "multivariate_gaussian",
    "Tweedie": "tweedie",
    "as_family": "response",
    "check_alpha": "priors",
    "laplace": "priors",
    "oas_shrinkage": "priors",
    "ridge": "priors",
    "shrink_covariance": "priors",
}
__all__ = [
    "Bernoulli",
    "Beta",
    "Binomial",
    "Categorical",
    "Curve",
    "Dirichlet",
    "Distribution",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "GaussianKnownVariance",
    "InverseGaussian",
    "Link",
    "Multinomial",
    "MultivariateGaussian",
    "NegativeBinomial",
    "Penalty",
    "Poisson",
    "Power",
    "Response",
    "SingularCovarianceError",
    "Tweedie",
    "as_family",
    "check_alpha",
    "laplace",
    "oas_shrinkage",
    "ridge",
    "shrink_covariance",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.families' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.families.{_MODULES[name]}"), name)
