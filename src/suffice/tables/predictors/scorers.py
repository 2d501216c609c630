"""Scorers of a design matrix: what predicts and explains, read from an estimator or from its file contents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Union

import numpy as np

from suffice.families.links import LARGEST_EXPONENT
from suffice.statistics import Labels, NormalEquations
from suffice.statistics.base import FloatArray
from suffice.store import Contents, check_shapes
from suffice.store.parameters import decode_parameters

if TYPE_CHECKING:
    from suffice.additive.scorer import AdditiveScorer
    from suffice.discriminative.local_fit import LocalScorer
    from suffice.generative.joint import Joint


@dataclass(frozen=True, eq=False)
class LinearScores:
    """Scores of classes that are linear in x; their softmax is p(y | x)."""

    labels: Labels
    coef: FloatArray  # (k, d)
    intercept: FloatArray  # (k,)


@dataclass(frozen=True, eq=False)
class LinearMean:
    """The mean of a number, whose link is linear in x."""

    coef: FloatArray  # (d,)
    intercept: float
    link: str  # "identity", "log" or that of another regression

    def mean(self, products: FloatArray) -> FloatArray:
        """Return the mean for each row, (n,), given the products of x and the coefficients, (n,).

        Examples
        --------
        >>> import numpy as np
        >>> LinearMean(np.array([2.0]), 1.0, "identity").mean(np.array([6.0]))
        array([7.])
        """
        eta = products + self.intercept
        if self.link not in ("identity", "log"):
            raise ValueError(f"a model of a table has the link 'identity' or 'log'; got {self.link!r}")
        return np.asarray(eta if self.link == "identity" else np.exp(np.minimum(eta, LARGEST_EXPONENT)))


Scorer = Union["Joint", LinearScores, LinearMean, "AdditiveScorer", "LocalScorer"]


def scorer_of(estimator: Any) -> Scorer | None:
    """Return the scorer of a fitted estimator; None of other regressions than linear ones of one number."""
    if hasattr(estimator, "joint_"):
        joint: Joint = estimator.joint_
        return joint
    if hasattr(estimator, "scorer"):
        own: AdditiveScorer | LocalScorer = estimator.scorer()
        return own
    if hasattr(estimator, "class_coefficients"):
        return LinearScores(Labels.of(estimator.classes_), *estimator.class_coefficients())
    if hasattr(estimator, "_linear") and len((linear := estimator._linear())[0]) == 1:
        link = estimator._response().link.name if hasattr(estimator, "_response") else "identity"
        return LinearMean(linear[0][0], float(linear[1][0]), link)
    return None


def read_scorer(contents: Contents) -> Scorer | None:
    """Return the scorer of an estimator in a file, without the estimator; None where that has to be loaded.

    Each kind imports what it needs: to import all of them would take longer than a prediction.

    Examples
    --------
    >>> import numpy as np
    >>> settings = {"parameters": {"fit_intercept": True}, "features": 1, "classes": {"names": ["a", "b"]}}
    >>> scorer = read_scorer(Contents("LogisticRegression", settings, {}, {"theta": np.array([[1.0], [2.0]])}))
    >>> scorer.coef.tolist(), scorer.intercept.tolist()
    ([[0.0], [2.0]], [0.0, 1.0])
    """
    match contents.kind:
        case "GDA":
            return _read_discriminant(contents)
        case "AdditiveClassifier" | "AdditiveRegressor":
            from suffice.additive.scorer import AdditiveScorer

            return AdditiveScorer.of_contents(contents)
        case "LocallyWeightedRegression":
            from suffice.discriminative.local_fit import LocalScorer

            return LocalScorer.of_contents(contents)
        case "LinearRegression" if not contents.arrays:  # estimated from the sums alone
            return _read_least_squares(contents)
        case "LogisticRegression" | "SoftmaxRegression" if "coef" not in contents.arrays:  # none was assigned
            return _read_coefficients(contents)
        case "GLM" if "coef" not in contents.arrays:
            return _read_mean(contents)
    return None


def _fitted_parameters(settings: Any) -> Any:
    """Return the parameters of the fit, as JSON values."""
    return settings.get("fitted_parameters", settings["parameters"])


def _read_coefficients(contents: Contents) -> LinearScores:
    from suffice.discriminative.coefficients import add_first_class, add_last_class, centre_classes, split_theta

    settings, theta = contents.settings, contents.arrays["theta"]
    labels = Labels(tuple(settings["classes"]["names"]))
    has_intercept = bool(_fitted_parameters(settings)["fit_intercept"])
    check_shapes(contents.arrays, {"theta": (int(settings["features"]) + int(has_intercept), theta.shape[1])})
    if contents.kind == "SoftmaxRegression":
        coef, intercept = add_last_class(*split_theta(theta, has_intercept))
    elif len(labels) > 2:
        coef, intercept = split_theta(centre_classes(theta, len(labels)), has_intercept)
    else:
        coef, intercept = add_first_class(*split_theta(theta, has_intercept))
    if len(coef) != len(labels):
        raise ValueError(f"theta has {theta.shape[1]} columns for the classes {list(labels)!r}")
    return LinearScores(labels, coef, intercept)


def _read_mean(contents: Contents) -> LinearMean | None:
    given, theta = _fitted_parameters(contents.settings), contents.arrays["theta"]
    if given["family"] != "poisson" or given.get("link") is not None or not given["fit_intercept"]:
        return None
    check_shapes(contents.arrays, {"theta": (int(contents.settings["features"]) + 1, 1)})
    return LinearMean(theta[1:, 0], float(theta[0, 0]), "log")


def _read_least_squares(contents: Contents) -> LinearMean | None:
    statistics, given = contents.statistics["sum"], _fitted_parameters(contents.settings)
    if not given["fit_intercept"] or given["positive"] or given["solver"] != "normal":
        return None
    if not isinstance(statistics, NormalEquations) or statistics.targets != 1:
        raise ValueError(f"the sum must be NormalEquations of one target; it is a {type(statistics).__name__}")
    from suffice.discriminative.normal_equations import solve_normal_equations  # with all solvers; few models need it

    theta = solve_normal_equations(statistics, intercept=True).theta[:, 0]
    return LinearMean(theta[1:], float(theta[0]), "identity")


def _read_discriminant(contents: Contents) -> Joint | None:
    from suffice import validation
    from suffice.generative.correlated import STRUCTURES, estimate_gaussians
    from suffice.generative.joint import Joint
    from suffice.statistics.moments import ClassMoments

    settings, statistics = contents.settings, contents.statistics["sum"]
    given = decode_parameters(_fitted_parameters(settings))
    unsettled = (None, "cv")  # chosen on held-out rows, or dependent on whether the covariance is singular
    if not isinstance(statistics, ClassMoments) or given["shrinkage"] in unsettled or given["temperature"] == "auto":
        return None
    labels = Labels(tuple(settings["classes"]["names"]))
    if statistics.labels != labels:
        raise ValueError(f"the sum is of the classes {list(statistics.labels)!r}, the model of {list(labels)!r}")
    if given["priors"] is None:
        prior = validation.shares(labels, statistics.weights)
    else:
        prior = validation.priors(given["priors"], labels, rows=statistics.weights)
    structure, unbiased = STRUCTURES[given["covariance"]], bool(given.get("unbiased", False))
    conditional = estimate_gaussians(statistics, structure, given["shrinkage"], prior=prior, unbiased=unbiased)
    return Joint(labels, prior, conditional, float(given["temperature"]))
