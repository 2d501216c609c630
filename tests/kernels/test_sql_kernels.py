"""Sums inside DuckDB and PostgreSQL: each must agree with the oracle, and refuse in the words of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from suffice.families.links import by_name
from suffice.kernels import Batch, ThreadEngine
from suffice.kernels.sql.dialect import DUCKDB, POSTGRESQL, Connected, quoted, quoted_path
from suffice.kernels.sql.engine import Expression, Relation, SqlEngine
from suffice.kernels.sql.engine import rows_of as counted_rows_of
from suffice.kernels.sql.errors import DatabaseError, explained
from suffice.kernels.sql.scores import mean_of, unused_prefix
from suffice.statistics import DiagonalMoments, FullMoments, Labels, NormalEquations
from tests.each import for_each
from tests.tables.servers import postgres

from . import oracle
from .agreement import agree
from .backends import (
    CLASSES,
    RANGES,
    SIZES,
    Question,
    counts,
    every_dtype,
    labelled,
    maybe_weighted,
    real,
    weights_of,
)
from .class_sums import ClassSums
from .test_kernel_refusals import CLASS_KERNELS, spoilt, well
from .test_missing_cells import QUESTIONS as GAPPED
from .test_missing_cells import gaps

NAN, INF = float("nan"), float("inf")


@dataclass
class Base:
    """A database, and how arrays become rows of it."""

    engine: SqlEngine
    null: bool = False  # whether a missing cell is NULL, and not NaN

    @property
    def kernels(self) -> Any:
        return self.engine.kernels

    def cell(self, value: Any) -> str:
        if isinstance(value, float) and np.isnan(value) and self.null:
            return "null::float8"
        return self.engine.database.dialect.value(value)

    def batch(self, host: Batch) -> Batch:
        """Return the rows of arrays, written out in the query."""
        columns = {f"x{j}": np.asarray(host.x)[:, j] for j in range(host.features)}
        columns |= {"w": host.weight} if host.weight is not None else {}
        targets = [] if host.y is None else np.atleast_2d(np.asarray(host.y).T)
        columns |= {f"y{t}": column for t, column in enumerate(targets)}
        n = len(host.x)
        cells = [[str(row), *(self.cell(column[row].item()) for column in columns.values())] for row in range(n)]
        cells = cells or [["0", *("1" for _ in columns)]]
        rows = ", ".join(f"({', '.join(row)})" for row in cells)
        names = ", ".join(["place", *columns])
        source = f"(values {rows}) as rows({names})"
        if not n:
            source = f"(select * from {source} where false) as rows"
        x = Relation(source, tuple(f"x{j}::int" if _truth(host) else f"x{j}" for j in range(host.features)), n, "place")
        y: Any = None if host.y is None else Expression("y0", n)
        if host.y is not None and np.ndim(host.y) == 2:
            y = Relation(source, tuple(f"y{t}" for t in range(len(targets))), n, "place")
        return replace(host, x=x, y=y, weight=None if host.weight is None else Expression("w", n))


def _truth(host: Batch) -> bool:
    return bool(np.asarray(host.x).dtype == bool)


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    if request.param == "duckdb":
        import duckdb

        with duckdb.connect() as connection:
            yield Base(SqlEngine(connection))
        return
    from adbc_driver_postgresql import dbapi

    with postgres() as address, dbapi.connect(address) as connection:
        yield Base(SqlEngine(connection))


def check(base: Base, question: Question, host: Batch, classes: int = CLASSES, missing: bool = False) -> None:
    asked = (*question.more, True) if missing else question.more
    seen = getattr(base.kernels, question.kernel)(base.batch(host), classes, *asked)
    if missing:
        expected = oracle.skipping(question.kernel, host, classes, *question.more)
    else:
        expected = getattr(oracle, question.kernel)(host, classes, *question.more)
    agree(question.kernel, host, seen, expected)


# The suite of all kernels.


class TestClassSums(ClassSums):
    @pytest.fixture
    def backend(self, base):
        return base


@pytest.mark.parametrize("question", GAPPED, ids=lambda question: question.kernel)
@maybe_weighted
@for_each("null, share", [(False, 0.02), (True, 0.3), (False, 1.0), (True, 1.0)])
def test_cells_that_are_missing_are_skipped(base, question, weighted, null, share):
    host = labelled(question.features, weighted)
    host = replace(host, x=gaps(host.x, share))
    for start, stop in RANGES if weighted and share == 0.3 else RANGES[1:2]:
        check(replace(base, null=null), question, replace(host, start=start, stop=stop), missing=True)


@every_dtype
@maybe_weighted
@for_each("targets", [None, 2], ids=["y (n,)", "y (n, 2)"])
def test_normal_equations_equal_the_oracle(base, cast, weighted, targets):
    rng = np.random.default_rng(2)
    y = rng.normal(size=23 if targets is None else (23, targets))
    host = Batch(cast(real(rng, 23, 4)), y, weights_of(rng, 23) if weighted else None)
    agree("normal_equations", host, base.kernels.normal_equations(base.batch(host)), oracle.normal_equations(host))


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments", "normal_equations"])
@maybe_weighted
def test_an_offset_costs_no_digits(base, kernel, weighted):
    rng = np.random.default_rng(1)
    x = 1e8 * np.array([1, -1, 1, 3]) + rng.normal(size=(60, 4)) + np.linspace(0, 3, 60)[:, None]
    host = Batch(x[:, :3], x[:, 3], weights_of(rng, 60) if weighted else None)
    classes = ()
    if kernel != "normal_equations":
        host, classes = replace(host, y=rng.integers(0, 3, size=60)), (3,)
    *_, spread = getattr(base.kernels, kernel)(base.batch(host), *classes)
    *_, truth = getattr(oracle, kernel)(host, *classes)
    root = np.sqrt(truth if kernel == "diagonal_moments" else np.diagonal(truth, axis1=-2, axis2=-1))
    scale = truth if kernel == "diagonal_moments" else root[..., :, None] * root[..., None, :]
    assert np.all(np.abs(spread - truth) <= 1e-8 * scale)


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments"])
@for_each("first", [0.0, 1e8, -1e12])
def test_classes_that_lie_far_apart_cost_no_digits(base, kernel, first):
    """The first rows are all of one class, so the first reference is far from the other's mean."""
    rng = np.random.default_rng(3)
    y = np.repeat([0, 1], [150, 60])
    x = np.where(y == 0, first, 5e7)[:, None] + rng.normal(size=(210, 2)) * [1.0, 1e-3]
    host = Batch(x, y)
    *_, spread = getattr(base.kernels, kernel)(base.batch(host), 2)
    *_, truth = getattr(oracle, kernel)(host, 2)
    squares = [
        each if kernel == "diagonal_moments" else np.diagonal(each, axis1=-2, axis2=-1) for each in (spread, truth)
    ]
    largest = max(abs(first), 5e7)
    np.testing.assert_allclose(*squares, rtol=1e-10, atol=2e3 * (np.finfo(float).eps * largest) ** 2)


