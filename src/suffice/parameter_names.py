"""Names of parameters in textbooks, course notes and other libraries, and what they are called here."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any, Self

#: Parameters, and other names of them. A class that has the parameter names it where another name is given.
_SYNONYMS: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...] = (
    (("step", "eta0"), ("learning_rate", "learning_rate_init", "lr", "step_size", "alpha", "eta", "eta0", "step")),
    (("epochs", "max_iter"), ("max_iter", "epochs", "n_epochs", "num_epochs", "n_iter", "n_iterations", "iterations")),
    (("bandwidth",), ("tau",)),
    (("priors", "class_prior"), ("class_prior", "priors", "prior", "class_priors", "phi")),
    (("alpha",), ("laplace", "smoothing", "laplace_smoothing")),
    (("var_smoothing",), ("smoothing", "epsilon")),
    (("binarize",), ("threshold",)),
    (("covariance",), ("covariance_type",)),
    (("batch_rows",), ("batch_size", "minibatch_size")),
    (("solver",), ("optimizer", "optimiser", "method", "algorithm")),
    (("fit_intercept",), ("intercept", "add_intercept", "bias")),
    (("random_state",), ("seed", "random_seed")),
    (("n_jobs",), ("n_threads", "num_threads", "workers")),
)
#: Names of the step size, which models leave to their solver.
_STEP_SIZES = frozenset(_SYNONYMS[0][1]) - {"alpha"}


def step_of_solver(value: Any) -> str:
    """Return how a model that takes a solver is given a step size.

    Examples
    --------
    >>> step_of_solver(0.1)
    'solver=BatchGradient(step=0.1) or solver=StochasticGradient(step=0.1), of suffice.solvers'
    """
    return f"solver=BatchGradient(step={value!r}) or solver=StochasticGradient(step={value!r}), of suffice.solvers"


def conversion(kind: type, name: str, value: Any) -> str | None:
    """Return what a parameter of textbooks or other libraries is in a class, as a sentence; None if that is unknown.

    Examples
    --------
    >>> from suffice import LocallyWeightedRegression, LogisticRegression
    >>> conversion(LocallyWeightedRegression, "tau", 0.5)
    'LocallyWeightedRegression has no tau: tau=0.5 is bandwidth=0.5'
    >>> conversion(LogisticRegression, "depth", 3) is None
    True
    """
    own = signature(kind).parameters
    if name in own:
        return None
    for parameters, others in _SYNONYMS:
        same = next((each for each in parameters if each in own), None)
        if name in others and same is not None:
            return f"{kind.__name__} has no {name}: {name}={value!r} is {same}={value!r}"
    if name in _STEP_SIZES and "solver" in own:
        return f"{kind.__name__} has no {name}: step sizes are the solver's, {step_of_solver(value)}"
    return None


class NamedParameters:
    """A class whose constructor explains parameters that have another name here."""

    def __new__(cls, *args: Any, **given: Any) -> Self:
        """Raise for a parameter of textbooks or other libraries, with its name here."""
        for name, value in given.items():
            if not _has_parameter(cls, name):
                words = f"{cls.__name__}.__init__() got an unexpected keyword argument {name!r}"
                raise TypeError(cls._conversion(name, value) or words)
        return super().__new__(cls)

    @classmethod
    def _conversion(cls, name: str, value: Any) -> str | None:
        """Return what a parameter of other models, or of older versions, is in this one; None if that is unknown."""
        return conversion(cls, name, value)

    @classmethod
    def _check_names(cls, given: Mapping[str, Any]) -> None:
        """Raise for parameters of textbooks or other libraries."""
        for name, value in given.items():
            words = None if _has_parameter(cls, name) else cls._conversion(name, value)
            if words is not None:
                raise ValueError(words)


def _has_parameter(kind: type, name: str) -> bool:
    """Whether a constructor takes a parameter; one that takes any decides for itself."""
    constructor = kind.__init__  # type: ignore[misc]  # of the class itself
    code = getattr(constructor, "__code__", None)  # reading a signature takes as long as a small fit
    if code is not None and name in code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]:
        return True
    own = signature(kind).parameters
    return name in own or any(each.kind is Parameter.VAR_KEYWORD for each in own.values())
