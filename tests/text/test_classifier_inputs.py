"""Types of document collections, and errors for unreadable input."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from dask import bag

from suffice import TextClassifier
from suffice.text import HashedVocabulary, sources
from suffice.text.sources import folder, lines
from tests.rights import open_folder, without_rights

from .corpora import SPAM, SPAM_CLASSES, classifier, corpus, each, each_discriminative, each_form, each_generative
from .test_classifier_laws import assert_same

TEXTS, CLASSES = corpus(30)


def expected(form: str = "multinomial", **settings: Any) -> Any:
    return classifier(form, **settings).fit(TEXTS, CLASSES)


# In memory.

WAYS: dict[str, Any] = {
    "list": list,
    "tuple": tuple,
    "numpy objects": lambda texts: np.array(texts, dtype=object),
    "numpy strings": np.array,
    "numpy column": lambda texts: np.array(texts)[:, None],
    "iterator": iter,
    "generator": lambda texts: (text for text in texts),
    "dictionary's values": lambda texts: dict(enumerate(texts)).values(),
    "bytes": lambda texts: [text.encode() for text in texts],
    "numpy bytes": lambda texts: np.array([text.encode() for text in texts]),
    "bytes and strings": lambda texts: [text.encode() if at % 2 else text for at, text in enumerate(texts)],
    "pandas series": lambda texts: pd.Series(texts, index=range(100, 100 + len(texts))),
    "pandas objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas categories": lambda texts: pd.Series(texts, dtype="category"),
    "pandas frame": lambda texts: pd.DataFrame({"text": texts}),
    "polars series": pl.Series,
    "polars frame": lambda texts: pl.DataFrame({"text": texts}),
    "arrow array": pa.array,
    "arrow chunks": lambda texts: pa.chunked_array([texts[:7], texts[7:]]),
    "arrow table": lambda texts: pa.table({"text": texts}),
}


@pytest.mark.parametrize("way", WAYS)
def test_collections_of_any_kind(way: str) -> None:
    model = classifier("multinomial").fit(WAYS[way](TEXTS), CLASSES)
    assert_same(model, expected(), TEXTS)
    np.testing.assert_array_equal(model.predict(WAYS[way](TEXTS)), expected().predict(TEXTS))
    np.testing.assert_array_equal(model.predict_proba(WAYS[way](TEXTS)), model.predict_proba(TEXTS))
    streamed = classifier("multinomial").partial_fit(WAYS[way](TEXTS[:20]), CLASSES[:20], classes=np.unique(CLASSES))
    assert_same(streamed.partial_fit(WAYS[way](TEXTS[20:]), CLASSES[20:]), expected(), TEXTS)
    assert_same(
        model.forget(WAYS[way](TEXTS[20:]), CLASSES[20:]), classifier("multinomial").fit(TEXTS[:20], CLASSES[:20])
    )


@pytest.mark.parametrize("labels", [list, pd.Series, pl.Series, pa.array, pd.Categorical], ids=lambda way: way.__name__)
def test_classes_of_any_kind(labels: Any) -> None:
    assert_same(classifier("multinomial").fit(TEXTS, labels(list(CLASSES))), expected(), TEXTS)


def test_files_in_a_list(tmp_path: Path) -> None:
    paths = []
    for place, text in enumerate(TEXTS):
        paths.append(tmp_path / f"{place}.txt")
        paths[-1].write_text(text, encoding="utf-8")
    assert_same(classifier("multinomial").fit(paths, CLASSES), expected(), TEXTS)


# Streams.


@each_form
def test_pairs(form: str) -> None:
    pairs = classifier(form).fit(zip(TEXTS, CLASSES, strict=True))
    assert_same(pairs, expected(form), TEXTS)
    in_bytes = classifier(form).fit((text.encode(), label) for text, label in zip(TEXTS, CLASSES, strict=True))
    assert_same(in_bytes, expected(form), TEXTS)


def cut(size: int) -> Iterator[tuple[list[str], Any]]:
    for start in range(0, len(TEXTS), size):
        yield TEXTS[start : start + size], CLASSES[start : start + size]


@each_form
def test_batches(form: str) -> None:
    assert_same(classifier(form).fit(cut(30)), expected(form), TEXTS)
    assert set(CLASSES[:11]) == set(CLASSES)  # classes that come later have a test of their own
    assert_same(classifier(form).fit(cut(11)), expected(form), TEXTS)


def test_batches_with_weights_and_pairs_among_them() -> None:
    weight = np.random.default_rng(0).integers(1, 3, 30).astype(float)
    weight[11:13] = 1

    def stream() -> Iterator[Any]:
        yield TEXTS[:11], CLASSES[:11], weight[:11]
        yield TEXTS[11], CLASSES[11]
        yield TEXTS[12].encode(), CLASSES[12]
        yield pd.Series(TEXTS[13:]), pd.Series(CLASSES[13:]), weight[13:]

    whole = classifier("multinomial").fit(TEXTS, CLASSES, sample_weight=weight)
    assert_same(classifier("multinomial").fit(stream()), whole, TEXTS)


def test_many_pairs() -> None:
    """More than are gathered at a time."""
    many = [(TEXTS[place % 30], CLASSES[place % 30]) for place in range(9000)]
    model = classifier("multinomial").fit(iter(many))
    assert model.statistics_.weight == 9000
    assert_same(model, classifier("multinomial").fit(*zip(*many, strict=True)), TEXTS)


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        ([], r"X has no rows \(samples\)"),
        (["free money"], "item 0 of the stream is a str"),
        ([("free", "spam"), ["free", "spam"]], "item 1 of the stream is a list"),
        ([("free",)], "item 0 of the stream is a tuple"),
        ([(["free"], None)], "item 0 of the stream has no classes"),
        ([(["free", "money"], ["spam"])], "2 rows and y has 1: there"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_streams_that_bring_something_else(stream: list[Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TextClassifier().fit(iter(stream))


def test_a_stream_brings_its_own_weights() -> None:
    with pytest.raises(ValueError, match="leave out sample_weight"):
        TextClassifier().fit(cut(7), sample_weight=np.ones(30))


# Folders.


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """Return a folder with a subfolder for each class, some of it deeper."""
    for place, (text, label) in enumerate(zip(TEXTS, CLASSES, strict=True)):
        inside = tmp_path / "home" / label / ("deeper/still" if place % 3 == 0 else "")
        inside.mkdir(parents=True, exist_ok=True)
        (inside / f"{place}.txt").write_text(text, encoding="utf-8")
    return tmp_path / "home"


@each_form
@pytest.mark.parametrize("way", [Path, folder], ids=["path", "folder"])
def test_a_folder(form: str, way: Any, home: Path) -> None:
    model = classifier(form).fit(way(home))
    assert_same(model, expected(form), TEXTS)
    assert model.skipped_ == []
    answers = model.predict(way(home))
    assert sorted(answers) == sorted(model.predict(TEXTS))
    assert model.predict_proba(way(home)).shape == (30, 3)


def test_some_files_of_a_folder(home: Path) -> None:
    (home / "sport" / "picture.png").write_bytes(b"free free free free")
    assert_same(classifier("multinomial").fit(folder(home, "**/*.txt")), expected(), TEXTS)
    picture = classifier("multinomial").fit(home)
    assert picture.statistics_.weight == 31


def test_hidden_folders_and_files_without_a_class(home: Path) -> None:
    (home / ".git").mkdir()
    (home / ".git" / "config").write_text("money")
    (home / "README").write_text("free money")
    (home / "empty").mkdir()
    assert_same(classifier("multinomial").fit(home), expected(), TEXTS)


def test_files_that_cannot_be_read_are_named(home: Path) -> None:
    broken = home / "sport" / "broken.txt"
    broken.symlink_to(home / "nowhere")
    model = classifier("multinomial")
    with pytest.warns(UserWarning, match=r"1 files could not be read and were left out \(.*broken\.txt: No such file"):
        model.fit(home)
    assert model.skipped_ == [(str(broken), "No such file or directory")]
    assert_same(model, expected(), TEXTS)
    broken.unlink()
    assert model.fit(home).skipped_ == []


@pytest.mark.needs("posix")
def test_files_that_may_not_be_read_are_named(home: Path) -> None:
    with open_folder() as place:
        shutil.copytree(home, place, dirs_exist_ok=True)
        closed = place / "sport" / "closed.txt"
        closed.write_text("free")
        closed.chmod(0o000)
        model = classifier("multinomial")
        with pytest.warns(UserWarning, match=r"closed\.txt: Permission denied"):
            without_rights(lambda: model.fit(place))
        assert model.skipped_ == [(str(closed), "Permission denied")]


def test_a_folder_is_read_a_part_at_a_time(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sources, "CHUNK", 100)
    assert len(list(folder(home))) > 3
    assert_same(classifier("multinomial").fit(home), expected(), TEXTS)


def test_folders_that_hold_nothing(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"X has no rows \(samples\)"):
        TextClassifier().fit(tmp_path)
    (tmp_path / "README").write_text("free money")
    with pytest.raises(ValueError, match=r"X has no rows \(samples\)"):
        TextClassifier().fit(tmp_path)
    with pytest.raises(FileNotFoundError, match="no folder"):
        folder(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="no file"):
        TextClassifier().fit(tmp_path / "nowhere")


# Lines.


def one_line(text: str) -> str:
    return text.replace("\n", " ")


@pytest.fixture
def sms(tmp_path: Path) -> Path:
    path = tmp_path / "sms"
    rows = [f"{label}\t{one_line(text)}" for text, label in zip(TEXTS, CLASSES, strict=True)]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8", newline="")
    return path


@each_form
@pytest.mark.parametrize("way", [Path, lines], ids=["path", "lines"])
def test_lines(form: str, way: Any, sms: Path) -> None:
    model = classifier(form).fit(way(sms))
    assert_same(model, expected(form), TEXTS)
    np.testing.assert_array_equal(model.predict(way(sms)), model.predict(TEXTS))


@pytest.mark.parametrize("ending", ["\n", "\r\n"], ids=["LF", "CRLF"])
@pytest.mark.parametrize("last", [True, False], ids=["ended", "open"])
@pytest.mark.parametrize("empty", [True, False], ids=["gaps", "dense"])
def test_ends_of_lines(ending: str, last: bool, empty: bool, tmp_path: Path) -> None:
    path = tmp_path / "sms"
    rows = [f"{label}\t{one_line(text)}" for text, label in zip(TEXTS, CLASSES, strict=True)]
    if empty:
        rows = [*rows[:3], "", "", *rows[3:], ""]
    path.write_bytes((ending.join(rows) + (ending if last else "")).encode())
    model = classifier("multinomial").fit(lines(path))
    assert model.statistics_.weight == 30
    assert_same(model, expected(), TEXTS)


@pytest.mark.parametrize("chunk", [128, 200, 333, 1000])
def test_lines_across_what_is_read_at_a_time(chunk: int, sms: Path) -> None:
    found = list(lines(sms, chunk=chunk))
    assert len(found) > 1
    texts = [
        each.texts.buffer[begin:end].decode()
        for each in found
        for begin, end in zip(each.texts.begins, each.texts.ends, strict=True)
    ]
    assert texts == [one_line(text) for text in TEXTS]
    assert [label for each in found for label in each.labels] == list(CLASSES)
    model = classifier("multinomial").fit(lines(sms, chunk=chunk * 8))
    assert_same(model, expected(), TEXTS)


@pytest.mark.parametrize("chunk", [1, 2, 3, 7, 1 << 20])
def test_tiny_chunks(chunk: int, tmp_path: Path) -> None:
    path = tmp_path / "sms"
    path.write_bytes("spam\tfree\r\n\r\nham\tmünchen lunch\n\nspam\t\nspam\tmoney".encode())
    found = list(lines(path, chunk=chunk))
    texts = [
        each.texts.buffer[begin:end].decode()
        for each in found
        for begin, end in zip(each.texts.begins, each.texts.ends, strict=True)
    ]
    assert [text.strip() for text in texts] == ["free", "münchen lunch", "", "money"]
    assert [label for each in found for label in each.labels] == ["spam", "ham", "spam", "spam"]


@pytest.mark.parametrize("chunk", [8, 1 << 20])
def test_a_line_without_a_separator_is_named(chunk: int, tmp_path: Path) -> None:
    path = tmp_path / "sms"
    path.write_text("spam\tfree\n\nham\tlunch\njust some words\nham\tfine\n")
    with pytest.raises(ValueError, match=r"line 4 of .*sms has no '\\t' between class and document: 'just some words'"):
        classifier("multinomial").fit(lines(path, chunk=chunk))


def test_separators_and_lines_without_classes(tmp_path: Path) -> None:
    path = tmp_path / "sms"
    path.write_text("spam,free, money\nham,lunch\n")
    model = classifier("multinomial").fit(lines(path, separator=","))
    assert_same(model, classifier("multinomial").fit(["free, money", "lunch"], ["spam", "ham"]))
    path.write_text("free money\nlunch\n")
    np.testing.assert_array_equal(model.predict(lines(path, labelled=False)), ["spam", "ham"])
    with pytest.raises(ValueError, match="item 0 of the stream has no classes"):
        classifier("multinomial").fit(lines(path, labelled=False))
    for separator in ("", "::", "é", "\n"):
        with pytest.raises(ValueError, match="separator must be one ASCII character"):
            lines(path, separator=separator)
    path.write_text("")
    with pytest.raises(ValueError, match=r"X has no rows \(samples\)"):
        classifier("multinomial").fit(lines(path))


# Encodings.


def test_latin_1() -> None:
    texts = ["café olé", "straße naïve", "München"]
    model = classifier("multinomial", encoding="latin-1").fit([text.encode("latin-1") for text in texts], [0, 1, 1])
    assert set(model.vocabulary_) == {"café", "olé", "straße", "naïve", "münchen"}
    assert_same(model, classifier("multinomial").fit(texts, [0, 1, 1]), texts)
    np.testing.assert_array_equal(model.predict(["café".encode("latin-1"), "münchen"]), [0, 1])
    mixed = classifier("multinomial", encoding="latin-1").fit(
        ["café olé", texts[1].encode("latin-1"), "München"], [0, 1, 1]
    )
    assert_same(mixed, model, texts)


def test_latin_1_in_a_folder(tmp_path: Path) -> None:
    for label, text in (("a", "café olé"), ("b", "naïve")):
        (tmp_path / label).mkdir()
        (tmp_path / label / "1").write_bytes(text.encode("latin-1"))
    assert set(classifier("multinomial", encoding="latin-1").fit(tmp_path).vocabulary_) == {"café", "olé", "naïve"}


def test_latin_1_in_lines(tmp_path: Path) -> None:
    path = tmp_path / "sms"
    path.write_bytes("a\tcafé olé\nb\tnaïve\n".encode("latin-1"))
    assert set(classifier("multinomial", encoding="latin-1").fit(path).vocabulary_) == {"café", "olé", "naïve"}


@each_form
def test_bytes_that_are_no_text_separate_words(form: str) -> None:
    model = classifier(form).fit([b"free\xff\xfemoney \xc3", b"lunch\x80", "monday"], ["spam", "ham", "ham"])
    assert set(model.vocabulary_) == {"free", "money", "lunch", "monday"}
    assert model.predict([b"\xf0\x9fmoney"]) == ["spam"]


def test_half_characters_in_strings() -> None:
    model = classifier("multinomial").fit(["free\ud800money", "lunch"], ["spam", "ham"])
    assert np.isfinite(model.predict_proba(["free \udfff", "\ud800"])).all()


# Documents that are strange, but documents.


@each_form
def test_empty_documents_and_documents_without_words(form: str) -> None:
    texts = [*SPAM, "", "?!", "a b c", "\n\t", "\0"]
    model = classifier(form).fit(texts, [*SPAM_CLASSES, "ham", "ham", "spam", "spam", "ham"])
    assert set(model.vocabulary_) == set(classifier(form).fit(SPAM, SPAM_CLASSES).vocabulary_)
    p = model.predict_proba(["", "?!", "zebra"])
    np.testing.assert_allclose(p, np.repeat(p[:1], 3, axis=0))
    assert model.predict([]).shape == (0,)
    assert model.predict_proba([]).shape == (0, 2)


@each(("multinomial", "boolean", "bernoulli", "complement", "nb_logistic", "logistic"))
def test_no_word_at_all(form: str) -> None:
    try:
        model = classifier(form).fit(["", "?"], ["ham", "spam"])
    except ValueError as error:
        assert "word" in str(error)  # noqa: PT017
        return
    np.testing.assert_allclose(model.predict_proba(["", "zebra"]), 0.5)


@each(("multinomial", "bernoulli", "logistic"))
def test_a_long_document(form: str) -> None:
    long = "free money " * 100_000
    assert len(long) > 1_000_000
    model = classifier(form).fit([long, "lunch monday", "monday"], ["spam", "ham", "ham"])
    assert model.predict([long, "lunch"]).tolist() == ["spam", "ham"]
    assert model.explain(long).scores.values == [100_000, 100_000]
    assert np.isfinite(model.predict_proba([long])).all()


def test_long_words() -> None:
    word = "x" * 100_000
    model = classifier("multinomial").fit([word, "lunch"], ["spam", "ham"])
    assert model.predict([word]) == ["spam"]


# What is refused.


@each_form
@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "predict_proba"])
@pytest.mark.parametrize("text", ["free money", b"free money"], ids=["str", "bytes"])
def test_one_text_is_no_collection(form: str, method: str, text: Any) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    with pytest.raises(ValueError, match=rf"not one {type(text).__name__}: pass \[text\]"):
        getattr(model, method)(*([text] if "predict" in method else [text, ["ham"]]))


@each_form
@pytest.mark.parametrize("method", ["fit", "partial_fit", "predict", "predict_proba"])
@pytest.mark.parametrize("bad", [None, float("nan"), 3, ["free"], np.float64(2)], ids=repr)
def test_what_is_no_text_is_named(form: str, method: str, bad: Any) -> None:
    model = classifier(form).fit(SPAM, SPAM_CLASSES)
    texts = ["free", "lunch", bad, "money"]
    with pytest.raises(TypeError, match=rf"documents\[2\] is of type {type(bad).__name__}; a document is a str"):
        getattr(model, method)(*([texts] if "predict" in method else [texts, ["ham", "spam", "ham", "ham"]]))


def test_what_is_no_text_is_named_by_explanations_too() -> None:
    model = classifier("multinomial").fit(SPAM, SPAM_CLASSES)
    with pytest.raises(TypeError, match=r"documents\[1\] is of type NoneType"):
        model.explain(["free", None])


def test_a_cell_that_is_missing_is_named() -> None:
    for column in (pd.Series(["free", None]), pl.Series(["free", None]), pa.array(["free", None])):
        with pytest.raises(TypeError, match=r"documents\[1\] is of type (NoneType|float|NAType)"):
            TextClassifier().fit(column, ["spam", "ham"])


def test_what_is_no_column() -> None:
    two = pd.DataFrame({"a": SPAM, "b": SPAM})
    for frame in (two, two.to_numpy(), pl.DataFrame({"a": SPAM, "b": SPAM})):
        with pytest.raises(ValueError, match="one column of documents; it has 2"):
            TextClassifier().fit(frame, SPAM_CLASSES)
    with pytest.raises(ValueError, match=r"its shape is \(1, 1, 5\)"):
        TextClassifier().fit(np.array([[SPAM]]), SPAM_CLASSES)
    with pytest.raises(TypeError, match="must be a collection of documents; got int"):
        TextClassifier().fit(3, SPAM_CLASSES)


@each_form
def test_classes_that_are_missing_or_too_few(form: str) -> None:
    with pytest.raises(ValueError, match="y is missing"):
        classifier(form).fit(SPAM)
    with pytest.raises(ValueError, match="5 rows and y has 4: there"):
        classifier(form).fit(SPAM, SPAM_CLASSES[:4])
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        classifier(form).fit(SPAM, [1.0, np.nan, 0.0, 1.0, 1.0])


@each_generative
def test_one_class_is_a_class(form: str) -> None:
    model = classifier(form).fit(["free", "money"], ["spam", "spam"])
    assert model.predict(["lunch"]) == ["spam"]
    np.testing.assert_array_equal(model.predict_proba(["free"]), [[1.0]])


@each_discriminative
def test_one_class_cannot_be_told_apart(form: str) -> None:
    with pytest.raises(ValueError, match="y has one class, 'spam': a classifier needs rows of at least 2 classes"):
        classifier(form).fit(["free", "money"], ["spam", "spam"])


@each_form
def test_nothing_at_all(form: str) -> None:
    with pytest.raises(ValueError, match="no documents"):
        classifier(form).fit([], [])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"model": "oracle"}, r"model must be one of 'multinomial'.*got 'oracle'"),
        ({"features": "verbs"}, r"features must be 'words', 'bigrams', 'characters'.*got 'verbs'"),
        ({"features": 3}, r"features must be .*got 3"),
        ({"vocabulary": "small"}, r"vocabulary must be 'exact', 'hashed'.*got 'small'"),
        ({"alpha": -0.5}, r"alpha must be a finite number, 0 or more, or 'auto'; got -0\.5"),
        ({"alpha": np.nan}, r"alpha must be .*got nan"),
        ({"alpha": np.inf}, r"alpha must be .*got inf"),
        ({"alpha": "small"}, r"alpha must be a finite number, 0 or more, or 'auto'; got 'small'"),
        ({"C": -1.0}, r"C must be .*got -1\.0"),
        ({"C": "large"}, r"C must be .*got 'large'"),
        ({"temperature": 0.0}, r"temperature must be a finite number, above 0, or 'auto'; got 0\.0"),
        ({"temperature": -1.0}, r"temperature must be .*got -1\.0"),
        ({"temperature": np.nan}, r"temperature must be .*got nan"),
        ({"temperature": "hot"}, r"temperature must be .*got 'hot'"),
        ({"min_documents": -1}, r"min_documents must be .*got -1"),
        ({"min_documents": np.nan}, r"min_documents must be .*got nan"),
        ({"max_share": 0.0}, r"max_share must be above 0 and at most 1; got 0\.0"),
        ({"max_share": 1.5}, r"max_share must be .*got 1\.5"),
        ({"max_share": np.nan}, r"max_share must be .*got nan"),
        ({"max_words": 0}, r"max_words must be a whole number, 1 or more, or None; got 0"),
        ({"model": "bernoulli", "presence": False}, r"presence cannot be False"),
        ({"model": "boolean", "presence": False}, r"for counts, use 'multinomial'"),
        ({"class_prior": [0.5, 0.6]}, r"class_prior must sum to 1; yours sum to 1\.1"),
        ({"class_prior": [1.5, -0.5]}, r"class_prior\[1\], of 'spam', is -0\.5"),
        ({"class_prior": [1.0]}, r"class_prior has shape \(1,\) for the 2 classes"),
        ({"class_prior": {"ham": 0.5, "eggs": 0.5}}, r"class_prior must name the classes \['ham', 'spam'\]"),
        ({"vocabulary": ["free", "free"]}, r"'free' occurs twice"),
        ({"vocabulary": HashedVocabulary(9), "min_documents": 2}, r"need an exact vocabulary"),
        pytest.param(
            {"max_words": 2.5},
            r"max_words must be .*got 2\.5",
        ),
        pytest.param(
            {"alpha": None},
            r"alpha must be .*got None",
        ),
        pytest.param(
            {"min_documents": "2"},
            r"min_documents must be .*got '2'",
        ),
    ],
    ids=str,
)
def test_settings_out_of_range_are_named(settings: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        TextClassifier(**settings).fit(SPAM, SPAM_CLASSES)
    with pytest.raises(ValueError, match=words):
        TextClassifier(**settings).partial_fit(SPAM, SPAM_CLASSES).predict(SPAM)


def test_what_was_not_counted_cannot_be_read() -> None:
    model = classifier("multinomial").fit(SPAM, SPAM_CLASSES)
    with pytest.raises(ValueError, match="presence"):
        model.with_params(presence=True)
    with pytest.raises(
        ValueError, match="model='logistic' cannot be read from the sum of model='multinomial': fit again"
    ):
        model.with_params(model="logistic")


def test_empty_lines_have_no_answers(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("\n\n")
    assert len(expected().predict(lines(tmp_path / "lines"))) == 0


# Of a cluster.


def test_the_form_is_chosen_by_some_documents_of_a_cluster() -> None:
    texts, y = corpus(60)
    there = [bag.from_sequence(each, npartitions=2) for each in (texts, y.tolist())]
    with dask.config.set(scheduler="synchronous"):
        model = TextClassifier("auto").fit(*there)
        here = TextClassifier(model.model_).fit(texts, y)
        np.testing.assert_allclose(model.predict_proba(texts), here.predict_proba(texts), atol=1e-9)
        model.partial_fit(*there)
    assert model.model_ == here.model_
    twice = TextClassifier(model.model_).fit([*texts, *texts], [*y, *y])
    np.testing.assert_allclose(model.predict_proba(texts), twice.predict_proba(texts), atol=1e-9)


def test_there_must_be_documents_in_a_cluster() -> None:
    nothing = bag.from_sequence([""], npartitions=1).filter(bool)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"no rows \(samples\): there is nothing to learn from"),
    ):
        TextClassifier("multinomial").partial_fit(nothing, nothing)


def test_a_first_batch_without_documents_is_refused() -> None:
    with pytest.raises(ValueError, match="there are no documents to learn from: X is empty"):
        TextClassifier().partial_fit([], [], classes=["ham", "spam"])


def test_negative_numbers_of_words_and_documents_are_refused() -> None:
    model = TextClassifier().fit(TEXTS, CLASSES)
    with pytest.raises(ValueError, match="n must not be negative; got -1"):
        model.top_words(CLASSES[0], n=-1)
    with pytest.raises(ValueError, match="n and length must not be negative; got -1 and None"):
        model.sample(-1)
    with pytest.raises(ValueError, match="n and length must not be negative; got 2 and -3"):
        model.sample(2, length=-3)


def test_priors_of_models_without_a_prior_are_checked() -> None:
    priors = np.full(len(set(CLASSES)), 0.7)
    with pytest.raises(ValueError, match="class_prior must sum to 1"):
        TextClassifier("logistic", class_prior=priors).fit(TEXTS, CLASSES).predict(TEXTS[:1])
