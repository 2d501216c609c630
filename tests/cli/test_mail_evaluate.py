"""suffice mail evaluate: an index, folders or classes as input; tables, JSON and plots as output."""

from __future__ import annotations

from pathlib import Path

import pytest

from suffice import demo
from suffice.mail.evaluation import evaluate_online, extract_corpus
from tests.cli.command import done, suffice
from tests.mail.samples import message, stream


@pytest.fixture
def corpus(tmp_path) -> Path:
    lines = ["# class and file"]
    for i, (data, label) in enumerate(stream(80)):
        (tmp_path / label).mkdir(exist_ok=True)
        (tmp_path / label / f"{i:03}.eml").write_bytes(data)
        lines.append(f"{label} {label}/{i:03}.eml")
    (tmp_path / "index").write_text("\n".join(lines) + "\n")
    return tmp_path


def measures(found: dict[str, object]) -> dict[str, float]:
    return {each["what"]: each["value"] for each in found["measures"]}  # type: ignore[attr-defined]


def refused(*words: object) -> str:
    ran = suffice("mail", "evaluate", *words)
    assert (ran.code, ran.raw) == (3, b""), ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1
    return ran.err


def test_evaluate_reads_an_index(corpus):
    found = done("mail", "evaluate", corpus / "index", "--json").json
    expected = evaluate_online(extract_corpus(stream(80)))
    assert found["messages"] == 80
    assert sum(found["classes"].values()) == 80
    assert measures(found)["(1-ROCA)%"] == pytest.approx(expected.roca)
    assert measures(found)["hm%: ham filed as spam"] == pytest.approx(expected.hm)
    assert sum(each["messages"] for each in found["reliability"]) == 80


def test_evaluate_reads_a_folder_per_class(corpus):
    by_folder = done("mail", "evaluate", "--json", "--spam", corpus / "spam", "--ham", corpus / "ham").json
    assert by_folder["messages"] == 80
    (corpus / "index").unlink()
    assert done("mail", "evaluate", corpus, "--json").json["messages"] == 80


def test_evaluate_prints_tables(corpus):
    out = done("mail", "evaluate", corpus / "index", "--shuffles", "2").out
    for words in ("80 messages", "(1-ROCA)%", "sm% at hm 0.1 %", "mean of 2 shuffles", "learning curve"):
        assert words in out


def test_few_messages_and_folds_have_no_learning_curve(corpus, tmp_path):
    out = done("mail", "evaluate", corpus / "index", "--folds", "2", "-q").out
    assert "cross-validated in 2 folds" in out
    assert "learning curve" not in out
    lines = (corpus / "index").read_text().splitlines()
    (corpus / "few").write_text("\n".join(lines[:41]) + "\n")
    assert "learning curve" not in done("mail", "evaluate", corpus / "few").out


def test_evaluate_prints_error_rates_after_the_first_messages(tmp_path):
    for label in ("ham", "spam"):
        some = [data for data, each in stream(620) if each == label]
        (tmp_path / label).write_bytes(b"".join(b"From x Mon Jan  1 00:00:00 2024\n" + each + b"\n" for each in some))
    found = measures(done("mail", "evaluate", "--spam", tmp_path / "spam", "--ham", tmp_path / "ham", "--json").json)
    assert found["(1-ROCA)% after the first 500"] <= found["(1-ROCA)%"]


def test_folds_and_shuffles(corpus):
    found = done("mail", "evaluate", corpus / "index", "--folds", "4", "--json").json
    assert measures(found)["(1-ROCA)%"] < 20
    found = done("mail", "evaluate", corpus / "index", "--shuffles", "3", "--json").json
    assert found["shuffles"][0]["what"] == "(1-ROCA)%"
    assert found["shuffles"][0]["sd"] >= 0
    for words in (("--folds", "4", "--shuffles", "2"), ("--folds", "1"), ("--folds", "4", "--train", "error")):
        refused(corpus / "index", *words)


@pytest.mark.parametrize("suffix", [".svg", ".png"])
def test_plots_are_written(corpus, suffix):
    curves, calibration = corpus / f"curves{suffix}", corpus / f"calibration{suffix}"
    done("mail", "evaluate", corpus / "index", "--json", "--plot", curves, "--calibration", calibration)
    for picture in (curves, calibration):
        assert picture.stat().st_size > 1000


def test_evaluate_refuses_invalid_input(corpus, tmp_path):
    assert "no mail is given" in refused()
    assert "give either an index or folder" in refused(corpus / "index", "--spam", corpus / "spam")
    assert "none" in refused(corpus / "none")
    assert "two classes" in refused("--spam", corpus / "spam")
    (corpus / "bad").write_text("ham\n")
    assert "line 1" in refused(corpus / "bad")
    (corpus / "missing").write_text("ham none.eml\nspam gone.eml\n")
    assert "none.eml" in refused(corpus / "missing")
    (corpus / "sub").mkdir()
    assert "must have a folder 'spam'" in refused(corpus / "sub")
    refused(corpus / "index", "--spam-cut", "0.1", "--ham-cut", "0.5")


