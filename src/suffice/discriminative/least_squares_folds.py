"""Folds of linear models: normal equations of each fold, summed in one pass, and errors of rows held out, from them."""

from __future__ import annotations

from dataclasses import replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, check_cv

from suffice import validation
from suffice.data import Dataset
from suffice.data.dataset import Piece, engine_for_parts, model_for_parts, no_rows
from suffice.data.refusals import refused_in_parts
from suffice.discriminative.least_squares import LeastSquaresModel, Summed, sum_rows
from suffice.discriminative.normal_equations import Products, products_of
from suffice.kernels import Batch
from suffice.kernels.array_blocks import to_host
from suffice.kernels.engine import engine_for
from suffice.kernels.errors import NonFiniteError
from suffice.kernels.libraries import taken
from suffice.selection.rows import Index, sums_of_others
from suffice.statistics import NormalEquations
from suffice.statistics.base import FloatArray

#: The number of rows before a part, by its place.
Before = dict[tuple[int, int], int]


class FoldSums(NamedTuple):
    """The sums of all rows, of the rows that each fold holds out, and of those that it is predicted from."""

    whole: Summed
    held_out: list[NormalEquations]
    others: list[NormalEquations]


def sum_folds(model: LeastSquaresModel, data: Dataset, cv: Any) -> FoldSums:
    """Return the sums of folds, each row summed once where the folds hold out each row once.

    Parameters
    ----------
    model
        Sets the number and names of its features.
    data
        Rows in memory, or in parts; rows in parts are counted first.
    cv
        Number of folds, None for 5, a splitter, or pairs of row numbers of training and test rows, as in scikit-learn.
        Rows in parts take a number, or ``KFold`` without shuffling.
    """
    batches = model._encode(data, reset=True)
    try:
        rows = batches.in_memory
        return _sum_in_parts(model, data, cv) if rows is None else _sum_in_memory(model, rows, cv)
    except NonFiniteError as error:
        raise validation.cell_error(error) from None


def _sum_in_memory(model: LeastSquaresModel, rows: Batch, cv: Any) -> FoldSums:
    engine = engine_for(model._engine, rows.x)
    splits = splits_of(cv, rows)
    held = [sum_rows(engine, rows_at(rows, test)) for _, test in splits]
    everything = np.concatenate([test for _, test in splits])
    apart = len(everything) == rows.rows and bool((np.bincount(everything, minlength=rows.rows) == 1).all())
    if apart and all(len(train) + len(test) == rows.rows for train, test in splits):
        return _checked(reduce(Summed.plus, held), [each.equations for each in held], None)
    others = [sum_rows(engine, rows_at(rows, train)).equations for train, _ in splits]
    return _checked(sum_rows(engine, rows), [each.equations for each in held], others)


def splits_of(cv: Any, rows: Batch) -> list[tuple[Index, Index]]:
    """Return the row numbers that each fold is predicted from, and those that it holds out."""
    targets = to_host(rows.y)
    return [(np.asarray(a), np.asarray(b)) for a, b in check_cv(cv).split(np.zeros((rows.rows, 1)), targets)]


def rows_at(rows: Batch, places: Index) -> Batch:
    """Return some rows; those in a row without copying them."""
    if len(places) and places[-1] - places[0] + 1 == len(places) and (np.diff(places) == 1).all():
        return replace(rows, start=int(places[0]), stop=int(places[-1]) + 1)
    return Batch(*(taken(column, places) for column in (rows.x, rows.y, rows.weight)))


def _sum_in_parts(model: LeastSquaresModel, data: Dataset, cv: Any) -> FoldSums:
    count = 5 if cv is None else cv.n_splits if isinstance(cv, KFold) and not cv.shuffle else cv
    if not isinstance(count, int | np.integer):
        raise refused_in_parts("folds by position", repr(cv))
    reader = model_for_parts(model, data)
    counted = sorted(data.map_parts(partial(_count_part, reader)).iterate())
    if not counted:
        raise no_rows()
    sizes = [rows for _, rows in counted]
    before = dict(zip([place for place, _ in counted], np.cumsum([0, *sizes[:-1]]).tolist(), strict=True))
    total = sum(sizes)
    edges = [int(test[0]) for _, test in KFold(int(count)).split(np.empty((total, 1)))] + [total]
    engine = engine_for_parts(data, model._engine)
    held = data.map_parts(partial(_sum_part, reader, engine, before, edges)).reduce(_each_plus)
    assert held is not None
    return _checked(reduce(Summed.plus, held), [each.equations for each in held], None)


