"""
Batch and stochastic gradient descent
=====================================

The LMS rule changes θ along the error of a row, ``θ := θ + α (y − θᵀx) x``. Batch gradient descent adds the errors of
all rows before each step, and its path is smooth. Stochastic gradient descent takes a step at every row: it is close to
the minimum after one pass, and then fluctuates about it, unless α decreases.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression

rng = np.random.default_rng(0)
x = np.c_[np.ones(60), rng.uniform(-1.0, 2.0, 60)]  # intercept and one feature
y = x @ [1.0, 2.0] + rng.normal(0.0, 0.7, 60)


def batch(step, passes):
    """Yield theta after each pass."""
    theta = np.zeros(2)
    for _ in range(passes + 1):
        yield theta
        theta = theta + step * (y - x @ theta) @ x / len(y)


def stochastic(step, passes):
    """Yield theta after each row."""
    theta = np.zeros(2)
    for row in np.tile(np.arange(len(y)), passes):
        yield theta
        theta = theta + step * (y[row] - x[row] @ theta) * x[row]


# %%
# The normal equations give the minimum of J(θ), half the sum of squared errors.
best = LinearRegression().fit(x[:, 1:], y).theta_.ravel()
grid = np.stack(np.meshgrid(np.linspace(-0.2, 2.0, 80), np.linspace(-0.2, 3.0, 80)), axis=-1)
cost = 0.5 * ((grid @ x.T - y) ** 2).sum(axis=-1)

figure, axes = plt.subplots(1, 2, figsize=(9.0, 4.2), sharex=True, sharey=True)
paths = {"batch, 25 passes": batch(0.4, 25), "stochastic, 3 passes": stochastic(0.12, 3)}
for axis, (name, path) in zip(axes, paths.items(), strict=True):
    axis.contour(grid[..., 0], grid[..., 1], np.log(cost), levels=12, cmap="Blues_r", linewidths=0.8)
    axis.plot(*np.array(list(path)).T, ".-", color="tab:orange", linewidth=1.0, markersize=4)
    axis.plot(*best, "k+", markersize=14, label="normal equations")
    axis.set(title=name, xlabel="θ₀")
axes[0].set(ylabel="θ₁")
axes[0].legend(loc="lower right")
plt.show()
