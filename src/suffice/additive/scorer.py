"""Scorer of an additive model: what predicts rows in bins, with its form in files; free of estimators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from suffice.additive.bins import Bins, ColumnBins
from suffice.additive.choice import main_term, pair_term
from suffice.additive.packing import from_grid, from_log_codes, to_grid, to_log_codes
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
        """Return settings and arrays of a file.

        Numbers of all terms are in one array; those of a term that was edited are not on the grid, and have their own.
        """
        dtype = np.int32 if len(self.intercept) == 1 else np.int16
        packed: dict[str, list[npt.NDArray[Any]]] = {
            "values": [np.empty(0, dtype=dtype)],
            "errors": [np.empty(0, dtype=np.uint8)],
            "density": [np.empty(0, dtype=dtype)],
            "groups": [np.empty(0, dtype=np.uint8)],
            "edges": [np.empty(0), *(bins.edges for bins in self.columns if bins.edges is not None)],
        }
        own: dict[str, npt.NDArray[Any]] = {}
        terms: list[dict[str, Any]] = []
        groups: dict[int, npt.NDArray[Any]] = {}
        for at, term in enumerate(self.terms):
            fitted = term.fitted
            integers, exponent = to_grid(term.values, value_type(term))
            is_exact = np.array_equal(from_grid(integers, exponent), term.values)
            if is_exact:
                packed["values"].append(integers)
            else:
                own[f"values.{at}"] = term.values
            codes, largest = to_log_codes(term.errors)
            packed["errors"].append(codes)
            shares, share_exponent = to_grid(term.density, value_type(term))
            packed["density"].append(shares)
            terms.append(
                {
                    "columns": [fitted.left] if fitted.right is None else [fitted.left, fitted.right],
                    "exponents": [exponent if is_exact else None, share_exponent],
                    "largest_error": largest,
                    "missing": list(fitted.missing),
                    "monotone": fitted.monotone,
                    "line": term.is_line,
                }
            )
            if fitted.right is not None and fitted.right_cell is not None:
                groups[fitted.left] = fitted.left_cell // fitted.width
                groups[fitted.right] = fitted.right_cell
        for column in sorted(groups):
            packed["groups"].append(groups[column][: len(self.columns[column])].astype(np.uint8))
        arrays = {name: np.concatenate([each.ravel() for each in parts]) for name, parts in packed.items()}
        columns = [
            {
                "levels": None if bins.levels is None else list(bins.levels),
                "range": [bins.low, bins.high],
                "edges": None if bins.edges is None else len(bins.edges),
            }
            for bins in self.columns
        ]
        return {"columns": columns, "terms": terms}, {"intercept": self.intercept, **arrays, **own}

    @classmethod
    def of_contents(cls, contents: Contents) -> Self:
        """Return the scorer of an estimator in a file, without the estimator."""
        settings, arrays = contents.settings, contents.arrays
        names = settings["feature_names"]
        width = int(settings["features"])
        names = list(range(width)) if names is None else list(names)
        if len(settings["columns"]) != width or len(names) != width:
            raise ValueError(f"the file has bins of {len(settings['columns'])} columns; the model has {width}")
        edges = _Slices("edges", arrays)
        columns = [
            ColumnBins(
                name,
                None if column["edges"] is None else edges.take(int(column["edges"])),
                None if column["levels"] is None else tuple(column["levels"]),
                *map(float, column["range"]),
            )
            for name, column in zip(names, settings["columns"], strict=True)
        ]
        terms = _read_terms(settings["terms"], arrays, columns)
        classes = settings.get("classes")
        labels = Labels() if classes is None else Labels(tuple(classes["names"]))
        fitted = settings.get("fitted_parameters", settings["parameters"])
        link: Literal["identity", "log"] = "identity" if fitted.get("family", "gaussian") == "gaussian" else "log"
        return cls(columns, arrays["intercept"], terms, labels, link)


def value_type(term: AdditiveTerm) -> npt.DTypeLike:
    """Return the type of the values of a term in files: 4 bytes, or 2 for more than two classes, which are many."""
    return np.int32 if term.values.ndim == term.density.ndim else np.int16


class _Slices:
    """An array of a file, taken part by part."""

    def __init__(self, name: str, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        self._name, self._array, self._at = name, arrays[name], 0

    def take(self, count: int) -> npt.NDArray[Any]:
        """Return the next numbers."""
        first, self._at = self._at, self._at + count
        if count < 0 or self._at > len(self._array):
            raise ValueError(f"array {self._name!r} has {len(self._array)} numbers; the terms have more")
        return self._array[first : self._at]


def _read_terms(
    terms: Sequence[Any], arrays: Mapping[str, npt.NDArray[Any]], bins: list[ColumnBins]
) -> list[AdditiveTerm]:
    """Return the terms of a file."""
    paired = sorted({int(place) for each in terms if len(each["columns"]) == 2 for place in each["columns"]})
    largest = max((int(place) for each in terms for place in each["columns"]), default=0)
    if largest >= max(len(bins), 1) or min(paired, default=0) < 0:
        raise ValueError(f"a term is of column {largest}; the model has {len(bins)}")
    slices = {name: _Slices(name, arrays) for name in ("values", "errors", "density", "groups")}
    groups = [np.zeros(256, dtype=np.int32) for _ in bins]
    for column in paired:
        groups[column][: len(bins[column])] = slices["groups"].take(len(bins[column]))
    found = []
    for at, each in enumerate(terms):
        places = [int(place) for place in each["columns"]]
        if len(places) == 1:
            own = bins[places[0]]
            line = own.places() if own.ordered and each.get("line", False) else None
            term = main_term(places[0], own, int(each["monotone"]))._replace(line=line)
        else:
            left, right = places
            missing = dict(zip(places, map(bool, each["missing"]), strict=True))
            term = pair_term(left, right, groups, bins, missing)
        t = len(arrays["intercept"])
        exponent, share_exponent = each["exponents"]
        if exponent is None:
            values = arrays[f"values.{at}"].astype(np.float64)
        else:
            values = from_grid(slices["values"].take(term.cells * t), int(exponent))
        errors = from_log_codes(slices["errors"].take(term.cells * t), float(each["largest_error"]))
        share = from_grid(slices["density"].take(term.cells), int(share_exponent))
        shape = (term.cells, t)
        found.append(show_term(term, values.reshape(shape), errors.reshape(shape), share, bins))
    return found
