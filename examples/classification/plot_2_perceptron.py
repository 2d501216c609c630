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
from suffice.plots import PALETTE, DecisionBoundaryDisplay

rng = np.random.default_rng(3)
x = rng.normal(size=(400, 2)) * [1.5, 1.0]
distance = x @ [0.6, 0.8]
x, distance = (
    x[np.abs(distance) > 0.25],
    distance[np.abs(distance) > 0.25],
)  # a margin: the perceptron converges
y = (distance > 0).astype(int)
ends = np.array([-4.5, 4.5])


def boundary(model):
    """Return the second feature on the boundary at both ends."""
    return -(model.intercept_[0] + model.coef_[0, 0] * ends) / model.coef_[0, 1]


figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4))
for seed in range(8):
    axes[0].plot(
        ends,
        boundary(Perceptron(tol=None, random_state=seed).fit(x, y)),
        color=PALETTE[3],
        linewidth=0.9,
    )
for value in (0, 1):
    axes[0].plot(*x[y == value].T, ".", color=PALETTE[value], markersize=4)
axes[0].set(
    title="perceptron, 8 orders of the rows", ylim=(-3.2, 3.2), xlabel="x0", ylabel="x1"
)

# The likelihood of separable rows has no maximum; with a ridge penalty it has one.
logistic = LogisticRegression(C=1.0).fit(x, y)
DecisionBoundaryDisplay.from_estimator(logistic, x, y, ax=axes[1])
plt.show()
