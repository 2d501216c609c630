"""Predictors: models of a target given the rows of a table, one module for each encoding of the rows."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from suffice.model_types import MODEL_TYPES, ModelType, Task
from suffice.statistics import Labels
from suffice.store import Contents
from suffice.tables.predictors.base import Effects, EncodedRows, Predictor, ignore_warnings, to_probabilities

__all__ = [
    "Effects",
    "EncodedRows",
    "Predictor",
    "ignore_warnings",
    "make_predictor",
    "restore_predictor",
    "to_probabilities",
]

#: Module and class of each encoding of the rows. A file needs one of them, and together they take long to import.
_CLASSES = {
    "cells": ("naive_bayes", "NaiveBayesPredictor"),
    "design": ("linear", "LinearPredictor"),
    "design sums": ("summed", "SummedPredictor"),
    "bins": ("additive", "AdditivePredictor"),
    "text": ("text", "TextPredictor"),
    "near": ("local", "LocalPredictor"),
}


def make_predictor(model_type: ModelType, task: Task, labels: Labels, penalty: float = 1.0) -> Predictor:
    """Return an unfitted predictor of a model type."""
    has_design_sums = model_type.reads == "design" and model_type.exact
    module, name = _CLASSES["design sums" if has_design_sums else model_type.reads]
    kind = getattr(import_module(f"suffice.tables.predictors.{module}"), name)
    predictor: Predictor = kind(model_type, task, labels)
    predictor.penalty = penalty
    return predictor


def restore_predictor(settings: Any, contents: Contents, task: Task, labels: Labels) -> Predictor:
    """Return the predictor that a model file holds."""
    predictor = make_predictor(MODEL_TYPES[settings["form"]], task, labels)
    predictor.restore(settings)
    predictor.restore_estimator(contents)
    return predictor
