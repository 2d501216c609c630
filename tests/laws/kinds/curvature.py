from typing import Any

import numpy as np

from suffice.families import Response
from suffice.statistics import Curvature

from . import EPSILON, Kind, Rows, lawful, whole_numbers

THETA = np.array([[0.5], [-0.25], [0.125], [0.0625]])


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    assert np.array_equal(one.theta, two.theta)
    size = 1e3 * (rows.weight.sum() + 1)
    for name in ("weight", "value", "gradient", "hessian"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=0, atol=100 * EPSILON * slack * size)


lawful(
    Kind(Curvature, lambda labels: Curvature.over(Response.of("poisson"), THETA), whole_numbers, close, targets=True)
)
