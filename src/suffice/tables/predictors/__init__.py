"""Predictors: models of a target given the rows of a table, one module for each encoding of the rows."""

from __future__ import annotations

from typing import Any

from suffice.model_types import MODEL_TYPES, ModelType, Task
from suffice.statistics import Labels
from suffice.store import Contents
from suffice.tables.predictors.additive import AdditivePredictor
from suffice.tables.predictors.base import Effects, EncodedRows, Predictor, ignore_warnings, to_probabilities
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.predictors.local import LocalPredictor
from suffice.tables.predictors.naive_bayes import NaiveBayesPredictor
from suffice.tables.predictors.summed import SummedPredictor
from suffice.tables.predictors.text import TextPredictor

__all__ = [
    "Effects",
    "EncodedRows",
    "Predictor",
    "ignore_warnings",
    "make_predictor",
    "restore_predictor",
    "to_probabilities",
]

#: Predictor of each encoding of the rows.
_CLASSES: dict[str, type[Predictor]] = {
    "cells": NaiveBayesPredictor,
    "design": LinearPredictor,
    "bins": AdditivePredictor,
    "text": TextPredictor,
    "near": LocalPredictor,
}


def make_predictor(model_type: ModelType, task: Task, labels: Labels, penalty: float = 1.0) -> Predictor:
    """Return an unfitted predictor of a model type."""
    has_design_sums = model_type.reads == "design" and model_type.exact
    kind = SummedPredictor if has_design_sums else _CLASSES[model_type.reads]
    predictor = kind(model_type, task, labels)
    predictor.penalty = penalty
    return predictor


def restore_predictor(settings: Any, contents: Contents, task: Task, labels: Labels) -> Predictor:
    """Return the predictor that a model file holds."""
    predictor = make_predictor(MODEL_TYPES[settings["form"]], task, labels)
    predictor.restore(settings)
    predictor.restore_estimator(contents)
    return predictor
