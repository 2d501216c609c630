"""Loading a model of any room."""

import suffice.discriminative
import suffice.documents
import suffice.generative
import suffice.tables.model  # noqa: F401  (a file may hold a model of any room)
from suffice.store import load

__all__ = ["load"]
