"""Generative classifiers: discriminant analysis and naive Bayes."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.generative.bernoulli_nb import BernoulliNB
    from suffice.generative.categorical_nb import CategoricalNB
    from suffice.generative.discriminant import GDA
    from suffice.generative.explanation import Explanations
    from suffice.generative.family_nb import FamilyNB
    from suffice.generative.gaussian_nb import GaussianNB
    from suffice.generative.mixed_nb import MixedNB
    from suffice.generative.multinomial_nb import ComplementNB, MultinomialNB
    from suffice.generative.poisson_nb import PoissonNB

#: Module of each public name. Names are imported on first use: p(x, y) is estimated and scored without the estimators.
_MODULES = {
    "BernoulliNB": "bernoulli_nb",
    "CategoricalNB": "categorical_nb",
    "ComplementNB": "multinomial_nb",
    "Explanations": "explanation",
    "FamilyNB": "family_nb",
    "GDA": "discriminant",
    "GaussianNB": "gaussian_nb",
    "MixedNB": "mixed_nb",
    "MultinomialNB": "multinomial_nb",
    "PoissonNB": "poisson_nb",
}
__all__ = [
    "GDA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "Explanations",
    "FamilyNB",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.generative' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.generative.{_MODULES[name]}"), name)
