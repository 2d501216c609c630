"""Parameters of p(x | y) of a fitted generative model, as the display of their kind."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.generative.base import GenerativeClassifier, source_joint
from suffice.generative.correlated import Correlated
from suffice.generative.event_models import Arrivals, Categories, Presences, Words
from suffice.generative.family_nb import Members
from suffice.generative.independent import Independent
from suffice.generative.product import Product, Texts
from suffice.plots.class_conditionals import (
    ClassConditionalsDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    ClassFrequenciesDisplay,
    ClassWordsDisplay,
)
from suffice.plots.divergence import class_divergences, covariance_over_classes, safe_log
from suffice.plots.inputs import (
    Array,
    feature_index,
    resolve_feature_names,
    sample_rows,
    select_numeric_column,
    validate_labels,
)
from suffice.statistics.base import FloatArray


@dataclass(frozen=True)
class _Request:
    """Arguments of :meth:`ClassConditionalsDisplay.from_estimator`, with classes, names and prior of the model."""

    classes: Array
    names: Sequence[str]
    prior: FloatArray
    X: Any
    y: Any
    n: int
    max_rows: int
    random_state: int

    def sample(self, indices: Sequence[int]) -> tuple[Array, Array] | tuple[None, None]:
        """Return a sample of rows in these features, (m, f), and their labels; None where X is not given."""
        if self.X is None:
            return None, None
        cells = np.stack([select_numeric_column(self.X, index, self.names[index]) for index in indices], axis=1)
        labels = validate_labels(self.y, len(cells))
        rows = sample_rows(len(cells), self.max_rows, self.random_state)
        return cells[rows], labels[rows]


def make_class_display(
    model: Any, X: Any, y: Any, features: list[Any] | None, n: int, max_rows: int, random_state: int
) -> ClassConditionalsDisplay:
    """Return the display of the class-conditional distributions; parameters are those of ``from_estimator``."""
    if hasattr(model, "top_words"):
        if features is not None:
            raise ValueError(f"{type(model).__name__} has words, not features: omit features, and give n")
        return ClassWordsDisplay({label: _positive(pairs) for label, pairs in model.top_words(n=n).items()})
    if not isinstance(model, GenerativeClassifier):
        raise ValueError(
            f"{type(model).__name__} has no class-conditional distributions: give a generative model, such as GDA or "
            "GaussianNB"
        )
    joint = source_joint(model)
    names = resolve_feature_names(model)
    request = _Request(model.classes_, names, joint.prior, X, y, n, max_rows, random_state)
    indices = None if features is None else [feature_index(names, feature) for feature in features]
    if isinstance(joint.conditional, Product):
        return _table_display(joint.conditional, model.column_kinds_, request, indices)
    return _conditional_display(joint.conditional, request, list(range(len(names))), indices)


def _table_display(
    product: Product, kinds: dict[Any, str], request: _Request, indices: list[int] | None
) -> ClassConditionalsDisplay:
    """Return the display of one column of a table; of the most informative column where none is given."""
    of_kind = {kind: [index for index, each in enumerate(kinds.values()) if each == kind] for kind in product.factors}
    if indices is None:
        divergence = {
            index: value
            for kind, factor in product.factors.items()
            for index, value in zip(of_kind[kind], class_divergences(factor, request.prior), strict=True)
        }
        indices = [max(divergence, key=lambda index: divergence[index])]
    if len(indices) != 1:
        names = [request.names[index] for index in indices]
        raise ValueError(f"columns of a table are shown one at a time; got the features {names!r}")
    for kind, factor in product.factors.items():
        if indices[0] in of_kind[kind]:
            return _conditional_display(factor, request, of_kind[kind], [of_kind[kind].index(indices[0])])
    raise ValueError(f"column {request.names[indices[0]]!r} is ignored by the model: choose another")


def _conditional_display(
    conditional: Any, request: _Request, columns: list[int], indices: list[int] | None
) -> ClassConditionalsDisplay:
    """Return the display of features of one kind; ``columns`` are their indices among all features."""
    order = np.argsort(-class_divergences(conditional, request.prior), kind="stable")
    match conditional:
        case Independent() | Correlated():
            return _normal_display(conditional, request, columns, order[:2].tolist() if indices is None else indices)
        case Arrivals() if indices is not None and len(indices) == 1:
            return _count_display(conditional.family.rate[:, indices[0]], request, request.names[columns[indices[0]]])
        case Words() | Presences() | Arrivals() | Members():
            shown = order[: request.n].tolist() if indices is None else indices
            values, axis_label = _class_means(conditional)
            names = [request.names[columns[index]] for index in shown]
            return ClassFrequenciesDisplay(request.classes, names, values[:, shown], axis_label=axis_label)
    index = int(order[0]) if indices is None else indices[0]
    if indices is not None and len(indices) != 1:
        raise ValueError(f"categories are shown one feature at a time; got {len(indices)} features")
    name = request.names[columns[index]]
    if isinstance(conditional, Texts):
        return _text_display(conditional.p[index], conditional.vocabularies[index], request, name)
    return _category_display(conditional, index, request, name)


def _normal_display(
    conditional: Independent | Correlated, request: _Request, columns: list[int], indices: list[int]
) -> ClassConditionalsDisplay:
    if len(indices) not in (1, 2):
        raise ValueError(f"numeric features are shown one or two at a time; got {len(indices)} features")
    if len(set(indices)) < len(indices):
        name = request.names[columns[indices[0]]]
        raise ValueError(f"feature {name!r} is given twice: give two different features")
    features = [request.names[columns[index]] for index in indices]
    means = conditional.family.mu[:, indices]
    if isinstance(conditional, Independent):
        covariances = np.stack([np.diag(variances) for variances in conditional.family.sigma2[:, indices]])
    else:
        covariances = conditional.family.covariance[..., indices, :][..., :, indices]
        covariances = np.broadcast_to(covariances, (len(means), len(indices), len(indices)))
    cells, labels = request.sample([columns[index] for index in indices])
    if len(indices) == 2:
        return ClassEllipsesDisplay(
            request.classes, means, covariances, features=(features[0], features[1]), X=cells, y=labels
        )
    x = None if cells is None else cells[:, 0]
    variances = covariances[:, 0, 0]
    return ClassDensitiesDisplay(request.classes, means[:, 0], variances, feature=features[0], x=x, y=labels)


def _class_means(conditional: Words | Presences | Arrivals | Members) -> tuple[FloatArray, str]:
    """Return the mean of each class and feature, (k, d), and its axis label."""
    match conditional:
        case Words():
            return conditional.family.p, "share of all words"
        case Presences():
            return conditional.family.p, "share of rows that have it"
        case Members():
            return conditional.mean, "mean"
        case _:
            return conditional.family.rate, "expected count"


def _count_display(rates: FloatArray, request: _Request, name: str) -> ClassFrequenciesDisplay:
    """Return the Poisson probabilities of counts, up to the 99.5 % quantile."""
    from scipy.stats import poisson

    last = int(poisson.ppf(0.995, rates.max()))
    counts = np.arange(max(last, 1) + 1)
    p = poisson.pmf(counts[None], rates[:, None])
    return ClassFrequenciesDisplay(
        request.classes, counts.tolist(), p, axis_label="probability", feature=name, vertical=True
    )


def _category_display(conditional: Categories, index: int, request: _Request, name: str) -> ClassFrequenciesDisplay:
    """Return the probabilities of categories; of more than n, the most informative."""
    p = np.exp(conditional.tables[index][:-1]).T
    names = list(conditional.vocabularies[index])
    if len(names) > request.n:
        divergence = covariance_over_classes(safe_log(p), p, request.prior)
        order = np.argsort(-divergence, kind="stable")[: request.n]
        names, p = [names[code] for code in order], p[:, order]
    return ClassFrequenciesDisplay(request.classes, names, p, axis_label="share of rows", feature=name)


def _text_display(p: FloatArray, words: Any, request: _Request, name: str) -> ClassWordsDisplay:
    log_odds = safe_log(p) - safe_log(p).mean(axis=0)
    names = list(words)
    top = [np.argsort(-row, kind="stable")[: request.n] for row in log_odds]
    top_words = {
        label: _positive([(str(names[word]), float(row[word])) for word in order])
        for label, row, order in zip(request.classes.tolist(), log_odds, top, strict=True)
    }
    return ClassWordsDisplay(top_words, feature=name)


def _positive(pairs: list[tuple[str, float]]) -> list[tuple[str, float]]:
    """Return the words whose log-odds are above 0."""
    return [(word, value) for word, value in pairs if value > 0]
