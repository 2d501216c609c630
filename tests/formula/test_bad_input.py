"""Formulas that are wrong or hostile, and tables that do not suit: an error with the cure, and no code is run."""

from __future__ import annotations

import os
import warnings
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest

from suffice import LinearRegression, LogisticRegression, PoissonRegressor, formula
from suffice.formula import ExtrapolationWarning, FormulaError, WeightsWarning
from suffice.formula.expressions import parse_expression
from suffice.tables import TableError
from tests.formula.tables import births

HOSTILE = [
    "__import__('os').system('true')",
    "__import__('os')",
    "exec('import os')",
    "eval('1')",
    "open('/etc/passwd')",
    "age.__class__",
    "I(age.__class__.__mro__)",
    "I((1).__class__)",
    "I([c for c in ().__class__.__base__.__subclasses__()])",
    "I(lambda: 0)",
    "I((lambda x: x)(age))",
    "I(age if age else 0)",
    "I(age and lwt)",
    "I(age > 3)",
    "I(age[0])",
    "{age := 3}",
    "{f'{age}'}",
    "I(*age)",
    "I(**age)",
    "log(age, base=__import__('os'))",
    "C(race, __import__('os'))",
    "bs(age, df=__import__('os'))",
    "I(b'age')",
    "I(3j)",
    "I(9**9**9**9)",
    "I(age**1e308)",
    "((age + lwt + race + smoke)**99)**(age)",
    "age**-1",
    "age**lwt",
    "*".join(f"`c{i}`" for i in range(40)),
    "I(" + "(" * 500 + "age" + ")" * 500 + ")",
    "I(" + "-" * 5000 + "age)",
    "I(" + "+".join(["age"] * 5000) + ")",
    "age + " * 100_000 + "age",
    "poly(age, 10**9)",
    "poly(age, 1000)",
    "bs(age, 100000000)",
    "scale(age, scale='x')",
    "np.log2(age)",
    "log",
    "log()",
    "C()",
    "offset(age):lwt",
    "'age'",
    "age ~ lwt",
    "age |lwt",
    "%%",
    "`age",
    "age +",
    "\x00",
    "🙂(age)",
]


