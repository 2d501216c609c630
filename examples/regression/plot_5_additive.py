"""
Additive model with a pair of columns
=====================================

How many bicycles are hired in an hour? The effects of hour and temperature are curves, and the hours of a working day
are not those of a weekend: the model needs the pair. ``AdditiveRegressor`` finds it on held-out rows, and every term is
a picture.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from suffice import AdditiveRegressor
from suffice.plots import TermsDisplay

rng = np.random.default_rng(0)
n = 4000
table = pd.DataFrame(
    {
        "hour": rng.integers(0, 24, n),
        "temperature": rng.normal(14.0, 8.0, n).round(1),
        "day": rng.choice(["working day", "weekend"], n, p=[5 / 7, 2 / 7]),
        "humidity": rng.uniform(20.0, 100.0, n).round(),
    }
)
commuters = np.exp(-0.5 * (table["hour"] - 8) ** 2) + np.exp(
    -0.5 * ((table["hour"] - 18) / 1.5) ** 2
)
leisure = 0.8 * np.exp(-0.5 * ((table["hour"] - 14) / 4) ** 2)
working = table["day"] == "working day"
warmth = -((table["temperature"] - 24) ** 2) / 400
rate = np.exp(1.0 + 2.0 * np.where(working, commuters, leisure) + warmth)
hired = rng.poisson(rate)

# %%
# Pairs are kept if together they reduce the loss of held-out rows by more than its standard error.
model = AdditiveRegressor(family="poisson").fit(table, hired)
print(*[term.name for term in model.terms_], sep=", ")
print(model.solution_.reason)

# %%
# The pair shows what the hour adds on one kind of day beyond its mean over all days.
figure, axis = plt.subplots(figsize=(9.5, 6.2), layout="constrained")
TermsDisplay.from_estimator(model, n=4, ax=axis)
plt.show()
