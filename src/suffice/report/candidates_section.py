"""Section on model selection: candidates compared by cross-validation."""

from __future__ import annotations

import numpy as np

from suffice.report.displays import CandidatesDisplay
from suffice.report.elements import Column, Section, Table, make_figure
from suffice.report.formats import (
    format_count,
    format_digits,
    format_metric,
    format_names,
    format_value,
)
from suffice.report.report_data import ReportData
from suffice.tables import Candidate
from suffice.tables.model_search import is_no_better_than_baseline

#: Loss by which candidates are compared, and its gloss.
_LOSSES = {
    "classes": ("log loss", "mean of −log p of the true class"),
    "numbers": ("RMSE", "root mean squared error"),
    "counts": ("Poisson deviance", "twice the log-likelihood ratio of perfect and predicted rates, per row"),
}
_METRIC_NAMES = {"absolute error": "mean absolute error", "squared error": "mean squared error"}


def candidates_section(data: ReportData) -> Section:
    """Return the section on model selection."""
    candidates = data.model.candidates_
    model_type = data.model.predictor_.model_type
    loss_name, gloss = _LOSSES[data.task]
    if len(data.models) < 2:
        introduction = [f"The model was specified: {model_type.name}, {model_type.title}."]
        if candidates and np.isfinite(candidates[0].loss):
            introduction.append(f"In cross-validation, its {loss_name} was {_format_loss(candidates[0])}.")
            introduction.append(_intervals(candidates[0], loss_name))
        introduction.append(_guessing(candidates))
        table = _candidates_table(candidates, loss_name) if len(candidates) > 1 else None
        specified = {"introduction": introduction, "figure": None, "candidates": table}
        return Section("candidates", "Model selection", "candidates", specified)
    shown = [each for each in candidates if np.isfinite(each.loss)]
    fitted = [each for each in shown if not each.is_baseline]
    display = CandidatesDisplay(
        [each.model for each in shown],
        [each.loss for each in shown],
        [each.spread for each in shown],
        [_kind(each) for each in shown],
        loss_name,
    )
    caption = f"Points are the mean {loss_name} ({gloss}); error bars are one standard error."
    introduction = [
        f"{format_count(len(data.models), 'model')} were compared by cross-validation{_held_out(fitted[0])}.",
        f"{_choice(fitted, loss_name)}: {model_type.name}, {model_type.title}.",
        _intervals(fitted[0], loss_name),
        _ties(fitted),
        _guessing(candidates),
    ]
    content = {
        "introduction": introduction,
        "figure": make_figure(display, caption),
        "candidates": _candidates_table(candidates, loss_name),
    }
    return Section("candidates", "Model selection", "candidates", content)


def _format_loss(candidate: Candidate) -> str:
    loss = format_value(candidate.loss)
    return f"{loss} ± {format_digits(candidate.spread, 2)}" if np.isfinite(candidate.spread) else loss


def _intervals(candidate: Candidate, loss_name: str) -> str:
    """Return a sentence with the 95 % intervals of the measures of the selected model."""
    if not candidate.intervals:
        return ""
    low, high = candidate.intervals["loss"]
    found = f"95 % interval of its {loss_name}: {format_value(low)} to {format_value(high)}"
    if "accuracy" in candidate.intervals:
        low, high = candidate.intervals["accuracy"]
        found += f"; of its accuracy: {format_metric('accuracy', low)} to {format_metric('accuracy', high)}"
    return f"{found}."


def _held_out(candidate: Candidate) -> str:
    return f", on {format_count(candidate.rows, 'held-out row')}" if candidate.rows else ""


def _choice(fitted: list[Candidate], loss_name: str) -> str:
    """Return how the model was selected."""
    best = min(fitted, key=lambda each: each.loss)
    if best.model == fitted[0].model:
        return f"The model of lowest {loss_name} was selected"
    return f"The simplest model within one standard error of the lowest {loss_name}, that of {best.model}, was selected"


def _guessing(candidates: list[Candidate]) -> str:
    if not is_no_better_than_baseline(candidates):
        return ""
    return "No better than guessing: the lowest loss is within one standard error of the baseline."


def _ties(fitted: list[Candidate]) -> str:
    """Return a sentence on the models that are not clearly worse than the best, row by row."""
    close = [each.model for each in fitted[1:] if each.behind_error and each.behind <= each.behind_error]
    return f"Within one standard error of the lowest loss: {format_names(close)}." if close else ""


def _candidates_table(candidates: list[Candidate], loss_name: str) -> Table:
    metrics = list(dict.fromkeys(name for each in candidates for name in each.measures))
    rows = []
    for each in candidates:
        loss = _format_loss(each) if np.isfinite(each.loss) else f"not fitted: {each.why}"
        values = [_format_measure(name, each.measures.get(name, np.nan)) for name in metrics]
        rows.append((each.model, each.title, _kind(each), loss, *values))
    columns = [
        Column("model"),
        Column("description", "prose"),
        Column("kind"),
        Column(f"{loss_name} ± standard error", "number"),
        *(Column(_METRIC_NAMES.get(name, name), "number") for name in metrics),
    ]
    return Table("Candidates by loss on held-out rows, the best first", columns, rows)


def _kind(candidate: Candidate) -> str:
    if candidate.is_baseline:
        return "baseline"
    return "generative" if candidate.generative else "discriminative"


def _format_measure(name: str, value: float) -> str:
    return format_metric(name, value) if name == "accuracy" else format_value(value)
