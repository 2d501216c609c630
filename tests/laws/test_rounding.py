"""Sums from which rows were taken, against exact rational arithmetic: right to a millionth, or refused."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from suffice import LinearRegression, Ridge
from suffice.discriminative.normal_equations import Penalty, solve_normal_equations
from suffice.families import Multinomial, Poisson
from suffice.generative.correlated import STRUCTURES, estimate_gaussians
from suffice.generative.independent import smoothed
from suffice.kernels import Batch, ThreadEngine
from suffice.statistics import (
    DiagonalMoments,
    EventCounts,
    FullMoments,
    Labels,
    LostDigitsError,
    NegativeEvidenceError,
    NormalEquations,
    TiedMoments,
)
from suffice.statistics.rounding import TOLERANCE

Array = npt.NDArray[np.float64]
CLASSES = Labels(("ham", "spam"))
ENGINE = ThreadEngine(threads=1)
#: A refused sum was within this of the truth: it need not have been refused.
SURELY_RIGHT = TOLERANCE / 1000
#: How many histories are drawn.
many = pytest.mark.parametrize("seeds", [80, pytest.param(1500, marks=pytest.mark.slow)])
#: Products beyond this overflow, and below its inverse they underflow.
LARGEST = 1e150


@dataclass(frozen=True)
class Group:
    """Rows that are added, or taken out, together."""

    x: Array
    y: Array  # targets
    codes: npt.NDArray[np.int64]
    weight: Array | None

    def batch(self, y: Array) -> Batch:
        return Batch(self.x, y, self.weight)

    @property
    def exact_weights(self) -> list[Fraction]:
        return [Fraction(1)] * len(self.x) if self.weight is None else [Fraction(w) for w in self.weight.tolist()]


@dataclass
class History:
    """Groups of rows, and what happened to them: each is added, most factors are 1, and some are taken out again."""

    groups: list[Group]
    gone: set[int] = field(default_factory=set)
    decay: float = 1.0  # of the first half of the groups

    def play(self, sum_of: Callable[[Group], Any]) -> Any:
        """Return the sum over what is left, by way of all that was there."""
        half = len(self.groups) // 2
        total = sum((sum_of(group) for group in self.groups[:half]), start=0)
        total = total.scaled(self.decay) if total else total
        total = sum((sum_of(group) for group in self.groups[half:]), start=total)
        for number in sorted(self.gone):
            part = sum_of(self.groups[number])
            total = total - (part.scaled(self.decay) if number < half else part)
        return total

    def left(self) -> list[tuple[Group, Fraction]]:
        """Return the groups that are left, and the factor of their weights."""
        half = len(self.groups) // 2
        return [
            (group, Fraction(self.decay) if number < half else Fraction(1))
            for number, group in enumerate(self.groups)
            if number not in self.gone
        ]


def draw_history(seed: int) -> History:
    """Draw rows in log-uniform units, with offsets, outliers, columns that nearly depend on others, and weights."""
    random = np.random.default_rng(seed)

    def power(low: float, high: float) -> float:
        return float(10 ** random.uniform(low, high))

    columns = int(random.integers(1, 4))
    units = np.array([power(-100, 100) if random.random() < 0.4 else 1.0 for _ in range(columns)])
    kind = random.choice(["none", "whole", "fractions", "wild"], p=[0.55, 0.15, 0.15, 0.15])
    nearly = power(-9, -1) if columns > 1 and random.random() < 0.3 else None
    slope, noise = random.normal(size=columns), power(-8, 0)
    history = History([], decay=float(random.choice([1.0, 0.5, 0.9, 1e-3], p=[0.7, 0.1, 0.1, 0.1])))
    for _ in range(int(random.integers(2, 7))):
        rows = int(random.integers(1, 16))
        x = random.normal(size=(rows, columns)) * (power(-3, 3) if random.random() < 0.3 else 1.0)
        x[:, -1] = x[:, 0] + nearly * random.normal(size=rows) if nearly else x[:, -1]
        x += power(0, 13) if random.random() < 0.25 else 0.0
        if random.random() < 0.25:
            x[random.integers(rows)] *= power(0, 22)
        y = x @ slope + noise * random.normal(size=rows)
        weight = {
            "none": None,
            "whole": random.integers(1, 5, size=rows).astype(float),
            "fractions": random.random(rows) + 0.01,
            "wild": np.array([power(-3, 15) for _ in range(rows)]),
        }[kind]
        history.groups.append(Group(x * units, y, random.integers(0, 2, size=rows), weight))
    count = int(random.integers(1, len(history.groups)))
    history.gone = set(random.choice(len(history.groups), size=count, replace=False).tolist())
    return history


# Exact moments.

Vector = list[Fraction]
Matrix = list[list[Fraction]]


@dataclass(frozen=True)
class Exact:
    """Weight, mean and centred products of some rows, in rational numbers."""

    weight: Fraction
    mean: Vector
    products: Matrix

    @classmethod
    def of(cls, rows: list[tuple[Fraction, Vector]], width: int) -> Exact:
        weight = sum((w for w, _ in rows), Fraction(0))
        if not weight:
            return cls(weight, [Fraction(0)] * width, [[Fraction(0)] * width for _ in range(width)])
        mean = [sum((w * x[j] for w, x in rows), Fraction(0)) / weight for j in range(width)]
        apart = [(w, [x[j] - mean[j] for j in range(width)]) for w, x in rows]
        products = [[sum((w * z[i] * z[j] for w, z in apart), Fraction(0)) for j in range(width)] for i in range(width)]
        return cls(weight, mean, products)


def exact_rows(history: History, code: int | None, with_y: bool = False) -> list[tuple[Fraction, Vector]]:
    found = []
    for group, factor in history.left():
        table = np.column_stack([group.x, group.y]) if with_y else group.x
        for place, (w, x) in enumerate(zip(group.exact_weights, table.tolist(), strict=True)):
            if code is None or group.codes[place] == code:
                found.append((factor * w, [Fraction(value) for value in x]))
    return found


def solve(matrix: Matrix, right: Vector) -> Vector | None:
    """Solve linear equations exactly; None where they have no single solution."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for column in range(len(rows)):
        pivot = next((place for place in range(column, len(rows)) if rows[place][column]), None)
        if pivot is None:
            return None
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [value / rows[column][column] for value in rows[column]]
        for other in range(len(rows)):
            if other != column and rows[other][column]:
                factor = rows[other][column]
                rows[other] = [a - factor * b for a, b in zip(rows[other], rows[column], strict=True)]
    return [row[-1] for row in rows]


