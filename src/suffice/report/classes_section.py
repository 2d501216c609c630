"""Section on class distributions, column by column: those of a naive Bayes model beside the predicting model."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.plots import (
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    ClassFrequenciesDisplay,
    ClassWordsDisplay,
)
from suffice.plots.class_parameters import make_class_display
from suffice.plots.divergence import class_divergences
from suffice.report.elements import Figure, Section, make_figure
from suffice.report.formats import format_count, format_value
from suffice.report.report_data import ReportData
from suffice.statistics.base import FloatArray
from suffice.tables.design_matrix import Number

#: Maximum number of figures, of classes in each, and of points.
_MAX_FIGURES, _MAX_CLASSES, _MAX_POINTS = 8, 6, 400
_N_CATEGORIES, _N_DATE_PARTS, _N_WORDS = 8, 31, 10
_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAYS_PER_YEAR = 365.2425
_DENSITY_CAPTION = "Lines are normal densities with the mean and variance of each group; histograms are its rows."
_CATEGORY_CAPTION = "Bars are shares of the rows of each group."
_COUNT_CAPTION = "Bars are Poisson probabilities with the mean of each group."


class _Groups:
    """Shown groups of rows: the most frequent classes, or the lowest, middle and highest quantile of a number."""

    def __init__(self, data: ReportData) -> None:
        self._data = data
        self._bins = data.model._bins
        if data.task == "classes":
            counts = data.evaluation.confusion.sum(axis=1)
            self.codes = sorted(np.argsort(-counts, kind="stable")[:_MAX_CLASSES].tolist())
            self.names = [data.classes[code] for code in self.codes]
        else:
            assert self._bins is not None  # numbers have bins
            edges = [format_value(float(edge)) for edge in self._bins.edges]
            ranges = [f"{low} to {high}" for low, high in pairwise(edges)]
            names = [f"below {edges[0]}", *ranges, f"{edges[-1]} or more"]
            self.codes = sorted({0, len(edges) // 2, len(edges)})
            self.names = [names[code] for code in self.codes]

    def rows(self) -> tuple[npt.NDArray[np.intp], npt.NDArray[Any]]:
        """Return the indices of the sampled rows of the groups, and their group names."""
        targets = self._data.targets
        codes = targets if self._bins is None else self._bins.codes(targets)
        name_of = dict(zip(self.codes, self.names, strict=True))
        rows = np.flatnonzero(np.isin(codes, self.codes))
        return rows, np.array([name_of[int(code)] for code in codes[rows]])


def informative_features(data: ReportData) -> list[str]:
    """Return the features in descending order of the divergence between classes."""
    description = data.model.description_
    joint = description.joint_
    conditional: Any = joint.conditional
    divergence: dict[str, float] = {}
    for kind, factor in conditional.factors.items():
        names = [str(name) for name, each in description.column_kinds_.items() if each == kind]
        divergence.update(zip(names, map(float, class_divergences(factor, joint.prior)), strict=True))
    return sorted(divergence, key=lambda name: -divergence[name])


def classes_section(data: ReportData, pair: tuple[str, str] | None) -> Section:
    """Return the section on class distributions.

    Parameters
    ----------
    data
        The model and the table.
    pair
        Two numeric columns, for ellipses; None for no ellipses.
    """
    groups = _Groups(data)
    features = informative_features(data)
    figures = []
    if data.is_text_model:
        texts = {feature.name for feature in data.block.features if feature.kind == "text"}
        features = [name for name in features if name not in texts]
        figures.append(_top_words_figure(data, groups))
    if pair is not None and data.task == "classes":
        figures.append(_ellipses_figure(data, pair, groups))
    shown = features[: _MAX_FIGURES - len(figures)]
    figures.extend(_feature_figure(data, name, groups) for name in shown)
    is_classification = data.task == "classes"
    described = f"each class of {data.target}" if is_classification else f"rows of low, middle and high {data.target}"
    is_subset = is_classification and len(groups.codes) < len(data.classes)
    introduction = [
        "Words are weighted as in the model itself." if data.is_text_model else "",
        f"Distributions of {described}, column by column, from a naive Bayes model of the same rows." if shown else "",
        f"The {len(groups.codes)} most frequent of {format_count(len(data.classes), 'class', 'classes')} are shown."
        if is_subset
        else "",
        f"The {len(shown)} most informative of {len(features)} columns are shown."
        if len(shown) < len(features)
        else "",
    ]
    title = "Class distributions" if is_classification else f"Distributions by {data.target}"
    return Section("classes", title, "figures", {"introduction": introduction, "figures": figures})


def _top_words_figure(data: ReportData, groups: _Groups) -> Figure:
    top_words = {str(label): pairs for label, pairs in data.model.estimator_.top_words(n=_N_WORDS).items()}
    words = {name: [(word, value) for word, value in top_words[name] if value > 0] for name in groups.names}
    return make_figure(ClassWordsDisplay(words), "Numbers are effects of a word on the log-odds of its class.")


def _feature_figure(data: ReportData, feature: str, groups: _Groups) -> Figure:
    """Return the figure of a feature in each group."""
    part = next(each.part for each in data.block.features if each.name == feature)
    n = _N_CATEGORIES if part is None else _N_DATE_PARTS
    display: Any = make_class_display(data.model.description_.estimator(), None, None, [feature], n, 0, 0)
    title = f"{feature} by {data.target}"
    match display:
        case ClassWordsDisplay():
            pairs = list(display.words.values())
            words = ClassWordsDisplay(
                {name: pairs[code] for code, name in zip(groups.codes, groups.names, strict=True)}
            )
            return make_figure(words, "Numbers are log-odds against the mean of all groups.", f"Words in {title}")
        case ClassDensitiesDisplay():
            return make_figure(_densities(data, display, groups, part), _DENSITY_CAPTION, title)
    order = list(range(len(display.names)))
    if part == "weekday":
        order = sorted(order, key=lambda index: _WEEKDAYS.index(display.names[index]))
    bars = ClassFrequenciesDisplay(
        groups.names,
        [display.names[index] for index in order],
        display.frequencies[groups.codes][:, order],
        axis_label=display.axis_label,
        feature=display.feature,
        vertical=display.vertical or part is not None,
    )
    if display.feature is None:
        return make_figure(bars, f"Bars are the share of rows with {feature} true.", title)
    return make_figure(bars, _COUNT_CAPTION if display.vertical else _CATEGORY_CAPTION, title)


def _densities(
    data: ReportData, display: ClassDensitiesDisplay, groups: _Groups, part: str | None
) -> ClassDensitiesDisplay:
    """Return the densities of the groups; dates, stored as days since 1970, are drawn in years."""
    rows, labels = groups.rows()
    unit, origin = (1.0, 0.0) if part is None else (_DAYS_PER_YEAR, 1970.0)
    return ClassDensitiesDisplay(
        groups.names,
        display.means[groups.codes] / unit + origin,
        display.variances[groups.codes] / unit**2,
        feature=display.feature,
        x=_column(data, display.feature)[rows] / unit + origin,
        y=labels,
    )


def _column(data: ReportData, feature: str) -> FloatArray:
    index = next(index for index, each in enumerate(data.block.features) if each.name == feature)
    cells: FloatArray = data.block.columns[index]
    return cells


def _ellipses_figure(data: ReportData, pair: tuple[str, str], groups: _Groups) -> Figure:
    """Return the figure of two numbers: with the parameters of a Gaussian model, else of the sampled rows."""
    rows, labels = groups.rows()
    points = np.stack([_column(data, name)[rows] for name in pair], axis=1)
    known = np.isfinite(points).all(axis=1)
    labels, points = labels[known], points[known]
    parameters = gaussian_parameters(data, pair)
    if parameters is not None:
        means, covariances = parameters[0][groups.codes], parameters[1][groups.codes]
        source = "with the means and covariances of the model"
    else:
        means = np.array([_mean(points[labels == name]) for name in groups.names])
        covariances = np.array([_covariance(points[labels == name]) for name in groups.names])
        source = "with the mean and covariance of the rows of each class"
    sample = np.sort(np.random.default_rng(0).permutation(len(points))[:_MAX_POINTS])
    display = ClassEllipsesDisplay(groups.names, means, covariances, features=pair, X=points[sample], y=labels[sample])
    caption = f"Ellipses at one and two standard deviations, {source}."
    return make_figure(display, caption, f"{pair[0]} and {pair[1]} by {data.target}")


def _mean(points: FloatArray) -> FloatArray:
    return points.mean(axis=0) if len(points) else np.zeros(2)


def _covariance(points: FloatArray) -> FloatArray:
    return np.cov(points.T) if len(points) > 2 else np.zeros((2, 2))


def gaussian_parameters(data: ReportData, pair: tuple[str, str]) -> tuple[FloatArray, FloatArray] | None:
    """Return class means and covariances of a GDA model in the units of the table; None of other models."""
    predictor: Any = data.model.predictor_
    if not predictor.model_type.name.startswith("gda"):
        return None
    terms = {term.feature: term for term in predictor.design.terms if isinstance(term, Number)}
    if not set(pair) <= set(terms):
        return None
    indices = [predictor.design.names.index(name) for name in pair]
    family = predictor.inner.joint_.conditional.family
    scale = np.array([terms[name].scale for name in pair])
    centre = np.array([terms[name].centre for name in pair])
    covariance = family.covariance[..., indices, :][..., :, indices] * np.outer(scale, scale)
    means = family.mu[:, indices] * scale + centre
    return means, np.broadcast_to(covariance, (len(means), 2, 2))
