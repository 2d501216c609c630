"""Reading any bytes gives a StoreError or the contents that were written."""

import json
import pickle
import struct
from contextlib import suppress

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import example, given, settings
from safetensors.numpy import save

import suffice
from suffice.store import StoreError, read
from suffice.store.contents import pack

from .samples import about_of, assert_same, forge, sample, tensors_of, values

WHOLE = pack(sample())
KINDS = about_of(sample())["statistics"]
HEADER = 8 + struct.unpack("<Q", WHOLE[:8])[0]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("damage") / "model"


def refused(path, data, words):
    path.write_bytes(data)
    with pytest.raises(StoreError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} ")


def refused_or_same(path, data):
    path.write_bytes(data)
    with suppress(StoreError):
        assert_same(read(path), sample())


hurts = st.sampled_from(["flip", "set", "delete", "insert", "cut"])
positions = st.integers(0, len(WHOLE)) | st.integers(0, HEADER) | st.integers(0, 16)
damages = st.tuples(hurts, positions, st.binary(min_size=1, max_size=9))


@settings(max_examples=600)
@given(st.lists(damages, min_size=1, max_size=3))
def test_any_damage_is_noticed(path, damage):
    data = bytearray(WHOLE)
    for hurt, at, what in damage:
        if hurt == "flip" and at < len(data):
            data[at] ^= 1 << what[0] % 8
        elif hurt == "set":
            data[at : at + len(what)] = what
        elif hurt == "delete":
            del data[at : at + len(what)]
        elif hurt == "insert":
            data[at:at] = what
        else:
            del data[at:]
    refused_or_same(path, data)


@settings(max_examples=300)
@given(at=st.integers(0, HEADER - 1), token=st.sampled_from(b'{}[]",:\\0129-.eEtfn$ \n'))
def test_a_header_of_other_tokens_is_noticed(path, at, token):
    data = bytearray(WHOLE)
    data[at] = token
    refused_or_same(path, data)


def test_every_place_to_cut_is_noticed(path):
    for end in range(len(WHOLE)):
        refused(path, WHOLE[:end], "is empty|truncated|not a model file|damaged")


@given(data=st.binary(max_size=64))
@example(b"{}")
def test_any_bytes(path, data):
    refused(path, data, "is empty|not a model file|truncated")
    refused(path, struct.pack("<Q", len(data)) + data, "not a model file|truncated|without a suffice model")


@pytest.mark.parametrize(
    "length", [0, 1, 2, HEADER - 9, HEADER - 7, len(WHOLE), 10**8, 10**8 + 1, 2**31, 2**63, 2**64 - 1]
)
def test_a_length_that_is_not_the_headers(path, length):
    refused(path, struct.pack("<Q", length) + WHOLE[8:], "truncated|not a model file|damaged")


def test_foreign_files(path):
    refused(path, b"", "is empty")
    refused(path, pickle.dumps({"model": np.zeros(100)}), "is not a model file: pass one that save")
    refused(path, b"alpha = 1\n" * 100, "is not a model file: pass one that save")
    for metadata in (None, {}, {"format": "pt"}):
        refused(path, save({"a": np.zeros(3)}, metadata=metadata), "without a suffice model: pass a file that save")


def test_changed_data(path):
    refused(path, WHOLE[:-1] + bytes([WHOLE[-1] ^ 1]), "is damaged, its digest does not match: restore it")
    refused(path, WHOLE[:-1], "is truncated or damaged")
    refused(path, WHOLE + b" ", "is truncated or damaged")
    refused(path, WHOLE[: HEADER - 5], "is truncated: its header has")


@pytest.mark.parametrize(
    "metadata",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"format": 1, "suffice": "0", "kind": "A", "digest": "", "statistics": {}, "settings": '
        + '{"a":' * 300
        + "1"
        + "}" * 301,
        "9" * 5000,
        "NaN",
        "null",
        "3",
        "",
        '{"format": 1}',
        '{"format": 1e999}',
        '{"format": true, "suffice": "0"}',
        '{"format": 0, "suffice": "0"}',
        '{"format": "1", "suffice": "0"}',
        '{"format": [], "suffice": "0"}',
    ],
)
def test_metadata_that_is_no_model(path, metadata):
    refused(path, save({"arrays.a": np.zeros(3)}, metadata={"suffice": metadata}), "damaged|has the invalid format")


@pytest.mark.parametrize(
    "header", [b"{" * 50_000, b'{"a":' * 50_000, b'{"__metadata__":[]}', b'{"__metadata__":"suffice"}', b"{\xff}"]
)
def test_headers_that_are_no_headers(path, header):
    refused(path, struct.pack("<Q", len(header)) + header, "damaged|without a suffice model")


def test_a_newer_format(path):
    newer = json.dumps({"format": 2, "suffice": "7.5", "something": "else"})
    words = (
        f"was written by suffice 7.5, in format 2; this is suffice {suffice.__version__}, which reads formats up to 1: "
        "upgrade suffice"
    )
    refused(path, save({"elsewhere": np.zeros(3)}, metadata={"suffice": newer}), words)


# Forged files: the digest is right, and what it vouches for is nonsense.


def forged(path, change, words):
    about, tensors = about_of(sample()), tensors_of(sample())
    change(about, tensors)
    forge(path, about, tensors)
    with pytest.raises(StoreError, match=words) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path} ")


