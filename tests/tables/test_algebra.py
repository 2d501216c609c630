"""Models of tables as sums: split then add is whole, learn then forget is nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest
from hypothesis import given, settings

import suffice
from suffice.store import StoreError, read, write
from suffice.tables import TableError, open_table
from tests.tables.tables_data import KINDS, houses, joined, near, unheated

#: Forms that are sums, and what each predicts of the houses.
SUMS = {"nb": "sold", "gda": "sold", "gda-full": "sold", "linear": "price"}
PREDICTORS = list(KINDS)
A, B = houses(90, seed=1, missing=0.1), houses(70, seed=2, missing=0.1)


def fitted(table: pd.DataFrame, form: str) -> suffice.TableModel:
    """Return a model of the sums alone, which do not depend on the folds that the temperature is chosen by."""
    model = suffice.fit(table[[*PREDICTORS, SUMS[form]]], SUMS[form], form, columns=KINDS, folds=2)
    return unheated(model) if form != "linear" else model


def answers(model: suffice.TableModel, table: pd.DataFrame) -> Any:
    return model.predict(table) if model.model_ == "linear" else unheated(model).predict_proba(table)


def alike(one: suffice.TableModel, two: suffice.TableModel, table: pd.DataFrame, tolerance: float = 1e-7) -> None:
    """Assert that two models answer alike, and describe their rows alike."""
    assert one.rows_ == two.rows_
    near(answers(one, table), answers(two, table), tolerance)
    # Fifths of a number's range are those of the first part: a description of numbers agrees only roughly.
    near(one.log_evidence(table), two.log_evidence(table), tolerance if one.schema_.task == "classes" else 0.5)
    assert one.noise_ == pytest.approx(two.noise_, rel=1e-6)


# Small tables of anything.

cells = {
    "area": st.none() | st.integers(1, 20).map(float),
    "rooms": st.none() | st.integers(0, 5).map(float),
    "street": st.none() | st.sampled_from(["calm", "loud", "mixed", "dark"]),
    "garden": st.none() | st.sampled_from(["yes", "no"]),
    "price": st.integers(0, 50).map(float),
    "sold": st.sampled_from(["y", "n"]),
}
#: Rows that every part has, so that each can be fitted alone.
ANCHOR = pd.DataFrame(
    {
        "area": [3.0, 8.0, 5.0, 1.0],
        "rooms": [1.0, 4.0, 0.0, 2.0],
        "street": ["calm", "loud", "loud", "calm"],
        "garden": ["yes", "no", "no", "yes"],
        "price": [1.5, 7.0, 20.0, 3.0],
        "sold": ["y", "n", "y", "n"],
    }
)


@st.composite
def parts(draw: st.DrawFn, most: int = 3) -> list[pd.DataFrame]:
    found = []
    for _ in range(draw(st.integers(2, most))):
        rows = draw(st.lists(st.fixed_dictionaries(cells), min_size=1, max_size=10))
        more = pd.DataFrame(rows, columns=list(cells)).astype(ANCHOR.dtypes)
        found.append(joined(ANCHOR, more))
    return found


@given(parts())
@settings(max_examples=8)
@pytest.mark.parametrize("form", ["nb", "linear"])
def test_split_then_add_is_whole(form: str, tables: list[pd.DataFrame]) -> None:
    whole = joined(*tables)
    models = [fitted(table, form) for table in tables]
    expected = answers(fitted(whole, form), whole)
    near(answers(sum(models), whole), expected, 1e-6)  # type: ignore[arg-type]
    near(answers(sum(models[::-1]), whole), expected, 1e-6)  # type: ignore[arg-type]


@given(parts(most=2))
@settings(max_examples=8)
@pytest.mark.parametrize("form", ["nb"])
def test_update_is_a_fit_of_all_and_forget_takes_it_back(form: str, tables: list[pd.DataFrame]) -> None:
    first, more = tables
    model = fitted(first, form).update(more)
    whole = joined(first, more)
    near(answers(model, whole), answers(fitted(whole, form), whole), 1e-7)
    model.forget(more)
    near(answers(model, whole), answers(fitted(first, form), whole), 1e-7)


# Parts of one table.


@pytest.mark.parametrize("form", SUMS)
def test_adding_is_a_fit_of_all_in_any_order(form: str) -> None:
    whole = fitted(joined(A, B), form)
    alike(fitted(A, form) + fitted(B, form), whole, A)
    alike(fitted(B, form) + fitted(A, form), whole, A)


@pytest.mark.parametrize("form", SUMS)
def test_update_is_a_fit_of_all(form: str) -> None:
    alike(fitted(A, form).update(B), fitted(joined(A, B), form), A)


@pytest.mark.parametrize("form", SUMS)
def test_forgetting_is_never_having_seen(form: str) -> None:
    model = fitted(joined(A, B), form)
    certificate = model.forget(B)
    assert certificate["rows"] == len(B)
    assert certificate["left"] == len(A) == model.rows_
    assert certificate["digits_kept"] > 8
    alike(model, fitted(A, form), A)


@pytest.mark.parametrize("form", SUMS)
def test_the_order_of_rows_does_not_matter(form: str) -> None:
    near(
        answers(fitted(A, form), A), answers(fitted(A.sample(frac=1, random_state=0, ignore_index=True), form), A), 1e-7
    )


@pytest.mark.parametrize("form", SUMS)
def test_levels_and_gaps_that_one_part_lacks(form: str) -> None:
    plain = houses(90, seed=1)
    strange = B.assign(street=np.where(np.arange(70) < 25, "dark", B.street))
    whole = fitted(joined(plain, strange), form)
    both = joined(plain, strange)
    near(answers(fitted(plain, form) + fitted(strange, form), both), answers(whole, both), 1e-7)
    near(answers(fitted(strange, form) + fitted(plain, form), both), answers(whole, both), 1e-7)
    near(answers(fitted(plain, form).update(strange), both), answers(whole, both), 1e-7)


@pytest.mark.parametrize("form", SUMS)
def test_a_part_in_which_a_category_has_one_level(form: str) -> None:
    calm = A.assign(street="calm")
    whole = joined(calm, B)
    for model in (fitted(calm, form) + fitted(B, form), fitted(B, form) + fitted(calm, form)):
        near(answers(model, whole), answers(fitted(whole, form), whole), 1e-7)


@pytest.mark.parametrize("form", SUMS)
@pytest.mark.parametrize("cell", ["level", "gap"])
def test_forgetting_the_only_row_of_its_kind(form: str, cell: str) -> None:
    table = houses(90, seed=1)
    table.loc[0, "street"] = "dark" if cell == "level" else None
    model = fitted(table, form)
    model.forget(table[:1])
    rest = table[1:].reset_index(drop=True)
    near(answers(model, rest), answers(fitted(rest, form), rest), 1e-6)


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full"])
def test_classes_that_one_part_lacks(form: str) -> None:
    other = B.assign(sold=np.where(B.sold == "y", "rented", "n"))
    both = fitted(A, form) + fitted(other, form)
    assert both.classes_.tolist() == ["n", "rented", "y"]
    near(answers(both, A), answers(fitted(joined(A, other), form), A), 1e-7)


def test_text_is_a_sum_too() -> None:
    random = np.random.default_rng(0)
    kind = random.choice(["ham", "spam"], 120)
    lean = {"ham": [5, 3, 1], "spam": [1, 3, 5]}
    words = [" ".join(random.choice(["lunch", "the", "cash"], 6, p=np.array(lean[k]) / 9)) for k in kind]
    table = pd.DataFrame({"text": words, "kind": kind})
    one, two = table[:70], table[70:].reset_index(drop=True)

    def model(rows: pd.DataFrame) -> suffice.TableModel:
        return suffice.fit(rows, "kind", "text", columns={"text": "text"})

    expected = model(table).predict_proba(table)
    near((model(one) + model(two)).predict_proba(table), expected)
    updated = model(one).update(two)
    near(updated.predict_proba(table), expected)
    updated.forget(two)
    near(updated.predict_proba(table), model(one).predict_proba(table))


def by_month(month: int, seed: int) -> pd.DataFrame:
    return houses(28, seed=seed).assign(seen=pd.date_range(f"2024-{month:02}-01", periods=28))


@pytest.mark.parametrize("form", ["nb", "linear"])
def test_months_of_a_table_add_up(form: str) -> None:
    target, months = SUMS[form], [by_month(month, month) for month in (1, 2, 3)]
    columns = {**KINDS, "seen": "date"}
    left_out = "sold" if target == "price" else "price"
    models = [suffice.fit(each.drop(columns=left_out), target, form, columns=columns) for each in months]
    both = sum(models)
    whole = suffice.fit(joined(*months).drop(columns=left_out), target, form, columns=columns)
    assert both.rows_ == 84  # type: ignore[union-attr]
    near(answers(both, months[0]), answers(whole, months[0]), 1e-6)  # type: ignore[arg-type]


def test_targets_of_other_ranges_are_described_as_in_one_table() -> None:
    low, high = A[["area", "price"]], A[["area", "price"]] + 1000
    low, high = low.dropna().reset_index(drop=True), high.dropna().reset_index(drop=True)
    both = suffice.fit(low, "price", "linear") + suffice.fit(high, "price", "linear")
    whole = suffice.fit(joined(low, high), "price", "linear")
    near(both.log_evidence(low), whole.log_evidence(low), 0.5)
    drawn = both.sample(2000, random_state=0)["area"].to_numpy()
    assert np.mean((drawn > 250) & (drawn < 850)) < 0.05


# Refusals.


@pytest.mark.parametrize("form", ["logistic", "softmax", "additive", "local"])
def test_models_that_are_no_sums_say_so(form: str) -> None:
    model = suffice.fit(A[:40][["area", "sold"]], "sold", form, folds=2)
    for refused, what in (
        (lambda: model + model, "be merged"),
        (lambda: model.update(B), "learn more rows exactly"),
        (lambda: model.forget(B), "forget rows"),
    ):
        with pytest.raises(TableError, match=f"a '{form}' model cannot {what}: it is fitted to the rows themselves"):
            refused()


def test_models_that_differ_cannot_be_added() -> None:
    model = fitted(A, "nb")
    with pytest.raises(TableError, match="of the type 'nb' and 'gda' cannot be merged"):
        model + fitted(B, "gda")
    with pytest.raises(TableError, match="of the target 'sold' and 'garden' cannot be merged"):
        model + suffice.fit(A[PREDICTORS], "garden", "nb")
    with pytest.raises(TableError, match="column 'rooms' is count in one model and numeric in the other: fit both"):
        model + suffice.fit(A[[*PREDICTORS, "sold"]], "sold", "nb", columns={**KINDS, "rooms": "numeric"})
    with pytest.raises(TableError, match=r"column 'price' is .* in one model and numeric"):
        model + suffice.fit(A, "sold", "nb", columns=KINDS)
    with pytest.raises(TypeError, match="unsupported operand"):
        model + 1


def test_forgetting_rows_never_learnt_is_refused_and_changes_nothing() -> None:
    for form in SUMS:
        model = fitted(A, form)
        before = answers(model, A)
        strange = A[:5].assign(street="dark")
        with pytest.raises(TableError, match=r"some of these rows (have cells that )?were never learned"):
            model.forget(strange)
        assert model.rows_ == len(A)
        near(answers(model, A), before, 1e-12)


def test_an_update_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.tables.sources.frames.BATCH", 50)
    model = fitted(A, "linear")
    before, rows = answers(model, A), model.rows_
    many = B.assign(rooms=B.rooms.where(np.arange(len(B)) < len(B) - 1, -1.5))
    assert [batch.num_rows for batch in open_table(many).batches()] == [50, 20]  # the second fails
    with pytest.raises(TableError, match=r"-1\.5"):
        model.update(many)
    assert model.rows_ == rows
    near(answers(model, A), before, 1e-12)


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full"])
def test_an_update_learns_new_classes(form: str) -> None:
    other = B.assign(sold=np.where(B.sold == "y", "rented", "n"))
    alike(fitted(A, form).update(other), fitted(joined(A, other), form), A)


def test_forgetting_a_class_never_seen_names_the_cure() -> None:
    with pytest.raises(TableError, match="'rented', which the model does not know; it knows 'n', 'y'"):
        fitted(A, "nb").forget(B.assign(sold="rented"))


# Rows that were never learned.


@pytest.mark.parametrize("form", list(SUMS))
def test_a_ledger_refuses_rows_that_were_never_learned_by_number(form: str) -> None:
    table = houses(80, seed=3, missing=0.1)[[*PREDICTORS, SUMS[form]]]
    model = suffice.fit(table, SUMS[form], form, columns=KINDS, ledger=True)
    before = answers(model, table)
    strange = table[10:14].copy()
    strange.iloc[2, 0] = 81.25
    for wrong in (strange, table.iloc[[5, 6, 5]]):
        with pytest.raises(TableError, match=r"^row 3 was never learned, or is given more often"):
            model.forget(wrong)
    assert model.rows_ == 80
    near(answers(model, table), before, 1e-15)
    certificate = model.forget(table[10:14])
    assert certificate["verified"]
    assert (len(model.ledger_), model.rows_) == (76, 76)
    with pytest.raises(TableError, match=r"^row 1 was never learned"):
        model.forget(table[10:14])


def test_row_numbers_of_a_ledger_count_rows_without_a_target() -> None:
    table = houses(60)
    model = suffice.fit(table, "sold", "nb", columns=KINDS, ledger=True)
    given = table[:8].copy()
    given.loc[[0, 3], "sold"] = None
    given.loc[6, "area"] = 12.5
    with pytest.raises(TableError, match=r"^row 7 was never learned"):
        model.forget(given)


def test_without_a_ledger_a_certificate_does_not_say_that_rows_were_learned() -> None:
    table = houses(80)
    model = suffice.fit(table, "sold", "nb", columns=KINDS)
    strange = table[:1].copy()
    strange["area"] = 81.25
    assert not model.forget(strange)["verified"]


@pytest.mark.parametrize("form", ["gda", "linear"])
def test_columns_without_a_known_cell_are_learned_later(form: str, tmp_path: Path) -> None:
    target = "price" if form == "linear" else "sold"
    later = houses(90)[["area", "rooms", "street", target]]
    first = later[:40].assign(area=np.nan, street=pd.Series([None] * 40, dtype=object))
    model = suffice.fit(first, target, form, columns={"area": "numeric", "street": "category"})
    model.save(tmp_path / "m.suffice")
    model = suffice.load(tmp_path / "m.suffice").update(later[40:])
    both = joined(first, later[40:])
    whole = suffice.fit(both, target, form, columns={"area": "numeric", "street": "category"})
    if form == "linear":
        near(model.predict(both), whole.predict(both), 1e-7)
    else:
        np.testing.assert_array_equal(model.predict(both), whole.predict(both))


def test_a_ledger_of_other_numbers_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "m.suffice"
    suffice.fit(houses(60), "sold", "nb", columns=KINDS, ledger=True).save(path)
    contents = read(path)
    arrays = {name: array.astype(np.int64) if "digests" in name else array for name, array in contents.arrays.items()}
    write(path, replace(contents, arrays=arrays))
    with pytest.raises(StoreError, match="the digests of a ledger must be one list of uint64; got"):
        suffice.load(path)


def test_a_ledger_follows_updates_merges_and_files(tmp_path: Path) -> None:
    table = houses(120, missing=0.1)
    parts = [suffice.fit(part, "sold", "nb", columns=KINDS, ledger=True) for part in (table[:50], table[50:90])]
    model = (parts[0] + parts[1]).update(table[90:])
    model.save(tmp_path / "m.suffice")
    model = suffice.load(tmp_path / "m.suffice")
    whole = suffice.fit(table, "sold", "nb", columns=KINDS, ledger=True)
    np.testing.assert_array_equal(model.ledger_.digests, whole.ledger_.digests)
    table.to_parquet(tmp_path / "all.parquet")
    table[:30].to_csv(tmp_path / "some.csv", index=False)  # however the rows are written
    assert suffice.fit(tmp_path / "all.parquet", "sold", "nb", columns=KINDS, ledger=True).forget(
        tmp_path / "some.csv"
    )["verified"]
    with pytest.raises(TableError, match="keeps a ledger of its rows and the other none"):
        whole + suffice.fit(table, "sold", "nb", columns=KINDS)
    with pytest.raises(TableError, match="different keys: fit both with the same --seed"):
        whole + suffice.fit(table, "sold", "nb", columns=KINDS, ledger=True, random_state=1)


# Digits.


def skewed(n: int = 900, seed: int = 0) -> tuple[pd.DataFrame, npt.NDArray[np.int64]]:
    """Return columns that are mostly 0, and rows among which are the only ones of a class that are not."""
    random = np.random.default_rng(seed)
    spam = random.random(n) < 0.4
    table = pd.DataFrame(np.where(random.random((n, 12)) < 0.2, random.lognormal(0, 1.5, (n, 12)).round(2), 0.0))
    table.columns = [f"w{place}" for place in range(12)]
    ham = np.flatnonzero(~spam)
    for place in range(6):
        rare = spam & (random.random(n) < 0.1)
        table[f"w{place}"] = np.where(rare, random.lognormal(1, 1, n).round(2), 0.0)
        rows = ham[3 * place : 3 * place + 1 + place % 3]
        table.loc[rows, f"w{place}"] = random.lognormal(1, 2, len(rows)).round(2)
    table["w6"] = 0.0
    table.loc[ham[20], "w6"] = 3.7  # the only one of all rows
    table["y"] = np.where(spam, "spam", "ham")
    return table, np.append(ham[:18], [ham[20], *np.flatnonzero(spam)[:20]])


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full"])
@pytest.mark.parametrize("seed", range(3))
def test_rows_of_skewed_columns_are_forgotten(form: str, seed: int) -> None:
    table, gone = skewed(seed=seed)
    columns = dict.fromkeys(table.columns[:-1], "numeric")
    model = suffice.fit(table, "y", form, columns=columns, folds=2)
    assert model.forget(table.iloc[gone])["digits_kept"] > 6
    rest = suffice.fit(table.drop(index=gone), "y", form, columns=columns, folds=2)
    near(answers(model, table), answers(rest, table), 1e-9)


@pytest.mark.parametrize("form", ["nb", "gda", "gda-full", "linear"])
def test_a_column_that_loses_its_digits_is_named(form: str) -> None:
    table = houses(100)[["area", "price", "sold"]]
    table.loc[0, "area"] = 1e11
    model = suffice.fit(table.drop(columns={"linear": "sold"}.get(form, "price")), SUMS[form], form)
    with pytest.raises(TableError, match=r"too few digits would be left of column 'area'.*fit again to the rows"):
        model.forget(table[:1])


@pytest.mark.parametrize("form", ["nb", "linear"])
def test_models_of_columns_in_different_orders_are_not_merged(form: str) -> None:
    names = ["area", "rooms", SUMS[form]]
    one, two = (
        suffice.fit(A[order], SUMS[form], form, folds=2, random_state=0) for order in (names, [*names[1::-1], names[2]])
    )
    with pytest.raises(TableError, match=r"in different orders, 'area' where the other reads 'rooms': give both"):
        _ = one + two


def test_rows_that_differ_in_a_constant_column_were_never_learned() -> None:
    table = A.assign(site="north")
    model = suffice.fit(table, "sold", "nb")
    with pytest.raises(TableError, match=r"column 'site' was 'north' in all rows that the model.*never learned"):
        model.forget(table[:5].assign(site="south"))
    assert model.forget(table[:5])["rows"] == 5


def test_a_merged_regression_of_other_values_does_not_forget() -> None:
    """The rows of its parts are described by bins of their own, and a row does not say which part it is of."""
    both = fitted(A, "linear") + fitted(B, "linear")
    before = answers(both, A)
    for part in (A, B):
        with pytest.raises(TableError, match=r"merged from models of other values of 'price'.*fit again"):
            both.forget(part[:20])
    near(answers(both, A), before, 0.0)
