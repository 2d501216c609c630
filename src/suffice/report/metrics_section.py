"""How good the model is on a table: measures, confusions, curves, residuals."""

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
from suffice.report.markup import Section, figure, gallery, listed, paragraph, plural, share, shown, side, table
from suffice.report.report_data import Seen
from suffice.statistics.base import FloatArray

#: More classes than these make no picture of confusions; curves are drawn for the most frequent ones.
_SHOWN_CLASSES, _CURVES = 20, 6
_POINTS = 250
_CONFUSED, _LISTED = 10, 50
_SHARES = ("accuracy", "precision", "recall", "F1", "calibration error")


def quality_section(seen: Seen) -> Section:
    """Return the section about how good the model is."""
    learned = (
        "They are, by their number, the rows that the model learned from: new rows will be predicted less well than "
        "the pictures show. Judge the model by the measures of rows held out."
    )
    body = paragraph(
        f"Measures of all {plural(seen.rows, 'row')}.", learned if seen.is_learned else "", _unknown_note(seen)
    )
    body += _of_classes(seen) if seen.task == "classes" else _measures(seen) + _of_numbers(seen)
    return Section("quality", "How good it is on this table", body)


def _unknown_note(seen: Seen) -> str:
    """Return a sentence about rows of classes that the model does not know; an empty one where there are none."""
    if not seen.unknown_rows:
        return ""
    names = listed(list(seen.evaluation.unknown))
    return (
        f"{plural(seen.unknown_rows, 'row')} of classes that the model does not know ({names}) "
        "count as errors; their probability of 0 counts as 1e-15 in the log loss. They are in no row of the confusion "
        "table, and not in the curves."
    )


def _measures(seen: Seen) -> str:
    blind = baselines(seen)
    unseen = {name: measure(name, value) for name, value in seen.held_out.items()}
    rows = [
        (name, unseen.get(name, ""), measure(name, value), blind.get(name, ""))
        for name, value in seen.evaluation.summary().items()
    ]
    here = "rows learned from" if seen.is_learned else "this table"
    return table("Measures", ["measure", "rows held out", here, "blind guess"], rows, numbers=[1, 2, 3], tight=True)


def measure(name: str, value: float) -> str:
    """Return a measure as it is written.

    Examples
    --------
    >>> measure("accuracy", 0.9), measure("log loss", 0.25)
    ('90.0%', '0.25')
    """
    return (
        share(value)
        if name in _SHARES and name != "calibration error"
        else shown(float(f"{value:.3g}"))
        if abs(value) < 100
        else shown(value)
    )


def baselines(seen: Seen) -> dict[str, str]:
    """Return what one who knows only how the target is distributed would measure, by measure."""
    if seen.task != "classes":
        away = seen.values - seen.values.mean()
        found = {"RMSE": shown(float(away.std())), "R²": "0"}
        if seen.task == "counts":
            mean = np.full(len(seen.values), seen.values.mean())
            found["Poisson deviance"] = shown(float(poisson_deviances(seen.values, mean).mean()))
        return found
    unknown = list(seen.evaluation.unknown.values())
    counts = np.append(seen.evaluation.confusion.sum(axis=1), np.array(unknown, dtype=np.int64))
    return {
        name: share(value) if name == "accuracy" else shown(value) for name, value in class_baseline(counts).items()
    }


def _of_classes(seen: Seen) -> str:
    evaluation, k = seen.evaluation, len(seen.classes)
    pictures = []
    if k <= _SHOWN_CLASSES:
        sentence = "Each row is a class, each column what was said; shares are of the row."
        pictures.append(figure(ConfusionMatrixDisplay(evaluation.confusion, seen.classes), sentence))
    pictures.append(_calibration(seen))
    pictures.extend(_rankings(seen))
    tables = side(_measures(seen), _per_class(seen), _confusions(seen) if k > 2 else "")
    return tables + gallery(pictures)


def _per_class(seen: Seen) -> str:
    rows = seen.evaluation.per_class()
    rows = sorted(rows, key=lambda row: -row["rows"])[:_LISTED] if len(rows) > _LISTED else rows
    cells = [
        (str(row["class"]), f"{row['rows']:,}", *(share(row[name]) for name in ("precision", "recall", "F1")))
        for row in rows
    ]
    caption = "Precision (how many that were said to be so are) and recall (how many that are so were found)"
    return table(caption, [seen.target, "rows", "precision", "recall", "F1"], cells, numbers=[1, 2, 3, 4], tight=True)


