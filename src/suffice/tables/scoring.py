"""Fitted models as a SELECT that gives the same probabilities, inside DuckDB or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

from suffice.generative.conditional import Conditional, Linear
from suffice.generative.events import Categories
from suffice.generative.gaussians import Correlated, Independent
from suffice.generative.product import Product
from suffice.kernels.sql.dialect import Dialect, dialect_of, quoted, quoted_path
from suffice.kernels.sql.scores import Scores, Scoring, unused_prefix
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray

#: What the column of the prediction is called, and those of probabilities begin with.
PREDICTION = "prediction"
PROBABILITY = "p_"


def to_sql(
    estimator: Any,
    table: str,
    columns: Sequence[str] | None = None,
    *,
    dialect: str = "duckdb",
    keep: Sequence[str] = (),
) -> str:
    """Return a SELECT that scores the rows of a table as a fitted estimator does.

    Parameters
    ----------
    estimator
        Naive Bayes (Gaussian, Bernoulli, multinomial, Poisson, categorical), a Gaussian discriminant, a linear,
        logistic or softmax regression, a generalised linear model, or a model of a table.
    table
        The name of the table; it is quoted. Its schema may stand before it, as in ``shop.visits`` or
        ``"My Shop"."visits"``: a part with a dot in it is written in double quotes.
    columns
        The column of each feature, in their order; by default the names that the estimator was fitted with.
    dialect
        "duckdb" or "postgresql".
    keep
        Columns to be passed on, such as the key of a row.

    Returns
    -------
    str
        The query. Of a classifier it gives ``prediction`` and one column ``p_<class>`` for each class, whose values are
        those of ``predict_proba``; of a regression, ``prediction``.

    Examples
    --------
    >>> import duckdb
    >>> from suffice import LinearRegression
    >>> model = LinearRegression().fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("create table t as select 3.0 as x")
    >>> ((prediction,),) = connection.sql(to_sql(model, "t", ["x"])).fetchall()
    >>> round(prediction, 9)
    7.0
    """
    if hasattr(estimator, "to_sql"):
        written: str = estimator.to_sql(dialect, table=table, keep=keep)
        return written
    check_is_fitted(estimator)
    names = _columns(estimator, columns)
    spoken = dialect_of(dialect)
    conditional = getattr(getattr(estimator, "_joint", None), "conditional", None)
    steps: list[list[tuple[str, str]]] = []
    if isinstance(conditional, Product):
        cells, kinds = _mixed_cells(estimator, names, spoken)
    elif isinstance(conditional, Categories):
        edges, kinds = getattr(estimator, "bin_edges_", None), []
        if edges is None:
            cells = _codes(conditional, map(quoted, names), spoken)
        else:
            columns = [f"{unused_prefix(keep)}b{j}" for j in range(len(names))]
            steps.append([(_number(name, spoken), column) for name, column in zip(names, columns, strict=True)])
            steps.append([(_bin(column, cuts, spoken), column) for column, cuts in zip(columns, edges, strict=True)])
            cells = _codes(conditional, columns, spoken)
    else:
        cells, kinds = [_number(name, spoken) for name in names], []
        if isinstance(conditional, Correlated):
            cells = [_required(cell, name, spoken) for cell, name in zip(cells, names, strict=True)]
    scoring = Scoring(spoken, quoted_path(table, spoken), cells, tuple(keep), steps)
    return written_by(estimator, scoring, kinds)


def written_by(estimator: Any, scoring: Scoring, kinds: Sequence[str] = (), among: Labels | None = None) -> str:
    """Return the query of an estimator.

    Parameters
    ----------
    estimator
        It is fitted.
    scoring
        The table, and the cells that the estimator sees of a row.
    kinds
        Which kind each cell is of, where they are of several.
    among
        All classes, where the estimator knows some of them only.
    """
    spoken, names = scoring.dialect, scoring.names()
    if hasattr(estimator, "_joint"):
        joint = estimator._joint
        scores = scores_of(joint.conditional, names, spoken, kinds)
        found = Posterior(scores, joint.labels, joint.log_prior, joint.prior, joint.temperature)
        return classified(scoring, found.among(among, spoken))
    if hasattr(estimator, "_scores_of_classes"):
        coef, intercept = estimator._scores_of_classes()
        k = len(coef)
        scores = Scores(spoken).linear(names, coef, intercept)
        found = Posterior(scores, Labels.of(estimator.classes_), np.zeros(k), np.full(k, 1 / k), 1.0)
        return classified(scoring, found.among(among, spoken))
    if hasattr(estimator, "_linear"):
        coef, intercept = estimator._linear()
        if len(coef) != 1:
            raise ValueError(f"a regression of {len(coef)} targets is no one SELECT: fit one for each")
        (predictor,) = Scores(spoken).linear(names, coef, intercept)
        link = estimator._response().link.name if hasattr(estimator, "_response") else "identity"
        return scoring.numbers(predictor, link, PREDICTION)
    raise ValueError(f"{type(estimator).__name__} has no scores that SQL could take: score rows here, with predict")


class Posterior(NamedTuple):
    """What a classifier's query is made of."""

    scores: list[str]  # of each class, without its prior
    labels: Labels
    log_prior: FloatArray  # (k,)
    prior: FloatArray  # (k,)
    temperature: float

    def among(self, labels: Labels | None, dialect: Dialect) -> Posterior:
        """Return the same over more classes, which have no rows and are never chosen."""
        if labels is None or labels == self.labels:
            return self
        places = labels.positions(self.labels)
        scores = [dialect.number(-np.inf)] * len(labels)
        log_prior, prior = np.zeros((2, len(labels)))
        for place, score in zip(places, self.scores, strict=True):
            scores[place] = score
        log_prior[places], prior[places] = self.log_prior, self.prior
        return Posterior(scores, labels, log_prior, prior, self.temperature)