@pytest.mark.parametrize(
    ("entry", "value", "words"),
    [
        ("settings", [], "settings must be a dict"),
        ("settings", {"$float": "inf"}, "settings must be a dict"),
        ("settings", {"a": {"$float": "1"}}, "damaged"),
        ("settings", {"a": {"$float": []}}, "damaged"),
        ("settings", {"a": float("nan")}, "damaged"),
        ("settings", {"a": "\ud800"}, "damaged"),
        ("kind", 3, "must be str; got 3"),
        ("kind", None, "must be str"),
        ("statistics", [], "damaged"),
        ("statistics", {"events": "Oracle"}, "damaged"),
        ("statistics", KINDS | {"events": "Oracle"}, "'events' of kind 'Oracle', which is unknown to suffice"),
        ("statistics", KINDS | {"events": "ClassCounts"}, "invalid arrays of the statistic"),
        ("statistics", KINDS | {"events": []}, "damaged"),
        ("statistics", KINDS | {"events": "TiedMoments"}, "stored as the"),
        ("statistics", KINDS | {"more": "EventCounts"}, "invalid arrays of the statistic 'more'"),
        ("format", True, "has the invalid format True"),
    ],
)
def test_forged_metadata(path, entry, value, words):
    forged(path, lambda about, tensors: about.update({entry: value}), words)


@pytest.mark.parametrize("entry", ["format", "kind", "settings", "statistics"])
def test_missing_metadata(path, entry):
    forged(path, lambda about, tensors: about.pop(entry), "damaged")


@pytest.mark.parametrize(
    ("tensor", "array", "words"),
    [
        ("statistics.events.rows", np.zeros(2), "rows must have shape"),
        ("statistics.events.rows", np.zeros((3, 1)), "rows must have shape"),
        ("statistics.events.rows", np.array([1.0, -1.0, 0.0]), "rows has the value -1; it must not be negative"),
        ("statistics.events.rows", np.array([1, -1, 0]), "rows has the value -1; it must not be negative"),
        ("statistics.events.rows", np.array([1.0, np.inf, 0.0]), "rows has the value inf; it must be finite"),
        ("statistics.events.rows", np.zeros(3, bool), "must hold numbers"),
        ("statistics.events.counts", np.full((3, 2), np.nan), "counts has the value nan; it must be finite"),
        ("statistics.events.counts", np.full((3, 2), -0.5, np.float32), "value -0.5; it must not be negative"),
        ("statistics.events.counts", np.array(1.0), "counts must have shape"),
        ("statistics.events.labels", np.array([1.0, 300.0]), "must hold the bytes of JSON text, uint8"),
        ("statistics.events.labels", np.frombuffer(b"[1, 1, 2]", np.uint8), "distinct"),
        ("statistics.events.labels", np.frombuffer(b"[[], 1, 2]", np.uint8), "class label"),
        ("statistics.events.labels", np.frombuffer(b"[" * 100_000, np.uint8), "recursion depth"),
        ("statistics.events.labels", np.frombuffer(b"{}", np.uint8), "JSON list"),
        ("statistics.events.labels", np.frombuffer(b"\xff", np.uint8), "decode"),
        ("statistics.line.total", np.array(-1.0), "total has the value -1; it must not be negative"),
        ("statistics.line.total", np.array(np.nan), "total has the value nan"),
        ("statistics.line.total", np.zeros(1), "single number"),
        ("statistics.line.mean", np.array([np.inf, 0.0]), "mean has the value inf"),
        ("statistics.line.targets", np.array(0.5), "whole numbers"),
        ("statistics.line.targets", np.array(2**63, np.uint64), "targets must be 0 to 2"),
        ("statistics.line.extra", np.array(0.5), "stored as the arrays"),
        ("statistics.stranger.rows", np.array(0.5), "damaged"),
        ("statistics.events", np.array(0.5), "damaged"),
        ("arrays", np.zeros(2), "belongs neither"),
        ("elsewhere.events", np.array(0.5), "belongs neither"),
    ],
)
def test_forged_tensors(path, tensor, array, words):
    forged(path, lambda about, tensors: tensors.update({tensor: array}), words)


@pytest.mark.parametrize("tensor", [name for name in tensors_of(sample()) if name.startswith("statistics")])
def test_missing_tensors(path, tensor):
    forged(path, lambda about, tensors: tensors.pop(tensor), "invalid arrays of the statistic")


def test_bools_of_neither_kind(path):
    about, tensors = about_of(sample()), tensors_of(sample())
    tensors["arrays.mask"] = np.array([1, 2], np.uint8).view(bool)
    forge(path, about, tensors)
    with pytest.raises(StoreError, match="neither 0 nor 1"):
        read(path)


@pytest.mark.parametrize("dtype", ["BF16", "F8_E4M3", "OBJECT"])
@pytest.mark.parametrize("shape", [[0], [2**40, 0], [2**63, 0], [0] * 70])
def test_headers_of_other_types_and_impossible_shapes(path, dtype, shape):
    about = json.dumps(about_of(sample()) | {"digest": "", "statistics": {}})
    tensor = {"dtype": dtype, "shape": shape, "data_offsets": [0, 0]}
    for each in (tensor, tensor | {"dtype": "F64"}):
        header = json.dumps({"__metadata__": {"suffice": about}, "arrays.a": each}).encode()
        refused(path, struct.pack("<Q", len(header)) + header, "damaged")


@given(about=values, settings=values, kinds=values)
def test_forged_metadata_of_any_values(path, about, settings, kinds):
    tensors = tensors_of(sample())
    for forgery in (
        about,
        about_of(sample()) | {"settings": settings, "statistics": kinds},
        about_of(sample()) | {"kind": settings, "format": kinds},
    ):
        forge(path, forgery, tensors)
        with pytest.raises(StoreError, match=r"from a copy|upgrade suffice|load it with that|without a suffice model"):
            read(path)