def test_skipped_files_are_reported(corpus):
    (corpus / "spam" / "999.eml").touch()
    found = done("mail", "evaluate", "--json", "--spam", corpus / "spam", "--ham", corpus / "ham").json
    assert [Path(each["where"]).name for each in found["skipped"]] == ["999.eml"]
    ran = done("mail", "evaluate", "--spam", corpus / "spam", "--ham", corpus / "ham")
    assert "999.eml: empty" in ran.err


def test_evaluate_neither_reads_nor_creates_the_filter_of_the_user(corpus, monkeypatch):
    place = corpus / "own.db"
    monkeypatch.setenv("SUFFICE_MAIL", str(place))
    done("mail", "evaluate", corpus / "index", "--json")
    assert not place.exists()
    place.write_bytes(b"junk")
    done("mail", "evaluate", "--json", "--spam", demo.mailbox("spam"), "--ham", demo.mailbox("ham"))
    assert place.read_bytes() == b"junk"


def test_evaluate_refuses_a_single_message(tmp_path):
    (tmp_path / "one.eml").write_bytes(message(1))
    refused("--spam", tmp_path / "one.eml")


def test_a_plot_that_cannot_be_written_is_refused_before_the_evaluation(corpus, tmp_path):
    where = tmp_path / "none" / "roc.png"
    assert f"there is no folder to write {where} to" in refused(corpus / "index", "--plot", where)
    sentence = refused(corpus / "index", "--plot", tmp_path / "roc.xyz")
    assert "roc.xyz must end in one of " in sentence
    assert ".svg" in sentence


def test_evaluate_refuses_standard_input(corpus):
    sentence = refused("--spam", "-", "--ham", corpus / "ham")
    assert "an evaluation cannot read standard input" in sentence


# Comparisons


def differences(*words: object) -> dict[str, dict[str, object]]:
    found = done("mail", "evaluate", *words, "--json").json
    return {each["name"]: each for each in found["differences"]}


def test_two_settings_are_compared_on_the_same_messages(corpus):
    found = differences(corpus / "index", "--against", "train=error, spam-cut=0.8")
    pairs = extract_corpus(stream(80))
    first, second = evaluate_online(pairs), evaluate_online(pairs, train="error", cuts=(0.3, 0.8))
    assert list(found) == ["ham lost, %", "spam missed, %", "log loss", "(1-ROCA)%"]
    missed = found["spam missed, %"]
    assert (missed["first"], missed["second"]) == pytest.approx((first.sm, second.sm))
    assert found["(1-ROCA)%"]["difference"] == pytest.approx(second.roca - first.roca)
    for each in found.values():
        assert each["interval"][0] <= each["difference"] <= each["interval"][1]


def test_a_filter_is_compared_with_another_one(corpus, tmp_path):
    few, many = tmp_path / "few.db", tmp_path / "many.db"
    done("mail", "learn", "--spam", corpus / "spam", "--ham", corpus / "ham", "--filter", many)
    for label in ("ham", "spam"):
        first = sorted((corpus / label).iterdir())[0]
        done("mail", "learn", f"--{label}", first, "--filter", few)
    before = many.read_bytes()
    found = differences(corpus / "index", "--filter", few, "--against", many)
    assert found["log loss"]["interval"][1] < 0
    assert differences(corpus / "index", "--filter", many, "--against", many)["log loss"]["difference"] == 0
    alone = measures(done("mail", "evaluate", corpus / "index", "--filter", many, "--json").json)
    assert alone["sm%: spam not filed"] == pytest.approx(found["spam missed, %"]["second"])
    printed = done("mail", "evaluate", corpus / "index", "--filter", many).out
    assert f"judged by {many}, which learned none" in " ".join(printed.split())
    assert "learning curve" not in printed
    assert many.read_bytes() == before


def test_a_comparison_prints_a_table(corpus):
    out = done("mail", "evaluate", corpus / "index", "--shuffles", "2", "--against", "spam-cut=0.5").out
    for words in ("paired, mean of 2 shuffles", "second - first", "ham lost, %", "(1-ROCA)%"):
        assert words in out


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--against", "colour=blue"), "'colour=blue' is neither the file of a filter nor one of ham-cut=P"),
        (("--against", "train=some"), "'train=some' is neither"),
        (("--against", "spam-cut=x"), "'spam-cut=x' is neither"),
        (("--against", "spam-cut=0.1"), "the lower one first"),
        (("--against", "spam-cut=0.5", "--folds", "3"), "--folds cannot be combined"),
        (("--against", "spam-cut=0.5", "--plot", "x.svg"), "--against cannot be combined with --plot"),
        (("--against", "none.db"), "none.db"),
        (("--filter", "none.db"), "none.db"),
        (("--filter", "none.db", "--train", "error"), "it learns nothing here"),
        (("--filter", "none.db", "--shuffles", "2"), "it learns nothing here"),
    ],
)
def test_invalid_comparisons_are_refused(corpus, words, sentence):
    assert sentence in refused(corpus / "index", *words)
