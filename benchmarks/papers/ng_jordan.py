"""Ng and Jordan 2002: naive Bayes and logistic regression as a pair, over sizes of the training set."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from benchmarks.papers import data
from benchmarks.papers.figures import BLUE, ORANGE, count_sizes, markdown, percent, picture
from suffice import GDA, CategoricalNB, LogisticRegression, MultinomialNB
from suffice.solvers import Newton
from suffice.solvers.truncated_newton import TruncatedNewton

TITLE = "Ng and Jordan 2002: discriminative against generative classifiers"
ARCHIVES = ["20news-bydate", "sentiment", "sms-spam", "uci"]
#: By kind of features: the number of random splits, and the C of logistic regression.
SPLITS = {"numbers": 60, "names": 60, "words": 20}
INVERSE_PENALTIES = {"numbers": 100.0, "names": 100.0, "words": 1.0}
SMALLEST, LARGEST, STEPS = 10, 4000, 9  # training rows
HELD = 2000  # test rows at most


class Problem(NamedTuple):
    """Rows of two classes, and the kind of their features."""

    name: str
    kind: str  # numbers, names, words
    X: Any
    y: npt.NDArray[np.bool_]


class Curve(NamedTuple):
    """Mean test errors over sizes of the training set, (sizes,)."""

    sizes: list[int]
    generative: npt.NDArray[np.float64]
    discriminative: npt.NDArray[np.float64]


def problems() -> Iterator[Problem]:
    """Yield the available tables of the paper, and texts."""
    for name in ("pima", "ionosphere", "sonar"):
        table = data.table(name)
        yield Problem(name, "numbers", np.column_stack(list(table.columns.values())), table.classes == table.classes[0])
    digits = data.table("optdigits")
    pixels = np.column_stack(list(digits.columns.values()))
    for one, other in (("0", "1"), ("2", "3")):
        pair = np.isin(digits.classes, [one, other])
        yield Problem(f"optdigits, {one} or {other}", "numbers", pixels[pair], digits.classes[pair] == other)
    adult, votes, mushrooms = data.table("adult"), data.table("vote"), data.table("mushroom")
    for what, kind, name in (("f", "numbers", "adult, continuous"), ("U", "names", "adult, discrete")):
        chosen = [column for column in adult.columns.values() if column.dtype.kind == what]
        yield Problem(name, kind, np.column_stack(chosen), adult.classes == ">50K")
    for name, table in (("vote", votes), ("mushroom", mushrooms)):
        yield Problem(name, "names", np.column_stack(list(table.columns.values())), table.classes == table.classes[0])
    articles, counts = data.articles(), data.newsgroups()
    pair = np.isin(articles.groups, [articles.names.index(name) for name in ("sci.med", "sci.space")])
    groups = articles.groups[pair]
    yield Problem("sci.med or sci.space", "words", counts[pair], groups == groups.max())
    for name, archive, file in (
        ("SMS spam", "sms-spam", "SMSSpamCollection"),
        ("rt-polarity", "sentiment", "rt-polarity.all"),
    ):
        texts, labels = data.lines(archive, file)
        words = data.CountVectorizer(min_df=2, dtype=np.float64).fit_transform(texts)
        yield Problem(name, "words", words, labels == max(labels))


def one_hot(names: npt.NDArray[Any]) -> Any:
    """Return a one-hot encoding of the features."""
    codes = np.column_stack([np.unique(column, return_inverse=True)[1] for column in names.T])
    ends = np.cumsum(codes.max(axis=0) + 1)
    columns = codes + np.r_[0, ends[:-1]]
    starts = np.arange(0, columns.size + 1, columns.shape[1])
    return sparse.csr_array((np.ones(columns.size), columns.ravel(), starts), shape=(len(names), int(ends[-1])))


def errors(problem: Problem, rows: Any, linear: Any, train: Any, test: Any) -> tuple[float, float]:
    """Return the test errors of naive Bayes on the rows, and of logistic regression on their encoding."""
    generative: Any = {
        "numbers": GDA("tied_diagonal", shrinkage=0.01),
        "names": CategoricalNB(),
        "words": MultinomialNB(),
    }[problem.kind]
    x, held, z, more = rows[train], rows[test], linear[train], linear[test]
    if problem.kind == "numbers":  # constant columns have no effect
        varies = x.std(axis=0) > 1e-12
        mean, scale = x[:, varies].mean(axis=0), x[:, varies].std(axis=0)
        x, held = ((each[:, varies] - mean) / scale for each in (x, held))
        z, more = x, held
    else:  # columns of zeros have the coefficient 0
        seen = np.flatnonzero(np.asarray(z.sum(axis=0)).ravel())
        z, more = z[:, seen], more[:, seen]
    # One-hot columns are collinear, which Newton's method handles; with more words than rows, the Hessian is too large.
    solver = TruncatedNewton(1e-5) if problem.kind == "words" else Newton(1e-5)
    discriminative = LogisticRegression(C=INVERSE_PENALTIES[problem.kind], inference=False, solver=solver)
    return (
        1 - generative.fit(x, problem.y[train]).score(held, problem.y[test]),
        1 - discriminative.fit(z, problem.y[train]).score(more, problem.y[test]),
    )


def curve(problem: Problem) -> Curve:
    """Return the learning curves of the pair, each point a mean over random splits."""
    n = len(problem.y)
    held = min(HELD, 3 * n // 10)
    sizes = [int(size) for size in np.geomspace(SMALLEST, min(LARGEST, n - held), STEPS).round()]
    linear = one_hot(problem.X) if problem.kind == "names" else problem.X
    found = np.zeros((SPLITS[problem.kind], STEPS, 2))
    for seed in range(len(found)):
        order = np.random.default_rng(seed).permutation(n)
        test, rest = order[:held], order[held:]
        firsts = [np.flatnonzero(problem.y[rest] == label)[0] for label in (False, True)]
        rest = np.r_[rest[firsts], np.delete(rest, firsts)]  # both classes are in every training set
        found[seed] = [errors(problem, problem.X, linear, rest[:size], test) for size in sizes]
    mean = found.mean(axis=0)
    return Curve(sizes, mean[:, 0], mean[:, 1])


def crossing(each: Curve) -> float | None:
    """Return the size from which logistic regression has the lower error, interpolated on a logarithmic scale."""
    gap = each.generative - each.discriminative  # above 0 where logistic regression is better
    behind = np.flatnonzero(gap <= 0)
    if len(behind) == 0:
        return float(each.sizes[0])
    last = behind[-1]
    if last == len(gap) - 1:
        return None
    share = gap[last] / (gap[last] - gap[last + 1])
    low, high = np.log(each.sizes[last]), np.log(each.sizes[last + 1])
    return float(np.exp(low + share * (high - low)))


def run() -> str:
    """Measure, draw, and return the results."""
    measured = {problem.name: (problem.kind, curve(problem)) for problem in problems()}
    draw(measured)
    rows = []
    for name, (kind, each) in measured.items():
        meets = crossing(each)
        words = "not within these rows" if meets is None else f"{meets:,.0f} rows"
        rows.append(
            [
                name,
                kind,
                *(percent(float(errors[0])) for errors in (each.generative, each.discriminative)),
                f"{each.sizes[-1]:,}",
                *(percent(float(errors[-1])) for errors in (each.generative, each.discriminative)),
                f"from the first ({SMALLEST})" if meets == SMALLEST else words,
            ]
        )
    header = ["mean test error", "features", f"naive Bayes, {SMALLEST} rows", f"logistic, {SMALLEST} rows"]
    header += ["most rows", "naive Bayes", "logistic", "logistic better from"]
    ahead = sum(each.generative[0] < each.discriminative[0] for _, each in measured.values())
    overtaken = sum(each.generative[-1] > each.discriminative[-1] for _, each in measured.values())
    crossed = sum(
        each.generative[0] < each.discriminative[0] and each.generative[-1] > each.discriminative[-1]
        for _, each in measured.values()
    )
    return (
        f"{markdown(header, rows, left=2)}\n\n"
        f"Naive Bayes has the lower error with {SMALLEST} rows on {ahead} of {len(measured)} problems; with the most "
        f"rows logistic regression has the lower error on {overtaken}; on {crossed} the curves cross. Means over "
        f"{SPLITS['numbers']} random splits, {SPLITS['words']} for words. Numbers: Gaussians with one variance per "
        "feature for both classes (a hundredth of it the features' mean, so that none is 0), the generative "
        "counterpart of logistic regression; names: categories with α = 1, a missing cell is a category; words: the "
        f"multinomial model with α = 1. Logistic regression has C = {INVERSE_PENALTIES['numbers']:g} "
        f"({INVERSE_PENALTIES['words']:g} for words), since small samples are separable and the likelihood has no "
        "maximum then; numbers are scaled by the standard deviations of the training rows. Different from the paper: "
        "eight of its fifteen tables, mushroom and the texts are added, fewer splits, and at least one row of each "
        "class in every training set."
    )


def draw(measured: dict[str, tuple[str, Curve]]) -> None:
    """Draw the learning curves, one panel per problem."""
    with picture("learning-curves", 3, 4, 6.6) as (figure, panels):
        for panel, (name, (_, each)) in zip(panels, measured.items(), strict=True):
            for values, label, colour, marker in (
                (each.generative, "naive Bayes", BLUE, "o"),
                (each.discriminative, "logistic regression", ORANGE, "s"),
            ):
                panel.plot(each.sizes, 100 * values, color=colour, marker=marker, markersize=3, label=label)
            count_sizes(panel)
            panel.set(title=name)
            panel.set_ylim(bottom=0)
        for panel in panels[::4]:
            panel.set_ylabel("test error, %")
        for panel in panels[-4:]:
            panel.set_xlabel("training rows")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
