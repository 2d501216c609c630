"""The report page: sections, headline metrics, glossary, and the rendering of its template."""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from sklearn.utils.validation import check_is_fitted

import suffice
from suffice.html_fragments import palette_css
from suffice.plots.style import require_matplotlib
from suffice.report.boundary_section import boundary_section, select_features
from suffice.report.candidates_section import candidates_section
from suffice.report.classes_section import classes_section, informative_features
from suffice.report.data_section import data_section
from suffice.report.drift_section import drift_section
from suffice.report.effects_section import effects_section
from suffice.report.elements import Section, templates
from suffice.report.errors_section import errors_section
from suffice.report.formats import capitalise, format_count, format_metric
from suffice.report.importance_section import feature_effects, importance_section
from suffice.report.learning_curve_section import learning_curve_section
from suffice.report.metrics_section import baselines, metrics_section
from suffice.report.model_card_section import model_card_section
from suffice.report.report_data import ReportData
from suffice.report.solver_section import solver_section
from suffice.report.terms_section import terms_section
from suffice.tables import TableModel
from suffice.tables.sources.base import Watch
from suffice.tables.table_writer import check_writable, replace_file

if TYPE_CHECKING:
    from suffice.typing import TableLike

#: Headline metrics of each task, and their glosses.
_HEADLINES = {
    "classes": {
        "accuracy": "share of rows whose class is predicted correctly",
        "ROC AUC": "probability that a row of the positive class has a higher score than another row; 1 is best",
        "log loss": "mean of −log p of the true class; 0 is best",
        "calibration error": "mean difference of confidence and accuracy; 0 is best",
    },
    "numbers": {
        "R²": "share of the variance explained; 1 is best",
        "RMSE": "root mean squared error",
        "MAE": "mean absolute error",
    },
    "counts": {
        "Poisson deviance": "0 is best",
        "R²": "share of the variance explained; 1 is best",
        "MAE": "mean absolute error",
    },
}
_N_HEADLINES = 3
_METRIC_TERMS = {
    "accuracy": "Share of rows whose most probable class is the actual class.",
    "log loss": "Mean of −log p, where p is the predicted probability of the true class. Confident errors cost most; 0 "
    "is best.",
    "Brier score": "Mean squared difference of predicted probabilities and outcomes; 0 is best.",
    "calibration error": "Expected calibration error: mean absolute difference of confidence and accuracy in bins.",
    "ROC AUC": "Area under the ROC curve: the probability that a random row of the class has a higher score than a "
    "random other row. 0.5 is random, 1 is best.",
    "RMSE": "Root mean squared error: the size of a typical error; large errors weigh more.",
    "MAE": "Mean absolute error.",
    "R²": "Share of the variance of the target that the predictions explain: 1 is best, 0 is the baseline.",
    "Poisson deviance": "Twice the difference of the Poisson log-likelihoods of perfect and predicted rates, per "
    "row; 0 is best.",
}
_CLASS_TERMS = {
    "precision": "Of the rows predicted as this class, the share that are.",
    "recall": "Of the rows of this class, the share predicted as it. Also called true positive rate.",
    "confusion matrix": "Number of rows of each actual class (row) and predicted class (column).",
    "ROC curve": "True positive rate against false positive rate, over all thresholds.",
    "calibration": "Agreement of predicted probabilities and observed frequencies: of rows predicted with 80%, 80% are "
    "right.",
    "decision boundary": "Where two classes are equally probable, and the prediction changes.",
    "log-odds": "log(p / (1 − p)). Effects of features add up on this scale: +0.7 doubles the odds, −0.7 halves them.",
    "prior and base": "Log-odds before any column is read: mostly the class frequencies.",
}
_COMMON_TERMS = {
    "baseline": "The best constant prediction: the class frequencies, or the mean.",
    "cross-validation": "The rows are split into folds; each fold is predicted by a model fitted to the others.",
    "generative model": "Models the distribution of the rows of each class, and predicts by Bayes' rule.",
    "discriminative model": "Models the target given the columns, and not the columns themselves.",
}


