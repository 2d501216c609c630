"""What each class looks like, column by column, and where the model changes its mind."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.plots import ClassDensitiesDisplay, ClassEllipsesDisplay, ClassFrequenciesDisplay, ClassWordsDisplay
from suffice.plots.class_parameters import describe, telling
from suffice.report.markup import Section, beside, figure, gallery, paragraph, plural, shown
from suffice.report.report_data import Seen
from suffice.statistics.base import FloatArray
from suffice.tables.design_matrix import Number

#: Pictures, and classes in each.
_PICTURES, _CLASSES = 8, 6
_POINTS = 400
_WEEK = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DENSITIES = "Lines are normal distributions with the mean and variance of each group, shades its rows."
_COUNTS = "Bars are the probabilities of counts, in a Poisson distribution with the mean of each group."


def most_telling(seen: Seen) -> list[str]:
    """Return the features, those that tell most about the class first: by the expected log-odds that a cell adds."""
    description = seen.model.description_
    joint = description._source()
    conditional: Any = joint.conditional
    told: dict[str, float] = {}
    for kind, factor in conditional.factors.items():
        names = [str(name) for name, each in description.column_kinds_.items() if each == kind]
        told.update(zip(names, map(float, telling(factor, joint.prior)), strict=True))
    return sorted(told, key=lambda name: -told[name])


def classes_section(seen: Seen, pair: tuple[str, str] | None) -> Section:
    """Return the section about what the rows of each class look like.

    Parameters
    ----------
    seen
        The model and the table.
    pair
        Two columns of numbers, for ellipses.
    """
    codes, names = _groups(seen)
    order = most_telling(seen)
    if seen.reads_text:
        texts = {feature.name for feature in seen.block.features if feature.kind == "text"}
        order = [name for name in order if name not in texts]
    pictures = [_own_words(seen, names)] if seen.reads_text else []
    if pair is not None and seen.task == "classes":
        pictures.append(_ellipses(seen, pair, codes, names))
    told = order[: _PICTURES - len(pictures)]
    pictures.extend(_picture(seen, name, codes, names) for name in told)
    title, what, few = "What each class looks like", f"each {seen.target}", ""
    if seen.task != "classes":
        title = f"What rows with a low and a high {seen.target} look like"
        what = "rows from the lowest to the highest fifth of it"
    elif len(codes) < len(seen.classes):
        few = f"The {len(codes)} most frequent of {plural(len(seen.classes), 'class', 'classes')} are shown."
    described = f"Beside the model that predicts, naive Bayes describes {what}, column by column." if told else ""
    most = f"Those that tell most come first; {len(told)} of {len(order)} are shown." if len(told) < len(order) else ""
    words = "Words are those that the model itself goes by." if seen.reads_text else ""
    introduction = paragraph(words, described, few, most)
    if len(pictures) == 1:
        return Section("classes", title, beside(pictures[0], introduction))
    return Section("classes", title, introduction + gallery(pictures))


def _own_words(seen: Seen, names: list[str]) -> str:
    """Return the picture of the words that a model of texts goes by."""
    found = {str(label): pairs for label, pairs in seen.model.estimator_.top_words(n=10).items()}
    words = {name: [(word, value) for word, value in found[name] if value > 0] for name in names}
    sentence = "Numbers are what a word adds to the log-odds of its class."
    return figure(ClassWordsDisplay(words), sentence, "The words that speak most for each class")


def _groups(seen: Seen) -> tuple[list[int], list[str]]:
    """Return the classes of the description that are shown, and what they are called."""
    if seen.task == "classes":
        counts = seen.evaluation.confusion.sum(axis=1)
        codes = sorted(np.argsort(-counts, kind="stable")[:_CLASSES].tolist())
        return codes, [seen.classes[code] for code in codes]
    bins = seen.model._bins
    assert bins is not None  # what is no class is a number
    edges = [shown(float(edge)) for edge in bins.edges]
    between = [f"{low} to {high}" for low, high in pairwise(edges)]
    every = [f"below {edges[0]}", *between, f"{edges[-1]} or more"]
    codes = sorted({0, len(edges) // 2, len(edges)})
    return codes, [every[code] for code in codes]


def _codes(seen: Seen) -> npt.NDArray[np.int64]:
    """Return each row's class of the description."""
    bins = seen.model._bins
    return seen.values if bins is None else bins.codes(seen.values)


def _rows(seen: Seen, codes: list[int], names: list[str]) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
    """Return the places of rows of the classes that are shown, and the names of these."""
    names_of = dict(zip(codes, names, strict=True))
    row_codes = _codes(seen)
    rows = np.flatnonzero(np.isin(row_codes, codes))
    return rows, np.array([names_of[int(code)] for code in row_codes[rows]])


