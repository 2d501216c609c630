"""Datasets: one interface to rows in arrays, streams of batches, Dask, Spark, databases, and a user's own backend."""

from suffice.data.dataset import ArrayDataset, Dataset, EncodedDataset, as_dataset, register
from suffice.data.refusals import RowsInPartsError
from suffice.data.sql import SqlDataset
from suffice.data.stream import SpillWarning, StreamDataset
from suffice.data.workers import ClusterError

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
