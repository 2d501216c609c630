"""The objective of a fitted model over its rows, given again, as a model does not keep them."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from suffice import validation
from suffice.discriminative.inference import Inference
from suffice.discriminative.layout import Layout, lay_out
from suffice.discriminative.objective import NegativeLogLikelihood
from suffice.solvers.base import ValueGradientHessian
from suffice.solvers.linear_algebra import Symmetric, flat
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from suffice.discriminative.regression import Regression

#: What may belong to rows besides X and y.
COLUMNS = ("sample_weight", "offset", "exposure", "trials")
#: Rows are taken as those of the fit if the next Newton step is shorter than this many standard errors.
NEAR = 1e-2
#: If the residuals are 0, the gradient is rounding error: this share of the predictors.
ROUNDING = 1e-8


class FitRows(NamedTuple):
    """The objective of a fitted model, over its rows."""

    model: Any  # a copy with the settings of the fit
    objective: NegativeLogLikelihood
    layout: Layout  # maps the objective's theta to that of X
    targets: int  # classes or parts of y; 1 for plain numbers
    theta: FloatArray  # (p, t), as the objective has it
    here: ValueGradientHessian  # of the objective at theta


def check_columns(what: str, columns: Mapping[str, Any]) -> None:
    """Raise for a column that rows do not have."""
    for name in columns:
        if name not in COLUMNS:
            raise TypeError(f"{what} has no argument {name!r}; rows have {', '.join(COLUMNS)}")


@contextmanager
def rows_of_fit(
    model: Regression, what: str, X: Any, y: Any, plain: bool = False, mix: bool = False, **columns: Any
) -> Iterator[FitRows]:
    """Yield the objective of a fitted model over the rows it was fitted to, given again.

    Parameters
    ----------
    what
        What needs the rows, for error messages.
    plain
        Whether the rows are not centred.
    mix
        Whether columns that are nearly combinations of others are replaced, as in the fit.
    **columns
        Further arguments of ``fit`` with an entry for each row.
    """
    if X is None:
        raise ValueError(f"{what} needs the rows of the fit, which a model does not keep: give X and y again")
    check_columns(what, columns)
    columns = {**dict.fromkeys(COLUMNS), **columns}  # what is None may come with the batches of a stream
    settings = {**model._params.get_params(deep=False), "covariance": "classical", "lags": None, "warm_start": False}
    copied = copy.copy(model).set_params(**settings)
    with validation.naming_cells():
        data, targets = copied._encode(X, y=y, **columns)
        try:
            if copied.n_features_in_ != model.n_features_in_:
                raise validation.wrong_width(model, copied.n_features_in_, model.n_features_in_)
            classes = getattr(model, "classes_", None)
            if classes is not None and not np.array_equal(classes, copied.classes_):
                raise ValueError(f"y has the classes {copied.classes_.tolist()}; the model has {classes.tolist()}")
            laid, layout = data, Layout(data.n_features, copied.fit_intercept)
            if not plain:
                mix = mix and not (copied.is_penalised() or copied.bias_reduction)
                laid, layout = lay_out(data, copied.fit_intercept, mix)
            try:
                objective, theta = copied._likelihood(laid, targets), layout.inward(model.solution_.theta)
                here = objective.value_gradient_hessian(theta)
                _check_optimum(model, here, theta, what)
                yield FitRows(copied, objective, layout, targets, theta, here)
            finally:
                if laid is not data:
                    laid.release()
        finally:
            data.release()


def _check_optimum(model: Regression, here: ValueGradientHessian, theta: FloatArray, what: str) -> None:
    """Raise if theta is not the optimum of these rows."""
    if model._params.bias_reduction:  # the gradient is not 0 there
        mine, theirs = model.facts_.log_likelihood, -here.value
        if not abs(theirs - mine) <= 1e-6 * max(abs(mine), 1.0):
            raise other_rows(what)
    elif not model._params._sets_zeros:
        check_same_rows(here, theta, model._inference(), what)


def check_same_rows(here: ValueGradientHessian, theta: FloatArray, fit: Inference, what: str) -> None:
    """Raise if the theta of a fit does not minimise the objective: the rows are not those of the fit."""
    gradient = flat(here.gradient)
    length = max(float(gradient @ Symmetric.of(here.hessian).solve(gradient)), 0.0) ** 0.5
    spread = float(np.nan_to_num(float(fit.dispersion))) ** 0.5
    spread = spread if fit.estimates_dispersion else max(spread, 1.0)
    rounding = ROUNDING * max(float(flat(theta) @ here.hessian @ flat(theta)), 0.0) ** 0.5  # of all predictors
    if not length <= NEAR * gradient.size**0.5 * spread + rounding:
        raise other_rows(what)


def other_rows(what: str) -> ValueError:
    """Return the error about rows to which a model was not fitted."""
    return ValueError(
        f"{what} needs the rows of the fit, and theta is not the optimum of these rows: give X, y, sample_weight, "
        "offset, exposure and trials as they were given to fit"
    )
