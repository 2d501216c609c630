"""
Forgetting: a sliding window
============================

The class distributions drift. A model of all rows is soon out of date; a model that learns each day's rows and forgets
those of twenty days ago follows the drift. ``forget`` subtracts rows from the sum, so no row is read more than twice,
and the model is that of a fit to the window: the crosses are such fits.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA
from suffice.plots import FOREGROUND

rng = np.random.default_rng(0)


def day(number):
    """Return the rows of a day: the class means rotate once in 200 days."""
    y = rng.integers(0, 2, 60)
    centre = np.array([np.cos(np.pi * number / 100), np.sin(np.pi * number / 100)])
    return rng.normal(size=(60, 2)) + (2 * y - 1)[:, None] * centre, y


days = [day(number) for number in range(200)]
everything, window = GDA(), GDA()
scores = {"all days so far": [], "the last 20 days": []}
refits, gaps = {}, []
for number, (x, y) in enumerate(days):
    if number >= 20:  # score a day before learning it
        scores["all days so far"].append(everything.score(x, y))
        scores["the last 20 days"].append(window.score(x, y))
        if number % 20 == 0:
            fresh = GDA().fit(iter(days[number - 20 : number]))
            refits[number] = fresh.score(x, y)
            gaps.append(np.abs(fresh.means_ - window.means_).max())
    everything.partial_fit(x, y)
    window.partial_fit(x, y)
    if number >= 20:
        window.forget(*days[number - 20])
print(f"largest difference of a mean to its refit: {max(gaps):.0e}")
print(f"digits kept: {window.statistics_.digits_kept():.1f} of 15.9")

figure, axis = plt.subplots()
for name, share in scores.items():
    axis.plot(range(20, 200), share, linewidth=0.9, label=name)
axis.plot(
    list(refits),
    list(refits.values()),
    "x",
    color=FOREGROUND,
    label="refit to the last 20 days",
)
axis.set(xlabel="day", ylabel="accuracy on the next day", ylim=(0, 1))
axis.legend(loc="lower left")
plt.show()
