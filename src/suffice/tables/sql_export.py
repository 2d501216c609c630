"""SQL export: a fitted model as a SELECT that computes the same predictions in DuckDB or PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from suffice.additive.bins import MISSING, OTHER
from suffice.additive.scorer import AdditiveScorer
from suffice.column_kinds import TRUTHS
from suffice.generative.conditional import Conditional, Linear
from suffice.generative.correlated import Correlated
from suffice.generative.event_models import Categories
from suffice.generative.independent import Independent
from suffice.generative.joint import Joint
from suffice.generative.product import Product
from suffice.kernels.sql.dialect import Dialect, dialect_of, quoted, quoted_path
from suffice.kernels.sql.scores import Scores, Scoring, unused_prefix
from suffice.statistics import Labels
from suffice.statistics.base import FloatArray
from suffice.tables.cells import missing_numbers
from suffice.tables.design_matrix import Levels, Words
from suffice.tables.encoding import encode_values
from suffice.tables.errors import TableError, time_of_day_error
from suffice.tables.number_format import MARKS
from suffice.tables.predictors.additive import AdditivePredictor
from suffice.tables.predictors.linear import LinearPredictor
from suffice.tables.predictors.naive_bayes import NaiveBayesPredictor
from suffice.tables.predictors.scorers import LinearMean, LinearScores, Scorer, scorer_of
from suffice.tables.pushdown.columns import date_part_numbers, sql_date_part, term_columns
from suffice.tables.schema import Feature, Field, Schema

#: Name of the prediction column, and prefix of the probability columns.
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
    """Return a SELECT that computes the predictions of a fitted estimator.

    Parameters
    ----------
    estimator
        Naive Bayes (Gaussian, Bernoulli, multinomial, Poisson, categorical), a Gaussian discriminant, a linear,
        logistic or softmax regression, a generalised linear model, an additive model, or a model of a table.
    table
        The name of the table; it is quoted. It may include a schema: ``shop.visits`` or ``"My Shop"."visits"``. A name
        with a dot is written in double quotes.
    columns
        The column of each feature; by default the feature names of the estimator.
    dialect
        "duckdb" or "postgresql".
    keep
        Columns to copy to the result, such as a key.

    Returns
    -------
    str
        The query. Its columns are ``prediction`` and, for classifiers, ``p_<class>`` for each class, with the values of
        ``predict_proba``.

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
    from sklearn.utils.validation import check_is_fitted

    check_is_fitted(estimator)
    names = _columns(estimator, columns)
    spoken = dialect_of(dialect)
    conditional = getattr(getattr(estimator, "joint_", None), "conditional", None)
    steps: list[list[tuple[str, str]]] = []
    kinds: list[str]
    scorer = scorer_of(estimator)
    if isinstance(scorer, AdditiveScorer):
        places = [f"{unused_prefix(keep)}b{j}" for j in range(len(names))]
        read, binned = [], []
        for name, place, bins in zip(names, places, scorer.columns, strict=True):
            if bins.edges is None:
                read.append((_level_bin(name, bins.levels or (), spoken), place))
                binned.append((place, place))
            else:
                read.append((_number(name, spoken), place))
                binned.append((number_bin(place, bins.edges, spoken), place))
        steps += [read, binned]
        cells, kinds = additive_cells(scorer, places, spoken), []
    elif isinstance(conditional, Product):
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
    return estimator_query(estimator, scoring, kinds)


def estimator_query(estimator: Any, scoring: Scoring, kinds: Sequence[str] = (), among: Labels | None = None) -> str:
    """Return the query of an estimator.

    Parameters
    ----------
    estimator
        A fitted estimator.
    scoring
        The table, and the features of a row.
    kinds
        The kind of each feature, if there are several kinds.
    among
        All classes, if the estimator has only some of them.
    """
    scorer = scorer_of(estimator)
    if isinstance(scorer, Joint | LinearScores | LinearMean | AdditiveScorer):
        return scorer_query(scorer, scoring, kinds, among)
    if hasattr(estimator, "_linear"):
        targets = len(estimator._linear()[0])
        raise ValueError(f"a regression of {targets} targets cannot be written as one SELECT: fit one for each")
    raise ValueError(f"{type(estimator).__name__} cannot be written as a SELECT: use predict")


