"""
GDA on Gaussian and on skewed classes
=====================================

GDA assumes Gaussian classes; logistic regression does not. On Gaussian classes (left) both find the same boundary. On
skewed classes (right) the model is misspecified, and the boundary of GDA is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA, LogisticRegression
from suffice.plots import DiscriminantDisplay


def rows(gaussian, n, seed):
    """Return two classes: Gaussian, or with the exponential of one as second feature."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n)
    x = random.multivariate_normal([2.0, 2.0], [[1.0, 0.5], [0.5, 1.0]], n) + 1.5 * y[
        :, None
    ] * [1.0, -0.5]
    return (x if gaussian else np.c_[x[:, 0], np.exp(1.5 * x[:, 1])]), y


figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.6))
for axis, gaussian in zip(axes, (True, False), strict=True):
    x, y = rows(gaussian, 800, 0)
    models = GDA().fit(x, y), LogisticRegression().fit(x, y)
    DiscriminantDisplay.from_estimator(
        models[0], x, y, beside=models[1], max_rows=300, ax=axis
    )
    errors = [1 - model.score(*rows(gaussian, 5000, 1)) for model in models]
    kind = "Gaussian" if gaussian else "skewed"
    axis.set_title(
        f"{kind} classes: error {errors[0]:.1%} and {errors[1]:.1%}", loc="left", pad=48
    )
    axis.set_ylim(x[:, 1].min() - 0.5, np.quantile(x[:, 1], 0.97))
plt.show()
