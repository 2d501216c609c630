"""
Smoothing path from one pass
============================

The counts are stored without Laplace smoothing. The documents of each fold are counted once, the counts of the other
folds are added, and every alpha is another estimate from them: forty settings need one pass. ``alpha="auto"`` does
this search.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import MultinomialNB
from suffice.plots import FOREGROUND, PALETTE
from suffice.selection import cross_validate

rng = np.random.default_rng(0)
words = 3000
vocabularies = rng.dirichlet(np.full(words, 0.05), 5)
y = rng.integers(0, 5, 400)
x = np.stack(
    [
        rng.multinomial(30, 0.2 * vocabularies[k] + 0.8 * vocabularies.mean(axis=0))
        for k in y
    ]
)

alphas = np.logspace(-3, 2, 40)
loss = cross_validate(
    MultinomialNB(), x, y, grid={"alpha": alphas}, scoring="neg_log_loss"
)
hits = cross_validate(MultinomialNB(), x, y, grid={"alpha": alphas})

figure, left = plt.subplots()
left.plot(alphas, -loss.mean, color=PALETTE[1])
left.axvline(
    loss.best["alpha"],
    color=FOREGROUND,
    linestyle="--",
    label=f"minimum: alpha = {loss.best['alpha']:.2g}",
)
left.axvline(1.0, color=FOREGROUND, linestyle=":", label="Laplace: alpha = 1")
left.set(xscale="log", xlabel="alpha", ylim=(0, None))
left.set_ylabel("log loss on held-out documents", color=PALETTE[1])
left.legend(loc="lower left")
right = left.twinx()
right.plot(alphas, hits.mean, color=PALETTE[0])
right.set_ylabel("accuracy", color=PALETTE[0])
right.spines["right"].set_visible(True)
plt.show()
