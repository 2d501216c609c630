"""Invalid input of scoring kernels: errors and messages."""

import re
from typing import Any

import numpy as np
import pytest

from suffice.kernels.engine import Batch
from suffice.kernels.inputs import JOINT, Reading
from tests.each import for_each

from .backends import Backend
from .test_scores import INF, KERNELS, NAN, features_of, parameters

RULE = "it must be finite, or -inf for what is impossible"


def refuses(
    backend: Backend, kernel: str, x: np.ndarray, arguments: tuple[Any, ...], message: str, **more: Any
) -> None:
    error = OverflowError if "overflow" in message else ValueError
    for reading in (JOINT, Reading("best")):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            getattr(backend.kernels, kernel)(backend.batch(Batch(x, start=1)), *arguments, reading=reading, **more)


def spoilt(array: np.ndarray, *cells: tuple[tuple[int, ...], float]) -> np.ndarray:
    array = np.array(array, dtype=float)
    for place, value in cells:
        array[place] = value
    return array


@pytest.mark.parametrize("kernel", KERNELS)
@for_each("features", [4, 40])
@for_each("value", [INF, -INF])
def test_infinity(kernels_and_arrays, kernel, features, value):
    rng = np.random.default_rng(0)
    x = spoilt(
        features_of(kernel, 200, features, rng), ((0, 0), NAN), ((99, 3), value), ((99, 1), value), ((100, 0), value)
    )
    message = f"x[99, 1] is {value:g}; it must be finite"
    if kernel == "category_scores":
        message = f"x[99, 1] is {value:g}; categories of feature 1 must be whole numbers 0 to 2"
    arguments = parameters(kernel, features, 2, rng)
    refuses(kernels_and_arrays, kernel, x, arguments, message)
    if kernel == "linear_scores":
        gaps = spoilt(x, ((98, 2), NAN))
        refuses(kernels_and_arrays, kernel, gaps, arguments, message, missing=arguments[0])
        refuses(kernels_and_arrays, kernel, x, arguments, message, threshold=0.5)
        refuses(kernels_and_arrays, kernel, gaps, arguments, message, threshold=-0.5, missing=arguments[0])


@pytest.mark.parametrize("kernel", ["linear_scores", "quadratic_scores"])
def test_nan_where_no_cell_may_be_missing(kernels_and_arrays, kernel):
    rng = np.random.default_rng(0)
    x = spoilt(features_of(kernel, 200, 40, rng), ((0, 0), NAN), ((99, 38), NAN), ((100, 0), NAN))
    arguments = parameters(kernel, 40, 2, rng)
    refuses(kernels_and_arrays, kernel, x, arguments, "x[99, 38] is nan; it must be finite")
    *model, intercept = arguments
    refuses(
        kernels_and_arrays, kernel, x, (*model, intercept - INF), "x[99, 38] is nan; it must be finite"
    )  # even where all classes are impossible
    if kernel == "linear_scores":
        refuses(kernels_and_arrays, kernel, x, arguments, "x[99, 38] is nan; it must be finite", threshold=0.5)


@for_each("value", [3, 9, 1.5, -0.5, -1.5, 1e300])
def test_what_is_no_category(kernels_and_arrays, value):
    rng = np.random.default_rng(0)
    x = spoilt(features_of("category_scores", 90, 4, rng), ((80, 1), value), ((80, 3), 0.5), ((85, 0), 9))
    message = f"x[80, 1] is {value:g}; categories of feature 1 must be whole numbers 0 to 2"
    refuses(kernels_and_arrays, "category_scores", x, parameters("category_scores", 4, 3, rng), message)


@for_each("dtype", [np.int8, np.uint8, np.uint64, np.int64])
def test_what_is_no_category_among_integers(kernels_and_arrays, dtype):
    rng = np.random.default_rng(0)
    x = features_of("category_scores", 90, 4, rng).astype(dtype)
    x[80, 1] = np.iinfo(dtype).max
    message = f"x[80, 1] is {float(np.iinfo(dtype).max):g}; categories of feature 1 must be whole numbers 0 to 2"
    refuses(kernels_and_arrays, "category_scores", x, parameters("category_scores", 4, 3, rng), message)


def test_linear_scores_that_overflow(kernels_and_arrays):
    x = spoilt(np.ones((90, 3)), ((80, 0), 1.7e308), ((80, 1), 1.7e308), ((85, 2), -1.7e308))
    message = "the scores of x[80] overflow float64; rescale the features"
    refuses(kernels_and_arrays, "linear_scores", x, (np.full((2, 3), 2.0), np.zeros(2)), message)


