"""
Batch and stochastic gradient descent, and Newton's method
==========================================================

The LMS rule changes θ along the error of a row, ``θ := θ + α (y − θᵀx) x``. Batch gradient descent adds the errors of
all rows before each step, and its path is smooth. Stochastic gradient descent takes a step at every row: it is close to
the minimum after one pass, and then fluctuates about it. J is a parabola: Newton's method needs one step.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression
from suffice.plots import CostContoursDisplay
from suffice.solvers import BatchGradient, Newton, StochasticGradient

rng = np.random.default_rng(0)
x = rng.uniform(-1.0, 2.0, (60, 1))
y = 1.0 + 2.0 * x[:, 0] + rng.normal(0.0, 0.7, 60)
model = LinearRegression().fit(x, y)

# %%
# All solvers start at θ = 0. ``trace_steps`` keeps the θ of every row, not only of every epoch.
solvers = {
    "batch gradient": BatchGradient(step=0.4, max_iter=25),
    "stochastic gradient": StochasticGradient(
        step=0.12, epochs=2, average=False, trace_steps=True
    ),
    "Newton": Newton(),
}
figure, axis = plt.subplots(figsize=(7.0, 5.0))
display = CostContoursDisplay.from_estimator(model, x, y, solvers=solvers, ax=axis)
plt.show()

# %%
# The same step by step: ``animate().save("descent.gif")`` writes a file.
display.animate(max_frames=15)
