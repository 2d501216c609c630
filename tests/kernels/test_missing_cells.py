"""Missing cells, on every backend: each column is as if summed alone, over the rows that know it."""

import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from suffice.kernels import Batch
from suffice.kernels.array_kernels import ArrayKernels
from tests.each import for_each

from . import oracle
from .agreement import agree
from .backends import CLASSES, RANGES, SIZES, Backend, Question, categories, counts, labelled, maybe_weighted
from .test_kernel_refusals import spoilt, wild_batches

NAN, INF = float("nan"), float("inf")
QUESTIONS = [
    Question("event_counts", counts),
    Question("presence_counts", more=(0.5,)),
    Question("presence_counts", counts, more=(-1.0,)),
    Question("category_counts", categories, more=(SIZES,)),
    Question("diagonal_moments"),
    Question("diagonal_moments", counts),
]
every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kernel)


def gaps(x: np.ndarray, share: float = 0.3) -> np.ndarray:
    return np.where(np.random.default_rng(5).random(x.shape) < share, NAN, x)


def ask(backend: Backend, question: Question, host: Batch, missing: bool = True, classes: int = CLASSES) -> Any:
    return getattr(backend.kernels, question.kernel)(backend.batch(host), classes, *question.more, missing)


def check(backend: Backend, question: Question, host: Batch, classes: int = CLASSES) -> None:
    seen = ask(backend, question, host, classes=classes)
    agree(question.kernel, host, seen, oracle.skipping(question.kernel, host, classes, *question.more))


@every_question
@maybe_weighted
@for_each("share", [0.02, 0.3, 0.9, 1.0])
def test_cells_that_are_missing_are_skipped(kernels_and_arrays, question, weighted, share):
    host = labelled(question.features, weighted)
    host = replace(host, x=gaps(host.x, share))
    for start, stop in RANGES:
        check(kernels_and_arrays, question, replace(host, start=start, stop=stop))


@every_question
@maybe_weighted
def test_columns_rows_and_classes_may_be_missing(kernels_and_arrays, question, weighted):
    host = labelled(question.features, weighted)
    for gone in (np.s_[:, 1], np.s_[:9], np.s_[-1], np.s_[host.y == 2], (host.y == 1, 3), np.s_[:20, 0]):
        check(kernels_and_arrays, question, replace(host, x=spoilt(host.x, gone, NAN)))
    check(kernels_and_arrays, question, replace(host, x=gaps(host.x), y=np.where(host.y == 1, 4, 2)), classes=6)
    check(kernels_and_arrays, question, replace(host, x=gaps(host.x), y=None), classes=1)


@every_question
def test_a_cell_may_be_missing_where_nothing_weighs(kernels_and_arrays, question):
    host = labelled(question.features, True)
    weight = np.where(host.y == 1, 0, host.weight)
    x = spoilt(host.x, np.argmax(host.y == 1), NAN)
    check(kernels_and_arrays, question, replace(host, x=x, weight=weight))
    check(kernels_and_arrays, question, replace(host, x=gaps(host.x), weight=np.zeros(23)))


@every_question
@maybe_weighted
def test_where_no_cell_is_missing_all_is_as_without(kernels_and_arrays, question, weighted):
    for n in (0, 1, 23):
        host = labelled(question.features, weighted, n)
        seen, plain = ask(kernels_and_arrays, question, host), ask(kernels_and_arrays, question, host, False)
        for ours, truth in zip(seen, plain, strict=False):
            np.testing.assert_array_equal(ours, truth)
        assert len(plain) == (3 if question.kernel == "diagonal_moments" else 2)
        assert [cells.shape for cells in seen[len(plain) :]] == [(CLASSES, 0)] * (question.kernel != "category_counts")


@every_question
@for_each("dtype", [np.float32, np.int64, bool])
def test_any_number_type_may_miss_cells(kernels_and_arrays, question, dtype):
    host = labelled(lambda *shape: np.abs(np.rint(question.features(*shape))) % 2, True)
    x = gaps(host.x) if np.issubdtype(dtype, np.floating) else host.x
    check(kernels_and_arrays, question, replace(host, x=x.astype(dtype)))


@every_question
def test_any_layout_may_miss_cells(kernels_and_arrays, question):
    host = labelled(question.features, True)
    x = np.repeat(np.repeat(gaps(host.x), 2, axis=0), 3, axis=1)
    for layout in (np.asfortranarray(gaps(host.x)), x[::2, ::3], np.ascontiguousarray(gaps(host.x)[::-1])[::-1]):
        check(kernels_and_arrays, question, replace(host, x=layout))


