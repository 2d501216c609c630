"""``load`` with all modules imported whose models a file may contain."""

import suffice.additive
import suffice.discriminative.elastic_net
import suffice.discriminative.elastic_net_cv
import suffice.discriminative.glm
import suffice.discriminative.linear
import suffice.discriminative.local
import suffice.discriminative.logistic
import suffice.discriminative.logistic_cv
import suffice.discriminative.nb_logistic
import suffice.discriminative.ordinal
import suffice.discriminative.perceptron
import suffice.discriminative.ridge
import suffice.discriminative.ridge_cv
import suffice.formula
import suffice.generative.bernoulli_nb
import suffice.generative.categorical_nb
import suffice.generative.discriminant
import suffice.generative.family_nb
import suffice.generative.gaussian_nb
import suffice.generative.mixed_nb
import suffice.generative.multinomial_nb
import suffice.generative.poisson_nb
import suffice.tables.model
import suffice.text.classifier  # noqa: F401  (registers its classes)
from suffice.store import load

__all__ = ["load"]
