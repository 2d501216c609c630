"""Models of p(y | x): the linear family and its neighbours."""

from suffice.discriminative.classifier import LogisticRegression, SoftmaxRegression
from suffice.discriminative.glm import GLM, GammaRegression, PoissonRegression
from suffice.discriminative.linear import LinearRegression
from suffice.discriminative.perceptron import Perceptron

__all__ = [
    "GLM",
    "GammaRegression",
    "LinearRegression",
    "LogisticRegression",
    "Perceptron",
    "PoissonRegression",
    "SoftmaxRegression",
]
