"""A model that is a reading of a sum: what each of them says, and what follows from it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from suffice import door
from suffice.engines import Batch, Engine
from suffice.engines.choice import engine_for
from suffice.engines.kernels import Kernels
from suffice.fitted_parameters import ReadFromStatistics, read_attribute
from suffice.generative.conditional import Conditional
from suffice.generative.joint import Joint, What, read_many
from suffice.generative.memory import Memory
from suffice.statistics import Labels, Statistics
from suffice.statistics.base import FloatArray


class Summed(ReadFromStatistics, BaseEstimator, ABC):  # type: ignore[misc]
    """A model whose p(x, y) is read from one sum over rows.

    A subclass says what to sum (:meth:`_what`) and how to read p(x | y) from the sum (:meth:`_conditional`). The sum is
    all that is kept of the rows, so models stream, merge and forget.
    """

    #: The settings that may be "auto", with the values that are tried and the value where nothing was tried yet.
    _tuned: ClassVar[dict[str, tuple[tuple[float, ...], float]]] = {}

    engine: Engine | None
    temperature: float | str
    n_features_in_: int
    classes_: npt.NDArray[Any]
    _memory: Memory
    _chosen: dict[str, float]

    # What a subclass says.

    @abstractmethod
    def _what(self, labels: Labels) -> Callable[[Batch, Kernels], Statistics]:
        """Return the summariser of a batch whose y holds codes into the labels."""

    @abstractmethod
    def _conditional(self, statistics: Any) -> Conditional:
        """Return p(x | y) as the settings read it from the sum."""

    @abstractmethod
    def _prior(self, statistics: Any) -> FloatArray:
        """Return p(y), (k,)."""

    @abstractmethod
    def _prior_is_learnt(self) -> bool:
        """Whether p(y) is the classes' shares of the rows."""

    def _sum_shape(self) -> dict[str, Any]:
        """Return the settings that change what is summed: models must agree on them to be merged."""
        return {}

    def _check_settings(self) -> None:
        """Raise where a setting makes no sense, before any row is read."""
        _check_temperature(self.temperature)

    def _features(self, X: Any, reset: bool) -> Any:
        """Return the rows as engines read them."""
        return door.features(self, X, reset)

    def _can_wait(self, x: Any) -> bool:
        """Whether a small batch holds nothing that its sum would refuse, and may wait to be added."""
        return False

    def _sum(self, x: Any, codes: npt.NDArray[np.int64], weight: FloatArray | None, labels: Labels) -> Statistics:
        """Return the sum over rows, codes being of the labels."""
        return engine_for(self.engine, x).accumulate(self._what(labels), Batch(x, codes, weight))

    def _sum_batch(self, batch: Batch, labels: Labels) -> Statistics:
        return self._sum(batch.x, batch.y, batch.weight, labels)

    def _generative(self, statistics: Statistics) -> Joint:
        """Return the p(x, y) whose likelihood unlabelled rows raise."""
        return self._read(statistics).with_temperature(1.0)

    def _log_smoothing(self, conditional: Any) -> float:
        """Return the log-density of the prior that smoothing stands for, up to a constant."""
        return 0.0

    def _setting(self, name: str) -> Any:
        """Return a setting, as it was chosen where it is "auto"."""
        value = getattr(self._params, name)
        return self._choice(name, self._tuned[name][1]) if is_auto(value) else value

    def _choice(self, name: str, otherwise: float) -> float:
        """Return what was chosen for a setting; ``otherwise`` where no rows were there to choose by."""
        return float(getattr(self, "_chosen", {}).get(name, otherwise))

    # The sum, and what was read from it.

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        if "_memory" in state:  # a copy learns for itself
            state = {**state, "_memory": state["_memory"].copied()}
        return state

    def _what_fixes(self) -> dict[str, Any]:
        return self._sum_shape()

    def _check_readable(self, wanted: Self) -> None:
        for name in (*self._tuned, "temperature"):
            if is_auto(getattr(wanted, name)) and name not in self._chosen:
                raise ValueError(f"{name}='auto' is chosen by rows held out, which the sums do not hold: fit again")

    def _unread(self) -> None:
        if "_memory" in vars(self):
            self._memory.unread()

    def _check_read(self) -> None:
        _ = self._joint

    def __sklearn_is_fitted__(self) -> bool:
        """Whether there is something to predict from."""
        return hasattr(self, "_memory")

    def _check_fitted(self) -> None:
        if "_memory" not in vars(self):
            check_is_fitted(self)  # takes its time to say no

    @read_attribute
    def statistics_(self) -> Any:
        """The sum over all rows learnt: with it the model can be read anew, merged and taken apart."""
        self._check_fitted()
        return self._memory.statistics

    @property
    def _joint(self) -> Joint:
        self._check_fitted()
        return self._memory.joint(self._read)

    def _read(self, statistics: Statistics) -> Joint:
        """Return p(x, y) as the settings read it from a sum."""
        return self._joint_of(statistics, self._conditional(statistics))

    def _joint_of(self, statistics: Statistics, conditional: Conditional) -> Joint:
        """Return p(x, y) with this p(x | y)."""
        return Joint(self._labels_of(statistics), self._prior(statistics), conditional, self._temperature())

    def _temperature(self) -> float:
        """Return the temperature, as it was chosen where it is "auto"."""
        temperature = self._params.temperature
        return self._choice("temperature", 1.0) if is_auto(temperature) else float(temperature)

    def _labels_of(self, statistics: Any) -> Labels:
        labels: Labels = statistics.labels
        return labels

    def _rows_read(self, X: Any, what: What) -> Any:
        self._check_fitted()
        x = self._features(X, reset=False)
        return self._ask(self._joint, x, what)

    def _readable(self, joint: Joint, x: Any) -> Any:
        """Return rows that have passed the door as p(x, y) reads them."""
        return x

    def _ask(self, joint: Joint, x: Any, what: What) -> Any:
        """Return one reading of every row, which has passed the door."""
        x = self._readable(joint, x)
        return joint.read(engine_for(self.engine, x), x, what)

    def _ask_many(self, joints: Sequence[Joint], x: Any, what: Any) -> list[Any]:
        """Return one reading of every row under each of several p(x, y) read from the same sum."""
        x = self._readable(joints[0], x)
        return read_many(joints, engine_for(self.engine, x), x, what)


def is_auto(value: Any) -> bool:
    """Whether a setting is to be chosen by the data."""
    return isinstance(value, str) and value == "auto"


def _check_temperature(value: Any) -> None:
    if is_auto(value):
        return
    if isinstance(value, str) or not 0 < float(value) < np.inf:
        raise ValueError(f"temperature must be a finite number above 0, or 'auto'; got {value!r}")
