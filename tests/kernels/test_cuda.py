"""Fused kernels beside the array code: on a CUDA device, or where TRITON_INTERPRET=1 lets Triton run on the host."""

import numpy as np
import pytest

from suffice.families.response import Response
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.cuda import rows as fused_rows
from suffice.kernels.cuda.kernels import fused
from suffice.kernels.engine import Batch
from tests.requirements import require_module

torch = require_module("torch")

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
pytestmark = [
    pytest.mark.needs("triton"),
    # What NumPy says of what Triton's interpreter does.
    pytest.mark.filterwarnings("ignore:Conversion of an array with ndim > 0:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore:invalid value encountered:RuntimeWarning"),
    pytest.mark.filterwarnings("ignore:All-NaN slice encountered:RuntimeWarning"),
]

HOST = ArrayKernels()
ROWS = 70_001 if DEVICE == "cuda" else 150
CASES = {
    "one class": (1, 5, np.float32, False),
    "two classes": (2, 32, np.float32, False),
    "three classes, weights": (3, 20, np.float32, True),
    "six classes, odd width, float64": (6, 33, np.float64, True),
    "seventeen classes": (17, 12, np.float32, False),
    "wide": (2, 130, np.float32, True),
}
every_case = pytest.mark.parametrize(("classes", "features", "dtype", "weighted"), CASES.values(), ids=CASES.keys())


@pytest.fixture(autouse=True)
def _any_size(monkeypatch):
    monkeypatch.setattr(fused_rows, "SMALLEST", 0)


def drawn(classes, features, dtype, weighted, offset=0.0):
    rng = np.random.default_rng(classes)
    y = rng.integers(0, classes, ROWS)
    x = (rng.normal(size=(ROWS, features)) + 0.3 * y[:, None] + offset).astype(dtype)
    weight = rng.gamma(1.0, size=ROWS) * (rng.random(ROWS) > 0.1) if weighted else None
    return Batch(x, y, weight)


def placed(batch):
    columns = (batch.x, batch.y, batch.weight, batch.offset)
    return Batch(*(None if each is None else torch.asarray(each, device=DEVICE) for each in columns))


def agree(seen, expected, tolerance=1e-12):
    assert seen is not None
    if not isinstance(seen, tuple):
        seen, expected = (seen,), (expected,)
    for ours, truth in zip(seen, expected, strict=True):
        assert np.shape(ours) == np.shape(truth)
        scale = np.abs(truth).max() if np.size(truth) else 1.0
        np.testing.assert_allclose(ours, truth, rtol=0, atol=tolerance * scale)


@every_case
def test_sums_per_class(classes, features, dtype, weighted):
    host = drawn(classes, features, dtype, weighted)
    sums = fused(placed(host))
    agree(sums.class_weights(classes), HOST.class_weights(host, classes))
    agree(sums.presence_counts(classes, 0.5), HOST.presence_counts(host, classes, 0.5))
    agree(sums.diagonal_moments(classes), HOST.diagonal_moments(host, classes))
    agree(sums.tied_moments(classes), HOST.tied_moments(host, classes))
    agree(sums.full_moments(classes), HOST.full_moments(host, classes))
    counts = Batch(np.abs(host.x), host.y, host.weight)
    agree(fused(placed(counts)).event_counts(classes), HOST.event_counts(counts, classes))


@every_case
@pytest.mark.parametrize("targets", [None, 1, 2, 5])
def test_normal_equations(classes, features, dtype, weighted, targets):
    host = drawn(classes, features, dtype, weighted)
    y = np.random.default_rng(1).normal(size=ROWS if targets is None else (ROWS, targets)) + 100.0
    host = Batch(host.x, y, host.weight)
    agree(fused(placed(host)).normal_equations(), HOST.normal_equations(host))


