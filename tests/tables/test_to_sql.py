"""Models as a SELECT, which gives their probabilities in DuckDB and PostgreSQL; and estimators fitted there."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.tree import DecisionTreeClassifier

import suffice
from suffice.data import SqlDataset
from suffice.kernels.sql.dialect import quoted
from suffice.statistics import Labels
from suffice.tables import TableError, TableModel, fit, to_sql
from suffice.tables.sql_export import probability_names
from tests.tables.test_databases import HOSTILE, KINDS, table

N = 240
NAMES = [f"{HOSTILE}{j}" for j in range(4)]


def rows() -> dict[str, Any]:
    """Return what estimators are fitted to: numbers at an offset, counts, categories, and targets."""
    random = np.random.default_rng(0)
    codes = random.integers(0, 3, N)
    return {
        "numbers": random.normal(size=(N, 4)) + codes[:, None] + [0, 1e4, 0, 5],
        "counts": random.poisson(1.0 + codes[:, None], size=(N, 4)).astype(float),
        "names": random.integers(0, 4, size=(N, 4)),
        "classes": np.array([HOSTILE, "b", "c"])[codes],
        "weight": random.gamma(1.0, size=N),
        "number": codes + random.normal(size=N),
        "count": random.poisson(1.0 + codes).astype(float),
    }


ROWS = rows()


class Base:
    """A database: what holds a table, what it is called, and who is asked."""

    def __init__(self, dialect: str, connection: Any) -> None:
        self.dialect, self.connection = dialect, connection
        self.error = duckdb.Error if dialect == "duckdb" else connection.DatabaseError

    def put(self, frame: pa.Table) -> str:
        """Put rows into a table, and return its name."""
        self.clear()
        if self.dialect == "duckdb":
            self.connection.register("given", frame)
            self.connection.execute('create table "' + HOSTILE.replace('"', '""') + '" as from given')
        else:
            with self.connection.cursor() as cursor:
                cursor.adbc_ingest(HOSTILE, frame)
            self.connection.commit()
        return HOSTILE

    def clear(self) -> None:
        name = '"' + HOSTILE.replace('"', '""') + '"'
        if self.dialect != "duckdb":
            self.connection.rollback()
        with self.connection.cursor() as cursor:
            cursor.execute(f"drop table if exists {name}")
        if self.dialect != "duckdb":
            self.connection.commit()

    def ask(self, sql: str) -> pa.Table:
        if self.dialect == "duckdb":
            return self.connection.sql(sql).to_arrow_table()
        with self.connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetch_arrow_table()


@pytest.fixture(scope="module", params=["duckdb", "postgresql"])
def base(request: pytest.FixtureRequest) -> Iterator[Base]:
    if request.param == "duckdb":
        with duckdb.connect() as connection:
            yield Base("duckdb", connection)
        return
    from adbc_driver_postgresql import dbapi

    with dbapi.connect(request.getfixturevalue("server")) as connection:
        yield Base("postgresql", connection)


@pytest.fixture(scope="module")
def put(base: Base) -> Callable[[Any], str]:
    """Return what puts an array into the table, with a key and all targets."""

    def place(x: Any) -> str:
        columns = {name: x[:, j] for j, name in enumerate(NAMES[: x.shape[1]])}
        beside = {name: ROWS[name] for name in ("classes", "number", "count", "weight")}
        return base.put(pa.table({"key": np.arange(len(x)), **columns, **beside}))

    return place


CLASSIFIERS = {
    "GaussianNB": (suffice.GaussianNB(), "numbers"),
    "GDA": (suffice.GDA(), "numbers"),
    "GDA full": (suffice.GDA("full"), "numbers"),
    "GDA tempered": (suffice.GDA("full", temperature=3.0, priors=[0.2, 0.3, 0.5]), "numbers"),
    "GDA diagonal": (suffice.GDA("diagonal"), "numbers"),
    "BernoulliNB": (suffice.BernoulliNB(), "counts"),
    "BernoulliNB unsmoothed": (suffice.BernoulliNB(alpha=0.0), "counts"),
    "MultinomialNB": (suffice.MultinomialNB(), "counts"),
    "ComplementNB": (suffice.ComplementNB(), "counts"),
    "PoissonNB": (suffice.PoissonNB(), "counts"),
    "CategoricalNB": (suffice.CategoricalNB(), "names"),
}
READ_FIRST = {
    "CategoricalNB in bins": (suffice.CategoricalNB(bins=5), "numbers"),
    "MixedNB": (suffice.MixedNB(), "names"),
    "SoftmaxRegression": (suffice.SoftmaxRegression(C=1.0), "counts"),
}


def close(there: Any, here: Any) -> None:
    np.testing.assert_allclose(there, here, rtol=1e-10, atol=1e-10)


def scored(base: Base, name: str, model: Any, columns: list[str] | None = NAMES) -> pa.Table:
    found = base.ask(to_sql(model, name, columns, dialect=base.dialect, keep=["key"]) + " order by key")
    assert found.column("key").to_pylist() == list(range(found.num_rows))
    return found


@pytest.mark.parametrize(
    ("model", "of"), [*CLASSIFIERS.values(), *READ_FIRST.values()], ids=[*CLASSIFIERS, *READ_FIRST]
)
def test_a_classifier_gives_its_probabilities(base: Base, put: Callable[[Any], str], model: Any, of: str) -> None:
    x = ROWS[of]
    model.fit(x, ROWS["classes"])
    found = scored(base, put(x), model)
    assert found.schema.names == ["key", "prediction", *(f"p_{name}" for name in model.classes_)]
    close(np.stack([found.column(f"p_{name}").to_numpy() for name in model.classes_], axis=1), model.predict_proba(x))
    assert found.column("prediction").to_pylist() == model.predict(x).tolist()


@pytest.mark.parametrize(
    ("model", "target"),
    [
        (suffice.LinearRegression(), "number"),
        (suffice.PoissonRegressor(), "count"),
        (suffice.GammaRegressor(), "exp"),
        (suffice.GLM("gamma", "inverse"), "exp"),
        (suffice.GLM("bernoulli"), "truth"),
    ],
    ids=["linear", "poisson", "gamma", "inverse", "logit"],
)
def test_a_regression_gives_its_means(base: Base, put: Callable[[Any], str], model: Any, target: str) -> None:
    x = ROWS["counts"]
    made = {"exp": np.exp(ROWS["number"] / 4), "truth": (ROWS["count"] > 1).astype(float)}
    model.fit(x, made.get(target, ROWS.get(target)))
    close(scored(base, put(x), model).column("prediction").to_numpy(), model.predict(x))


def test_logistic_regression_of_two_classes(base: Base, put: Callable[[Any], str]) -> None:
    x, y = ROWS["numbers"] - [0, 1e4, 0, 5], ROWS["number"] > 1
    model = suffice.LogisticRegression(C=1.0).fit(x, y)
    found = scored(base, put(x), model)
    close(found.column("p_True").to_numpy(), model.predict_proba(x)[:, 1])
    assert found.column("prediction").to_pylist() == model.predict(x).tolist()


def test_rows_far_from_all_classes_do_not_overflow(base: Base, put: Callable[[Any], str]) -> None:
    model = suffice.GaussianNB().fit(ROWS["numbers"], ROWS["classes"])
    x = np.array([[1e30, 0.0, 0.0, 0.0], [0.0, -1e9, 0.0, 0.0], *ROWS["numbers"][2:].tolist()])
    found = scored(base, put(x), model)
    p = np.stack([found.column(f"p_{name}").to_numpy() for name in model.classes_], axis=1)
    close(p, model.predict_proba(x))
    close(p.sum(axis=1), 1.0)


def test_numbers_that_overflow_beside_impossible_classes_are_refused(base: Base) -> None:
    """The row was given the prior."""
    names = np.array(["u", "v", "w"])[[0, 1, 2, 0, 2, 1] * 10]
    rows = pa.table({"key": np.arange(60), "a": np.random.default_rng(0).normal(size=60), "c": names})
    cells = rows.select(["a", "c"])
    model = suffice.MixedNB(alpha=0.0).fit(cells, np.array([0, 1] * 30) * (names != "w"))
    close(scored(base, base.put(rows), model, None).column("p_1").to_numpy(), model.predict_proba(cells)[:, 1])
    far = pa.table({"key": [0, 1], "a": [0.1, 1e200], "c": ["w", "w"]})
    with pytest.raises(OverflowError, match=r"the scores of x\[1\] overflow"):
        model.predict_proba(far.select(["a", "c"]))
    with pytest.raises(Exception, match="overflow"):
        scored(base, base.put(far), model, None)


def test_missing_cells_are_left_out(base: Base, put: Callable[[Any], str]) -> None:
    model = suffice.GaussianNB().fit(ROWS["numbers"], ROWS["classes"])
    x = np.where(np.random.default_rng(1).random(ROWS["numbers"].shape) < 0.3, np.nan, ROWS["numbers"])
    found = scored(base, put(x), model)
    p = np.stack([found.column(f"p_{name}").to_numpy() for name in model.classes_], axis=1)
    close(p, model.predict_proba(x))


@pytest.mark.parametrize(("model", "of"), CLASSIFIERS.values(), ids=CLASSIFIERS)
@pytest.mark.parametrize("weighted", [False, True], ids=["unweighted", "weighted"])
def test_a_classifier_fitted_in_a_database(
    base: Base, put: Callable[[Any], str], model: Any, of: str, weighted: bool
) -> None:

    x, weight = ROWS[of], ROWS["weight"] if weighted else None
    here = clone(model).fit(x, ROWS["classes"], sample_weight=weight)
    data = SqlDataset(base.connection, put(x), NAMES, "classes", "weight" if weighted else None)
    there = clone(model).fit(data)
    assert there.classes_.tolist() == here.classes_.tolist()
    close(there.predict_proba(pd.DataFrame(x, columns=NAMES)), here.predict_proba(x))
    scored(base, HOSTILE, there, None)  # it knows its columns


def test_linear_regression_fitted_in_a_database(base: Base, put: Callable[[Any], str]) -> None:
    x = ROWS["numbers"]
    here = suffice.LinearRegression().fit(x, ROWS["number"], sample_weight=ROWS["weight"])
    there = suffice.LinearRegression().fit(SqlDataset(base.connection, put(x), NAMES, "number", "weight"))
    np.testing.assert_allclose(there.theta_, here.theta_, rtol=1e-9)
    assert str(there.summary()).splitlines()[-3:]  # standard errors are read from the same sums


NEEDS_ROWS = {
    "several passes": suffice.LogisticRegression(),
    "in order": suffice.Perceptron(shuffle=False, tol=None, max_iter=5),
    "a setting chosen by rows": suffice.GDA(shrinkage="cv"),
    "moments that SQL does not sum": suffice.GDA(shrinkage="auto"),
    "columns of several kinds": suffice.MixedNB(),
}


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("model", NEEDS_ROWS.values(), ids=NEEDS_ROWS)
def test_models_that_need_rows_read_them_from_the_database(base: Base, put: Callable[[Any], str], model: Any) -> None:
    x = ROWS["numbers"]
    here = clone(model).fit(pd.DataFrame(x, columns=NAMES), ROWS["classes"], sample_weight=ROWS["weight"])
    there = clone(model).fit(SqlDataset(base.connection, put(x), NAMES, "classes", "weight"))
    assert there.feature_names_in_.tolist() == NAMES
    frame = pd.DataFrame(x, columns=NAMES)
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(there.predict_proba(frame), here.predict_proba(frame), rtol=1e-6, atol=1e-9)
    assert (there.predict(frame) == here.predict(frame)).all()


def test_rows_of_a_database_are_learned_added_and_forgotten(base: Base, put: Callable[[Any], str]) -> None:
    x = ROWS["numbers"]
    data = SqlDataset(base.connection, put(x), NAMES, "classes")
    frame = pd.DataFrame(x, columns=NAMES)
    twice = suffice.GaussianNB().fit(data).partial_fit(data)
    close(twice.forget(frame, ROWS["classes"]).theta_, suffice.GaussianNB().fit(frame, ROWS["classes"]).theta_)
    line = suffice.LinearRegression().fit(SqlDataset(base.connection, put(x), NAMES, "number"))
    wanted = suffice.LinearRegression(covariance="HC1").fit(frame, ROWS["number"])
    robust = suffice.LinearRegression(covariance="HC1").fit(SqlDataset(base.connection, put(x), NAMES, "number"))
    close(line.theta_, wanted.theta_)
    close(robust.summary().inference.standard_errors, wanted.summary().inference.standard_errors)


def test_a_table_that_changes_while_it_is_read_is_refused() -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t as select i::double as x, i % 2 as y from range(10) r(i)")
        data = SqlDataset(connection, "t", ["x"], "y")
        connection.execute("insert into t values (1.0, 1)")
        with pytest.raises(ValueError, match="the table t had 10 rows at first, and 11 when they were read"):
            suffice.LogisticRegression(C=1.0).fit(data)


def test_what_is_no_table_is_refused(base: Base, put: Callable[[Any], str]) -> None:
    name = put(ROWS["numbers"])
    with pytest.raises(ValueError, match="no_such"):
        suffice.GDA().fit(SqlDataset(base.connection, "no_such", NAMES, "classes"))
    with pytest.raises(ValueError, match=r"4 features without names|columns must name 4"):
        to_sql(suffice.GDA().fit(ROWS["numbers"], ROWS["classes"]), name, ["a"])
    with pytest.raises(ValueError, match="not a known dialect of SQL"):
        to_sql(suffice.GDA().fit(ROWS["numbers"], ROWS["classes"]), name, NAMES, dialect="oracle")


# Models of tables.


@cache
def houses_frame() -> pa.Table:
    return table(300).append_column("key", pa.array(np.arange(300)))


@cache
def fitted_to_houses(target: str, model: str) -> TableModel:
    columns = {**KINDS, "note": "category", "key": "ignore"}
    if model in ("softmax", "logistic", "poisson"):
        columns["listed"] = "ignore"  # the columns that a moment becomes are written for the other regressions
    return fit(houses_frame(), target, model, columns=columns, task="counts" if target == "rooms" else None, folds=2)


@pytest.mark.parametrize(
    ("target", "model"),
    [
        ("sold", "nb"),
        ("sold", "gda"),
        ("sold", "softmax"),
        ("sold", "additive"),
        ("garden", "logistic"),
        ("price", "linear"),
        ("price", "additive"),
        ("rooms", "poisson"),
    ],
)
def test_a_table_s_model_gives_its_answers(base: Base, target: str, model: str) -> None:
    frame = houses_frame()
    name = base.put(frame)
    fitted = fitted_to_houses(target, model)
    found = base.ask(fitted.to_sql(base.dialect, table=name, keep=["key"]) + " order by key")
    if fitted.schema_.task == "classes":
        p = np.stack([found.column(f"p_{each}").to_numpy() for each in fitted.classes_], axis=1)
        close(p, fitted.predict_proba(frame))
        assert found.column("prediction").to_pylist() == fitted.predict(frame).tolist()
    else:
        close(found.column("prediction").to_numpy(), fitted.predict(frame))


def test_what_no_query_can_say_is_refused() -> None:
    frame = table(200)
    for model, words in (("nb", "column 'note' is text"), ("text", "cannot be written as a SELECT")):
        with pytest.raises(TableError, match=words):
            fit(frame, "sold", model, columns=KINDS).to_sql()
    with pytest.raises(TableError, match="'prediction' cannot be kept"):
        fit(frame, "sold", "nb", columns={"note": "ignore"}).to_sql(keep=["prediction"])


# Names of tables, and cells that are missing or not finite.


def run(base: Base, *statements: str) -> None:
    with base.connection.cursor() as cursor:
        for statement in statements:
            (base.connection if base.dialect == "duckdb" else cursor).execute(statement)
    if base.dialect != "duckdb":
        base.connection.commit()


@pytest.mark.parametrize(
    ("name", "made"),
    [
        ("shop.visits", 'table "shop"."visits"'),
        ('"My Shop"."big table"', 'table "My Shop"."big table"'),
        ('"My Shop"."dots.in it"', 'table "My Shop"."dots.in it"'),
        ("passing", 'temporary table "passing"'),
    ],
)
def test_a_table_of_a_schema_and_a_temporary_one(base: Base, put: Callable[[Any], str], name: str, made: str) -> None:
    x, kept = ROWS["numbers"], put(ROWS["numbers"]).replace('"', '""')
    run(base, 'create schema if not exists "shop"', 'create schema if not exists "My Shop"')
    run(base, f'create {made} as select key, {", ".join(map(quoted, NAMES))}, classes from "{kept}"')
    there = suffice.GDA().fit(SqlDataset(base.connection, name, NAMES, "classes"))
    close(there.predict_proba(pd.DataFrame(x, columns=NAMES)), suffice.GDA().fit(x, ROWS["classes"]).predict_proba(x))
    assert scored(base, name, there, None).num_rows == N


def test_a_table_with_a_dot_in_its_name(base: Base) -> None:
    run(base, 'create table "v1.0" as select 1.0 as x, 1.0 as y union all select 2.0, 3.0 union all select 4.0, 7.0')
    line = suffice.LinearRegression().fit(SqlDataset(base.connection, "v1.0", ["x"], "y"))
    found = base.ask(to_sql(line, '"v1.0"', dialect=base.dialect))
    close(sorted(found.column("prediction").to_pylist()), [1.0, 3.0, 7.0])


def test_a_registered_frame_of_duckdb() -> None:
    with duckdb.connect() as connection:
        connection.register("given", pa.table({"x": [1.0, 2.0, 4.0], "y": [1.0, 3.0, 7.0]}))
        line = suffice.LinearRegression().fit(SqlDataset(connection, "given", ["x"], "y"))
        close(connection.sql(to_sql(line, "given")).fetchnumpy()["prediction"], [1.0, 3.0, 7.0])


@pytest.mark.parametrize(
    ("model", "of"), [*CLASSIFIERS.values(), READ_FIRST["CategoricalNB in bins"]], ids=[*CLASSIFIERS, "in bins"]
)
def test_a_missing_cell_is_answered_as_predict_does_or_refused(
    base: Base, put: Callable[[Any], str], model: Any, of: str
) -> None:
    model.fit(ROWS[of], ROWS["classes"])
    x = ROWS[of].astype(float)
    x[np.random.default_rng(2).random(x.shape) < 0.2] = np.nan
    name = put(x)
    if isinstance(model, suffice.GDA) and model.covariance != "diagonal":
        with pytest.raises(
            base.error, match=r"column .* is (NULL|nan|NaN): missing cells are integrated out by predict"
        ):
            scored(base, name, model)
        return
    found = scored(base, name, model)
    p = np.stack([found.column(f"p_{each}").to_numpy() for each in model.classes_], axis=1)
    close(p, model.predict_proba(x))


def test_an_infinite_cell_fails_the_query(base: Base, put: Callable[[Any], str]) -> None:
    x = ROWS["numbers"].copy()
    model = suffice.GaussianNB().fit(x, ROWS["classes"])
    x[3, 2] = np.inf
    with pytest.raises(base.error, match=r"is (inf|Infinity); it must be finite, or missing"):
        scored(base, put(x), model)


# What has no SELECT, and estimators over names and kinds of columns.


@pytest.mark.parametrize(
    ("model", "columns", "message"),
    [
        (
            suffice.LinearRegression().fit(ROWS["numbers"], ROWS["numbers"][:, :2]),
            NAMES,
            "a regression of 2 targets cannot be written as one SELECT: fit one for each",
        ),
        (
            suffice.LinearRegression().fit(ROWS["numbers"], ROWS["number"]),
            None,
            "the model has 4 features without names: give columns=, one for each",
        ),
        (
            DecisionTreeClassifier(max_depth=1).fit(ROWS["numbers"], ROWS["classes"]),
            NAMES,
            "DecisionTreeClassifier cannot be written as a SELECT: use predict",
        ),
    ],
)
def test_an_estimator_that_no_query_can_score_is_refused(model: Any, columns: list[str] | None, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_sql(model, "t", columns)


def test_naive_bayes_over_kinds_of_columns_gives_its_probabilities() -> None:
    frame = pd.DataFrame({"number": ROWS["numbers"][:, 0], "name": ROWS["names"][:, 0].astype(str), "beside": "same"})
    frame.loc[::7, "name"] = None
    frame.loc[::9, "number"] = np.nan
    model = suffice.MixedNB(columns={"beside": "ignore"}).fit(frame, ROWS["classes"])
    with duckdb.connect() as connection:
        connection.register("t", frame)
        found = connection.sql(to_sql(model, "t")).fetchnumpy()
    assert found["prediction"].tolist() == model.predict(frame).tolist()
    close(found["p_b"], model.predict_proba(frame)[:, list(model.classes_).index("b")])


def mixed_frame(rows: int = 400) -> pd.DataFrame:
    """Return numbers and categories with missing cells, blanks and levels beyond ASCII."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"size": rng.normal(size=rows), "kind": rng.choice(["u", "v", "it's", "ü"], size=rows)})
    frame["place"] = rng.choice(["north", "south"], size=rows)
    frame["kind"] = frame["kind"].where(rng.random(rows) > 0.1, None)
    frame.loc[rng.random(rows) < 0.1, "size"] = np.nan
    return frame


