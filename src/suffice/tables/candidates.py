"""Candidate models of a table: the one that the user names, or those that are compared."""

from __future__ import annotations

from suffice.model_types import MODEL_TYPES, ModelType, models_of
from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Schema

#: Largest number of classes for softmax regression, whose fits to more classes take too long.
MANY = 10
#: Largest number of classes, and of features times classes, for additive models.
_ADDITIVE_CLASSES, _ADDITIVE_SCORES = 30, 1000


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
