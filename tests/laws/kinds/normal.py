from typing import Any

import numpy as np

from suffice.statistics import NormalEquations

from . import Kind, Rows, close_moments, lawful, measurements


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    pairs = (one.weight, two.weight), (one.mean, two.mean), (one.scatter, two.scatter)
    close_moments(*pairs, np.column_stack([rows.x, rows.y]), rows.weight, slack)


lawful(Kind(NormalEquations, lambda labels: NormalEquations.over(), measurements, close, targets=True))
