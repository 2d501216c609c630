"""Where batches live and which code sums one of them."""

from suffice.kernels.arrays import ArrayEngine
from suffice.kernels.base import Engine
from suffice.kernels.batch import Batch
from suffice.kernels.sql.engine import SqlEngine
from suffice.kernels.sql.rows import Expression, Relation
from suffice.kernels.threads import ThreadEngine

__all__ = [
    "ArrayEngine",
    "Batch",
    "Engine",
    "Expression",
    "Relation",
    "SqlEngine",
    "ThreadEngine",
]
