"""Section on metrics: confusion matrix, calibration, ROC and precision-recall curves, residuals."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.metrics import (
    average_precision,
    calibration_curve,
    class_baseline,
    poisson_deviances,
    precision_recall_curve,
    rank,
    roc_auc,
    roc_curve,
)
from suffice.plots import (
    CalibrationDisplay,
    ConfusionMatrixDisplay,
    PrecisionRecallDisplay,
    ResidualsDisplay,
    RocCurveDisplay,
)
from suffice.report.elements import Column, Figure, Section, Table, make_figure
from suffice.report.formats import format_count, format_digits, format_metric, format_names, format_share, format_value
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables.decision import ThresholdMeasures

#: Maximum number of classes of the confusion matrix, and of curves.
_MAX_MATRIX_CLASSES, _MAX_CURVES = 20, 6
#: Maximum number of points of a curve, of confused pairs, and of classes in the table of precision and recall.
_MAX_POINTS, _MAX_PAIRS, _MAX_CLASSES = 250, 10, 50
#: Costs of a missed row in false alarms, where the user gave none.
_COST_RATIOS = (1, 5, 20)


def metrics_section(data: ReportData) -> Section:
    """Return the section on metrics."""
    introduction = [
        f"Metrics of all {format_count(data.n_rows, 'row')}.",
        "By their number, these are the training rows: metrics and plots are optimistic. Judge the model by the "
        "metrics of held-out rows."
        if data.is_training_data
        else "",
        _unknown_classes_note(data),
    ]
    if data.task == "classes":
        pairs = _confused_pairs_table(data) if len(data.classes) > 2 else None
        thresholds = _thresholds_table(data)
        others = [each for each in (pairs, thresholds) if each is not None]
        tables = [_metrics_table(data), _class_metrics_table(data), *others]
        figures = _class_figures(data)
    else:
        tables, figures = [_metrics_table(data)], _residual_figures(data)
    content = {"introduction": introduction, "tables": tables, "figures": figures}
    return Section("metrics", "Metrics on this table", "metrics", content)


def _unknown_classes_note(data: ReportData) -> str:
    if not data.n_unknown:
        return ""
    names = format_names(list(data.evaluation.unknown))
    return (
        f"{format_count(data.n_unknown, 'row')} of classes that are unknown to the model ({names}) count as errors; "
        "their probability of 0 counts as 1e-15 in the log loss. The confusion matrix and the curves exclude them."
    )


def _metrics_table(data: ReportData) -> Table:
    baseline = baselines(data)
    held_out = {name: format_metric(name, value) for name, value in data.held_out_metrics.items()}
    rows = [
        (name, held_out.get(name, ""), format_metric(name, value), baseline.get(name, ""))
        for name, value in data.evaluation.summary().items()
    ]
    here = "training rows" if data.is_training_data else "this table"
    columns = [Column("metric"), *(Column(name, "number") for name in ("held-out rows", here, "baseline"))]
    constant = "class frequencies" if data.task == "classes" else "the mean"
    return Table("Metrics", columns, rows, compact=True, note=f"Baseline: predicts {constant} for every row.")


def _thresholds_table(data: ReportData) -> Table | None:
    """Return what thresholds do and cost on held-out rows; None without a positive class, as of many classes."""
    model = data.model
    if not model.thresholds_:
        return None
    ratios = () if model.cost is not None else _COST_RATIOS
    costs = np.array([[_cost(model.thresholds_, each, ratio) for ratio in ratios] for each in model.thresholds_])
    lowest = costs == costs.min(axis=0) if ratios else costs
    rows = [
        (
            format_value(each.threshold) + (" (used)" if each.threshold == model.threshold_ else ""),
            *(
                "" if np.isnan(value) else format_share(value)
                for value in (each.recall, each.precision, each.predicted)
            ),
            *([] if each.cost is None else [format_value(each.cost)]),
            *(
                format_digits(float(cost), 3) + (" (lowest)" if is_lowest else "")
                for cost, is_lowest in zip(costs[row], lowest[row], strict=True)
            ),
        )
        for row, each in enumerate(model.thresholds_)
    ]
    names = ["recall", "precision", "predicted", *([] if model.cost is None else ["cost of a row"])]
    names += [f"cost, misses × {ratio}" for ratio in ratios]
    columns = [Column("threshold"), *(Column(name, "number") for name in names)]
    note = "A row is predicted as positive if its probability is at least the threshold."
    if ratios:
        note += (
            " Costs of a row, where a false alarm costs 1 and a missed row as many times that; give cost= for your own."
        )
    caption = f"Thresholds of the probability of {model.positive_}, on held-out rows"
    return Table(caption, columns, rows, compact=True, note=note)


def _cost(all_measures: list[ThresholdMeasures], each: ThresholdMeasures, ratio: int) -> float:
    """Return the mean cost of a row, where a false positive costs 1 and a false negative the ratio."""
    # A threshold that nothing reaches has no precision, and no recall of its own to tell the share of positive rows.
    share = next((one.predicted * one.precision / one.recall for one in all_measures if one.recall > 0), 0.0)
    false_positives = each.predicted * (1 - np.nan_to_num(each.precision))
    return float(false_positives + ratio * share * (1 - np.nan_to_num(each.recall)))


def baselines(data: ReportData) -> dict[str, str]:
    """Return the metrics of the best constant prediction: the class frequencies, or the mean."""
    if data.task != "classes":
        metrics = {"RMSE": format_value(float(data.targets.std())), "R²": "0"}
        if data.task == "counts":
            mean = np.full(len(data.targets), data.targets.mean())
            metrics["Poisson deviance"] = format_value(float(poisson_deviances(data.targets, mean).mean()))
        return metrics
    unknown = list(data.evaluation.unknown.values())
    counts = np.append(data.evaluation.confusion.sum(axis=1), np.array(unknown, dtype=np.int64))
    return {
        name: format_share(value) if name == "accuracy" else format_value(value)
        for name, value in class_baseline(counts).items()
    }


def _class_metrics_table(data: ReportData) -> Table:
    classes = data.evaluation.per_class()
    if len(classes) > _MAX_CLASSES:
        classes = sorted(classes, key=lambda each: -each["rows"])[:_MAX_CLASSES]
    rows = [
        (str(each["class"]), f"{each['rows']:,}", *(format_share(each[name]) for name in ("precision", "recall", "F1")))
        for each in classes
    ]
    columns = [Column(data.target), *(Column(name, "number") for name in ("rows", "precision", "recall", "F1"))]
    return Table(
        "Precision and recall",
        columns,
        rows,
        compact=True,
        note="Precision: of the rows predicted as this class, the share that are. Recall: of the rows of this class, "
        "the share predicted as it. F1: their harmonic mean.",
    )


def _confused_pairs_table(data: ReportData) -> Table | None:
    """Return the pairs of classes that are confused most often."""
    confusion = data.evaluation.confusion
    errors = confusion.copy()
    np.fill_diagonal(errors, 0)
    order = np.argsort(-errors, axis=None, kind="stable")[:_MAX_PAIRS]
    rows = [
        (
            data.classes[actual],
            data.classes[predicted],
            f"{errors[actual, predicted]:,}",
            format_share(float(errors[actual, predicted] / confusion[actual].sum())),
        )
        for actual, predicted in (divmod(int(index), len(errors)) for index in order)
        if errors[actual, predicted]
    ]
    if not rows:
        return None
    columns = [
        Column("actual"),
        Column("predicted"),
        Column("rows", "number"),
        Column("share of the actual class", "number"),
    ]
    return Table("Most frequent confusions", columns, rows, compact=True)


def _class_figures(data: ReportData) -> list[Figure]:
    figures = []
    if len(data.classes) <= _MAX_MATRIX_CLASSES:
        matrix = ConfusionMatrixDisplay(data.evaluation.confusion, data.classes)
        caption = "Each row is an actual class, each column a predicted class; shares are of the row."
        figures.append(make_figure(matrix, caption))
    curve = CalibrationDisplay(*calibration_curve(data.evaluation.calibration), label="the predicted class")
    caption = (
        "Of the rows predicted with some probability, the share predicted correctly. Calibrated probabilities lie on "
        "the dotted line. Bars show the number of rows."
    )
    return [*figures, make_figure(curve, caption), *_ranking_figures(data)]


def _ranking_figures(data: ReportData) -> list[Figure]:
    """Return the ROC and precision-recall curves of the positive one of two classes, or of the most frequent ones."""
    if len(data.classes) == 2:
        rankings = {data.classes[data.evaluation.positive]: data.evaluation.ranking()}
    else:
        counts = data.evaluation.confusion.sum(axis=1)
        codes = sorted(np.argsort(-counts, kind="stable")[:_MAX_CURVES])
        rankings = {data.classes[code]: rank(data.targets == code, data.predictions[:, code]) for code in codes}
    rankings = {label: ranking for label, ranking in rankings.items() if ranking.negatives and ranking.positives}
    if not rankings:
        return []
    roc: dict[str, Any] = {"fpr": {}, "tpr": {}, "auc": {}}
    pr: dict[str, Any] = {"precision": {}, "recall": {}, "average_precision": {}, "prevalence": {}}
    for label, ranking in rankings.items():
        roc["fpr"][label], roc["tpr"][label] = thin_curve(*roc_curve(ranking))
        roc["auc"][label] = roc_auc(ranking)
        precision, recall = precision_recall_curve(ranking)
        pr["recall"][label], pr["precision"][label] = thin_curve(recall, precision)
        pr["average_precision"][label] = average_precision(precision, recall)
        pr["prevalence"][label] = ranking.positives / (ranking.positives + ranking.negatives)
    is_subset = len(rankings) < len(data.classes) > 2
    subset = f" The {len(rankings)} most frequent classes." if is_subset else ""
    return [
        make_figure(
            RocCurveDisplay(**roc),
            "Of the rows of a class, the share predicted as it (true positive rate), against the share of other rows "
            f"predicted as it (false positive rate), at each threshold. Dotted line: random classifier.{subset}",
        ),
        make_figure(
            PrecisionRecallDisplay(**pr),
            "Of the rows predicted as a class, the share that are (precision), against the share of its rows that are "
            f"predicted as it (recall), at each threshold. Dotted lines: random classifier.{subset}",
        ),
    ]


def thin_curve(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return a subset of the points of a curve, equally spaced along its length, with both ends."""
    if len(x) <= _MAX_POINTS:
        return x, y
    length = np.cumsum(np.append(0.0, np.hypot(np.diff(x), np.diff(y))))
    indices = np.unique(np.searchsorted(length, np.linspace(0, length[-1], _MAX_POINTS)).clip(0, len(x) - 1))
    return x[indices], y[indices]


def _residual_figures(data: ReportData) -> list[Figure]:
    actual, predicted = data.targets, data.predictions
    is_count = data.task == "counts"
    rates = np.maximum(predicted, 1e-3)
    figures = [
        make_figure(
            ResidualsDisplay(actual, predicted),
            "Each point is a row; on the line, the prediction is exact.",
            "Actual against predicted values",
        ),
        make_figure(
            ResidualsDisplay(actual, predicted, variance=rates if is_count else None, kind="residuals"),
            "The mean residual should be 0 everywhere: a curve or a slope is structure that the model misses.",
        ),
    ]
    if is_count and actual.max() <= 200:
        caption = (
            "Bars of observed frequencies hang from the expected frequencies: a bar that ends above zero means fewer "
            "rows than expected, below zero more."
        )
        figures.append(make_figure(ResidualsDisplay(actual, rates, kind="counts"), caption))
    return figures