@pytest.mark.parametrize("predicted", ["two classes", "three classes", "number", "count"])
def test_an_additive_model_of_categories_gives_its_answers(base: Base, predicted: str) -> None:
    frame = mixed_frame()
    size = np.nan_to_num(frame["size"]) * np.where(frame["kind"] == "u", 3, -1) + 2 * (frame["place"] == "south")
    pairs = [("size", "kind"), ("kind", "place")]
    model: Any
    if "classes" in predicted:
        y = np.where(size > 1, "high", np.where(size < -1, "low", "low" if predicted == "two classes" else "middle"))
        model = suffice.AdditiveClassifier(interactions=pairs).fit(frame, y)
    else:
        family = "poisson" if predicted == "count" else "gaussian"
        model = suffice.AdditiveRegressor(family=family, interactions=pairs).fit(frame, np.round(np.exp(0.3 * size)))
    frame.loc[:5, "kind"] = ["never seen", " u ", "", None, "U", "it's"]
    name = base.put(pa.Table.from_pandas(frame.assign(key=np.arange(len(frame)))))
    found = scored(base, name, model, None)
    if "classes" in predicted:
        p = np.stack([found.column(f"p_{each}").to_numpy() for each in model.classes_], axis=1)
        close(p, model.predict_proba(frame))
        assert found.column("prediction").to_pylist() == model.predict(frame).tolist()
    else:
        close(found.column("prediction").to_numpy(), model.predict(frame))


