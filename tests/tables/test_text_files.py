"""Delimited text as people write it: headers, quotes, encodings, gaps, and lines that do not fit."""

from __future__ import annotations

import gc
import gzip
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import suffice
from suffice.tables import Dialect, TableError, open_table
from tests.tables.tables_data import houses, kinds, rows_of, write

#: Beyond what is looked at before types are settled.
LATE = 70_000


def late(path: Path, cell: str, first: tuple[str, str] = ("1", "2")) -> Path:
    """Write a column that is one thing for many rows, and then holds another cell."""
    lines = [f"{first[row % 2]},{'xz'[row % 2]}" for row in range(LATE)]
    return write(path, "\n".join(["a,y", *lines, f"{cell},x", f"{first[1]},z", ""]))


# Headers.


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b,y\n1,2,x\n3,4,z\n", ["a", "b", "y"]),
        ("colour,size,y\nred,big,a\nblue,small,b\n", ["colour", "size", "y"]),
        ("colour,size,y\n" + "red,big,a\nblue,small,b\n" * 30, ["colour", "size", "y"]),
        ("1.5,red,3\n2.5,blue,4\n" * 5, ["column0", "column1", "column2"]),
        ("größe,年,y\n1,2,x\n3,4,z\n", ["größe", "年", "y"]),
        ('"a ""b""","c, d",y\n1,2,x\n3,4,z\n', ['a "b"', "c, d", "y"]),
        ("a,a,y\n1,2,x\n3,4,z\n", ["a", "a_1", "y"]),
        ("y\nx\nz\n", ["y"]),
        ("a,y\n1,x\n\n2,z\n\n", ["a", "y"]),
        ('a,y\n"one\ntwo",x\n"three, four",z\n', ["a", "y"]),
        ('"a, b";y\n' + "1;x\n2;z\n" * 5, ["a, b", "y"]),
        ('a,"b\nc",y\r\n1,2,x\r\n3,4,z\r\n', ["a", "b\nc", "y"]),
        ("name, first\tage, years\ty\n" + "1\t3\tx\n2\t4\tz\n" * 5, ["name, first", "age, years", "y"]),
    ],
)
def test_headers(text: str, names: list[str], tmp_path: Path) -> None:
    assert rows_of(write(tmp_path / "a.csv", text)).schema.names == names


def test_a_header_can_be_denied_and_asserted(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "red,big\nblue,small\n")
    assert rows_of(path, dialect=Dialect(header=False)).num_rows == 2
    assert rows_of(path, dialect=Dialect(header=True)).schema.names == ["red", "big"]


def test_a_delimiter_can_be_given(tmp_path: Path) -> None:
    found = rows_of(write(tmp_path / "a.txt", "a:b\n1:2\n3:4\n"), dialect=Dialect(delimiter=":"))
    assert found.to_pydict() == {"a": [1, 3], "b": [2, 4]}


# Cells.


def test_quotes_keep_delimiters_quotes_and_lines(tmp_path: Path) -> None:
    found = rows_of(write(tmp_path / "a.csv", 'a,y\n"one\ntwo",x\n"three, ""four""",z\n5" pipe,z\n'))
    assert found["a"].to_pylist() == ["one\ntwo", 'three, "four"', '5" pipe']


@pytest.mark.parametrize("gap", ["", "NA", "N/A", "?", "NaN", "null", " NA", '"NA"'])
def test_usual_marks_of_missing_cells_are_read(gap: str, tmp_path: Path) -> None:
    lines = [f"{gap if row % 5 == 0 else row * 0.5},{gap if row % 7 == 0 else 'uv'[row % 2]}" for row in range(40)]
    path = write(tmp_path / "a.csv", "\n".join(["a,c,y", *(f"{line},{'pq'[i % 2]}" for i, line in enumerate(lines))]))
    model = suffice.fit(path, "y", "nb")
    assert kinds(model) == {"a": "numeric", "c": "category"}
    known = model.description_.known()
    assert known["a"].sum() == 32
    assert known["c"].sum() == 34
    assert model.description_.levels()["c"] == ("u", "v")