RESPONSES = [
    ("gaussian", None, 1),
    ("bernoulli", None, 1),
    ("bernoulli", "probit", 1),
    ("poisson", None, 1),
    ("gamma", "log", 1),
    ("multinomial", None, 1),
    ("multinomial", None, 2),
    ("multinomial", None, 4),
    ("multinomial", None, 9),
    ("beta", None, 2),
]


@every_case
@pytest.mark.parametrize(("family", "link", "predictors"), RESPONSES)
@pytest.mark.parametrize(("intercept", "offset"), [(True, None), (False, 1), (True, 2)])
def test_log_likelihoods(classes, features, dtype, weighted, family, link, predictors, intercept, offset):
    host, rng = drawn(classes, features, dtype, weighted), np.random.default_rng(2)
    y = rng.integers(0, predictors + 1, ROWS)
    if family != "multinomial":
        y = y % 2 + (0.5 if family == "gamma" else 0.0)
    if family == "beta":
        y = 0.1 + 0.8 * y
    more = None if offset is None else rng.normal(size=(ROWS, predictors)[:offset])
    host, response = Batch(host.x, y, host.weight, more), Response.of(family, link)
    theta = rng.normal(size=(features + intercept, predictors)) * 0.2 / np.sqrt(features)
    for hessian in (False, True):
        asked = response, theta, intercept, hessian
        agree(fused(placed(host)).curvature(*asked), HOST.curvature(host, *asked), 1e-11)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_offset_costs_no_digits(dtype):
    offset = 1e4 if dtype is np.float32 else 1e8
    host = drawn(3, 7, dtype, True, offset * np.array([1, -1, 1, 3, 0, 1, 2]))
    sums = fused(placed(host))
    agree(sums.diagonal_moments(3)[2], HOST.diagonal_moments(host, 3)[2], 1e-10)
    agree(sums.tied_moments(3)[2], HOST.tied_moments(host, 3)[2], 1e-10)
    agree(sums.full_moments(3)[2], HOST.full_moments(host, 3)[2], 1e-10)


def test_classes_far_apart_cost_no_digits():
    host = drawn(3, 7, np.float64, True)
    host.x[:] += 1e8 * host.y[:, None]
    sums = fused(placed(host))
    agree(sums.diagonal_moments(3)[2], HOST.diagonal_moments(host, 3)[2], 1e-10)
    agree(sums.tied_moments(3)[2], HOST.tied_moments(host, 3)[2], 1e-10)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_constant_feature_does_not_spread(dtype):
    host = drawn(2, 4, dtype, False)
    host.x[:, 1] = 0.1
    host.x[:, 2] = 7.7 * host.y  # constant within each class
    for kernel in ("diagonal_moments", "full_moments"):
        _, mean, spread = getattr(fused(placed(host)), kernel)(2)
        variances = spread if spread.ndim == 2 else np.diagonal(spread, axis1=1, axis2=2)
        assert np.all(mean[:, 1] == dtype(0.1))
        assert np.all(variances[:, 1:3] == 0)


@pytest.mark.needs("cuda")
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16])
def test_half_precision(kind):
    host = drawn(2, 32, np.float32, False)
    x = torch.asarray(host.x, device=DEVICE).to(kind)
    exact = Batch(x.to(torch.float32).cpu().numpy(), host.y)
    agree(fused(Batch(x, host.y)).tied_moments(2), HOST.tied_moments(exact, 2))


def test_parts_and_views_of_rows():
    host = drawn(2, 20, np.float32, True)
    there = placed(host)
    part = Batch(there.x, there.y, there.weight, start=7, stop=ROWS - 5)
    agree(fused(part).tied_moments(2), HOST.tied_moments(Batch(host.x, host.y, host.weight, None, 7, ROWS - 5), 2))
    view = Batch(there.x[1::2, 3:11], there.y[1::2], there.weight[1::2])
    agree(
        fused(view).diagonal_moments(2),
        HOST.diagonal_moments(Batch(host.x[1::2, 3:11], *(c[1::2] for c in (host.y, host.weight))), 2),
    )
    assert fused(Batch(there.x.T.contiguous().T, there.y)) is None  # columns must lie side by side


