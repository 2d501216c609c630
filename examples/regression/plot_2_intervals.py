"""
Confidence and prediction intervals
===================================

With the likelihood ``y | x ~ N(θᵀx, σ²)`` least squares has two intervals: a confidence interval of the mean, which
narrows with every row, and a prediction interval of a new target, which includes the noise.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression
from suffice.plots import FOREGROUND, PALETTE

rng = np.random.default_rng(4)
area = rng.uniform(40.0, 160.0, 25)
price = 60.0 + 2.2 * area + rng.normal(0.0, 35.0, 25)
model = LinearRegression().fit(area[:, None], price)

at = np.linspace(0.0, 220.0, 200)[:, None]
line = model.predict(at)
low, high = model.predict_interval(at, of="observation")
mean_low, mean_high = model.predict_interval(at, of="mean")

figure, axis = plt.subplots()
axis.fill_between(
    at[:, 0], low, high, color=PALETTE[0], alpha=0.12, label="prediction interval, 95 %"
)
axis.fill_between(
    at[:, 0],
    mean_low,
    mean_high,
    color=PALETTE[0],
    alpha=0.3,
    label="confidence interval, 95 %",
)
axis.plot(at, line, color=PALETTE[0])
axis.plot(area, price, ".", color=FOREGROUND, label="25 houses")
axis.set(xlabel="living area, m²", ylabel="price, thousands", xlim=(0, 220))
axis.legend(loc="upper left")
plt.show()