@pytest.mark.parametrize("right", HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_formulas_are_refused(right: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "system", lambda command: pytest.fail("code was run"))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        with pytest.raises((FormulaError, TableError)):
            formula.fit(f"bwt ~ {right}", births(60))


@pytest.mark.parametrize(
    ("text", "words"),
    {
        "bwt ~ agge": "column 'agge'.*did you mean 'age'",
        "bwt ~ C(race, Treatment('wite'))": "no level 'wite'.*did you mean 'white'",
        "bwt ~ C(race, levels=['white', 'black'])": "level 'other', which is not among levels",
        "bwt ~ C(race, Helmert())": "'Helmert' is not a function",
        "bwt ~ sqr(age)": "'sqr' is not a function.*did you mean 'sqrt'",
        "bwt ~ np.log2(age)": "'np.log2' is not a function",
        "bwt ~ log(race)": "'race' has categories.*it must be numbers",
        "bwt ~ bs(age, dff=4)": "no argument 'dff'; did you mean 'df'",
        "bwt ~ bs(age, 2)": "df of bs\\(age, 2\\) must be a whole number, 3 to",
        "bwt ~ bs(age, knots=[100])": "knot 100 of .* is not between",
        "bwt ~ cr(age)": "needs df=",
        "bwt ~ I(log(age - 14))": "log\\(age - 14\\): its argument is 0 in row",
        "bwt ~ sqrt(age - 20)": "sqrt\\(age - 20\\): its argument is -",
        "bwt ~ I(1 / (age - 14))": "is inf in row",
        "bwt ~ exp(1000 * age)": "is inf in row",
        "bwt ~ age + bwt": "the target bwt is also a term",
        "bwt": "one target before ~",
        "~ age": "one target before ~",
        "bwt + age ~ lwt": "one target before ~",
        "bwt ~ 2:age": "write I\\(2 \\* x\\)",
        "bwt ~ -1": "neither terms nor an intercept",
        "bwt ~ C(bs(age, 4))": "its argument has 4 columns",
        "bwt ~ log(poly(age, 2))": "is a function of one column",
        "bwt ~ poly(hospital, 4)": "column 'hospital' has 4 distinct values.*degree 4 needs 5",
        "scale(bwt) ~ age": "scale\\(bwt\\) of the target learns from the rows",
        "C(scale(bwt)) ~ age": "scale\\(bwt\\) of the target learns from the rows",
        "bwt ~ age + I(age)": "two terms have a column called age",
        "bwt ~ offset(race)": "column 'race' has categories",
        "": "one target before ~",
    }.items(),
)
def test_errors_name_the_cause_and_the_nearest(text: str, words: str) -> None:
    with pytest.raises(TableError, match=words):
        formula.fit(text, births())


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"family": "poison"}, "poison"),
        ({"positive": "yess"}, "no level 'yess'.*did you mean 'yes'"),
        ({"unseen": "ignore"}, "unseen must be"),
        ({"missing": "fill"}, "missing must be"),
        ({"missing": "raise"}, "rows have missing cells .race in 2"),
        ({"weights": "wieghts"}, "weights='wieghts' names the column 'wieghts'"),
        ({"weights": [1.0, 2.0]}, "weights must be the name of a column"),
        ({"weights": "age - 30"}, "in row .*weights must not be negative"),
        ({"weights": "age * 0"}, "is 0 in all"),
        ({"family": "poisson"}, "has the classes 'no', 'yes', and the poisson family needs numbers"),
        ({"estimator": LinearRegression}, "needs numbers, and the target low has the classes"),
        ({"estimator": PoissonRegressor()}, "needs numbers, and the target low has the classes"),
        ({"estimator": dict}, "estimator must be"),
        ({"estimator": 3}, "estimator must be"),
        ({"fit_intercept": False}, "write - 1 for none"),
        ({"trials": "days"}, "trials need family='binomial'"),
        ({"weight_kind": "precision"}, "give weights='column'"),
        ({"estimator": LogisticRegression, "family": "binomial"}, "not both"),
        ({"estimator": LogisticRegression(), "exposure": "days"}, "exposure needs a log link"),
        ({"no_such_setting": 1}, "no_such_setting"),
        ({"class_weight": {"y": 2.0}}, "class_weight names 'y'"),
    ],
    ids=str,
)
def test_arguments_are_explained(settings: dict[str, Any], words: str) -> None:
    with pytest.raises((TableError, ValueError), match=words):
        formula.fit("low ~ age + race", births(), **settings)


def test_a_target_of_three_classes_is_not_binomial() -> None:
    with pytest.raises(FormulaError, match=r"the target race has 3 classes.*use family='multinomial'"):
        formula.fit("race ~ age", births(), family="binomial")
    with pytest.raises(FormulaError, match="positive='white' needs two classes"):
        formula.fit("race ~ age", births(), positive="white")


def test_a_constant_target_or_factor_is_refused() -> None:
    table = births().assign(one="same", low="no")
    with pytest.raises(TableError, match="column 'one' has one level, 'same'"):
        formula.fit("bwt ~ age + one", table)
    with pytest.raises(TableError, match="the target low has one class, 'no'"):
        formula.fit("low ~ age", table)


def test_weights_that_sum_to_one_are_explained() -> None:
    table = births()
    table["share"] = 1 / len(table)
    with pytest.warns(
        WeightsWarning, match=r"share sums to 1 over 300 rows.*weight_kind='precision'.*weights='share \* 300'"
    ):
        formula.fit("bwt ~ age", table, weights="share")
    plain = formula.fit("bwt ~ age", table).summary().inference.standard_errors
    relative = formula.fit("bwt ~ age", table, weights="share", weight_kind="precision")
    np.testing.assert_allclose(relative.summary().inference.standard_errors, plain, rtol=1e-9)
    scaled = formula.fit("bwt ~ age", table, weights="share * 300").summary().inference.standard_errors
    np.testing.assert_allclose(scaled, plain, rtol=1e-9)


