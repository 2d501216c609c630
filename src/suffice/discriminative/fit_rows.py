"""The rows of a fit once more: a fitted regression keeps none, and some questions need them."""

from __future__ import annotations

import copy
from collections.abc import Iterator
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

#: Rows are those of the fit where Newton's next step is no longer than this many standard errors.
NEAR = 1e-2
#: Where nothing is left of y, the gradient is rounding: this share of the predictors.
ROUNDING = 1e-8


class FitRows(NamedTuple):
    """The objective of a fitted model, over its rows."""

    model: Any  # a copy with the settings of the fit
    objective: NegativeLogLikelihood
    layout: Layout  # the way from the objective's theta to that of X
    targets: int  # classes or parts of y; 1 for plain numbers
    theta: FloatArray  # (p, t), as the objective has it
    here: ValueGradientHessian  # of the objective at theta


@contextmanager
def rows_of_fit(model: Regression, what: str, X: Any, y: Any, plain: bool = False, **columns: Any) -> Iterator[FitRows]:
    """Yield the objective of a fitted model over the rows it was fitted to, given again.

    Parameters
    ----------
    what
        What needs them, for errors.
    plain
        Whether the rows are read as they came, not about their means.
    **columns
        What belongs to the rows, by the names of the arguments of ``fit``.
    """
    if X is None:
        raise ValueError(f"{what} needs the rows of the fit, and a model keeps none: give X and y again")
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
                laid, layout = lay_out(data, copied.fit_intercept)
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
    """Raise where theta is not the optimum of these rows."""
    if model._params.penalty != "firth" and model._params.l1 == 0:  # else the gradient is not 0 there
        check_same_rows(here, theta, model._inference(), what)


def check_same_rows(here: ValueGradientHessian, theta: FloatArray, fit: Inference, what: str) -> None:
    """Raise where an objective is not least at the theta of a fit: its rows are others."""
    gradient = flat(here.gradient)
    length = max(float(gradient @ Symmetric.of(here.hessian).solve(gradient)), 0.0) ** 0.5
    spread = float(np.nan_to_num(float(fit.dispersion))) ** 0.5
    spread = spread if fit.estimates_dispersion else max(spread, 1.0)
    rounding = ROUNDING * max(float(flat(theta) @ here.hessian @ flat(theta)), 0.0) ** 0.5  # of all predictors
    if not length <= NEAR * gradient.size**0.5 * spread + rounding:
        raise ValueError(
            f"{what} needs the rows of the fit, and theta is not the optimum of these rows: give X, y, sample_weight, "
            "offset, exposure and trials as they were given to fit"
        )
