"""Where batches live and which code sums one of them."""

from suffice.engines.arrays import ArrayEngine
from suffice.engines.base import Engine
from suffice.engines.batch import Batch
from suffice.engines.sql.engine import SqlEngine
from suffice.engines.sql.rows import Expression, Relation
from suffice.engines.threads import ThreadEngine

__all__ = [
    "ArrayEngine",
    "Batch",
    "Engine",
    "Expression",
    "Relation",
    "SqlEngine",
    "ThreadEngine",
]
