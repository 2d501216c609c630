"""Every model that claims to be fitted where a cluster's rows live, with rows that suit it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

import suffice
from suffice.families import Tweedie

from .clusters import SIZES

ROWS = sum(SIZES)


# Rows. Those of a class lie together, so that most parts lack most classes; one part weighs nothing.


def drawn() -> np.random.Generator:
    return np.random.default_rng(5)


def numbers() -> np.ndarray:
    return drawn().normal(size=(ROWS, 3)) * [1.0, 0.5, 2.0] + [0.0, 3.0, -1.0]


def classes() -> np.ndarray:
    """Return names of classes that lean on the numbers; the third is in few parts."""
    z = numbers()[:, 0] + drawn().normal(size=ROWS)
    found = np.where(z > 0, "no", "yes").astype(object)
    found[153:190:3] = "perhaps"
    return found


def two_classes() -> np.ndarray:
    """Return classes of which the first part has one alone."""
    return np.where(numbers()[:, 0] + drawn().normal(size=ROWS) > 0, 1, 0) * (np.arange(ROWS) >= 3)


def predictors() -> np.ndarray:
    return 0.3 * numbers() @ [0.8, -1.0, 0.3] + 0.2


def weights() -> np.ndarray:
    weight = drawn().gamma(1.0, size=ROWS)
    weight[150:153] = 0.0  # all of one part
    return weight


def measured() -> pd.DataFrame:
    return pd.DataFrame(numbers(), columns=["a", "b", "c"])


def counted() -> pd.DataFrame:
    rates = np.array([[3.0, 1.0, 0.2], [0.5, 2.0, 1.0], [1.0, 0.1, 3.0]])
    each = np.unique(classes().astype(str), return_inverse=True)[1]
    return pd.DataFrame(drawn().poisson(rates[each]).astype(float), columns=["a", "b", "c"])


def named() -> pd.DataFrame:
    random = drawn()
    colour = np.array(["red", "green", "blue"])[random.integers(0, 3, ROWS)]
    colour[189] = "violet"  # in one part alone
    return pd.DataFrame({"colour": colour, "size": np.array(["s", "m"])[random.integers(0, 2, ROWS)]})


def mixed() -> pd.DataFrame:
    random = drawn()
    table = named().assign(length=numbers()[:, 0], visits=random.poisson(2.0, ROWS), new=random.random(ROWS) < 0.3)
    table.loc[7:20, "length"] = np.nan
    return table


@dataclass(frozen=True)
class Case:
    """A model in one of its settings, with rows that suit it."""

    name: str
    make: Callable[[], Any]
    rows: Callable[[], pd.DataFrame] = measured
    targets: Callable[[], np.ndarray] = classes
    beside: dict[str, Callable[[], np.ndarray]] = field(default_factory=lambda: {"sample_weight": weights})
    tolerance: float = 1e-10  #: how far coefficients and answers may be from those of rows in memory

    def __str__(self) -> str:
        return self.name

    def columns(self) -> dict[str, np.ndarray]:
        return {"y": self.targets(), **{key: value() for key, value in self.beside.items()}}

    def here(self) -> Any:
        return self.make().fit(self.rows(), **self.columns())


GENERATIVE = [
    Case("GaussianNB", suffice.GaussianNB),
    Case("GaussianNB, no weights", suffice.GaussianNB, beside={}),
    Case("MultinomialNB", suffice.MultinomialNB, counted),
    Case("ComplementNB", suffice.ComplementNB, counted),
    Case("BernoulliNB", suffice.BernoulliNB, counted),
    Case("PoissonNB", suffice.PoissonNB, counted),
    Case("FamilyNB", suffice.FamilyNB, counted),
    Case("CategoricalNB", suffice.CategoricalNB, named),
    Case("CategoricalNB, bins", lambda: suffice.CategoricalNB(bins=[[0.0], [2.5, 3.0], [-1.0]])),
    Case("MixedNB", suffice.MixedNB, mixed),
    *(
        Case(f"GDA {kind}", lambda kind=kind: suffice.GDA(kind))
        for kind in ("tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
    ),
    Case("GDA shrunk", lambda: suffice.GDA("full", shrinkage="oas")),
    Case("GaussianNB, tuned", lambda: suffice.GaussianNB(alpha="auto", temperature="auto")),
]


def real() -> np.ndarray:
    return predictors() + drawn().normal(size=ROWS)


def pairs() -> np.ndarray:
    return np.stack([real(), numbers()[:, 1] ** 2], axis=1)


def successes() -> np.ndarray:
    return drawn().binomial(trials(), 1 / (1 + np.exp(-predictors())))


def trials() -> np.ndarray:
    return np.random.default_rng(6).integers(1, 9, ROWS)


def some_shares() -> np.ndarray:
    """Return shares of successes, which are whole in all parts but the last ones."""
    return np.where(np.arange(ROWS) < ROWS // 2, successes() > trials() / 2, successes() / trials())


def shares() -> np.ndarray:
    random = drawn()
    return np.array([random.dirichlet(np.exp([0.5 + z, 1.0, 0.3 - z])) for z in predictors()])


def times() -> np.ndarray:
    return np.random.default_rng(7).gamma(2.0, size=ROWS) + 0.1


def events() -> np.ndarray:
    return drawn().poisson(times() * np.exp(predictors()))


WEIGHTED = {"sample_weight": weights}
LINEAR = [
    Case("LinearRegression", suffice.LinearRegression, targets=real),
    Case("LinearRegression, two targets", suffice.LinearRegression, targets=pairs),
    Case("Ridge", suffice.Ridge, targets=real),
    Case("Lasso", lambda: suffice.Lasso(0.05), targets=real),
    Case("LinearRegression, newton", lambda: suffice.LinearRegression("newton"), targets=real),
    *(
        Case(f"LinearRegression, {kind}", lambda kind=kind: suffice.LinearRegression(covariance=kind), targets=real)
        for kind in ("HC0", "HC3")
    ),
]
ITERATED = [
    Case("LogisticRegression", lambda: suffice.LogisticRegression(tol=1e-12), targets=two_classes),
    Case("LogisticRegression, three classes", lambda: suffice.LogisticRegression(C=1.0, tol=1e-12)),
    Case(
        "LogisticRegression, l1",
        lambda: suffice.LogisticRegression(C=0.5, l1_ratio=1.0, tol=1e-12),
        targets=two_classes,
    ),
    Case(
        "LogisticRegression, balanced", lambda: suffice.LogisticRegression(C=10.0, class_weight="balanced", tol=1e-12)
    ),
    Case(
        "LogisticRegression, class weights",
        lambda: suffice.LogisticRegression(class_weight={0: 2.0, 1: 0.5}, covariance="HC0"),
        targets=two_classes,
    ),
    Case(
        "LogisticRegression, HC1", lambda: suffice.LogisticRegression(covariance="HC1", tol=1e-12), targets=two_classes
    ),
    Case("SoftmaxRegression", lambda: suffice.SoftmaxRegression(C=10.0, tol=1e-12)),
    Case(
        "PoissonRegressor, offset",
        lambda: suffice.PoissonRegressor(tol=1e-12),
        targets=events,
        beside={**WEIGHTED, "offset": lambda: np.log(times())},
    ),
    Case(
        "PoissonRegressor, exposure",
        lambda: suffice.PoissonRegressor(tol=1e-12),
        targets=events,
        beside={"exposure": times},
    ),
    Case("GammaRegressor", lambda: suffice.GammaRegressor(tol=1e-12), targets=lambda: np.exp(real())),
    Case("GLM gaussian", lambda: suffice.GLM(tol=1e-12), targets=real),
    Case("GLM Tweedie", lambda: suffice.GLM(Tweedie(power=1.5), tol=1e-12), targets=lambda: np.maximum(real(), 0.0)),
    Case("GLM gaussian, no intercept", lambda: suffice.GLM(fit_intercept=False, tol=1e-12), targets=real),
    Case(
        "GLM binomial",
        lambda: suffice.GLM("binomial", covariance="HC3", tol=1e-12),
        targets=successes,
        beside={**WEIGHTED, "trials": trials},
    ),
    Case(
        "GLM binomial, shares",
        lambda: suffice.GLM("binomial", covariance="HC1", tol=1e-12),
        targets=some_shares,
        beside={"sample_weight": trials},
    ),
    Case("GLM multinomial", lambda: suffice.GLM("multinomial", l2=0.1, tol=1e-12)),
    # Dual ascent, of rows in memory, and L-BFGS, of rows in parts, come near the same optimum.
    Case("NBLogisticRegression", lambda: suffice.NBLogisticRegression(tol=1e-13), counted, two_classes, tolerance=1e-5),
    Case(
        "NBLogisticRegression, auto",
        lambda: suffice.NBLogisticRegression(C="auto", tol=1e-13),
        counted,
        tolerance=1e-5,
    ),
    Case("LocallyWeightedRegression", suffice.LocallyWeightedRegression, targets=real),
    Case("GLM beta", lambda: suffice.GLM("beta", tol=1e-12), targets=lambda: 1 / (1 + np.exp(-real()))),
    Case("GLM dirichlet", lambda: suffice.GLM("dirichlet", tol=1e-12), targets=shares),
]

ADDITIVE = [
    Case("AdditiveClassifier", lambda: suffice.AdditiveClassifier(interactions=1, class_weight="balanced"), mixed),
    Case("AdditiveClassifier, two classes", lambda: suffice.AdditiveClassifier(max_bins=16), targets=two_classes),
    Case("AdditiveRegressor", suffice.AdditiveRegressor, mixed, targets=real),
    Case(
        "AdditiveRegressor, offset",
        lambda: suffice.AdditiveRegressor(family="poisson", interactions=0),
        targets=events,
        beside={**WEIGHTED, "offset": lambda: np.log(times())},
    ),
]

CASES = {case.name: case for case in (*GENERATIVE, *LINEAR, *ITERATED, *ADDITIVE)}
