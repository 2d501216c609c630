"""Engines, which cut batches of rows into parts, and the kernels that sum one part."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice.kernels.engine import Batch, Engine, ThreadEngine

if TYPE_CHECKING:
    from suffice.kernels.arrays import ArrayEngine
    from suffice.kernels.sql.engine import SqlEngine
    from suffice.kernels.sql.rows import Expression, Relation

#: Module of each public name. Names are imported on first use: most rows are NumPy arrays, and need neither engine.
_MODULES = {
    "ArrayEngine": "arrays",
    "Expression": "sql.rows",
    "Relation": "sql.rows",
    "SqlEngine": "sql.engine",
}
__all__ = [
    "ArrayEngine",
    "Batch",
    "Engine",
    "Expression",
    "Relation",
    "SqlEngine",
    "ThreadEngine",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.kernels' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.kernels.{_MODULES[name]}"), name)
