"""
Decision regions of softmax regression
======================================

With K classes each has its own θ, and ``P(y = k | x)`` is the softmax of the scores. The boundary between two classes
is a line, where their scores are equal. The stronger the colour, the larger the margin over the next class.
"""

import matplotlib.pyplot as plt
import numpy as np

from suffice import SoftmaxRegression
from suffice.plots import DecisionBoundaryDisplay

rng = np.random.default_rng(5)
centres = np.array([[-2.0, -1.0], [2.0, -1.2], [0.2, 2.0], [0.0, -0.2]])
y = rng.integers(0, 4, 500)
x = rng.normal(size=(500, 2)) * 0.75 + centres[y]
model = SoftmaxRegression().fit(x, y)
print(f"{model.score(x, y):.0%} of the rows are in the region of their class")

figure, axis = plt.subplots(figsize=(6.4, 5.0))
DecisionBoundaryDisplay.from_estimator(model, x, y, ax=axis)
plt.show()
