"""Models of p(y | x): linear and generalised linear models, ordinal and local regression, the perceptron."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.discriminative.analysis_of_deviance import anova
    from suffice.discriminative.base import CollinearityWarning, RankDeficiencyWarning
    from suffice.discriminative.covariance import Covariance
    from suffice.discriminative.diagnostics import Diagnostics
    from suffice.discriminative.elastic_net import ElasticNet, Lasso
    from suffice.discriminative.elastic_net_cv import ElasticNetCV, LassoCV
    from suffice.discriminative.glm import GLM, GammaRegressor, PoissonRegressor, TweedieRegressor
    from suffice.discriminative.linear import LinearRegression
    from suffice.discriminative.local import LocallyWeightedRegression
    from suffice.discriminative.local_fit import FarFromDataWarning
    from suffice.discriminative.logistic import LogisticRegression, SoftmaxRegression
    from suffice.discriminative.logistic_cv import LogisticRegressionCV
    from suffice.discriminative.nb_logistic import NBLogisticRegression
    from suffice.discriminative.ordinal import OrdinalRegression
    from suffice.discriminative.path import Path
    from suffice.discriminative.perceptron import Perceptron
    from suffice.discriminative.result_table import ResultTable
    from suffice.discriminative.ridge import Ridge
    from suffice.discriminative.ridge_cv import RidgeCV
    from suffice.discriminative.separation import Separation, SeparationWarning
    from suffice.discriminative.summary import Summary

#: Module of each public name. Names are imported on first use: coefficients of a file are read without the estimators.
_MODULES = {
    "CollinearityWarning": "base",
    "RankDeficiencyWarning": "base",
    "Covariance": "covariance",
    "Diagnostics": "diagnostics",
    "ElasticNet": "elastic_net",
    "ElasticNetCV": "elastic_net_cv",
    "FarFromDataWarning": "local_fit",
    "GLM": "glm",
    "GammaRegressor": "glm",
    "Lasso": "elastic_net",
    "LassoCV": "elastic_net_cv",
    "LinearRegression": "linear",
    "LocallyWeightedRegression": "local",
    "LogisticRegression": "logistic",
    "LogisticRegressionCV": "logistic_cv",
    "NBLogisticRegression": "nb_logistic",
    "OrdinalRegression": "ordinal",
    "Path": "path",
    "Perceptron": "perceptron",
    "PoissonRegressor": "glm",
    "ResultTable": "result_table",
    "Ridge": "ridge",
    "RidgeCV": "ridge_cv",
    "Separation": "separation",
    "SeparationWarning": "separation",
    "SoftmaxRegression": "logistic",
    "Summary": "summary",
    "TweedieRegressor": "glm",
    "anova": "analysis_of_deviance",
}
__all__ = [
    "GLM",
    "CollinearityWarning",
    "Covariance",
    "Diagnostics",
    "ElasticNet",
    "ElasticNetCV",
    "FarFromDataWarning",
    "GammaRegressor",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LocallyWeightedRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "NBLogisticRegression",
    "OrdinalRegression",
    "Path",
    "Perceptron",
    "PoissonRegressor",
    "RankDeficiencyWarning",
    "ResultTable",
    "Ridge",
    "RidgeCV",
    "Separation",
    "SeparationWarning",
    "SoftmaxRegression",
    "Summary",
    "TweedieRegressor",
    "anova",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.discriminative' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.discriminative.{_MODULES[name]}"), name)