def report(
    model: TableModel,
    table: TableLike,
    path: str | os.PathLike[str],
    *,
    features: tuple[str, str] | None = None,
    watch: Watch | None = None,
    date: datetime.date | None = None,
) -> Path:
    """Write an HTML page about a fitted model and a table with known targets, and return its path.

    The page is one self-contained file: data, drift (of another table than the training one), model selection, metrics,
    thresholds and their costs, feature importance, effects of columns, class distributions,
    decision boundary, errors with explanations, learning curve, convergence, model card. Metrics are of all rows; plots
    are of a random sample of up to 20,000. The file is replaced atomically.

    Parameters
    ----------
    model
        The fitted model.
    table
        A table, as :func:`suffice.tables.open_table` takes it: a file, a folder, a database, a data frame, a source.
    path
        Path of the page; an existing file is replaced.
    features
        Two numeric columns for the decision boundary; the two most important by default.
    watch
        Progress callback: called with the current step, the amount done, and the total where it is known.
    date
        Date on the page; today by default.

    Examples
    --------
    >>> import tempfile, suffice, suffice.demo
    >>> from suffice.report import report
    >>> model = suffice.fit(suffice.demo.messages(), "label")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = report(model, suffice.demo.messages(), f"{folder}/report.html")
    ...     file.name, file.read_text(encoding="utf-8")[:15]
    ('report.html', '<!DOCTYPE html>')
    """
    if not isinstance(model, TableModel):
        raise TypeError(f"model must be a TableModel, as suffice.fit returns it; got {type(model).__name__}")
    check_is_fitted(model, "predictor_")
    require_matplotlib()
    check_writable(path)
    data = ReportData.from_table(model, table, watch)
    sections = _make_sections(data, features, watch)
    page = render_page(data, sections, Path(path), date or datetime.date.today())
    with replace_file(path) as temporary:
        temporary.write_text(page, encoding="utf-8")
    return Path(path)


def _make_sections(data: ReportData, features: Any, watch: Watch | None) -> list[Section]:
    effects = feature_effects(data)
    order = informative_features(data) if effects is None else effects.order()
    selected = select_features(data, features, order)
    pair = (selected[0], selected[1]) if len(selected) == 2 else None
    makers: list[Callable[[], Section | None]] = [
        lambda: data_section(data),
        lambda: drift_section(data),
        lambda: candidates_section(data),
        lambda: metrics_section(data),
        lambda: importance_section(data, effects),
        lambda: effects_section(data, effects),
        lambda: terms_section(data),
        lambda: classes_section(data, pair),
        lambda: boundary_section(data, selected),
        lambda: errors_section(data),
        lambda: learning_curve_section(data),
        lambda: solver_section(data),
        lambda: model_card_section(data),
    ]
    sections = []
    for index, make in enumerate(makers):
        if watch is not None:
            watch("drawing", index, len(makers))
        sections.append(make())
    return [section for section in sections if section is not None]


def render_page(data: ReportData, sections: list[Section], path: Path, date: datetime.date) -> str:
    """Return the HTML page."""
    return (
        templates()
        .get_template("report.html")
        .render(
            version=suffice.__version__,
            palette=Markup(palette_css(":root")),
            title=f"Prediction of {data.target}",
            summary=_summary(data),
            date=date,
            day=f"{date.day} {date:%B %Y}",
            metrics=_headline_metrics(data),
            sections=sections,
            glossary=_glossary(data),
            command=f"suffice report MODEL {shlex.quote(data.table_name)} -o {shlex.quote(path.name)}",
        )
    )


def _summary(data: ReportData) -> str:
    model = data.model
    rows = format_count(model.rows_, "row")
    if model.fitted_rows_ < model.rows_:
        rows = f"a random sample of {model.fitted_rows_:,} of {rows}"
    return (
        f"{capitalise(model.predictor_.model_type.title)}, fitted to {rows}; evaluated on "
        f"{format_count(data.n_rows, 'row')} of {data.table_name}."
    )


def _headline_metrics(data: ReportData) -> list[dict[str, str]]:
    """Return the headline metrics: of held-out rows where the table holds the training rows."""
    here, predict_held_out, baseline = data.evaluation.summary(), data.held_out_metrics, baselines(data)
    is_held_out = data.is_training_data and bool(predict_held_out)
    shown, other = (predict_held_out, here) if is_held_out else (here, predict_held_out)
    metrics = []
    for name in [name for name in _HEADLINES[data.task] if name in shown][:_N_HEADLINES]:
        note = [capitalise(_HEADLINES[data.task][name])]
        if name in baseline and name not in ("ROC AUC", "R²"):
            note.append(f"Baseline: {baseline[name]}")
        if name in other:
            rows = "training rows" if is_held_out else "held-out rows of cross-validation"
            note.append(f"On the {rows}: {format_metric(name, other[name])}")
        metrics.append(
            {
                "name": capitalise(name) + (" on held-out rows" if is_held_out else ""),
                "value": format_metric(name, shown[name]),
                "note": ". ".join(note) + ".",
            }
        )
    return metrics


def _glossary(data: ReportData) -> dict[str, str]:
    metrics = {name: _METRIC_TERMS[name] for name in data.evaluation.summary() if name in _METRIC_TERMS}
    terms = metrics | (_CLASS_TERMS if data.task == "classes" else {}) | _COMMON_TERMS
    return {capitalise(term): definition for term, definition in terms.items()}
