"""Base class of statistics: immutable sums over rows with ``+``, ``-``, scaling and serialisation."""

from __future__ import annotations

import dataclasses
import typing
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from suffice.statistics.labels import Labels
from suffice.statistics.text import from_bytes, to_bytes

FloatArray = npt.NDArray[np.float64]

S = TypeVar("S", bound="Statistics")

#: Subtraction may cost this many of float64's 15.9 decimal digits; past it, it refuses.
DIGITS_ALLOWED = 9.0


class Addable(Protocol):
    """A value that adds up over parts of the rows, such as a statistic."""

    def __add__(self, other: Self, /) -> Self: ...


class NegativeEvidenceError(ValueError):
    """Rows were to be removed that the sum does not hold."""


class LostDigitsError(ArithmeticError):
    """A subtraction lost too many digits to cancellation: the remaining rows must be summed again.

    Parameters
    ----------
    message
        What was lost.
    place
        Where most digits were lost: as in :class:`Removal`.
    """

    def __init__(self, message: str, place: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.place = place


class Removal(NamedTuple):
    """Result of a subtraction, and the number of decimal digits lost."""

    left: Any
    digits_lost: float
    place: tuple[int, ...] = ()  # where most were lost, where that is known: (part,) of several, and (feature,) last


class Cost(NamedTuple):
    """Cost of a sum over rows, in numbers read."""

    work: int  # that are read, or what takes as long
    result: int  # that are allocated and added for each part of the rows


class Statistics(ABC):
    """A sum over rows: frozen, with a zero, ``+``, ``-``, a decay and a form as plain arrays.

    A subclass is a frozen dataclass whose fields are float64 arrays, floats, ints, tuples of int, :class:`Labels` and
    tuples of them. It says what to sum in :meth:`of`; it never stores smoothing, priors or shrinkage.
    """

    kinds: ClassVar[dict[str, type[Statistics]]] = {}

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        Statistics.kinds[cls.__name__] = cls

    def __post_init__(self) -> None:
        fields = vars(self)
        for name, value in fields.items():
            if isinstance(value, np.ndarray):
                fields[name] = frozen = np.asarray(value, dtype=np.float64).view()
                frozen.flags.writeable = False
        for name, shape in self._shapes().items():
            seen = getattr(self, name).shape
            if seen != shape:
                raise ValueError(f"{name} must have shape {shape}; got {seen}")

    @abstractmethod
    def _shapes(self) -> dict[str, tuple[int, ...]]:
        """Return the shapes that the arrays must have beside each other, by the name of the field.

        It is asked whenever a statistic is made, and may raise ValueError about anything else in the fields.
        """

    def _fields(self) -> list[tuple[str, Any]]:
        return [(field.name, getattr(self, field.name)) for field in dataclasses.fields(typing.cast(Any, self))]

    def _arrays(self) -> dict[str, FloatArray]:
        """Return the fields that are arrays, by name."""
        return {name: value for name, value in self._fields() if isinstance(value, np.ndarray)}

    def _with(self, **fields: Any) -> Self:
        """Return the same statistic but for some fields."""
        return typing.cast(Self, dataclasses.replace(typing.cast(Any, self), **fields))

    @classmethod
    @abstractmethod
    def zero(cls) -> Self:
        """Return the sum over no rows, which adds to any other of its kind without changing it."""

    @classmethod
    @abstractmethod
    def of(cls, batch: Any, kernels: Any, *what: Any) -> Self:
        """Return the sum over one batch, computed by the engine's kernels."""

    @classmethod
    def over(cls, *what: Any) -> Summariser[Self]:
        """Return what an engine's ``accumulate`` wants: a function of a batch and kernels, which pickles."""
        return Summariser(cls, what)

    @classmethod
    def cost_of(cls, batch: Any, *what: Any) -> Cost:
        """Return about what the sum over a batch costs, by which an engine cuts rows into parts.

        By default the numbers of the batch are read, and one number is summed for each feature.
        """
        return Cost(batch.size, batch.features)

    @property
    @abstractmethod
    def weight(self) -> float:
        """The total weight of the rows summed; their number where no weights were given."""

    @property
    def is_zero(self) -> bool:
        """Whether this is the zero of its kind: no rows, and no shape yet."""
        return self.weight == 0 and all(value.size == 0 for value in self._arrays().values())

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        if other.is_zero:
            return self
        return other if self.is_zero else self._plus(other)

    def __radd__(self, other: object) -> Self:
        """Add to 0, the start value of ``sum(statistics)``."""
        return self if isinstance(other, int) and other == 0 else NotImplemented

    def __sub__(self, other: Self) -> Self:
        if type(other) is not type(self):
            return NotImplemented
        return typing.cast(Self, self.remove(other).left)

    def remove(self, other: Self, digits_allowed: float = DIGITS_ALLOWED) -> Removal:
        """Return the sum without the rows of ``other``, and the digits that cost.

        Raises
        ------
        NegativeEvidenceError
            Where less than nothing would be left: those rows were never in this sum.
        LostDigitsError
            Where more than ``digits_allowed`` decimal digits cancel: sum the remaining rows anew.
        """
        if other.is_zero:
            return Removal(self, 0.0)
        removal = self._minus(other)
        if not removal.digits_lost <= digits_allowed:
            raise LostDigitsError(
                f"taking these rows out of {type(self).__name__} loses {removal.digits_lost:.1f} of 15.9 decimal "
                f"digits (allowed: {digits_allowed:g}): what is left is rounding noise; sum the remaining rows anew",
                removal.place,
            )
        return removal

    @abstractmethod
    def _plus(self, other: Self) -> Self:
        """Return the sum of two statistics, neither of them the zero."""

    @abstractmethod
    def _minus(self, other: Self) -> Removal:
        """Return the difference and the digits lost; raise for rows that cannot have been in the sum."""

    @abstractmethod
    def scaled(self, factor: float) -> Self:
        """Return the sum with every row's weight multiplied by ``factor`` (for decay)."""

    def to_arrays(self) -> dict[str, npt.NDArray[Any]]:
        """Return the fields as plain arrays, from which :meth:`from_arrays` makes an equal statistic."""
        hints = typing.get_type_hints(type(self))
        return {name: _encode(hints[name], value) for name, value in self._fields()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]]) -> Self:
        """Return the statistic that :meth:`to_arrays` wrote; raise for invalid arrays."""
        hints = typing.get_type_hints(cls)
        names = [field.name for field in dataclasses.fields(typing.cast(Any, cls))]
        if set(arrays) != set(names):
            raise ValueError(f"{cls.__name__} is stored as the arrays {sorted(names)}; got {sorted(arrays)}")
        return cls(**{name: _decode(hints[name], name, np.asarray(arrays[name])) for name in names})

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(
            np.array_equal(value, getattr(other, name))
            if isinstance(value, np.ndarray)
            else value == getattr(other, name)
            for name, value in self._fields()
        )

    __hash__ = None  # type: ignore[assignment]  # holds arrays


