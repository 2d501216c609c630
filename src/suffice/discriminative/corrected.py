"""Naive Bayes on texts, and what logistic regression corrects it by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.discriminative.ratios import LogRatios
from suffice.engines import Batch, Engine
from suffice.engines.descent import Ascent
from suffice.engines.native_stochastic import Ridge
from suffice.families import Response
from suffice.statistics import EventCounts, Labels
from suffice.statistics.base import FloatArray


@dataclass(frozen=True, eq=False)
class Texts:
    """Rows, what they are counted by, and their classes."""

    counted: Any
    rows: Any
    codes: npt.NDArray[np.int64]
    weight: FloatArray | None

    @property
    def weight_in_all(self) -> float:
        """The weight of all rows."""
        return float(len(self.codes) if self.weight is None else self.weight.sum())

    def of(self, which: npt.NDArray[np.bool_]) -> Texts:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[which]
        return Texts(self.counted[which], self.rows[which], self.codes[which], weight)


@dataclass(frozen=True, eq=False)
class Corrected:
    """Naive Bayes on some rows, whose theta is to be corrected; every penalty goes on from where the last one ended."""

    engine: Engine
    batch: Batch  # its offset is naive Bayes's part of the scores
    response: Response
    scale: FloatArray  # (d, t), the ratios
    towards: float
    intercept: bool
    level: FloatArray  # (t,), where the intercepts are
    probabilities: FloatArray  # (n, k)

    @classmethod
    def of(cls, engine: Engine, texts: Texts, classes: int, alpha: float, towards: float, intercept: bool) -> Self:
        """Return naive Bayes on these rows."""
        two, codes = classes == 2, texts.codes
        labels = Labels(tuple(range(classes)))
        sums = engine.accumulate(EventCounts.over(labels), Batch(texts.counted, codes, texts.weight))
        ratios = LogRatios(sums.counts, alpha)
        offset = None
        if towards != 0:
            weight = texts.weight
            light = 1.0 if weight is None else float(np.min(weight, initial=1.0, where=weight > 0))
            offset = towards * ratios.scores(texts.counted, texts.rows, codes, light)
        probabilities = np.zeros((len(codes), classes))
        probabilities[np.arange(len(codes)), 1 - codes if two else codes] = 1.0
        batch = Batch(texts.rows, codes.astype(np.float64) if two else codes, texts.weight, offset)
        response = Response.of("bernoulli" if two else "multinomial")
        scale = ratios.table()
        return cls(engine, batch, response, scale, towards, intercept, np.zeros(scale.shape[1]), probabilities)

    def solve(self, l2: float, tol: float, most: int, seed: int) -> Ascent:
        """Return the theta, less what it is shrunk towards, that a penalty leads to."""
        start = np.zeros((len(self.scale) + self.intercept, len(self.level)))
        start[: int(self.intercept)] = self.level
        weight = self.batch.rows if self.batch.weight is None else float(self.batch.weight.sum())
        kernels: Any = self.engine.kernels  # native ones, which alone have it
        ascent: Ascent = kernels.dual_ascent(
            self.batch,
            self.response,
            start,
            self.intercept,
            Ridge(l2, self.scale, self.response.name != "bernoulli/logit"),
            self.probabilities,
            most,
            tol * weight,
            seed,
        )
        self.level[:] = ascent.theta[0] if self.intercept else 0.0
        return ascent

    def linear(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return coefficients of x, (t, d), and intercepts, (t,)."""
        first = int(self.intercept)
        coef = np.empty(self.scale.shape[::-1])
        np.multiply(theta[first:] + self.towards, self.scale, out=coef.T)
        return coef, theta[0].copy() if first else np.zeros(len(coef))

    def loss(self, theta: FloatArray, texts: Texts) -> float:
        """Return the log-loss of other rows."""
        coef, intercept = self.linear(theta)
        scores = texts.rows @ coef.T + intercept
        if scores.shape[1] == 1:
            scores = np.concatenate([np.zeros_like(scores), scores], axis=1)
        losses = np.logaddexp.reduce(scores, axis=1) - scores[np.arange(len(scores)), texts.codes]
        return float(losses.sum() if texts.weight is None else texts.weight @ losses)
