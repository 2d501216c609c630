"""
Merging models: ``north + south``
=================================

Two models are fitted to different rows, here to rows with different classes. ``north + south`` adds their sums and is
the model of all rows: it has the classes, the means and the covariance that a fit to both tables gives.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA
from suffice.plots import ClassConditionalsDisplay

rng = np.random.default_rng(0)
centres = {"adelie": [190.0, 39.0], "chinstrap": [196.0, 49.0], "gentoo": [217.0, 47.5]}


def penguins(species, n):
    """Return flipper and bill lengths in millimetres, and the species."""
    y = rng.choice(species, n)
    return np.array([centres[name] for name in y]) + rng.normal(size=(n, 2)) * [
        6.0,
        2.5,
    ], y


X_north, y_north = penguins(["adelie", "chinstrap"], 150)
X_south, y_south = penguins(["adelie", "chinstrap", "gentoo"], 150)
north, south = GDA().fit(X_north, y_north), GDA().fit(X_south, y_south)
both = north + south
X, y = np.r_[X_north, X_south], np.r_[y_north, y_south]
all_rows = GDA().fit(X, y)
gap = np.abs(both.means_ - all_rows.means_).max()
print(f"largest difference to the fit of all rows: {gap:.0e}")

# %%
# Each panel shows the rows, and the ellipses at one and two standard deviations of each class.
panels = {
    "north": (north, X_north, y_north),
    "south": (south, X_south, y_south),
    "north + south": (both, X, y),
}
figure, axes = plt.subplots(1, 3, figsize=(11.0, 4.0), sharex=True, sharey=True)
for axis, (title, (model, rows, labels)) in zip(axes, panels.items(), strict=True):
    ClassConditionalsDisplay.from_estimator(
        model, rows, labels, features=[0, 1], ax=axis
    )
    axis.set_title(f"{title}: {len(labels)} rows", loc="left", pad=50)
    axis.set(
        xlim=(165.0, 238.0), ylim=(30.0, 58.0), xlabel="flipper, mm", ylabel="bill, mm"
    )
plt.show()