def scorer_query(scorer: Scorer, scoring: Scoring, kinds: Sequence[str] = (), among: Labels | None = None) -> str:
    """Return the query of a scorer; the parameters are those of :func:`estimator_query`."""
    spoken, names = scoring.dialect, scoring.names()
    if isinstance(scorer, LinearMean):
        (predictor,) = Scores(spoken).linear(names, scorer.coef[None, :], np.array([scorer.intercept]))
        return scoring.numbers(predictor, scorer.link, PREDICTION)
    if isinstance(scorer, AdditiveScorer):
        return _additive_query(scorer, scoring, among)
    if isinstance(scorer, Joint):
        scores = class_scores(scorer.conditional, names, spoken, kinds)
        overflows = _may_overflow(scorer.conditional)
        found = Posterior(scores, scorer.labels, scorer.log_prior, scorer.prior, scorer.temperature, overflows)
    else:
        assert isinstance(scorer, LinearScores)
        k = len(scorer.coef)
        scores = Scores(spoken).linear(names, scorer.coef, scorer.intercept)
        found = Posterior(scores, scorer.labels, np.zeros(k), np.full(k, 1 / k), 1.0)
    return classifier_query(scoring, found.among(among, spoken))


def _additive_query(scorer: AdditiveScorer, scoring: Scoring, among: Labels | None) -> str:
    """Return the query of an additive model, whose features are the cells of its terms."""
    dialect, names, k = scoring.dialect, scoring.names(), len(scorer.labels)
    scores = Scores(dialect).lookups(names, [term.cell_values() for term in scorer.terms], scorer.intercept)
    if not k:
        return scoring.numbers(scores[0], scorer.link, PREDICTION)
    scores = [dialect.number(0), *scores] if k == 2 else scores
    return classifier_query(
        scoring, Posterior(scores, scorer.labels, np.zeros(k), np.full(k, 1 / k), 1.0).among(among, dialect)
    )


def additive_cells(scorer: AdditiveScorer, bins: Sequence[str], dialect: Dialect) -> list[str]:
    """Return the cell of each term, given the names of the bins of each column."""
    found = []
    for term in scorer.terms:
        fitted = term.fitted
        if fitted.right is None or fitted.right_cell is None:
            found.append(bins[fitted.left])
            continue
        sides = ((fitted.left, fitted.left_cell), (fitted.right, fitted.right_cell))
        places = [dialect.lookup(cells[: len(scorer.columns[at])].tolist(), bins[at]) for at, cells in sides]
        found.append(f"({' + '.join(places)})::int")
    return found


def _level_bin(name: str, levels: Sequence[str], dialect: Dialect) -> str:
    """Return the bin of a category's level, which a cell has as text."""
    for level in levels:
        if level in ("True", "False") or _is_written_otherwise(level):
            raise ValueError(
                f"column {name!r} has the level {level!r}, which databases write in another way: fit it as strings "
                "without numbers and booleans, or fit TableModel('additive')"
            )
    cell = _trimmed(f"{quoted(name)}::{'varchar' if dialect.name == 'duckdb' else 'text'}", dialect)
    known = "".join(
        f" when {dialect.string(level)} then {code + 2}"
        for code, level in enumerate(levels)
        if _is_possible(level, dialect)
    )
    among = f"case {cell}{known} else {OTHER} end" if known else str(OTHER)
    return f"case when {quoted(name)} is null then {MISSING} else {among} end"


def number_bin(cell: str, edges: FloatArray, dialect: Dialect) -> str:
    """Return the bin of a number: nested cases that halve the edges; 0 for a missing cell."""

    def search(low: int, high: int) -> str:
        if low == high:
            return str(low + 1)
        middle = (low + high) // 2
        edge = dialect.number(edges[middle])
        return f"case when {cell} < {edge} then {search(low, middle)} else {search(middle + 1, high)} end"

    return f"case when {cell} is null then {MISSING} else {search(0, len(edges))} end"


class Posterior(NamedTuple):
    """Class scores of a classifier as SQL expressions."""

    scores: list[str]  # score of each class, without its prior
    labels: Labels
    log_prior: FloatArray  # (k,)
    prior: FloatArray  # (k,)
    temperature: float
    refuses_overflow: bool = False  # whether a row whose scores are all -inf is too far off, and not impossible

    def among(self, labels: Labels | None, dialect: Dialect) -> Posterior:
        """Return the same with further classes, which have no rows and are never predicted."""
        if labels is None or labels == self.labels:
            return self
        places = labels.positions(self.labels)
        scores = [dialect.number(-np.inf)] * len(labels)
        log_prior, prior = np.zeros((2, len(labels)))
        for place, score in zip(places, self.scores, strict=True):
            scores[place] = score
        log_prior[places], prior[places] = self.log_prior, self.prior
        return Posterior(scores, labels, log_prior, prior, self.temperature, self.refuses_overflow)


