"""Names as people write them: of files, columns and classes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import done, refused, suffice, written


def rows(header: str, labels: tuple[str, str], words: tuple[str, str] = ("p", "q")) -> str:
    """Return a small table of two columns and a target."""
    cells = (f"{n % 7 + 5 * (n % 2) + 0.5},{words[n % 3 > 0]},{labels[n % 2]}\n" for n in range(60))
    return header + "\n" + "".join(cells)


@pytest.mark.parametrize("name", ["data[1].csv", "it's two Grüße.csv", "a*b.csv", "-.csv"])
def test_files_of_any_name(tmp_path: Path, name: str) -> None:
    table = written(tmp_path / name, rows("a,b,y", ("x", "z")))
    model = tmp_path / f"{name}.suffice"
    assert f"{table}: 60 rows" in done("fit", table, "-t", "y", "-m", "nb", "-o", model).out
    assert len(done("predict", model, table).lines) == 61


def test_columns_of_any_name(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", rows('"a ""q""",my col,the target', ("x", "z")))
    model = tmp_path / "m.suffice"
    done("fit", table, "-t", "the target", "-m", "nb", "--kind", "my col=category", "-o", model)
    assert 'a "q" = 2' in done("explain", model, 'a "q"=2').out
    assert done("predict", model, table, "--keep", 'a "q"').lines[0] == '"a ""q""","prediction","probability"'


def test_brackets_are_no_markup(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", rows("a,[bold]b,y", ("[red]x[/red]", "[z]"), ("[p]", "[/q]")))
    model = tmp_path / "m.suffice"
    out = done("fit", table, "-t", "y", "-m", "nb", "-o", model).out
    assert "2 classes ([red]x[/red] 30, [z] 30)" in out
    assert "  category  [bold]b" in out
    assert "[red]x[/red]" in done("evaluate", model, table).out
    assert "'[x]'" in refused("fit", table, "-t", "[x]", code=2)


def test_colons_are_no_emoji(tmp_path: Path) -> None:
    table = written(tmp_path / "t.csv", rows("a,b,y", (":smile:", "z")))
    assert ":smile: 30" in done("fit", table, "-t", "y", "-m", "nb").out


@pytest.mark.parametrize(
    "labels",
    [
        ("0", "1"),
        ("true", "false"),
        ("ja", "neïn"),
        *(pytest.param(labels, marks=pytest.mark.slow) for labels in (("1", "2"), ("No", "Yes"))),
    ],
)
def test_classes_keep_their_names(tmp_path: Path, labels: tuple[str, str]) -> None:
    table = written(tmp_path / "t.csv", rows("a,b,y", labels))
    model = tmp_path / "m.suffice"
    done("fit", table, "-t", "y", "-m", "nb", "-o", model)
    found = {line.split(",")[0].strip('"') for line in done("predict", model, table).lines[1:]}
    assert found == set(labels)
    assert done("evaluate", model, table, "--json").json["measures"]["accuracy"] > 0.6


def test_marks_of_bytes_and_line_ends(tmp_path: Path) -> None:
    text = rows("a,b,y", ("x", "z"))
    plain = done("fit", written(tmp_path / "plain.csv", text), "-t", "y", "-m", "nb", "--json").json["candidates"]
    for name, other in (("mark.csv", "\ufeff" + text), ("crlf.csv", text.replace("\n", "\r\n"))):
        found = done("fit", written(tmp_path / name, other), "-t", "y", "-m", "nb", "--json").json["candidates"]
        assert found[0]["loss"] == plain[0]["loss"]


def test_a_cell_that_comes_late(tmp_path: Path) -> None:
    cells = [f"{n % 97 + 0.5},{'xz'[n % 2]}" for n in range(60_000)]
    cells[55_000] = "oops,x"
    table = written(tmp_path / "t.csv", "a,y\n" + "\n".join(cells) + "\n")
    found = done("fit", table, "-t", "y", "-m", "nb", "--json").json
    (note,) = found["notes"]
    assert "1 of 60000 cells (0.0017 %) are no numbers ('oops'), and read as missing" in note
    assert found["rows"] == 60_000
    assert done("fit", table, "-t", "y", "-m", "nb", "--missing", "oops", "--json").json["rows"] == 60_000


@pytest.mark.parametrize(("cell", "row"), [("0.5", 1), ("7.5", 10)])
def test_an_infinite_cell_is_named(tmp_path: Path, cell: str, row: int) -> None:
    table = written(tmp_path / "t.csv", rows("a,b,y", ("x", "z")).replace(f"\n{cell},", "\ninf,", 1))
    assert f"column 'a' is inf in row {row}" in refused("fit", table, "-t", "y", "-m", "nb", code=1)


def test_a_column_that_overflows_is_named(tmp_path: Path) -> None:
    text = "a,y\n" + "".join(f"{n}.5e306,{'xz'[n % 2]}\n" for n in range(60))
    assert "'a'" in refused("fit", written(tmp_path / "t.csv", text), "-t", "y", "-m", "nb", code=1)


def test_two_rows_are_enough_or_refused(tmp_path: Path) -> None:
    ran = suffice("fit", written(tmp_path / "t.csv", "a,y\n1.5,x\n2.5,z\n"), "-t", "y", "-m", "nb")
    assert ran.code in (0, 1)
    assert "Traceback" not in ran.err
    assert "internal error" not in ran.err


def test_quiet_prints_no_remark_on_a_class_of_one_row(tmp_path: Path) -> None:
    labels = ["z"] + ["x", "y"] * 30
    text = "a,l\n" + "".join(f"{n % 7 + 5 * (n % 2) + 0.5},{label}\n" for n, label in enumerate(labels))
    assert done("fit", written(tmp_path / "t.csv", text), "-t", "l", "-q").err == ""
