"""
Exponential families and links
==============================

A family is ``p(y; η) = b(y) exp(η y − a(η))``. The derivative of a is the mean of y, the second derivative its
variance. The link maps the mean to the linear predictor; its inverse is what a regression predicts.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import LogisticRegression
from suffice.plots import FamilyDisplay, LinkDisplay

figure, axis = plt.subplots(figsize=(8.0, 5.6))
FamilyDisplay.from_family("poisson", ax=axis)
plt.show()

# %%
# The variance of a coin is largest at η = 0, where its mean is one half.
FamilyDisplay.from_family("bernoulli")

# %%
# The logistic function, the inverse of the logit link, over the linear predictors of rows.
rng = np.random.default_rng(0)
x = rng.normal(size=(200, 3))
y = rng.random(200) < 1 / (1 + np.exp(-(0.5 + x @ [2.0, -1.0, 0.5])))
LinkDisplay.from_estimator(LogisticRegression().fit(x, y), x, y)
