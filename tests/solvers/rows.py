"""Small objectives over kernels, as a model would make them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from suffice.families.response import Response
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.descent import Descent, Pace
from suffice.solvers import SGDObjective, ValueGradient, ValueGradientHessian
from suffice.solvers.stochastic import shuffled

KERNELS = ThreadEngine(1).kernels


@dataclass
class GradientOnly(SGDObjective):
    """Minus the log-likelihood of rows plus a ridge, without a Hessian; it counts the passes it is asked for."""

    capabilities = frozenset({"epoch"})

    batch: Batch
    response: Response
    l2: float = 0.0
    intercept: bool = True
    passes: int = field(default=0, compare=False)

    @property
    def weight(self) -> float:
        return float(self.n_rows) if self.batch.weight is None else float(np.sum(self.batch.weight))

    @property
    def unit(self) -> float:
        return float(np.var(self.batch.y)) if self.response.family.name == "gaussian" else 1.0

    @property
    def n_rows(self) -> int:
        return self.batch.rows

    def value_gradient(self, theta: np.ndarray) -> ValueGradient:
        self.passes += 1
        _, value, score, _ = KERNELS.curvature(self.batch, self.response, theta, self.intercept, False)
        pull = self.l2 * theta
        pull[: int(self.intercept)] = 0
        return ValueGradient(float(np.sum(pull * theta)) / 2 - value, pull - score)

    def epoch(self, theta: np.ndarray, order_seed: int | None, pace: Pace) -> Descent:
        self.passes += 1
        order = shuffled(self.n_rows, order_seed)
        return KERNELS.descend(self.batch, self.response, theta, self.intercept, order, pace, self.l2 / self.weight)


class WithHessian(GradientOnly):
    """One with a Hessian, without the ridge's."""

    capabilities = frozenset({"epoch", "hessian"})

    def value_gradient_hessian(self, theta: np.ndarray) -> ValueGradientHessian:
        self.passes += 1
        _, value, score, information = KERNELS.curvature(self.batch, self.response, theta, self.intercept, True)
        return ValueGradientHessian(-value, -score, information)


FAMILIES = ["gaussian", "bernoulli", "poisson", "multinomial"]


def drawn(family: str, n: int = 600, kind: type[GradientOnly] = GradientOnly, scale: float = 1.0) -> Any:
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


def newton(objective: GradientOnly, theta: np.ndarray) -> np.ndarray:
    """Where the objective is least, by Newton's rule with numbers of its own."""
    for _ in range(30):
        _, gradient = objective.value_gradient(theta)
        information = KERNELS.curvature(objective.batch, objective.response, theta, True, True)[3]
        ridge = np.full(theta.shape, objective.l2)
        ridge[0] = 0
        step = np.linalg.solve(information + np.diag(ridge.T.ravel()), gradient.T.ravel())
        theta = theta - step.reshape(theta.T.shape).T
    return theta
