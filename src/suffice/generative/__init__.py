"""Models that describe each class, then decide: discriminant analysis and naive Bayes."""

from suffice.generative.bernoulli_nb import BernoulliNB
from suffice.generative.categorical_nb import CategoricalNB
from suffice.generative.discriminant import GDA
from suffice.generative.explanation import Explanations
from suffice.generative.family_nb import FamilyNB
from suffice.generative.gaussian_nb import GaussianNB
from suffice.generative.mixed_nb import MixedNB
from suffice.generative.multinomial_nb import ComplementNB, MultinomialNB
from suffice.generative.poisson_nb import PoissonNB

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
