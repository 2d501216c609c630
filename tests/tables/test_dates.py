"""Dates as people and programs write them: the order of day and month, times, marks of missing cells."""

from __future__ import annotations

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables import TableError, TableModel, scan
from suffice.tables.model import ReadingWarning
from tests.cli.command import done
from tests.tables.tables_data import kinds

DAYS = pd.date_range("2023-01-05", periods=300, freq="D")
#: Days that are months, too: nobody can tell in which order they are written.
OPEN = pd.to_datetime([f"2023-{1 + row // 12 % 12:02}-{1 + row % 12:02}" for row in range(300)])


def table(days: pd.DatetimeIndex = DAYS, form: str | None = None) -> pd.DataFrame:
    x = np.random.default_rng(0).normal(size=len(days)).round(3)
    cells = (days.date if (days == days.normalize()).all() else days) if form is None else days.strftime(form)
    return pd.DataFrame({"day": cells, "x": x, "y": np.where(days.month + x < 6, "early", "late")})


def csv(frame: pd.DataFrame, path: Path) -> Path:
    frame.to_csv(path, index=False, sep=";")
    return path


@pytest.mark.parametrize("kind", ["csv", "frame", "duckdb"])
@pytest.mark.parametrize(
    "form",
    ["%d/%m/%Y", "%m/%d/%Y", "%d.%m.%Y", "%d-%m-%Y", "%m/%d/%y", "%d-%b-%y", "%B %d, %Y", "%d %b %Y", "%Y/%m/%d"],
)
def test_dates_of_other_countries_give_the_model_of_dates(form: str, kind: str, tmp_path: Path) -> None:
    frame = table(form=form)
    source: object = frame
    if kind == "csv":
        source = csv(frame, tmp_path / "a.csv")
    if kind == "duckdb":
        with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
            connection.sql("create table t as from frame")
        source = f"{tmp_path / 'a.duckdb'}::t"
    model = suffice.fit(source, "y", "nb")
    assert kinds(model)["day"] == "date"
    expected = suffice.fit(table(), "y", "nb")
    np.testing.assert_array_equal(model.predict_proba(source), expected.predict_proba(table()))
    np.testing.assert_array_equal(model.predict_proba(table()), expected.predict_proba(table()))
    model.save(tmp_path / "m.suffice")
    assert suffice.load(tmp_path / "m.suffice").schema_ == model.schema_


@pytest.mark.parametrize("form", ["%m/%d/%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%m/%d/%Y %I:%M %p", "%d-%b-%Y %H:%M:%S.%f"])
def test_times_may_follow_dates(form: str, tmp_path: Path) -> None:
    moments = DAYS + pd.to_timedelta(np.arange(300) * 37 % 1440, unit="min")
    model = suffice.fit(csv(table(moments, form), tmp_path / "a.csv"), "y", "nb")
    expected = suffice.fit(table(moments), "y", "nb")
    assert [each.name for each in model.schema_.features] == [each.name for each in expected.schema_.features]
    np.testing.assert_array_equal(model.predict_proba(table(moments, form)), expected.predict_proba(table(moments)))


def test_midnights_are_dates_however_they_are_typed_or_written(tmp_path: Path) -> None:
    expected = suffice.fit(table(), "y", "nb")
    moments = table().assign(day=DAYS)
    sources: list[object] = [moments, moments.assign(day=DAYS.tz_localize("UTC")), table(form="%Y-%m-%d %H:%M:%S")]
    sources.append(csv(moments, tmp_path / "a.csv"))
    with duckdb.connect(str(tmp_path / "a.duckdb")) as connection:
        connection.sql("create table t as from moments")
    sources.append(f"{tmp_path / 'a.duckdb'}::t")
    for source in sources:
        model = suffice.fit(source, "y", "nb")
        assert [each.name for each in model.schema_.features] == ["day.time", "day.month", "day.weekday", "x"]
        np.testing.assert_array_equal(model.predict_proba(source), expected.predict_proba(table()))
        assert (model + expected).rows_ == 600
    later = suffice.fit(moments.assign(day=DAYS + pd.to_timedelta(np.arange(300) % 24, unit="h")), "y", "nb")
    with pytest.raises(TableError, match="'day' holds times in one model and midnights alone in the other"):
        expected + later