@pytest.mark.parametrize("kernel", ["diagonal_moments", "full_moments", "tied_moments"])
@maybe_weighted
def test_a_constant_feature_does_not_spread(base, kernel, weighted):
    """Constant in all rows, or in each class."""
    host = labelled(lambda _, n, d: np.full((n, d), 0.1), weighted, n=40)
    x = np.where(host.y[:, None] == 1, [0.1, 0.3, 0.1, 1e9 / 7], host.x)
    _, mean, spread = getattr(base.kernels, kernel)(base.batch(replace(host, x=x)), CLASSES)
    assert np.all(spread == 0)
    assert np.all(mean[[0, 2]] == 0.1)
    assert np.all(mean[1] == [0.1, 0.3, 0.1, 1e9 / 7])


def test_counts_are_exact(base):
    host = Batch(np.full((20, 1), 2**24 + 1, dtype=np.int32))
    _, events = base.kernels.event_counts(base.batch(host), 1)
    assert events[0, 0] == 20 * (2**24 + 1)


def test_more_products_than_a_query_may_have(base):
    rng = np.random.default_rng(0)
    host = Batch(rng.normal(size=(8, 60)))  # 1830 products
    agree("full_moments", host, base.kernels.full_moments(base.batch(host), 1), oracle.full_moments(host, 1))


# Refusals.


