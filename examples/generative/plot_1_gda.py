"""
GDA with a shared covariance and with class covariances
=======================================================

Gaussian discriminant analysis models each class by a Gaussian. With one covariance for all classes (linear discriminant
analysis) the decision boundary is a line. With a covariance for each class (quadratic discriminant analysis) it is a
conic, and there are more parameters. The ellipses contain half and nine tenths of a class.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA

rng = np.random.default_rng(0)
x = np.r_[
    rng.multivariate_normal([0.0, 0.0], [[1.0, 0.7], [0.7, 1.0]], 150),
    rng.multivariate_normal([2.2, 0.3], [[0.3, -0.2], [-0.2, 0.9]], 150),
]
y = np.repeat(["a", "b"], 150)
angle = np.linspace(0.0, 2 * np.pi, 200)
circle = np.c_[np.cos(angle), np.sin(angle)]
grid = np.stack(np.meshgrid(np.linspace(-3.5, 5.0, 300), np.linspace(-3.5, 4.0, 300)), axis=-1)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.4), sharex=True, sharey=True)
for axis, kind in zip(axes, ("tied", "full"), strict=True):
    model = GDA(kind).fit(x, y)
    covariances = np.broadcast_to(model.covariance_, (2, 2, 2))  # shared, or one for each class
    for name, mean, covariance, colour in zip("ab", model.means_, covariances, ("tab:blue", "tab:red"), strict=True):
        axis.plot(*x[y == name].T, ".", color=colour, markersize=3, alpha=0.6)
        for share in (0.5, 0.9):
            radius = np.sqrt(-2 * np.log(1 - share))  # of a two-dimensional Gaussian
            axis.plot(*(mean + radius * circle @ np.linalg.cholesky(covariance).T).T, color=colour)
    odds = model.predict_log_proba(grid.reshape(-1, 2)) @ [-1.0, 1.0]
    axis.contour(grid[..., 0], grid[..., 1], odds.reshape(grid.shape[:2]), levels=[0.0], colors="k")
    axis.set(title=f'GDA("{kind}"): accuracy {model.score(x, y):.1%}', xlabel="x₁")
axes[0].set_ylabel("x₂")
plt.show()
