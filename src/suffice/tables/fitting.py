"""The fit of a model of a table: read the rows, choose a model by cross-validation, fit it to all rows."""

from __future__ import annotations

import time
from contextlib import closing
from functools import partial
from typing import Any

import numpy as np

from suffice.model_types import MODEL_TYPES, ModelType
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables import scan
from suffice.tables.candidates import candidates, find_model_type
from suffice.tables.decision import Decision, check_decision, choose_threshold, find_positive, list_thresholds
from suffice.tables.encoding import Block, numeric_ranges
from suffice.tables.errors import TableError, UsageError
from suffice.tables.findings import find_warnings
from suffice.tables.fitted import FittedTable, with_target
from suffice.tables.importance import measure_importance
from suffice.tables.ledger import Ledger
from suffice.tables.model_search import HeldOut, apply_decision, evaluate_candidates, split_rows
from suffice.tables.predictors import Predictor, make_predictor, to_probabilities
from suffice.tables.predictors.additive import AdditivePredictor
from suffice.tables.predictors.linear import MEMORY, LinearPredictor
from suffice.tables.predictors.naive_bayes import NaiveBayesPredictor
from suffice.tables.predictors.summed import SummedPredictor
from suffice.tables.pushdown.database import PushdownError, TableDatabase, choose_database, is_faster_in_database
from suffice.tables.schema import Roles, Schema
from suffice.tables.sources.base import HERE, Source, Watch

#: With ``most_rows="auto"``, regressions are fitted to all rows if a pass takes at most ``PRODUCTS`` products, additive
#: models if the rows in bins take at most ``MEMORY`` bytes, and to ``DRAWN`` random rows otherwise.
PRODUCTS = 2e9
DRAWN = 500_000


def fit_table(model: FittedTable, table: Any, target: Any, watch: Watch | None = None) -> None:
    """Fit a model with these parameters to a table, and set its attributes.

    Parameters
    ----------
    model
        The parameters; receives the fit.
    table, target, watch
        As :meth:`suffice.tables.TableModel.fit` takes them.
    """
    if not isinstance(model.model, str):
        raise TypeError(f"model must be 'auto' or the name of a model: {', '.join(MODEL_TYPES)}; got {model.model!r}")
    if model.folds < 2:
        raise ValueError(f"folds must be 2 or more; got {model.folds!r}")
    if model.most_rows not in (None, "auto") and not (isinstance(model.most_rows, int) and model.most_rows >= 1):
        raise ValueError(f"most_rows must be 1 or more, 'auto', or None for all rows; got {model.most_rows!r}")
    if model.ledger and model.in_database:
        raise ValueError("ledger=True reads every row: leave out in_database=True")
    by_rows = [role for role in ("group", "time", "weight") if getattr(model, role) is not None]
    check_decision(model.cost, model.threshold)
    if by_rows and model.in_database:
        raise ValueError(f"{by_rows[0]}= is read row by row: leave out in_database=True")
    strings = [str(name) for name, kind in (model.columns or {}).items() if kind in ("category", "text")]
    source, name = with_target(table, target, strings=strings)
    start = time.perf_counter()

    database = None if model.ledger or by_rows else choose_database(source, model.in_database, model.model)
    try:
        with closing(_read(model, source, name, database, watch)) as found:
            _select_and_fit(model, found, watch)
    finally:
        if database is not None:
            database.close()
    model.seconds_ = time.perf_counter() - start


def _read(
    model: FittedTable, source: Source, target: str, database: TableDatabase | None, watch: Watch | None
) -> scan.ScanResult:
    """Scan a table: in its database if possible, else by reading it."""
    roles = Roles(model.group, model.time, model.weight)
    is_part = model.model in MODEL_TYPES and MODEL_TYPES[model.model].exact
    asked = (target, model.columns, model.task, partial(_drawn, model), partial(_summed, model), roles, is_part)
    note = ""
    if database is not None:
        from suffice.tables.pushdown.scan import DatabaseScan  # with the SQL kernels, which files do not need

        try:
            return scan.scan_table(DatabaseScan(source, database, model.random_state, watch), *asked)
        except PushdownError as error:
            if model.in_database:
                raise
            note = str(error)
    ledger = Ledger.empty(model.random_state) if model.ledger else None
    return scan.scan_table(
        scan.StreamScan(source, model.random_state, watch, note, ledger, _may_cache_rows(model)), *asked
    )