def classifier_query(scoring: Scoring, found: Posterior) -> str:
    """Return the query of a classifier."""
    number, pairs = scoring.dialect.number, zip(found.scores, found.log_prior, strict=True)
    scores = [f"({score} + {number(level)})" if level else score for score, level in pairs]
    prior, names = found.prior / found.prior.sum(), probability_names(found.labels)
    labels = list(found.labels)
    return scoring.classes(scores, labels, prior, found.temperature, PREDICTION, names, found.refuses_overflow)


def probability_names(labels: Labels) -> dict[Any, str]:
    """Return the name of the probability column of each class.

    Examples
    --------
    >>> probability_names(Labels(("no", "yes")))
    {'no': 'p_no', 'yes': 'p_yes'}
    """
    names = {label: f"{PROBABILITY}{label}" for label in labels}
    if len(set(names.values())) == len(names):
        return names
    return {label: f"{PROBABILITY}{place}_{label}" for place, label in enumerate(labels)}  # 1 and "1" differ


def _may_overflow(conditional: Conditional) -> bool:
    """Whether scores that are all -inf are squared distances that overflow, and not probabilities of 0."""
    match conditional:
        case Product():
            return not _has_zeros(conditional) and any(map(_may_overflow, conditional.factors.values()))
        case Independent():
            return True
        case Correlated():
            return not conditional.is_tied
    return False


def _has_zeros(conditional: Product) -> bool:
    """Whether a class can be impossible: then it is the scores of the numbers alone that say whether they overflow."""
    parts = conditional.factors.values()
    return any(isinstance(part, Linear) and part.veto is not None for part in parts) or any(
        np.isneginf(table).any() for part in parts if isinstance(part, Categories) for table in part.tables
    )


def class_scores(
    conditional: Conditional, cells: Sequence[str], dialect: Dialect, kinds: Sequence[str] = ()
) -> list[str]:
    """Return log p(x | y) of each class, up to a constant that all classes share."""
    scores = Scores(dialect)
    match conditional:
        case Product():
            parts = []
            for kind, factor in conditional.factors.items():
                own = [cell for cell, each in zip(cells, kinds, strict=True) if each == kind]
                part = class_scores(factor, own, dialect)
                refuses = isinstance(factor, Independent) and _has_zeros(conditional)
                parts.append(scores.refusing_overflow(part) if refuses else part)
            return scores.summed(parts)
        case Linear():
            return _linear(conditional, cells, scores)
        case Independent():
            return scores.diagonal(cells, conditional.family.mu, conditional.family.sigma2)
        case Categories():
            return scores.categories(cells, conditional.tables)
    assert isinstance(conditional, Correlated)  # text columns were refused before
    whitener = conditional.family.whitener
    if conditional.is_tied:  # centred at the mean of the class means: at a large offset, uncentred scores lose digits
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
    """Return the columns of the features of an estimator."""
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
    """Return a column as a number, NULL for NaN; an infinite number fails the query."""
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
    """Return the features of naive Bayes over a table, and the kind of each."""
    cells, kinds = [], []
    categories: Iterator[str] = iter(())
    factors = estimator.joint_.conditional.factors
    wanted = [name for name, kind in zip(names, estimator.column_kinds_.values(), strict=True) if kind == "category"]
    if wanted:
        categories = iter(_codes(factors["category"], map(quoted, wanted), dialect))
    for name, kind in zip(names, estimator.column_kinds_.values(), strict=True):
        if kind == "text":
            raise text_error(name)
        if kind == "ignore":
            continue
        kinds.append(kind)
        if kind == "category":
            cells.append(next(categories))
        else:
            cells.append(_truth(name, dialect) if kind == "boolean" else _number(name, dialect))
    return cells, kinds


