"""
Locally weighted regression
===========================

Locally weighted regression fits a separate line at every query q, with weights ``exp(−|x − q|² / 2τ²)``. With a small
bandwidth τ the curve follows the noise; with a large one it is a straight line. ``"auto"`` minimises the leave-one-out
error.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression, LocallyWeightedRegression
from suffice.plots import FOREGROUND, PALETTE, LocalFitDisplay

rng = np.random.default_rng(1)
x = np.sort(rng.uniform(0.0, 6.0, 120))[:, None]
y = np.sin(x[:, 0] ** 1.4) + 0.3 * x[:, 0] + rng.normal(0.0, 0.25, 120)
at = np.linspace(0.0, 6.0, 400)[:, None]
best = LocallyWeightedRegression("auto").fit(x, y)

figure, (curves, errors) = plt.subplots(1, 2, figsize=(10.0, 4.2), width_ratios=[3, 2])
curves.plot(x, y, ".", color=FOREGROUND, alpha=0.6)
curves.plot(
    at,
    LinearRegression().fit(x, y).predict(at),
    "--",
    color=FOREGROUND,
    label="linear regression",
)
for bandwidth, colour in zip((0.05, best.bandwidth_, 1.0), PALETTE, strict=False):
    local = LocallyWeightedRegression(bandwidth).fit(x, y)
    curves.plot(at, local.predict(at), color=colour, label=f"τ = {bandwidth:.2f}")
curves.set(xlabel="x", ylabel="y")
curves.legend()

tried, error = best.leave_one_out_[best.leave_one_out_[:, 0].argsort()].T
errors.plot(tried, error, "o-", color=FOREGROUND, markersize=4)
errors.axvline(
    best.bandwidth_, color=PALETTE[1], label=f"chosen: {best.bandwidth_:.2f}"
)
errors.set(
    xscale="log",
    yscale="log",
    xlabel="bandwidth τ",
    ylabel="leave-one-out mean squared error",
)
errors.legend()
plt.show()

# %%
# The fit at a query: its line touches the curve there, and rows near the query have the largest weights. Each frame is
# another query.
LocalFitDisplay.from_estimator(best, np.linspace(0.5, 5.5, 11)).animate()