@pytest.mark.parametrize("form", [None, "%Y-%m-%d %H:%M", "%d.%m.%Y %H:%M"])
def test_times_that_come_late_have_an_hour(form: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scan, "HEAD_ROWS", 100)
    moments = DAYS + pd.to_timedelta(np.where(np.arange(300) < 150, 0, np.arange(300) % 24), unit="h")
    late, early = (suffice.fit(iter([table(each, form)]), "y", "nb") for each in (moments, moments[::-1]))
    for model in (late, early):
        assert [each.part for each in model.schema_.features] == ["time", "month", "weekday", "hour", None]


def test_a_date_without_a_time_hides_no_time_of_other_cells() -> None:
    moments = DAYS + pd.to_timedelta(np.arange(300) * 37 % 1440, unit="min")
    model = suffice.fit(table(moments), "y", "nb")
    asked = table(moments, "%Y-%m-%d %H:%M").replace("2023-01-05 00:00", "2023-01-05")
    np.testing.assert_array_equal(model.predict_proba(asked), model.predict_proba(table(moments)))


def test_days_that_may_be_months_are_reported_and_can_be_set(tmp_path: Path) -> None:
    path = csv(table(OPEN, "%m/%d/%Y"), tmp_path / "a.csv")
    message = r"'01/02/2023' is read as 1 February 2023, and may be 2 January 2023: if so, give --month-first"
    with pytest.warns(ReadingWarning, match=message):
        suffice.fit(path, "y", "nb")
    expected = suffice.fit(table(OPEN), "y", "nb").predict_proba(table(OPEN))
    model = suffice.fit(path, "y", "nb", day_first=False)
    np.testing.assert_array_equal(model.predict_proba(path), expected)
    ran = done("fit", path, "-t", "y", "-m", "nb", "--month-first", "-o", tmp_path / "m", "--json")
    assert ran.json["notes"] == ["column 'day': dates that begin with the month: '01/02/2023' is 2 January 2023"]
    np.testing.assert_array_equal(suffice.load(tmp_path / "m").predict_proba(path), expected)


def test_other_columns_and_first_days_of_months_tell_the_order() -> None:
    months = pd.date_range("2010-01-01", periods=300, freq="MS")
    for frame in (table(OPEN, "%m/%d/%Y").assign(due=DAYS.strftime("%m/%d/%Y")), table(months, "%m/%d/%Y")):
        model = suffice.fit(frame, "y", "nb")
        assert not any(field.is_uncertain for field in model.schema_.fields)
        assert model.schema_.field("day").dates.order == "mdy"


def test_predictions_read_dates_in_the_order_of_the_fit(tmp_path: Path) -> None:
    model = suffice.fit(csv(table(form="%m/%d/%Y"), tmp_path / "a.csv"), "y", "nb")
    rows = table(pd.to_datetime(["2023-03-04", "2023-04-03"]))
    later = csv(rows.assign(day=["03/04/2023", "04/03/2023"]), tmp_path / "b.csv")
    np.testing.assert_array_equal(model.predict_proba(later), model.predict_proba(rows))
    np.testing.assert_array_equal(model.predict_proba(csv(rows, tmp_path / "c.csv")), model.predict_proba(rows))
    with pytest.raises(TableError, match="dates that begin with the month, but '31/12/2023' is none"):
        model.predict(rows.assign(day="31/12/2023"))


def test_dates_of_another_notation_than_iso_at_the_fit_are_refused(tmp_path: Path) -> None:
    model = suffice.fit(csv(table(), tmp_path / "a.csv"), "y", "nb")
    with pytest.raises(TableError, match="'05/01/2023' is not: write dates as 2024-12-31"):
        model.predict(csv(table(form="%d/%m/%Y"), tmp_path / "b.csv"))


@pytest.mark.parametrize("form", ["%Y-%m-%d", "%d.%m.%Y"])
def test_marks_and_stray_strings_among_dates_are_missing(form: str, tmp_path: Path) -> None:
    frame = table(form=form)
    frame.loc[::10, "day"] = "n/a"
    frame.loc[[5, 7], "day"] = "soon"
    with pytest.warns(
        ReadingWarning, match=r"'n/a' is missing; 2 of 270 cells \(0.74 %\) are no dates \('soon'\), and"
    ):
        model = TableModel("nb").fit(csv(frame, tmp_path / "a.csv"), "y")
    assert kinds(model)["day"] == "date"
    assert model.description_.known()["day.month"].sum() == 268
    assert len(model.predict(frame)) == 300