def _truth(name: str, dialect: Dialect) -> str:
    """Return a boolean, a number or a truth word as 0 or 1; NULL for anything else."""
    words = [
        ", ".join(dialect.string(word) for word in (*words, f"{value}.0"))
        for value, words in enumerate(zip(*TRUTHS, strict=True))
    ]
    cell = f"lower(trim({quoted(name)}::text))"
    return f"(case when {cell} in ({words[1]}) then 1 when {cell} in ({words[0]}) then 0 end)"


def text_error(name: str) -> ValueError:
    """Return the error about a text column, which a database would tokenise differently."""
    return ValueError(
        f"column {name!r} is text, which databases tokenise differently from the model: use "
        "predict, or fit without the column"
    )


# Models of tables.

#: Conditions on the type ``{k}`` of a column, by database. PostgreSQL's decimals are read as floats.
_TYPES = {
    "duckdb": {
        "truth": "{k} = 'BOOLEAN'",
        "whole": "({k} in ('TINYINT', 'SMALLINT', 'INTEGER', 'BIGINT', 'HUGEINT', 'UTINYINT', 'USMALLINT', 'UINTEGER', "
        "'UBIGINT', 'UHUGEINT') or regexp_full_match({k}, 'DECIMAL.*,0.'))",
        "float": "({k} in ('FLOAT', 'DOUBLE') or starts_with({k}, 'DECIMAL'))",
        "date": "{k} = 'DATE'",
        "moment": "starts_with({k}, 'TIMESTAMP')",
        "name": "({k} in ('VARCHAR', 'UUID', 'JSON') or starts_with({k}, 'ENUM'))",
    },
    "postgresql": {
        "truth": "{k} = 'boolean'::regtype",
        "whole": "{k} in ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype)",
        "float": "{k} in ('real'::regtype, 'float8'::regtype, 'numeric'::regtype, 'money'::regtype)",
        "date": "{k} = 'date'::regtype",
        "moment": "{k} in ('timestamp'::regtype, 'timestamptz'::regtype)",
        "name": "({k} in ('text'::regtype, 'varchar'::regtype, 'bpchar'::regtype) or {k} not in ('boolean'::regtype, "
        "'smallint'::regtype, 'integer'::regtype, 'bigint'::regtype, 'real'::regtype, 'float8'::regtype, "
        "'numeric'::regtype, 'money'::regtype, 'date'::regtype, 'timestamp'::regtype, 'timestamptz'::regtype, "
        "'time'::regtype, 'timetz'::regtype, 'interval'::regtype, 'bytea'::regtype) and right({k}::text, 2) <> '[]')",
    },
}
#: Patterns of numbers and dates in strings that the reader accepts.
_NUMBER = "[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|[+-]?([nN][aA][nN]|[iI][nN][fF]([iI][nN][iI][tT][yY])?)"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?)?"
_ZONED = "[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,9})?)?(Z|[+-][0-9]{2}(:?[0-9]{2})?)"
#: ASCII blanks, and other blanks of Unicode.
_BLANKS = " \t\n\v\f\r\x1c\x1d\x1e\x1f"
_OTHER_BLANKS = (
    "\x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000"
)
#: Integers below this are cast to bigint.
_BIGINT = 9e18


class _Cell(NamedTuple):
    """SQL expressions of a cell."""

    string: str
    type: str
    number: str  # NULL if it is not a number
    plain: str  # NULL if the cell is NULL


