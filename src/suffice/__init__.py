"""Learning from sums: every model is fitted from sums of statistics over batches of rows."""

from __future__ import annotations

import importlib
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.generative import (
        GDA,
        BernoulliNB,
        CategoricalNB,
        ComplementNB,
        GaussianNB,
        MixedNB,
        MultinomialNB,
        PoissonNB,
        load,
    )

__version__ = version("suffice")
__all__ = [
    "GDA",
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "GaussianNB",
    "MixedNB",
    "MultinomialNB",
    "PoissonNB",
    "__version__",
    "load",
]

#: Where each public name lives; it is imported when it is first asked for, since scikit-learn takes a second to import.
_ROOMS = {name: "suffice.generative" for name in __all__ if name != "__version__"}


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'suffice' has no attribute {name!r}")
    return getattr(importlib.import_module(_ROOMS[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
