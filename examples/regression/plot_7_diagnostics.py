"""
Diagnostics of a linear regression
==================================

Residuals against fitted values show a mean that is not linear; quantiles show errors that are not normal; leverage and
Cook's distance show rows that determine the fit. Here one row is far from the others, and the errors are skewed.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression
from suffice.plots import DiagnosticsDisplay

rng = np.random.default_rng(3)
x = rng.normal(size=(120, 2))
x[0] = [5.0, 5.0]
y = 1.0 + x @ [2.0, -1.0] + rng.exponential(1.0, 120)

figure, axis = plt.subplots(figsize=(8.5, 6.5))
DiagnosticsDisplay.from_estimator(LinearRegression().fit(x, y), x, y, ax=axis)
plt.show()
