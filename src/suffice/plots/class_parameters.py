"""Which picture shows p(x | y), and what it is made of: read from a model's conditional."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.generative.conditional import Conditional
from suffice.generative.events import Arrivals, Categories, Presences, Words
from suffice.generative.family_nb import Members
from suffice.generative.gaussians import Correlated, Independent
from suffice.generative.product import Product, Texts
from suffice.plots.class_conditionals import ClassConditionalsDisplay
from suffice.plots.class_events import ClassFrequenciesDisplay, ClassWordsDisplay
from suffice.plots.class_measurements import ClassDensitiesDisplay, ClassEllipsesDisplay
from suffice.plots.inputs import Array, feature_names, labels_of, measured, place_of, some_rows
from suffice.statistics.base import FloatArray

#: What stands for a probability of 0 where its logarithm is compared.
_NEXT_TO_NOTHING = 1e-12


@dataclass(frozen=True)
class Question:
    """What is to be shown of a model."""

    classes: Array
    names: Sequence[str]
    prior: FloatArray
    X: Any
    y: Any
    n: int
    most_rows: int
    random_state: int

    def rows(self, places: Sequence[int]) -> tuple[Array, Array] | tuple[None, None]:
        """Return some rows' cells in these features, (m, f), and their labels; None where X is not given."""
        if self.X is None:
            return None, None
        cells = np.stack([measured(self.X, place, self.names[place]) for place in places], axis=1)
        labels = labels_of(self.y, len(cells))
        chosen = some_rows(len(cells), self.most_rows, self.random_state)
        return cells[chosen], labels[chosen]


def describe(
    model: Any, X: Any, y: Any, features: list[Any] | None, n: int, most_rows: int, random_state: int
) -> ClassConditionalsDisplay:
    """Return the picture of what the classes of a model look like."""
    if hasattr(model, "top_words"):
        if features is not None:
            raise ValueError(f"{type(model).__name__} has words, not features: leave features out, and give n")
        return ClassWordsDisplay({label: _for_it(pairs) for label, pairs in model.top_words(n=n).items()})
    if not hasattr(model, "_source"):
        raise ValueError(
            f"{type(model).__name__} does not describe its classes: give a generative model, such as GDA or GaussianNB"
        )
    joint = model._source()
    names = feature_names(model)
    question = Question(model.classes_, names, joint.prior, X, y, n, most_rows, random_state)
    places = None if features is None else [place_of(names, feature) for feature in features]
    if isinstance(joint.conditional, Product):
        return _of_table(joint.conditional, model.column_kinds_, question, places)
    return _of_conditional(joint.conditional, question, list(range(len(names))), places)


def _of_table(
    product: Product, kinds: dict[Any, str], question: Question, places: list[int] | None
) -> ClassConditionalsDisplay:
    """Return the picture of one column of a table."""
    of_kind = {kind: [place for place, each in enumerate(kinds.values()) if each == kind] for kind in product.factors}
    if places is None:
        told = {
            place: value
            for kind, factor in product.factors.items()
            for place, value in zip(of_kind[kind], telling(factor, question.prior), strict=True)
        }
        places = [max(told, key=lambda place: told[place])]
    if len(places) != 1:
        names = [question.names[place] for place in places]
        raise ValueError(f"the columns of a table are shown one at a time; got the features {names!r}")
    for kind, factor in product.factors.items():
        if places[0] in of_kind[kind]:
            return _of_conditional(factor, question, of_kind[kind], [of_kind[kind].index(places[0])])
    raise ValueError(f"column {question.names[places[0]]!r} is ignored by the model: choose another")


def _of_conditional(
    conditional: Any, question: Question, columns: list[int], places: list[int] | None
) -> ClassConditionalsDisplay:
    """Return the picture of features of one kind; ``columns`` are their places among all features."""
    order = np.argsort(-telling(conditional, question.prior), kind="stable")
    match conditional:
        case Independent() | Correlated():
            return _of_measurements(conditional, question, columns, order[:2].tolist() if places is None else places)
        case Arrivals() if places is not None and len(places) == 1:
            return _of_counts(conditional.family.rate[:, places[0]], question, question.names[columns[places[0]]])
        case Words() | Presences() | Arrivals() | Members():
            shown = order[: question.n].tolist() if places is None else places
            values, what = _levels(conditional)
            names = [question.names[columns[place]] for place in shown]
            return ClassFrequenciesDisplay(question.classes, names, values[:, shown], what=what)
    place = int(order[0]) if places is None else places[0]
    if places is not None and len(places) != 1:
        raise ValueError(f"categories are shown one feature at a time; got {len(places)} features")
    name = question.names[columns[place]]
    if isinstance(conditional, Texts):
        return _of_text(conditional.p[place], conditional.vocabularies[place], question, name)
    return _of_categories(conditional, place, question, name)


