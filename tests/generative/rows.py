"""Models, and rows that each of them can learn from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice import GDA, BernoulliNB, CategoricalNB, ComplementNB, FamilyNB, GaussianNB, MultinomialNB, PoissonNB
from suffice.families import NegativeBinomial

Array = npt.NDArray[Any]


def measurements(random: np.random.Generator, y: Array) -> Array:
    """Return correlated numbers about a mean per class, far from zero."""
    mixing = np.array([[1.0, 0.3, 0.0], [0.0, 1.0, 0.5], [0.2, 0.0, 2.0]])
    return random.normal(size=(len(y), 3)) @ mixing + y[:, None] * [1.0, -0.5, 2.0] + [100.0, 0.0, -3.0]


def counts(random: np.random.Generator, y: Array) -> Array:
    """Return word counts whose rates depend on the class."""
    rates = np.array([[3.0, 1.0, 0.2, 0.5], [0.5, 2.0, 1.0, 0.5], [1.0, 0.1, 3.0, 0.5]])
    return random.poisson(rates[y])


def names(random: np.random.Generator, y: Array) -> Array:
    """Return categories, some of which lean to a class."""
    colours = np.array(["red", "green", "blue", "grey"], dtype=object)
    sizes = np.array(["s", "m", "l"], dtype=object)
    return np.stack([colours[(y + random.integers(0, 2, len(y))) % 4], sizes[random.integers(0, 3, len(y))]], axis=1)


@dataclass(frozen=True)
class Case:
    """A model in one of its settings, and the rows to try it on."""

    name: str
    make: Callable[[], Any]
    rows: Callable[[np.random.Generator, Array], Array]
    exact: bool = False  # sums are whole numbers: splits and orders change nothing at all
    forgets: bool = True

    def __str__(self) -> str:
        return self.name

    def draw(self, n: int, seed: int = 0, classes: int = 3) -> tuple[Array, Array]:
        """Return n rows and their classes, of which every class has some."""
        random = np.random.default_rng(seed)
        y = np.concatenate([np.repeat(np.arange(classes), 6), random.integers(0, classes, max(0, n - 6 * classes))])
        y = random.permutation(y)
        return self.rows(random, y), y


CASES = [
    Case("GaussianNB", GaussianNB, measurements),
    Case("GaussianNB smoothed", lambda: GaussianNB(alpha=2.0, var_smoothing=0.1), measurements),
    Case("MultinomialNB", MultinomialNB, counts, exact=True),
    Case("ComplementNB", ComplementNB, counts, exact=True),
    Case("BernoulliNB", lambda: BernoulliNB(binarize=1.0), counts, exact=True),
    Case("PoissonNB", PoissonNB, counts, exact=True),
    Case("FamilyNB", lambda: FamilyNB(NegativeBinomial(theta=2)), counts),
    Case("CategoricalNB", CategoricalNB, names, exact=True),
    Case("CategoricalNB codes", CategoricalNB, counts, exact=True),
    *(
        Case(f"GDA {kind}", lambda kind=kind: GDA(kind), measurements)
        for kind in ("tied", "full", "diagonal", "tied_diagonal", "spherical", "tied_spherical")
    ),
    Case("GDA shrunk", lambda: GDA("full", shrinkage=0.3), measurements),
    Case("GDA oas", lambda: GDA("full", shrinkage="oas"), measurements),
    Case("GDA auto", lambda: GDA("tied", shrinkage="auto"), measurements, forgets=False),
    Case("GDA full auto", lambda: GDA("full", shrinkage="auto"), measurements, forgets=False),
]
