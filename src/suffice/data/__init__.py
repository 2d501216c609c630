"""Rows wherever they live, through one interface: arrays, streams of batches, Dask, Spark, and a user's own."""

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
