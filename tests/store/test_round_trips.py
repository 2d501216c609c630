"""Round trips of model files."""

import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given

from suffice.statistics import LostDigitsError
from suffice.store import FORMAT, Contents, StoreError, read, write
from suffice.store.contents import TEXT_LIMIT, pack

from .samples import about_of, assert_same, contents, forge, sample, tensors_of


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return tmp_path_factory.mktemp("store") / "model"


@given(contents=contents)
def test_all_contents_survive_a_round_trip(path, contents):
    write(path, contents)
    assert_same(read(path), contents)


@pytest.mark.parametrize("spelling", [str, Path])
def test_a_path_is_a_str_or_a_path(tmp_path, spelling):
    write(spelling(tmp_path / "model"), sample())
    assert_same(read(spelling(tmp_path / "model")), sample())


def test_a_tilde_is_a_letter(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write("~model", sample())
    assert (tmp_path / "~model").exists()


def test_arrays_in_any_order_of_memory_and_bytes_come_back(path):
    across, steps = np.arange(6.0).reshape(2, 3).T, np.arange(10)[::3]
    write(path, Contents("Any", {}, {}, {"across": across, "steps": steps, "swapped": steps.astype(">i4")}))
    stored = read(path).arrays
    assert np.array_equal(stored["across"], across)
    assert np.array_equal(stored["steps"], steps)
    assert np.array_equal(stored["swapped"], steps)


def test_numbers_of_numpy_become_pythons_and_tuples_lists(path):
    settings = {"alpha": np.float64(0.5), "steps": np.int64(3), "fit": np.bool_(True), "shape": (np.float32("inf"), 2)}
    write(path, Contents("Any", settings, {}, {}))
    assert read(path).settings == {"alpha": 0.5, "steps": 3, "fit": True, "shape": [float("inf"), 2]}
    assert type(read(path).settings["fit"]) is bool


def test_the_format_is_what_its_description_says(path):
    plain = sample()
    forge(path, about_of(plain), tensors_of(plain))
    assert_same(read(path), Contents(plain.kind, {}, plain.statistics, plain.arrays))


def test_format_1_stays_readable():
    # This file was written when format 1 was made, before sums had bounds of their rounding errors. A change that fails
    # here needs a new number.
    stored = read(Path(__file__).with_name("format-1.model"))
    assert_same(stored, replace(sample(), statistics=stored.statistics))
    assert stored.statistics.keys() == sample().statistics.keys()
    for name, old in stored.statistics.items():
        new, bounds = sample().statistics[name].to_arrays(), ("bounds", "depth", "least", "forgotten")
        shared = {
            field: array
            for field, array in old.to_arrays().items()
            if field not in bounds and not field.endswith("_error")
        }
        assert all(np.array_equal(array, new[field]) for field, array in shared.items())
        assert type(old).from_arrays(shared) == old
    with pytest.raises(LostDigitsError, match="fit the remaining rows"):
        stored.statistics["line"] - stored.statistics["line"]
    assert FORMAT == 1


def test_the_header_is_strict_json(path):
    def refuse(token):
        raise AssertionError(token)

    write(path, Contents("Any", {"limits": [float("nan"), float("-inf")]}, {}, {}))
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    about = json.loads(data[8 : 8 + length], parse_constant=refuse)["__metadata__"]["suffice"]
    assert json.loads(about, parse_constant=refuse)["settings"] == {"limits": [{"$float": "nan"}, {"$float": "-inf"}]}


def test_a_loaded_model_does_not_follow_the_file(path):
    write(path, sample())
    loaded = read(path)
    path.write_bytes(b"\xff" * path.stat().st_size)
    assert_same(loaded, sample())


@pytest.mark.needs("linux")
def test_reading_leaves_nothing_open_or_mapped(path):
    write(path, sample())
    loaded = read(path)
    targets = [str(each.readlink()) for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert str(path) not in targets
    assert str(path) not in Path("/proc/self/maps").read_text()
    assert_same(loaded, sample())


@pytest.mark.parametrize(
    ("contents", "error", "words"),
    [
        (Contents("Any", {"a": {1: 2}}, {}, {}), TypeError, r"settings\['a'\] has the key 1 of type int"),
        (Contents("Any", {"a": [b"x"]}, {}, {}), TypeError, r"settings\['a'\] is b'x' of type bytes"),
        (Contents("Any", {"a": np.zeros(1)}, {}, {}), TypeError, "keep it among the arrays"),
        (Contents("Any", {"a": "\ud800"}, {}, {}), ValueError, "surrogates"),
        (Contents("Any", {}, {}, {"a": np.array([None])}), TypeError, r"arrays\['a'\] has the dtype object"),
        (Contents("Any", {}, {}, {"a": np.array(["x"])}), TypeError, r"arrays\['a'\] has the dtype <U1"),
        (Contents("Any", {}, {}, {"a": np.zeros(1, complex)}), TypeError, r"arrays\['a'\] has the dtype complex128"),
        (Contents("Any", {}, {}, {1: np.zeros(1)}), TypeError, "must be str; got 1"),
        (Contents(None, {}, {}, {}), TypeError, "must be str; got None"),
    ],
)
def test_what_no_file_can_hold_is_refused_in_the_readers_words(contents, error, words):
    with pytest.raises(error, match=words) as caught:
        pack(contents)
    assert not isinstance(caught.value, StoreError)


@pytest.mark.parametrize(
    ("value", "words"), [(np.nan, "nan; it must be finite"), (-1.0, "-1; it must not be negative")]
)
def test_statistics_that_could_not_be_read_are_not_written(value, words):
    events = sample().statistics["events"]
    spoiled = type(events)(events.labels, np.array([1.0, value, 0.0]), events.counts)
    with pytest.raises(ValueError, match=rf"statistics\['events'\].rows has the value {words}"):
        pack(Contents("Any", {}, {"events": spoiled}, {}))


@pytest.mark.slow
def test_a_header_too_long_to_be_read_is_not_written(path):
    worst = '"' * (TEXT_LIMIT // 2 - 200)  # every one is escaped, and each escape is escaped again
    write(path, Contents("Any", {"text": worst}, {}, {}))
    assert read(path).settings["text"] == worst
    with pytest.raises(ValueError, match="keep long lists among the arrays"):
        write(path, Contents("Any", {"text": worst + '"' * 200}, {}, {}))


def test_the_store_does_not_import_scikit_learn_or_engines():
    code = "import sys, suffice.store; print([name for name in ('sklearn', 'suffice.kernels') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "[]\n"