def complains(base: Base, kernel: str, host: Batch, message: str, *more: Any) -> None:
    asked: dict[str, tuple[Any, ...]] = {"presence_counts": (0.5,), "category_counts": (SIZES,)}
    classes = () if kernel == "normal_equations" else (CLASSES,)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        getattr(base.kernels, kernel)(base.batch(host), *classes, *asked.get(kernel, ()), *more)
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize("kernel", [kernel for kernel in CLASS_KERNELS if kernel != "class_weights"])
@for_each("value", [NAN, INF, -INF])
@for_each("null", [False, True], ids=["NaN", "NULL"])
def test_features_must_be_finite(base, kernel, value, null):
    host = well(kernel)
    x = spoilt(spoilt(host.x, (17, 1), value), (1, 1), NAN)  # row 17 weighs 0, row 1 is left out
    complains(replace(base, null=null), kernel, replace(host, x=x), f"x[17, 1] is {value:g}; ")


def test_targets_must_be_finite(base):
    host = well("normal_equations")
    complains(base, "normal_equations", replace(host, y=spoilt(host.y, (5,), NAN)), "y[5] is nan; it must be finite")


@pytest.mark.parametrize("kernel", [*CLASS_KERNELS, "normal_equations"])
@for_each("value", [NAN, INF, -0.5])
def test_weights_must_be_finite_and_not_negative(base, kernel, value):
    host = well(kernel)
    message = f"weight[11] is {value:g}; weights must be finite and not negative"
    complains(base, kernel, replace(host, weight=spoilt(host.weight, (11,), value)), message)


@pytest.mark.parametrize("kernel", CLASS_KERNELS)
@for_each("code", [-1, CLASSES])
def test_codes_must_be_of_classes(base, kernel, code):
    host = well(kernel)
    complains(base, kernel, replace(host, y=spoilt(host.y, (4,), code)), f"y[4] is {code}; class codes must be 0 to 2")


def test_counts_and_categories_must_be_some(base):
    host = well("event_counts")
    complains(
        base, "event_counts", replace(host, x=spoilt(host.x, (9, 2), -1)), "x[9, 2] is -1; counts must not be negative"
    )
    message = "x[9, 2] is 3; categories of feature 2 must be whole numbers 0 to 2"
    complains(base, "category_counts", replace(host, x=spoilt(host.x, (9, 2), 3)), message)


def test_without_places_a_column_is_blamed(base):
    host = base.batch(Batch(np.array([[1.0, 2.0], [3.0, INF]])))
    with pytest.raises(ValueError, match="feature 1 of x holds inf; it must be finite"):
        base.kernels.diagonal_moments(replace(host, x=replace(host.x, position=None)), 1)


def test_infinite_cells_are_refused_where_missing_ones_are_not(base):
    host = Batch(np.array([[1.0, NAN], [3.0, INF]]))
    with pytest.raises(ValueError, match=re.escape("x[1, 1] is inf; it must be finite")):
        base.kernels.presence_counts(base.batch(host), 1, 0.5, True)


def test_groups_of_codes_that_are_no_class_are_refused(base):
    host = Batch(np.array([[1], [2], [2]]), np.array([0, 1, 7]))
    with pytest.raises(ValueError, match=re.escape("y[2] is 7; class codes must be 0 to 1")):
        base.kernels.groups(base.batch(host), 2)


def test_products_that_are_too_small_count_as_zero_or_are_refused(base):
    host = Batch(np.array([[1e-160], [0.0], [3e-160]]))
    assert base.kernels.diagonal_moments(base.batch(host), 1)[2] < 1e-300
    light = replace(host, x=1e100 * host.x, weight=np.full(3, 1e-250))
    if base.engine.database.dialect is POSTGRESQL:
        with pytest.raises(ValueError, match="the products of some columns are too small for float64: rescale them"):
            base.kernels.diagonal_moments(base.batch(light), 1)
    else:
        assert base.kernels.diagonal_moments(base.batch(light), 1)[2] < 1e-300


def test_overflow_names_the_feature(base):
    host = Batch(np.array([[1.0, -1e200], [2.0, 1e200]]))
    with pytest.raises(OverflowError, match="rescale feature 1"):
        base.kernels.diagonal_moments(base.batch(host), 1)


def test_what_is_no_sum_is_refused_by_name(base):
    with pytest.raises(TypeError, match="curvature is none"):
        base.kernels.curvature(None)
    with pytest.raises(TypeError, match="ThreadEngine"):
        base.kernels.class_weights(Batch(np.zeros((2, 1))), 1)
    assert not hasattr(base.kernels, "_curvature")


# The engine.


