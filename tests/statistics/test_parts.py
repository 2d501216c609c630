import pickle

import numpy as np
import pytest

from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import (
    DiagonalMoments,
    EventCounts,
    Labels,
    NegativeEvidenceError,
    NormalEquations,
    Parts,
)
from suffice.statistics.text import to_bytes

ENGINE = ThreadEngine(2)
TWO = Labels.of(["ham", "spam"])
SUMMARISE = Parts.over([EventCounts.over(TWO), DiagonalMoments.over(TWO)])


def both(x, y, summarise=SUMMARISE):
    return ENGINE.accumulate(summarise, Batch(np.array(x, dtype=float), np.array(y)))


SOME, MORE = both([[1, 2], [3, 0]], [0, 1]), both([[0, 4]], [1])


def test_every_part_sees_the_same_rows():
    counts, moments = (SOME + MORE).parts
    assert counts.counts.tolist() == [[1, 2], [3, 4]]
    assert moments.mean.tolist() == [[1, 2], [1.5, 2]]
    assert (SOME + MORE).weight == 3
    assert both([[1, 2], [3, 0]], [0, 1], pickle.loads(pickle.dumps(SUMMARISE))) == SOME


def test_no_parts_weigh_nothing_and_change_nothing():
    nothing = Parts()
    assert nothing == Parts.zero()
    assert nothing.weight == 0
    assert nothing.labels == Labels()
    assert nothing + SOME == SOME == SOME + nothing == SOME - nothing
    assert nothing.aligned(TWO) == nothing.scaled(0.5) == nothing
    zeros = Parts((EventCounts.zero(), DiagonalMoments.zero()))
    assert nothing + zeros == zeros
    assert zeros + SOME == SOME


def test_parts_of_other_kinds_do_not_add():
    other = Parts(SOME.parts[::-1])
    for act in (lambda: SOME + other, lambda: SOME - other, lambda: Parts() - SOME):
        with pytest.raises(ValueError, match=r"parts of the kinds \[.*\] and \['\w+', '\w+'\] do not go together"):
            act()


def test_removal_is_of_all_parts_or_none_and_as_precise_as_the_worst():
    with pytest.raises(NegativeEvidenceError, match=r"counts\[1, 1\] would be 0 - 4 < 0"):
        SOME - MORE
    rng = np.random.default_rng(0)
    calm, storm = (both(size * rng.random((50, 2)), np.zeros(50, dtype=int)) for size in (1.0, 1e3))
    whole = calm + storm
    left = whole - storm
    pairs = zip(whole.parts, storm.parts, strict=True)
    assert left.digits_kept() == min((one - two).digits_kept() for one, two in pairs) < 11
    assert left.weight == 50


def test_parts_without_classes_stay_as_they_are_when_others_are_aligned():
    mixed = both([[1, 2], [3, 0]], [0, 1], Parts.over([NormalEquations.over(), EventCounts.over(TWO)]))
    three = Labels.of(["ham", "spam", "work"])
    line, counts = mixed.aligned(three).parts
    assert line == mixed.parts[0]
    assert counts.labels == three
    assert mixed.labels == TWO


def test_arrays_carry_the_number_of_their_part():
    arrays = SOME.to_arrays()
    assert set(arrays) == {
        "kinds",
        *(f"0.{name}" for name in ("labels", "rows", "counts", "cells", "rows_error", "counts_error", "cells_error")),
        *(f"1.{name}" for name in ("labels", "weights", "mean", "spread", "cells")),
        *(f"1.{name}" for name in ("weights_error", "bounds", "depth", "cells_error")),
        *(f"{part}.{name}" for part in range(2) for name in ("least", "forgotten")),
    }
    assert Parts.from_arrays(arrays) == SOME


def test_foreign_arrays_are_refused():
    arrays = SOME.to_arrays()
    for kinds, message in [
        (["EventCounts", "Nonsense"], "no part can be a 'Nonsense': the kinds of statistic known are .*'EventCounts'"),
        (["EventCounts", "ClassCounts"], "no part can be a 'ClassCounts'"),
        (["EventCounts", "Parts"], "no part can be a 'Parts'"),
        (["EventCounts", ["DiagonalMoments"]], r"no part can be a \['DiagonalMoments'\]"),
        ("EventCounts", "must be a JSON list"),
        (["EventCounts"], r"stored as the arrays \['kinds', '0.…'\]; got '1\.\w+' too"),
        (["DiagonalMoments", "EventCounts"], r"DiagonalMoments is stored as the arrays \["),
        (["EventCounts"] * 3, r"EventCounts is stored as the arrays \["),
    ]:
        with pytest.raises(ValueError, match=message):
            Parts.from_arrays({**arrays, "kinds": to_bytes(kinds)})
    for name in ("2.rows", "rows", "-1.rows", "00.rows", ""):
        with pytest.raises(ValueError, match=rf"is stored as the arrays .* got '{name}' too"):
            Parts.from_arrays({**arrays, name: np.zeros(2)})
    for name in ("0", "0.", "0.0.rows"):
        with pytest.raises(ValueError, match="EventCounts is stored as the arrays"):
            Parts.from_arrays({**arrays, name: np.zeros(2)})


def test_only_statistics_are_parts_and_not_parts_of_parts():
    with pytest.raises(TypeError, match=r"parts\[1\] must be a statistic; got int"):
        Parts((SOME.parts[0], 3))
    with pytest.raises(ValueError, match=r"parts\[0\] is Parts itself"):
        Parts((SOME,))