def test_days_that_do_not_exist_are_no_dates() -> None:
    frame = table(form="%d/%m/%Y")
    frame.loc[3, "day"] = "31/02/2023"
    with pytest.warns(ReadingWarning, match=r"no dates \('31/02/2023'\)"):
        suffice.fit(frame, "y", "nb")


def test_many_cells_that_are_no_dates_are_reported() -> None:
    frame = table(form="%d/%m/%Y")
    frame.loc[::3, "day"] = "later"
    with pytest.warns(ReadingWarning, match=r"100 of 300 cells \(33 %\) are no dates"):
        assert kinds(suffice.fit(frame, "y", "nb"))["day"] == "category"


def test_a_day_that_comes_late_tells_the_order(tmp_path: Path) -> None:
    frame = pd.concat([table(OPEN, "%m/%d/%Y")] * 170 + [table(form="%m/%d/%Y")])
    model = suffice.fit(csv(frame, tmp_path / "a.csv"), "y", "nb")
    assert model.schema_.field("day").dates.order == "mdy"


def test_comparisons_say_how_dates_are_read(tmp_path: Path) -> None:
    ran = done("compare", csv(table(OPEN, "%m/%d/%Y"), tmp_path / "a.csv"), "-t", "y", "-m", "nb", "--json")
    (note,) = ran.json["notes"]
    assert "if so, give --month-first" in note
    assert ran.err.count(note) == 1


@pytest.mark.parametrize("form", ["onnx", "python", "json"])
def test_models_of_dates_of_other_countries_are_exported(form: str, tmp_path: Path) -> None:
    (one, two) = (suffice.fit(each, "y", "nb") for each in (table(), table(form="%d.%m.%Y")))
    exported = [model.export(tmp_path / f"{place}.{form}", form) for place, model in enumerate((one, two))]
    assert exported[0].read_bytes() == exported[1].read_bytes()


def test_rows_are_held_out_by_dates_of_other_countries(tmp_path: Path) -> None:
    path = csv(table(form="%d.%m.%Y"), tmp_path / "a.csv")
    found = suffice.fit(path, "y", "nb", time="day").candidates_[0].loss
    assert found == pytest.approx(suffice.fit(table(), "y", "nb", time="day").candidates_[0].loss, rel=1e-9)


MOMENTS = pd.DatetimeIndex(DAYS + pd.to_timedelta(np.arange(300) * 37 % 1440, unit="min"))


def by_hour(cells: object) -> pd.DataFrame:
    """Return a table whose target depends on the hour of its moments."""
    x = np.random.default_rng(0).normal(size=len(MOMENTS)).round(3)
    return pd.DataFrame({"day": cells, "x": x, "y": np.where(MOMENTS.hour + x < 12, "early", "late")})


@pytest.mark.parametrize("kind", ["csv", "frame"])
@pytest.mark.parametrize(
    ("form", "zone"),
    [
        ("%Y-%m-%d %H:%M:%S-04", "-04:00"),
        ("%Y-%m-%d %H:%M:%S.%f+00", "UTC"),
        ("%Y-%m-%d %H:%M:%S+05:30", "+05:30"),
        ("%Y-%m-%d %H:%M:%S UTC", "UTC"),
        ("%Y-%m-%d %H:%M:%S +0000", "UTC"),
        ("%a, %d %b %Y %H:%M:%S GMT", "UTC"),
        ("%d/%b/%Y:%H:%M:%S -0400", "-04:00"),
    ],
)
def test_moments_with_offsets_are_moments(form: str, zone: str, kind: str, tmp_path: Path) -> None:
    frame = by_hour(MOMENTS.strftime(form))
    model = suffice.fit(csv(frame, tmp_path / "a.csv") if kind == "csv" else frame, "y", "nb")
    typed = by_hour(MOMENTS.tz_localize(zone))
    expected = suffice.fit(typed, "y", "nb")
    assert model.schema_.field("day").parts == ("time", "month", "weekday", "hour")
    np.testing.assert_array_equal(model.predict_proba(frame), expected.predict_proba(typed))
    if form.startswith("%Y"):
        np.testing.assert_array_equal(expected.predict_proba(frame), expected.predict_proba(typed))


