"""Unknown commands, options, names and numbers: exit code 2, with the closest known name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.command import refused, suffice


@pytest.mark.parametrize(("wrong", "meant"), [("fti", "fit"), ("predcit", "predict"), ("expain", "explain")])
def test_an_unknown_command(wrong: str, meant: str) -> None:
    sentence = refused(wrong, code=2)
    assert f"'{wrong}'" in sentence
    assert f"did you mean '{meant}'?" in sentence


def test_a_command_that_is_like_no_other() -> None:
    assert "did you mean" not in refused("xyzzy", code=2)


@pytest.mark.parametrize(("wrong", "meant"), [("--tarket", "--target"), ("--foldz", "--folds"), ("--jsno", "--json")])
def test_an_unknown_option(houses: Path, wrong: str, meant: str) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", wrong, code=2)
    assert wrong in sentence
    assert meant in sentence


def test_an_unknown_model(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "-m", "logistik", code=2)
    assert "'logistik'" in sentence
    assert "did you mean 'logistic'?" in sentence.replace("Did", "did")


def test_a_model_that_does_not_suit(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "-m", "poisson", code=2)
    assert "poisson predicts counts; the target 'sold_fast' holds classes" in sentence
    assert "logistic" in sentence
    sentence = refused("fit", houses, "-t", "price", "-m", "nb", code=2)
    assert "nb predicts classes; the target 'price' holds numbers" in sentence
    assert "linear" in sentence


def test_an_unknown_target(houses: Path) -> None:
    for command in ("fit", "compare"):
        sentence = refused(command, houses, "-t", "sold_fst", code=2)
        assert "no column 'sold_fst'" in sentence
        assert "did you mean 'sold_fast'?" in sentence


@pytest.mark.parametrize("option", [("--kind", "aera=numeric"), ("--ignore", "aera")])
def test_an_unknown_column(houses: Path, option: tuple[str, str]) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", *option, code=2)
    assert "no column 'aera'" in sentence
    assert "did you mean 'area'?" in sentence


def test_an_unknown_kind(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "--kind", "area=nuumeric", code=2)
    assert "'nuumeric' is not a kind" in sentence
    assert "did you mean 'numeric'?" in sentence
    assert "COLUMN=KIND" in refused("fit", houses, "-t", "sold_fast", "--kind", "area", code=2)


@pytest.mark.parametrize("kind", ["note=date", "price=boolean", "note=numeric"])
def test_a_kind_that_does_not_suit(houses: Path, kind: str) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "-m", "nb", "--kind", kind, code=1)
    assert f"column {kind.partition('=')[0]!r}" in sentence
    assert "when the model was fitted" not in sentence


@pytest.mark.parametrize("words", [("--ignore", "sold_fast"), ("--kind", "sold_fast=ignore")])
def test_the_target_cannot_be_ignored(houses: Path, words: tuple[str, str]) -> None:
    assert "'sold_fast'" in refused("fit", houses, "-t", "sold_fast", "-m", "nb", *words, code=2)


def test_a_task_that_does_not_suit(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "--task", "numbers", code=1)
    assert "it can only be classes" in sentence
    sentence = refused("fit", houses, "-t", "price", "--task", "counts", code=1)
    assert "which is not a count: predict numbers" in sentence


def test_a_column_to_keep_that_is_not_there(nb: Path, houses: Path) -> None:
    sentence = refused("predict", nb, houses, "--keep", "distrct", code=2)
    assert "did you mean 'district'?" in sentence


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (("sample", "MODEL", "-n", "-1"), "-1"),
        (("sample", "MODEL", "-n", "many"), "'many'"),
        (("outliers", "MODEL", "TABLE", "-n", "0"), "0"),
        (("explain", "MODEL", "TABLE", "-n", "0"), "0"),
        (("explain", "MODEL", "TABLE", "--row", "0"), "0"),
        (("fit", "TABLE", "-t", "sold_fast", "--folds", "1"), "1"),
        (("fit", "TABLE", "-t", "sold_fast", "--rows", "0"), "'0'"),
        (("fit", "TABLE", "-t", "sold_fast", "--rows", "some"), "'some'"),
        (("fit", "TABLE", "-t", "sold_fast", "--seed", "1.5"), "'1.5'"),
        (("fit", "TABLE", "-t", "sold_fast", "--task", "words"), "'words'"),
        (("fit", "TABLE", "-t", "sold_fast", "--delimiter", "ab"), "'ab'"),
        (("compare", "TABLE", "-t", "sold_fast", "--sizes", "1"), "1"),
        (("compare", "TABLE", "-t", "sold_fast", "--repeats", "0"), "0"),
        (("compare", "TABLE", "-t", "sold_fast", "--measure", "length"), "'length'"),
        (("compare", "TABLE", "-t", "sold_fast", "-o", "x.xyz"), "x.xyz"),
    ],
)
def test_wrong_values(nb: Path, houses: Path, words: tuple[str, ...], value: str) -> None:
    given = [{"MODEL": nb, "TABLE": houses}.get(word, word) for word in words]
    assert value in refused(*given, code=2)


@pytest.mark.parametrize("words", [("fit",), ("predict",), ("evaluate",), ("explain",), ("merge",), ("text", "fit")])
def test_what_is_missing_is_named(words: tuple[str, ...]) -> None:
    assert "Missing" in refused(*words, code=2)


def test_the_target_is_required(houses: Path) -> None:
    assert "--target" in refused("fit", houses, code=2)


def test_more_arguments_than_there_are(houses: Path) -> None:
    assert "other.csv" in refused("fit", houses, "other.csv", "-t", "sold_fast", code=2)


def test_a_ledger_is_not_kept_in_a_database(houses: Path) -> None:
    sentence = refused("fit", houses, "-t", "sold_fast", "--ledger", "--in-database", code=2)
    assert "--ledger needs every row: leave out --in-database" in sentence


def test_an_output_without_a_name(houses: Path) -> None:
    assert "the file name is empty" in refused("fit", houses, "-t", "sold_fast", "-o", "", code=2)


@pytest.mark.parametrize(("command", "code"), [("info", 1), ("mail status", 3)])
def test_a_fault_of_ours_is_one_sentence(
    command: str, code: int, nb: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def fail(*_: object, **settings: object) -> None:
        raise RuntimeError("lost")

    monkeypatch.setattr("suffice.store.read", fail)
    monkeypatch.setattr("suffice.mail.MailFilter.store", fail)
    ran = suffice(*command.split(), *([nb] if command == "info" else ["--filter", tmp_path / "mail.db"]))
    assert (ran.code, ran.raw) == (code, b"")
    assert ran.err == (
        "error: internal error (RuntimeError: lost): please report it, with the traceback that SUFFICE_TRACEBACK=1 "
        "prints\n"
    )


@pytest.mark.parametrize("command", ["info", "mail load"])
def test_a_traceback_is_shown_where_that_is_asked_for(
    command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("SUFFICE_TRACEBACK", "1")
    monkeypatch.setenv("SUFFICE_MAIL", str(tmp_path / "mail.db"))
    with pytest.raises(FileNotFoundError, match=r"none\.suffice"):
        suffice(*command.split(), tmp_path / "none.suffice")