def is_in_range(history: History) -> bool:
    """Whether no product over- or underflows: these are refused for other reasons."""
    for group in history.groups:
        size = np.abs(group.x[group.x != 0])
        weight = 1.0 if group.weight is None else group.weight.max()
        if size.size and not (size.max() * np.sqrt(weight) < LARGEST and size.min() > 1 / LARGEST):
            return False
    return True


# The models: what they read from a sum, and how far that is from the truth.


def gaussian_error(statistics: DiagonalMoments, exact: list[Exact]) -> float:
    """Return the error of naive Bayes' means, in standard deviations, and variances, relative to themselves."""
    model = smoothed(statistics, 1e-9, 0.0)
    truth = DiagonalMoments(
        CLASSES,
        np.array([float(each.weight) for each in exact]),
        np.array([[float(value) for value in each.mean] for each in exact]),
        np.array([[float(each.products[j][j]) for j in range(len(each.mean))] for each in exact]),
    )
    # What does not vary but for rounding, far below what smoothing adds, does not vary.
    truth = replace(truth, spread=np.where(statistics.spread == 0, 0.0, truth.spread))
    right = smoothed(truth, 1e-9, 0.0)
    seen = truth.weights > 0
    assert np.array_equal(statistics.weights > 0, seen)
    means = np.abs(model.mean - right.mean) / np.sqrt(right.variance)
    representable = 4 * np.finfo(float).eps * np.abs(right.mean) / np.sqrt(right.variance)
    variances = np.abs(model.variance - right.variance) / right.variance
    return float(max(np.maximum(means - representable, 0.0)[seen].max(), variances[seen].max()))