def test_a_mark_of_missing_cells_can_be_given(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\n1,x\n-,z\n3,z\n")
    assert rows_of(path)["a"].type == pa.string()
    assert rows_of(path, dialect=Dialect(missing=("-",)))["a"].to_pylist() == [1, None, 3]


@pytest.mark.parametrize("gap", ["NA", "?", "", " NA"])
def test_a_gap_that_shows_itself_late(gap: str, tmp_path: Path) -> None:
    found = rows_of(late(tmp_path / "a.csv", gap, ("1.5", "2.5")))
    assert found.num_rows == LATE + 2
    assert found["a"].null_count == 1
    np.testing.assert_array_equal(found["a"].slice(0, 4).to_numpy(), [1.5, 2.5, 1.5, 2.5])


def test_a_query_is_asked_again_where_a_gap_shows_itself_late(tmp_path: Path) -> None:
    source = open_table(late(tmp_path / "a.csv", "NA"))
    assert source.fetch("select count(a), count(*) from data") == [(LATE + 1, LATE + 2)]


def test_a_fraction_that_comes_late_among_whole_numbers(tmp_path: Path) -> None:
    assert rows_of(late(tmp_path / "a.csv", "1.5"))["a"][LATE].as_py() == 1.5


def test_a_huge_number_that_comes_late(tmp_path: Path) -> None:
    assert rows_of(late(tmp_path / "a.csv", "9" * 23))["a"][LATE].as_py() == pytest.approx(1e23)


def test_a_word_that_comes_late_is_named_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(TableError, match=rf"line {LATE + 2} of .*a\.csv: column 'a' .* holds 'abc'"):
        rows_of(late(tmp_path / "a.csv", "abc"))


def test_the_cure_for_a_word_that_comes_late_works(tmp_path: Path) -> None:
    model = suffice.fit(late(tmp_path / "a.csv", "abc"), "y", "nb", columns={"a": "category"})
    assert model.description_.levels()["a"] == ("1", "2", "abc")


def test_huge_whole_numbers_are_read(tmp_path: Path) -> None:
    found = rows_of(write(tmp_path / "a.csv", f"a,b,y\n{'9' * 23},{2**62},x\n3,{2**62 + 1},z\n"))
    assert found["a"].to_pylist() == pytest.approx([1e23, 3.0])
    assert found["b"].to_pylist() == [2**62, 2**62 + 1]


def test_codes_keep_their_leading_zeros_where_they_are_names(tmp_path: Path) -> None:
    lines = [f"{code},{'pq'[row % 2]}" for row, code in enumerate(["007", "7", "012", "12"] * 10)]
    model = suffice.fit(
        write(tmp_path / "a.csv", "\n".join(["code,y", *lines])), "y", "nb", columns={"code": "category"}
    )
    assert model.description_.levels()["code"] == ("007", "012", "12", "7")


def test_a_category_reads_the_same_in_a_file_of_codes_alone(tmp_path: Path) -> None:
    table = pd.DataFrame({"code": ["007", "A12"] * 20, "y": ["p", "q"] * 20})
    model = suffice.fit(table, "y", "nb")
    codes = write(tmp_path / "codes.csv", "code\n007\n007\n")
    np.testing.assert_array_equal(model.predict_proba(codes), model.predict_proba(table[:3:2]))


# Encodings.


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1", "UTF8", "latin1"])
def test_encodings(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,y\nMüller,a\nJosé,b\n", encoding)
    assert rows_of(path, dialect=Dialect(encoding=encoding))["name"].to_pylist() == ["Müller", "José"]


def test_another_encoding_than_said_is_told(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,y\nMüller,a\nJosé,b\n", "latin-1")
    with pytest.raises(TableError, match=r"a\.csv is not written in utf-8: give its encoding"):
        rows_of(path)


def test_another_encoding_late_in_the_file_is_told_with_its_line(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,y\n" + "Muller,a\n" * 60_000 + "José,b\n", "latin-1")
    with pytest.raises(TableError, match=r"line 60002 of .* is not written in utf-8"):
        rows_of(path)


def test_an_encoding_that_nobody_knows_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,y\nMüller,a\nJosé,b\n")
    with pytest.raises(TableError, match="nonsense"):
        rows_of(path, dialect=Dialect(encoding="nonsense"))


def test_an_encoding_that_must_be_converted_leaves_nothing_behind(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "name,y\nMüller – x,a\nJosé,b\n", "cp1252")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = rows_of(path, dialect=Dialect(encoding="cp1252"))
        gc.collect()
    assert found["name"].to_pylist() == ["Müller – x", "José"]
    assert not told


# Lines that do not fit.


@pytest.mark.parametrize(("line", "cells"), [("1,2,3,4", 4), ("1,2", 2)])
def test_a_ragged_line_is_named(line: str, cells: int, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,y\n" + "1,2,x\n3,4,z\n" * 40_000 + line + "\n")
    with pytest.raises(TableError, match=rf"line 80002 of .*a\.csv has {cells} cells where the first has 3"):
        suffice.fit(path, "y", "nb")


def test_a_ragged_line_near_the_top_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,b,y\n1,2,x\n3,4,z\n1,2\n1,2,3,4\n")
    with pytest.raises(TableError, match=r"line [45] of .*a\.csv has [24] cells where the first has 3"):
        suffice.fit(path, "y", "nb")


@pytest.mark.parametrize("more", ["", "1,x\n" * 9])
def test_a_ragged_line_of_a_later_file_is_named(more: str, tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "a,y\n" + "1,x\n3,z\n" * 20)
    write(tmp_path / "b.csv", "a,y\n" + "1,x\n3,z\n" * 20 + "1,x,2\n" + more)
    with pytest.raises(TableError, match=r"line 42 of .*b\.csv has 3 cells where the first has 2"):
        suffice.fit(tmp_path, "y", "nb")


def test_a_line_that_is_too_long_is_named(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a\n" + "x" * 2_000_001 + "\n")
    with pytest.raises(TableError, match=r"line 1 of .*a\.csv .*Maximum line size .* exceeded.*; give --delimiter"):
        suffice.fit(path, "y", "nb")
    write(path, "a,y\n" + "x" * 2_000_001 + ",z\n")
    with pytest.raises(TableError, match=r"Maximum line size .* exceeded[^;]*$"):
        suffice.fit(path, "y", "nb")


@pytest.mark.parametrize("text", ["", "\n", "a,b,y\n"])
def test_a_file_without_rows_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(TableError, match=r"a\.csv (is empty|has no rows): there is nothing to learn from"):
        suffice.fit(write(tmp_path / "a.csv", text), "y")


def test_a_quote_that_is_never_closed_does_not_swallow_the_rest(tmp_path: Path) -> None:
    rows = "1,2,x\n3,4,z\n"
    path = write(tmp_path / "a.csv", "a,b,y\n" + rows * 100 + '1,"open,x\n' + rows * 100)
    try:
        found = rows_of(path)
    except TableError as error:
        assert "line" in str(error)  # noqa: PT017
    else:
        assert found.num_rows == 401


def test_a_packed_file_is_read_with_its_gaps(tmp_path: Path) -> None:
    table = houses(100, missing=0.2)
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(table.to_csv(index=False, na_rep="NA").encode()))
    found = rows_of(tmp_path / "a.csv.gz")
    assert found["area"].null_count == table.area.isna().sum()
    assert found["area"].type == pa.float64()


# Files that are something else.


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_a_byte_order_mark_says_the_encoding(encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_text("größe,y\n1,x\n2,z\n", encoding=encoding)
    assert rows_of(path).to_pydict() == {"größe": [1, 2], "y": ["x", "z"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_first_name_may_have_a_line_break_or_a_delimiter(encoding: str, tmp_path: Path) -> None:
    for name in ("price\n(EUR)", "price, net"):
        rows = pd.DataFrame({name: [1.5, 2.5], "y": ["x", "z"]})
        rows.to_csv(tmp_path / "a.csv", index=False, encoding=encoding)
        assert rows_of(tmp_path / "a.csv").to_pydict() == {name: [1.5, 2.5], "y": ["x", "z"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252"])
def test_lines_may_end_as_in_windows_and_as_in_unix(encoding: str, tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'a,y\r\n1,"x\r\né"\r\n2,z\r\n' + "3,x\n4,z\n" * 9, encoding)
    found = rows_of(path, dialect=Dialect(encoding=encoding.removesuffix("-sig"))).to_pydict()
    assert found == {"a": [1, 2, *[3, 4] * 9], "y": ["x\né", "z", *["x", "z"] * 9]}


def test_lines_that_end_in_another_way_at_the_end_of_a_long_file_are_read(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "a,y\r\n" + "1,x\r\n" * 20_000 + "2,z\n" * 9)
    assert rows_of(path).num_rows == 20_009


def test_names_below_a_title_may_have_line_breaks(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", 'Sales,,\r\n"amount\r\n(EUR)","no\r\nyes",y\r\n1,2,x\r\n3,4,z\r\n')
    assert rows_of(path).to_pydict() == {"amount\r\n(EUR)": [1, 3], "no\r\nyes": [2, 4], "y": ["x", "z"]}


@pytest.mark.parametrize(
    ("above", "told"),
    [
        ("Sales of the north,,\r\n,,\r\n", "'Sales of the north'"),  # as spreadsheets write them
        ("Sales of the north\r\n\r\n", "'Sales of the north'"),
        ("Sales of the north,,\r\nin €,,\r\n2024,,\r\n", "'Sales of the north', 'in €' and 1 more"),
        ("sep=,\r\n", ""),
        (",,\r\n", ""),
    ],
)
def test_titles_above_the_names_of_columns_are_left_out_and_told(above: str, told: str, tmp_path: Path) -> None:
    body = "".join(f"{row}.5,{row % 3:05},{'yes' if row % 2 else 'no'}\r\n" for row in range(40))
    path = write(tmp_path / "a.csv", f"{above}amount,shop,sold\r\n{body}")
    model = suffice.fit(path, "sold", "nb")
    assert (kinds(model), model.rows_) == ({"amount": "numeric", "shop": "category"}, 40)
    notes = [each for each in model.schema_.notes if "above" in each]
    assert [each.partition("(")[2] for each in notes] == ([f"{told})"] if told else [])


def test_files_of_which_some_have_titles_are_refused(tmp_path: Path) -> None:
    body = "amount,shop,sold\n1,north,yes\n2,south,no\n"
    for name, above in (("a.csv", "Sales,,\n,,\n"), ("b.csv", "Sales of May,,\n,,\n")):
        write(tmp_path / name, above + body)
    assert rows_of(tmp_path).to_pydict() == {
        "amount": [1, 2] * 2,
        "shop": ["north", "south"] * 2,
        "sold": ["yes", "no"] * 2,
    }
    write(tmp_path / "b.csv", body)
    with pytest.raises(
        TableError, match=r"names of columns are in line 3 of .*a\.csv, and in line 1 of .*b\.csv: write"
    ):
        open_table(tmp_path)


def test_a_first_row_of_few_names_is_no_title_above_numbers(tmp_path: Path) -> None:
    path = write(tmp_path / "a.csv", "amount,,\n1,2,3\n4,5,6\n")
    assert list(rows_of(path).to_pydict()) == ["amount", "column1", "column2"]
    write(path, "name,,\nx,tall,red\ny,small,blue\n")
    assert rows_of(path).num_rows == 1
    assert rows_of(path, dialect=Dialect(header=True)).num_rows == 2


def test_comments_are_left_out_and_told(tmp_path: Path) -> None:
    body = "".join(f"{row}.5,{'yes' if row % 2 else 'no'}\n" for row in range(40))
    path = write(tmp_path / "a.csv", f"amount,sold\n{body}# end of the report\n")
    model = suffice.fit(path, "sold", "nb")
    assert model.rows_ == 40
    assert model.schema_.notes == (f"{path}: lines that begin with '#' are left out",)


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (b"PK\x03\x04[Content_Types].xml xl/workbook.xml", r"is an Excel workbook: rename it to end in \.xlsx"),
        (b"PK\x03\x04notes.csv", "is a ZIP archive: unpack it"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1", "is an old Excel workbook"),
        (b"PAR1\x15\x04", "is a Parquet file: rename it"),
        (b"\x1f\x8b\x08", r"compressed with gzip: rename it to end in \.csv\.gz"),
        (b'<table border="1"><tr><td>1</td></tr></table>', "is a web page or XML: open it in a spreadsheet program"),
        (b"a,y\n1,x\n2,\0\n", r"line 3 of .*a\.csv holds a NUL byte"),
        (b"a,y\r\n" + b"1,x\r\n" * 20_000 + b"3,x\n" * 9 + b"1,x\r\n" * 20_000, "mixes line ends of Windows and Unix"),
    ],
)
def test_what_is_not_delimited_text_is_named(start: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(start)
    with pytest.raises(TableError, match=message) as raised:
        rows_of(path)
    assert "delimiter" not in str(raised.value)


def test_names_that_look_like_numbers_are_read_as_they_are_written(tmp_path: Path) -> None:
    """A file of which all names are numbers is scored as the same rows in a frame of strings."""
    learned, scored = tmp_path / "learned.csv", tmp_path / "scored.csv"
    learned.write_text("v,y\n" + "1.0,a\n2.0,b\nx,a\ny,b\nz,a\n" * 20)
    scored.write_text("v,y\n1.0,a\n2.0,b\n")
    model = suffice.fit(learned, "y", "nb")
    expected = model.predict_proba(pa.table({"v": ["1.0", "2.0"]}))
    assert abs(expected[0, 0] - expected[1, 0]) > 0.5
    np.testing.assert_allclose(model.predict_proba(scored), expected)
    assert model.evaluate(scored).summary()["accuracy"] == 1.0


def test_bytes_that_an_encoding_does_not_have_are_told(tmp_path: Path) -> None:
    path = tmp_path / "a.csv"
    path.write_bytes(b"name,y\nJos\x81,a\nAnn,b\n")
    with pytest.raises(TableError, match=r"a\.csv is not written in cp1252 \(.*byte 0x81.*\): give its encoding"):
        rows_of(path, dialect=Dialect(encoding="cp1252"))


def test_a_packed_file_in_an_encoding_that_must_be_converted_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress("name,y\nJosé,a\nAnn,b\n".encode("cp1252")))
    with pytest.raises(TableError, match=r"a\.csv\.gz is compressed and written in cp1252: write it again in utf-8"):
        rows_of(path, dialect=Dialect(encoding="cp1252"))


def test_the_rows_of_a_file_of_one_unended_line_are_not_guessed(tmp_path: Path) -> None:
    assert suffice.tables.open_table(write(tmp_path / "a.csv", "a,y")).rows() is None
