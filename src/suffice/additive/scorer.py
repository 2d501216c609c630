"""Scorer of an additive model: what predicts rows in bins, with its form in files; free of estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.additive.backfitting import Term
from suffice.additive.bins import Bins, ColumnBins
from suffice.additive.choice import main_term
from suffice.additive.terms import AdditiveTerm, show_term, sum_terms
from suffice.families.links import LARGEST_EXPONENT
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.store import Contents


@dataclass(frozen=True, eq=False)
class AdditiveScorer:
    """An intercept and terms over the bins of columns.

    Parameters
    ----------
    columns
        The bins of each column.
    intercept
        Of each predictor, (t,): one, or one for each class if there are more than two.
    terms
        The terms.
    labels
        The classes; empty if a number is predicted.
    link
        Of the mean of a number.
    """

    columns: Sequence[ColumnBins]
    intercept: FloatArray
    terms: Sequence[AdditiveTerm]
    labels: Labels
    link: Literal["identity", "log"] = "identity"

    def predictors(self, bins: Bins) -> FloatArray:
        """Return the linear predictors of rows in bins, (n, t)."""
        return sum_terms(bins, self.intercept, self.terms)

    def class_scores(self, bins: Bins) -> FloatArray:
        """Return log-scores of the classes, (n, k), whose softmax is p(y | x)."""
        scores = self.predictors(bins)
        return np.concatenate([np.zeros_like(scores), scores], axis=1) if len(self.labels) == 2 else scores

    def mean(self, bins: Bins) -> FloatArray:
        """Return the expected number of each row, (n,)."""
        scores = self.predictors(bins)[:, 0]
        return scores if self.link == "identity" else np.asarray(np.exp(np.minimum(scores, LARGEST_EXPONENT)))

    def contributions(self, bins: Bins) -> list[FloatArray]:
        """Return what each term adds to the predictors, (n, t) each."""
        return [term.cell_values()[term.fitted.cell_of(bins)] for term in self.terms]

    # Files.

    def written(self) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
        """Return settings and arrays of a file."""
        arrays: dict[str, npt.NDArray[Any]] = {"intercept": self.intercept}
        terms: list[dict[str, Any]] = []
        for at, term in enumerate(self.terms):
            arrays[f"values.{at}"] = _narrow(term.values)
            arrays[f"errors.{at}"] = term.errors.astype(np.float32)
            arrays[f"density.{at}"] = term.density.astype(np.float32)
            fitted = term.fitted
            terms.append(
                {
                    "columns": [fitted.left] if fitted.right is None else [fitted.left, fitted.right],
                    "shape": [fitted.height, fitted.width],
                    "missing": list(fitted.missing),
                    "monotone": fitted.monotone,
                }
            )
            if fitted.right is not None and fitted.right_cell is not None:
                groups = np.stack([fitted.left_cell // fitted.width, fitted.right_cell])
                arrays[f"groups.{at}"] = groups.astype(np.uint8)
        columns = []
        for at, bins in enumerate(self.columns):
            levels = None if bins.levels is None else list(bins.levels)
            columns.append({"levels": levels, "range": [bins.low, bins.high]})
            if bins.edges is not None:
                arrays[f"edges.{at}"] = bins.edges
        return {"columns": columns, "terms": terms}, arrays

    @classmethod
    def of_contents(cls, contents: Contents) -> Self:
        """Return the scorer of an estimator in a file, without the estimator."""
        settings, arrays = contents.settings, contents.arrays
        names = settings["feature_names"]
        width = int(settings["features"])
        names = list(range(width)) if names is None else list(names)
        if len(settings["columns"]) != width or len(names) != width:
            raise ValueError(f"the file has bins of {len(settings['columns'])} columns; the model has {width}")
        columns = [
            ColumnBins(
                name,
                arrays.get(f"edges.{at}"),
                None if column["levels"] is None else tuple(column["levels"]),
                *map(float, column["range"]),
            )
            for at, (name, column) in enumerate(zip(names, settings["columns"], strict=True))
        ]
        terms = [_read_term(at, term, arrays, columns) for at, term in enumerate(settings["terms"])]
        classes = settings.get("classes")
        labels = Labels() if classes is None else Labels(tuple(classes["names"]))
        fitted = settings.get("fitted_parameters", settings["parameters"])
        link: Literal["identity", "log"] = "identity" if fitted.get("family", "gaussian") == "gaussian" else "log"
        return cls(columns, arrays["intercept"], terms, labels, link)


def _narrow(values: FloatArray) -> npt.NDArray[Any]:
    """Return numbers in 4 bytes each if these represent them exactly."""
    narrow = values.astype(np.float32)
    return narrow if np.array_equal(narrow, values) else values


def _read_term(at: int, settings: Any, arrays: Mapping[str, npt.NDArray[Any]], bins: list[ColumnBins]) -> AdditiveTerm:
    """Return a term of a file."""
    places = [int(place) for place in settings["columns"]]
    if not all(0 <= place < len(bins) for place in places):
        raise ValueError(f"term {at} is of column {max(places)}; the model has {len(bins)}")
    values, errors, density = (arrays[f"{name}.{at}"].astype(np.float64) for name in ("values", "errors", "density"))
    if len(places) == 1:
        term = main_term(places[0], bins[places[0]], int(settings["monotone"]))
    else:
        groups = arrays[f"groups.{at}"].astype(np.int32)
        height, width = map(int, settings["shape"])
        if groups.shape != (2, 256) or groups[0].max() >= height or groups[1].max() >= width:
            raise ValueError(f"term {at} has groups that do not fit its shape, {height} by {width}")
        left, right = places
        term = Term(
            left,
            right,
            np.ascontiguousarray(groups[0] * width),
            np.ascontiguousarray(groups[1]),
            height,
            width,
            (bins[left].ordered, bins[right].ordered),
            (bool(settings["missing"][0]), bool(settings["missing"][1])),
        )
    cells = values.reshape(term.cells, -1)
    return show_term(term, cells, errors.reshape(cells.shape), density.ravel(), bins)
