"""
Perceptron and logistic regression
==================================

Both have the update ``θ := θ + α (y − h(x)) x``. With a step function ``h``, the perceptron stops at any line that
separates the rows: which one depends on the order of the rows. With the logistic function ``h`` there is one solution,
with probabilities.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LogisticRegression, Perceptron

rng = np.random.default_rng(3)
x = rng.normal(size=(400, 2)) * [1.5, 1.0]
distance = x @ [0.6, 0.8]
x, distance = x[np.abs(distance) > 0.25], distance[np.abs(distance) > 0.25]  # a margin: the perceptron converges
y = (distance > 0).astype(int)
ends = np.array([-4.5, 4.5])


def boundary(model):
    """Return the second feature on the boundary at both ends."""
    return -(model.intercept_[0] + model.coef_[0, 0] * ends) / model.coef_[0, 1]


figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharex=True, sharey=True)
for seed in range(8):
    axes[0].plot(ends, boundary(Perceptron(tol=None, random_state=seed).fit(x, y)), color="tab:purple", linewidth=0.9)
axes[0].set_title("perceptron, 8 orders of the rows")

# The likelihood of separable rows has no maximum; with a ridge penalty it has one.
logistic = LogisticRegression(C=1.0).fit(x, y)
grid = np.stack(np.meshgrid(np.linspace(*ends, 120), np.linspace(-3.2, 3.2, 90)), axis=-1)
share = logistic.predict_proba(grid.reshape(-1, 2))[:, 1].reshape(grid.shape[:2])
shades = axes[1].contourf(grid[..., 0], grid[..., 1], share, levels=np.linspace(0, 1, 11), cmap="RdBu_r", alpha=0.6)
axes[1].plot(ends, boundary(logistic), "k")
axes[1].set_title("logistic regression: P(y = 1 | x)")
figure.colorbar(shades)
for axis in axes:
    for value, colour in ((0, "tab:blue"), (1, "tab:red")):
        axis.plot(*x[y == value].T, ".", color=colour, markersize=4)
    axis.set(xlabel="x₁", ylim=(-3.2, 3.2))
axes[0].set_ylabel("x₂")
plt.show()