@pytest.mark.parametrize("kind", [DiagonalMoments, FullMoments])
def test_statistics_are_those_of_threads(base, kind):
    host = labelled(real, True, n=300)
    labels = Labels.of(["a", "b", "c"])
    there = base.engine.accumulate(kind.over(labels), base.batch(host))
    here = ThreadEngine().accumulate(kind.over(labels), host)
    np.testing.assert_allclose(there.mean, here.mean, rtol=1e-12)
    np.testing.assert_allclose(there.spread, here.spread, rtol=1e-10)


def test_batches_of_a_database_and_of_arrays_add_up(base):
    rng = np.random.default_rng(0)
    whole = Batch(rng.normal(size=(50, 3)), rng.normal(size=50))
    first, second = (Batch(whole.x[rows], whole.y[rows]) for rows in (slice(0, 20), slice(20, 50)))
    both = base.engine.accumulate(NormalEquations.over(), base.batch(first)) + ThreadEngine().accumulate(
        NormalEquations.over(), second
    )
    np.testing.assert_allclose(
        both.scatter, ThreadEngine().accumulate(NormalEquations.over(), whole).scatter, rtol=1e-11
    )


def test_counts_of_real_rows(base):
    host = labelled(counts, False, n=200)
    agree(
        "event_counts", host, base.kernels.event_counts(base.batch(host), CLASSES), oracle.event_counts(host, CLASSES)
    )


# Relations without a place of their rows, in DuckDB.


@pytest.fixture
def duck() -> Iterator[SqlEngine]:
    import duckdb

    with duckdb.connect() as connection:
        yield SqlEngine(connection)


def rows_of(*rows: str, position: str | None = None, names: tuple[str, ...] = ()) -> Relation:
    """Return rows of a feature a and of y, as SQL writes them."""
    source = f"(values {', '.join(rows)}) as cells(a, y)"
    return Relation(source, ("a",), len(rows), position, names=names)


