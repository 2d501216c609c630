"""Base class of statistics: immutable sums over rows with ``+``, ``-``, scaling and serialisation."""

from __future__ import annotations

import dataclasses
import typing
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
import numpy.typing as npt

from suffice.statistics.labels import Labels
from suffice.statistics.rounding import NO_ERRORS, REFIT, LostDigitsError
from suffice.statistics.text import from_bytes, to_bytes

FloatArray = npt.NDArray[np.float64]

S = TypeVar("S", bound="Statistics")

#: The decimal digits of a float64.
ALL_DIGITS = 15.9


class Addable(Protocol):
    """A value that adds up over parts of the rows, such as a statistic."""

    def __add__(self, other: Self, /) -> Self: ...


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
    #: Whether rows can be taken out again.
    subtracts: ClassVar[bool] = True
    #: Fields with bounds of rounding errors, which older files lack.
    _bound_fields: ClassVar[frozenset[str]] = frozenset()

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
        """Return the sum without the rows of another.

        Raises
        ------
        NegativeEvidenceError
            Where less than nothing would be left: those rows were never in this sum.
        LostDigitsError
            Where it cannot be told whether rows are left. A model raises it where the estimates that it reads from the
            sum would be off by more than :data:`~suffice.statistics.rounding.TOLERANCE`.
        """
        if type(other) is not type(self):
            return NotImplemented
        if not self.subtracts:
            raise LostDigitsError(
                f"rows cannot be taken out of {type(self).__name__}, which would lose its digits: {REFIT}"
            )
        return self if other.is_zero else self._minus(other)

    def digits_kept(self) -> float:
        """Return to how many decimal digits the sum is known at least: 15.9 if nothing was rounded."""
        return ALL_DIGITS

    @abstractmethod
    def _plus(self, other: Self) -> Self:
        """Return the sum of two statistics, neither of them the zero."""

    def _minus(self, other: Self) -> Self:
        """Return the difference; raise for rows that cannot have been in the sum."""
        raise NotImplementedError(f"{type(self).__name__} defines no subtraction")

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
        if set(names) - set(arrays) not in (set(), cls._bound_fields) or not set(arrays) <= set(names):
            raise ValueError(f"{cls.__name__} is stored as the arrays {sorted(names)}; got {sorted(arrays)}")
        names = [name for name in names if name in arrays]
        found = cls(**{name: _decode(hints[name], name, np.asarray(arrays[name])) for name in names})
        return found if cls._bound_fields <= set(arrays) else found._unbounded()

    def _unbounded(self) -> Self:
        """Return the same sum, of which nothing is known about its rounding error."""
        return self

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
    cells_error: FloatArray = dataclasses.field(default_factory=lambda: NO_ERRORS, kw_only=True)  # as cells

    weights_field: ClassVar[str]  # the field with the weight of all rows of each class, (k,)
    table_field: ClassVar[str]  # a field with one entry per cell, (k, d)

    def __post_init__(self) -> None:
        if np.shape(self.cells)[1:] == (0,):
            classes = np.shape(getattr(self, self.weights_field))[:1]
            object.__setattr__(self, "cells", np.zeros((*classes, 0)))
        if self.cells_error is NO_ERRORS:
            object.__setattr__(self, "cells_error", np.zeros(np.shape(self.cells)))
        super().__post_init__()
        shape = getattr(self, self.table_field).shape
        if self.misses_cells and self.cells.shape != shape:
            raise ValueError(f"cells must have shape {shape}; got {self.cells.shape}")
        if self.cells_error.shape != self.cells.shape:
            raise ValueError(f"cells_error must have shape {self.cells.shape}; got {self.cells_error.shape}")

    @property
    def misses_cells(self) -> bool:
        """Whether the weights of cells are kept, since some cells were missing."""
        return self.cells.shape[1:] != (0,)

    @property
    def observed(self) -> FloatArray:
        """The weight of the rows in which each cell is known, (k, d)."""
        return self.cells if self.misses_cells else self._of_rows(self.weights_field)

    def _of_rows(self, field: str) -> FloatArray:
        """Return a field of the rows of each class, (k,), as one of their cells, (k, d)."""
        return np.broadcast_to(getattr(self, field)[:, None], getattr(self, self.table_field).shape)

    def _observing(self, other: Self) -> tuple[Self, Self]:
        """Return this and another of its shape, both with the weights of their cells if either misses some."""
        if not (self.misses_cells or other.misses_cells):
            return self, other
        return self.with_cells(), other.with_cells()

    def with_cells(self) -> Self:
        """Return the same sum with the weights of its cells, if none is missing too."""
        if self.misses_cells:
            return self
        return self._with(cells=self.observed, cells_error=self._of_rows(f"{self.weights_field}_error"))


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
