"""Which models suit a table: the one that is asked for, or those that are tried."""

from __future__ import annotations

from suffice.model_types import MODEL_TYPES, ModelType, models_of
from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Schema

#: With more classes than these, curves of every number for each of them take too long.
MANY = 10


def find_model_type(name: str, schema: Schema) -> ModelType:
    """Return a form by its name, or say why it is none for this target."""
    if name not in MODEL_TYPES:
        raise UsageError(
            f"there is no model {name!r}; there are auto, {', '.join(MODEL_TYPES)}{nearest(name, MODEL_TYPES)}"
        )
    form = MODEL_TYPES[name]
    if schema.task not in form.tasks:
        raise UsageError(
            f"{name} predicts {' or '.join(form.tasks)}; the target {schema.target!r} holds {schema.task}: use "
            f"{', '.join(models_of(schema.task))}"
        )
    return form


def candidates(schema: Schema, classes: int, rows: int) -> list[ModelType]:
    """Return the forms that are tried where the user leaves the choice: generative ones beside discriminative ones."""
    kinds = {feature.kind for feature in schema.features}
    numbers = kinds & {"numeric", "count"}
    if schema.task != "classes":
        names = ["poisson", "linear"] if schema.task == "counts" else ["linear"]
        names += ["additive"] if numbers else []
        near = schema.task == "numbers" and rows <= 2000 and len(schema.features) <= 5 and kinds <= {"numeric", "count"}
        return [MODEL_TYPES[name] for name in [*names, *(["local"] if near else [])]]
    plain = kinds != {"text"}
    names = ["nb", *(["gda", "gda-full"] if numbers else [])]
    names += ["logistic"] if plain else []
    names += ["softmax"] if plain and 2 < classes <= MANY else []
    names += ["additive"] if numbers and classes <= MANY else []
    return [MODEL_TYPES[name] for name in [*names, *(["text"] if "text" in kinds else [])]]
