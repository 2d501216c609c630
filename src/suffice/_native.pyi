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
        def murmur(self) -> npt.NDArray[np.int32]: ...
        def probes(self) -> int: ...
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

class mail:  # noqa: N801  (the submodule of messages and what is learned from them, which suffice.mail wraps)
    class Letters:
        def __init__(self, raw: list[bytes], threads: int) -> None: ...
        @staticmethod
        def unpacked(all: list[bytes]) -> mail.Letters: ...  # noqa: A002
        def __len__(self) -> int: ...
        def foreigners(self) -> list[int]: ...
        def foreign(self, i: int) -> list[tuple[str, bytes]]: ...
        def put(self, i: int, stretch: int, text: str) -> None: ...
        def pieces(self, i: int) -> list[tuple[str, str, str]]: ...
        def finish(self, threads: int) -> None: ...
        def tokens(self, i: int) -> list[str]: ...
        def grams(self, i: int) -> list[int]: ...
        def header_grams(self, i: int) -> int: ...
        def origins(self, i: int) -> list[str]: ...
        def trouble(self, i: int) -> list[tuple[str, str]]: ...
        def hashes(self, i: int) -> bytes: ...
        def packed(self, i: int) -> bytes: ...

    class State:
        now: float
        def __init__(self, classes: int) -> None: ...
        def __len__(self) -> int: ...
        def probes(self) -> int: ...
        @property
        def classes(self) -> int: ...
        @property
        def messages(self) -> list[float]: ...
        @property
        def mix(self) -> list[float]: ...
        def rate(self, name: str, value: float) -> None: ...
        def lay(self, below: list[mail.State]) -> None: ...
        def mix_as(self, other: mail.State) -> None: ...
        def columns(self) -> dict[str, bytes]: ...
        def put_columns(self, all: dict[str, bytes]) -> None: ...  # noqa: A002
        def fresh(self) -> bytes: ...
        def take_fresh(self) -> bytes: ...
        def known(self, names: bytes) -> bytes: ...
        def rows(self, names: bytes) -> list[str]: ...
        def gram_rows(self) -> list[str]: ...
        def take_rows(self, rows: list[str], grams: list[str], messages: list[float]) -> None: ...
        def merge(self, other: mail.State, places: list[int]) -> None: ...
        def scale(self, factor: float) -> None: ...
        def drop_unseen(self) -> int: ...
        def prune(self, most: int) -> int: ...
        def widen(self, classes: int) -> None: ...
        def scores(self, letters: mail.Letters, threads: int) -> list[float]: ...
        def score(self, letters: mail.Letters, i: int) -> list[tuple[float, float, float, float]]: ...
        def contributions(self, letters: mail.Letters, i: int, column: int) -> list[float]: ...
        def intercept(self, letters: mail.Letters, i: int, column: int) -> float: ...
        def lines(self, letters: mail.Letters, i: int, raw: bytes, column: int) -> list[tuple[str, float]]: ...
        def seen(self, letters: mail.Letters, i: int) -> list[float]: ...
        def learn(self, letters: mail.Letters, i: int, label: int, weight: float, day: int, steps: int) -> None: ...
        def learn_all(
            self, letters: mail.Letters, order: list[int], labels: list[int], weight: float, day: int
        ) -> list[float]: ...
        def forget(self, hashes: bytes, label: int, weight: float) -> None: ...

class rows:  # noqa: N801  (the submodule of hashes of a table's rows, which suffice.tables.row_sample wraps)
    class RowKeys:
        def __init__(self, seed: int, most: int) -> None: ...
        def keys(self, hashes: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...

    @staticmethod
    def add_numbers(hashes: npt.NDArray[np.uint64], cells: _Doubles, factor: int, loose: int) -> None: ...
    @staticmethod
    def mixed(numbers: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]: ...
    @staticmethod
    def pack_numbers(cells: _Doubles) -> tuple[npt.NDArray[Any], float]: ...
    @staticmethod
    def unpack_numbers(cells: npt.NDArray[Any], unit: float) -> _Doubles: ...
    @staticmethod
    def write_dense(
        matrix: _Doubles,
        numbers: list[tuple[npt.NDArray[Any], float, int, float, float, list[float], bool]],
        levels: list[tuple[npt.NDArray[Any], int, list[int]]],
    ) -> None: ...
    @staticmethod
    def write_sparse(
        data: _Doubles,
        indices: npt.NDArray[np.int32],
        first: npt.NDArray[np.int32],
        numbers: list[tuple[npt.NDArray[Any], float, int, float, float, list[float], bool]],
        levels: list[tuple[npt.NDArray[Any], int, list[int]]],
    ) -> None: ...

def check_csr(indices: npt.NDArray[Any], indptr: npt.NDArray[Any], columns: int, stored: int) -> None: ...
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
    power: float,
    slope_share: float,
    target: _Doubles | None,
    offset: _Doubles | None,
    theta: _Doubles,
    intercept: bool,
    hessian: bool,
) -> tuple[_Doubles, _Doubles, _Doubles, bool]: ...
def descend(
    x: Any,
    y: _Codes | None,
    weight: _Doubles | None,
    begin: int,
    end: int,
    family: int,
    power: float,
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
def scaled_cholesky(a: _Doubles, least: float) -> tuple[_Doubles, _Doubles, float]: ...
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

class additive:  # noqa: N801  (the submodule of additive models, which suffice.additive wraps)
    class Terms:
        def __init__(self, rows: int, columns: list[Any], shapes: list[Any]) -> None: ...

    @staticmethod
    def step(
        rows: Any,
        terms: additive.Terms,
        begin: int,
        end: int,
        moved: int,
        change: Any,
        following: int,
        gradient: Any,
        curvature: Any,
    ) -> None: ...
    @staticmethod
    def gradient(rows: Any, gradient: _Doubles, curvature: _Doubles) -> None: ...
    @staticmethod
    def loss(rows: Any, begin: int, end: int) -> float: ...
    @staticmethod
    def gains(
        pairs: additive.Terms,
        gradient: _Doubles,
        curvature: _Doubles,
        begin: int,
        end: int,
        ridge: float,
        gains: _Doubles,
    ) -> None: ...
    @staticmethod
    def smooth(
        terms: additive.Terms,
        term: int,
        gradient: _Doubles,
        curvature: _Doubles,
        penalty: _Doubles,
        bounded: bool,
        values: _Doubles,
        change: _Doubles,
        variance: Any,
        freedom: Any,
        roughness: Any,
    ) -> None: ...
    @staticmethod
    def cycle(
        rows: Any,
        terms: additive.Terms,
        penalty: _Doubles,
        bounded: bool,
        values: _Doubles,
        change: _Doubles,
        variance: Any,
        freedom: Any,
        roughness: Any,
    ) -> None: ...
