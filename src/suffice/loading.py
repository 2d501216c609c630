"""``load`` with all modules imported whose models a file may contain."""

import suffice.additive
import suffice.discriminative
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
