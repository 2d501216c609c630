"""
Merging models: ``north + south``
=================================

Two models are fitted to different rows, here to rows with different classes. ``north + south`` adds their sums and is
the model of all rows: it has the classes, the means and the covariance that a fit to both tables gives.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA

rng = np.random.default_rng(0)
centres = {"adelie": [190.0, 39.0], "chinstrap": [196.0, 49.0], "gentoo": [217.0, 47.5]}
colours = {"adelie": "tab:orange", "chinstrap": "tab:purple", "gentoo": "tab:green"}


def penguins(species, n):
    """Return flipper and bill lengths in millimetres, and the species."""
    y = rng.choice(species, n)
    return np.array([centres[name] for name in y]) + rng.normal(size=(n, 2)) * [6.0, 2.5], y


X_north, y_north = penguins(["adelie", "gentoo"], 150)
X_south, y_south = penguins(["adelie", "chinstrap"], 150)
north, south = GDA().fit(X_north, y_north), GDA().fit(X_south, y_south)
both = north + south
X, y = np.r_[X_north, X_south], np.r_[y_north, y_south]
all_rows = GDA().fit(X, y)
print(f"largest difference to the fit of all rows: {np.abs(both.means_ - all_rows.means_).max():.0e}")

# %%
# Each panel shows the rows, the decision regions, and the ellipse that holds nine tenths of each class.
grid = np.stack(np.meshgrid(np.linspace(165.0, 238.0, 300), np.linspace(30.0, 58.0, 300)), axis=-1)
angle = np.linspace(0.0, 2 * np.pi, 200)
circle = np.sqrt(-2 * np.log(0.1)) * np.c_[np.cos(angle), np.sin(angle)]
panels = {"north": (north, X_north, y_north), "south": (south, X_south, y_south), "north + south": (both, X, y)}
figure, axes = plt.subplots(1, 3, figsize=(11.0, 3.6), sharex=True, sharey=True)
for axis, (title, (model, rows, labels)) in zip(axes, panels.items(), strict=True):
    regions = np.searchsorted(model.classes_, model.predict(grid.reshape(-1, 2))).reshape(grid.shape[:2])
    levels = np.arange(len(model.classes_) + 1) - 0.5
    shades = [colours[name] for name in model.classes_]
    axis.contourf(grid[..., 0], grid[..., 1], regions, levels=levels, colors=shades, alpha=0.15)
    for name, mean in zip(model.classes_, model.means_, strict=True):
        axis.plot(*rows[labels == name].T, ".", color=colours[name], markersize=4, alpha=0.7, label=name)
        axis.plot(*(mean + circle @ np.linalg.cholesky(model.covariance_).T).T, color=colours[name])
    axis.set(title=f"{title}: {len(labels)} rows", xlabel="flipper, mm")
    axis.legend(loc="lower right", fontsize="small")
axes[0].set_ylabel("bill, mm")
plt.show()
