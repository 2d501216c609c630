"""Contents of a model file, and its serialisation. The bytes that are read are untrusted.

The format is safetensors. The tensors are ``statistics.<name>.<field>`` and ``arrays.<name>``; the one metadata entry,
``suffice``, is JSON: format, version, kind, settings, the kind of each statistic, and a digest of these and of all
tensors.
"""

from __future__ import annotations

import dataclasses
import hashlib
import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import safetensors
import safetensors.numpy

import suffice
from suffice.statistics import Statistics
from suffice.store.values import decode, encode, to_json

Array = npt.NDArray[Any]

#: The format that this version writes, and the newest that it reads.
FORMAT = 1

CURE = "restore it from a copy, or save the model again"
#: Longest header that safetensors reads, in bytes.
HEADER_LIMIT = 100_000_000
#: Longest metadata, in bytes: escaped as a string in the header's JSON it may double; the rest is for tensor names.
TEXT_LIMIT = 40_000_000
DTYPES = frozenset(
    ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64"]
)
#: Modules of statistics of other packages, which are imported when a file has one.
_MODULES = {"DocumentCounts": "suffice.text.counts"}
#: Fields of statistics that are sums of weights or counts, which cannot be negative.
NOT_NEGATIVE = frozenset(["rows", "weights", "counts", "total"])


class StoreError(ValueError):
    """The file is not a model file of suffice, or is damaged."""


@dataclass(frozen=True, eq=False)
class Contents:
    """Contents of a model file.

    Parameters
    ----------
    kind
        The name of the model's class.
    settings
        Plain values by name: None, bool, int, float, str, and lists and dicts of these. NumPy scalars become Python
        numbers, tuples become lists.
    statistics
        The sums from which the model was fitted, by name.
    arrays
        Other arrays of bools, integers or floats, by name.
    families
        Classes of families that the caller of ``load`` gave, by ``module:name``; they are not stored.
    version
        The version of suffice that wrote the file; empty of contents that no file was read for.

    Examples
    --------
    >>> Contents("Mean", {"alpha": 0.5}, {}, {"mean": np.zeros(2)})
    Contents(kind='Mean', settings={'alpha': 0.5}, statistics={}, arrays={'mean': array([0., 0.])})
    """

    kind: str
    settings: Mapping[str, Any]
    statistics: Mapping[str, Statistics]
    arrays: Mapping[str, Array]
    families: Mapping[str, type] = dataclasses.field(default_factory=dict, repr=False)
    version: str = dataclasses.field(default="", repr=False)


def way_out(version: str) -> str:
    """Return what to do with a file that is intact, but has what this version cannot read.

    >>> way_out("0.1.0")
    'it was written by suffice 0.1.0: fit the model again, or load it with that version and export it'
    """
    return f"it was written by suffice {version}: fit the model again, or load it with that version and export it"


def check_shapes(arrays: Mapping[str, Array], expected: Mapping[str, tuple[int, ...]]) -> None:
    """Raise if an array does not have the shape that the rest of the model implies.

    Examples
    --------
    >>> check_shapes({"theta": np.zeros((3, 1))}, {"theta": (3, 2)})
    Traceback (most recent call last):
    ValueError: array 'theta' must have shape (3, 2), by the model's classes and features; it has (3, 1)
    """
    for name in (each for each in expected if each in arrays):
        if arrays[name].shape != expected[name]:
            raise ValueError(
                f"array {name!r} must have shape {expected[name]}, by the model's classes and features; it has "
                f"{arrays[name].shape}"
            )


def nest_contents(kind: str, settings: Mapping[str, Any], parts: Mapping[str, Contents]) -> Contents:
    """Return the contents of the file of a model that contains other models.

    Examples
    --------
    >>> inner = Contents("Mean", {"alpha": 0.5}, {}, {})
    >>> settings, parts = unnest_contents(nest_contents("Whole", {"a": 1}, {"part": inner}))
    >>> settings, parts["part"].kind, parts["part"].settings
    ({'a': 1}, 'Mean', {'alpha': 0.5})
    """
    return Contents(
        kind=kind,
        settings={
            "own": dict(settings),
            "parts": {name: {"kind": part.kind, "settings": dict(part.settings)} for name, part in parts.items()},
        },
        statistics={f"{name}/{key}": each for name, part in parts.items() for key, each in part.statistics.items()},
        arrays={f"{name}/{key}": each for name, part in parts.items() for key, each in part.arrays.items()},
    )


def unnest_contents(contents: Contents) -> tuple[dict[str, Any], dict[str, Contents]]:
    """Return the settings of a model and the contents of the models in it.

    Examples
    --------
    >>> inner = Contents("Mean", {"alpha": 0.5}, {}, {})
    >>> unnest_contents(nest_contents("Whole", {"a": 1}, {"part": inner}))[0]
    {'a': 1}
    """
    settings = contents.settings
    parts = {
        name: Contents(
            part["kind"],
            part["settings"],
            _within(name, contents.statistics),
            _within(name, contents.arrays),
            contents.families,
            contents.version,
        )
        for name, part in settings["parts"].items()
    }
    return settings["own"], parts


def _within(name: str, named: Mapping[str, Any]) -> dict[str, Any]:
    return {key.partition("/")[2]: each for key, each in named.items() if key.partition("/")[0] == name}


