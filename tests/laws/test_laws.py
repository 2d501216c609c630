"""The algebra that every statistic obeys."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from itertools import pairwise

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from safetensors.numpy import load, save

from suffice.kernels import Batch
from suffice.statistics import Labels, LostDigitsError, NegativeEvidenceError, Statistics

from .kinds import CLASSES, ENGINE, KINDS, Kind, Rows

every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def test_every_kind_there_is_is_under_the_laws():
    concrete = {name for name, kind in Statistics.kinds.items() if not inspect.isabstract(kind)}
    assert concrete == {kind.statistic.__name__ for kind in KINDS.values()}
    assert {"WeightedTotal", "TiedMoments"} <= concrete


@every_kind
@given(data=st.data())
def test_sums_are_a_commutative_monoid(kind: Kind, data: st.DataObject):
    rows = data.draw(kind.rows)
    some, zero, empty = kind.of(rows), kind.statistic.zero(), kind.of(rows[:0])
    assert zero.is_zero
    assert zero.weight == empty.weight == 0
    assert zero + some == some == some + zero
    if kind.statistic.subtracts:
        assert some - zero == some
        kind.close(some - empty, some, rows, 1)
    assert zero + zero == zero
    assert sum([some, zero]) == some
    assert some + empty == some
    kind.close(empty + some, some, rows, 1)
    one, two, three = (kind.of(rows[part::3]) for part in range(3))
    kind.close((one + two) + three, one + (two + three), rows, 2)
    kind.close(one + two, two + one, rows, 2)


@every_kind
@given(data=st.data())
def test_parts_in_any_order_add_up_to_the_whole(kind: Kind, data: st.DataObject):
    rows = data.draw(kind.rows)
    whole = kind.of(rows)
    cuts = [0, *sorted(data.draw(st.lists(st.integers(0, len(rows)), max_size=3))), len(rows)]
    parts = [kind.of(rows[start:stop]) for start, stop in pairwise(cuts)]
    kind.close(sum(parts), whole, rows, 1)
    order = np.array(data.draw(st.permutations(range(len(rows)))), dtype=int)
    kind.close(kind.of(rows[order]), whole, rows, 1)
    if len(rows):
        kind.close(sum(kind.of(rows[i : i + 1]) for i in order), whole, rows, 1)


every_kind_that_removes = pytest.mark.parametrize(
    "kind", [kind for kind in KINDS.values() if kind.statistic.subtracts], ids=str
)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if not kind.statistic.subtracts], ids=str)
def test_sums_that_would_lose_their_digits_do_not_subtract(kind: Kind):
    some = kind.of(_three_rows(kind))
    with pytest.raises(LostDigitsError, match="fit the remaining rows"):
        some - some


@every_kind_that_removes
@given(data=st.data())
def test_add_then_subtract_returns(kind: Kind, data: st.DataObject):
    rows = data.draw(kind.rows)
    kept, gone = rows[::2], rows[1::2]
    whole, part = kind.of(kept) + kind.of(gone), kind.of(gone)
    left = whole - part
    assert 0 <= left.digits_kept() <= 15.9
    kind.close(left, kind.of(kept), rows, max(2.0, rows.weight.sum() / max(kept.weight.sum(), 0.01)) ** 2)


@every_kind_that_removes
@given(data=st.data())
def test_all_that_is_there_can_be_taken_and_no_more(kind: Kind, data: st.DataObject):
    whole = kind.of(data.draw(kind.rows))
    left = whole - whole
    assert left.weight == 0
    for array in left.to_arrays().values():
        assert np.isfinite(array).all()
    if whole.weight > 0:
        with pytest.raises(NegativeEvidenceError, match=r"never in the sum"):
            whole - whole.scaled(2.0)


@every_kind
@given(data=st.data())
def test_weights_equal_repetition_and_none_is_one_each(kind: Kind, data: st.DataObject):
    rows = data.draw(kind.rows)
    whole = dataclasses.replace(rows, weight=np.floor(rows.weight))
    kind.close(kind.of(whole), kind.of(whole.repeated()), whole, 1)
    plain = ENGINE.accumulate(kind.summarise(CLASSES), Batch(rows.x, rows.y))
    ones = dataclasses.replace(rows, weight=np.ones(len(rows)))
    kind.close(plain, kind.of(ones), ones, 1)


@pytest.mark.parametrize("kind", [kind for kind in KINDS.values() if hasattr(kind.statistic, "aligned")], ids=str)
@given(data=st.data())
def test_vocabularies_that_differ_are_united_and_aligned(kind: Kind, data: st.DataObject):
    """Each class is summed under a vocabulary of its own, or with a stranger who has no rows: the union is the same."""
    rows = data.draw(kind.rows)
    total = kind.statistic.zero()
    for code in data.draw(st.permutations(range(len(CLASSES)))):
        stranger = data.draw(st.sampled_from([(), ("aaa",), ("zzz", 7)]))
        labels = Labels.of([CLASSES.names[code], *stranger])
        mine = rows[rows.y == code]
        own = dataclasses.replace(mine, y=labels.encode([CLASSES.names[code]] * len(mine)))
        total = total + kind.of(own, labels)
    expected = kind.of(rows).aligned(total.labels)
    assert set(total.labels) >= set(CLASSES)
    kind.close(total, expected, rows, 2)


@every_kind
@given(data=st.data())
def test_scaling_is_weighing(kind: Kind, data: st.DataObject):
    rows = data.draw(kind.rows)
    factor = data.draw(st.sampled_from([0.0, 0.25, 0.5, 1.0, 3.0]))
    some = kind.of(rows)
    heavier = dataclasses.replace(rows, weight=rows.weight * factor)
    kind.close(some.scaled(factor), kind.of(heavier), dataclasses.replace(rows, weight=rows.weight * max(1, factor)), 2)
    assert some.scaled(1.0) == some
    for bad in (-0.5, np.nan, np.inf):
        with pytest.raises(ValueError, match="factor must be finite and not negative"):
            some.scaled(bad)


@every_kind
@given(data=st.data(), dtype=st.sampled_from([np.float32, np.int64, np.int16, np.uint8, bool]))
def test_any_number_type_is_summed_in_float64(kind: Kind, dtype: type, data: st.DataObject):
    n = data.draw(st.integers(0, 8))
    x = np.array(data.draw(st.lists(st.integers(0, 1 if dtype is bool else 4), min_size=3 * n, max_size=3 * n)))
    x = x.reshape(n, 3).astype(dtype)
    y = np.zeros(n) if kind.targets else np.arange(n) % 3
    narrow, wide = (Rows(values, y, np.ones(n)) for values in (x, x.astype(float)))
    assert kind.of(narrow) == kind.of(wide)
    for value in kind.of(narrow).to_arrays().values():
        assert value.dtype in (np.float64, np.uint8, np.int64)


@every_kind
@given(data=st.data())
def test_statistics_survive_a_round_trip_through_arrays(kind: Kind, data: st.DataObject):
    some = kind.of(data.draw(kind.rows))
    assert kind.statistic.from_arrays(load(save(some.to_arrays()))) == some
    assert pickle.loads(pickle.dumps(some)) == some
    zero = kind.statistic.zero()
    assert kind.statistic.from_arrays(zero.to_arrays()) == zero


@every_kind
def test_foreign_arrays_are_refused(kind: Kind):
    arrays = kind.of(_three_rows(kind)).to_arrays()
    with pytest.raises(ValueError, match="is stored as the arrays"):
        kind.statistic.from_arrays({**arrays, "more": np.zeros(1)})
    with pytest.raises(ValueError, match="is stored as the arrays"):
        kind.statistic.from_arrays(dict(list(arrays.items())[1:]))
    for name in arrays:
        with pytest.raises(ValueError, match=r"must hold (numbers|whole numbers|the bytes of JSON text)"):
            kind.statistic.from_arrays({**arrays, name: np.array(["text"])})
        with pytest.raises(ValueError, match=r"must (have|be|hold the bytes of JSON|sum to)"):
            kind.statistic.from_arrays({**arrays, name: np.zeros((2, 9, 3, 1), dtype=arrays[name].dtype)})
        if arrays[name].dtype.kind != "f":
            with pytest.raises(ValueError, match=r"JSON text, uint8|whole numbers"):
                kind.statistic.from_arrays({**arrays, name: arrays[name] + 0.5})


@every_kind
def test_statistics_are_frozen(kind: Kind):
    some = kind.of(_three_rows(kind))
    for field in dataclasses.fields(some):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(some, field.name, 0)
        value = getattr(some, field.name)
        if isinstance(value, np.ndarray):
            with pytest.raises(ValueError, match="read-only"):
                value[...] = 0
    assert copy.copy(some) == some


@every_kind
def test_other_kinds_and_shapes_do_not_add(kind: Kind):
    some, rows = kind.of(_three_rows(kind)), _three_rows(kind)
    with pytest.raises(TypeError, match="unsupported operand"):
        some + 1
    with pytest.raises(TypeError, match="unsupported operand"):
        some - "rows"
    assert some != 1
    if kind.statistic.__name__ not in ("CategoryCounts", "Curvature"):  # these check their shape before they sum
        narrower = kind.of(dataclasses.replace(rows, x=rows.x[:, :2]))
        with pytest.raises(ValueError, match=r"do not go together|cannot be added"):
            some + narrower


def _three_rows(kind: Kind) -> Rows:
    x = np.array([[1.0, 0.0, 2.0], [3.0, 1.0, 0.0], [2.0, 2.0, 1.0]])
    return Rows(x, np.array([0.0, 1.0, 2.0]) if kind.targets else np.array([0, 1, 2]), np.ones(3))
