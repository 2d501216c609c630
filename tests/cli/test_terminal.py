"""Progress bars and colours on terminals only; results on standard output, notes on standard error."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice import demo
from tests.cli.command import done, suffice
from tests.requirements import require

require("posix")

from tests.cli.terminal import COLOUR, ESCAPE, on_terminal, on_terminal_of_unnamed_width  # noqa: E402


def test_a_terminal_sees_a_bar_and_colours(nb: Path, houses: Path, tmp_path: Path) -> None:
    shown = on_terminal("predict", nb, houses, out=tmp_path / "answers.csv")
    assert shown.code == 0
    assert "━".encode() in shown.screen
    assert b"reading" in shown.screen
    assert COLOUR.search(shown.screen)
    assert shown.screen.count(b"\x1b[?25l") == shown.screen.count(b"\x1b[?25h"), "the cursor is shown again"
    assert shown.out == done("predict", nb, houses).raw
    assert not ESCAPE.search(shown.out)


@pytest.mark.parametrize("command", ["impute", "text fit", "mail learn", "mail evaluate"])
def test_commands_that_read_much_show_a_bar(
    command: str, nb: Path, houses: Path, messages: Path, tmp_path: Path
) -> None:
    spam, ham = (demo.mailbox(name) for name in ("spam", "ham"))
    words = {
        "impute": (nb, houses),
        "text fit": (messages, "-m", "multinomial"),
        "mail learn": ("--spam", spam, "--ham", ham, "--filter", tmp_path / "mail.db"),
        "mail evaluate": ("--spam", spam, "--ham", ham),
    }[command]
    shown = on_terminal(*command.split(), *words, out=tmp_path / "out")
    assert shown.code == 0
    assert {"mail learn": b"learning", "mail evaluate": b"judging"}.get(command, b"reading") in shown.screen
    assert shown.out if command != "mail learn" else b"learned" in shown.out
    assert "━".encode() in shown.screen


def test_a_query_on_a_terminal_has_no_escapes(prices: Path, viewings: Path) -> None:
    shown = on_terminal("sql", viewings, "--table", "\x1b[1mt")
    assert (shown.code, ESCAPE.search(shown.screen)) == (0, None)
    assert b"select" in shown.screen.lower()


def test_quiet_shows_no_bar(nb: Path, houses: Path) -> None:
    assert "━".encode() not in on_terminal("evaluate", nb, houses, "-q").screen


def test_errors_without_colour() -> None:
    shown = on_terminal("fti", NO_COLOR="1")
    assert b"there is no command 'fti'" in shown.screen
    assert not COLOUR.search(shown.screen)


def test_no_color_on_the_bar(nb: Path, houses: Path) -> None:
    shown = on_terminal("evaluate", nb, houses, NO_COLOR="1")
    assert b"reading" in shown.screen
    assert not COLOUR.search(shown.screen)


def test_a_dumb_terminal_sees_no_escapes() -> None:
    shown = on_terminal("fti", TERM="dumb")
    assert b"there is no command 'fti'" in shown.screen
    assert not ESCAPE.search(shown.screen)


def test_a_dumb_terminal_sees_no_bar(nb: Path, houses: Path) -> None:
    shown = on_terminal("evaluate", nb, houses, TERM="dumb")
    assert not ESCAPE.search(shown.screen)
    assert shown.screen.replace(b"\r\n", b"\n").startswith(b"800 rows\n"), "no line is left of a bar"


def test_tables_fit_the_terminal(nb: Path, houses: Path) -> None:
    shown = on_terminal_of_unnamed_width("outliers", nb, houses, "-n", 3, columns=70)
    assert shown.code == 0
    lines = ESCAPE.sub(b"", shown.screen).decode().replace("\r\n", "\n").splitlines()
    assert 60 < max(map(len, lines)) <= 70


@pytest.mark.parametrize(
    "words",
    [
        ("fit", "TABLE", "-t", "sold_fast", "-m", "nb"),
        ("predict", "MODEL", "TABLE", "--explain"),
        ("evaluate", "MODEL", "TABLE"),
        ("explain", "MODEL", "TABLE"),
        ("outliers", "MODEL", "TABLE"),
        ("info", "MODEL"),
        ("forget", "MODEL", "SOME", "-o", "OUT"),
        ("fit", "nothing.csv", "-t", "x"),
        ("fti",),
        ("--help",),
    ],
)
def test_no_escapes_without_a_terminal(
    nb: Path, houses: Path, halves: tuple[Path, Path], tmp_path: Path, words: tuple[str, ...]
) -> None:
    places = {"MODEL": nb, "TABLE": houses, "SOME": halves[0], "OUT": tmp_path / "m.suffice"}
    ran = suffice(*(places.get(word, word) for word in words))
    assert b"\x1b" not in ran.raw
    assert "\x1b" not in ran.err
    assert "━" not in ran.err


def test_errors_are_red_on_a_terminal() -> None:
    shown = on_terminal("fti")
    assert shown.code == 2
    assert shown.screen.startswith(b"\x1b[1;31merror:\x1b[0m ")


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """A table whose names and cells would drive a terminal."""
    path = tmp_path / "hostile.csv"
    path.write_text("a\x1b[2Jb,n,y\n" + "\x1b]0;owned\x07red,1,\x9b31mu\nblue,2,v\n" * 12)
    return path


def test_no_cell_drives_the_terminal(hostile: Path, tmp_path: Path) -> None:
    model = tmp_path / "model"
    kind = "a\x1b[2Jb=category"
    screens = [on_terminal("fit", hostile, "-t", "y", "-m", "nb", "--kind", kind, "-o", model).screen]
    screens += [on_terminal("predict", model, hostile, "--keep-all", "-q").screen]
    screens += [on_terminal("info", model, *more).screen for more in ([], ["--json"])]
    screens += [on_terminal("fit", hostile, "-t", "\x1b[2J").screen]
    for screen in screens:
        for sequence in (b"\x1b[2J", b"\x1b]0;", b"\x07", "\x9b".encode()):
            assert sequence not in screen


def test_files_hold_cells_as_they_are(hostile: Path, tmp_path: Path) -> None:
    model, answers = tmp_path / "model", tmp_path / "answers.csv"
    done("fit", hostile, "-t", "y", "-m", "nb", "-o", model)
    done("predict", model, hostile, "--keep-all", "-o", answers)
    written = answers.read_bytes()
    assert b"\x1b]0;owned\x07red" in written
    assert on_terminal("predict", model, hostile, "--keep-all", out=tmp_path / "piped").out == written
