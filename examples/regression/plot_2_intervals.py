"""
Two intervals about one line
============================

Read as a likelihood, ``y | x ~ N(θᵀx, σ²)``, least squares says how sure it is: of the line, which grows surer with
every row, and of a new target, which scatters about the line however many rows there were.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LinearRegression

rng = np.random.default_rng(4)
area = rng.uniform(40.0, 160.0, 25)
price = 60.0 + 2.2 * area + rng.normal(0.0, 35.0, 25)
model = LinearRegression().fit(area[:, None], price)

at = np.linspace(0.0, 220.0, 200)[:, None]
line, low, high = model.predict(at, interval=0.95)
_, mean_low, mean_high = model.predict(at, interval=0.95, of="mean")

figure, axis = plt.subplots()
axis.fill_between(at[:, 0], low, high, color="tab:blue", alpha=0.12, label="a new price, 95 %")
axis.fill_between(at[:, 0], mean_low, mean_high, color="tab:blue", alpha=0.3, label="the mean price, 95 %")
axis.plot(at, line, color="tab:blue")
axis.plot(area, price, "k.", label="25 houses")
axis.set(xlabel="living area, m²", ylabel="price, thousands", xlim=(0, 220))
axis.legend(loc="upper left")
plt.show()