@dataclass(frozen=True)
class SqlCells:
    """Features of a fitted model as SQL expressions, for columns of any type.

    The types of the table's columns are unknown when the SELECT is written: numbers may be strings, booleans may be
    words. So each column is cast to a string, with its type beside it, and parsed as :mod:`suffice.tables.encoding`
    does. A cell that the reader refuses fails the query, with the column's name.

    Parameters
    ----------
    schema The schema of the model. dialect
        The SQL dialect.
    prefix
        Prefix of names within the query.
    levels
        Known categories by feature.
    """

    schema: Schema
    dialect: Dialect
    prefix: str = "m_"
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def steps(self, columns: Iterable[str]) -> list[list[tuple[str, str]]]:
        """Return the subqueries from the columns of the table to their values, each a list of expressions and names.

        DuckDB knows the types when it plans, and simplifies the expressions: one subquery is enough. PostgreSQL
        computes strings and types in the first, and numbers in the second.
        """
        strings: list[tuple[str, str]] = []
        numbers: list[tuple[str, str]] = []
        values: list[tuple[str, str]] = []
        for column in columns:
            own = self.schema.field(column)
            cell = _Cell(self._string(own), self._type(column), f"try_cast({quoted(column)} as double)", quoted(column))
            if self.dialect.name == "postgresql":
                x, k, n = (self._name(letter, column) for letter in "xkn")
                strings += [(cell.string, x), (cell.type, k)]
                numbers += [(x, x), (k, k)]
                cell = _Cell(x, k, n, x)
                if own.kind != "date":
                    numbers.append((self._parsed(cell), n))
            else:
                cell = cell._replace(number=self._parsed(cell))
            values.append((self._value(own, cell), self._name("v", column)))
        return [step for step in (strings, numbers, values) if step]

    def _name(self, letter: str, column: str) -> str:
        place = next(place for place, each in enumerate(self.schema.fields) if each.name == column)
        return f"{self.prefix}{letter}{place}"

    def _is(self, k: str, *types: str) -> str:
        """Return the condition that the type of a column is one of a list."""
        conditions = [_TYPES[self.dialect.name][each].format(k=k) for each in types]
        return conditions[0] if len(conditions) == 1 else f"({' or '.join(conditions)})"

    # Subqueries.

    def _type(self, column: str) -> str:
        return f"{'typeof' if self.dialect.name == 'duckdb' else 'pg_typeof'}({quoted(column)})"

    def _string(self, own: Field) -> str:
        """Return a column as strings, compared byte by byte; dates as ISO 8601, whatever the session's date style."""
        column = quoted(own.name)
        if self.dialect.name == "duckdb":
            return f"({column}::varchar collate c)"
        dates = f"to_json({column}) #>> '{{}}'"
        if own.kind == "date":
            return f'({dates}) collate "C"'
        if own.kind == "category":
            is_date = self._is(self._type(own.name), "date")
            return f'(case when {is_date} then {dates} else {column}::text end) collate "C"'
        return f'({column}::text) collate "C"'

    def _trimmed(self, cell: _Cell) -> str:
        return _trimmed(cell.string, self.dialect)

    def _matches(self, t: str, pattern: str) -> str:
        if self.dialect.name == "duckdb":
            return f"regexp_full_match({t}, '{pattern}')"
        return f"{t} ~ '^({pattern})$'"

    def _parsed(self, cell: _Cell) -> str:
        """Return a cell as a number; NULL if it is not one."""
        t, k = self._trimmed(cell), cell.type
        number = f"{self._is(k, 'name')} and {self._matches(t, _NUMBER)}"
        if self.dialect.name == "duckdb":
            plain = self._is(k, "truth", "whole", "float")
            return f"(case when {plain} then {cell.number} when {number} then try_cast({t} as double) end)"
        x = cell.string
        return (
            f"case when {k} = 'real'::regtype then {x}::real::float8 when {k} = 'money'::regtype then "
            f"{x}::money::numeric::float8 when {self._is(k, 'whole', 'float')} then {x}::float8 "
            f"when {self._is(k, 'truth')} then {x}::boolean::int::float8 when {number} then {t}::float8 end"
        )

    def _is_gap(self, t: str) -> str:
        gaps = ", ".join(
            self.dialect.string(gap)
            for gap in dict.fromkeys(["", *self.schema.missing])
            if _is_possible(gap, self.dialect)
        )
        return f"{t} in ({gaps})"

    def _value(self, own: Field, cell: _Cell) -> str:
        """Return the value of a cell: a number, a name, or a timestamp in UTC; NULL for a missing cell."""
        if own.kind == "category":
            return self._named(own, cell)
        gap = f"{self._is(cell.type, 'name')} and {self._is_gap(self._trimmed(cell))}"
        marks_of_numbers = ", ".join(map(self.dialect.string, MARKS))
        gap_of_numbers = f"{self._is(cell.type, 'name')} and lower({self._trimmed(cell)}) in ({marks_of_numbers})"
        missing = [f"{cell.plain} is null", gap, *([gap_of_numbers] if own.kind in ("numeric", "count") else [])]
        if own.kind == "date":
            return f"case when {' or '.join(missing)} then null {self._moment(own, cell)} end"
        marks = missing_numbers(self.schema.missing)
        missing += [
            self.dialect.is_nan(cell.number),
            *(f"{cell.number} = {self.dialect.number(mark)}" for mark in marks),
        ]
        cases = self._truth(own, cell) if own.kind == "boolean" else self._number(own, cell)
        return f"case when {' or '.join(missing)} then null {cases} end"

    def _refused(self, own: Field, before: str, cell: _Cell, after: str, kind: str = "float8") -> str:
        return self.dialect.refusal(f"column {own.name!r} {before}", cell.string, after, kind)

    def _number(self, own: Field, cell: _Cell) -> str:
        n = cell.number
        no_number = self._refused(own, "must hold numbers, and holds ", cell, ": correct the cell, or leave it empty")
        too_large = self._refused(own, "is ", cell, "; it must be finite, or missing")
        cases = [f"when {n} is null then {no_number}", f"when {self.dialect.is_infinite(n)} then {too_large}"]
        if own.kind == "count":
            no_count = self._refused(own, "is ", cell, ", which is not a count")
            cases.append(f"when {n} < 0 or {n} <> floor({n}) then {no_count}")
        return f"{' '.join(cases)} else {n}"

    def _truth(self, own: Field, cell: _Cell) -> str:
        written = own.truth or ("false", "true")
        numbers, names = self._is(cell.type, "truth", "whole", "float"), self._is(cell.type, "name")
        pairs = TRUTHS if own.type == "truth" else (written,)  # booleans have no spelling
        cases = []
        for value in (0, 1):
            words = ", ".join(self.dialect.string(pair[value].casefold()) for pair in pairs)
            cases.append(
                f"when {numbers} and {cell.number} = {value} or {names} and lower({self._trimmed(cell)}) in ({words}) "
                f"then {self.dialect.number(value)}"
            )
        cure = f", neither {written[0]!r} nor {written[1]!r}"
        return f"{' '.join(cases)} else {self._refused(own, 'is ', cell, cure)}"

    def _named(self, own: Field, cell: _Cell) -> str:
        """Return the category name of a cell, as :func:`suffice.tables.encoding.encode_values` does."""
        x, k, n, plain = cell
        text = "varchar" if self.dialect.name == "duckdb" else "text"
        infinite = self.dialect.number(np.inf)
        known = self.levels.get(own.name, ())
        odd = next((level for level in known if _is_written_otherwise(level)), None)
        words = {level.casefold(): level for level in known}
        pair = next((pair for pair in TRUTHS if set(pair) == set(words)), None)
        truth = x
        if pair is not None and own.type == "name":
            no, yes = (self.dialect.string(words[word]) for word in pair)
            truth = f"case when {x} = 'true' then {yes} else {no} end"
        numbers = [
            f"when {self._is(k, 'whole')} then {x}",
            f"when {self._is(k, 'float')} then case when {self.dialect.is_nan(n)} then 'nan' "
            f"when {n} = {infinite} then 'inf' when {n} = -{infinite} then '-inf' "
            f"when {n} = floor({n}) and abs({n}) < {self.dialect.number(_BIGINT)} then {n}::bigint::{text} "
            f"else {n}::{text} end",
        ]
        if odd is not None:
            cure = f", a number, and the model was fitted to strings such as {odd!r}: cast it to them"
            numbers = [f"when {self._is(k, 'whole', 'float')} then {self._refused(own, 'holds ', cell, cure, text)}"]
        cure = ", of a type that names no category: cast it to a string as the model was fitted to"
        return (
            f"case when {plain} is null then null when {self._is(k, 'name', 'date')} then {self._trimmed(cell)} "
            f"when {self._is(k, 'truth')} then {truth} {' '.join(numbers)} "
            f"else {self._refused(own, 'holds ', cell, cure, text)} end"
        )

    def _moment(self, own: Field, cell: _Cell) -> str:
        """Return a date in UTC, without a time zone."""
        t = self._trimmed(cell)
        cure = ", which is not a date: write dates as 2024-12-31, or leave the cell empty"
        refused = self._refused(own, "holds ", cell, cure, "timestamp")
        plain, zoned = f"{t}::timestamp", f"({t}::timestamptz at time zone 'UTC')"
        if self.dialect.name == "duckdb":
            plain = f"coalesce(try_cast({t} as timestamp), {refused})"
            zoned = f"coalesce(make_timestamp(epoch_us(try_cast({t} as timestamptz))), {refused})"
        return (
            f"when not {self._is(cell.type, 'name', 'date', 'moment')} then {refused} "
            f"when {self._matches(t, _DATE)} then {plain} when {self._matches(t, _ZONED)} then {zoned} else {refused}"
        )

    # Features.

    def _cell(self, feature: Feature) -> str:
        value = self._name("v", feature.column)
        return value if feature.part is None else sql_date_part(value, feature.part, self.dialect)

    def known_number(self, feature: Feature) -> str:
        """Return a feature as a number, NULL for a missing cell."""
        return self._cell(feature)

    def is_missing(self, feature: Feature) -> str:
        """Return the condition that a cell is missing."""
        cell = self._name("v", feature.column)
        if feature.part is None and feature.kind == "category":
            return f"({cell} is null or {self._is_gap(cell)})"
        return f"{cell} is null"

    def _level(self, feature: Feature, level: str) -> str | None:
        """Return a name as an SQL literal; None for a name that no cell can have."""
        if feature.part is not None:
            number = date_part_numbers(feature.part).get(level)
            return None if number is None else str(number)
        return self.dialect.string(level) if _is_possible(level, self.dialect) else None

    def is_level(self, feature: Feature, level: str) -> str:
        """Return the condition that a cell has a name."""
        value = self._level(feature, level)
        return "false" if value is None else f"{self._cell(feature)} = {value}"

    def code(self, feature: Feature, names: Sequence[Any]) -> str:
        """Return the code of a cell's name; the number of names for an unknown one."""
        values = [(self._level(feature, str(name)), code) for code, name in enumerate(names)]
        known = " ".join(f"when {value} then {code}" for value, code in values if value is not None)
        among = f"case {self._cell(feature)} {known} else {len(names)} end" if known else str(len(names))
        return f"case when {self.is_missing(feature)} then null else {among} end"


