"""One model of each kind, with rows that suit it: the tests of what all of them share run over these."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from suffice import GLM, GammaRegressor, LinearRegression, LogisticRegression, PoissonRegressor, SoftmaxRegression


class Case(NamedTuple):
    """A model, and the targets it can have for linear predictors z."""

    name: str
    make: Callable[..., Any]
    targets: Callable[[np.random.Generator, np.ndarray], Any]


def bernoulli(random: np.random.Generator, z: np.ndarray) -> np.ndarray:
    return (random.random(len(z)) < 1 / (1 + np.exp(-z))).astype(int)


def dirichlet(random: np.random.Generator, z: np.ndarray) -> np.ndarray:
    return np.array([random.dirichlet(np.exp([0.5 + each, 1.0, 0.3 - each])) for each in 0.3 * z])


CASES = [
    Case("linear", LinearRegression, lambda random, z: z + random.normal(size=len(z))),
    Case("logistic", LogisticRegression, bernoulli),
    Case("three classes", LogisticRegression, lambda random, z: bernoulli(random, z) + bernoulli(random, z - 1)),
    Case("softmax", SoftmaxRegression, lambda random, z: bernoulli(random, z) + bernoulli(random, z - 1)),
    Case("poisson", PoissonRegressor, lambda random, z: random.poisson(np.exp(0.5 * z))),
    Case("gamma", GammaRegressor, lambda random, z: random.gamma(2.0, np.exp(0.5 * z))),
    Case("gaussian", GLM, lambda random, z: z + random.normal(size=len(z))),
    Case("gaussian/log", lambda **more: GLM("gaussian", "log", **more), lambda random, z: np.exp(0.3 * z) + 0.1),
    Case("probit", lambda **more: GLM("binomial", "probit", **more), bernoulli),
    Case("cloglog", lambda **more: GLM("bernoulli", "cloglog", **more), bernoulli),
    Case("cauchit", lambda **more: GLM("bernoulli", "cauchit", **more), bernoulli),
    Case("poisson/sqrt", lambda **more: GLM("poisson", "sqrt", **more), lambda random, z: random.poisson((z + 9) ** 2)),
    Case(
        "inverse_gaussian",
        lambda **more: GLM("inverse_gaussian", **more),
        lambda random, z: random.wald(np.exp(0.3 * z), 4.0),
    ),
    Case("multinomial", lambda **more: GLM("multinomial", **more), lambda random, z: bernoulli(random, z) + (z > 1)),
    Case(
        "exponential", lambda **more: GLM("exponential", "log", **more), lambda random, z: random.exponential(np.exp(z))
    ),
    Case("gamma/inverse", lambda **more: GLM("gamma", "inverse", **more), lambda random, z: 1 / (6 + z) + 0.01),
    Case("beta", lambda **more: GLM("beta", **more), lambda random, z: random.beta(2 + np.exp(z), 3.0)),
    Case("dirichlet", lambda **more: GLM("dirichlet", **more), dirichlet),
]


def rows(case: Case, count: int = 120, seed: int = 0) -> tuple[np.ndarray, Any]:
    """Return rows of three features, and the targets of a case."""
    random = np.random.default_rng(seed)
    x = random.normal(size=(count, 3)) * [1.0, 0.5, 2.0]
    return x, case.targets(random, x @ [0.8, -1.0, 0.3] + 0.2)