@pytest.mark.parametrize("level", ["True", "1.0", "007"])
def test_levels_that_databases_write_in_another_way_are_refused(level: str) -> None:
    frame = mixed_frame()
    frame.loc[:50, "kind"] = level
    model = suffice.AdditiveRegressor(interactions=0).fit(frame, np.nan_to_num(frame["size"]))
    with pytest.raises(ValueError, match=f"column 'kind' has the level '{level}', which databases write in another"):
        to_sql(model, "t")


def test_truth_words_are_booleans_in_a_query(base: Base, put: Callable[[Any], str]) -> None:
    x = np.where(ROWS["numbers"][:, :2] > np.median(ROWS["numbers"][:, :2], axis=0), " Yes", "no").astype(object)
    model = suffice.MixedNB().fit(x, ROWS["classes"])
    assert set(model.column_kinds_.values()) == {"boolean"}
    found = scored(base, put(x), model, NAMES[:2])
    close(found.column("p_b").to_numpy(), model.predict_proba(x)[:, list(model.classes_).index("b")])


def test_naive_bayes_over_text_is_not_written_as_a_query() -> None:
    frame = pd.DataFrame({"note": [f"note of {label}" for label in ROWS["classes"]]})
    model = suffice.MixedNB(columns={"note": "text"}).fit(frame, ROWS["classes"])
    with pytest.raises(ValueError, match="column 'note' is text"):
        to_sql(model, "t")