def _confusions(seen: Seen) -> str:
    """Return the pairs of classes that are confused most often."""
    counts = seen.evaluation.confusion.copy()
    np.fill_diagonal(counts, 0)
    order = np.argsort(-counts, axis=None, kind="stable")[:_CONFUSED]
    pairs = [divmod(int(place), len(counts)) for place in order]
    rows = [
        (seen.classes[true], seen.classes[said], f"{counts[true, said]:,}", share(_part(seen, true, said)))
        for true, said in pairs
        if counts[true, said]
    ]
    if not rows:
        return ""
    head = ["actual", "taken for", "rows", "share of the actual class"]
    return table("What is confused most often", head, rows, numbers=[2, 3], tight=True)


def _part(seen: Seen, true: int, said: int) -> float:
    counts = seen.evaluation.confusion
    return float(counts[true, said] / counts[true].sum())


def _calibration(seen: Seen) -> str:
    display = CalibrationDisplay(*calibration_curve(seen.evaluation.calibration), label="the predicted class")
    sentence = (
        "Of rows whose class was given some probability, the share that were of it: on the dotted line, probabilities "
        "mean what they say. Bars are how many rows there are."
    )
    return figure(display, sentence)


def _rankings(seen: Seen) -> list[str]:
    """Return ROC curves, and precision against recall."""
    if len(seen.classes) == 2:
        found = {seen.classes[1]: seen.evaluation.ranking()}
    else:
        counts = seen.evaluation.confusion.sum(axis=1)
        codes = sorted(np.argsort(-counts, kind="stable")[:_CURVES])
        found = {seen.classes[code]: rank(seen.values == code, seen.answers[:, code]) for code in codes}
    found = {label: ranking for label, ranking in found.items() if ranking.negatives and ranking.positives}
    if not found:
        return []
    roc: dict[str, Any] = {"fpr": {}, "tpr": {}, "auc": {}}
    ranks: dict[str, Any] = {"precision": {}, "recall": {}, "average_precision": {}, "shares": {}}
    for label, ranking in found.items():
        roc["fpr"][label], roc["tpr"][label] = thinned_curve(*roc_curve(ranking))
        roc["auc"][label] = roc_auc(ranking)
        precision, recall = precision_recall_curve(ranking)
        ranks["recall"][label], ranks["precision"][label] = thinned_curve(recall, precision)
        ranks["average_precision"][label] = average_precision(precision, recall)
        ranks["shares"][label] = ranking.positives / (ranking.positives + ranking.negatives)
    few = f", for the {len(found)} most frequent classes" if len(found) < len(seen.classes) > 2 else ""
    found_first = f"How many rows of a class are found when more and more others are taken for it, too{few}"
    right_first = f"How many of the rows taken for a class are of it, when more and more of it are found{few}"
    return [
        figure(RocCurveDisplay(**roc), f"{found_first}; on the dotted line, a blind guess."),
        figure(PrecisionRecallDisplay(**ranks), f"{right_first}; dotted lines are blind guesses."),
    ]


def thinned_curve(x: FloatArray, y: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return as many points of a curve as a picture can show, its ends among them."""
    if len(x) <= _POINTS:
        return x, y
    length = np.cumsum(np.append(0.0, np.hypot(np.diff(x), np.diff(y))))
    places = np.unique(np.searchsorted(length, np.linspace(0, length[-1], _POINTS)).clip(0, len(x) - 1))
    return x[places], y[places]


def _of_numbers(seen: Seen) -> str:
    actual, predicted = seen.values, seen.answers
    variance: Any = np.maximum(predicted, 1e-3) if seen.task == "counts" else None
    pictures = [
        figure(
            ResidualsDisplay(actual, predicted),
            "Each dot is a row: on the line, it is exactly as predicted.",
        ),
        figure(
            ResidualsDisplay(actual, predicted, variance=variance, kind="residuals"),
            "Errors over predictions. The line should lie at zero: a bend says that something is missed.",
        ),
    ]
    if seen.task == "counts" and actual.max() <= 200:
        rates = np.maximum(predicted, 1e-3)
        sentence = "Bars that end above zero: a count comes less often than expected; below, more often."
        pictures.append(figure(ResidualsDisplay(actual, rates, kind="counts"), sentence))
    return gallery(pictures)
