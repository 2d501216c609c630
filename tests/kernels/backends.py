"""The kernels that the suite runs on, and their inputs: add a line to BACKENDS for another."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import array_api_strict
import numpy as np
import pytest
from scipy import sparse

from suffice.families import Gamma, Tweedie, links
from suffice.families.response import Response
from suffice.kernels.array_kernels import ArrayKernels
from suffice.kernels.engine import Batch
from suffice.kernels.native import NativeKernels
from tests.each import for_each
from tests.requirements import require, require_module

from . import oracle


@dataclass(frozen=True)
class Backend:
    """A set of kernels, and how a NumPy array becomes one that it sums."""

    kernels: Any
    arrays: Callable[[np.ndarray], Any]
    sparse: bool = False  # x becomes a sparse matrix; y, weight and offset stay NumPy's

    def batch(self, host: Batch) -> Batch:
        columns = {name: getattr(host, name) for name in ("y", "weight", "offset")}
        if not self.sparse:
            columns = {name: None if column is None else self.arrays(column) for name, column in columns.items()}
        return replace(host, x=self.arrays(host.x), **columns)


def torch_array(array: np.ndarray) -> Any:
    return require_module("torch").asarray(np.array(array))


def cuda() -> Backend:
    torch = require_module("torch")
    require("cuda")
    return Backend(ArrayKernels(), lambda array: torch.asarray(np.array(array), device="cuda"))


BACKENDS: dict[str, Callable[[], Backend]] = {
    "numpy, blocks of 7": lambda: Backend(ArrayKernels(7), np.asarray),
    "strict": lambda: Backend(ArrayKernels(), array_api_strict.asarray),
    "torch, blocks of 7": lambda: Backend(ArrayKernels(7), torch_array),
    "torch on CUDA": cuda,
    "native": lambda: Backend(NativeKernels(), np.asarray),
    "native, csr": lambda: Backend(NativeKernels(), sparse.csr_array, sparse=True),
}


# What the kernels are asked: a name, further arguments, and which features suit it.


def real(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.normal(size=(n, d)) * 3 + 1


def counts(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return rng.poisson(1.0, size=(n, d)).astype(float)


SIZES = (2, 2, 3, 5)


def categories(rng: np.random.Generator, n: int, d: int) -> np.ndarray:
    return np.stack([rng.integers(0, size, size=n) for size in SIZES[:d]], axis=1).astype(float)


class Question(NamedTuple):
    kernel: str
    features: Callable[..., np.ndarray] = real
    more: tuple[Any, ...] = ()


QUESTIONS = [
    Question("class_weights"),
    Question("event_counts", counts),
    Question("presence_counts", more=(0.5,)),
    Question("presence_counts", counts, more=(-1.0,)),
    Question("category_counts", categories, more=(SIZES,)),
    Question("diagonal_moments"),
    Question("full_moments"),
    Question("tied_moments"),
]
every_question = pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kernel)

DTYPES = {
    "float64": lambda x: x,
    "float32": lambda x: x.astype(np.float32),
    "int64": lambda x: np.rint(x).astype(np.int64),
    "uint8": lambda x: np.abs(np.rint(x)).astype(np.uint8),
    "bool": lambda x: x > 0,
}
every_dtype = for_each("cast", DTYPES.values(), ids=DTYPES.keys())
maybe_weighted = for_each("weighted", [False, True], ids=["unweighted", "weighted"])

RANGES = [(0, 23), (4, 20), (6, 7), (3, 3)]
CLASSES = 3
FEATURES = len(SIZES)


def labelled(features: Callable[..., np.ndarray], weighted: bool, n: int = 23, seed: int = 0) -> Batch:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, CLASSES, size=n)
    return Batch(features(rng, n, FEATURES), y, weights_of(rng, n) if weighted else None)


def weights_of(rng: np.random.Generator, n: int) -> np.ndarray:
    weight = rng.gamma(1.0, size=n)
    weight[rng.random(n) < 0.2] = 0
    return weight


#: Family and link, predictors, how the oracle computes a row. The last is one that no native code is likely to compile.
RESPONSES = {
    "bernoulli": (Response.of("bernoulli"), 1, oracle.bernoulli),
    "poisson": (Response.of("poisson"), 1, oracle.poisson),
    "tweedie": (Response.of(Tweedie(1.3)), 1, oracle.tweedie),
    "observed tweedie": (Response(Tweedie(1.3), links.log, observed=True), 1, oracle.observed_tweedie),
    "observed gamma": (Response(Gamma, links.log, observed=True), 1, oracle.observed_gamma),
    "multinomial": (Response.of("multinomial"), 3, oracle.multinomial),
    "cloglog": (Response.of("bernoulli", "cloglog"), 1, oracle.cloglog),
}
