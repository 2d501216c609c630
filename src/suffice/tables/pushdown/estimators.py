"""Estimators that are a reading of a sum, fitted to a table that stays in its database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

import numpy as np

from suffice.discriminative import LinearRegression
from suffice.generative import CategoricalNB
from suffice.generative.base import GenerativeClassifier, is_auto
from suffice.kernels import Batch
from suffice.kernels.sql.dialect import Database, existing_path, quoted
from suffice.kernels.sql.engine import Expression, Relation, SqlEngine
from suffice.statistics import Labels, NamedCategoryCounts, NormalEquations

E = TypeVar("E")


def fit_in_database(
    estimator: E,
    connection: Any,
    table: str,
    columns: Sequence[str],
    target: str,
    *,
    weight: str | None = None,
    dialect: str | None = None,
) -> E:
    """Fit an estimator to a table of DuckDB or PostgreSQL: sums come out of the database, rows do not.

    Parameters
    ----------
    estimator
        Naive Bayes (Gaussian, Bernoulli, multinomial, complement, Poisson, categorical), a Gaussian discriminant, or a
        linear regression. Settings that are chosen by rows held out must be given.
    connection
        An open connection; nothing is written through it.
    table
        The name of the table, also of a temporary or registered one; it is quoted, as all names are. Its schema may
        stand before it, as in ``shop.visits`` or ``"My Shop"."visits"``.
    columns
        The features.
    target
        The column that is predicted. Rows without one are left out.
    weight
        The column of weights, if there is one.
    dialect
        "duckdb" or "postgresql", where the connection's library does not tell.

    Returns
    -------
    estimator
        The same one, fitted.

    Examples
    --------
    >>> import duckdb
    >>> import pandas as pd
    >>> from suffice import GaussianNB
    >>> connection = duckdb.connect()
    >>> _ = connection.execute("create table t as select i % 2 = 1 as odd, i + 20 * (i % 2) as x from range(20) r(i)")
    >>> model = fit_in_database(GaussianNB(), connection, "t", ["x"], "odd")
    >>> model.predict(pd.DataFrame({"x": [3.0, 25.0]}))
    array([False,  True])
    """
    engine = SqlEngine(connection, dialect)
    known = f"(select * from {existing_path(table, engine.database)} where {quoted(target)} is not null) as data"
    ((rows,),) = engine.database.ask(f"select count(*) from {known}")
    x = Relation(known, tuple(map(quoted, columns)), int(rows), names=tuple(columns))
    mass = None if weight is None else Expression(quoted(weight), int(rows))
    model: Any = estimator
    if isinstance(model, LinearRegression):
        _check(model, model.solver == "normal" and model.covariance == "classical" and model.l1 == 0)
        with model._learning(anew=True):
            sums = engine.accumulate(NormalEquations.over(), Batch(x, Expression(quoted(target), int(rows)), mass))
            _named(model, columns)
            model._one_target = True
            model._forget_the_rows()
            model._remember(sums)
        return estimator
    if not isinstance(model, GenerativeClassifier):
        raise TypeError(
            f"{type(model).__name__} is no reading of a sum: it goes through rows again and again; read them first"
        )
    chosen_by_rows = any(is_auto(getattr(model, name)) for name in (*model._tuned, "temperature"))
    _check(
        model, not chosen_by_rows and getattr(model, "missing", None) is None and getattr(model, "bins", None) is None
    )
    with model._learning(anew=True):
        labels, code = _classes(engine.database, known, target)
        batch = Batch(x, Expression(code, int(rows)), mass)
        if isinstance(model, CategoricalNB):
            statistics: Any = _categories(engine, batch, labels)
        else:
            statistics = engine.accumulate(model._summariser(labels), batch)
        _named(model, columns)
        model._chosen = {}
        model._remember(labels, np.array(labels.names), statistics)
        _ = model._joint  # what cannot be read from the sum is said now
    return estimator


def _check(model: Any, plain: bool) -> None:
    if not plain:
        raise ValueError(
            f"{type(model).__name__} has settings that need the rows themselves (what is 'auto', l1, robust errors, "
            "bins, EM): give plain ones, or read the rows first"
        )


def _named(model: Any, columns: Sequence[str]) -> None:
    model.n_features_in_ = len(columns)
    model.feature_names_in_ = np.array(list(columns), dtype=object)


def _classes(database: Database, source: str, target: str) -> tuple[Labels, str]:
    """Return the classes that a column holds, and an expression of their codes."""
    column = quoted(target)
    cells = [cell for (cell,) in database.ask(f"select distinct {column} from {source}")]
    labels = Labels.of(cells)
    cases = [f"when {database.dialect.value(cell)} then {code}" for code, cell in enumerate(labels)]
    if not cases:
        raise ValueError(f"no row has a target in {target!r}: there is nothing to learn from")
    return labels, f"case {column} {' '.join(cases)} end"


def _categories(engine: SqlEngine, batch: Batch, labels: Labels) -> NamedCategoryCounts:
    """Return the counts of the names of each column; NULL is a missing cell."""
    kernels: Any = engine.kernels
    counts, vocabularies = [], []
    for groups in kernels.groups(batch, len(labels)):
        known = [(code, value, weight) for code, value, weight in groups if value is not None and value == value]
        names = Labels.of([value for _, value, _ in known])
        places = {name: place for place, name in enumerate(names)}
        table = np.zeros((len(labels), len(names)))
        for code, value, weight in known:
            table[code, places[value]] += weight
        counts.append(table)
        vocabularies.append(names)
    return NamedCategoryCounts(
        labels, kernels.class_weights(batch, len(labels)), np.hstack(counts), tuple(vocabularies)
    )