def covariance_error(statistics: Any, exact: list[Exact], tied: bool) -> float:
    """Return the error of the covariances, relative to themselves in any direction, and of the means in their units."""
    estimate_gaussians(statistics, STRUCTURES["tied" if tied else "full"], None)
    width, worst = len(exact[0].mean), 0.0
    pooled = [[sum((each.products[i][j] for each in exact), Fraction(0)) for j in range(width)] for i in range(width)]
    total = sum((each.weight for each in exact), Fraction(0))
    for code, each in enumerate(exact):
        weight, products = (total, pooled) if tied else (each.weight, each.products)
        if not each.weight:
            continue
        spread = statistics.spread if tied else statistics.spread[code]
        covariance = [[value / weight for value in row] for row in products]
        measured = Fraction(float(statistics.weights.sum() if tied else statistics.weights[code]))
        off = [
            [Fraction(float(spread[i, j])) / measured - covariance[i][j] for j in range(width)] for i in range(width)
        ]
        moved = [Fraction(float(statistics.mean[code, j])) - each.mean[j] for j in range(width)]
        columns = [solve(covariance, [off[i][j] for i in range(width)]) for j in range(width)]
        along = solve(covariance, moved)
        if along is None or any(column is None for column in columns):
            return np.inf
        square = sum((columns[i][j] * columns[j][i] for i in range(width) for j in range(width)), Fraction(0))
        worst = max(worst, float(abs(square)) ** 0.5)
        distance = sum((a * b for a, b in zip(along, moved, strict=True)), Fraction(0))
        size = [Fraction(4 * np.finfo(float).eps) * abs(value) for value in each.mean]
        blur = max(float(size[j] ** 2 / covariance[j][j]) for j in range(width)) * width
        worst = max(worst, max(float(abs(distance)) ** 0.5 - blur**0.5, 0.0))
    return worst


def regression_error(statistics: NormalEquations, exact: Exact, l1: float = 0.0, l2: float = 0.0) -> float:
    """Return the error of least squares coefficients, relative to themselves or to their standard errors."""
    d = len(exact.mean) - 1
    if not l2 and least_pivot(exact, d) < 1e-10:
        return dependent_error(statistics, exact, l1)
    xx = [row[:d] for row in exact.products[:d]]
    xx = [[value + (Fraction(l2) if i == j else 0) for j, value in enumerate(row)] for i, row in enumerate(xx)]
    xy = [row[d] for row in exact.products[:d]]
    found = solve_normal_equations(statistics, True, Penalty(l1, np.array([l2])))
    theta = found.theta[1:, 0]
    chosen = [j for j in range(d) if theta[j]] if l1 else list(range(d))
    sign = [Fraction(l1) * int(np.sign(theta[j])) for j in chosen]
    truth = solve([[xx[i][j] for j in chosen] for i in chosen], [xy[i] - s for i, s in zip(chosen, sign, strict=True)])
    if truth is None:
        return np.inf
    whole = [Fraction(0)] * d
    for place, value in zip(chosen, truth, strict=True):
        whole[place] = value
    gradient = [xy[j] - sum((xx[j][i] * whole[i] for i in range(d)), Fraction(0)) for j in range(d)]
    scale = [float(xx[j][j]) ** 0.5 for j in range(d)]
    level = max([float(exact.products[d][d]) ** 0.5, *(abs(float(whole[j])) * scale[j] for j in range(d))])
    if l1 and any(float(abs(gradient[j])) > l1 * (1 + 1e-9) + 1e-9 * level * scale[j] for j in range(d)):
        return np.inf  # other coefficients should be 0, or not
    residual = float(exact.products[d][d] - sum((whole[j] * (xy[j] + gradient[j]) for j in range(d)), Fraction(0)))
    free = max(float(exact.weight) - d - 1, 1.0)
    worst = 0.0
    for j in chosen:
        inverse = solve([[xx[i][k] for k in chosen] for i in chosen], [Fraction(int(i == j)) for i in chosen])
        spread = float(inverse[chosen.index(j)]) if inverse else 0.0
        standard = max(residual / free * spread, 0.0) ** 0.5
        off = abs(float(Fraction(float(theta[j])) - whole[j]))
        allowed = max(abs(float(whole[j])), standard, TOLERANCE * level / scale[j])
        worst = max(worst, off / allowed if allowed else 0.0 if off == 0 else np.inf)
    return worst