def test_tables_without_rows_or_with_none_complete_are_refused() -> None:
    with pytest.raises(TableError, match="has no rows"):
        formula.fit("bwt ~ age", births()[:0])
    with pytest.raises(TableError, match="every row has a missing cell"):
        formula.fit("bwt ~ age + race", births().assign(age=np.nan))


def test_infinite_cells_and_dates_are_refused() -> None:
    table = births()
    table.loc[3, "age"] = np.inf
    with pytest.raises(TableError, match="column 'age' is inf in row 3"):
        formula.fit("bwt ~ age", table)
    table["day"] = pd.Timestamp("2020-01-01")
    with pytest.raises(TableError, match="column 'day' has dates"):
        formula.fit("bwt ~ day", table)


def test_unseen_levels_at_prediction() -> None:
    table = births()
    new = table[:3].assign(race=["white", "blck", "white"], hospital=[1, 2, 3])
    model = formula.fit("bwt ~ race * age + C(hospital)", table)
    with pytest.raises(TableError, match=r"race is 'blck' in row 1.*did you mean 'black'.*unseen='reference'"):
        model.predict(new)
    with pytest.raises(TableError, match="hospital is '9' in row 0"):
        model.predict(table[:1].assign(hospital=9))
    lenient = formula.fit("bwt ~ race * age + C(hospital)", table, unseen="reference")
    expected = lenient.predict(new.assign(race=["white", "black", "white"]))
    np.testing.assert_allclose(lenient.predict(new), expected)


def test_splines_beyond_their_range_warn_once() -> None:
    table = births()
    model = formula.fit("bwt ~ bs(age, 4)", table)
    with pytest.warns(ExtrapolationWarning, match="its argument is 60 in row 1") as found:
        model.predict(pd.DataFrame({"age": [20.0, 60.0] + [70.0] * 20_000}))
    assert len(found) == 1


def test_a_missing_column_at_prediction_is_named() -> None:
    model = formula.fit("bwt ~ age + log(lwt)", births())
    with pytest.raises(FormulaError, match="names the column 'lwt'"):
        model.predict(births()[["age"]])


def test_estimators_name_a_column_of_categories_and_both_cures() -> None:
    table = births()
    with pytest.raises(ValueError, match=r"in column 'race'.*formula.fit\('y ~ race \+ ...', table\).*OneHotEncoder"):
        LinearRegression().fit(table[["age", "race"]].dropna(), table["bwt"][: len(table) - 2])


def test_a_huge_exponent_ends_when_no_term_is_new() -> None:
    names = formula.fit("bwt ~ (age + lwt)**999999999", births()).design.names
    assert names == ["age", "lwt", "age:lwt"]


@pytest.mark.parametrize(
    "text",
    [
        "-(a + b)",
        "a - (b - c)",
        "(a - b) - c",
        "(-a)**2",
        "a**(b**c)",
        "(a**b)**c",
        "a / (b * c)",
        "`x y` + 1",
        "-a.b",
        "1 - -2",
    ],
)
def test_the_text_of_an_expression_is_read_as_the_same_expression(text: str) -> None:
    expression = parse_expression(text)
    assert parse_expression(str(expression)) == expression


@pytest.mark.parametrize(
    ("values", "words"), [([1, True, 2, "a"], "both True and 1"), ([False, 0.0, 1, "a"], "both False and 0.0")]
)
def test_booleans_and_equal_numbers_in_one_column_are_refused(values: list[Any], words: str) -> None:
    cells = pd.Series(values * 5, dtype=object)
    for table in (
        pd.DataFrame({"k": cells, "y": range(20)}),
        pl.DataFrame({"k": pl.Series(values * 5, dtype=pl.Object), "y": range(20)}),
    ):
        with pytest.raises(TableError, match=f"column 'k' has {words}"):
            formula.fit("y ~ k", table)


def test_python_objects_of_polars_are_levels() -> None:
    values = ["a", 2, "b", None] * 5
    table = pl.DataFrame({"k": pl.Series(values, dtype=pl.Object), "y": range(20)})
    expected = formula.fit("y ~ k", pd.DataFrame({"k": pd.Series(values, dtype=object), "y": range(20)}))
    assert formula.fit("y ~ k", table).coefficients == pytest.approx(expected.coefficients)
