"""The fitted p(x, y): a prior and class conditionals, with posteriors, evidence, samples and explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from suffice.families.links import array_namespace
from suffice.generative.conditional import Conditional, Contributions, Linear, Theta
from suffice.kernels import Batch, Engine
from suffice.kernels.inputs import Reading
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
        log_prior = self.log_prior
        reading = Reading(what, self.temperature, self.prior / self.prior.sum())
        score = partial(_score, self.conditional, log_prior, reading)
        return engine.map_rows(score, Batch(x))

    def with_temperature(self, temperature: float) -> Joint:
        """Return the same distribution with posteriors sharpened or softened."""
        return replace(self, temperature=temperature)

    def draw_classes(self, n: int, random: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return n class codes drawn from the prior."""
        return random.choice(len(self.prior), size=n, p=self.prior)

    def contributions(self, x: Any) -> Contributions:
        """Return the contribution of each feature to log p(x, y); the base contains the prior."""
        parts, base = self.conditional.contributions(x)
        return Contributions(parts, base + self.log_prior)


def _score(conditional: Conditional, log_prior: FloatArray, reading: Reading, batch: Batch, kernels: Any) -> Any:
    return conditional.scores(batch, kernels, log_prior, reading)


#: So many scores of a row at a time: enough to outweigh the reading of the row, few enough to stay in cache.
_TOGETHER = 64


def read_many(joints: Sequence[Joint], engine: Engine, x: Any, what: Literal["joint", "best"]) -> list[Any]:
    """Return one reading of every row under each of several distributions over the same classes.

    Linear ones of one kind, such as those of a grid of smoothings, are scored together: each row is read once for many.
    """
    first = joints[0].conditional
    alike = all(
        isinstance(joint.conditional, Linear)
        and isinstance(first, Linear)
        and joint.conditional.veto is None
        and joint.conditional.threshold == first.threshold
        for joint in joints
    )
    if not alike:
        return [joint.read(engine, x, what) for joint in joints]
    # For two classes, the difference of the scores is enough.
    two = what == "best" and len(joints[0].labels) == 2 and all((joint.prior > 0).all() for joint in joints)
    results: list[Any] = []
    step = max(1, _TOGETHER // len(joints[0].labels))
    for start in range(0, len(joints), step):
        some = joints[start : start + step]
        if two:
            score = partial(_second_of_two, _stacked([_less_the_first(joint) for joint in some]))
        else:
            score = partial(_score_together, _stacked([_with_prior(joint) for joint in some]), len(some), what)
        together = engine.map_rows(score, Batch(x))  # (n, distributions) or (n, distributions, k)
        results.extend(together[:, place, ...] for place in range(len(some)))
    return results


def _stacked(parts: Sequence[Linear]) -> Linear:
    """Return linear forms under one another: as many classes as all of them have together."""
    missing = [part.missing for part in parts if part.missing is not None]
    return Linear(
        np.concatenate([part.coef for part in parts]),
        np.concatenate([part.level for part in parts]),
        np.concatenate(missing) if missing else None,
        parts[0].threshold,
    )


def _with_prior(joint: Joint) -> Linear:
    """Return the linear form of log p(x, y)."""
    part: Any = joint.conditional
    return Linear(part.coef, part.level + joint.log_prior, part.missing, part.threshold)


def _less_the_first(joint: Joint) -> Linear:
    """Return the linear form of the second class less that of the first."""
    part: Any = joint.conditional
    level = part.level + joint.log_prior
    missing = None if part.missing is None else part.missing[1:] - part.missing[:1]
    return Linear(part.coef[1:] - part.coef[:1], level[1:] - level[:1], missing, part.threshold)


def _second_of_two(differences: Linear, batch: Batch, kernels: Any) -> Any:
    scores = differences.scores(batch, kernels, np.zeros(differences.classes))
    xp = array_namespace(scores)
    return xp.astype(scores > 0, xp.int8)


def _score_together(linear: Linear, count: int, what: str, batch: Batch, kernels: Any) -> Any:
    scores = linear.scores(batch, kernels, np.zeros(linear.classes))
    xp = array_namespace(scores)
    if what == "joint":
        return xp.reshape(scores, (scores.shape[0], count, -1))
    best = kernels.read_scores(xp.reshape(scores, (scores.shape[0] * count, -1)), Reading("best"))
    return xp.reshape(best, (-1, count))