@dataclasses.dataclass(frozen=True, eq=False)
class KnownCells(Statistics):
    """What a sum per class and feature adds to itself so that rows may miss cells.

    Where no cell is missing, the weight of a class is that of all its cells, and nothing more is kept.
    """

    # (k, d) weight of the rows in which the cell is known; (k, 0) where no cell is missing
    cells: FloatArray = dataclasses.field(default_factory=lambda: np.zeros((0, 0)))

    weights_field: ClassVar[str]  # the field with the weight of all rows of each class, (k,)
    table_field: ClassVar[str]  # a field with one entry per cell, (k, d)

    def __post_init__(self) -> None:
        if np.shape(self.cells)[1:] == (0,):
            classes = np.shape(getattr(self, self.weights_field))[:1]
            object.__setattr__(self, "cells", np.zeros((*classes, 0)))
        super().__post_init__()
        shape = getattr(self, self.table_field).shape
        if self.misses_cells and self.cells.shape != shape:
            raise ValueError(f"cells must have shape {shape}; got {self.cells.shape}")

    @property
    def misses_cells(self) -> bool:
        """Whether the weights of cells are kept, since some cells were missing."""
        return self.cells.shape[1:] != (0,)

    @property
    def observed(self) -> FloatArray:
        """The weight of the rows in which each cell is known, (k, d)."""
        if self.misses_cells:
            return self.cells
        return np.broadcast_to(getattr(self, self.weights_field)[:, None], getattr(self, self.table_field).shape)

    def _observing(self, other: Self) -> tuple[Self, Self]:
        """Return this and another of its shape, both with the weights of their cells if either misses some."""
        if not (self.misses_cells or other.misses_cells):
            return self, other
        return self._with(cells=self.observed), other._with(cells=other.observed)


