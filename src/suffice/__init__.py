"""Statistical models fitted from sums of statistics over batches of rows: they stream, merge and forget."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str
    from suffice.additive import AdditiveClassifier, AdditiveRegressor
    from suffice.discriminative import (
        GLM,
        ElasticNet,
        ElasticNetCV,
        GammaRegressor,
        Lasso,
        LassoCV,
        LinearRegression,
        LocallyWeightedRegression,
        LogisticRegression,
        LogisticRegressionCV,
        NBLogisticRegression,
        OrdinalRegression,
        Perceptron,
        PoissonRegressor,
        Ridge,
        RidgeCV,
        SoftmaxRegression,
        TweedieRegressor,
        anova,
    )
    from suffice.generative import (
        GDA,
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        FamilyNB,
        GaussianNB,
        MixedNB,
        MultinomialNB,
        PoissonNB,
    )
    from suffice.loading import load
    from suffice.mail import MailFilter
    from suffice.monitoring import Progress, progress
    from suffice.tables import TableModel, fit
    from suffice.text import TextClassifier

#: Module of each public name. Names are imported on first use, since scikit-learn takes a second to import.
_MODULES = {
    **dict.fromkeys(("AdditiveClassifier", "AdditiveRegressor"), "suffice.additive"),
    **dict.fromkeys(
        (
            "GDA",
            "BernoulliNB",
            "CategoricalNB",
            "ComplementNB",
            "FamilyNB",
            "GaussianNB",
            "MixedNB",
            "MultinomialNB",
            "PoissonNB",
        ),
        "suffice.generative",
    ),
    **dict.fromkeys(
        (
            "ElasticNet",
            "ElasticNetCV",
            "GLM",
            "GammaRegressor",
            "Lasso",
            "LassoCV",
            "LinearRegression",
            "LocallyWeightedRegression",
            "LogisticRegression",
            "LogisticRegressionCV",
            "NBLogisticRegression",
            "OrdinalRegression",
            "Perceptron",
            "PoissonRegressor",
            "Ridge",
            "RidgeCV",
            "SoftmaxRegression",
            "TweedieRegressor",
            "anova",
        ),
        "suffice.discriminative",
    ),
    "TextClassifier": "suffice.text",
    "load": "suffice.loading",
    "MailFilter": "suffice.mail",
    **dict.fromkeys(("Progress", "progress"), "suffice.monitoring"),
    **dict.fromkeys(("TableModel", "fit"), "suffice.tables"),
}
#: Packages that are imported on first use: ``suffice.formula.fit``.
_PACKAGES = (
    "additive",
    "data",
    "discriminative",
    "families",
    "formula",
    "generative",
    "mail",
    "metrics",
    "plots",
    "report",
    "selection",
    "solvers",
    "statistics",
    "tables",
    "text",
)
__all__ = [
    "GDA",
    "GLM",
    "AdditiveClassifier",
    "AdditiveRegressor",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "ElasticNet",
    "ElasticNetCV",
    "FamilyNB",
    "GammaRegressor",
    "GaussianNB",
    "Lasso",
    "LassoCV",
    "LinearRegression",
    "LocallyWeightedRegression",
    "LogisticRegression",
    "LogisticRegressionCV",
    "MailFilter",
    "MixedNB",
    "MultinomialNB",
    "NBLogisticRegression",
    "OrdinalRegression",
    "Perceptron",
    "PoissonNB",
    "PoissonRegressor",
    "Progress",
    "Ridge",
    "RidgeCV",
    "SoftmaxRegression",
    "TableModel",
    "TextClassifier",
    "TweedieRegressor",
    "__version__",
    "anova",
    "fit",
    "load",
    "progress",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version  # slow to import, and small commands do not need it

        return version("suffice")
    if name in _PACKAGES:
        return importlib.import_module(f"suffice.{name}")
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(importlib.import_module(_MODULES[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_PACKAGES})
