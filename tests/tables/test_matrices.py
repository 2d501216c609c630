from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from suffice.tables.predictors.linear import stack_rows

RANDOM = np.random.default_rng(0)
PARTS = [(RANDOM.normal(size=(rows, 3)), RANDOM.normal(size=rows), RANDOM.random(rows)) for rows in (5, 1, 7)]


@pytest.mark.parametrize("memory", [0, 200, 1 << 20])
def test_rows_are_the_same_in_memory_and_in_a_file(memory: int) -> None:
    with stack_rows(iter(PARTS), memory) as (matrix, targets, weights):
        assert isinstance(matrix, np.memmap) == (memory < 13 * 3 * 8)
        np.testing.assert_array_equal(matrix, np.concatenate([rows for rows, _, _ in PARTS]))
        np.testing.assert_array_equal(targets, np.concatenate([some for _, some, _ in PARTS]))
        np.testing.assert_array_equal(weights, np.concatenate([each for _, _, each in PARTS]))


def test_sparse_rows_stay_sparse() -> None:
    with stack_rows((sparse.csr_array(rows), some, None) for rows, some, _ in PARTS) as (matrix, _, weights):
        assert weights is None
        assert sparse.issparse(matrix)
        np.testing.assert_array_equal(matrix.toarray(), np.concatenate([rows for rows, _, _ in PARTS]))
