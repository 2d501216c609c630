"""
GDA with a shared covariance and with class covariances
=======================================================

Gaussian discriminant analysis models each class by a Gaussian. With one covariance for all classes (linear discriminant
analysis) the decision boundary is a line. With a covariance for each class (quadratic discriminant analysis) it is a
conic, and there are more parameters. Dashed: the boundary of logistic regression, fitted to the same rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA
from suffice.plots import DiscriminantDisplay

rng = np.random.default_rng(0)
x = np.r_[
    rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], 150),
    rng.multivariate_normal([2.2, 0.3], [[0.3, -0.2], [-0.2, 0.9]], 150),
]
y = np.repeat(["a", "b"], 150)

figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.6))
for axis, kind in zip(axes, ("tied", "full"), strict=True):
    model = GDA(kind).fit(x, y)
    DiscriminantDisplay.from_estimator(model, x, y, ax=axis)
    axis.set_title(
        f'GDA("{kind}"): accuracy {model.score(x, y):.1%}', loc="left", pad=48
    )
plt.show()