def _trimmed(x: str, dialect: Dialect) -> str:
    """Return a string without blanks around it."""
    if dialect.name == "duckdb":
        return f"trim({x}, {dialect.string(_BLANKS + _OTHER_BLANKS)})"
    # Most strings are ASCII, for which btrim is faster. The pattern works in every encoding.
    blanks = "[\\s\\x1c-\\x1f\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]+"
    pattern = dialect.string(f"^{blanks}|{blanks}$")
    return (
        f"(case when octet_length({x}) = length({x}) then btrim({x}, {dialect.string(_BLANKS)}) "
        f"else regexp_replace({x}, {pattern}, '', 'g') end)"
    )


def _is_possible(name: str, dialect: Dialect) -> bool:
    """Whether a string of the database can contain a name."""
    return dialect.name == "duckdb" or "\0" not in name


def _is_written_otherwise(level: str) -> bool:
    """Whether a name is a number in another notation than the reader's: 01, or 1.0."""
    for read in (int, float):
        try:
            return encode_values([read(level)]).vocabulary.names != (level,)
        except ValueError:
            continue
    return False


def table_query(model: Any, dialect: str, table: str, keep: Sequence[str] = ()) -> str:
    """Return a SELECT that computes the predictions of a TableModel."""
    spoken, schema, predictor = dialect_of(dialect), model.schema_, model.predictor_
    _check_names(keep, model)
    if isinstance(predictor, NaiveBayesPredictor):
        levels = predictor.inner.levels()
        used = schema.features
    elif isinstance(predictor, LinearPredictor):
        terms = {term.feature: term for term in predictor.design.terms if not isinstance(term, Words) or term.words}
        levels = {name: term.levels for name, term in terms.items() if isinstance(term, Levels)}
        used = tuple(feature for feature in predictor.design.features if feature.name in terms)
    elif isinstance(predictor, AdditivePredictor):
        used = tuple(
            feature for feature in predictor.features if feature.kind != "text" or feature.name in predictor.words
        )
        levels = {str(bins.name): bins.levels for bins in predictor.binned if bins.levels is not None}
    else:
        raise TableError(f"the model {predictor.model_type.name!r} cannot be written as a SELECT: use predict")
    _check_features(used, schema)
    cells = SqlCells(schema, spoken, unused_prefix(keep), levels)
    steps = cells.steps(dict.fromkeys(feature.column for feature in used))
    if isinstance(predictor, NaiveBayesPredictor):
        expressions, kinds = _described(predictor, cells), [feature.kind for feature in used]
    elif isinstance(predictor, AdditivePredictor):
        more, names = _binned(predictor, cells, used)
        steps += more
        expressions, kinds = additive_cells(predictor.additive, names, spoken), []
    else:
        expressions, kinds = _designed(predictor, cells), []
    scoring = Scoring(spoken, quoted_path(table, spoken), expressions, tuple(keep), steps)
    assert predictor.scorer is not None
    query = scorer_query(predictor.scorer, scoring, kinds, model._labels)
    return query if model._decision is None else _apply_threshold(query, model, spoken, keep)


