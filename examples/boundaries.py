"""Gaussian discriminant analysis beside logistic regression, on two course problem sets.

Where classes are Gaussian with one covariance, both find the same line, and the discriminant needs fewer rows. Where
they are not, it is misled, and logistic regression is not. Give the folder of the data (ds1_train.csv, ...) as first
argument; without it, rows are drawn that show the same. With matplotlib installed, a second one names a picture.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LogisticRegression

from suffice import GDA

Array = npt.NDArray[np.float64]
Rows = tuple[Array, Array]


def read(path: Path) -> Rows:
    """Return the features and classes in a file of columns x_1, x_2, y."""
    table = np.loadtxt(path, delimiter=",", skiprows=1)
    return table[:, :-1], table[:, -1]


def drawn(gaussian: bool, n: int, seed: int) -> Rows:
    """Return rows of two classes: Gaussian ones, or ones whose second feature is the exponential of a Gaussian's."""
    random = np.random.default_rng(seed)
    y = random.integers(0, 2, n).astype(float)
    x = random.multivariate_normal([2.0, 2.0], [[1.0, 0.5], [0.5, 1.0]], n) + 1.5 * y[:, None] * [1.0, -0.5]
    return (x if gaussian else np.c_[x[:, 0], np.exp(1.5 * x[:, 1])]), y


def data_sets(folder: Path | None) -> dict[str, tuple[Rows, Rows]]:
    """Return training and validation rows by name."""
    if folder is not None:
        parts = {name: [folder / f"{name}_{part}.csv" for part in ("train", "valid")] for name in ("ds1", "ds2")}
        return {name: (read(train), read(valid)) for name, (train, valid) in parts.items()}
    return {
        "skewed": (drawn(False, 800, 0), drawn(False, 100, 1)),
        "Gaussian": (drawn(True, 800, 0), drawn(True, 100, 1)),
    }


def line(theta: Array, intercept: float) -> str:
    """Return a boundary as an equation."""
    return f"x2 = {-intercept / theta[1]:+.3f} {-theta[0] / theta[1]:+.3f} x1"


def main(folder: Path | None, picture: Path | None) -> None:
    """Print boundaries and accuracies, and draw them if asked."""
    sets = data_sets(folder)
    models = {"GDA": GDA(), "logistic": LogisticRegression(C=np.inf, max_iter=10_000)}
    print(f"{'data':<10} {'model':<10} {'train':>7} {'valid':>7}   boundary")
    for name, (train, valid) in sets.items():
        for label, model in models.items():
            model.fit(*train)
            boundary = line(model.coef_[0], model.intercept_[0])
            print(f"{name:<10} {label:<10} {model.score(*train):>7.1%} {model.score(*valid):>7.1%}   {boundary}")
    if picture is not None:
        draw(sets, models, picture)


def draw(sets: dict[str, tuple[Rows, Rows]], models: dict[str, GDA | LogisticRegression], picture: Path) -> None:
    """Draw the validation rows and both boundaries of each data set."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(sets), figsize=(5 * len(sets), 4.2), layout="constrained")
    for axis, (name, (train, (x, y))) in zip(axes, sets.items(), strict=True):
        for value, marker in ((0, "o"), (1, "^")):
            axis.scatter(*x[y == value].T, marker=marker, alpha=0.7, label=f"y = {value}")
        ends = np.array([x[:, 0].min(), x[:, 0].max()])
        for label, model in models.items():
            model.fit(*train)
            theta, intercept = model.coef_[0], model.intercept_[0]
            axis.plot(ends, -(intercept + theta[0] * ends) / theta[1], label=f"{label}, {model.score(x, y):.0%}")
        axis.set(title=name, xlabel="x1", ylabel="x2", ylim=(x[:, 1].min() - 0.5, x[:, 1].max() + 0.5))
        axis.legend()
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    arguments = [Path(argument) for argument in sys.argv[1:]]
    main(arguments[0] if arguments else None, arguments[1] if len(arguments) > 1 else None)
