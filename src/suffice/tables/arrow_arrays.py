"""Arrow arrays of numbers and strings, from and to NumPy and lists, through their buffers.

pyarrow's own conversions import pandas where it is installed, which takes longer than to predict a small table.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.tables.sources.base import arrow


def from_numbers(numbers: npt.NDArray[Any], known: npt.NDArray[np.bool_] | None = None) -> Any:
    """Return numbers or truth values, (n,), as an Arrow array of the same type.

    Parameters
    ----------
    numbers
        Booleans, integers or floats.
    known
        Which cells are not null; all by default.

    Examples
    --------
    >>> from_numbers(np.array([1.5, 2.5]), known=np.array([True, False])).to_pylist()
    [1.5, None]
    >>> from_numbers(np.array([True, False])).to_pylist()
    [True, False]
    """
    pa = arrow()
    kind = pa.from_numpy_dtype(numbers.dtype)
    values = _to_bits(numbers) if numbers.dtype == np.bool_ else pa.py_buffer(np.ascontiguousarray(numbers))
    return pa.Array.from_buffers(kind, len(numbers), [None if known is None else _to_bits(known), values])


def from_strings(strings: Sequence[str | None]) -> Any:
    """Return strings, None for null, as an Arrow array.

    Examples
    --------
    >>> from_strings(["a", None, "ö"]).to_pylist()
    ['a', None, 'ö']
    """
    pa = arrow()
    cells = [b"" if each is None else each.encode() for each in strings]
    ends = np.fromiter(accumulate(map(len, cells), initial=0), np.int64, len(cells) + 1)
    kind, offsets = (pa.string(), np.int32) if ends[-1] < 2**31 else (pa.large_string(), np.int64)
    known = None if None not in strings else _to_bits(np.array([each is not None for each in strings]))
    buffers = [known, pa.py_buffer(ends.astype(offsets)), pa.py_buffer(b"".join(cells))]
    return pa.Array.from_buffers(kind, len(cells), buffers)


def from_values(values: Sequence[Any]) -> Any:
    """Return values as an Arrow array of the type that pyarrow infers.

    Examples
    --------
    >>> from_values(["no", "yes"]).type, from_values([1, 2]).type, from_values([0.5, None]).type
    (DataType(string), DataType(int64), DataType(double))
    """
    kinds = {type(each) for each in values}
    if kinds == {str} or kinds == {str, type(None)}:
        return from_strings(values)
    if kinds == {bool} or kinds == {float} or (kinds == {int} and max(map(abs, values)) < 2**63):
        return from_numbers(np.array(values))
    return arrow().nulls(len(values)) if kinds <= {type(None)} else arrow().array(values)


def is_number(kind: Any) -> bool:
    """Whether :func:`to_numbers` reads an Arrow type: booleans, integers and floats."""
    types = arrow().types
    return bool(types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind))


def to_numbers(column: Any) -> npt.NDArray[Any]:
    """Return the cells of an Arrow array of booleans, integers or floats; null ones are undefined.

    Examples
    --------
    >>> to_numbers(from_numbers(np.array([3, 4])))
    array([3, 4])
    """
    if arrow().types.is_boolean(column.type):
        return _from_bits(column.buffers()[1], column.offset, len(column))
    dtype = np.dtype(column.type.to_pandas_dtype())
    values = column.buffers()[1]
    if values is None or not len(column):
        return np.zeros(len(column), dtype)
    return np.frombuffer(values, dtype, len(column), column.offset * dtype.itemsize)


def find_known(column: Any) -> npt.NDArray[np.bool_] | None:
    """Return which cells of an Arrow array are not null; None if all are.

    Examples
    --------
    >>> find_known(from_strings(["a", None]))
    array([ True, False])
    """
    if not column.null_count:
        return None
    known = column.buffers()[0]
    return np.zeros(len(column), np.bool_) if known is None else _from_bits(known, column.offset, len(column))


def _to_bits(truths: npt.NDArray[np.bool_]) -> Any:
    return arrow().py_buffer(np.packbits(truths, bitorder="little"))


def _from_bits(bits: Any, offset: int, rows: int) -> npt.NDArray[np.bool_]:
    if bits is None or not rows:
        return np.zeros(rows, np.bool_)
    stored = np.frombuffer(bits, np.uint8)
    return np.unpackbits(stored, count=offset + rows, bitorder="little")[offset:].astype(np.bool_)
