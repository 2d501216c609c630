"""
Calibration by temperature
==========================

Naive Bayes assumes independent features. If they are dependent, it counts the same evidence several times and is
overconfident. Dividing all log-odds by one temperature, chosen on held-out rows, changes no decision and calibrates the
probabilities. On the diagonal, 80 % of the rows with a probability of 80 % are of the class.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GaussianNB

rng = np.random.default_rng(0)


def rows(n):
    """Return rows whose twelve features are four, each measured three times."""
    y = rng.integers(0, 2, n)
    core = rng.normal(size=(n, 4)) + 0.55 * y[:, None]
    return np.repeat(core, 3, axis=1) + 0.3 * rng.normal(size=(n, 12)), y


x, y = rows(20_000)
edges = np.linspace(0.0, 1.0, 13)
figure, axis = plt.subplots(figsize=(5.2, 5.0))
axis.plot([0, 1], [0, 1], color="0.7", linewidth=0.8)
for temperature in (1.0, "auto"):
    model = GaussianNB(temperature=temperature).fit(*rows(1000))
    share = model.predict_proba(x)[:, 1]
    place = np.digitize(share, edges[1:-1])
    predicted, observed = (np.bincount(place, weights) / np.bincount(place) for weights in (share, y))
    loss = -np.log(np.where(y == 1, share, 1 - share)).mean()
    axis.plot(predicted, observed, "o-", label=f"temperature {temperature}: log loss {loss:.2f}")
axis.set(xlabel="predicted probability of class 1", ylabel="observed share of class 1", aspect="equal")
axis.legend(loc="upper left")
plt.show()