def test_classes_that_are_missing_or_too_many():
    host = drawn(2, 6, np.float32, False)
    agree(fused(placed(host)).diagonal_moments(7), HOST.diagonal_moments(host, 7))
    assert fused(placed(host)).diagonal_moments(1000) is None
    agree(ArrayKernels().diagonal_moments(placed(host), 1000), HOST.diagonal_moments(host, 1000))


def test_the_same_sums_every_time():
    sums = fused(placed(drawn(3, 32, np.float32, True)))
    one, two = sums.tied_moments(3), sums.tied_moments(3)
    assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


KERNELS = {
    "event_counts": (2,),
    "presence_counts": (2, 0.5),
    "diagonal_moments": (2,),
    "full_moments": (2,),
    "tied_moments": (2,),
}


@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_bad_cells_are_named(kernel, value):
    host = drawn(2, 6, np.float32, True)
    host.x[:] = np.abs(host.x)
    host.weight[41] = 0
    host.x[41, 3] = value
    assert getattr(fused(placed(host)), kernel)(*KERNELS[kernel]) is None
    with pytest.raises(ValueError, match=rf"^x\[41, 3\] is {value:g}; it must be finite$"):
        getattr(ArrayKernels(), kernel)(placed(host), *KERNELS[kernel])


@pytest.mark.parametrize("kernel", KERNELS)
def test_bad_codes_weights_and_counts_are_named(kernel):
    host = drawn(2, 6, np.float32, True)
    host.x[:] = np.abs(host.x)
    ask = getattr(ArrayKernels(), kernel)
    for code in (2, -1, 2**40):
        there = placed(Batch(host.x, np.where(np.arange(ROWS) == 99, code, host.y), host.weight))
        with pytest.raises(ValueError, match=rf"^y\[99\] is {code}; class codes must be 0 to 1$"):
            ask(there, *KERNELS[kernel])
    for weight in (-1.0, np.nan, np.inf):
        there = placed(Batch(host.x, host.y, np.where(np.arange(ROWS) == 98, weight, host.weight)))
        with pytest.raises(ValueError, match=rf"^weight\[98\] is {weight:g}; weights must be finite and not negative$"):
            ask(there, *KERNELS[kernel])
    if kernel == "event_counts":
        host.x[5, 5] = -1
        with pytest.raises(ValueError, match=r"^x\[5, 5\] is -1; counts must not be negative$"):
            ask(placed(host), 2)


@pytest.mark.parametrize(("family", "predictors"), [("bernoulli", 1), ("multinomial", 2), ("multinomial", 6)])
@pytest.mark.parametrize("name", ["x", "y", "weight", "offset"])
def test_bad_rows_of_regressions_are_named(family, predictors, name):
    rng = np.random.default_rng(0)
    columns = {
        "x": rng.normal(size=(ROWS, 4)).astype(np.float32),
        "y": rng.integers(0, predictors + 1, ROWS) if family == "multinomial" else rng.random(ROWS),
        "weight": rng.random(ROWS),
        "offset": rng.normal(size=ROWS),
    }
    value = 99 if name == "y" and family == "multinomial" else np.nan
    columns[name].reshape(ROWS, -1)[77] = value
    with pytest.raises(ValueError, match=rf"^{name}\[77"):
        ArrayKernels().curvature(placed(Batch(**columns)), Response.of(family), np.zeros((5, predictors)), True, False)


def test_missing_cells_are_left_to_the_array_code():
    host = drawn(2, 6, np.float32, True)
    agree(ArrayKernels().diagonal_moments(placed(host), 2, True), HOST.diagonal_moments(host, 2, True))
    host.x[3, 3] = np.nan
    agree(ArrayKernels().diagonal_moments(placed(host), 2, True), HOST.diagonal_moments(host, 2, True))
