"""Several statistics over the same rows, side by side."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from suffice.statistics.base import ALL_DIGITS, Cost, Statistics, Summariser, check_factor
from suffice.statistics.labels import Labels
from suffice.statistics.text import from_bytes, to_bytes


@dataclass(frozen=True, eq=False)
class Parts(Statistics):
    """Several statistics over the same rows: every operation is done part by part.

    Examples
    --------
    >>> from suffice.kernels import Batch, ThreadEngine
    >>> from suffice.statistics import DiagonalMoments, EventCounts
    >>> batch = Batch(np.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> both = Parts.over([EventCounts.over(), DiagonalMoments.over()])
    >>> counts, moments = ThreadEngine().accumulate(both, batch).parts
    >>> counts.counts, moments.mean
    (array([[4., 4.]]), array([[2., 2.]]))
    """

    parts: tuple[Statistics, ...] = ()

    def _shapes(self) -> dict[str, tuple[int, ...]]:
        for index, part in enumerate(self.parts):
            if not isinstance(part, Statistics):
                raise TypeError(f"parts[{index}] must be a statistic; got {type(part).__name__}")
            if isinstance(part, Parts):
                raise ValueError(f"parts[{index}] is Parts itself: put its parts beside the others")
        return {}

    @classmethod
    def zero(cls) -> Self:
        """Return no parts, which add to any without changing them."""
        return cls()

    @classmethod
    def of(cls, batch: Any, kernels: Any, summarisers: Sequence[Callable[[Any, Any], Statistics]]) -> Self:
        """Return what each summariser, such as ``SomeStatistic.over(...)``, makes of the same batch."""
        return cls(tuple(summarise(batch, kernels) for summarise in summarisers))

    @classmethod
    def cost_of(cls, batch: Any, summarisers: Sequence[Callable[[Any, Any], Statistics]]) -> Cost:
        """Return the cost of all parts."""
        costs = [each.cost_of(batch) for each in summarisers if isinstance(each, Summariser)]
        return Cost(sum(each.work for each in costs), sum(each.result for each in costs))

    @property
    def weight(self) -> float:
        """The total weight of the rows, as the first part knows it; 0 where there are no parts."""
        return self.parts[0].weight if self.parts else 0.0

    @property
    def is_zero(self) -> bool:
        """Whether there are no parts."""
        return not self.parts

    @property
    def labels(self) -> Labels:
        """The classes of the first part that has any."""
        return next((part.labels for part in self.parts if hasattr(part, "labels")), Labels())

    def aligned(self, labels: Labels) -> Self:
        """Return the parts over a vocabulary that holds their classes and perhaps more; those without stay."""
        return type(self)(tuple(part.aligned(labels) if hasattr(part, "aligned") else part for part in self.parts))

    def _paired(self, other: Self) -> Iterator[tuple[Statistics, Statistics]]:
        here, there = ([type(part).__name__ for part in side.parts] for side in (self, other))
        if here != there:
            raise ValueError(f"parts of the kinds {here} and {there} do not go together")
        return zip(self.parts, other.parts, strict=True)

    def _plus(self, other: Self) -> Self:
        return type(self)(tuple(one + two for one, two in self._paired(other)))

    def _minus(self, other: Self) -> Self:
        return type(self)(tuple(whole - part for whole, part in self._paired(other)))

    def digits_kept(self) -> float:
        """Return to how many decimal digits the parts are known at least."""
        return min((part.digits_kept() for part in self.parts), default=ALL_DIGITS)

    def scaled(self, factor: float) -> Self:
        """Return the parts with every row's weight multiplied by ``factor``."""
        factor = check_factor(factor)
        return type(self)(tuple(part.scaled(factor) for part in self.parts))

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays of all parts, each under its part's number ("0.rows"), and the parts' kinds."""
        arrays: dict[str, npt.NDArray[Any]] = {"kinds": to_bytes([type(part).__name__ for part in self.parts])}
        for index, part in enumerate(self.parts):
            arrays |= {f"{index}.{name}": array for name, array in part.to_arrays().items()}
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the parts that :meth:`to_arrays` wrote, or say what is wrong with the arrays."""
        if "kinds" not in arrays:
            raise ValueError(f"{cls.__name__} is stored as the arrays 'kinds', '0.…', '1.…'; got {sorted(arrays)}")
        kinds = from_bytes("kinds", np.asarray(arrays["kinds"]))
        if not isinstance(kinds, list):
            raise ValueError(f"array 'kinds' must be a JSON list, of one kind of statistic a part; got {kinds!r}")
        own: list[dict[str, npt.NDArray[Any]]] = [{} for _ in kinds]
        places = {str(index): part for index, part in enumerate(own)}
        for full_name, array in arrays.items():
            number, _, name = full_name.partition(".")
            if number in places:
                places[number][name] = array
            elif full_name != "kinds":
                prefixes = [f"{index}.…" for index in places]
                raise ValueError(
                    f"{cls.__name__} is stored as the arrays {['kinds', *prefixes]}; got {full_name!r} too"
                )
        return cls(tuple(_kind(kind).from_arrays(part) for kind, part in zip(kinds, own, strict=True)))


def _kind(name: object) -> type[Statistics]:
    """Return the kind of statistic of this name that can be a part."""
    kind = Statistics.kinds.get(name) if isinstance(name, str) else None
    if kind is None or inspect.isabstract(kind) or issubclass(kind, Parts):
        known = sorted(
            name for name, kind in Statistics.kinds.items() if not (inspect.isabstract(kind) or issubclass(kind, Parts))
        )
        raise ValueError(f"no part can be a {name!r}: the kinds of statistic known are {known}")
    return kind
