"""Steps along rows, one after another: how long a step is, and where the steps have led."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.kernels import errors, inputs

if TYPE_CHECKING:
    from suffice.kernels.engine import Batch
    from suffice.kernels.protocol import FloatArray


@dataclass(frozen=True)
class Pace:
    """How long the steps along rows are: step number s is ``step / (1 + decay s) ** power`` long.

    Examples
    --------
    >>> Pace(step=0.5, decay=0.1).size(10)
    0.25
    """

    step: float
    decay: float = 0.0
    power: float = 1.0
    rows: int = 1  #: to a step
    first: int = 0  #: the number of the first step

    def __post_init__(self) -> None:
        if not 0 < self.step < math.inf:
            raise ValueError(f"step must be finite and above 0; got {self.step:g}")
        for name in ("decay", "power"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name} must be finite and not negative; got {value:g}")
        if self.rows < 1:
            raise ValueError(f"a step must have at least one row; rows is {self.rows}")
        if self.first < 0:
            raise ValueError(f"steps are counted from 0; first is {self.first}")

    def size(self, number: Any) -> Any:
        """Return the length of a step, or of several, by number."""
        return self.step / (1 + self.decay * number) ** self.power


class Descent(NamedTuple):
    """Where stochastic gradient steps have led.

    Examples
    --------
    >>> half = Descent(np.ones((1, 1)), np.full((1, 1), 0.5), -3.0, 2.0, 2, 0.4, True)
    >>> whole = half.then(Descent(np.ones((1, 1)), np.ones((1, 1)), -1.0, 2.0, 2, 0.2, True))
    >>> float(whole.mean[0, 0]), whole.log_likelihood, whole.steps
    (0.75, -4.0, 4)
    """

    theta: FloatArray  # (p, t)
    mean: FloatArray  # (p, t), the average of theta over all steps; where it started if there were none
    log_likelihood: float  # the sum over rows, each as it was before its own step
    weight: float  # of the rows
    steps: int
    slope: float  # how far the predictors pull: the weighted mean over rows of the sum of their absolute slopes
    finite: bool  # whether theta and slopes stayed finite, and predictors within 1e100; if not, the steps ended there

    def then(self, later: Descent) -> Descent:
        """Return these steps and those that went on from their end as one."""
        steps, weight = self.steps + later.steps, self.weight + later.weight
        return Descent(
            later.theta,
            self.mean + (later.mean - self.mean) * (later.steps / steps) if steps else later.mean,
            self.log_likelihood + later.log_likelihood,
            weight,
            steps,
            (self.slope * self.weight + later.slope * later.weight) / weight if weight else 0.0,
            self.finite and later.finite,
        )


class Correction(NamedTuple):
    """Where the perceptron's rule has led."""

    theta: FloatArray  # (p, t)
    total: FloatArray  # (p, t), the sum of theta over all rows with weight, each as it was after its row
    mistakes: int  # the rows with weight whose class was not the one named
    loss: float = 0.0  # how far the predictors of mistakes were on the wrong side, summed


class Ascent(NamedTuple):
    """Where rounds over the rows of a ridge-penalised logistic or softmax regression have led, by its dual."""

    theta: FloatArray  # (p, t), of the scaled features
    rounds: int
    gap: float  # what the penalised log-likelihood falls short of the highest by, as the last round's rows saw it


def read_order(order: npt.ArrayLike, batch: Batch) -> npt.NDArray[np.int64]:
    """Return the positions of the rows to visit, all of them among the batch's rows."""
    places = np.asarray(order)
    if places.ndim != 1:
        raise errors.wrong_shape("order", "(m,)", places.shape)
    if places.dtype.kind not in "iu" and places.size:
        raise TypeError(f"order must hold integer positions of rows; got {places.dtype}")
    places = np.ascontiguousarray(places, dtype=np.int64)
    if places.size and (places.min() < batch.start or places.max() >= batch.stop):
        at = int(np.argmax((places < batch.start) | (places >= batch.stop)))
        raise ValueError(
            f"order[{at}] is {places[at]}; it must be the position of a row, {batch.start} to {batch.stop - 1}"
        )
    return places


def check_ridge(l2: float) -> None:
    """Raise where a ridge penalty makes no sense."""
    if not 0 <= l2 < math.inf:
        raise ValueError(f"l2 must be finite and not negative; got {l2:g}")


def check_correction(batch: Batch, theta: FloatArray, classes: int, intercept: bool, step: float) -> None:
    """Raise where theta and the step fit neither the rows nor the classes."""
    if classes < 2:
        raise ValueError(f"a perceptron needs at least 2 classes; got {classes}")
    inputs.check_classes(classes, batch.y)
    inputs.check_theta(theta, batch.features + int(intercept))
    predictors = 1 if classes == 2 else classes
    if theta.shape[1] != predictors:
        raise errors.wrong_shape("theta", f"({theta.shape[0]}, {predictors})", theta.shape)
    if not 0 < step < math.inf:
        raise ValueError(f"step must be finite and above 0; got {step:g}")
