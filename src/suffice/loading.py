"""``load`` with all packages imported whose models a file may contain."""

import suffice.discriminative
import suffice.formula
import suffice.generative
import suffice.tables.model
import suffice.text.classifier  # noqa: F401  (registers its classes)
from suffice.store import load

__all__ = ["load"]
