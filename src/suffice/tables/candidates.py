"""Candidate models of a table: the one that the user names, or those that are compared."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.model_types import MODEL_TYPES, ModelType, models_of
from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Schema

#: Name of the candidate that predicts the same for every row: the class frequencies, or the mean.
BASELINE = "baseline"
#: Largest number of classes for softmax regression, whose fits to more classes take too long.
MANY = 10
#: Largest number of classes, and of features times classes, for additive models.
_ADDITIVE_CLASSES, _ADDITIVE_SCORES = 30, 1000


@dataclass(frozen=True)
class Candidate:
    """Cross-validated loss of a model.

    Parameters
    ----------
    model
        Name of the model; ``"baseline"`` predicts the class frequencies, or the mean, for every row.
    title
        Description of the model.
    generative
        Whether it is a generative model.
    loss
        The loss on held-out rows: mean of -log p(y | x) for classes, root mean squared error for numbers, mean Poisson
        deviance for counts. NaN if the model could not be fitted.
    spread
        The standard error of the loss over the held-out rows.
    measures
        Other measures, by name.
    seconds
        Duration of the evaluation.
    why
        Why it could not be fitted.
    temperature
        Temperature of the posteriors of a generative model.
    penalty
        Penalty of the coefficients of a regression.
    columns
        Number of columns of the design matrix, if it has one.
    behind, behind_error
        How much larger the mean loss of a row is than that of the model with the lowest loss, over the same held-out
        rows (squared errors for numbers), and the standard error of this difference.
    rows
        Number of held-out rows.
    intervals
        95 % intervals of the loss, as ``"loss"``, and of the accuracy, over the held-out rows.
    confusion
        Number of held-out rows by true class and predicted class; empty for numbers, and for more than 50 classes. Of
        the chosen model, by its threshold, as its accuracy is.
    """

    model: str
    title: str
    generative: bool
    loss: float
    spread: float
    measures: dict[str, float] = field(default_factory=dict)
    seconds: float = field(default=0.0, compare=False)  # not stored in files
    why: str = ""
    temperature: float = 1.0
    penalty: float = 1.0
    columns: int = 0
    behind: float = 0.0
    behind_error: float = 0.0
    rows: int = 0
    intervals: dict[str, list[float]] = field(default_factory=dict)
    confusion: list[list[float]] = field(default_factory=list)

    @property
    def is_baseline(self) -> bool:
        """Whether it predicts the same for every row."""
        return self.model == BASELINE

    def per_class(self, labels: Iterable[Any]) -> list[dict[str, Any]]:
        """Return precision, recall, F1 and the number of held-out rows of each class; nothing for many classes."""
        from suffice.metrics import describe_classes

        return describe_classes(labels, np.array(self.confusion)) if self.confusion else []


def find_model_type(name: str, schema: Schema) -> ModelType:
    """Return a model type by its name; raise if there is none, or if it cannot predict this target."""
    if name not in MODEL_TYPES:
        raise UsageError(
            f"there is no model {name!r}; there are auto, {', '.join(MODEL_TYPES)}{nearest(name, MODEL_TYPES)}"
        )
    model_type = MODEL_TYPES[name]
    if schema.task not in model_type.tasks:
        raise UsageError(
            f"{name} predicts {' or '.join(model_type.tasks)}; the target {schema.target!r} holds {schema.task}: use "
            f"{', '.join(models_of(schema.task))}"
        )
    return model_type


def candidates(schema: Schema, classes: int, rows: int) -> list[ModelType]:
    """Return the model types that ``model="auto"`` compares: generative and discriminative ones."""
    kinds = {feature.kind for feature in schema.features}
    numbers = kinds & {"numeric", "count"}
    if schema.task != "classes":
        names = ["poisson", "linear"] if schema.task == "counts" else ["linear"]
        names += ["additive"]
        near = schema.task == "numbers" and rows <= 2000 and len(schema.features) <= 5 and kinds <= {"numeric", "count"}
        return [MODEL_TYPES[name] for name in [*names, *(["local"] if near else [])]]
    plain = kinds != {"text"}
    names = ["nb", *(["gda", "gda-full"] if numbers else [])]
    names += ["logistic"] if plain else []
    names += ["softmax"] if plain and 2 < classes <= MANY else []
    scores = len(schema.features) * (classes if classes > 2 else 1)
    names += ["additive"] if plain and classes <= _ADDITIVE_CLASSES and scores <= _ADDITIVE_SCORES else []
    return [MODEL_TYPES[name] for name in [*names, *(["text"] if "text" in kinds else [])]]
