from typing import Any

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]
_Codes = npt.NDArray[np.int64]

class OffenceError(ValueError): ...

class text:  # noqa: N801  (the submodule of documents, words and tokens, which suffice.text wraps)
    class Documents:
        def __init__(self, *given: Any) -> None: ...
        def __len__(self) -> int: ...
        def ends(self) -> _Codes: ...

    class Words:
        def __init__(self) -> None: ...
        def __len__(self) -> int: ...
        def copy(self) -> text.Words: ...
        def word(self, place: int) -> str: ...
        def list(self) -> list[str]: ...
        def text(self) -> bytes: ...
        def ends(self) -> _Codes: ...
        def hashes(self) -> npt.NDArray[np.uint64]: ...
        def sorted(self) -> npt.NDArray[np.int32]: ...
        def take(self, places: _Codes) -> Any: ...
        def merge(self, other: Any) -> npt.NDArray[np.int32]: ...
        def places(self, other: Any) -> npt.NDArray[np.int32]: ...

    class Tokeniser:
        def __init__(self, *settings: Any) -> None: ...
        def tokens(self, documents: text.Documents, document: int) -> list[str]: ...
        def rows(
            self, documents: text.Documents, start: int, stop: int, words: text.Words, grow: bool
        ) -> tuple[Any, ...]: ...
        def scores(
            self,
            documents: text.Documents,
            start: int,
            stop: int,
            words: text.Words | None,
            bits: int,
            table: _Doubles,
            intercept: _Doubles,
            presence: bool,
            normed: bool,
        ) -> _Doubles: ...
        def counts(
            self,
            documents: text.Documents,
            start: int,
            stop: int,
            codes: _Codes,
            weights: _Doubles | None,
            classes: int,
            words: text.Words,
            events: bool,
            presences: bool,
            sample: int,
        ) -> tuple[Any, ...]: ...

    @staticmethod
    def words(text: bytes, ends: _Codes) -> text.Words: ...
    @staticmethod
    def added(one: _Doubles, two: _Doubles, places: _Codes, width: int) -> _Doubles: ...
    @staticmethod
    def sort_rows(ends: _Codes, columns: Any, counts: Any, begin: int, end: int) -> None: ...
    @staticmethod
    def lines(buffer: bytes, size: int, separator: str, labels: text.Words | None) -> tuple[Any, ...]: ...
    @staticmethod
    def left_out(
        counts: _Doubles,
        others: _Doubles | None,
        ends: _Codes,
        columns: _Codes,
        times: _Doubles,
        codes: _Codes,
        weights: _Doubles,
        alphas: _Doubles,
        begin: int,
        end: int,
    ) -> _Doubles: ...

def use(instruction_set: str | None = None) -> str: ...
def class_weights(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int
) -> _Doubles: ...
def event_counts(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int, missing: bool
) -> tuple[_Doubles, ...]: ...
def presence_counts(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    classes: int,
    missing: bool,
    threshold: float,
) -> tuple[_Doubles, ...]: ...
def category_counts(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    classes: int,
    missing: bool,
    sizes: list[int],
) -> tuple[_Doubles, _Doubles]: ...
def diagonal_moments(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int, missing: bool
) -> tuple[_Doubles, ...]: ...
def scatter(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    classes: int,
    tied: bool,
    targets: npt.NDArray[Any] | None,
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def curvature(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    family: int,
    target: _Doubles | None,
    offset: _Doubles | None,
    theta: _Doubles,
    intercept: bool,
    hessian: bool,
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def descend(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    family: int,
    target: _Doubles | None,
    offset: _Doubles | None,
    theta: _Doubles,
    intercept: bool,
    order: _Codes,
    pace: tuple[float, float, float, int, int],
    l2: float,
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def correct(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    classes: int,
    theta: _Doubles,
    intercept: bool,
    order: _Codes,
    step: float,
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
def dual_ascent(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    family: int,
    target: _Doubles | None,
    offset: _Doubles | None,
    theta: _Doubles,
    intercept: bool,
    scale: _Doubles | None,
    l2: float,
    symmetric: bool,
    p: _Doubles,
    most: int,
    gap: float,
    seed: int,
) -> tuple[_Doubles, _Doubles]: ...
def cholesky(a: _Doubles, least: float) -> float: ...
def cholesky_solve(factor: _Doubles, b: _Doubles) -> None: ...
def coordinate_descent(a: _Doubles, b: _Doubles, l1: _Doubles, theta: _Doubles, tol: float, most: int) -> int: ...

_Reading = tuple[int, float, _Doubles, npt.NDArray[Any]]  # what, temperature, prior, and the array for results

def linear_scores(
    x: Any,
    begin: int,
    end: int,
    coef: _Doubles,
    intercept: _Doubles,
    missing: _Doubles | None,
    threshold: float | None,
    reading: _Reading,
) -> None: ...
def diagonal_scores(
    x: Any, begin: int, end: int, mean: _Doubles, variance: _Doubles, intercept: _Doubles, reading: _Reading
) -> None: ...
def quadratic_scores(
    x: Any, begin: int, end: int, mean: _Doubles, whitener: _Doubles, intercept: _Doubles, reading: _Reading
) -> None: ...
def category_scores(
    x: Any, begin: int, end: int, tables: _Doubles, sizes: list[int], intercept: _Doubles, reading: _Reading
) -> None: ...
def read_scores(scores: npt.NDArray[Any], reading: _Reading) -> None: ...
def local_sums(
    queries: tuple[Any, int, int, _Codes | None],  # x, begin, end, the row left out of each
    rows: tuple[Any, int, int, _Doubles | None, _Doubles],  # x, begin, end, weight, targets
    fit: tuple[int, float, int, bool, _Doubles | None],  # shape, bandwidth, degree, whether squares are wanted, theta
) -> tuple[_Doubles, _Doubles, _Doubles, _Doubles, _Doubles, _Doubles]: ...
