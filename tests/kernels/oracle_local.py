"""Expected results of the kernels of local fits, by loops over queries and rows."""

import itertools
import math
from typing import Any

import numpy as np

from suffice.kernels.engine import Batch

from .content_cache import cached_by_content

KERNELS = {
    "gaussian": lambda r: math.exp(-r * r / 2),
    "epanechnikov": lambda r: max(0.0, 1 - r * r),
    "tricube": lambda r: max(0.0, 1 - r**3) ** 3,
    "uniform": lambda r: float(r <= 1),
}


def design(u: list[float], degree: int) -> np.ndarray:
    linear = u if degree > 0 else []
    products = [one * two for one, two in itertools.combinations_with_replacement(u, 2)] if degree == 2 else []
    return np.array([1.0, *linear, *products])


def around(queries: Batch, rows: Batch, kernel: str, bandwidth: float, degree: int) -> Any:
    """Yield, for each query, its nearest row, the shift to it, and weight, kernel, design and row of all rows."""
    for place in range(queries.start, queries.stop):
        q = queries.x[place].astype(float)
        weight = {row: 1.0 if rows.weight is None else float(rows.weight[row]) for row in range(rows.start, rows.stop)}
        if queries.y is not None:
            weight[int(queries.y[place])] = 0.0
        present = [row for row, its in weight.items() if its > 0]
        if not present:
            yield -1, np.zeros(len(q)), []
            continue
        distance = {row: math.dist(rows.x[row].astype(float), q) / bandwidth for row in present}
        nearest = min(present, key=lambda row: (distance[row], row))
        centre = rows.x[nearest].astype(float)
        largest = KERNELS[kernel](distance[nearest])
        terms = []
        for row in present:
            near = KERNELS[kernel](distance[row])
            if kernel == "gaussian":
                near = math.exp((distance[nearest] ** 2 - distance[row] ** 2) / 2)
            elif largest == 0:
                near = float(distance[row] == distance[nearest])
            u = [float(each) for each in (rows.x[row].astype(float) - centre) / bandwidth]
            terms.append((weight[row], near, design(u, degree), row))
        yield nearest, (centre - q) / bandwidth, terms


@cached_by_content
def local_moments(queries: Batch, rows: Batch, hood: Any, squares: bool) -> list[np.ndarray]:
    p, y = hood.parameters(rows.features), rows.y.reshape(len(rows.x), -1).astype(float)
    parts = []
    for nearest, shift, terms in around(queries, rows, hood.kernel, hood.bandwidth, hood.degree):
        products, targets, squared = np.zeros((p, p)), np.zeros((p, y.shape[1])), np.zeros((p, p))
        for weight, near, f, row in terms:
            products += weight * near * np.outer(f, f)
            targets += weight * near * np.outer(f, y[row] - y[nearest])
            squared += weight * near**2 * np.outer(f, f)
        parts.append((nearest, shift, products, targets, squared))
    sums = [np.array(column) for column in zip(*parts, strict=True)]
    return sums if squares else [*sums[:4], np.zeros((0, p, p))]


@cached_by_content
def local_curvature(queries: Batch, rows: Batch, hood: Any, theta: np.ndarray) -> list[np.ndarray]:
    parts = []
    for place, (nearest, shift, terms) in enumerate(around(queries, rows, hood.kernel, hood.bandwidth, hood.degree)):
        p = theta.shape[1]
        value, gradient, hessian = 0.0, np.zeros(p), np.zeros((p, p))
        for weight, near, f, row in terms:
            z, y = float(f @ theta[place]), float(np.ravel(rows.y[row])[0])
            mean = 1 / (1 + math.exp(-z))
            value += weight * near * (y * z - math.log1p(math.exp(z)))
            gradient += weight * near * (y - mean) * f
            hessian += weight * near * mean * (1 - mean) * np.outer(f, f)
        parts.append((nearest, shift, value, gradient, hessian))
    return [np.array(column) for column in zip(*parts, strict=True)]
