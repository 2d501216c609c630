"""
Learning curves of naive Bayes and logistic regression
======================================================

Naive Bayes and logistic regression have the same kind of decision boundary. Naive Bayes assumes independent features,
which is wrong here. It still reaches its asymptotic error with few rows, since it has few parameters; logistic
regression needs more rows and has the lower asymptotic error (Ng and Jordan, 2002). The page on papers repeats their
comparison on real tables; the guide has the curves of GDA, which needs fewer rows where its assumption holds.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

from suffice import GDA, LogisticRegression

rng = np.random.default_rng(0)
features, sizes = 30, [32, 40, 60, 100, 180, 320, 640, 1600]
shift = rng.uniform(0.1, 0.6, features)


def rows(n):
    """Return rows of two classes, whose features are correlated within a class."""
    y = np.arange(n) % 2
    noise = rng.normal(size=(n, features)) + 0.35 * rng.normal(
        size=(n, 1)
    )  # shared by all features of a row
    return noise + y[:, None] * shift, y


x_test, y_test = rows(4000)
models = {
    "naive Bayes (Gaussian)": GDA("tied_diagonal"),
    "logistic regression": LogisticRegression(C=100.0, inference=False),
}
errors = {name: np.empty((len(sizes), 12)) for name in models}
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # few rows are separable
    for place, n in enumerate(sizes):
        for trial in range(12):
            x, y = rows(n)
            for name, model in models.items():
                errors[name][place, trial] = 1 - model.fit(x, y).score(x_test, y_test)

figure, axis = plt.subplots()
for name, error in errors.items():
    mean, spread = error.mean(axis=1), error.std(axis=1) / np.sqrt(error.shape[1])
    axis.plot(sizes, mean, "o-", markersize=4, label=name)
    axis.fill_between(sizes, mean - 2 * spread, mean + 2 * spread, alpha=0.15)
axis.set(
    xscale="log",
    xlabel="training rows",
    ylabel="test error, mean of 12 draws",
    xticks=sizes,
    xticklabels=sizes,
)
axis.minorticks_off()
axis.legend()
plt.show()
