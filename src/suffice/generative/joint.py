"""The fitted p(x, y): a prior and class conditionals, asked for posteriors, evidence, samples and explanations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import array_api_compat
import numpy as np
import numpy.typing as npt

from suffice.engines import Batch, Engine
from suffice.engines.reading import Reading
from suffice.generative.conditional import Conditional, Contributions, Theta
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

What = Literal["joint", "log_posterior", "posterior", "evidence", "best"]


@dataclass(frozen=True, eq=False)
class Joint:
    """p(x, y) = p(y) p(x | y).

    Parameters
    ----------
    labels
        The classes.
    prior
        p(y), (k,); a class of prior 0 is never chosen.
    conditional
        p(x | y).
    temperature
        The posterior is proportional to p(x, y) to the power of 1 / temperature: above 1 it is less sure of itself.
    """

    labels: Labels
    prior: FloatArray  # (k,)
    conditional: Conditional
    temperature: float = 1.0

    @property
    def log_prior(self) -> FloatArray:
        """The log of the prior, -inf for a class of prior 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.prior)

    @property
    def theta(self) -> Theta | None:
        """The coefficients of the posterior's log, prior included, where it is linear in x."""
        linear = self.conditional.theta
        return None if linear is None else Theta(linear.coef, linear.intercept + self.log_prior)

    @property
    def apart(self) -> Theta | None:
        """The same less what all classes share."""
        linear = self.conditional.apart
        return None if linear is None else Theta(linear.coef, linear.intercept + self.log_prior)

    def read(self, engine: Engine, x: Any, what: What) -> Any:
        """Return one reading of every row of x."""
        reading = Reading(what, self.temperature, self.prior / self.prior.sum())
        score = partial(_score, self.conditional, self.log_prior, reading)
        return joined(engine.map(score, Batch(x)))

    def with_temperature(self, temperature: float) -> Joint:
        """Return the same distribution with posteriors sharpened or softened."""
        return replace(self, temperature=temperature)

    def draw_classes(self, n: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return n class codes drawn from the prior."""
        return random.choice(len(self.prior), size=n, p=self.prior)

    def contributions(self, x: Any) -> Contributions:
        """Return log p(x, y) taken apart, the prior in the base."""
        parts, base = self.conditional.contributions(x)
        return Contributions(parts, base + self.log_prior)


def _score(conditional: Conditional, log_prior: FloatArray, reading: Reading, batch: Batch, kernels: Any) -> Any:
    return conditional.scores(batch, kernels, log_prior, reading)


def joined(parts: Iterable[Any]) -> Any:
    """Return the results of consecutive rows as one array of their library."""
    arrays = list(parts)
    if len(arrays) == 1:
        return arrays[0]
    return array_api_compat.array_namespace(arrays[0]).concat(arrays)
