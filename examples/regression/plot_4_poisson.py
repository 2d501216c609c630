"""
Linear and Poisson regression of counts
=======================================

How many customers come in an hour? A linear regression can predict negative counts and assumes equal variance. A
Poisson regression, with a log-rate linear in x, has a positive mean and a variance that grows with it.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import poisson

from suffice import LinearRegression, PoissonRegression

rng = np.random.default_rng(2)
temperature = rng.uniform(-5.0, 30.0, 150)
customers = rng.poisson(np.exp(-0.5 + 0.11 * temperature))
at = np.linspace(-5.0, 30.0, 300)[:, None]

# %%
# Linear regression: the prediction interval. Poisson regression: quantiles of the predicted distribution.
line, low, high = LinearRegression().fit(temperature[:, None], customers).predict(at, interval=0.9)
model = PoissonRegression().fit(temperature[:, None], customers)
rate = model.predict(at)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), sharey=True)
bands = {"linear regression": (line, low, high), "Poisson regression": (rate, *poisson.ppf([[0.05], [0.95]], rate))}
for axis, (name, (mean, lower, upper)) in zip(axes, bands.items(), strict=True):
    axis.fill_between(at[:, 0], lower, upper, alpha=0.2, label="90 % of hours")
    axis.plot(at, mean)
    axis.plot(temperature, customers, "k.", markersize=4)
    axis.axhline(0.0, color="0.7", linewidth=0.8)
    axis.set(title=name, xlabel="temperature, °C")
axes[0].set(ylabel="customers in an hour")
axes[0].legend(loc="upper left")
plt.show()
