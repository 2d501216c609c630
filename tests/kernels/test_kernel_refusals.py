"""Invalid input of kernels: errors and messages; valid input agrees with the oracle."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as stn

from suffice.families.response import Response
from suffice.kernels.engine import Batch
from tests.each import for_each

from . import oracle
from .agreement import agree
from .backends import CLASSES, QUESTIONS, RESPONSES, SIZES, Backend, categories, counts, labelled

NAN, INF = float("nan"), float("inf")


def spoilt(array: np.ndarray, place: tuple[int, ...], value: float) -> np.ndarray:
    array = np.array(array)
    array[place] = value
    return array


def ask(backend: Backend, kernel: str, host: Batch, classes: int = CLASSES) -> Any:
    """Ask a kernel with arguments that suit it."""
    more: dict[str, tuple[Any, ...]] = {
        "presence_counts": (classes, 0.5),
        "category_counts": (classes, SIZES[: host.features]),
        "normal_equations": (),
        "curvature": (RESPONSES["bernoulli"][0], np.full((host.features, 1), 0.1), False, True),
        "linear_scores": (np.ones((2, host.features)), np.zeros(2)),
    }
    return getattr(backend.kernels, kernel)(backend.batch(host), *more.get(kernel, (classes,)))


CLASS_KERNELS = sorted({question.kernel for question in QUESTIONS})
REGRESSIONS = ["curvature", "normal_equations"]
READ_X = [kernel for kernel in [*CLASS_KERNELS, *REGRESSIONS, "linear_scores"] if kernel != "class_weights"]
READ_WEIGHT = [*CLASS_KERNELS, *REGRESSIONS]


def well(kernel: str) -> Batch:
    """A batch without fault, some of whose rows are left out and some of which weigh nothing."""
    host = labelled(categories, True)
    host = replace(host, start=2, stop=20, offset=np.zeros(23), weight=spoilt(host.weight, (17,), 0))
    return host if kernel not in REGRESSIONS else replace(host, y=host.x[:, 0])


def complains(backend: Backend, kernel: str, host: Batch, error: type[Exception], message: str, **more: Any) -> None:
    with pytest.raises(error) as caught:
        ask(backend, kernel, host, **more)
    assert str(caught.value) == message


@pytest.mark.parametrize("kernel", READ_X)
@for_each("value", [NAN, INF, -INF])
def test_features_must_be_finite(kernels_and_arrays, kernel, value):
    host = well(kernel)
    x = spoilt(spoilt(spoilt(host.x, (17, 1), value), (17, 3), NAN), (1, 1), NAN)  # row 17 weighs 0, row 1 is left out
    other_faults = (
        "categories of feature 1|counts must not be" if kernel in ("category_counts", "event_counts") else "-"
    )
    with pytest.raises(ValueError, match=rf"^x\[17, 1\] is {value:g}; (it must be finite$|{other_faults})"):
        ask(kernels_and_arrays, kernel, replace(host, x=x))


@pytest.mark.parametrize("kernel", READ_WEIGHT)
@for_each("value, shown", [(-1.0, "-1"), (NAN, "nan"), (INF, "inf"), (-1e-300, "-1e-300")])
def test_weights_must_be_finite_and_not_negative(kernels_and_arrays, kernel, value, shown):
    host = well(kernel)
    weight = spoilt(spoilt(spoilt(host.weight, (19,), -5), (13,), value), (22,), NAN)
    message = f"weight[13] is {shown}; weights must be finite and not negative"
    complains(kernels_and_arrays, kernel, replace(host, weight=weight), ValueError, message)


@pytest.mark.parametrize("kernel", CLASS_KERNELS)
@for_each("value", [5, 3, -1])
def test_codes_must_be_in_range(kernels_and_arrays, kernel, value):
    host = well(kernel)
    y = spoilt(spoilt(spoilt(host.y, (12,), 99), (7,), value), (0,), 9)
    complains(
        kernels_and_arrays, kernel, replace(host, y=y), ValueError, f"y[7] is {value}; class codes must be 0 to 2"
    )


@pytest.mark.parametrize("kernel", REGRESSIONS)
def test_targets_must_be_finite(kernels_and_arrays, kernel):
    host = well(kernel)
    y = spoilt(host.y, (9,), NAN)
    complains(kernels_and_arrays, kernel, replace(host, y=y), ValueError, "y[9] is nan; it must be finite")
    two = replace(host, y=np.column_stack([host.y, y]))
    message = "y[9, 1] is nan; it must be finite"
    if kernel == "curvature":
        message = "y must have shape (23,); got (23, 2)"
    complains(kernels_and_arrays, kernel, two, ValueError, message)


def test_offset_must_be_finite_and_fit(kernels_and_arrays):
    host = well("curvature")
    offset = spoilt(host.offset, (9,), -INF)
    message = "offset[9] is -inf; it must be finite"
    complains(kernels_and_arrays, "curvature", replace(host, offset=offset), ValueError, message)
    message = "offset[9, 0] is -inf; it must be finite"
    complains(kernels_and_arrays, "curvature", replace(host, offset=offset[:, None]), ValueError, message)
    wide = replace(host, offset=np.zeros((23, 2)))
    complains(kernels_and_arrays, "curvature", wide, ValueError, "offset must have shape (23, 1); got (23, 2)")


def test_counts_must_not_be_negative(kernels_and_arrays):
    host = well("event_counts")
    x = spoilt(spoilt(host.x, (8, 3), -1), (8, 2), -0.5)
    message = "x[8, 2] is -0.5; counts must not be negative"
    complains(kernels_and_arrays, "event_counts", replace(host, x=x), ValueError, message)


@for_each("value", [9, 1.5, -1, 3])
def test_categories_must_be_whole_numbers_in_range(kernels_and_arrays, value):
    host = well("category_counts")
    x = spoilt(spoilt(host.x, (8, 3), -1), (8, 2), value)
    message = f"x[8, 2] is {value:g}; categories of feature 2 must be whole numbers 0 to 2"
    complains(kernels_and_arrays, "category_counts", replace(host, x=x), ValueError, message)


@pytest.mark.parametrize("kernel", CLASS_KERNELS)
def test_classes_must_make_sense(kernels_and_arrays, kernel):
    host = well(kernel)
    missing = "y is needed: it says which of the 3 classes each row belongs to"
    complains(kernels_and_arrays, kernel, replace(host, y=None), ValueError, missing)
    complains(kernels_and_arrays, kernel, host, ValueError, "classes must be at least 1; got 0", classes=0)
    table = replace(host, y=np.zeros((23, 1), dtype=int))
    complains(kernels_and_arrays, kernel, table, ValueError, "y must have shape (23,); got (23, 1)")
    message = "y must hold integer class codes; got float64"
    complains(kernels_and_arrays, kernel, replace(host, y=host.y.astype(float)), TypeError, message)


@pytest.mark.parametrize("kernel", REGRESSIONS)
def test_regressions_need_targets(kernels_and_arrays, kernel):
    message = "y is needed: it holds the target of each row"
    complains(kernels_and_arrays, kernel, replace(well(kernel), y=None), ValueError, message)


@pytest.mark.parametrize("kernel", READ_X)
def test_features_must_be_real_numbers(kernels_and_arrays, kernel):
    host = well(kernel)
    message = "x must hold real numbers; got complex128"
    complains(kernels_and_arrays, kernel, replace(host, x=host.x.astype(complex)), TypeError, message)


@for_each("name", ["y", "weight", "offset"])
def test_columns_must_be_real_numbers(kernels_and_arrays, name):
    host = well("curvature")
    host = replace(host, **{name: getattr(host, name).astype(complex)})
    message = f"{name} must hold real numbers; got complex128"
    complains(kernels_and_arrays, "curvature", host, TypeError, message)


def test_arguments_must_fit_the_features(kernels_and_arrays):
    kernels, batch = kernels_and_arrays.kernels, kernels_and_arrays.batch(well("curvature"))
    host = well("event_counts")
    labels, first_two = kernels_and_arrays.batch(host), 2 + int(np.argmax(host.y[2:] == 2))
    logistic = RESPONSES["bernoulli"][0]
    asked: list[tuple[Callable[[], Any], str]] = [
        (lambda: kernels.category_counts(labels, 3, (2, 2, 3)), "sizes must name 4 features; got 3"),
        (lambda: kernels.category_counts(labels, 3, (2, 0, 3, 1)), "sizes must be at least 1; feature 1 has 0"),
        (lambda: kernels.presence_counts(labels, 3, NAN), "threshold must be a number; got nan"),
        (
            lambda: kernels.curvature(batch, logistic, np.zeros((4, 1)), True, True),
            "theta must have shape (5, t); got (4, 1)",
        ),
        (
            lambda: kernels.curvature(batch, logistic, np.zeros(4), False, True),
            "theta must have shape (4, t); got (4,)",
        ),
        (
            lambda: kernels.curvature(batch, logistic, np.zeros((4, 2)), False, True),
            "theta must have shape (4, 1); got (4, 2)",
        ),
        (
            lambda: kernels.curvature(labels, Response.of("multinomial"), np.zeros((4, 1)), False, True),
            f"y[{first_two}] is 2; class codes must be 0 to 1",
        ),
        (
            lambda: kernels.linear_scores(batch, np.zeros((3, 5)), np.zeros(3)),
            "coef must have shape (k, 4); got (3, 5)",
        ),
        (
            lambda: kernels.linear_scores(batch, np.zeros((3, 4)), np.zeros(2)),
            "intercept must have shape (3,); got (2,)",
        ),
    ]
    for question, message in asked:
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            question()
        assert str(caught.value) == message


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments", "event_counts"])
def test_sums_that_overflow_name_the_feature(kernels_and_arrays, kernel):
    host = labelled(counts, False)
    host = replace(host, x=spoilt(host.x, (slice(None), 2), np.linspace(0, 1.7e308, 23)), y=np.zeros(23, dtype=int))
    message = "the sums of x overflow float64; rescale feature 2"
    complains(kernels_and_arrays, kernel, host, OverflowError, message)


def test_targets_and_weights_overflow_under_their_own_name(kernels_and_arrays):
    host = labelled(counts, False)
    message = "the sums of y overflow float64; rescale target 0"
    complains(
        kernels_and_arrays, "normal_equations", replace(host, y=np.linspace(-1, 1, 23) * 1e300), OverflowError, message
    )
    message = "the sums of weight overflow float64; rescale the weights"
    for kernel in CLASS_KERNELS:
        heavy = replace(well(kernel), weight=np.full(23, 1e308))
        complains(kernels_and_arrays, kernel, heavy, OverflowError, message)


@st.composite
def wild_arrays(draw: st.DrawFn, shape: tuple[int, ...], ordinary: st.SearchStrategy[float]) -> np.ndarray:
    """Ordinary numbers, and perhaps one or two odd ones, of any dtype."""
    array = draw(stn.arrays(np.float64, shape, elements=ordinary, fill=st.nothing()))
    for _ in range(draw(st.integers(0, 2)) if array.size else 0):
        place = tuple(draw(st.integers(0, size - 1)) for size in shape)
        array[place] = draw(st.sampled_from([NAN, INF, -INF, -1.0, 0.5, 9.0, 1e6, 1e160, -1e308]))
    likely, unlikely = (
        ["float64"] * 6 + ["int64"] * 3,
        ["float32", "int8", "uint8", "uint64", "bool", "complex", "str", "O"],
    )
    with np.errstate(all="ignore"):
        return array.astype(draw(st.sampled_from(likely + unlikely)))


@st.composite
def wild_batches(draw: st.DrawFn) -> Batch:
    n, d = draw(st.integers(0, 16)), draw(st.integers(0, 4))
    few = st.integers(0, 2).map(float)
    y = draw(st.sampled_from([None, (n,), (n,), (n,), (n, 2)]))
    batch = Batch(
        draw(wild_arrays((n, d), few)),
        None if y is None else draw(wild_arrays(y, few)),
        draw(st.none() | wild_arrays((n,), few)),
        draw(st.none() | wild_arrays((n,), few)),
    )
    start = draw(st.integers(0, n))
    return replace(batch, start=start, stop=draw(st.integers(start, n)))


@settings(suppress_health_check=list(HealthCheck))
@given(host=wild_batches())
@for_each("kernel", [*CLASS_KERNELS, *REGRESSIONS, "linear_scores"])
def test_any_input_is_summed_or_refused(kernels_and_arrays, host, kernel):
    try:
        kernels_and_arrays.batch(host)
    except (TypeError, ValueError):
        assume(False)  # the library itself has no such arrays
    allowed = oracle.faults(kernel, host, CLASSES if kernel in CLASS_KERNELS else None, SIZES)
    seen = outcome(kernels_and_arrays, kernel, host)
    if isinstance(seen, OverflowError):
        assert not allowed
        sums = r"the sums of (x|y) overflow float64; rescale (feature|target) \d+"
        assert re.fullmatch(rf"{sums}|the scores of x\[\d+\] overflow float64; rescale the features", str(seen))
        assert largest_of(host) > 1e100
    elif isinstance(seen, Exception):
        assert any(isinstance(seen, kind) and str(seen) == message for kind, message in allowed)
    elif allowed:
        assert host.rows == 0  # without rows nothing needs to be read
    elif kernel != "curvature":
        agree(kernel, host, seen, outcome(Backend(oracle, lambda array: array), kernel, host))
    elif largest_of(host) < 1e3:  # past that, what counts is how a response tames its predictor
        truth = oracle.curvature(host, oracle.bernoulli, np.full((host.features, 1), 0.1), False)
        for ours, theirs in zip(seen, truth, strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-12)


def outcome(backend: Backend, kernel: str, host: Batch) -> Any:
    """What a kernel returns, or the refusal it raises."""
    try:
        return ask(backend, kernel, host)
    except (OverflowError, TypeError, ValueError) as refusal:
        return refusal


def largest_of(host: Batch) -> float:
    read = [array for array in (host.x, host.y, host.offset) if array is not None and array.dtype.kind in "biuf"]
    return max(float(np.abs(array[host.start : host.stop].astype(float)).max(initial=0)) for array in read)
