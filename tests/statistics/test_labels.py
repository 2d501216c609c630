import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from suffice.statistics import Labels
from suffice.statistics.labels import FEW


def test_any_order_and_repetition_gives_one_sorted_vocabulary():
    assert Labels.of(["spam", "ham", "spam"]).names == ("ham", "spam")
    assert Labels.of(np.array([3, 1, 3])).names == (1, 3)
    assert Labels.of([2, "b", 1.5, "a"]).names == (1.5, 2, "a", "b")
    assert Labels.of(np.array([True, False])).names == (False, True)
    assert Labels.of([]).names == ()


def test_union_says_where_each_side_stands():
    both, here, there = Labels.of([1, 3]).union(Labels.of([2, 3]))
    assert both.names == (1, 2, 3)
    assert here.tolist() == [0, 2]
    assert there.tolist() == [1, 2]


def test_encode_turns_labels_into_codes_and_names_the_first_unknown_label():
    labels = Labels.of(["ham", "spam"])
    assert labels.encode(np.array(["spam", "ham"])).tolist() == [1, 0]
    assert labels.encode([]).tolist() == []
    with pytest.raises(ValueError, match=r"y\[2\] is 'work', which is no known class; known: \['ham', 'spam'\]"):
        labels.encode(["ham", "spam", "work", "what"])


def test_a_vocabulary_that_brings_nothing_new_leaves_the_other_as_it_is():
    mine = Labels.of(["ham", "spam", "work"])
    both, here, there = mine.union(Labels.of(["work", "ham"]))
    assert both is mine
    assert here.tolist() == [0, 1, 2]
    assert there.tolist() == [0, 2]
    assert mine.union(Labels())[0] is mine


COLUMNS = {
    "int64": st.integers(-3, 3).map(np.int64),
    "int8": st.sampled_from([-128, -1, 0, 127]).map(np.int8),
    "uint8": st.integers(250, 255).map(np.uint8),
    ">i4": st.integers(-2, 2).map(np.dtype(">i4").type),
    "wide int64": st.sampled_from([-(2**63), 0, 2**63 - 1]).map(np.int64),
    "uint64": st.integers(2**64 - 4, 2**64 - 1).map(np.uint64),
    "bool": st.booleans(),
    "float64": st.sampled_from([-0.0, 0.0, 1.0, 2.5, np.inf, -np.inf]),
    "float32": st.floats(-2, 2, width=32).map(np.float32),
    "<U1": st.text("ab€\U0001f600", max_size=1),
    "<U4": st.text("ab", max_size=4),
    "<U7": st.text(max_size=7).map(lambda text: text.rstrip("\0")),
    "object": st.one_of(st.sampled_from(["a", np.str_("a"), "b", 1, True, 0.5, np.int8(3), np.float64(0.5)])),
}


@pytest.mark.parametrize("kind", COLUMNS)
@pytest.mark.parametrize("rows", [6, 3 * FEW, pytest.param(400, marks=pytest.mark.slow)])
@given(data=st.data())
def test_codes_say_which_label_each_row_holds(kind, rows, data):
    values = st.lists(COLUMNS[kind], max_size=rows, min_size=data.draw(st.sampled_from([0, rows - 2])))
    column = np.array(data.draw(values), dtype=kind.removeprefix("wide "))
    rows_of = [value.item() if isinstance(value, np.generic) else value for value in column.tolist()]
    expected = sorted(dict.fromkeys(rows_of), key=lambda name: (isinstance(name, str), name))
    for form in (column, column[:, None], column.tolist(), np.repeat(column, 2)[::2]):
        labels, codes = Labels.discover(form)
        assert labels == Labels.of(form) == Labels(tuple(expected))
        assert codes.dtype == np.int64
        assert [labels.names[code] for code in codes] == rows_of
        assert np.array_equal(labels.encode(form), codes)
    more = Labels.of([*expected, "stranger", -7])
    assert [more.names[code] for code in more.encode(column)] == rows_of


def test_codes_that_are_labels_already_are_not_copied():
    y = np.array([0, 2, 1, 1])
    labels, codes = Labels.discover(y)
    assert labels.names == (0, 1, 2)
    assert codes is y
    assert labels.encode(y) is y
    assert Labels((0, 1, 2, 3)).encode(y) is y
    assert Labels((-1, 0, 1, 2)).encode(y).tolist() == [1, 3, 2, 2]


@pytest.mark.parametrize("distinct", [FEW, FEW + 1, 1000])
def test_many_labels_that_come_late_are_found(distinct):
    codes = np.concatenate([np.zeros(2000, dtype=int), np.arange(distinct)])
    for names in (np.char.zfill(np.arange(distinct).astype(str), 4), np.arange(distinct) / 8, 10**6 * codes[2000:]):
        labels, found = Labels.discover(names[codes])
        assert labels.names == tuple(names.tolist())
        assert np.array_equal(found, codes)