def _apply_threshold(query: str, model: Any, spoken: Dialect, keep: Sequence[str]) -> str:
    """Return a query whose prediction is the positive one of two classes if its probability is at least a threshold."""
    labels, decision = model._labels, model._decision
    if len(labels) != 2:
        raise TableError(f"a threshold for one of {len(labels)} classes cannot be written as a SELECT: use predict")
    names, positive, other = (
        probability_names(labels),
        labels.names[decision.positive],
        labels.names[1 - decision.positive],
    )
    chosen = (
        f"case when {quoted(names[positive])} >= {spoken.number(decision.threshold)} then {spoken.value(positive)} "
        f"else {spoken.value(other)} end as {quoted(PREDICTION)}"
    )
    columns = [*map(quoted, keep), chosen, *map(quoted, names.values())]
    return f"select {', '.join(columns)}\nfrom (\n{query}\n) as scored"


def _check_names(keep: Sequence[str], model: Any) -> None:
    """Raise if a kept column has the name of a result column."""
    made = {PREDICTION, *probability_names(model._labels).values()}
    clash = [name for name in keep if name in made]
    if clash:
        raise TableError(f"the column {clash[0]!r} cannot be kept: the query makes one of that name; leave it out")


def _check_features(features: Sequence[Feature], schema: Schema) -> None:
    """Raise if a database would read a column differently from :mod:`suffice.tables.encoding`."""
    for feature in features:
        if feature.kind == "text":
            raise TableError(str(text_error(feature.column)))
        if schema.field(feature.column).is_time_of_day:
            raise time_of_day_error(feature.column)
        notation = schema.field(feature.column).format
        if notation is not None and (notation.describe() or notation.missing):
            raise TableError(
                f"column {feature.column!r} is a string with numbers ({notation.describe() or 'and other strings'}), "
                "which databases read differently: use predict, or convert the column to numbers and fit again"
            )
        if feature.kind == "category" and feature.part is None and schema.field(feature.column).type == "moment":
            raise TableError(
                f"column {feature.column!r} is a category of timestamps, which databases write differently: "
                "use predict, or fit it as a date"
            )


