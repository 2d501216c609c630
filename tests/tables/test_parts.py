"""Parts of a table in which a column, or the target, does not vary: fitted and added, they are the whole table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import pytest
from hypothesis import assume, event, given, settings

import suffice
from suffice.tables import TableError, scan
from tests.tables.tables_data import joined, near

#: Models that are sums, and their target.
SUMS = {"nb": "y", "gda": "y", "linear": "price"}
N = 120
X = np.random.default_rng(0).normal(size=N)
FIRST = np.arange(N) < N // 2


def fitted(rows: pd.DataFrame, form: str, **how: Any) -> suffice.TableModel:
    left_out = {"y": "price", "price": "y"}[SUMS[form]]
    return suffice.fit(rows.drop(columns=left_out).reset_index(drop=True), SUMS[form], form, folds=2, **how)


def answers(model: suffice.TableModel, rows: pd.DataFrame) -> Any:
    """Return the predictions, without the temperature, which is chosen on held-out rows."""
    if model.schema_.task != "classes":
        return model.predict(rows)
    model.predictor_.set_temperature(1.0)
    return model.predict_proba(rows)


def assert_whole(model: suffice.TableModel, rows: pd.DataFrame, tolerance: float = 1e-7) -> None:
    """Assert that a model of parts is that of all rows, with its kinds of columns."""
    form, left = model.model_, [field for field in model.schema_.fields if field.name != model.schema_.target]
    whole = fitted(rows, form, columns={field.name: field.kind for field in left})
    assert model.rows_ == whole.rows_ == len(rows)
    expected = answers(whole, rows)
    near(answers(model, rows), expected, tolerance * max(1.0, float(np.abs(expected).max())))
    if form != "linear":  # whose description is of fifths of the first part's range
        near(model.log_evidence(rows), whole.log_evidence(rows), 1e-6)


def merged(parts: list[pd.DataFrame], form: str) -> suffice.TableModel:
    return sum(fitted(part, form) for part in parts)  # type: ignore[return-value]


def updated(parts: list[pd.DataFrame], form: str) -> suffice.TableModel:
    model = fitted(parts[0], form)
    for part in parts[1:]:
        model.update(part.reset_index(drop=True))
    return model


cells = st.fixed_dictionaries(
    {
        "site": st.sampled_from(["north", "south", "west", None]),
        "size": st.sampled_from([1.5, 2.5, 7.25, None]),
        "flag": st.sampled_from(["yes", "no"]),
        "day": st.sampled_from(["2024-01-05", "2024-03-07", None]),
        "text": st.sampled_from(["buy it now", "see you at noon", ""]),
        "y": st.sampled_from("abc"),
    }
)


@given(
    st.lists(cells, min_size=8, max_size=30),
    st.sampled_from(["site", "size", "flag", "day", "text", "y", "rows"]),
    st.integers(2, 6),
    st.sampled_from([merged, updated]),
)
@settings(max_examples=10)
@pytest.mark.parametrize("form", SUMS)
def test_a_table_cut_in_any_way_adds_up_or_is_refused(form: str, rows: Any, cut: str, at: int, add: Any) -> None:
    table = pd.DataFrame(rows).astype({"size": float}).assign(x=X[: len(rows)], void=None)
    table["price"] = table.x + np.arange(len(rows)) % 7 / 7
    key = np.arange(len(rows)) >= at if cut == "rows" else table[cut].astype(object).fillna("?")
    parts = [part for _, part in table.groupby(key, sort=False)]
    assume(len(parts) > 1)
    model, refusal = None, ""
    try:
        model = add(parts, form)
    except ValueError as error:
        refusal = str(error)
    event("refused" if model is None else f"added by {cut}")
    if model is None:
        words = ("in one model and", "no column is left", "singular", "number of samples", "neither")
        assert any(each in refusal for each in words)
    else:
        assert_whole(model, joined(*parts), 1e-6)


def part_and_rest(**columns: Any) -> list[pd.DataFrame]:
    noise = np.random.default_rng(1).normal(size=N)
    table = pd.DataFrame({"x": X, **columns, "y": np.where(X + noise > 0, "a", "b"), "price": 2 * X + noise})
    return [table[FIRST], table[~FIRST]]


@pytest.mark.parametrize("add", [merged, updated])
@pytest.mark.parametrize("form", ["nb", "linear"])
@pytest.mark.parametrize(
    ("first", "rest", "kind"),
    [
        ("north", ["south"], "category"),
        ("north", ["south", "west"], "category"),
        ("no", ["no", "yes"], "boolean"),
        (0, [1], "boolean"),
        (3, [1, 5, 2], "count"),
        (2e-150, [1e-150, 4e-150], "numeric"),
        (1e150, [2e150], "numeric"),
        ("1,5 €", ["2,5 €", "1.003,25 €"], "numeric"),
        ("2024-01-05", ["2024-07-12"], "date"),
        ("007", ["008", "009"], "category"),
        (None, ["u", "v"], "category"),
        (np.nan, [1.5, 2.5], "numeric"),
    ],
)
def test_a_column_that_does_not_vary_in_one_part(form: str, add: Any, first: Any, rest: list[Any], kind: str) -> None:
    parts = part_and_rest(c=np.where(FIRST, first, np.random.default_rng(2).choice(np.array(rest), N)))
    model = add(parts, form)
    assert model.schema_.field("c").kind == kind
    assert_whole(model, joined(*parts))
    if add is merged:
        assert_whole(merged(parts[::-1], form), joined(*parts))


@pytest.mark.parametrize("form", ["nb", "linear"])
def test_a_column_of_one_value_and_missing_cells_varies(form: str) -> None:
    parts = part_and_rest(c=np.where(FIRST & (X > 0), "x", None))
    assert fitted(parts[0], form).schema_.field("c").kind == "category"
    assert_whole(merged(parts, form), joined(*parts))


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full"])
def test_parts_of_one_class(form: str, tmp_path: Path) -> None:
    table = joined(*part_and_rest()).drop(columns="price")
    one, two = (suffice.fit(table[table.y == name].reset_index(drop=True), "y", form, folds=2) for name in "ab")
    assert [each.code for each in one.warnings_] == ["one-class"]
    one.save(tmp_path / "a.suffice")
    both = suffice.load(tmp_path / "a.suffice") + two
    assert both.classes_.tolist() == ["a", "b"]
    assert both.warnings_ == []
    whole = suffice.fit(table, "y", form, folds=2)
    near(answers(both, table), answers(whole, table), 1e-7)
    assert one.predictor_.scorer.temperature == 1.0
    one.update(table[table.y == "b"])
    near(answers(one, table), answers(whole, table), 1e-7)


@pytest.mark.parametrize("add", [merged, updated])
def test_a_target_of_one_number(add: Any) -> None:
    parts = part_and_rest()
    parts[0] = parts[0].assign(price=3.5)
    models = [suffice.fit(part.drop(columns="y"), "price", "linear", task="numbers", folds=2) for part in parts]
    whole = suffice.fit(joined(*parts).drop(columns="y"), "price", "linear", folds=2)
    both = models[0] + models[1] if add is merged else models[0].update(parts[1])
    near(both.predict(parts[1]), whole.predict(parts[1]), 1e-7)


def test_a_threshold_keeps_its_class_where_others_come_first() -> None:
    table = joined(*part_and_rest()).drop(columns="price")
    eager = suffice.fit(table, "y", "nb", folds=2, positive="b", threshold=0.1)
    predicted = eager.update(table.assign(y=np.where(table.y == "a", "A", "b"))).predict(table)
    assert eager.positive_ == "b"
    assert (predicted == "b").sum() == (eager.predict_proba(table)[:, 2] >= 0.1).sum() > 0
    one, two = (
        suffice.fit(table.assign(y=np.where(table.y == "b", "b", other)), "y", "nb", positive="b", threshold=0.1)
        for other in "aA"
    )
    assert (one + two).positive_ == "b"


def test_constants_that_the_first_rows_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "HEAD_ROWS", 20)
    parts = part_and_rest(c=np.where(FIRST, "u", "v"), d=np.where(FIRST, 1 / 3, 0.25))
    assert fitted(parts[0], "linear").schema_.constants == {"c": ("u",), "d": (1 / 3,)}
    assert_whole(merged(parts, "linear"), joined(*parts))


def test_rows_of_a_ledger_have_no_digest_of_a_column_that_did_not_vary() -> None:
    parts = part_and_rest(c=np.where(FIRST, "u", "v"))
    one, two = (fitted(part, "nb", ledger=True) for part in parts)
    for add in (lambda: one + two, lambda: one.update(parts[1])):
        with pytest.raises(TableError, match=r"column 'c' was 'u' in all rows of a ledger.*give --kind c=category"):
            add()
    assert one.rows_ == N // 2


def test_a_column_that_some_tables_lack_is_ignored_with_the_reason() -> None:
    parts = part_and_rest(c=np.where(FIRST, "u", "v"))
    both = fitted(parts[0], "nb") + fitted(parts[1].drop(columns="c"), "nb")
    assert [(field.name, field.why) for field in both.schema_.ignored] == [("c", "some tables lack this column")]
    updated = fitted(parts[0], "nb").update(parts[1].drop(columns="c"))
    assert updated.schema_.field("c").why == "some tables lack this column"


def test_a_cell_that_would_be_read_as_missing_is_refused() -> None:
    one, two = part_and_rest(c=np.where(FIRST, "5", np.where(np.arange(N) == N - 1, "oops", np.round(X, 2))))
    with pytest.raises(TableError, match=r"column 'c' is '5' in all rows so far; column 'c': 1 of .*'oops'.*fit again"):
        fitted(one, "nb").update(two)


def test_words_that_a_text_model_has_not_counted_are_refused() -> None:
    texts = np.random.default_rng(0).choice(["buy now cash", "lunch at noon", "see you all"], N)
    table = pd.DataFrame({"t": texts, "u": np.where(FIRST, "one two three", texts), "y": np.where(X > 0, "a", "b")})
    models = [
        suffice.fit(part.reset_index(drop=True), "y", "text", columns={"t": "text"}, folds=2)
        for part in (table[FIRST], table[~FIRST])
    ]
    with pytest.raises(TableError, match="column 'u' is 'one two three' in all rows of a 'text' model"):
        _ = models[0] + suffice.fit(table[~FIRST], "y", "text", columns={"t": "text", "u": "text"}, folds=2)
    assert (models[0] + models[1]).rows_ == N