def test_a_model_of_a_database_reads_the_csv_file_of_its_table(tmp_path: Path) -> None:
    frame = by_hour(MOMENTS.tz_localize("America/New_York"))
    frame["clock"] = MOMENTS.time
    with duckdb.connect(tmp_path / "a.duckdb") as connection:
        connection.sql("set timezone = 'America/New_York'; create table t as from frame")
        connection.sql(f"copy t to '{tmp_path / 'a.csv'}'")
    first = (tmp_path / "a.csv").read_text().splitlines()[1]
    assert first.startswith("2023-01-05 00:00:00-05,")
    base, file = f"{tmp_path / 'a.duckdb'}::t", tmp_path / "a.csv"
    models = [suffice.fit(source, "y", "nb") for source in (base, file)]
    for model in models:
        assert kinds(model) == {"day": "date", "x": "numeric", "clock": "numeric"}
        np.testing.assert_array_equal(model.predict_proba(base), models[0].predict_proba(base))
        np.testing.assert_array_equal(model.predict_proba(file), models[0].predict_proba(base))


@pytest.mark.parametrize("form", ["%H:%M", "%H:%M:%S", "%I:%M %p", None])
def test_times_of_day_are_hours(form: str | None, tmp_path: Path) -> None:
    frame = by_hour(MOMENTS.time if form is None else MOMENTS.strftime(form))
    hours = by_hour(MOMENTS.hour + MOMENTS.minute / 60)
    model, expected = (suffice.fit(each, "y", "nb", columns={"day": "numeric"}) for each in (frame, hours))
    np.testing.assert_allclose(model.predict_proba(frame), expected.predict_proba(hours), rtol=1e-9)
    written = csv(frame, tmp_path / "a.csv")
    np.testing.assert_array_equal(model.predict(written), expected.predict(hours))
    assert kinds(suffice.fit(written, "y", "nb"))["day"] == "numeric"
    model.save(tmp_path / "m.suffice")
    np.testing.assert_array_equal(suffice.load(tmp_path / "m.suffice").predict(frame), model.predict(frame))
    strange = by_hour(["25:99", *MOMENTS.strftime("%H:%M")[1:]])
    with pytest.raises(TableError, match=r"column 'day' has times of day such as 13:05, but '25:99' is none"):
        model.predict(strange)
    for export in (model.to_sql, lambda: model.export(tmp_path / "m.json", "json")):
        with pytest.raises(TableError, match="column 'day' has times of day, which only suffice reads as hours"):
            export()


@pytest.mark.parametrize(
    "form",
    ["%a %b %d %H:%M:%S EDT %Y", "%Y-%m-%d %H:%M:%S EST", "%Y%m%dT%H%M%S", "%Y-%m-%dT%H:%M:%S+01:00[Europe/Paris]"],
)
def test_a_column_that_looks_like_dates_and_is_not_read_is_named(form: str) -> None:
    with pytest.warns(ReadingWarning, match=r"column 'day': '.*2023.*' looks like a date or a time, and is not read"):
        model = suffice.fit(by_hour(MOMENTS.strftime(form)), "y", "nb")
    assert kinds(model)["day"] in ("ignore", "text")
    with pytest.warns(ReadingWarning, match="column 'day' holds durations, and is ignored"):
        suffice.fit(by_hour(MOMENTS - MOMENTS[0]), "y", "nb")


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("form", ["00:1b:{:02x}:{:02x}:11:22", "10.20.{}.{}", "order {}/{}/a", "{}-{}-x"])
def test_other_identifiers_do_not_look_like_dates(form: str) -> None:
    cells = [form.format(row % 97, row % 83) for row in range(300)]
    assert kinds(suffice.fit(by_hour(cells), "y", "nb"))["day"] in ("ignore", "category")


def test_times_of_a_column_that_had_none_are_not_learned_without_their_hour() -> None:
    frame = by_hour(MOMENTS)
    model = suffice.fit(table(), "y", "nb").update(table())
    with pytest.raises(TableError, match="column 'day' holds times, and midnights alone in the rows so far: fit again"):
        model.update(frame)
    assert model.rows_ == 600