def least_pivot(exact: Exact, d: int) -> float:
    """Return the least share of a column's square that the columns before it do not explain."""
    least = 1.0
    for j in range(d):
        own = exact.products[j][j]
        before = solve([row[:j] for row in exact.products[:j]], [row[j] for row in exact.products[:j]])
        if not own or before is None:
            return 0.0
        left = own - sum((value * exact.products[i][j] for i, value in enumerate(before)), Fraction(0))
        least = min(least, float(left / own))
    return least


def dependent_error(statistics: NormalEquations, exact: Exact, l1: float) -> float:
    """Return the difference of predictions from those of the true sums, where columns nearly depend on each other.

    A fit from sums takes columns as dependent, or not, at a share of 1e-12 or so: on both sides its answer stands.
    """
    products = np.array([[float(value) for value in row] for row in exact.products])
    truth = NormalEquations(float(exact.weight), np.array([float(each) for each in exact.mean]), products, 1)
    thetas = [solve_normal_equations(each, True, Penalty(l1, np.zeros(1))).theta[1:, 0] for each in (statistics, truth)]
    scale = np.sqrt(np.diagonal(products))[:-1]
    if scale.max() > 1e6 * scale.min():  # coefficients of least norm depend on the units of columns
        raise FloatingPointError
    apart = (thetas[0] - thetas[1]) * scale
    square = apart @ (products[:-1, :-1] / scale / scale[:, None]) @ apart
    return float(np.sqrt(max(square, 0.0)) / max(np.sqrt(products[-1, -1]), 1e-300))


MODELS = ("naive bayes", "tied", "full", "linear", "ridge", "lasso")