def _picture(seen: Seen, feature: str, codes: list[int], names: list[str]) -> str:
    """Return the picture of a feature in each class."""
    part = next(each.part for each in seen.block.features if each.name == feature)
    found: Any = describe(seen.model.description_, None, None, [feature], 8 if part is None else 31, 0, 0)
    title = f"{feature} by {seen.target}"
    match found:
        case ClassWordsDisplay():
            pairs = list(found.words.values())
            words = ClassWordsDisplay({name: pairs[code] for code, name in zip(codes, names, strict=True)})
            return figure(words, "Numbers are log-odds against the average of all groups.", f"Words in {title}")
        case ClassDensitiesDisplay():
            return figure(_densities(seen, found, codes, names, part), _DENSITIES, title)
    order = list(range(len(found.names)))
    if part == "weekday":
        order = sorted(order, key=lambda place: _WEEK.index(found.names[place]))
    upright = found.upright or part is not None
    display = ClassFrequenciesDisplay(
        names,
        [found.names[place] for place in order],
        found.shares[codes][:, order],
        what=found.what,
        feature=found.feature,
        upright=upright,
    )
    if found.feature is None:
        return figure(display, f"Bars are the share of rows in which {feature} is true.", title)
    return figure(display, _COUNTS if found.upright else "Bars are shares of the rows of each group.", title)


def _densities(
    seen: Seen, found: ClassDensitiesDisplay, codes: list[int], names: list[str], part: str | None
) -> ClassDensitiesDisplay:
    """Return the picture of a number; days since 1970 say nothing on an axis, so that dates are drawn in years."""
    rows, labels = _rows(seen, codes, names)
    year, start = (1.0, 0.0) if part is None else (365.2425, 1970.0)
    return ClassDensitiesDisplay(
        names,
        found.means[codes] / year + start,
        found.variances[codes] / year**2,
        feature=found.feature,
        x=_column(seen, found.feature)[rows] / year + start,
        y=labels,
    )


def _column(seen: Seen, feature: str) -> FloatArray:
    place = next(place for place, each in enumerate(seen.block.features) if each.name == feature)
    cells: FloatArray = seen.block.columns[place]
    return cells


def _ellipses(seen: Seen, pair: tuple[str, str], codes: list[int], names: list[str]) -> str:
    """Return the picture of two numbers in each class: as the model sees them, where it is a Gaussian one."""
    rows, labels = _rows(seen, codes, names)
    points = np.stack([_column(seen, name)[rows] for name in pair], axis=1)
    known = np.isfinite(points).all(axis=1)
    rows, labels, points = rows[known], labels[known], points[known]
    by_model = gaussians_of(seen, pair)
    if by_model is not None:
        means, covariances = by_model[0][codes], by_model[1][codes]
        sentence = "Ellipses are the model's own."
    else:
        means = np.array([_mean(points[labels == name]) for name in names])
        covariances = np.array([_covariance(points[labels == name]) for name in names])
        sentence = "Ellipses have the mean and covariance of each class's rows."
    some = np.sort(np.random.default_rng(0).permutation(len(points))[:_POINTS])
    display = ClassEllipsesDisplay(names, means, covariances, features=pair, X=points[some], y=labels[some])
    return figure(
        display,
        f"They reach one and two standard deviations from the mean. {sentence}",
        f"{pair[0]} and {pair[1]} by {seen.target}",
    )


def _mean(points: FloatArray) -> FloatArray:
    return points.mean(axis=0) if len(points) else np.zeros(2)


def _covariance(points: FloatArray) -> FloatArray:
    return np.cov(points.T) if len(points) > 2 else np.zeros((2, 2))


def gaussians_of(seen: Seen, pair: tuple[str, str]) -> tuple[FloatArray, FloatArray] | None:
    """Return means and covariances of a discriminant's classes in the units of the table; None of other models."""
    predictor: Any = seen.model.predictor_
    if not predictor.form.name.startswith("gda"):
        return None
    terms = {term.feature: term for term in predictor.design.terms if isinstance(term, Number)}
    if not set(pair) <= set(terms):
        return None
    places = [predictor.design.names.index(name) for name in pair]
    family = predictor.inner._source().conditional.family
    scale = np.array([terms[name].scale for name in pair])
    centre = np.array([terms[name].centre for name in pair])
    covariance = family.covariance[..., places, :][..., :, places] * np.outer(scale, scale)
    means = family.mu[:, places] * scale + centre
    return means, np.broadcast_to(covariance, (len(means), 2, 2))
