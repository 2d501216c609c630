"""Probability without loops over data: families, their links, their regression readings, and priors."""

from suffice.families.base import Family
from suffice.families.bernoulli import Bernoulli
from suffice.families.beta import Beta
from suffice.families.categorical import Categorical
from suffice.families.dirichlet import Dirichlet
from suffice.families.exponential import Exponential
from suffice.families.gamma import Gamma
from suffice.families.gaussian import Gaussian, GaussianKnownVariance
from suffice.families.links import Link
from suffice.families.multinomial import Multinomial
from suffice.families.multivariate_gaussian import MultivariateGaussian, SingularCovarianceError
from suffice.families.poisson import Poisson
from suffice.families.priors import Penalty, check_alpha, laplace, oas_shrinkage, ridge, shrink_covariance
from suffice.families.response import Curve, Response

__all__ = [
    "Bernoulli",
    "Beta",
    "Categorical",
    "Curve",
    "Dirichlet",
    "Exponential",
    "Family",
    "Gamma",
    "Gaussian",
    "GaussianKnownVariance",
    "Link",
    "Multinomial",
    "MultivariateGaussian",
    "Penalty",
    "Poisson",
    "Response",
    "SingularCovarianceError",
    "check_alpha",
    "laplace",
    "oas_shrinkage",
    "ridge",
    "shrink_covariance",
]