def _of_measurements(
    conditional: Independent | Correlated, question: Question, columns: list[int], places: list[int]
) -> ClassConditionalsDisplay:
    if len(places) not in (1, 2):
        raise ValueError(f"measurements are shown one or two at a time; got {len(places)} features")
    if len(set(places)) < len(places):
        raise ValueError(f"feature {question.names[columns[places[0]]]!r} is given twice: give two that differ")
    features = [question.names[columns[place]] for place in places]
    means = conditional.family.mu[:, places]
    if isinstance(conditional, Independent):
        covariances = np.stack([np.diag(variances) for variances in conditional.family.sigma2[:, places]])
    else:
        covariances = conditional.family.covariance[..., places, :][..., :, places]
        covariances = np.broadcast_to(covariances, (len(means), len(places), len(places)))
    cells, labels = question.rows([columns[place] for place in places])
    if len(places) == 2:
        return ClassEllipsesDisplay(
            question.classes, means, covariances, features=(features[0], features[1]), X=cells, y=labels
        )
    values = None if cells is None else cells[:, 0]
    return ClassDensitiesDisplay(
        question.classes, means[:, 0], covariances[:, 0, 0], feature=features[0], x=values, y=labels
    )


def _levels(conditional: Words | Presences | Arrivals | Members) -> tuple[FloatArray, str]:
    """Return one number for each class and feature, (k, d), and what it is."""
    match conditional:
        case Words():
            return conditional.family.p, "share of all words"
        case Presences():
            return conditional.family.p, "share of rows that have it"
        case Members():
            return conditional.mean, "mean"
        case _:
            return conditional.family.rate, "expected count"


def _of_counts(rates: FloatArray, question: Question, name: str) -> ClassFrequenciesDisplay:
    """Return the probabilities of counts, up to one that few exceed."""
    from scipy.stats import poisson

    last = int(poisson.ppf(0.995, rates.max()))
    counts = np.arange(max(last, 1) + 1)
    shares = poisson.pmf(counts[None], rates[:, None])
    return ClassFrequenciesDisplay(
        question.classes, counts.tolist(), shares, what="probability", feature=name, upright=True
    )


def _of_categories(conditional: Categories, place: int, question: Question, name: str) -> ClassFrequenciesDisplay:
    """Return the shares of categories, those that tell most about the class first where there are too many."""
    shares = np.exp(conditional.tables[place][:-1]).T
    names = list(conditional.vocabularies[place])
    if len(names) > question.n:
        order = np.argsort(-_covariance(_log(shares), shares, question.prior), kind="stable")[: question.n]
        names, shares = [names[code] for code in order], shares[:, order]
    return ClassFrequenciesDisplay(question.classes, names, shares, what="share of rows", feature=name)


def _of_text(p: FloatArray, words: Any, question: Question, name: str) -> ClassWordsDisplay:
    log_odds = _log(p) - _log(p).mean(axis=0)
    names = list(words)
    top = [np.argsort(-row, kind="stable")[: question.n] for row in log_odds]
    found = {
        label: _for_it([(str(names[word]), float(row[word])) for word in order])
        for label, row, order in zip(question.classes.tolist(), log_odds, top, strict=True)
    }
    return ClassWordsDisplay(found, feature=name)


def _for_it(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the words that speak for a class rather than against it."""
    return [(word, value) for word, value in pairs if value > 0]


def telling(conditional: Conditional, prior: FloatArray) -> FloatArray:
    """Return how much each feature tells about the class, (d,): the expected log-odds that its cell adds.

    In an exponential family with natural parameters eta and means m of the sufficient statistics, the symmetric
    divergence between two classes is (eta_1 - eta_2)'(m_1 - m_2); over all pairs of classes, weighted by their priors,
    that is the covariance of eta and m.
    """
    match conditional:
        case Independent():
            return _of_normals(conditional.family.mu, conditional.family.sigma2, prior)
        case Correlated():
            variance = np.diagonal(conditional.family.covariance, axis1=-2, axis2=-1)
            return _of_normals(conditional.family.mu, np.broadcast_to(variance, conditional.family.mu.shape), prior)
        case Words():
            return _covariance(_log(conditional.family.p), conditional.family.p, prior)
        case Presences():
            return _covariance(_log(conditional.family.p) - _log(conditional.family.q), conditional.family.p, prior)
        case Arrivals():
            return _covariance(_log(conditional.family.rate), conditional.family.rate, prior)
        case Members():
            return _covariance(conditional.coef, conditional.mean, prior)
        case Categories():
            shares = [np.exp(table[:-1]).T for table in conditional.tables]
            return np.array([_covariance(_log(each), each, prior).sum() for each in shares])
    assert isinstance(conditional, Texts)
    counts = zip(conditional.p, conditional.lengths.T, strict=True)
    return np.array([_covariance(_log(p), lengths[:, None] * p, prior).sum() for p, lengths in counts])


def _of_normals(mean: FloatArray, variance: FloatArray, prior: FloatArray) -> FloatArray:
    centred = mean - prior @ mean  # squares of means far from zero would lose the digits of variances
    first = _covariance(centred / variance, centred, prior)
    return first + _covariance(-0.5 / variance, centred**2 + variance, prior)


def _covariance(one: FloatArray, two: FloatArray, prior: FloatArray) -> FloatArray:
    """Return the covariance over classes of two numbers per class and feature, (d,)."""
    return np.asarray(prior @ ((one - prior @ one) * (two - prior @ two)))


def _log(p: FloatArray) -> FloatArray:
    return np.asarray(np.log(np.maximum(p, _NEXT_TO_NOTHING)))