def _may_cache_rows(model: FittedTable) -> bool:
    """Whether the model may be one that reads all rows in several passes."""
    named = MODEL_TYPES.get(model.model)
    return model.most_rows in (None, "auto") and (named is None or named.is_penalised or named.reads == "bins")


def _drawn(model: FittedTable, schema: Schema) -> int:
    """Return the size of the sample that is drawn while a table is read.

    Models are compared on the sample. It is larger if models are fitted to it, unless they are fitted to cached
    rows.
    """
    if _may_cache_rows(model) or (model.model != "auto" and find_model_type(model.model, schema).exact):
        return scan.COMPARISON_ROWS
    return _most_fitted(model) or scan.COMPARISON_ROWS


def _most_fitted(model: FittedTable) -> int | None:
    """Maximum number of rows for models that are neither fitted from sums nor in passes over all rows."""
    if model.most_rows is None:
        return None
    return max(DRAWN if isinstance(model.most_rows, str) else model.most_rows, scan.COMPARISON_ROWS)


def _summed(model: FittedTable, schema: Schema) -> ModelType | None:
    """Return the model whose sums are computed while rows are read: the one that the user names, if it has sums."""
    model_type = None if model.model == "auto" else find_model_type(model.model, schema)
    return model_type if model_type is not None and model_type.exact and model_type.reads != "cells" else None


def _select_and_fit(model: FittedTable, found: scan.ScanResult, watch: Watch | None) -> None:
    """Choose a model, and fit it to all rows."""
    schema, labels = found.schema, found.labels
    rows = found.comparison_sample(model.random_state)
    sample, values = rows.sample, rows.values
    if sample.weights is not None and not sample.weights.any():
        raise TableError(f"the weight {schema.roles.weight!r} is 0 in every row: no row counts; name another column")
    auto = model.model == "auto"
    model_types = candidates(schema, len(labels), found.rows) if auto else [find_model_type(model.model, schema)]
    positive = _check_classes(model, schema, labels, found.description.class_count_)
    trial = split_rows(rows, schema, labels, model.folds, model.random_state, positive)
    model.candidates_, held_out = evaluate_candidates(model_types, trial, model.random_state, watch)
    model._decision, model.thresholds_, model.importance_ = None, [], []
    if held_out is not None:
        model.importance_ = measure_importance(held_out, model.random_state)
        _choose_threshold(model, held_out, positive)
    best = model.candidates_[0]
    model.warnings_ = find_warnings(trial, schema.target, model.candidates_, model.importance_)
    if auto and best.why:
        raise TableError(f"no model can be fitted to these rows ({best.model}: {best.why})")
    model_type = find_model_type(best.model, schema)
    if watch is not None:
        watch(f"fitting {model_type.name}", 0, None)
    model.summed_, model.summed_note_ = found.where, found.note
    chosen = None if held_out is None else _chosen_predictor(held_out)
    model.predictor_ = _fitted(model, model_type, best.penalty, found, sample, chosen)
    if model_type.is_tempered:
        model.predictor_.set_temperature(best.temperature)
    model._description = None if isinstance(model.predictor_, NaiveBayesPredictor) else found.description
    model.schema_, model.model_ = schema, model_type.name
    model._labels, model._bins = labels, found.bins
    model.ledger_ = found.ledger if model_type.exact else None
    model.rows_, model.skipped_ = found.rows, found.skipped
    model.ranges_ = numeric_ranges(sample)
    if schema.task != "classes":
        model.ranges_[schema.target] = float(values.min()), float(values.max())
    model._noise = 0.0
    if schema.task == "numbers":
        squares = (values - model.predictor_.predict(sample)) ** 2
        model._noise = float(np.sqrt(np.average(squares, weights=sample.weights)))


