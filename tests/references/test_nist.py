"""The rows of NIST's linear regressions give their certified values, computed with 60 digits."""

from __future__ import annotations

import mpmath
import pytest

from tests.references.nist import STRD, Certified


@pytest.mark.parametrize("case", STRD, ids=lambda case: case.name)
def test_rows_give_the_certified_values(case: Certified) -> None:
    with mpmath.workdps(60):
        rows, targets = case.exact(mpmath.mpf)
        X, y = mpmath.matrix(rows), mpmath.matrix(targets)
        inverse = (X.T * X) ** -1
        theta = inverse * (X.T * y)
        away = y - X * theta
        variance = (away.T * away)[0] / (X.rows - X.cols)
        tiny = mpmath.mpf("1e-30")
        for k in range(X.cols):
            assert abs(theta[k] - case.coefficients[k]) <= 1e-14 * abs(case.coefficients[k])
            assert abs(mpmath.sqrt(variance * inverse[k, k]) - case.deviations[k]) <= 2e-14 * case.deviations[k] + tiny
        assert abs(mpmath.sqrt(abs(variance)) - case.residual_sd) <= 1e-14 * case.residual_sd + tiny