@maybe_weighted
@for_each("rows", [60, 9000])
def test_an_offset_costs_no_digits(kernels_and_arrays, weighted, rows):
    """Each column has its own first known row, far into the others' and perhaps far from its mean."""
    if isinstance(kernels_and_arrays.kernels, ArrayKernels):
        rows = min(rows, 600)  # many times their blocks
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(rows, 3)) + np.linspace(0, 3, rows)[:, None]
    noise[rows // 2, 2] = 1e3
    x = gaps(1e8 * np.array([1, -1, 3]) + noise)
    x[: rows // 3, 1] = x[: rows // 2, 2] = NAN
    y, weight = rng.integers(0, 2, size=rows), rng.gamma(1.0, size=rows) if weighted else np.ones(rows)
    batch = kernels_and_arrays.batch(Batch(x, y, weight if weighted else None))
    _, mean, spread, cells = kernels_and_arrays.kernels.diagonal_moments(batch, 2, True)
    for code in range(2):
        for j, offset in enumerate([1e8, -1e8, 3e8]):
            known = (y == code) & ~np.isnan(x[:, j])
            values, w = x[known, j] - offset, weight[known]  # exact
            centre = w @ values / w.sum()
            np.testing.assert_allclose(cells[code, j], w.sum(), rtol=1e-12)
            np.testing.assert_allclose(mean[code, j], offset + centre, rtol=1e-15)
            np.testing.assert_allclose(spread[code, j], w @ (values - centre) ** 2, rtol=1e-8)


@maybe_weighted
def test_a_constant_feature_does_not_spread(kernels_and_arrays, weighted):
    host = labelled(lambda _, n, d: gaps(np.full((n, d), 0.1)), weighted, n=40)
    _, mean, spread, cells = ask(kernels_and_arrays, Question("diagonal_moments"), host)
    assert np.all(mean == np.where(cells > 0, 0.1, 0))
    assert np.all(spread == 0)


@pytest.mark.parametrize("kernel", ["event_counts", "presence_counts", "diagonal_moments"])
def test_a_column_without_gaps_weighs_what_its_class_does(kernels_and_arrays, kernel):
    host = labelled(counts, True)
    x = spoilt(host.x, np.s_[::2, 1:], NAN)
    more = (0.5,) if kernel == "presence_counts" else ()
    weights, *_, cells = ask(kernels_and_arrays, Question(kernel, more=more), replace(host, x=x))
    np.testing.assert_allclose(cells[:, 0], weights, rtol=1e-15)


# Refusals.


def complains(backend: Backend, question: Question, host: Batch, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}"):
        ask(backend, question, host)


@every_question
@for_each("value", [INF, -INF])
@for_each("row", [4, 17])
def test_infinity_is_no_missing_cell(kernels_and_arrays, question, value, row):
    host = labelled(categories, True)
    host = replace(host, start=2, stop=20, weight=spoilt(host.weight, (17,), 0))
    x = spoilt(spoilt(spoilt(host.x, np.s_[3:6, 0], NAN), (row, 1), value), np.s_[row, 3], NAN)
    other = {"category_counts": "|categories of feature 1", "event_counts": "|counts must not be"}
    words = rf"x\[{row}, 1\] is {value:g}; (it must be finite{other.get(question.kernel, '')})"
    complains(kernels_and_arrays, question, replace(host, x=x), words)


def test_counts_must_not_be_negative(kernels_and_arrays):
    host = labelled(counts, True)
    x = spoilt(spoilt(host.x, (8, 2), -0.5), np.s_[8, 0], NAN)
    complains(kernels_and_arrays, QUESTIONS[0], replace(host, x=x), r"x\[8, 2\] is -0.5; counts must not be negative$")


@for_each("value", [9, 1.5, -0.5, 3])
def test_a_category_is_a_code_or_missing(kernels_and_arrays, value):
    host = labelled(categories, True)
    x = spoilt(spoilt(host.x, np.s_[:8, 1], -1), np.s_[2, :], -7)
    check(kernels_and_arrays, Question("category_counts", more=(SIZES,)), replace(host, x=x))
    words = rf"x\[8, 2\] is {value:g}; categories of feature 2 must be whole numbers 0 to 2$"
    complains(
        kernels_and_arrays,
        Question("category_counts", more=(SIZES,)),
        replace(host, x=spoilt(spoilt(x, (8, 2), value), (8, 0), NAN)),
        words,
    )


@pytest.mark.parametrize("kernel", ["event_counts", "diagonal_moments"])
def test_sums_that_overflow_name_the_feature(kernels_and_arrays, kernel):
    host = labelled(counts, False)
    x = spoilt(spoilt(host.x, (slice(None), 2), np.linspace(0, 1.7e308, 23)), np.s_[::2, 1], NAN)
    with pytest.raises(OverflowError, match=r"^the sums of x overflow float64; rescale feature 2$"):
        ask(kernels_and_arrays, Question(kernel), replace(host, x=x, y=np.zeros(23, dtype=int)))


@settings(suppress_health_check=list(HealthCheck))
@given(host=wild_batches())
@for_each("question", QUESTIONS)
def test_any_input_is_summed_or_refused(kernels_and_arrays, host, question):
    try:
        kernels_and_arrays.batch(host)
    except (TypeError, ValueError):
        assume(False)  # the library itself has no such arrays
    if question.kernel == "category_counts":
        question = question._replace(more=(SIZES[: host.features],))
    allowed = oracle.faults(question.kernel, host, CLASSES, SIZES, missing=True)
    seen = outcome(kernels_and_arrays, question, host)
    if isinstance(seen, OverflowError):
        assert not allowed
        assert re.fullmatch(r"the sums of x overflow float64; rescale feature \d+", str(seen))
        assert np.fmax.reduce(np.abs(host.x.astype(float)), axis=None) > 1e100
    elif isinstance(seen, Exception):
        assert any(isinstance(seen, kind) and str(seen) == words for kind, words in allowed), seen
    elif allowed:
        assert host.rows == 0  # without rows nothing needs to be read
    elif host.features:
        agree(question.kernel, host, seen, oracle.skipping(question.kernel, host, CLASSES, *question.more))


def outcome(backend: Backend, question: Question, host: Batch) -> Any:
    """What a kernel returns, or the refusal it raises."""
    try:
        return ask(backend, question, host)
    except (OverflowError, TypeError, ValueError) as refusal:
        return refusal
