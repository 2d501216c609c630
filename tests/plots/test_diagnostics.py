"""The four panels of diagnostics."""

from __future__ import annotations

import numpy as np
import pytest

from suffice import GDA, LinearRegression, PoissonRegressor
from suffice.plots import DiagnosticsDisplay
from tests.plots.conftest import Rows


def rows() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x = random.normal(size=(80, 2))
    return x, random.poisson(np.exp(0.5 + x @ [0.5, -0.3])).astype(float)


@pytest.mark.parametrize("model", [LinearRegression(), PoissonRegressor()], ids=str)
def test_panels_show_residuals_and_influence(model: LinearRegression | PoissonRegressor) -> None:
    x, y = rows()
    model.fit(x, y)
    found = model.diagnostics(x, y)
    display = DiagnosticsDisplay.from_estimator(model, x, y)
    assert [ax.get_title(loc="left").split()[0] for ax in display.axes_] == ["Residuals", "Normal", "Scale", "Leverage"]
    points = [np.asarray(ax.collections[0].get_offsets()) for ax in display.axes_]
    np.testing.assert_allclose(points[0], np.c_[found.linear_predictor, found.deviance])
    np.testing.assert_allclose(points[3], np.c_[found.leverage, found.standardised_pearson])
    shown = found.standardised_deviance if isinstance(model, LinearRegression) else found.quantile
    np.testing.assert_allclose(np.sort(points[1][:, 1]), np.sort(shown))
    farthest = str(int(np.argmax(found.cooks_distance)))
    assert farthest in [text.get_text() for text in display.axes_[3].texts]


def test_contours_of_cooks_distance_are_where_it_is_so_large() -> None:
    x, y = rows()
    x[0], y[0] = [6.0, 6.0], 60.0
    model = LinearRegression().fit(x, y)
    found = model.diagnostics(x, y)
    lines = DiagnosticsDisplay(found).plot().axes_[3].get_lines()
    dashed = [line for line in lines if len(np.asarray(line.get_xdata())) > 25]
    assert len(dashed) == 4
    leverage, residual = np.asarray(dashed[0].get_xdata(), float), np.asarray(dashed[0].get_ydata(), float)
    np.testing.assert_allclose(residual**2 * leverage / (1 - leverage) / found.rank, 0.5)


def test_many_rows_are_sampled_with_the_farthest_among_them() -> None:
    x, y = rows()
    y[7] = 500.0
    display = DiagnosticsDisplay(LinearRegression().fit(x, y).diagnostics(x, y), max_rows=20).plot()
    points = np.asarray(display.axes_[0].collections[0].get_offsets())
    assert 20 <= len(points) <= 23
    assert points[:, 1].max() == pytest.approx(display.diagnostics.deviance[7])


def test_models_without_diagnostics_are_refused(two_classes: Rows) -> None:
    x, y = two_classes
    with pytest.raises(ValueError, match="GDA has no diagnostics: give a regression"):
        DiagnosticsDisplay.from_estimator(GDA().fit(x, y), x, y)
