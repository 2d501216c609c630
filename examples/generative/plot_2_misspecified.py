"""
GDA on Gaussian and on skewed classes
=====================================

GDA assumes Gaussian classes; logistic regression does not. On Gaussian classes (left) both find the same boundary. On
skewed classes (right) the model is misspecified, and the boundary of GDA is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA, LogisticRegression


def rows(gaussian, n, seed):
    """Return two classes: Gaussian, or with the exponential of a Gaussian as second feature."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    x = random.multivariate_normal([2.0, 2.0], [[1.0, 0.5], [0.5, 1.0]], n) + 1.5 * y[:, None] * [1.0, -0.5]
    return (x if gaussian else np.c_[x[:, 0], np.exp(1.5 * x[:, 1])]), y


figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4))
for axis, gaussian in zip(axes, (True, False), strict=True):
    x, y = rows(gaussian, 5000, 1)
    for value, colour in ((0, "tab:blue"), (1, "tab:red")):
        axis.plot(*x[:300][y[:300] == value].T, ".", color=colour, markersize=4, alpha=0.6)
    ends = np.array([x[:300, 0].min(), x[:300, 0].max()])
    for model, style in ((GDA(), "k-"), (LogisticRegression(), "k--")):
        model.fit(*rows(gaussian, 800, 0))
        slope, height = -model.coef_[0] / model.coef_[0, 1], -model.intercept_[0] / model.coef_[0, 1]
        label = f"{type(model).__name__}, error {1 - model.score(x, y):.1%}"
        axis.plot(ends, height + slope[0] * ends, style, label=label)
    axis.set(title="Gaussian classes" if gaussian else "skewed classes", xlabel="x₁")
    axis.set_ylim(x[:300, 1].min() - 0.5, np.quantile(x[:, 1], 0.97))
    axis.legend(frameon=True)
axes[0].set_ylabel("x₂")
plt.show()