def pack(contents: Contents) -> bytes:
    """Serialise the contents of a model file; raise for values that the format cannot store."""
    tensors = {f"arrays.{_text(name)}": _dense(f"arrays[{name!r}]", each) for name, each in contents.arrays.items()}
    for name, statistic in contents.statistics.items():
        for field, array in statistic.to_arrays().items():
            _check_values(f"statistics[{name!r}].{field}", field, array)
            tensors[f"statistics.{_text(name)}.{field}"] = _dense(f"statistics[{name!r}].{field}", array)
    about = {
        "format": FORMAT,
        "suffice": suffice.__version__,
        "kind": _text(contents.kind),
        "settings": encode(dict(contents.settings), "settings"),
        "statistics": {name: type(each).__name__ for name, each in contents.statistics.items()},
    }
    about["digest"] = _digest(about, tensors)
    text = to_json(about)
    if (length := len(text.encode())) > TEXT_LIMIT:
        raise ValueError(f"settings take {length} bytes, of {TEXT_LIMIT} at most: keep long lists among the arrays")
    data: bytes = safetensors.numpy.save(tensors, metadata={"suffice": text})
    return data


def read_about(header: bytes) -> dict[str, Any]:
    """Return the metadata of the model in a file's header; raise if this version cannot read it."""
    metadata = json.loads(header).get("__metadata__")
    if not metadata or "suffice" not in metadata:
        raise StoreError("is a safetensors file without a suffice model: pass a file that save() wrote")
    about: dict[str, Any] = json.loads(metadata["suffice"])
    if type(about["format"]) is not int or about["format"] < 1:
        raise StoreError(f"has the invalid format {about['format']!r}: {CURE}")
    if about["format"] > FORMAT:
        raise StoreError(
            f"was written by suffice {about['suffice']}, in format {about['format']}; this is suffice "
            f"{suffice.__version__}, which reads formats up to {FORMAT}: upgrade suffice"
        )
    return about


def unpack(about: dict[str, Any], data: bytes) -> Contents:
    """Deserialise what :func:`pack` wrote. Other bytes may raise any exception, and have no other effect."""
    try:
        tensors = safetensors.numpy.load(data)
    except safetensors.SafetensorError as error:
        raise StoreError(f"is truncated or damaged ({error}): {CURE}") from error
    if about.pop("digest") != _digest(about, tensors):
        raise StoreError(f"is damaged, its digest does not match: {CURE}")
    arrays: dict[str, Array] = {}
    fields: dict[str, dict[str, Array]] = {name: {} for name in about["statistics"]}
    for tensor, array in tensors.items():
        if array.dtype == bool and array.view(np.uint8).max(initial=0) > 1:
            raise ValueError(f"tensor {tensor!r} has bools that are neither 0 nor 1")
        group, dot, name = tensor.partition(".")
        if dot and group == "arrays":
            arrays[name] = array
        elif dot and group == "statistics":
            owner = max((each for each in fields if name.startswith(f"{each}.")), key=len)
            fields[owner][name[len(owner) + 1 :]] = array
        else:
            raise ValueError(f"tensor {tensor!r} belongs neither to a statistic nor to the arrays")
    version = _text(about["suffice"])
    statistics = {name: _statistic(name, kind, fields[name], version) for name, kind in about["statistics"].items()}
    settings = decode(about["settings"])
    if not isinstance(settings, dict):
        raise ValueError(f"settings must be a dict; got {settings!r}")
    return Contents(_text(about["kind"]), settings, statistics, arrays, version=version)


def _statistic(name: str, kind: str, fields: dict[str, Array], version: str) -> Statistics:
    if kind in _MODULES:
        importlib.import_module(_MODULES[kind])
    if kind not in Statistics.kinds:
        raise StoreError(
            f"has the statistic {name!r} of kind {kind!r}, which is unknown to suffice {suffice.__version__} (known: "
            f"{', '.join(sorted(Statistics.kinds))}): import the module that defines {kind}; {way_out(version)}"
        )
    try:
        for field, array in fields.items():
            _check_values(field, field, array)
        return Statistics.kinds[kind].from_arrays(fields)
    except (ValueError, TypeError) as error:
        raise StoreError(f"has invalid arrays of the statistic {name!r} ({error}); {way_out(version)}") from error


def _check_values(where: str, field: str, array: Array) -> None:
    """Raise if an array of a statistic has numbers that no fit can give."""
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise ValueError(f"{where} has the value {array[~np.isfinite(array)][0]:g}; it must be finite")
    if field in NOT_NEGATIVE and (array < 0).any():
        raise ValueError(f"{where} has the value {array.min():g}; it must not be negative")


def _digest(about: Mapping[str, Any], tensors: Mapping[str, Array]) -> str:
    """Return the SHA-256 of all contents; names, types and shapes come first, so that the encoding is unambiguous."""
    names = sorted(tensors)
    shapes = [[name, tensors[name].dtype.name, list(tensors[name].shape)] for name in names]
    digest = hashlib.sha256(to_json([about, shapes], canonical=True).encode())
    for name in names:
        digest.update(tensors[name].reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _dense(where: str, array: Array) -> Array:
    """Return a contiguous little-endian array: safetensors would write wrong numbers for others."""
    array = np.asarray(array)
    if array.dtype.name not in DTYPES:
        raise TypeError(
            f"{where} has the dtype {array.dtype}; a model file stores bools, integers and floats of up to 64 bits"
        )
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _text(name: object) -> str:
    if not isinstance(name, str):
        raise TypeError(f"names of kinds, statistics and arrays must be str; got {name!r}")
    return name
