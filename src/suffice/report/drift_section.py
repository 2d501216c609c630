"""Section on drift: how the columns of another table differ from those of the training rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.generative.event_models import Arrivals, Categories, Presences
from suffice.generative.independent import Independent
from suffice.report.elements import Bar, Column, Section, Table
from suffice.report.formats import format_count, format_digits, format_share, format_short, format_value
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables.encoding import CodedColumn
from suffice.tables.schema import Feature

#: Maximum number of listed columns.
_MAX_COLUMNS = 40
#: Differences up to this multiple of the expected difference of samples of the same rows are called chance.
_CHANCE = 2.0


@dataclass(frozen=True)
class Drift:
    """How a column differs between the training rows and another table.

    Parameters
    ----------
    column
        Name of the column, or of a part of a date.
    before, here
        Its distribution among the training rows and in the table, in a few words.
    distance
        Total variation distance: 0 for equal distributions, 1 without overlap.
    chance
        The distance up to which two samples of the same rows may differ.
    beyond
        Share of cells beyond the range of the training rows, or with names that these do not have; None if unknown.
    """

    column: str
    before: str
    here: str
    distance: float
    chance: float
    beyond: float | None = None

    @property
    def is_beyond_chance(self) -> bool:
        """Whether the distance is larger than chance explains."""
        return self.distance > self.chance


def drift_section(data: ReportData) -> Section | None:
    """Return the section on drift; None where the table has the training rows, or no column can be compared."""
    found = [] if data.is_training_data else column_drifts(data)
    if not found:
        return None
    found.sort(key=lambda each: (not each.is_beyond_chance, -each.distance))
    beyond = sum(each.is_beyond_chance for each in found)
    rows = [
        (
            each.column,
            each.before,
            each.here,
            format_digits(each.distance, 2) if each.is_beyond_chance else f"{format_digits(each.distance, 2)} (chance)",
            Bar(each.distance, 1.0, signed=False),
            "" if each.beyond is None else format_share(each.beyond),
        )
        for each in found[:_MAX_COLUMNS]
    ]
    columns = [
        Column("column"),
        Column("training rows", "prose"),
        Column("this table", "prose"),
        Column("difference", "number"),
        Column("bar", "graphic"),
        Column("unknown cells", "number"),
    ]
    note = (
        "Difference: total variation distance, 0 for equal distributions and 1 without overlap; of numbers, that of "
        "normal distributions with their means and standard deviations; of counts, with their means. Unknown cells: "
        "numbers beyond the range of the training rows, or names that they do not have."
    )
    sentences = [
        f"The table is not that of the training rows. {format_count(beyond, 'column')} of {len(found)} "
        f"{'differs' if beyond == 1 else 'differ'} by more than chance.",
        "A model predicts worse on rows unlike those that it was fitted to." if beyond else "",
    ]
    table = Table("Columns, the most different first", columns, rows, note=note)
    return Section("drift", "Drift", "importance", {"introduction": sentences, "columns": table})


def column_drifts(data: ReportData) -> list[Drift]:
    """Return the drift of each column of the sample, but of text, and of the classes."""
    description = data.model.description_
    conditional: Any = description.joint_.conditional
    prior, factors = description.joint_.prior, conditional.factors
    n = 1 / (1 / max(data.block.rows, 1) + 1 / max(data.model.rows_, 1))  # of the difference of two samples
    places = dict.fromkeys(factors, 0)
    found = [_class_drift(data, description.class_count_, n)] if data.task == "classes" else []
    for feature, column in zip(data.block.features, data.block.columns, strict=True):
        if feature.kind not in factors:
            continue
        place = places[feature.kind]
        places[feature.kind] += 1
        drift = _column_drift(data, feature, column, (factors[feature.kind], place, prior), n)
        if drift is not None:
            found.append(drift)
    return found


def _column_drift(
    data: ReportData, feature: Feature, column: Any, of_training: tuple[Any, int, FloatArray], n: float
) -> Drift | None:
    factor, place, prior = of_training
    if isinstance(factor, Categories):
        names = [str(name) for name in factor.vocabularies[place]]
        shares = prior @ np.exp(factor.tables[place][:-1]).T
        return _category_drift(feature.name, names, shares / shares.sum(), column, n)
    known = column[np.isfinite(column)] if isinstance(column, np.ndarray) else np.zeros(0)
    if not len(known):
        return None
    match factor:
        case Presences():
            before, here = float(prior @ factor.family.p[:, place]), float(known.mean())
            chance = _CHANCE * np.sqrt(2 / np.pi * before * (1 - before) / n)
            old, new = (f"true in {format_share(share)}" for share in (before, here))
            return Drift(feature.name, old, new, abs(here - before), float(chance))
        case Arrivals():  # the model keeps the mean of counts, and not their variance
            mean, variance = float(prior @ factor.family.rate[:, place]), float(known.var())
        case Independent():
            means = factor.family.mu[:, place]
            mean = float(prior @ means)
            variance = float(prior @ (factor.family.sigma2[:, place] + (means - mean) ** 2))
        case _:
            return None
    spread = float(np.sqrt(variance))
    mean_here, spread_here = float(known.mean()), float(known.std())
    low, high = data.model.ranges_.get(feature.name, (-np.inf, np.inf))
    beyond = float(((known < low) | (known > high)).mean()) if np.isfinite([low, high]).all() else None
    old, new = (_describe_numbers(feature, *each) for each in ((mean, spread), (mean_here, spread_here)))
    distance = normal_distance(mean, spread, mean_here, spread_here)
    return Drift(feature.name, old, new, distance, float(_CHANCE * 0.5 / np.sqrt(n)), beyond)


def _describe_numbers(feature: Feature, mean: float, spread: float) -> str:
    if feature.part == "time":
        return f"about {np.datetime64(round(mean), 'D')}, ± {format_value(round(spread))} days"
    if feature.kind == "count":
        return f"mean {format_digits(mean, 3)}"
    return f"mean {format_digits(mean, 3)}, standard deviation {format_digits(spread, 3)}"


def _category_drift(name: str, names: list[str], before: FloatArray, column: CodedColumn, n: float) -> Drift | None:
    known = column.codes[column.codes >= 0]
    if not len(known):
        return None
    here = dict.fromkeys(names, 0.0)
    for each, share in zip(
        map(str, column.vocabulary), np.bincount(known, minlength=len(column.vocabulary)) / len(known), strict=True
    ):
        here[each] = float(share)
    shares = np.array(list(here.values()))
    padded = np.append(before, np.zeros(len(shares) - len(before)))
    beyond = float(shares[len(before) :].sum())
    old, new = (_describe_shares(list(here), each) for each in (padded, shares))
    return Drift(name, old, new, total_variation(padded, shares), _category_chance(padded, n), beyond)


def _class_drift(data: ReportData, counts: FloatArray, n: float) -> Drift:
    before = np.asarray(counts, dtype=np.float64) / np.sum(counts)
    confusion = data.evaluation.confusion.sum(axis=1)[: len(before)]
    here = confusion / max(confusion.sum(), 1)
    old, new = (_describe_shares(data.classes, each) for each in (before, here))
    return Drift(f"{data.target} (target)", old, new, total_variation(before, here), _category_chance(before, n))


def _category_chance(shares: FloatArray, n: float) -> float:
    """Return the distance up to which two samples may differ: a multiple of the expected distance."""
    return float(_CHANCE * 0.5 * np.sqrt(2 / np.pi * shares * (1 - shares) / n).sum())


def _describe_shares(names: list[str], shares: FloatArray) -> str:
    order = np.argsort(-shares, kind="stable")[:3]
    return ", ".join(f"{format_short(names[code], 30)} {format_share(float(shares[code]))}" for code in order)


def total_variation(one: FloatArray, two: FloatArray) -> float:
    """Return half the sum of absolute differences of two distributions over the same names.

    Examples
    --------
    >>> total_variation(np.array([0.5, 0.5]), np.array([0.8, 0.2]))
    0.3
    """
    return round(float(np.abs(one - two).sum() / 2), 12)


def normal_distance(mean: float, spread: float, mean_here: float, spread_here: float) -> float:
    """Return the total variation distance of two normal distributions.

    Examples
    --------
    >>> round(normal_distance(0.0, 1.0, 1.0, 1.0), 3), normal_distance(0.0, 1.0, 0.0, 1.0), normal_distance(2, 0, 2, 0)
    (0.383, 0.0, 0.0)
    """
    widest = max(spread, spread_here)
    if widest == 0:
        return float(mean != mean_here)
    one, two = max(spread, 1e-3 * widest), max(spread_here, 1e-3 * widest)
    x = np.unique(np.concatenate([m + s * np.linspace(-8, 8, 801) for m, s in ((mean, one), (mean_here, two))]))
    difference = np.exp(-0.5 * ((x - mean) / one) ** 2) / one - np.exp(-0.5 * ((x - mean_here) / two) ** 2) / two
    return float(np.trapezoid(np.abs(difference), x) / (2 * np.sqrt(2 * np.pi)))