@given(y=arrays(np.int64, st.integers(1, 20), elements=st.integers(0, 3)), known=st.sets(st.integers(0, 3)))
def test_the_first_unknown_label_is_named(y, known):
    labels = Labels.of(known)
    strangers = [row for row, value in enumerate(y) if value not in known]
    for column in (y, y.astype(float), y.astype(object), y.tolist()):
        if strangers:
            with pytest.raises(
                ValueError, match=rf"^y\[{strangers[0]}\] is {y[strangers[0]]}(\.0)?, which is no known"
            ):
                labels.encode(column)
        else:
            assert [labels.names[code] for code in labels.encode(column)] == y.tolist()


class Missing:
    """What some libraries put where there is no value: equal to nothing, not even itself, and no truth either."""

    def __eq__(self, other):
        return self

    def __bool__(self):
        raise TypeError("neither true nor false")

    __hash__ = object.__hash__


@pytest.mark.parametrize("act", [Labels.of, Labels.discover, Labels.of(["ham", 1.0]).encode])
@pytest.mark.parametrize("form", [list, lambda rows: np.array([*rows, None], dtype=object)[:-1]], ids=["list", "array"])
@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        (None, TypeError, r"must be a str, int, float or bool; got None of type NoneType in y\[2\]$"),
        (b"ham", TypeError, r"got b'ham' of type bytes in y\[2\]$"),
        (["ham"], TypeError, r"got \['ham'\] of type list in y\[2\]$"),
        (Missing(), TypeError, r"of type Missing in y\[2\]$"),
        (float("nan"), ValueError, r"must not be NaN in y\[2\]: drop the rows"),
        (np.float32("nan"), ValueError, r"must not be NaN in y\[2\]: drop the rows"),
        (np.datetime64("2026-01-01"), TypeError, r"of type datetime64 in y\[2\]$"),
        (1j, TypeError, r"got 1j of type complex in y\[2\]$"),
    ],
)
def test_the_row_of_a_label_without_a_stable_name_is_named(act, form, bad, error, message):
    with pytest.raises(error, match=message):
        act(form(["ham", 1.0, bad, "ham"]))


@pytest.mark.parametrize(
    "column",
    [
        np.array([1.0, np.nan, np.nan]),
        np.array([1, np.nan], dtype=np.float16),
    ],
)
def test_the_first_row_that_is_nan_is_named(column):
    for act in (Labels.of, Labels.discover, Labels.of([1]).encode):
        with pytest.raises(ValueError, match=r"must not be NaN in y\[1\]"):
            act(column)


@pytest.mark.parametrize("dtype", ["S4", "datetime64[D]", "timedelta64[s]", "complex64", "i4,i4", np.longdouble])
def test_columns_of_foreign_types_are_refused(dtype):
    for act in (Labels.of, Labels.discover, Labels.of([1]).encode):
        with pytest.raises(TypeError, match=r"must be a str, int, float or bool; got .* in y\[0\]"):
            act(np.zeros(3, dtype=dtype))
        act(np.zeros(0, dtype=dtype))


def test_variable_width_strings_are_labels():
    column = np.array(["spam", "ham", "spam"], dtype=np.dtypes.StringDType())
    assert Labels.discover(column)[1].tolist() == [1, 0, 1]


@pytest.mark.parametrize(
    ("bad", "error", "message"),
    [
        ([float("nan")], ValueError, "must not be NaN"),
        ([None], TypeError, "got None of type NoneType"),
        ([b"ham"], TypeError, "must be a str, int, float or bool"),
        ([np.datetime64("2026-01-01")], TypeError, "must be a str"),
        ([np.datetime64("2026-01-01", "ns")], TypeError, "must be a str"),  # whose item() is an integer
        (np.array(["2026-01-01"], dtype="datetime64[ns]"), TypeError, "must be a str"),
        ([np.timedelta64(3, "ns")], TypeError, "must be a str"),
    ],
)
def test_labels_without_a_stable_name_are_refused(bad, error, message):
    with pytest.raises(error, match=message):
        Labels.of(bad)


def test_unsorted_names_and_unknown_classes_are_refused():
    with pytest.raises(ValueError, match="distinct and sorted"):
        Labels(("b", "a"))
    with pytest.raises(ValueError, match="distinct and sorted"):
        Labels(("a", "a"))
    with pytest.raises(KeyError, match="unknown class 'c'"):
        Labels(("a", "b")).positions(Labels(("c",)))


@pytest.mark.parametrize("names", [(), ("ham", "spam"), (False, True), (1, 2.5, "ä€\n\"'")])
def test_labels_survive_a_round_trip_through_bytes(names):
    again = Labels.from_array(Labels(names).to_array())
    assert again.names == names
    assert [type(name) for name in again] == [type(name) for name in names]


@pytest.mark.parametrize("text", [b'{"a": 1}', b'["b", "a"]', b"[null]", b"nonsense", b"\xff"])
def test_foreign_bytes_are_refused(text):
    with pytest.raises((ValueError, TypeError), match=r"must (hold the bytes|be (distinct|a JSON list|a str))"):
        Labels.from_array(np.frombuffer(text, dtype=np.uint8))
