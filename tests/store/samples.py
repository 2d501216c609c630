"""Contents to be stored, files forged by hand, and how two contents are compared."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
from hypothesis.extra.numpy import array_shapes, arrays
from safetensors.numpy import save

from suffice.statistics import (
    CategoryCounts,
    Curvature,
    DiagonalMoments,
    EventCounts,
    Labels,
    NormalEquations,
    Statistics,
    TiedMoments,
)
from suffice.store import Contents

KINDS = [EventCounts, CategoryCounts, DiagonalMoments, TiedMoments, NormalEquations, Curvature]
CLASSES = Labels.of(["ham", "späm", 3])


def sample() -> Contents:
    """One of everything, small."""
    statistics = {
        "events": EventCounts(CLASSES, np.array([1.0, 2.0, 0.5]), np.arange(6.0).reshape(3, 2)),
        "none yet": DiagonalMoments.zero(),
        "line": NormalEquations(3.0, np.array([1.0, -2.0]), np.eye(2), 1),
    }
    settings = {"z": 1, "alpha": math.inf, "names": ["height", "größe"], "nested": {"$float": [None, True, -0.0]}}
    other = {
        "mask": np.array([True, False]),
        "codes": np.array([[2, -1]]),
        "level": np.array(0.25, np.float32),
        "empty": np.zeros((0, 3), np.uint8),
    }
    return Contents("Sample", settings, statistics, other)


def same_value(one: Any, two: Any) -> bool:
    """Whether two settings are of the same types and values; NaN is itself, and 0.0 is not -0.0."""
    if type(one) is not type(two):
        return False
    if isinstance(one, dict):
        return list(one) == list(two) and all(same_value(one[key], two[key]) for key in one)
    if isinstance(one, list):
        return len(one) == len(two) and all(map(same_value, one, two))
    return repr(one) == repr(two) if isinstance(one, float) else one == two


def same_array(one: np.ndarray, two: np.ndarray) -> bool:
    return (one.dtype, one.shape, one.tobytes()) == (two.dtype, two.shape, two.tobytes())


def assert_same(one: Contents, two: Contents) -> None:
    assert one.kind == two.kind
    assert same_value(dict(one.settings), dict(two.settings))
    assert list(one.statistics) == list(two.statistics)
    for name, statistic in one.statistics.items():
        assert type(statistic) is type(two.statistics[name])
        fields, others = statistic.to_arrays(), two.statistics[name].to_arrays()
        assert all(same_array(fields[field], others[field]) for field in fields)
    assert one.arrays.keys() == two.arrays.keys()
    assert all(same_array(array, two.arrays[name]) for name, array in one.arrays.items())


# What hypothesis draws.


def keyed(inside: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(names | st.sampled_from(["$float", "$$float", "$"]), inside, max_size=3)


names = st.text(st.characters(codec="utf-8"), max_size=6)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | names
values = st.recursive(leaves, lambda inside: st.lists(inside, max_size=3) | keyed(inside), max_leaves=12)
dtypes = st.sampled_from([np.float64, np.float32, np.float16, np.int64, np.int32, np.uint64, np.uint8, np.bool_])
plain_arrays = dtypes.flatmap(lambda dtype: arrays(dtype, array_shapes(min_dims=0, min_side=0, max_side=3)))


@st.composite
def statistics(draw: st.DrawFn) -> Statistics:
    labels = Labels.of(draw(st.lists(st.integers() | names, max_size=3)))
    k, d = len(labels), draw(st.integers(0, 3))

    def numbers(*shape: int, least: float | None = None) -> np.ndarray:
        return draw(arrays(float, shape, elements=st.floats(least, allow_nan=False, allow_infinity=False)))

    kind = draw(st.sampled_from(KINDS))
    if kind is EventCounts:
        return EventCounts(labels, numbers(k, least=0.0), numbers(k, d, least=0.0))
    if kind is CategoryCounts:
        sizes = tuple(draw(st.lists(st.integers(0, 2), max_size=3)))
        return CategoryCounts(labels, numbers(k, least=0.0), numbers(k, sum(sizes), least=0.0), sizes)
    if kind is NormalEquations:
        return NormalEquations(float(numbers(1, least=0.0)[0]), numbers(d), numbers(d, d), draw(st.integers(0, d)))
    if kind is Curvature:
        total, value = numbers(1, least=0.0)[0], numbers(1)[0]
        return Curvature(float(total), numbers(d, 1), float(value), numbers(d, 1), numbers(d, d))
    spread = (k, d) if kind is DiagonalMoments else (d, d)
    return kind(labels, numbers(k, least=0.0), numbers(k, d), numbers(*spread))


contents = st.builds(
    Contents,
    names,
    keyed(values),
    st.dictionaries(names | st.sampled_from(["a", "a.b"]), statistics(), max_size=3),
    st.dictionaries(names | st.sampled_from(["a", "a.b"]), plain_arrays, max_size=3),
)


# Files that suffice did not write: the format once more, from its description.


def tensors_of(contents: Contents) -> dict[str, np.ndarray]:
    fields = {
        f"statistics.{name}.{field}": array
        for name, statistic in contents.statistics.items()
        for field, array in statistic.to_arrays().items()
    }
    return fields | {f"arrays.{name}": array for name, array in contents.arrays.items()}


def about_of(contents: Contents) -> dict[str, Any]:
    kinds = {name: type(statistic).__name__ for name, statistic in contents.statistics.items()}
    return {"format": 1, "suffice": "0.1.0", "kind": contents.kind, "settings": {}, "statistics": kinds}


def forge(path: Path, about: Any, tensors: dict[str, np.ndarray]) -> Path:
    """Write a file whose digest is right, whatever else is wrong with it."""
    shapes = [[name, array.dtype.name, list(array.shape)] for name, array in sorted(tensors.items())]
    text = json.dumps([about, shapes], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    digest = hashlib.sha256(text.encode(errors="surrogatepass"))
    for _, array in sorted(tensors.items()):
        digest.update(array.tobytes())
    whole = about | {"digest": digest.hexdigest()} if isinstance(about, dict) else about
    path.write_bytes(save(tensors, metadata={"suffice": json.dumps(whole)}))
    return path
