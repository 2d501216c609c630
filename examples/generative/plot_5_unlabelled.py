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
from suffice.plots import DecisionBoundaryDisplay, SolverTraceDisplay

rng = np.random.default_rng(7)
centres = np.array([[-1.6, 0.0], [1.6, 0.6], [0.0, -2.4]])
y = np.repeat([0, 1, 2], 200)
x = centres[y] + rng.normal(size=(600, 2)) * [0.75, 0.6]
few = np.r_[0:3, 200:203, 400:403]
supervised = GDA("tied_diagonal").fit(x[few], y[few])
semi_supervised = GDA("tied_diagonal").fit(x[few], y[few], unlabelled=x)

figure, axes = plt.subplots(1, 2, figsize=(10.0, 4.4))
for axis, model in zip(axes, (supervised, semi_supervised), strict=True):
    DecisionBoundaryDisplay.from_estimator(model, x, y, ax=axis)
    axis.set_title(f"accuracy {model.score(x, y):.1%}", loc="left", pad=34)
plt.show()

# %%
# The log-likelihood never decreases.
SolverTraceDisplay.from_estimator(semi_supervised)
