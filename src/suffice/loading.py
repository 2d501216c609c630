"""Loading a model of any room."""

import suffice.discriminative
import suffice.generative
import suffice.tables.model
import suffice.text.classifier  # noqa: F401  (a file may hold a model of any room)
from suffice.store import load

__all__ = ["load"]