def test_a_table_s_model_is_written_as_an_estimator_is() -> None:
    model = fit(table(200), "sold", "nb", columns={"note": "ignore"})
    assert to_sql(model, "t", keep=["sold"]) == model.to_sql(table="t", keep=["sold"])


def test_classes_with_the_same_name_have_numbered_probabilities() -> None:
    assert probability_names(Labels((1, "1"))) == {1: "p_0_1", "1": "p_1_1"}


def test_moments_that_are_names_are_not_written_as_a_query() -> None:
    moments = pd.to_datetime(["2024-01-01 10:00", "2024-01-02 11:00"] * 20)
    frame = pd.DataFrame({"x": np.arange(40) % 7 * 0.5, "at": moments, "y": ["a", "b", "b", "a"] * 10})
    model = fit(frame, "y", "nb", columns={"at": "category"})
    with pytest.raises(TableError, match="column 'at' is a category of timestamps"):
        model.to_sql()


def test_a_table_without_a_target_is_not_fitted_in_a_database() -> None:
    with duckdb.connect() as connection:
        connection.execute("create table t (x double, y varchar)")
        with pytest.raises(ValueError, match="no row of t has a target: there is nothing to learn from"):
            suffice.GaussianNB().fit(SqlDataset(connection, "t", ["x"], "y"))


