"""Documents of a cluster: counted on its workers, vocabularies united on the way to one sum."""

from __future__ import annotations

import operator
from functools import partial
from typing import Any

from suffice import partitioned, validation
from suffice.data import Dataset
from suffice.data.dataset import Piece, model_for_parts, no_rows
from suffice.data.refusals import refused_in_parts
from suffice.statistics import Labels
from suffice.text.candidates import candidates
from suffice.text.event_models import GENERATIVE, Form
from suffice.text.inputs import Arrived, arrived


def learnt_from(model: Any, data: Dataset, classes: Any) -> Any:
    """Return a model like this one that has learnt from the documents of a cluster."""
    part = model._fresh()
    part.n_jobs = model_for_parts(model, data).n_jobs
    if model.model == "auto":
        part.model = model.model_ if hasattr(model, "_learnt") else _form(model, data)
    if part.model not in GENERATIVE:
        raise refused_in_parts("documents", f"model={model.model!r}")
    learnt: Any = data.map_parts(partial(_counted, part, classes)).reduce(operator.add)
    if learnt is None:
        raise no_rows()
    learnt.model, learnt.n_jobs = model.model, model.n_jobs
    learnt._hold_parameters()
    return learnt


def _form(model: Any, data: Dataset) -> Form:
    """Return the form that predicts some of the documents best, of those that are read from counts."""
    came = _came(model, partitioned.sample_rows(data))
    labels, codes = Labels.discover(validation.targets(came.labels, len(came.documents)))
    found = candidates(model._kept(came.documents, codes, came.weight, labels), model.alpha, model.l2, model._engine)
    return next(one.model for one in found if one.model in GENERATIVE)


def _counted(blank: Any, classes: Any, piece: Piece) -> Any:
    """Return what one part of the documents teaches."""
    with validation.one_of_many():
        part = blank._fresh()
        part._learn(_came(part, piece), classes)
        return part


def _came(model: Any, piece: Piece) -> Arrived:
    return arrived(piece["X"], piece["y"], piece.get("sample_weight"), model._features, model.encoding)
