"""Cost of a sum, by which rows are split into parts."""

from __future__ import annotations

import numpy as np

from suffice.kernels import Batch
from tests.laws.kinds.toy import WeightedTotal


def test_a_statistic_that_says_nothing_costs_its_features() -> None:
    rows = Batch(np.zeros((7, 3)))
    assert tuple(WeightedTotal.cost_of(rows)) == (rows.size, 3)
