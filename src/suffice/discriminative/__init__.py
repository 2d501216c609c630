"""Models of p(y | x): linear and generalised linear models, ordinal and local regression, the perceptron."""

from suffice.discriminative.analysis_of_deviance import anova
from suffice.discriminative.base import CollinearityWarning
from suffice.discriminative.covariance import Covariance
from suffice.discriminative.diagnostics import Diagnostics
from suffice.discriminative.glm import GLM, GammaRegression, PoissonRegression
from suffice.discriminative.linear import LinearRegression
from suffice.discriminative.local import LocallyWeightedRegression
from suffice.discriminative.local_fit import FarFromDataWarning
from suffice.discriminative.logistic import LogisticRegression, SoftmaxRegression
from suffice.discriminative.nb_logistic import NBLogisticRegression
from suffice.discriminative.ordinal import OrdinalRegression
from suffice.discriminative.path import Path
from suffice.discriminative.perceptron import Perceptron
from suffice.discriminative.result_table import ResultTable
from suffice.discriminative.separation import Separation, SeparationWarning
from suffice.discriminative.summary import Summary

__all__ = [
    "GLM",
    "CollinearityWarning",
    "Covariance",
    "Diagnostics",
    "FarFromDataWarning",
    "GammaRegression",
    "LinearRegression",
    "LocallyWeightedRegression",
    "LogisticRegression",
    "NBLogisticRegression",
    "OrdinalRegression",
    "Path",
    "Perceptron",
    "PoissonRegression",
    "ResultTable",
    "Separation",
    "SeparationWarning",
    "SoftmaxRegression",
    "Summary",
    "anova",
]
