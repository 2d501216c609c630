"""
Rows without a class
====================

Labels are dear, rows are cheap. A generative model knows p(x), so rows without a class teach it, too: expectation
maximisation shares each of them out among the classes, as far as it belongs to them, and fits again. Left, what three
labelled rows a class say; right, what 600 rows without a label add.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA

rng = np.random.default_rng(7)
centres = np.array([[-1.6, 0.0], [1.6, 0.6], [0.0, -2.4]])
y = np.repeat([0, 1, 2], 200)
x = centres[y] + rng.normal(size=(600, 2)) * [0.75, 0.6]
few = np.r_[0:3, 200:203, 400:403]
alone = GDA("tied_diagonal").fit(x[few], y[few])
helped = GDA("tied_diagonal").fit(x[few], y[few], unlabelled=x)

colours = np.array(["tab:blue", "tab:orange", "tab:green"])
grid = np.stack(np.meshgrid(np.linspace(-4.0, 4.0, 250), np.linspace(-4.5, 2.8, 250)), axis=-1)
figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.8), width_ratios=[3, 3, 2])
for axis, model in zip(axes, (alone, helped), strict=False):
    axis.plot(*x.T, ".", color="0.75", markersize=3)
    regions = model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], regions, levels=[-0.5, 0.5, 1.5, 2.5], colors=colours, alpha=0.2)
    axis.scatter(*x[few].T, c=colours[y[few]], s=50, edgecolors="k", zorder=3)
    axis.scatter(*model.means_.T, c=colours, marker="X", s=110, edgecolors="k", zorder=3)
    axis.set(title=f"{model.score(x, y):.1%} right", xlabel="x₁")
axes[0].set_ylabel("x₂")
axes[2].plot(helped.em_trace_, ".-")
axes[2].set(xlabel="step of EM", ylabel="log-likelihood", title="it never falls")
plt.show()
