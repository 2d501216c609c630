from typing import Any

import numpy as np

from suffice.statistics import QuarticMoments

from . import EPSILON, Kind, Rows, close_moments, lawful, measurements


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    """Compare powers: each distance is off by some rounding of the rows, and so is what it is taken from."""
    assert one.labels == two.labels
    pairs = (one.weights, two.weights), (one.mean, two.mean), (one.spread, two.spread)
    close_moments(*pairs, rows.x, rows.weight, slack)
    width = np.linalg.norm(np.ptp(rows.x, axis=0)) if len(rows) else 0.0
    blur = 100 * EPSILON * slack * (np.abs(rows.x).max(initial=0.0) + width)
    for power, name in ((3, "cubes"), (4, "quartic")):
        rounding = (width + blur) ** power - width**power
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=0, atol=rows.weight.sum() * rounding)


lawful(Kind(QuarticMoments, QuarticMoments.over, measurements, close))
