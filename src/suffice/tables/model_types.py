"""The models that a table can be given, by name."""

from __future__ import annotations

from typing import NamedTuple

from suffice.tables.errors import UsageError, nearest
from suffice.tables.schema import Schema, Task


class ModelType(NamedTuple):
    """A model of a table."""

    name: str
    title: str
    generative: bool
    tasks: tuple[Task, ...]
    reads: str  # cells, design, curves, text, near
    exact: bool  # whether it is read from a sum, and so merges and forgets

    @property
    def is_tempered(self) -> bool:
        """Whether held-out rows choose how far its posteriors are softened; the model of text chooses by itself."""
        return self.generative and self.reads != "text"

    @property
    def is_penalised(self) -> bool:
        """Whether its coefficients are held back by a penalty."""
        return self.reads in ("design", "curves") and not self.exact


#: With more classes than these, curves of every number for each of them take too long.
MANY = 10

_ALL: tuple[Task, ...] = ("classes", "numbers", "counts")
MODEL_TYPES = {
    form.name: form
    for form in (
        ModelType("nb", "naive Bayes, each column by its kind", True, ("classes",), "cells", True),
        ModelType("gda", "Gaussian discriminant analysis, one covariance", True, ("classes",), "design", True),
        ModelType(
            "gda-full",
            "Gaussian discriminant analysis, a covariance for each class",
            True,
            ("classes",),
            "design",
            True,
        ),
        ModelType("logistic", "logistic regression", False, ("classes",), "design", False),
        ModelType("softmax", "softmax regression", False, ("classes",), "design", False),
        ModelType("linear", "linear regression", False, ("numbers", "counts"), "design", True),
        ModelType("poisson", "Poisson regression", False, ("counts",), "design", False),
        ModelType("additive", "a regression on curves of the numbers", False, _ALL, "curves", False),
        ModelType("local", "locally weighted regression", False, ("classes", "numbers", "counts"), "near", False),
        ModelType("text", "naive Bayes on the words alone", True, ("classes",), "text", True),
    )
}


def find_model_type(name: str, schema: Schema) -> ModelType:
    """Return a form by its name, or say why it is none for this target."""
    if name not in MODEL_TYPES:
        raise UsageError(
            f"there is no model {name!r}; there are auto, {', '.join(MODEL_TYPES)}{nearest(name, MODEL_TYPES)}"
        )
    form = MODEL_TYPES[name]
    if schema.task not in form.tasks:
        fit = [each.name for each in MODEL_TYPES.values() if schema.task in each.tasks]
        raise UsageError(
            f"{name} predicts {' or '.join(form.tasks)}; the target {schema.target!r} holds {schema.task}: use "
            f"{', '.join(fit)}"
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
