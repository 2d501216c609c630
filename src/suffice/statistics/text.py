"""Names among arrays: a JSON value as an array of bytes."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import numpy.typing as npt


def to_bytes(value: Any) -> npt.NDArray[np.uint8]:
    """Return a JSON value as an array of its bytes.

    >>> to_bytes(["a"])
    array([91, 34, 97, 34, 93], dtype=uint8)
    """
    return np.frombuffer(json.dumps(value).encode(), dtype=np.uint8)


def from_bytes(name: str, array: npt.NDArray[Any]) -> Any:
    """Return the value that :func:`to_bytes` wrote, or say that the array of this name holds none.

    >>> from_bytes("labels", to_bytes(["a"]))
    ['a']
    """
    if array.dtype != np.uint8:
        raise ValueError(f"array {name!r} must hold the bytes of JSON text, uint8; it holds {array.dtype}")
    try:
        return json.loads(array.tobytes().decode())
    except (ValueError, RecursionError) as error:
        raise ValueError(f"array {name!r} must hold the bytes of JSON text: {error}") from error
