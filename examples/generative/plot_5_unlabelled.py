"""
Unlabelled rows and expectation maximisation
============================================

A generative model has a density p(x), so unlabelled rows are evidence, too. Expectation maximisation (EM) weights each
of them by its class probabilities and fits again. Left: a fit to three labelled rows of each class. Right: a fit to
these and 600 unlabelled rows.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA

rng = np.random.default_rng(7)
centres = np.array([[-1.6, 0.0], [1.6, 0.6], [0.0, -2.4]])
y = np.repeat([0, 1, 2], 200)
x = centres[y] + rng.normal(size=(600, 2)) * [0.75, 0.6]
few = np.r_[0:3, 200:203, 400:403]
supervised = GDA("tied_diagonal").fit(x[few], y[few])
semi_supervised = GDA("tied_diagonal").fit(x[few], y[few], unlabelled=x)

colours = np.array(["tab:blue", "tab:orange", "tab:green"])
grid = np.stack(np.meshgrid(np.linspace(-4.0, 4.0, 250), np.linspace(-4.5, 2.8, 250)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.8), width_ratios=[3, 3, 2])
for axis, model in zip(axes, (supervised, semi_supervised), strict=False):
    axis.plot(*x.T, ".", color="0.75", markersize=3)
    regions = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.2)
    axis.scatter(*x[few].T, c=colours[y[few]], s=50, edgecolors="k", zorder=3)
    axis.scatter(*model.means_.T, c=colours, marker="X", s=110, edgecolors="k", zorder=3)
    axis.set(title=f"accuracy {model.score(x, y):.1%}", xlabel="x₁")
axes[0].set_ylabel("x₂")
axes[2].plot(semi_supervised.em_trace_, ".-")
axes[2].set(xlabel="step of EM", ylabel="log-likelihood", title="it never decreases")
plt.show()
