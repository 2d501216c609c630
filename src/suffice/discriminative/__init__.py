"""Models of p(y | x): the linear family and its neighbours."""

from suffice.discriminative.classifier import LogisticRegression, SoftmaxRegression
from suffice.discriminative.glm import GLM, GammaRegression, PoissonRegression
from suffice.discriminative.linear import LinearRegression

__all__ = [
    "GLM",
    "GammaRegression",
    "LinearRegression",
    "LogisticRegression",
    "PoissonRegression",
    "SoftmaxRegression",
]