def _described(predictor: NaiveBayesPredictor, cells: SqlCells) -> list[str]:
    """Return the features of naive Bayes."""
    conditional: Any = predictor.inner.joint_.conditional
    factors = conditional.factors
    names = iter(factors["category"].vocabularies) if "category" in factors else iter(())
    return [
        cells.code(feature, tuple(next(names))) if feature.kind == "category" else cells.known_number(feature)
        for feature in cells.schema.features
    ]


def _binned(
    predictor: AdditivePredictor, cells: SqlCells, features: Sequence[Feature]
) -> tuple[list[list[tuple[str, str]]], list[str]]:
    """Return the steps that compute the bins of features, and the names of these."""
    cells_step, bins_step, names = [], [], []
    for at, (feature, bins) in enumerate(zip(features, predictor.binned, strict=True)):
        name = f"{cells.prefix}b{at}"
        if bins.edges is not None:
            cells_step.append((cells.known_number(feature), name))
            bins_step.append((number_bin(name, bins.edges, cells.dialect), name))
        else:
            levels = bins.levels or ()
            known = "".join(f" when {code} then {code + 2}" for code in range(len(levels)))
            code = f"case {cells.code(feature, levels)}{known} when {len(levels)} then {OTHER} else {MISSING} end"
            cells_step.append((code, name))
            bins_step.append((name, name))
        names.append(name)
    return [cells_step, bins_step], names


def _designed(predictor: LinearPredictor, cells: SqlCells) -> list[str]:
    """Return the columns of a design matrix."""
    features = {feature.name: feature for feature in predictor.design.features}
    return [
        expression
        for term in predictor.design.terms
        if not isinstance(term, Words)  # a text without words adds no column
        for expression in term_columns(term, features[term.feature], cells)[0]
    ]
