"""Additive models with pairs: functions of columns and of pairs of columns, fitted from sums per bin."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.additive.choice import AdditiveSolution
    from suffice.additive.estimators import AdditiveClassifier, AdditiveRegressor
    from suffice.additive.terms import AdditiveTerm

#: Module of each public name. Names are imported on first use: rows are scored without the estimators.
_MODULES = {
    "AdditiveClassifier": "estimators",
    "AdditiveRegressor": "estimators",
    "AdditiveSolution": "choice",
    "AdditiveTerm": "terms",
}
__all__ = ["AdditiveClassifier", "AdditiveRegressor", "AdditiveSolution", "AdditiveTerm"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.additive' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.additive.{_MODULES[name]}"), name)