def judge(history: History, model: str) -> tuple[str, float, Any]:
    """Return "accepted" or "refused", the error of what would be read, and the sum."""
    names = {"naive bayes": DiagonalMoments, "tied": TiedMoments, "full": FullMoments}
    kind = names.get(model, NormalEquations)
    width = history.groups[0].x.shape[1]

    def sum_of(group: Group) -> Any:
        if kind is NormalEquations:
            return ENGINE.accumulate(NormalEquations.over(), group.batch(group.y))
        return ENGINE.accumulate(kind.over(CLASSES), group.batch(group.codes))

    try:
        statistics = history.play(sum_of)
    except LostDigitsError:
        return "refused", np.inf, None
    if kind is NormalEquations:
        exact = Exact.of(exact_rows(history, None, with_y=True), width + 1)
        l2 = float(exact.products[0][0]) * 0.01 if model == "ridge" else 0.0
        l1 = abs(float(exact.products[0][width])) * 0.3 if model == "lasso" else 0.0
        read = lambda sums: regression_error(sums, exact, l1, l2)  # noqa: E731
    else:
        each = [Exact.of(exact_rows(history, code), width) for code in range(2)]
        read = (
            (lambda sums: gaussian_error(sums, each))
            if model == "naive bayes"
            else (lambda sums: covariance_error(sums, each, model == "tied"))
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return "accepted", read(statistics), statistics
        except LostDigitsError:
            verdict = "refused"
        except (ValueError, FloatingPointError):  # singular, or no rows: a fit refuses it too
            return "singular", 0.0, statistics
        try:
            return verdict, read(replace(statistics, forgotten=0.0)), statistics
        except (ValueError, FloatingPointError):
            return verdict, np.inf, statistics


def count_error(statistics: EventCounts, history: History, alpha: float) -> float:
    """Return the error of smoothed word probabilities and of Poisson rates, relative to themselves."""
    width = statistics.features
    counts, rows = np.zeros((2, width)), np.zeros(2)
    for code in range(2):
        found = exact_rows(history, code)
        rows[code] = float(sum((w for w, _ in found), Fraction(0)))
        counts[code] = [float(sum((w * x[j] for w, x in found), Fraction(0))) for j in range(width)]
    truth = EventCounts(CLASSES, rows, counts)
    worst = 0.0
    for family, read in ((Multinomial, "p"), (Poisson, "rate")):
        found, right = (np.asarray(getattr(family.estimate(each, alpha), read)) for each in (statistics, truth))
        worst = max(worst, float((np.abs(found - right) / np.where(right > 0, right, 1.0)).max()))
    return worst


@many
@pytest.mark.parametrize("alpha", [0.0, 1.0])
def test_counts_after_rows_were_taken_out_are_right_or_refused(alpha: float, seeds: int):
    refused_though_right = judged = 0
    for seed in range(seeds):
        history, random = draw_history(seed), np.random.default_rng(seed)
        whole = random.random() < 0.5
        for group in history.groups:
            size = np.minimum(np.abs(group.x), 1e30)
            group.x[...] = np.rint(np.minimum(size, 1e6)) if whole else size
        try:
            statistics = history.play(
                lambda group: ENGINE.accumulate(EventCounts.over(CLASSES), group.batch(group.codes))
            )
            error = count_error(statistics, history, alpha)
        except LostDigitsError:
            refused_though_right += whole and all(group.weight is None for group in history.groups)
        except ValueError:  # nothing is left of a class, or of its words
            continue
        else:
            assert error <= 2 * TOLERANCE, f"seed {seed}: off by {error:.3g}"
        judged += 1
    assert judged >= 0.5 * seeds
    assert refused_though_right == 0  # counts of rows without weights are exact


def check_bounds(history: History, statistics: Any) -> None:
    """Compare every mean and product with the truth."""
    if isinstance(statistics, NormalEquations):
        means, products = statistics.mean[None], statistics.scatter[None]
        exact = [Exact.of(exact_rows(history, None, with_y=True), len(statistics.mean))]
        error = statistics.error
    else:
        exact = [Exact.of(exact_rows(history, code), statistics.features) for code in range(2)]
        means, products, error = statistics.mean, statistics.spread, statistics.error
        if isinstance(statistics, TiedMoments):
            products = products[None]
        elif isinstance(statistics, DiagonalMoments):
            products = np.stack([np.diag(row) for row in products])
    for code, each in enumerate(exact):
        for j, mean in enumerate(each.mean):
            assert abs(Fraction(float(means[code, j])) - mean) <= Fraction(float(error.mean[code, j])), (code, j)
    if isinstance(statistics, TiedMoments):
        width = len(exact[0].mean)
        pooled = [[sum(each.products[i][j] for each in exact) for j in range(width)] for i in range(width)]
        exact, bounds = [Exact(Fraction(1), [], pooled)], error.pooled().products()
    else:
        bounds = error.products()
    for code, each in enumerate(exact):
        for i, j in itertools.product(range(len(each.products)), repeat=2):
            if i != j and isinstance(statistics, DiagonalMoments):
                continue
            off = abs(Fraction(float(products[code, i, j])) - each.products[i][j])
            # Squares are not below 0, which moves them nearer to the truth.
            assert off <= Fraction(float(bounds[code, i, j])), (code, i, j, float(off), bounds[code, i, j])


@many
@pytest.mark.parametrize("model", MODELS)
def test_what_is_read_after_rows_were_taken_out_is_right_or_refused(model: str, seeds: int):
    refused_though_right = judged = accepted = 0
    for seed in range(seeds):
        history = draw_history(seed)
        if not is_in_range(history):
            continue
        verdict, error, statistics = judge(history, model)
        if statistics is not None:
            check_bounds(history, statistics)
        if verdict == "singular":
            continue
        judged += 1
        accepted += verdict == "accepted"
        assert verdict == "refused" or error <= 2 * TOLERANCE, f"seed {seed}: off by {error:.3g}"
        refused_though_right += verdict == "refused" and error <= SURELY_RIGHT
    assert accepted >= 0.1 * judged
    assert refused_though_right <= 0.05 * judged


def test_a_scatter_of_all_classes_keeps_the_error_of_a_class_that_is_gone():
    random = np.random.default_rng(712)
    tiny, wide = 1e-3 * random.normal(size=(1, 1)), 1e6 * random.normal(size=(12, 1))
    ham, codes = Group(tiny, tiny[:, 0], np.array([0]), None), np.ones(6, dtype=int)
    spam = [Group(rows, rows[:, 0], codes, 1 + random.random(6)) for rows in (wide[:6], wide[6:])]
    history = History([*spam, ham], gone={0, 1})
    statistics = history.play(lambda group: ENGINE.accumulate(TiedMoments.over(CLASSES), group.batch(group.codes)))
    check_bounds(history, statistics)
    assert statistics.error.squares().sum() > 0
    with pytest.raises(LostDigitsError):
        estimate_gaussians(statistics, STRUCTURES["tied"], None)


@pytest.mark.parametrize("intercept", [True, False])
def test_dependent_and_constant_columns_are_no_reason_to_refuse(intercept: bool):
    random = np.random.default_rng(3)
    level = random.integers(0, 4, size=2000)
    x = np.column_stack([np.eye(4)[level], np.full(2000, 0.1), random.normal(size=2000), np.zeros(2000)])
    y = level + random.normal(size=2000)
    batches = [Batch(x[rows], y[rows]) for rows in (slice(0, 300), slice(300, 2000))]
    part, rest = (ENGINE.accumulate(NormalEquations.over(), batch) for batch in batches)
    found, right = (solve_normal_equations(each, intercept) for each in (part + rest - part, rest))
    assert found.rank == right.rank
    np.testing.assert_allclose(found.theta, right.theta, rtol=1e-9, atol=1e-12)


def test_counts_that_are_0_after_a_decay_are_known_to_be():
    x, codes = np.array([[3.0, 1.0], [2.0, 0.0]]), np.array([0, 0])
    one, two = (ENGINE.accumulate(EventCounts.over(CLASSES), Batch(each, codes)) for each in (x, x * [1.0, 0.0]))
    left = (one + two).scaled(0.9) - one.scaled(0.9)
    left.check_digits()
    np.testing.assert_allclose(left.counts[0], [4.5, 0.0])


@pytest.mark.parametrize("kind", [DiagonalMoments, TiedMoments, FullMoments, EventCounts])
def test_other_rows_than_all_do_not_leave_none(kind: Any):
    random = np.random.default_rng(5)
    x, codes = random.poisson(3.0, size=(8, 2)) + 1.0, np.array([0, 0, 0, 0, 1, 1, 1, 1])
    rows = [Batch(x, codes), Batch(np.repeat(x[:2], 2, axis=0) - 1.0, codes[:4])]
    whole, others = (ENGINE.accumulate(kind.over(CLASSES), each) for each in rows)
    with pytest.raises(NegativeEvidenceError, match="all rows of class 'ham' would be gone"):
        whole - others
    assert (whole - whole).weight == 0
    assert (whole + others - others - whole).weight == 0


def test_a_ridge_penalty_below_rounding_does_not_decide_between_dependent_columns():
    assert judge(draw_history(4889), "ridge")[0] == "refused"


@pytest.mark.filterwarnings("ignore:LinearRegression. x29 = a combination")
def test_ordinary_rows_of_many_levels_are_forgotten():
    """30 indicators that sum to 1 and a small penalty need most digits; few rows are added one after another."""
    random = np.random.default_rng(0)
    level = random.integers(0, 30, 20_000)
    x, y = np.eye(30)[level], random.normal(size=30)[level] + random.normal(size=20_000)
    for model in (Ridge(alpha=1.0), LinearRegression()):
        left = model.fit(x, y).forget(x[:500], y[:500])
        np.testing.assert_allclose(left.coef_, type(model)().fit(x[500:], y[500:]).coef_, atol=1e-10)