@dataclasses.dataclass(frozen=True, eq=False)
class Summariser(Generic[S]):
    """A function of a batch and kernels that returns a statistic.

    Parameters
    ----------
    kind
        The statistic.
    what
        The arguments of its :meth:`Statistics.of` after the batch and the kernels.
    """

    kind: type[S]
    what: tuple[Any, ...] = ()

    def __call__(self, batch: Any, kernels: Any) -> S:
        """Return the sum over one batch."""
        return self.kind.of(batch, kernels, *self.what)

    def cost_of(self, batch: Any) -> Cost:
        """Return about what the sum over a batch costs."""
        return self.kind.cost_of(batch, *self.what)


def _encode(hint: Any, value: Any) -> npt.NDArray[Any]:
    """Return the value of a field of the hinted type as one array."""
    if hint == tuple[Labels, ...]:
        return to_bytes([vocabulary.names for vocabulary in value])
    # In C order, since some formats store the raw memory and ignore the strides.
    return value.to_array() if hint is Labels else np.asarray(value, order="C")


def _decode(hint: Any, name: str, array: npt.NDArray[Any]) -> Any:
    """Return one stored array as the value of a field of the hinted type."""
    if hint is Labels:
        return Labels.from_array(array)
    if hint == tuple[Labels, ...]:
        lists = from_bytes(name, array)
        if not isinstance(lists, list) or not all(isinstance(names, list) for names in lists):
            raise ValueError(f"array {name!r} must be the bytes of a JSON list of lists, one vocabulary each")
        return tuple(_vocabulary(name, place, names) for place, names in enumerate(lists))
    if array.dtype.kind not in "fiu":
        raise ValueError(f"array {name!r} must hold numbers; it holds {array.dtype}")
    whole = hint is int or typing.get_origin(hint) is tuple
    if whole and array.size and array.dtype.kind == "f":
        raise ValueError(f"array {name!r} must hold whole numbers; it holds {array.dtype}")
    if hint in (float, int):
        if array.shape != ():
            raise ValueError(f"array {name!r} must be a single number; its shape is {array.shape}")
        return hint(array)
    if typing.get_origin(hint) is tuple:
        return tuple(int(value) for value in array.reshape(-1))
    return array.astype(np.float64)


def _vocabulary(name: str, place: int, names: list[Any]) -> Labels:
    try:
        return Labels(tuple(names))
    except (TypeError, ValueError) as error:
        raise ValueError(f"array {name!r} holds no vocabulary at {place}: {error}") from error


def product_work(rows: int, width: int) -> int:
    """Return the work of summing the products of all pairs of columns of rows, which vectors do many at a time."""
    return rows * width * width // 64


def placed(array: FloatArray, places: npt.NDArray[np.intp], classes: int) -> FloatArray:
    """Return one entry per class, (k, ...), at their places in a larger vocabulary; the others are 0."""
    larger = np.zeros((classes, *array.shape[1:]))
    larger[places] = array
    return larger


def check_factor(factor: float) -> float:
    """Return a decay factor that is finite and not negative."""
    if not 0 <= factor < float("inf"):
        raise ValueError(f"factor must be finite and not negative; got {factor!r}")
    return float(factor)


def _fractions(whole: FloatArray, part: FloatArray) -> npt.NDArray[np.bool_]:
    """Return where a difference is of fractions, which round; whole numbers subtract exactly."""
    return np.asarray((whole != np.rint(whole)) | (part != np.rint(part)))


def less(
    name: str, whole: FloatArray, part: FloatArray, place_name: Callable[[tuple[int, ...]], str] | None = None
) -> FloatArray:
    """Return ``whole - part`` for sums that cannot be negative; of fractions, what is within rounding of 0 is 0.

    A place that would be negative is called by its indices into ``name``, or as ``place_name`` calls it.
    """
    left = whole - part
    left = np.where(_fractions(whole, part) & (np.abs(left) <= 1e-12 * np.abs(whole)), 0.0, left)
    if left.size and left.min() < 0:
        place = tuple(int(index) for index in np.unravel_index(int(np.argmin(left)), left.shape))
        called = place_name(place) if place_name else f"{name}[{', '.join(map(str, place))}]"
        raise NegativeEvidenceError(
            f"{called} would be {whole[place]:g} - {part[place]:g} < 0: these rows were never in the sum"
        )
    return left


def digits_lost(whole: FloatArray, part: FloatArray, left: FloatArray) -> float:
    """Return the decimal digits that cancelled in ``left = whole - part``; whole numbers lose none."""
    inexact = _fractions(whole, part) & (left > 0)
    shrink = np.where(inexact, whole, 1.0) / np.where(inexact, left, 1.0)
    return float(np.log10(shrink.max(initial=1.0)))
