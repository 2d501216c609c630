"""
Decision regions of softmax regression
======================================

With K classes each has its own θ, and ``P(y = k | x)`` is the softmax of the scores. The boundary between two classes
is a line, where their scores are equal. Colours are mixed by probability.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import SoftmaxRegression

rng = np.random.default_rng(5)
centres = np.array([[-2.0, -1.0], [2.0, -1.2], [0.2, 2.0], [0.0, -0.2]])
y = rng.integers(0, 4, 500)
x = rng.normal(size=(500, 2)) * 0.75 + centres[y]
model = SoftmaxRegression().fit(x, y)

colours = np.array([[0.12, 0.47, 0.71], [1.0, 0.5, 0.05], [0.17, 0.63, 0.17], [0.58, 0.4, 0.74]])
extent = (-4.5, 4.5, -4.0, 4.5)
grid = np.stack(np.meshgrid(np.linspace(*extent[:2], 240), np.linspace(*extent[2:], 220)), axis=-1)
share = model.predict_proba(grid.reshape(-1, 2)).reshape(*grid.shape[:2], 4)

figure, axis = plt.subplots(figsize=(6.4, 5.0))
axis.imshow(0.45 * share @ colours + 0.55, origin="lower", extent=extent, aspect="auto")
for k in range(4):  # class k minus the best other class: 0 on its boundary
    difference = share[..., k] - np.delete(share, k, axis=-1).max(axis=-1)
    axis.contour(grid[..., 0], grid[..., 1], difference, levels=[0.0], colors="k", linewidths=0.8)
axis.scatter(*x.T, c=colours[y], s=9)
axis.set(xlabel="x₁", ylabel="x₂", title=f"{model.score(x, y):.0%} of the rows in the region of their class")
plt.show()
