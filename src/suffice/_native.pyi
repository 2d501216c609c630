from typing import Any

import numpy as np
import numpy.typing as npt

_Doubles = npt.NDArray[np.float64]
_Codes = npt.NDArray[np.int64]

class OffenceError(ValueError): ...

def use(instruction_set: str | None = None) -> str: ...
def class_weights(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int
) -> _Doubles: ...
def event_counts(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int
) -> tuple[_Doubles, _Doubles]: ...
def presence_counts(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int, threshold: float
) -> tuple[_Doubles, _Doubles]: ...
def category_counts(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int, sizes: list[int]
) -> tuple[_Doubles, _Doubles]: ...
def diagonal_moments(
    x: Any, y: _Codes | None, weight: _Doubles | None, begin: int, end: int, classes: int
) -> tuple[_Doubles, _Doubles, _Doubles]: ...
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
def linear_scores(x: Any, begin: int, end: int, coef: _Doubles, intercept: _Doubles) -> _Doubles: ...
