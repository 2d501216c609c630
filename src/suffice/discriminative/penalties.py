"""Penalties of regressions: their scale, and conversions between the parameters of different models."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np

from suffice.estimator import FittedParameters
from suffice.parameter_names import step_of_solver

#: How a model states its penalties: "C" with "l1_ratio" for a sum over rows; "alpha" with "l1_ratio" for a mean over
#: rows, of the log-likelihood or of half the squares (net; without "l1_ratio": lasso); "l1" and "l2" beside a sum over
#: rows; "alpha" beside a sum of squares (ridge); or none, as least squares.
Scale = Literal["C", "alpha", "net", "lasso", "l2", "ridge", "none"]


class Penalties(NamedTuple):
    """The penalty ``l1 |theta| + l2 theta² / 2`` that is added to minus the log-likelihood of all rows."""

    l1: float = 0.0
    l2: float = 0.0


def check_l1_ratio(value: Any) -> None:
    """Raise if the share of l1 is not between 0 and 1."""
    if not (_is_number(value) and 0 <= value <= 1):
        raise ValueError(f"l1_ratio must be a number from 0 to 1; got {value!r}")


def check_c(value: Any) -> None:
    """Raise if C is not above 0."""
    if not (_is_number(value) and value > 0):
        raise ValueError(f"C must be a number above 0, inf without a penalty; got {value!r}")


def check_strength(name: str, value: Any) -> None:
    """Raise if a penalty is not a finite number, 0 or more."""
    if not (_is_number(value) and 0 <= value < np.inf):
        raise ValueError(f"{name} must be a finite number, 0 or more; got {value!r}")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _inverse(value: Any) -> Any:
    """Return 1 / value as text; of what is no number above 0, the formula; of "auto", itself."""
    if isinstance(value, str):
        return repr(value)
    if not _is_number(value) or value < 0:
        return f"1 / {value!r}"
    return "np.inf" if value == 0 else f"{1 / value:g}"


def _penalty_of_c(value: Any) -> str:
    if value is None:
        return "C=np.inf"
    shares = {"l1": "l1_ratio=1.0", "l2": "l1_ratio=0.0", "elasticnet": "l1_ratio between 0.0 and 1.0"}
    return f"{shares.get(value, 'l1_ratio')} with C, 1.0 in scikit-learn by default"


_ROWS = "n the total weight of the rows"

#: What a parameter of other models is in a model with penalties of a scale, given its value.
_CONVERSIONS: dict[Scale, dict[str, Callable[[Any], str]]] = {
    "C": {
        "l2": lambda l2: f"C={_inverse(l2)}",
        "l1": lambda l1: f"l1_ratio=1.0 with C={_inverse(l1)}",
        "alpha": lambda alpha: f"C={_inverse(alpha)} / n, with {_ROWS}; as a learning rate, {step_of_solver(alpha)}",
        "penalty": lambda value: "bias_reduction=True" if value == "firth" else _penalty_of_c(value),
    },
    "alpha": {
        "l2": lambda l2: f"alpha={l2!r} / n, with {_ROWS}",
        "l1": lambda l1: f"l1_ratio=1.0 and alpha={l1!r} / n, with {_ROWS}",
        "C": lambda c: f"alpha={_inverse(c)} / n, with {_ROWS}",
    },
    "l2": {
        "l2": lambda l2: f"l2={l2!r}",  # by another name
        "C": lambda c: f"l2={_inverse(c)}",
        "alpha": lambda alpha: f"l2={alpha!r} * n, with {_ROWS}",
        "l1_ratio": lambda ratio: f"l1 = {ratio!r} * penalty and l2 = (1 - {ratio!r}) * penalty",
    },
    "net": {
        "l2": lambda l2: f"l1_ratio=0.0 and alpha={l2!r} / n, with {_ROWS}",
        "l1": lambda l1: f"l1_ratio=1.0 and alpha={l1!r} / n, with {_ROWS}",
        "C": lambda c: f"alpha={_inverse(c)} / n, with {_ROWS}",
    },
    "lasso": {
        "l1": lambda l1: f"alpha={l1!r} / n, with {_ROWS}",
        "l2": lambda l2: f"alpha={l2!r} of Ridge",
        "C": lambda c: f"alpha={_inverse(c)} / n, with {_ROWS}",
        "l1_ratio": lambda ratio: f"l1_ratio={ratio!r} of ElasticNet",
    },
    "ridge": {
        "l2": lambda l2: f"alpha={l2!r}",
        "l1": lambda l1: f"alpha={l1!r} / n of Lasso, with {_ROWS}",
        "l1_ratio": lambda ratio: f"l1_ratio={ratio!r} of ElasticNet",
        "C": lambda c: f"alpha={_inverse(c)}",
    },
    "none": {
        "l2": lambda l2: f"Ridge(alpha={l2!r})",
        "l1": lambda l1: f"Lasso(alpha={l1!r} / n), with {_ROWS}",
        "alpha": lambda alpha: f"Ridge(alpha={alpha!r}) for a penalty; for a learning rate, {step_of_solver(alpha)}",
        "C": lambda c: f"Ridge(alpha={_inverse(c)})",
        "l1_ratio": lambda ratio: f"ElasticNet(l1_ratio={ratio!r})",
    },
}
#: How to give a ridge penalty, for messages.
RIDGE: dict[Scale, str] = {
    "C": "give C=1.0",
    "alpha": "give alpha > 0",
    "net": "give alpha > 0",
    "lasso": "give alpha > 0",
    "l2": "give l2 > 0",
    "ridge": "give alpha > 0",
    "none": "use Ridge",
}
#: The weight of a ridge penalty, l2 theta² / 2 beside the sum over rows, in textbooks.
_LAMBDAS = ("lambda_", "lambd", "lam", "reg_lambda")
#: Parameters of scikit-learn's solvers that change no result here.
_WITHOUT_EFFECT = {"dual": "a setting of liblinear", "intercept_scaling": "a setting of liblinear"}


def conversion(model: str, scale: Scale, name: str, value: Any) -> str | None:
    """Return what a parameter of other models is in this one, as a sentence; None for an unknown parameter.

    Examples
    --------
    >>> conversion("LogisticRegression", "C", "l2", 2)
    'LogisticRegression has no l2: l2=2 is C=0.5'
    >>> conversion("LinearRegression", "none", "l2", 2)
    'LinearRegression has no l2: use Ridge(alpha=2)'
    """
    convert = _CONVERSIONS[scale].get("l2" if name in _LAMBDAS else name)
    if convert is not None:
        means = "use" if scale == "none" else f"{name}={value!r} is"
        return f"{model} has no {name}: {means} {convert(value)}"
    if name in _WITHOUT_EFFECT:
        return f"{model} has no {name}, {_WITHOUT_EFFECT[name]} in scikit-learn: leave it out"
    return None


class PenalisedModel(FittedParameters):
    """A model with parameters of penalties; those of other models raise, with the conversion."""

    #: How the parameters state penalties.
    _penalty_scale: ClassVar[Scale] = "l2"

    @classmethod
    def _conversion(cls, name: str, value: Any) -> str | None:
        return conversion(cls.__name__, cls._penalty_scale, name, value) or super()._conversion(name, value)

    @classmethod
    def _is_without_effect(cls, name: str, value: Any) -> bool:
        if name in signature(cls).parameters:
            return False
        if name in ("l1", "l2"):  # penalties of 0, unless the default has one
            return _is_number(value) and value == 0 and not cls().is_penalised()
        return name == "penalty" and value is None

    def _penalties(self, weight: float) -> Penalties:
        """Return the penalties beside the log-likelihood of rows of this total weight."""
        return Penalties()

    def is_penalised(self) -> bool:
        """Whether the parameters have a penalty, which keeps coefficients finite."""
        return any(self._penalties(1.0))