def _check_classes(model: FittedTable, schema: Schema, labels: Labels, counts: FloatArray) -> int:
    """Return the code of the positive class; raise for settings of classes where the target is a number."""
    for name in ("positive", "cost", "threshold"):
        if getattr(model, name) is not None and schema.task != "classes":
            raise UsageError(
                f"{name} is about classes, and the target {schema.target!r} holds {schema.task}: leave out --{name}"
            )
    is_asked = model.positive is not None or model.cost is not None or model.threshold is not None
    is_binary = schema.task == "classes" and len(labels) == 2
    return find_positive(model.positive, labels, schema.target, counts) if is_asked or is_binary else 1


def _choose_threshold(model: FittedTable, held_out: HeldOut, positive: int) -> None:
    """Choose the threshold by the costs on held-out rows, and list what others do there."""
    trial, k = held_out.trial, len(held_out.trial.labels)
    if trial.task != "classes" or (k != 2 and model.positive is None):
        return
    tested = trial.tested
    p = to_probabilities(held_out.scores[tested])
    is_positive = trial.values[tested] == positive
    weights = None if trial.sample.weights is None else trial.sample.weights[tested]
    threshold = model.threshold
    if threshold is None and model.cost is not None:
        threshold = choose_threshold(p[:, positive], is_positive, model.cost, weights)
    model.thresholds_ = list_thresholds(p[:, positive], is_positive, weights, model.cost, threshold)
    if threshold is not None:
        model._decision = Decision(positive, float(threshold))
        chosen = apply_decision(model.candidates_[0], model._decision.decide(p), trial)
        model.candidates_ = [chosen, *model.candidates_[1:]]


def _fitted(
    model: FittedTable,
    model_type: ModelType,
    penalty: float,
    found: scan.ScanResult,
    sample: Block,
    chosen: AdditivePredictor | None,
) -> Predictor:
    """Return the model fitted to all rows, or to as many as it may use; with the choices of a model if one is given."""
    predictor = make_predictor(model_type, found.schema.task, found.labels, penalty) if chosen is None else chosen
    model.fitted_rows_ = found.rows
    if isinstance(predictor, NaiveBayesPredictor):
        predictor.inner = found.description
        _ = predictor.scorer  # raises now for sums that cannot be read
        return predictor
    if found.summed is not None:
        return found.summed
    if chosen is None:
        predictor.prepare(sample)
        if found.rows > sample.rows:
            predictor.extend_levels(found.description)
    learn = predictor.learn if chosen is None else chosen.learn_again
    if found.sums is not None and isinstance(predictor, SummedPredictor):
        if model.in_database or is_faster_in_database(predictor.design.width):
            return found.sums.fit_linear(predictor)
        model.summed_ += f", of products {HERE}"
    if model_type.exact:
        return predictor.learn(found.all_rows())
    if found.rows > DRAWN and _takes_all_rows(model, predictor, found, sample):
        if isinstance(predictor, LinearPredictor):
            return predictor.learn_in_passes(partial(found.all_rows, packed=True), found.rows)
        return learn(found.all_rows(packed=True))
    model.fitted_rows_ = min(found.rows, _most_fitted(model) or found.rows)
    return learn(found.drawn_again(model.fitted_rows_, model.random_state))


def _chosen_predictor(held_out: HeldOut) -> AdditivePredictor | None:
    """Return the additive model of the last held-out fold, if its pairs and penalties are those of the fit to all rows.

    They are where a second choice would take as long as the comparison, and where rows have groups or times, by which
    the folds of the comparison alone are split.
    """
    trial, (*_, last) = held_out.trial, held_out.models.values()
    has_roles = trial.is_ordered or (trial.groups is not None and not trial.copies)
    if not isinstance(last, AdditivePredictor) or (len(held_out.models) > 1 and not has_roles):
        return None
    return last if len(last.additive.labels) == len(trial.labels) else None


def _takes_all_rows(model: FittedTable, predictor: Predictor, found: scan.ScanResult, sample: Block) -> bool:
    """Whether a regression or an additive model is fitted to all rows of a large table."""
    if not isinstance(predictor, LinearPredictor | AdditivePredictor):
        return False
    if model.most_rows != "auto":
        return model.most_rows is None
    if isinstance(predictor, AdditivePredictor):
        return found.has_cached_rows and not predictor.words and found.rows * predictor.row_size() <= MEMORY
    return found.has_cached_rows and found.rows * predictor.row_products(sample) <= PRODUCTS
