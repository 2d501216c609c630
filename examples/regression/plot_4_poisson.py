"""
Linear and Poisson regression of counts
=======================================

How many customers come in an hour? A linear regression can predict negative counts and assumes equal variance. A
Poisson regression, with a log-rate linear in x, has a positive mean and a variance that grows with it.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression, PoissonRegressor
from suffice.plots import FOREGROUND

rng = np.random.default_rng(2)
temperature = rng.uniform(-5.0, 30.0, 150)
customers = rng.poisson(np.exp(-0.5 + 0.11 * temperature))
at = np.linspace(-5.0, 30.0, 300)[:, None]

# %%
# The intervals of new observations: Student's about the line; quantiles of the predicted Poisson distributions.
models = {
    "linear regression": LinearRegression(),
    "Poisson regression": PoissonRegressor(),
}

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(temperature[:, None], customers)
    lower, upper = model.predict_interval(at, 0.9, of="observation")
    axis.fill_between(at[:, 0], lower, upper, alpha=0.2, label="90 % of hours")
    axis.plot(at, model.predict(at))
    axis.plot(temperature, customers, ".", color=FOREGROUND, markersize=4)
    axis.axhline(0.0, color=FOREGROUND, linewidth=0.8)
    axis.set(title=name, xlabel="temperature, °C")
axes[0].set(ylabel="customers in an hour")
axes[0].legend(loc="upper left")
plt.show()
