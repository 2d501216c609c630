"""Stochastic gradient and perceptron kernels, compared with plain loops; invalid input."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import sparse

from suffice.families.response import Response
from suffice.kernels import ArrayEngine, Batch, ThreadEngine
from suffice.kernels.descent import Pace
from suffice.kernels.native import NativeKernels
from tests.each import for_each

from . import oracle, oracle_walks
from .backends import RESPONSES, Backend, every_dtype, maybe_weighted, weights_of

NAN, INF = float("nan"), float("inf")


def gaussian(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    return z[0] * y[0] - z[0] ** 2 / 2, [y[0] - z[0]], [[1.0]]


def gamma(z: list[float], y: list[float]) -> tuple[float, list[float], list[list[float]]]:
    return -y[0] * np.exp(-z[0]) - z[0], [y[0] * np.exp(-z[0]) - 1], [[1.0]]


WALKS = {
    **RESPONSES,
    "gaussian": (Response.of("gaussian"), 1, gaussian),
    "gamma": (Response.of("gamma", "log"), 1, gamma),
    "eleven classes": (Response.of("multinomial"), 10, oracle.multinomial),
}
PACES = {
    "constant": Pace(0.1),
    "decaying": Pace(0.2, decay=0.1),
    "root": Pace(0.2, decay=0.3, power=0.5, first=7),
    "odd power": Pace(0.2, decay=0.3, power=0.7, rows=4),
    "all rows": Pace(0.5, rows=100),
    "more than can be": Pace(0.5, rows=2**62),
}


def rows(predictors: int, weighted: bool = False, offset: int | None = None, n: int = 23) -> Batch:
    rng = np.random.default_rng(5)
    x = np.where(rng.random((n, 3)) < 0.3, 0, rng.normal(size=(n, 3)))
    y = rng.integers(0, predictors + 1, size=n)
    shape = None if offset is None else (n, predictors)[:offset]
    return Batch(x, y, weights_of(rng, n) if weighted else None, None if shape is None else rng.normal(size=shape))


def check(backend: Backend, host: Batch, walk: Any, order: Any, pace: Pace, intercept: bool, l2: float) -> None:
    response, predictors, row_curve = walk
    theta = np.random.default_rng(6).normal(size=(host.features + intercept, predictors)) / 3
    seen = backend.kernels.descend(backend.batch(host), response, theta, intercept, order, pace, l2)
    truth = oracle_walks.descend(host, row_curve, theta, intercept, order, pace, l2)
    for name, ours, theirs in zip(seen._fields, seen, truth, strict=True):
        assert np.shape(ours) == np.shape(theirs), name
        np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12, err_msg=name)


def paced_walks() -> Iterator[Any]:
    """Yield each walk with paces: those that do not ask of each other, in slow tests."""
    for name, walk in WALKS.items():
        if name in ("bernoulli", "eleven classes"):
            yield pytest.param(walk, list(PACES), id=name)
        else:
            others = [pace for pace in PACES if pace != "root"]
            yield pytest.param(walk, ["root"], id=name)
            yield pytest.param(walk, others, marks=pytest.mark.slow, id=f"{name}, other paces")


@pytest.mark.parametrize(("walk", "paces"), list(paced_walks()))
def test_descents_equal_plain_loops(kernels_and_arrays, walk, paces):
    for name in paces:
        check_descent(kernels_and_arrays, walk, name)


def check_descent(kernels_and_arrays: Backend, walk: Any, name: str) -> None:
    order, pace = np.random.default_rng(0).permutation(23), PACES[name]
    check(kernels_and_arrays, rows(walk[1], False), walk, order, pace, True, 0.0)
    check(kernels_and_arrays, rows(walk[1], True), walk, order, pace, False, 0.1)
    if name == "root":
        check(kernels_and_arrays, rows(walk[1], True), walk, order, pace, True, 0.0)
        check(kernels_and_arrays, rows(walk[1], False), walk, order, pace, False, 0.1)


@for_each("walk", [WALKS["bernoulli"], WALKS["multinomial"], WALKS["cloglog"]])
@for_each("offset", [1, 2])
def test_offsets_count(kernels_and_arrays, walk, offset):
    check(kernels_and_arrays, rows(walk[1], offset=offset), walk, np.arange(23), PACES["constant"], True, 0.01)


@every_dtype
def test_features_of_any_type(kernels_and_arrays, cast):
    host = rows(1)
    host = replace(host, x=cast(host.x))
    check(kernels_and_arrays, host, WALKS["bernoulli"], np.arange(22, -1, -1), PACES["root"], True, 0.0)


@for_each("l2", [1.0, 5.0, 10.0, 15.0])
def test_a_ridge_may_shrink_at_once_or_overshoot(kernels_and_arrays, l2):
    """A step of 0.1 multiplies theta by 0.9, 0.5, 0 or -0.5, rows in plenty."""
    host = rows(1, n=60)
    check(kernels_and_arrays, host, WALKS["bernoulli"], np.arange(60), PACES["constant"], True, l2)


def test_rows_may_be_left_out_repeated_or_outside_the_range(kernels_and_arrays):
    host = replace(rows(1), start=4, stop=20)
    for order in (np.array([7, 4, 7, 19]), np.array([], dtype=int), np.arange(4, 20, dtype=np.uint8)):
        check(kernels_and_arrays, host, WALKS["poisson"], order, PACES["constant"], True, 0.0)


def test_an_epoch_may_be_split_anywhere(kernels_and_arrays):
    batch, order, pace = kernels_and_arrays.batch(rows(1, True)), np.arange(23), Pace(0.3, 0.2, 0.5)
    descend, response = kernels_and_arrays.kernels.descend, Response.of("bernoulli")
    whole = descend(batch, response, np.zeros((4, 1)), True, order, pace)
    one = descend(batch, response, np.zeros((4, 1)), True, order[:9], pace)
    two = one.then(descend(batch, response, one.theta, True, order[9:], replace(pace, first=9)))
    for ours, theirs in zip(two, whole, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)


def test_divergence_is_told(kernels_and_arrays):
    host = replace(rows(1), x=rows(1).x * 100)
    batch, order = kernels_and_arrays.batch(host), np.tile(np.arange(23), 20)
    for family in ("gaussian", "poisson"):
        seen = kernels_and_arrays.kernels.descend(batch, Response.of(family), np.zeros((4, 1)), True, order, Pace(1e3))
        assert not seen.finite
        assert seen.steps < len(order)


@for_each("family", ["bernoulli", "cloglog"])
@pytest.mark.parametrize("kernel", ["descend", "correct"])
def test_bad_rows_are_named(kernels_and_arrays, kernel, family):
    host = replace(rows(1, True), start=2, stop=20, offset=np.zeros(23))
    host.weight[17] = 0
    order = np.random.default_rng(0).permutation(np.arange(2, 20))

    def complaint(kind: type[Exception] = ValueError, **changes: Any) -> str:
        batch = kernels_and_arrays.batch(replace(host, **changes))
        more: dict[str, tuple[Any, ...]] = {
            "correct": (np.zeros((4, 1)), 2, True, order, 1.0),
            "descend": (RESPONSES[family][0], np.zeros((4, 1)), True, order, Pace(0.1)),
        }
        with pytest.raises(kind) as caught:
            getattr(kernels_and_arrays.kernels, kernel)(batch, *more[kernel])
        return str(caught.value)

    def spoilt(array: np.ndarray, *places: Any, value: float) -> np.ndarray:
        array = np.array(array, dtype=type(value))
        for place in places:
            array[place] = value
        return array

    assert complaint(x=spoilt(host.x, (17, 1), (18, 0), (1, 1), value=NAN)) == "x[17, 1] is nan; it must be finite"
    assert complaint(x=spoilt(host.x, (5, 2), value=-INF)) == "x[5, 2] is -inf; it must be finite"
    message = "weight[13] is -1; weights must be finite and not negative"
    assert complaint(weight=spoilt(host.weight, 13, 19, value=-1.0)) == message
    assert complaint(TypeError, x=host.x.astype(complex)) == "x must hold real numbers; got complex128"
    if kernel == "correct":
        assert complaint(y=spoilt(host.y, 7, 12, 0, value=2)) == "y[7] is 2; class codes must be 0 to 1"
        assert complaint(TypeError, y=host.y.astype(float)) == "y must hold integer class codes; got float64"
        assert complaint(y=None) == "y is needed: it says which of the 2 classes each row belongs to"
    else:
        assert complaint(y=spoilt(host.y, 9, value=NAN)) == "y[9] is nan; it must be finite"
        assert complaint(offset=spoilt(host.offset, 9, value=INF)) == "offset[9] is inf; it must be finite"
        assert complaint(y=None) == "y is needed: it holds the target of each row"


def test_bad_arguments_are_named(kernels_and_arrays):
    kernels, batch = kernels_and_arrays.kernels, kernels_and_arrays.batch(replace(rows(1), start=2, stop=20))
    logistic, theta, order = Response.of("bernoulli"), np.zeros((4, 1)), np.arange(2, 20)
    many = kernels_and_arrays.batch(rows(3))
    asked: list[tuple[Any, str]] = [
        (
            lambda: kernels.descend(batch, logistic, theta, True, [3, 20], Pace(1)),
            "order[1] is 20; it must be",
        ),
        (
            lambda: kernels.correct(batch, theta, 2, True, [1]),
            "order[0] is 1; it must be the position of a row",
        ),
        (lambda: kernels.correct(batch, theta, 2, True, [[2]]), "order must have shape (m,); got (1, 1)"),
        (lambda: kernels.descend(batch, logistic, theta, True, [0.5], Pace(1)), "order must hold integer positions"),
        (lambda: kernels.descend(batch, logistic, theta, False, order, Pace(1)), "theta must have shape (3, t); got"),
        (
            lambda: kernels.descend(batch, logistic, np.zeros((4, 2)), True, order, Pace(1)),
            "theta must have shape (4, 1)",
        ),
        (
            lambda: kernels.descend(batch, logistic, theta, True, order, Pace(1), -1.0),
            "l2 must be finite and not neg",
        ),
        (lambda: kernels.correct(batch, theta, 1, True, order), "a perceptron needs at least 2 classes; got 1"),
        (lambda: kernels.correct(many, theta, 4, True, order), "theta must have shape (4, 4); got (4, 1)"),
        (lambda: kernels.correct(batch, theta, 2, True, order, 0.0), "step must be finite and above 0; got 0"),
        (
            lambda: kernels.descend(many, Response.of("multinomial"), np.zeros((4, 2)), True, [2], Pace(1)),
            f"y[{int(np.argmax(rows(3).y == 3))}] is 3; class codes must be 0 to 2",
        ),
    ]
    for question, message in asked:
        with pytest.raises((ValueError, TypeError)) as caught:
            question()
        assert str(caught.value).startswith(message)


@for_each(
    "settings, message",
    [
        ({"step": 0.0}, "step must be finite and above 0; got 0"),
        ({"step": NAN}, "step must be finite and above 0; got nan"),
        ({"step": 1.0, "decay": -1.0}, "decay must be finite and not negative; got -1"),
        ({"step": 1.0, "power": INF}, "power must be finite and not negative; got inf"),
        ({"step": 1.0, "rows": 0}, "a step must have at least one row; rows is 0"),
        ({"step": 1.0, "first": -1}, "steps are counted from 0; first is -1"),
    ],
)
def test_a_pace_must_make_sense(settings, message):
    with pytest.raises(ValueError, match=message):
        Pace(**settings)


# The perceptron's rule.


@for_each("classes", [2, 3, 11])
@maybe_weighted
@for_each("intercept", [False, True])
def test_corrections_equal_plain_loops(kernels_and_arrays, classes, weighted, intercept):
    host = rows(classes - 1, weighted, n=60)
    order = np.random.default_rng(1).permutation(np.arange(3, 57))
    theta = np.random.default_rng(2).normal(size=(3 + intercept, 1 if classes == 2 else classes))
    part = replace(host, start=3, stop=57)
    seen = kernels_and_arrays.kernels.correct(kernels_and_arrays.batch(part), theta, classes, intercept, order, 0.3)
    truth = oracle_walks.correct(part, theta, classes, intercept, order, 0.3)
    assert seen.mistakes == truth[2] > 0
    np.testing.assert_allclose(seen.theta, truth[0], rtol=1e-12, atol=1e-13)
    np.testing.assert_allclose(seen.total, truth[1], rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(seen.loss, truth[3], rtol=1e-12)


def test_a_score_of_0_is_a_mistake_of_two_classes_and_of_more_goes_to_the_first(kernels_and_arrays):
    for code in (0, 1):
        host = Batch(np.ones((1, 1)), np.array([code]))
        seen = kernels_and_arrays.kernels.correct(kernels_and_arrays.batch(host), np.zeros((1, 1)), 2, False, [0], 1.0)
        assert seen.mistakes == 1
        assert seen.theta == 2 * code - 1
        assert seen.loss == 0
    host = Batch(np.ones((2, 1)), np.array([0, 2]))
    seen = kernels_and_arrays.kernels.correct(kernels_and_arrays.batch(host), np.zeros((1, 3)), 3, False, [0, 1], 1.0)
    assert seen.mistakes == 1
    assert np.array_equal(seen.theta, [[-1, 0, 1]])
    assert np.array_equal(seen.total, [[-1, 0, 1]])


def test_predictors_that_overflow_are_refused(kernels_and_arrays):
    host = Batch(np.full((3, 2), 1.7e308), np.array([1, 0, 1]))
    with pytest.raises(OverflowError, match=r"the scores of x\[1\] overflow float64; rescale the features"):
        kernels_and_arrays.kernels.correct(
            kernels_and_arrays.batch(host), np.array([[-1.0], [1.0]]), 2, False, [0, 1, 2], 1.0
        )


# Native code.


def test_every_instruction_set_descends_alike(instruction_set):
    rng = np.random.default_rng(0)
    x, theta, order = rng.normal(size=(500, 37)), np.zeros((38, 1)), rng.permutation(500)
    batch = Batch(x, rng.integers(0, 2, 500))
    for form in (batch, replace(batch, x=sparse.csr_array(x)), replace(batch, x=np.asfortranarray(x))):
        seen = NativeKernels().descend(form, Response.of("bernoulli"), theta, True, order, Pace(0.05), 0.01)
        truth = oracle_walks.descend(batch, oracle.bernoulli, theta, True, order, Pace(0.05), 0.01)
        np.testing.assert_allclose(seen.theta, truth[0], rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(seen.mean, truth[1], rtol=1e-9, atol=1e-12)


def test_sparse_rows_of_many_features():
    """Most features are in no row of a step; a ridge and the average reach them all the same."""
    rng = np.random.default_rng(1)
    x = sparse.random_array((400, 2000), density=0.01, rng=rng, format="csr")
    y, order, pace = rng.integers(0, 2, 400), rng.permutation(400), Pace(0.5, 0.01, 0.5, rows=3)
    theta = rng.normal(size=(2001, 1))
    for l2 in (0.0, 1e-3, 0.5):
        one = NativeKernels().descend(Batch(x, y), Response.of("bernoulli"), theta, True, order, pace, l2)
        two = NativeKernels().descend(Batch(x.toarray(), y), Response.of("bernoulli"), theta, True, order, pace, l2)
        np.testing.assert_allclose(one.theta, two.theta, rtol=1e-10, atol=1e-13)
        np.testing.assert_allclose(one.mean, two.mean, rtol=1e-10, atol=1e-11)


def test_broken_sparse_rows_are_refused():
    x = sparse.csr_array(np.eye(5))
    x.indices[3] = 99
    batch = Batch(x, np.array([0, 1, 0, 1, 0]))
    with pytest.raises(ValueError, match="the CSR matrix is broken"):
        NativeKernels().descend(batch, Response.of("bernoulli"), np.zeros((5, 1)), False, np.arange(5), Pace(1.0))
    with pytest.raises(ValueError, match="the CSR matrix is broken"):
        NativeKernels().correct(batch, np.zeros((5, 1)), 2, False, np.arange(5))


def test_half_precision_keeps_the_positions_of_rows():
    host = replace(rows(1), start=4, stop=20)
    host = replace(host, x=host.x.astype(np.float16))
    backend = Backend(NativeKernels(), np.asarray)
    check(backend, host, WALKS["bernoulli"], np.arange(19, 3, -1), PACES["constant"], True, 0.0)


# The seam.


@pytest.mark.parametrize("engine", [ThreadEngine(1), ThreadEngine(4), ArrayEngine()], ids=repr)
def test_a_fold_sees_whole_batches_one_after_another(engine):
    batches = [Batch(np.full((size, 4), float(size))) for size in (5, 40_000, 0, 7)]

    def note(seen: list[Any], batch: Batch, kernels: Any) -> list[Any]:
        return [*seen, (batch.rows, float(kernels.class_weights(batch, 1)[0]))]

    expected = [(size, float(size)) for size in (5, 40_000, 0, 7)]
    assert engine.fold(note, [], iter(batches)) == expected
    assert engine.fold(note, [], batches[1]) == expected[1:2]
    assert engine.fold(note, ["start"], []) == ["start"]


@pytest.mark.parametrize("engine", [ThreadEngine(2), ArrayEngine()], ids=repr)
def test_a_fold_names_the_batch_of_an_error(engine):
    good, bad = Batch(np.ones((3, 1)), np.array([0, 1, 0])), Batch(np.full((3, 1), NAN), np.array([0, 1, 0]))

    def learn(theta: np.ndarray, batch: Batch, kernels: Any) -> np.ndarray:
        return kernels.correct(batch, theta, 2, False, np.arange(3)).theta

    with pytest.raises(ValueError, match=r"x\[0, 0\] is nan") as caught:
        engine.fold(learn, np.zeros((1, 1)), [good, bad])
    assert caught.value.__notes__ == ["in batch 1, counted from 0"]


@pytest.mark.needs("torch")
def test_rows_on_torch_and_on_the_host_lead_to_the_same():
    import torch

    host = rows(1, True)
    batch = replace(host, x=torch.asarray(host.x))  # y and weight stay NumPy's
    args = Response.of("bernoulli"), np.zeros((4, 1)), True, np.arange(23), Pace(0.1)
    np.testing.assert_allclose(
        ArrayEngine().kernels.descend(batch, *args).theta, NativeKernels().descend(host, *args).theta, rtol=1e-12
    )


def test_a_last_correction_that_overflows_is_named(kernels_and_arrays):
    host = Batch(np.full((2, 1), 1e308), np.array([0, 1]), np.array([1.0, 100.0]))
    with pytest.raises(OverflowError, match=r"the scores of x\[1\] overflow float64; rescale the features"):
        kernels_and_arrays.kernels.correct(kernels_and_arrays.batch(host), np.zeros((1, 1)), 2, False, [0, 1], 1.0)


def test_a_walk_along_sparse_rows_that_diverges_ends_there():
    x, y = sparse.csr_array(np.arange(1.0, 41.0)[:, None]), np.full(40, 2.0)
    response = Response.of("gaussian", "log")  # which is not compiled
    seen = NativeKernels().descend(Batch(x, y), response, np.zeros((1, 1)), False, np.arange(40), Pace(1e120))
    assert not seen.finite
    assert seen.steps < 40