def _placed(model: LeastSquaresModel, piece: Piece) -> tuple[tuple[int, int], Batch]:
    if piece.get("place") is None:
        raise ValueError(
            "the parts of a Dataset must hold their 'place', a tuple of two whole numbers by which parts are ordered, "
            "to be cut into folds"
        )
    with validation.one_of_many():
        return piece["place"], model._rows(piece["X"], piece.get("y"), piece.get("sample_weight"))


def _count_part(model: LeastSquaresModel, piece: Piece) -> tuple[tuple[int, int], int]:
    place, rows = _placed(model, piece)
    return place, rows.rows


def _sum_part(model: LeastSquaresModel, engine: Any, before: Before, edges: list[int], piece: Piece) -> list[Summed]:
    """Return the sums of the rows of each fold in a part."""
    place, rows = _placed(model, piece)
    first = before[place]
    cuts = np.clip(np.array(edges) - first, 0, rows.rows)
    found = []
    for start, stop in pairwise(cuts):
        some = replace(rows, start=int(start), stop=int(stop))
        one = sum_rows(engine(rows), some)
        found.append(one if start < stop else one._replace(equations=NormalEquations.zero()))
    return found


def _each_plus(one: list[Summed], two: list[Summed]) -> list[Summed]:
    return [mine.plus(theirs) for mine, theirs in zip(one, two, strict=True)]


def _checked(whole: Summed, held: list[NormalEquations], others: list[NormalEquations] | None) -> FoldSums:
    validation.check_weight(whole.equations.total)
    others = cast("list[NormalEquations]", sums_of_others(held)) if others is None else others
    for number, (one, rest) in enumerate(zip(held, others, strict=True)):
        if not (one.total > 0 and rest.total > 0):
            raise ValueError(
                f"fold {number} of cv has rows of total weight {one.total:g}, and the others of {rest.total:g}: both "
                "must be above 0; give fewer folds, or drop rows of weight 0"
            )
    return FoldSums(whole, held, others)


def held_out_squares(sums: NormalEquations, coefs: FloatArray, intercepts: FloatArray) -> FloatArray:
    """Return the mean squared error of models on the rows of a sum, (m, t), from the sum.

    Parameters
    ----------
    coefs
        Coefficients of each model, (m, d, t).
    intercepts
        (m, t).

    Examples
    --------
    >>> line = NormalEquations(2.0, np.array([0.0, 1.0]), np.array([[2.0, 4.0], [4.0, 8.0]]), 1)  # (-1, -1), (1, 3)
    >>> held_out_squares(line, np.array([[[2.0]], [[0.0]]]), np.array([[1.0], [0.0]]))
    array([[0.],
           [5.]])
    """
    centred: Products = products_of(sums, True)
    across = np.einsum("mdt,dt->mt", coefs, centred.xy)
    fitted = np.einsum("mdt,mdt->mt", coefs, np.einsum("de,met->mdt", centred.xx, coefs, optimize=True))
    spread = np.maximum(np.diagonal(centred.yy) - 2 * across + fitted, 0.0) / sums.total
    bias = sums.mean_y - intercepts - np.einsum("d,mdt->mt", sums.mean_x, coefs)
    return np.asarray(spread + bias**2)


def intercepts_of(sums: NormalEquations, intercept: bool, coefs: FloatArray) -> FloatArray:
    """Return the intercepts, (m, t), of coefficients, (m, d, t), that were estimated from a sum."""
    if not intercept:
        return np.zeros((len(coefs), sums.targets))
    return np.asarray(sums.mean_y - np.einsum("d,mdt->mt", sums.mean_x, coefs))


def choice_arrays(model: Any, names: tuple[str, ...]) -> dict[str, npt.NDArray[Any]]:
    """Return fitted attributes as arrays for a file, by name without the underscore."""
    return {name: np.asarray(getattr(model, f"{name}_")) for name in names if hasattr(model, f"{name}_")}
