"""suffice text: classifiers of documents."""

from __future__ import annotations

import shutil
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice as library
from tests.cli.command import done, refused, written


@pytest.fixture(scope="module")
def pairs(messages: Path) -> list[list[str]]:
    """The messages: class and text."""
    return [line.split("\t", 1) for line in messages.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def folder(pairs: list[list[str]], place: Path) -> Path:
    """The messages as files, in a folder for each class."""
    home = place / "folder"
    for number, (label, text) in enumerate(pairs):
        inside = home / label
        inside.mkdir(parents=True, exist_ok=True)
        (inside / f"{number}.txt").write_text(text, encoding="utf-8")
    return home


def test_a_form_is_chosen(messages: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.suffice"
    ran = done("text", "fit", messages, "-o", path)
    model = library.load(path)
    assert ran.lines[0].startswith("240 documents of 3 classes in ")
    assert f"chosen: {model.model_}" in ran.out
    assert ran.err == f"saved to {path}\n"
    for label in ("family", "spam", "work"):
        assert f"\n  {label} " in ran.out


def test_the_same_as_json(messages: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.suffice"
    found = done("text", "fit", messages, "-o", path, "--json").json
    assert (found["documents"], found["classes"]) == (240, ["family", "spam", "work"])
    assert found["model"] == library.load(path).model_
    assert found["saved"] == str(path)
    assert len(found["candidates"]) > 3


@pytest.mark.parametrize("form", ["multinomial", "boolean", "bernoulli", "complement", "nb_logistic", "logistic"])
def test_a_form_can_be_asked_for(messages: Path, form: str) -> None:
    assert done("text", "fit", messages, "-m", form, "--json").json["model"] == form


@pytest.mark.parametrize("features", ["words", "bigrams", "characters"])
def test_what_is_counted_can_be_said(messages: Path, features: str, tmp_path: Path) -> None:
    path = tmp_path / "m.suffice"
    done("text", "fit", messages, "-m", "boolean", "--features", features, "-o", path)
    assert library.load(path).features == features


def test_a_model_of_hashed_words_is_fitted(messages: Path, tmp_path: Path) -> None:
    done("text", "fit", messages, "-m", "multinomial", "--hashed", "-o", tmp_path / "m.suffice")
    assert type(library.load(tmp_path / "m.suffice").vocabulary).__name__ == "HashedVocabulary"


def test_a_folder_is_the_same_as_lines(folder: Path, messages: Path, words: Path, tmp_path: Path) -> None:
    path = tmp_path / "m.suffice"
    done("text", "fit", folder, "-m", "multinomial", "-o", path)
    text = "mum, click here to claim your free prize"
    assert done("text", "explain", path, text).out == done("text", "explain", words, text).out


def test_another_separator(pairs: list[list[str]], words: Path, tmp_path: Path) -> None:
    table = written(tmp_path / "t.txt", "".join(f"{label};{text}\n" for label, text in pairs))
    done("text", "fit", table, "-m", "multinomial", "--separator", ";", "-o", tmp_path / "m.suffice")
    text = "claim your prize"
    assert done("text", "explain", tmp_path / "m.suffice", text).out == done("text", "explain", words, text).out


def test_predictions_are_the_library_s(words: Path, pairs: list[list[str]], tmp_path: Path) -> None:
    texts = [text for _, text in pairs[:20]]
    lines = written(tmp_path / "t.txt", "\n".join(texts) + "\n")
    expected = library.load(words).predict_proba(texts)
    found = done("text", "predict", words, lines, "--lines", "--json").json
    assert [each["document"] for each in found] == [f"{lines}:{number}" for number in range(1, 21)]
    np.testing.assert_allclose([each["probability"] for each in found], expected.max(axis=1))
    shown = [line.split("\t") for line in done("text", "predict", words, lines, "--lines").lines]
    assert [row[0] for row in shown] == [each["class"] for each in found]
    assert [row[1] for row in shown] == [f"{each:.4f}" for each in expected.max(axis=1)]


def test_files_and_standard_input(words: Path, tmp_path: Path) -> None:
    one = written(tmp_path / "one.txt", "claim your free prize")
    two = written(tmp_path / "two.txt", "the meeting on monday")
    lines = done("text", "predict", words, one, two).lines
    assert [line.split("\t")[0] for line in lines] == ["spam", "work"]
    assert [line.split("\t")[2] for line in lines] == [str(one), str(two)]
    (piped,) = done("text", "predict", words, stdin=one.read_bytes()).lines
    assert piped.split("\t")[:2] == lines[0].split("\t")[:2]


def test_explain_lists_the_words_for_a_class(words: Path) -> None:
    given = done("text", "explain", words, "claim", "your", "free", "prize").out
    assert given.startswith("spam: probability 0.9")
    assert given == done("text", "explain", words, stdin=b"claim your free prize").out


def test_evaluation(words: Path, messages: Path, pairs: list[list[str]]) -> None:
    found = done("text", "evaluate", words, messages, "--json").json
    answers = library.load(words).predict([text for _, text in pairs])
    right = np.mean([answer == label for answer, (label, _) in zip(answers, pairs, strict=True)])
    assert found["rows"] == 240
    assert found["measures"]["accuracy"] == pytest.approx(right)
    assert "accuracy" in done("text", "evaluate", words, messages).out


def test_evaluation_of_a_folder(words: Path, folder: Path, messages: Path) -> None:
    found = done("text", "evaluate", words, folder, "--json").json
    assert found["measures"] == pytest.approx(done("text", "evaluate", words, messages, "--json").json["measures"])


def test_files_that_cannot_be_read_are_named(folder: Path, words: Path, tmp_path: Path) -> None:
    for number in range(12):
        place = tmp_path / "home" / "spam" / f"broken{number:02}.txt"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(tmp_path / "nowhere")
    shutil.copytree(folder, tmp_path / "home", dirs_exist_ok=True)
    model = tmp_path / "m.suffice"
    for command in (
        ("fit", tmp_path / "home", "-m", "multinomial", "-o", model),
        ("update", words, tmp_path / "home", "-o", model),
        ("evaluate", words, tmp_path / "home"),
    ):
        err = done("text", *command).err
        assert err.count(".txt was skipped: No such file or directory\n") == 10
        assert "note: 2 more files skipped\n" in err
    assert done("text", "fit", tmp_path / "home", "-m", "multinomial", "-q").err == ""


def test_warnings_are_remarks(messages: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit = library.TextClassifier.fit

    def fit_and_warn(model: Any, *given: Any) -> Any:
        warnings.warn("it did not converge", stacklevel=2)
        return fit(model, *given)

    monkeypatch.setattr(library.TextClassifier, "fit", fit_and_warn)
    assert done("text", "fit", messages, "-m", "multinomial").err.startswith("note: it did not converge\n")


def test_update_and_forget(messages: Path, pairs: list[list[str]], words: Path, tmp_path: Path) -> None:
    halves = [
        written(tmp_path / f"{name}.txt", "".join(f"{label}\t{text}\n" for label, text in some))
        for name, some in (("a", pairs[:100]), ("b", pairs[100:]))
    ]
    model = tmp_path / "m.suffice"
    done("text", "fit", halves[0], "-m", "multinomial", "-o", model)
    alone = done("text", "explain", model, "claim your prize, mum").out
    ran = done("text", "update", model, halves[1])
    assert ran.err == f"140 documents learned; saved to {model}\n"
    whole = done("text", "explain", words, "claim your prize, mum").out
    assert done("text", "explain", model, "claim your prize, mum").out == whole
    assert "forgotten" in done("text", "update", model, halves[1], "--forget").err
    assert done("text", "explain", model, "claim your prize, mum").out == alone


def test_what_cannot_be_learnt_from(tmp_path: Path, messages: Path) -> None:
    poem = written(tmp_path / "poem.txt", "Shall I compare thee to a summer's day?\n")
    sentence = refused("text", "fit", poem, code=1)
    assert f"line 1 of {poem} has no " in sentence
    assert "is empty" in refused("text", "fit", written(tmp_path / "e.txt", ""), code=1)
    assert "no folder or file" in refused("text", "fit", tmp_path / "none", code=2)


def test_an_empty_folder_is_named(tmp_path: Path) -> None:
    assert str(tmp_path) in refused("text", "fit", tmp_path, code=1)


def test_models_of_tables_are_refused(nb: Path, messages: Path) -> None:
    for words in (
        ("predict", nb, messages),
        ("explain", nb, "x"),
        ("evaluate", nb, messages),
        ("update", nb, messages),
    ):
        assert "not a text model" in refused("text", *words, code=1)


def test_a_file_that_is_not_there(words: Path, tmp_path: Path) -> None:
    assert f"there is no file {tmp_path / 'none.txt'}" in refused(
        "text", "predict", words, tmp_path / "none.txt", code=2
    )


def test_unknown_names_suggest_the_nearest(messages: Path) -> None:
    assert "did you mean 'fit'?" in refused("text", "fti", code=2)
    assert "'multinomial'" in refused("text", "fit", messages, "-m", "multinomail", code=2)


def test_quiet_leaves_no_remarks(messages: Path, tmp_path: Path) -> None:
    assert done("text", "fit", messages, "-m", "boolean", "-q", "-o", tmp_path / "m.suffice").err == ""


def test_a_model_that_is_not_saved_is_remarked_upon(messages: Path) -> None:
    ran = done("text", "fit", messages, "-m", "multinomial")
    assert ran.err == "note: the model was not saved: use -o model.suffice\n"


def test_a_folder_is_no_document(words: Path, tmp_path: Path) -> None:
    sentence = refused("text", "predict", words, tmp_path, code=2)
    assert f"{tmp_path} is a folder: name files, such as {tmp_path}/*" in sentence


def test_no_lines_have_no_classes(words: Path) -> None:
    assert done("text", "predict", words, "--lines").out == ""
