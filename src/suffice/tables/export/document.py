"""A fitted model of a table as plain values: columns, features, and terms whose sum is the score."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from suffice.additive.bins import MISSING, OTHER, ColumnBins
from suffice.additive.scorer import AdditiveScorer
from suffice.generative.conditional import Linear
from suffice.generative.correlated import Correlated
from suffice.generative.event_models import Categories
from suffice.generative.independent import Independent
from suffice.generative.joint import Joint
from suffice.generative.product import Product
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.design_matrix import Design, Levels, Number
from suffice.tables.errors import TableError, time_of_day_error
from suffice.tables.number_format import MARKS, NumberFormat
from suffice.tables.predictors.additive import AdditivePredictor
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.predictors.naive_bayes import NaiveBayesPredictor
from suffice.tables.predictors.scorers import LinearMean, LinearScores
from suffice.tables.schema import Feature, Field, Schema

#: Name and version of the format.
FORMAT, VERSION = "suffice-model", 1
#: Attributes of a column and of a schema that an export writes, or that predictions do not depend on.
_FIELD = {"name", "kind", "type", "why", "parts", "truth", "format", "note", "is_uncertain", "is_code", "dates"}
_SCHEMA = {"fields", "target", "task", "missing", "roles", "table_notes"}

Term = dict[str, Any]


def export_document(model: Any) -> dict[str, Any]:
    """Return a fitted model of a table as plain values, which are sufficient to compute its predictions.

    Parameters
    ----------
    model
        A fitted :class:`suffice.TableModel`, or one that was read from a file.
    """
    schema, predictor = model.schema_, model.predictor_
    if isinstance(predictor, NaiveBayesPredictor):
        intercept, terms, labels = _naive_bayes(predictor, schema)
    elif isinstance(predictor, LinearPredictor):
        intercept, terms, labels = _linear_model(predictor)
    elif isinstance(predictor, AdditivePredictor):
        intercept, terms, labels = _additive(predictor)
    else:
        reason = {
            "near": "its predictions need the rows it was fitted to",
            "text": "its words are counted by the tokeniser of suffice",
        }[predictor.model_type.reads]
        raise TableError(
            f"the model {model.model_!r} cannot be exported, since {reason}: use suffice predict, or fit another model"
        )
    used = {name for term in terms for name in _features_of(term)}
    features = [feature for feature in schema.features if feature.name in used]
    columns = {feature.column for feature in features}
    fields = [field for field in schema.predictors if field.name in columns] or [schema.predictors[0]]  # counts rows
    _check_reading(schema, fields, features)
    scorer: Any = predictor.scorer
    classes = list(model._labels)
    document = {
        "format": FORMAT,
        "version": VERSION,
        "model": model.model_,
        "task": schema.task,
        "target": schema.target,
        "classes": classes,
        "scored_classes": [classes.index(label) for label in labels],
        "link": scorer.link if schema.task != "classes" else "softmax",
        "temperature": float(getattr(scorer, "temperature", 1.0)),
        "decision": None if model._decision is None else vars(model._decision),
        "missing": list(schema.missing),
        "marks": list(MARKS),
        "columns": [_column(field) for field in fields],
        "features": [feature._asdict() for feature in features],
        "intercept": intercept.tolist(),
        "terms": terms,
    }
    try:
        json.dumps(document, allow_nan=False)
    except ValueError:
        raise TableError(
            "the model has infinite parameters, such as the logarithm of a probability of 0, which are not exported: "
            "fit it with smoothing"
        ) from None
    return document


def _column(field: Field) -> dict[str, Any]:
    truth = None if field.truth is None else list(field.truth)
    found: dict[str, Any] = {"name": field.name, "kind": field.kind, "type": field.type, "truth": truth, "format": None}
    if field.kind in ("numeric", "count"):
        notation = field.format or NumberFormat()
        found["format"] = {**notation.to_plain(), "pattern": notation.pattern, "needs_unit": notation.needs_unit}
    elif field.format is not None:
        raise TableError(
            f"column {field.name!r} is a {field.kind} of formatted numbers ({field.format.describe()}), which an "
            "exported model does not read: use suffice predict, or convert the cells before the fit"
        )
    return found


def _features_of(term: Term) -> Iterator[str]:
    for part in (term, *term.get("sides", ()), *term.get("columns", ())):
        if "feature" in part:
            yield part["feature"]


def _check_reading(schema: Schema, fields: Sequence[Field], features: Sequence[Feature]) -> None:
    """Raise if the exported model would read a column differently from :mod:`suffice.tables.encoding`."""
    for own, known, what in (
        (schema, _SCHEMA, "the table"),
        *((field, _FIELD, f"column {field.name!r}") for field in fields),
    ):
        for each in dataclasses.fields(own):  # type: ignore[arg-type]
            default = each.default if each.default_factory is dataclasses.MISSING else each.default_factory()
            if each.name not in known and getattr(own, each.name) != default:
                raise TableError(
                    f"{what} is read with {each.name}={getattr(own, each.name)!r}, which an exported model does not "
                    "do: use suffice predict, or convert the cells before the fit"
                )
    for feature in features:
        if feature.kind == "text":
            raise _text_error(feature.column)
        if schema.field(feature.column).is_time_of_day:
            raise time_of_day_error(feature.column)
        if feature.kind == "category" and feature.part is None and schema.field(feature.column).type == "moment":
            raise TableError(
                f"column {feature.column!r} is a category of timestamps, whose names depend on the reader: use suffice "
                "predict, or fit it as a date"
            )


def _text_error(column: str) -> TableError:
    return TableError(
        f"column {column!r} is text, whose words are counted by the tokeniser of suffice: use suffice predict, or fit "
        f"without the column (--ignore {column})"
    )


# Naive Bayes: a term for each feature.


def _naive_bayes(predictor: NaiveBayesPredictor, schema: Schema) -> tuple[FloatArray, list[Term], Labels]:
    joint = predictor.scorer
    assert isinstance(joint, Joint)
    conditional = joint.conditional
    assert isinstance(conditional, Product)
    for feature in schema.features:
        if feature.kind == "text":
            raise _text_error(feature.column)
    some = np.flatnonzero(joint.prior > 0)
    intercept = joint.log_prior[some]
    terms: list[Term] = []
    for kind, factor in conditional.factors.items():
        names = [feature.name for feature in schema.features if feature.kind == kind]
        if isinstance(factor, Linear):
            if factor.veto is not None:
                raise TableError("the model has probabilities of 0, which are not exported: fit it with smoothing")
            intercept = intercept + factor.level[some]
        for j, name in enumerate(names):
            if isinstance(factor, Independent):
                mean, variance = (part[some, j].tolist() for part in (factor.mean, factor.variance))
                terms.append({"form": "gaussian", "feature": name, "mean": mean, "variance": variance})
            elif isinstance(factor, Categories):
                table = factor.tables[j][:, some]
                levels = [str(level) for level in factor.vocabularies[j]]
                terms.append(_levels_term(name, levels, table[:-1], table[-1], np.zeros(len(some))))
            else:
                assert isinstance(factor, Linear)
                missing = np.zeros(len(some)) if factor.missing is None else factor.missing[some, j]
                terms.append(_linear_term(name, 0.0, 1.0, factor.coef[some, j], missing))
    return intercept, terms, Labels(tuple(joint.labels.names[place] for place in some))


def _linear_term(name: str, centre: float, scale: float, coef: FloatArray, missing: FloatArray) -> Term:
    return {
        "form": "linear",
        "feature": name,
        "centre": centre,
        "scale": scale,
        "coef": coef.tolist(),
        "missing": missing.tolist(),
    }


def _levels_term(name: str, levels: Sequence[str], values: FloatArray, other: FloatArray, missing: FloatArray) -> Term:
    return {
        "form": "levels",
        "feature": name,
        "levels": list(levels),
        "values": values.tolist(),
        "other": other.tolist(),
        "missing": missing.tolist(),
    }


# Models of a design matrix: a term for each feature, or one quadratic term of all columns.


def _linear_model(predictor: LinearPredictor) -> tuple[FloatArray, list[Term], Labels]:
    scorer, design = predictor.scorer, predictor.design
    if isinstance(scorer, LinearMean):
        return np.array([scorer.intercept]), _design_terms(design, scorer.coef[None]), Labels()
    if isinstance(scorer, LinearScores):
        return scorer.intercept, _design_terms(design, scorer.coef), scorer.labels
    assert isinstance(scorer, Joint)
    some = np.flatnonzero(scorer.prior > 0)
    labels = Labels(tuple(scorer.labels.names[place] for place in some))
    conditional = scorer.conditional
    if not isinstance(conditional, Correlated):
        raise TableError(f"a {type(conditional).__name__} distribution of a table is not exported: use suffice predict")
    if conditional.apart is not None:
        coef, constant = conditional.apart
        return (scorer.log_prior + constant)[some], _design_terms(design, coef[some]), labels
    term = {
        "form": "quadratic",
        "columns": _design_columns(design),
        "mean": conditional.family.mu[some].tolist(),
        "whitener": conditional.family.whitener[some].tolist(),
    }
    return (scorer.log_prior + conditional.log_scale)[some], [term], labels


def _design_terms(design: Design, coef: FloatArray) -> list[Term]:
    """Return a term for each feature, given the coefficients of the columns, (t, d)."""
    found, nothing = [], np.zeros(len(coef))
    for term in design.terms:
        own = coef[:, design.spans[term.feature]]
        if isinstance(term, Number):
            missing = own[:, 1] if term.gaps else nothing
            found.append(_linear_term(term.feature, term.centre, term.scale, own[:, 0], missing))
        elif isinstance(term, Levels):
            missing = own[:, -1] if term.gaps else nothing
            shown = own[:, : len(term.shown)].T
            found.append(_levels_term(term.feature, term.shown, shown, nothing, missing))
        elif term.words:
            raise _text_error(term.feature)
    return found


def _design_columns(design: Design) -> list[dict[str, Any]]:
    """Return what each column of the design matrix holds."""
    found: list[dict[str, Any]] = []
    for term in design.terms:
        if isinstance(term, Number):
            found.append({"feature": term.feature, "centre": term.centre, "scale": term.scale})
        elif isinstance(term, Levels):
            found += [{"feature": term.feature, "level": level} for level in term.shown]
        else:
            raise _text_error(term.feature)
        if term.gaps:
            found.append({"feature": term.feature, "is_missing": True, "is_category": isinstance(term, Levels)})
    return found


# Additive models: a term for each column and each pair.


def _additive(predictor: AdditivePredictor) -> tuple[FloatArray, list[Term], Labels]:
    scorer: AdditiveScorer = predictor.additive
    for name, words in predictor.words.items():
        if words.words:
            raise _text_error(name)
    intercept = _both_classes(scorer, scorer.intercept[None])[0]
    terms: list[Term] = []
    for term in scorer.terms:
        fitted, values = term.fitted, _both_classes(scorer, term.cell_values())
        if fitted.right is None or fitted.right_cell is None:
            bins = scorer.columns[fitted.left]
            own = values[fitted.left_cell[: len(bins)]]
            if bins.edges is None:
                terms.append(_levels_term(str(bins.name), bins.levels or (), own[2:], own[OTHER], own[MISSING]))
            else:
                known = {"edges": bins.edges.tolist(), "values": own[1:].tolist(), "missing": own[MISSING].tolist()}
                terms.append({"form": "bins", "feature": str(bins.name), **known})
            continue
        left, right = scorer.columns[fitted.left], scorer.columns[fitted.right]
        sides = [_side(left, fitted.left_cell // fitted.width), _side(right, fitted.right_cell)]
        grid = values.reshape(fitted.height, fitted.width, -1)
        terms.append({"form": "pair", "sides": sides, "values": grid.tolist()})
    return intercept, terms, scorer.labels


def _both_classes(scorer: AdditiveScorer, values: FloatArray) -> FloatArray:
    """Return values with a column for each class: of two classes, the first has the score 0."""
    return np.concatenate([np.zeros_like(values), values], axis=1) if len(scorer.labels) == 2 else values


def _side(bins: ColumnBins, groups: Any) -> dict[str, Any]:
    """Return one side of a pair: its groups are those of the known cells in order, then of others, then of missing."""
    of_bins = [int(group) for group in groups[: len(bins)]]
    if bins.edges is not None:
        return {
            "feature": str(bins.name),
            "edges": bins.edges.tolist(),
            "groups": [*of_bins[1:], of_bins[MISSING]],
        }
    return {
        "feature": str(bins.name),
        "levels": list(bins.levels or ()),
        "groups": [*of_bins[2:], of_bins[OTHER], of_bins[MISSING]],
    }