def classified(scoring: Scoring, found: Posterior) -> str:
    """Return the query of a classifier."""
    number, pairs = scoring.dialect.number, zip(found.scores, found.log_prior, strict=True)
    scores = [f"({score} + {number(level)})" if level else score for score, level in pairs]
    prior, names = found.prior / found.prior.sum(), probability_names(found.labels)
    return scoring.classes(scores, list(found.labels), prior, found.temperature, PREDICTION, names)


def probability_names(labels: Labels) -> dict[Any, str]:
    """Return the name of the column of each class's probability.

    Examples
    --------
    >>> probability_names(Labels(("no", "yes")))
    {'no': 'p_no', 'yes': 'p_yes'}
    """
    names = {label: f"{PROBABILITY}{label}" for label in labels}
    if len(set(names.values())) == len(names):
        return names
    return {label: f"{PROBABILITY}{place}_{label}" for place, label in enumerate(labels)}  # 1 and "1" are two classes


def scores_of(conditional: Conditional, cells: Sequence[str], dialect: Dialect, kinds: Sequence[str] = ()) -> list[str]:
    """Return log p(x | y) of each class, up to what all classes share."""
    scores = Scores(dialect)
    match conditional:
        case Product():
            parts = []
            for kind, factor in conditional.factors.items():
                own = [cell for cell, each in zip(cells, kinds, strict=True) if each == kind]
                parts.append(scores_of(factor, own, dialect))
            return scores.summed(parts)
        case Linear():
            return _linear(conditional, cells, scores)
        case Independent():
            return scores.diagonal(cells, conditional.family.mu, conditional.family.sigma2)
        case Categories():
            return scores.categories(cells, conditional.tables)
    assert isinstance(conditional, Correlated)  # texts, which are no numbers of a table, were refused before
    whitener = conditional.family.whitener
    if conditional.is_tied:  # about the centre of the means: at a large offset the plain form has no digits
        white = (conditional.family.mu - conditional.centre) @ whitener.T
        level = -0.5 * (white**2).sum(axis=1)
        return scores.linear(cells, white @ whitener, level, centre=conditional.centre)
    return scores.quadratic(cells, conditional.family.mu, whitener, conditional.log_scale)


