"""Engines, which cut batches of rows into parts, and the kernels that sum one part."""

from suffice.kernels.arrays import ArrayEngine
from suffice.kernels.engine import Batch, Engine, ThreadEngine
from suffice.kernels.sql.engine import SqlEngine
from suffice.kernels.sql.rows import Expression, Relation

__all__ = [
    "ArrayEngine",
    "Batch",
    "Engine",
    "Expression",
    "Relation",
    "SqlEngine",
    "ThreadEngine",
]
