"""Settings as strict JSON, with an encoding of NaN and the infinities."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

#: The one key of a dict that encodes a float that JSON cannot write. Keys that start with $ are escaped by another $.
FLOAT = "$float"
FLOATS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


def encode(value: Any, where: str) -> Any:
    """Return a setting as values of strict JSON; ``where`` is its name in errors.

    >>> encode({"alpha": float("inf"), "$float": [1, None]}, "settings")
    {'alpha': {'$float': 'inf'}, '$$float': [1, None]}
    """
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else {FLOAT: repr(float(value))}
    if isinstance(value, list | tuple):
        return [encode(each, where) for each in value]
    if isinstance(value, Mapping):
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"{where} has the key {key!r} of type {type(key).__name__}; keys must be str")
        return {
            f"${key}" if key.startswith("$") else key: encode(each, f"{where}[{key!r}]") for key, each in value.items()
        }
    raise TypeError(
        f"{where} is {value!r} of type {type(value).__name__}; settings are None, bool, int, float, str, and lists "
        "and dicts of these: convert it, or keep it among the arrays"
    )


def decode(value: Any) -> Any:
    """Return the setting that :func:`encode` encoded.

    >>> decode({"alpha": {"$float": "inf"}, "$$float": [1, None]})
    {'alpha': inf, '$float': [1, None]}
    """
    if isinstance(value, list):
        return [decode(each) for each in value]
    if isinstance(value, dict):
        if value.keys() == {FLOAT}:
            return FLOATS[value[FLOAT]]
        return {key.removeprefix("$"): decode(each) for key, each in value.items()}
    return value


def to_json(value: Any, *, canonical: bool = False) -> str:
    """Return strict JSON with the keys in order; ``canonical`` sorts them, so that equal values have equal text."""
    return json.dumps(value, sort_keys=canonical, separators=(",", ":"), ensure_ascii=False, allow_nan=False)
