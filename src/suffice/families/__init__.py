"""Exponential families, links, the log-likelihood of a row, and priors; no loops over data."""

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