BAD_ARGUMENTS = [
    ("linear_scores", 0, np.ones((2, 5)), "coef must have shape (k, 4); got (2, 5)"),
    ("linear_scores", 0, spoilt(np.ones((2, 4)), ((1, 2), NAN)), "coef[1, 2] is nan; it must be finite"),
    ("linear_scores", 1, np.ones(3), "intercept must have shape (2,); got (3,)"),
    ("linear_scores", 1, np.array([0, INF]), f"intercept[1] is inf; {RULE}"),
    ("diagonal_scores", 0, np.ones((2, 5)), "mean must have shape (2, 4); got (2, 5)"),
    ("diagonal_scores", 0, spoilt(np.ones((2, 4)), ((0, 3), -INF)), "mean[0, 3] is -inf; it must be finite"),
    ("diagonal_scores", 1, np.ones((3, 4)), "variance must have shape (2, 4); got (3, 4)"),
    ("diagonal_scores", 1, spoilt(np.ones((2, 4)), ((0, 3), 0)), "variance[0, 3] is 0; variances must be above 0"),
    ("diagonal_scores", 1, spoilt(np.ones((2, 4)), ((0, 3), INF)), "variance[0, 3] is inf; it must be finite"),
    ("diagonal_scores", 2, np.array([NAN, 0]), f"intercept[0] is nan; {RULE}"),
    ("diagonal_scores", 2, np.zeros(0), "intercept must name at least one class; it is empty"),
    ("quadratic_scores", 0, np.ones((2, 3)), "mean must have shape (2, 4); got (2, 3)"),
    ("quadratic_scores", 1, np.ones((2, 4)), "whitener must have shape (2, 4, 4); got (2, 4)"),
    (
        "quadratic_scores",
        1,
        spoilt(np.ones((2, 4, 4)), ((1, 3, 0), NAN)),
        "whitener[1, 3, 0] is nan; it must be finite",
    ),
    ("category_scores", 0, np.ones((13, 2)), "tables must have shape (14, 2); got (13, 2)"),
    ("category_scores", 0, spoilt(np.ones((14, 2)), ((5, 1), INF)), f"tables[5, 1] is inf; {RULE}"),
    ("category_scores", 1, (2, 3, 4), "sizes must name 4 features; got 3"),
    ("category_scores", 1, (2, 3, 0, 9), "sizes must be at least 1; feature 2 has 0"),
]


@for_each("kernel, position, bad, message", BAD_ARGUMENTS)
def test_parameters_must_fit_and_be_in_range(kernels_and_arrays, kernel, position, bad, message):
    rng = np.random.default_rng(0)
    arguments = list(parameters(kernel, 4, 2, rng))
    arguments[position] = bad
    refuses(kernels_and_arrays, kernel, features_of(kernel, 9, 4, rng), tuple(arguments), message)


def test_threshold_and_missing_must_fit(kernels_and_arrays):
    x, arguments = np.ones((9, 4)), (np.ones((2, 4)), np.zeros(2))
    refuses(kernels_and_arrays, "linear_scores", x, arguments, "threshold must be a number; got nan", threshold=NAN)
    message = "missing must have shape (2, 4); got (2, 3)"
    refuses(kernels_and_arrays, "linear_scores", x, arguments, message, missing=np.ones((2, 3)))
    message = "missing[0, 1] is -inf; it must be finite"
    refuses(kernels_and_arrays, "linear_scores", x, arguments, message, missing=spoilt(np.ones((2, 4)), ((0, 1), -INF)))


@pytest.mark.parametrize("kernel", KERNELS)
def test_a_prior_must_name_the_classes(kernels_and_arrays, kernel):
    rng = np.random.default_rng(0)
    batch = kernels_and_arrays.batch(Batch(features_of(kernel, 9, 4, rng)))
    with pytest.raises(ValueError, match=r"^prior must have shape \(2,\); got \(3,\)$"):
        getattr(kernels_and_arrays.kernels, kernel)(
            batch, *parameters(kernel, 4, 2, rng), Reading("posterior", prior=np.array([0.2, 0.3, 0.5]))
        )


@for_each(
    "arguments, message",
    [
        ({"what": "mode"}, "what must be one of joint, log_posterior, posterior, evidence, best; got 'mode'"),
        ({"temperature": 0.0}, "temperature must be finite and greater than 0; got 0"),
        ({"temperature": 1e-310}, "temperature must be finite and greater than 0; got 1e-310"),
        ({"temperature": INF}, "temperature must be finite and greater than 0; got inf"),
        ({"temperature": NAN}, "temperature must be finite and greater than 0; got nan"),
        ({"prior": np.ones((2, 1))}, "prior must have shape (k,); got (2, 1)"),
        ({"prior": np.array([1.5, -0.5])}, "prior[1] is -0.5; probabilities must be finite and not negative"),
        ({"prior": np.array([0.5, NAN])}, "prior[1] is nan; probabilities must be finite and not negative"),
        ({"prior": np.array([5, 5])}, "prior must sum to 1; yours sums to 10"),
    ],
)
def test_readings_that_make_no_sense(arguments, message):
    with pytest.raises(ValueError, match=f"^{re.escape(message)}$"):
        Reading(**arguments)


@for_each(
    "scores, error, message",
    [
        (spoilt(np.zeros((90, 3)), ((80, 1), NAN), ((85, 0), NAN)), ValueError, f"scores[80, 1] is nan; {RULE}"),
        (spoilt(np.zeros((90, 3)), ((80, 1), INF)), ValueError, f"scores[80, 1] is inf; {RULE}"),
        (np.zeros(3), ValueError, "scores must have shape (n, k), with at least one class; got (3,)"),
        (np.zeros((3, 0)), ValueError, "scores must have shape (n, k), with at least one class; got (3, 0)"),
        (np.zeros((3, 2), dtype=complex), TypeError, "scores must hold real numbers; got complex128"),
    ],
)
def test_scores_that_no_reading_makes_sense_of(kernels_and_arrays, scores, error, message):
    array = scores if kernels_and_arrays.sparse else kernels_and_arrays.arrays(scores)
    for reading in (JOINT, Reading("best")):
        with pytest.raises(error, match=f"^{re.escape(message)}$"):
            kernels_and_arrays.kernels.read_scores(array, reading)