@pytest.mark.parametrize("form", ["nb", "gda"])
def test_a_class_that_was_forgotten_is_never_chosen_in_a_database(form: str) -> None:
    frame = pd.DataFrame({"x": ROWS["numbers"][:, 0], "y": np.tile(["a", "b", "c"], N // 3)})
    model = fit(frame, "y", form, folds=2)
    model.forget(frame[frame.y == "c"])
    found = duckdb.sql(model.to_sql(table="frame")).df()
    np.testing.assert_allclose(found[["p_a", "p_b", "p_c"]], model.predict_proba(frame), atol=1e-9)
    assert not found.p_c.any()


def test_counts_that_a_class_cannot_have_rule_it_out_in_a_database() -> None:
    x, y = np.array([[1.0, 0.0], [0.0, 2.0], [2.0, 1.0]]), [0, 1, 2]
    model = suffice.MultinomialNB(alpha=0).fit(x, y)
    frame = pd.DataFrame(x, columns=["a", "b"])
    found = duckdb.sql(to_sql(model, "frame", ["a", "b"])).df()
    assert len(frame) == len(found)
    np.testing.assert_allclose(found[["p_0", "p_1", "p_2"]], model.predict_proba(x), atol=1e-12)


def test_a_class_score_that_is_no_expression_is_named() -> None:
    x = np.array([["red fish"], ["blue bird"]], dtype=object)
    with pytest.raises((TypeError, ValueError), match="text"):
        to_sql(suffice.MixedNB(columns={0: "text"}).fit(x, [0, 1]), "t", ["a"])
