"""Datasets: one interface to rows in arrays, streams of batches, Dask, Spark, databases, and a user's own backend."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.data.dataset import ArrayDataset, Dataset, EncodedDataset, as_dataset, register
    from suffice.data.refusals import RowsInPartsError
    from suffice.data.sql import SqlDataset
    from suffice.data.stream import SpillWarning, StreamDataset
    from suffice.data.workers import ClusterError

#: Module of each public name. Names are imported on first use: rows of tables need few of them.
_MODULES = {
    "ArrayDataset": "dataset",
    "ClusterError": "workers",
    "Dataset": "dataset",
    "EncodedDataset": "dataset",
    "RowsInPartsError": "refusals",
    "SpillWarning": "stream",
    "SqlDataset": "sql",
    "StreamDataset": "stream",
    "as_dataset": "dataset",
    "register": "dataset",
}
__all__ = [
    "ArrayDataset",
    "ClusterError",
    "Dataset",
    "EncodedDataset",
    "RowsInPartsError",
    "SpillWarning",
    "SqlDataset",
    "StreamDataset",
    "as_dataset",
    "register",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.data' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.data.{_MODULES[name]}"), name)