Y_OF_TWO = Expression("y", 2)
REFUSED: dict[str, tuple[str, Batch, tuple[Any, ...], str]] = {
    "code": ("diagonal_moments", Batch(rows_of("(1.0, 0)", "(2.0, 5)"), Y_OF_TWO), (2,), "y is 5; class codes must be"),
    "no code": (
        "category_counts",
        Batch(rows_of("(1.0, 0)", "(1.0, null)"), Y_OF_TWO),
        (2, [2]),
        "y is missing; class codes must be 0 to 1",
    ),
    "weight": (
        "diagonal_moments",
        Batch(rows_of("(1.0, 0)", "(2.0, -3)"), None, Y_OF_TWO),
        (1,),
        "weight holds -3; weights must be finite and not negative",
    ),
    "count": (
        "event_counts",
        Batch(rows_of("(-1.0, 0)", "(2.0, 0)")),
        (1,),
        "feature 0 of x is negative in some rows; counts must not be negative",
    ),
    "category": (
        "category_counts",
        Batch(rows_of("(9.0, 0)", "(1.0, 0)")),
        (1, [2]),
        "feature 0 of x holds 9; categories of feature 0 must be whole numbers 0 to 1",
    ),
    "presence": (
        "presence_counts",
        Batch(rows_of("('inf'::double, 0)", "(1.0, 0)")),
        (1, 0.0),
        "feature 0 of x holds inf; it must be finite",
    ),
    "classes": ("diagonal_moments", Batch(rows_of("(1.0, 0)")), (0,), "classes must be at least 1; got 0"),
    "part": (
        "diagonal_moments",
        Batch(rows_of("(1.0, 0)", "(2.0, 0)"), stop=1),
        (1,),
        "a range of a relation's rows can be summed only if it has a position",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_without_places_complaints_name_the_column_and_the_value(duck, name):
    kernel, batch, more, words = REFUSED[name]
    with pytest.raises(ValueError, match=words):
        getattr(duck.kernels, kernel)(batch, *more)


@pytest.mark.parametrize("name", ["y", "weight"])
def test_columns_beside_a_relation_are_expressions(duck, name):
    batch = Batch(rows_of("(1.0, 0)", "(2.0, 0)"), **{name: np.zeros(2)})
    with pytest.raises(TypeError, match=f"{name} must be an Expression, as x is a Relation; got ndarray"):
        duck.kernels.diagonal_moments(batch, 1)


def test_sums_that_overflow_name_the_column_or_the_target(duck):
    large = ("(1e200::double, 1e200::double)", "(-1e200::double, -1e200::double)")
    with pytest.raises(OverflowError, match="the sums of column 'pay' overflow float64; rescale it"):
        duck.kernels.diagonal_moments(Batch(rows_of(*large, names=("pay",))), 1)
    small = ("(1.0::double, 1e200::double)", "(2.0::double, -1e200::double)")
    with pytest.raises(OverflowError, match="the sums of y overflow float64; rescale target 0"):
        duck.kernels.normal_equations(Batch(rows_of(*small), Y_OF_TWO))
    with pytest.raises(OverflowError, match="rescale feature 0"):
        duck.kernels.event_counts(Batch(rows_of("(1e308::double, 0)", "(1e308::double, 0)")), 1)


def test_an_engine_says_which_database_it_asks(duck):
    assert repr(duck) == "SqlEngine(DuckDB)"


def test_rows_of_a_table_are_counted(duck):
    x = counted_rows_of(duck.database, "(values (1.0, 5, 0), (3.0, 5, 1)) as pairs(a, b, place)", ["a", "b"], "place")
    assert (x.rows, x.columns) == (2, ('"a"', '"b"'))
    np.testing.assert_array_equal(duck.kernels.diagonal_moments(Batch(x, stop=1), 1)[1], [[1.0, 5.0]])


def test_a_connection_may_be_told_its_dialect_and_answers_after_an_error():
    import duckdb

    with duckdb.connect() as connection:
        database = Connected(connection, "duckdb")
        assert database.dialect is DUCKDB
        with pytest.raises(DatabaseError, match="nowhere"):
            database.ask("select * from nowhere")
        assert list(database.ask("select 1")) == [(1,)]


@pytest.mark.parametrize(("link", "predictor"), [("inverse", 4.0), ("negative_inverse", -4.0), ("logit", 800.0)])
def test_means_of_links_are_those_of_the_model(duck, link, predictor):
    ((seen,),) = duck.database.ask(f"select {mean_of(link, DUCKDB.number(predictor), DUCKDB)}")
    np.testing.assert_allclose(seen, by_name(link).mean(np.array([predictor]))[0])


def test_a_link_without_a_function_in_sql_is_refused():
    with pytest.raises(ValueError, match="the link 'probit' has no function in SQL: score rows here, with predict"):
        mean_of("probit", "z", DUCKDB)


def test_names_of_a_query_avoid_those_of_its_columns():
    assert (unused_prefix(["id"]), unused_prefix(["id", "m_2", "_m_"])) == ("m_", "__m_")
    assert quoted_path("rows.parquet", DUCKDB) == '"rows.parquet"'  # a file, which DuckDB reads
    assert quoted_path("public.rows", DUCKDB) == '"public"."rows"'


def test_values_and_names_that_no_query_can_hold_are_refused():
    assert DUCKDB.value(date(2020, 1, 2)) == "date '2020-01-02'"
    with pytest.raises(TypeError, match=r"\[1\] of type list has no place in a query"):
        DUCKDB.value([1])
    with pytest.raises(ValueError, match="holds a zero byte, which no string of PostgreSQL can: correct it"):
        POSTGRESQL.string("a\0b")
    for name in ("", "a\0"):
        with pytest.raises(ValueError, match="is not a valid name of a table or column"):
            quoted(name)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("canceling statement due to statement timeout", "the database stopped the query .*: allow it more time"),
        ("canceling statement due to user request", "the query was cancelled .*: start again"),
    ],
)
def test_a_query_that_was_stopped_says_what_to_do(said, words):
    error = RuntimeError(said)
    error.sqlstate = "57014"
    assert re.fullmatch(words, str(explained(error)))


# Batches.


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"x": [1, 2]}, "x must be two-dimensional, rows by features; got a list, which is not an array"),
        ({"x": np.ones(3)}, r"x must be two-dimensional, rows by features; got shape \(3,\)"),
        ({"x": np.ones((3, 2)), "y": np.ones(2)}, r"y must have one entry per row of x, which has 3; got shape \(2,\)"),
        ({"x": np.ones((3, 2)), "start": 2, "stop": 5}, "rows 2 to 5 are not among the 3 rows of x"),
    ],
)
def test_columns_of_a_batch_must_go_together(columns, words):
    with pytest.raises(ValueError, match=words):
        Batch(**columns)
