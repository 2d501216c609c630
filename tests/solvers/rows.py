"""Small objectives over kernels, as a model would make them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.families.response import Response
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.descent import Descent, Pace
from suffice.solvers.stochastic import shuffled

KERNELS = ThreadEngine(1).kernels


@dataclass
class Likelihood:
    """The log-likelihood of rows less a ridge, which counts the passes it is asked for."""

    batch: Batch
    response: Response
    l2: float = 0.0
    intercept: bool = True
    passes: int = field(default=0, compare=False)

    @property
    def weight(self) -> float:
        return float(self.count) if self.batch.weight is None else float(np.sum(self.batch.weight))

    @property
    def unit(self) -> float:
        return float(np.var(self.batch.y)) if self.response.family.name == "gaussian" else 1.0

    @property
    def count(self) -> int:
        return self.batch.rows

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        self.passes += 1
        _, value, gradient, _ = KERNELS.curvature(self.batch, self.response, theta, self.intercept, False)
        pull = self.l2 * theta
        pull[: int(self.intercept)] = 0
        return value - float(np.sum(pull * theta)) / 2, gradient - pull

    def descend(self, theta: np.ndarray, order_seed: int | None, pace: Pace) -> Descent:
        self.passes += 1
        order = shuffled(self.count, order_seed)
        return KERNELS.descend(self.batch, self.response, theta, self.intercept, order, pace, self.l2 / self.weight)


class Curved(Likelihood):
    """One that tells its curvature."""

    def curvature(self, theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
        self.passes += 1
        _, value, gradient, information = KERNELS.curvature(self.batch, self.response, theta, self.intercept, True)
        return value, gradient, information


FAMILIES = ["gaussian", "bernoulli", "poisson", "multinomial"]


def drawn(family: str, n: int = 600, kind: type[Likelihood] = Likelihood, scale: float = 1.0) -> Any:
    """Rows of three features, drawn from the family itself."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n, 3))
    z = 0.3 + x @ np.array([1.0, -0.5, 0.2])
    y = {
        "gaussian": scale * (z + rng.normal(size=n)),
        "bernoulli": (rng.random(n) < 1 / (1 + np.exp(-z))).astype(float),
        "poisson": rng.poisson(np.exp(z)).astype(float),
        "multinomial": np.argmax(x + rng.gumbel(size=(n, 3)), axis=1),
    }[family]
    return kind(Batch(x, y), Response.of(family), l2=1.0)


def start(family: str) -> np.ndarray:
    return np.zeros((4, 2 if family == "multinomial" else 1))


def newton(objective: Likelihood, theta: np.ndarray) -> np.ndarray:
    """Where the objective is largest, by Newton's rule with numbers of its own."""
    for _ in range(30):
        _, gradient = objective.slope(theta)
        information = KERNELS.curvature(objective.batch, objective.response, theta, True, True)[3]
        ridge = np.full(theta.shape, objective.l2)
        ridge[0] = 0
        step = np.linalg.solve(information + np.diag(ridge.T.ravel()), gradient.T.ravel())
        theta = theta + step.reshape(theta.T.shape).T
    return theta
