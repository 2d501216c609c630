"""
Newton's method and gradient descent
====================================

Newton's method minimises a quadratic approximation of J in each step. Near the optimum the number of correct digits
doubles with every step; gradient descent reduces the distance by a constant factor. The value of stochastic gradient
descent is computed on each row before its step, so the curve includes the noise of the steps.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from suffice import LogisticRegression
from suffice.plots import NewtonTangentDisplay
from suffice.solvers import BatchGradient, Newton, StochasticGradient

rng = np.random.default_rng(0)
x = rng.normal(size=(2000, 3)) * [1.0, 2.0, 0.5]
y = rng.random(2000) < 1 / (1 + np.exp(-(0.3 + x @ [1.0, -1.0, 2.0])))
best = LogisticRegression(solver="newton", tol=1e-12).fit(x, y).solution_.value

solvers = {
    "Newton": Newton(),
    "batch gradient": BatchGradient(max_iter=60),
    "stochastic gradient": StochasticGradient(
        step=0.2, epochs=60, tol=0.0, random_state=0
    ),
}
figure, axis = plt.subplots()
for name, solver in solvers.items():
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore"
        )  # the gradient methods do not converge in 60 passes
        trace = LogisticRegression(solver=solver).fit(x, y).solution_.trace
    gap = [(step.value - best) / len(y) for step in trace]
    axis.plot([step.passes for step in trace], np.maximum(gap, 1e-16), ".-", label=name)
axis.set(
    yscale="log",
    xlabel="passes over the rows",
    ylabel="log-likelihood below the best, per row",
)
axis.legend()
plt.show()

# %%
# Of one parameter, each step of Newton's method is the zero of a tangent of J′.
one = LogisticRegression(fit_intercept=False).fit(x[:, :1], y)
NewtonTangentDisplay.from_estimator(one, x[:, :1], y, start=-1.0).animate(seconds=1.0)