def _linear(conditional: Linear, cells: Sequence[str], scores: Scores) -> list[str]:
    if conditional.threshold is not None:
        cut = scores.dialect.number(conditional.threshold)
        cells = [f"(case when {cell} > {cut} then 1 when {cell} is not null then 0 end)::float8" for cell in cells]
    missing = np.zeros_like(conditional.coef) if conditional.missing is None else conditional.missing
    found = scores.linear(cells, conditional.coef, conditional.level, missing)
    if conditional.veto is None:
        return found
    veto = conditional.veto
    barred = np.zeros_like(veto.coef) if veto.missing is None else veto.missing
    return scores.vetoed(found, scores.linear(cells, veto.coef, veto.level, barred))


def _columns(estimator: Any, columns: Sequence[str] | None) -> list[str]:
    """Return the columns of an estimator's features."""
    width = int(estimator.n_features_in_)
    if columns is None:
        found = getattr(estimator, "feature_names_in_", None)
        if found is None:
            raise ValueError(f"the model has {width} features without names: give columns=, one for each")
        return [str(name) for name in found]
    if len(columns) != width:
        raise ValueError(f"columns must name {width} features; got {len(columns)}")
    return list(columns)


def _number(name: str, dialect: Dialect) -> str:
    """Return a column as a number, NULL where it is NaN; an infinite one fails the query."""
    column = quoted(name)
    number = f"{column}::float8"
    refused = dialect.refusal(f"column {name!r} is ", f"{column}::text", "; it must be finite, or missing", "float8")
    return f"(case when {dialect.is_infinite(number)} then {refused} else {dialect.known(number)} end)"


def _required(cell: str, name: str, dialect: Dialect) -> str:
    """Return a number; a missing one fails the query."""
    why = ": missing cells are integrated out by predict, and not by this query; fill them in, or score rows there"
    refused = dialect.refusal(f"column {name!r} is ", f"{quoted(name)}::text", why, "float8")
    return f"coalesce({cell}, {refused})"


def _bin(cell: str, edges: FloatArray, dialect: Dialect) -> str:
    """Return the bin of a number."""
    bins = "".join(f" when {cell} < {dialect.number(edge)} then {code}" for code, edge in enumerate(edges))
    return f"(case when {cell} is null then null{bins} else {len(edges)} end)"


def _codes(conditional: Categories, cells: Iterable[str], dialect: Dialect) -> list[str]:
    """Return the codes of categories; among numbers, NaN is missing."""
    found = []
    for cell, vocabulary in zip(cells, conditional.vocabularies, strict=True):
        names = list(vocabulary)
        known = "".join(f" when {cell} = {dialect.value(label)} then {code}" for code, label in enumerate(vocabulary))
        numbers = names and all(isinstance(label, int | float) and not isinstance(label, bool) for label in names)
        missing = f"({cell} is null or {dialect.is_nan(f'{cell}::float8')})" if numbers else f"{cell} is null"
        found.append(f"case when {missing} then null{known} else {len(vocabulary)} end")
    return found


def _mixed_cells(estimator: Any, names: Sequence[str], dialect: Dialect) -> tuple[list[str], list[str]]:
    """Return what naive Bayes over a table sees of its columns, and the kind of each."""
    cells, kinds = [], []
    categories: Iterator[str] = iter(())
    factors = estimator._joint.conditional.factors
    wanted = [name for name, kind in zip(names, estimator.column_kinds_.values(), strict=True) if kind == "category"]
    if wanted:
        categories = iter(_codes(factors["category"], map(quoted, wanted), dialect))
    for name, kind in zip(names, estimator.column_kinds_.values(), strict=True):
        if kind == "text":
            raise no_words(name)
        if kind == "ignore":
            continue
        kinds.append(kind)
        if kind == "category":
            cells.append(next(categories))
        else:
            cells.append(f"{quoted(name)}::int" if kind == "boolean" else _number(name, dialect))
    return cells, kinds


def no_words(name: str) -> ValueError:
    """Return the complaint about text, whose words a database would find otherwise."""
    return ValueError(
        f"column {name!r} is text, and databases find other words in it than the model does: score rows here, with "
        "predict, or fit without the column"
    )
