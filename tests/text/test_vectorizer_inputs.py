"""What the vectorisers take, as any collection and in any encoding, and what they refuse, by name."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as theirs

from suffice import text
from suffice.text import CountVectorizer, HashingVectorizer, TfidfVectorizer

from .alike import DOCUMENTS, UNSEEN, check_same

PLAIN = ["free money", "free lunch", "café"]
COLLECTIONS: dict[str, Callable[[list[str]], Any]] = {
    "list": list,
    "tuple": tuple,
    "generator": lambda texts: (document for document in texts),
    "dictionary of texts": dict.fromkeys,
    "array of str": np.array,
    "array of objects": lambda texts: np.array(texts, dtype=object),
    "column of an array": lambda texts: np.array(texts)[:, None],
    "pandas Series": lambda texts: pd.Series(texts, index=range(7, 7 + len(texts))),
    "pandas Series of objects": lambda texts: pd.Series(texts, dtype=object),
    "pandas Series of strings": lambda texts: pd.Series(texts, dtype="string"),
    "pandas Index": pd.Index,
    "pandas Categorical": lambda texts: pd.Series(texts, dtype="category"),
    "pandas DataFrame of one column": lambda texts: pd.DataFrame({"text": texts}),
    "polars Series": pl.Series,
    "polars DataFrame of one column": lambda texts: pl.DataFrame({"text": texts}),
    "Arrow array": pa.array,
    "Arrow large strings": lambda texts: pa.array(texts, pa.large_string()),
    "Arrow dictionary": lambda texts: pa.array(texts).dictionary_encode(),
    "Arrow chunks": lambda texts: pa.chunked_array([texts[:1], texts[1:]]),
    "bytes": lambda texts: [document.encode() for document in texts],
    "array of bytes": lambda texts: np.array([document.encode() for document in texts]),
    "bytes and str": lambda texts: [texts[0].encode(), *texts[1:]],
    "subclass of str": lambda texts: [np.str_(document) for document in texts],
}


@pytest.mark.parametrize("collection", COLLECTIONS.values(), ids=COLLECTIONS)
def test_documents_come_as_any_collection(collection: Callable[[list[str]], Any]):
    expected = theirs.CountVectorizer().fit(PLAIN)
    check_same(CountVectorizer().fit_transform(collection(PLAIN)), expected.transform(PLAIN))
    check_same(CountVectorizer().fit(PLAIN).transform(collection(PLAIN)), expected.transform(PLAIN))


def test_documents_come_as_an_arrow_table():
    expected = theirs.CountVectorizer().fit_transform(PLAIN)
    check_same(CountVectorizer().fit_transform(pa.table({"text": PLAIN})), expected)


def test_a_path_stands_for_its_file(tmp_path: Path):
    (tmp_path / "spam.txt").write_bytes("free money café".encode("latin-1"))
    counts = CountVectorizer(encoding="latin-1")
    counts.fit([tmp_path / "spam.txt", "lunch"])
    assert counts.get_feature_names_out().tolist() == ["café", "free", "lunch", "money"]


def test_the_callers_documents_stay_as_they_are():
    documents = ["plain", "caf\xe9".encode("latin-1")]
    CountVectorizer(encoding="latin-1").fit(documents)
    assert documents == ["plain", b"caf\xe9"]


@pytest.mark.parametrize("one", ["free money", b"free money", Path("mail.txt")], ids=repr)
def test_one_text_is_no_collection(one: Any):
    for vectorizer in (CountVectorizer(), HashingVectorizer(), TfidfVectorizer(), CountVectorizer(vocabulary=["free"])):
        with pytest.raises(ValueError, match=f"collection of documents, not one {type(one).__name__}"):
            vectorizer.fit_transform(one)


@pytest.mark.parametrize("strange", [None, np.nan, 3, ["tokens"], bytearray(b"ab"), pd.NA], ids=repr)
def test_what_is_no_document_is_named(strange: Any):
    complaint = rf"documents\[1\] is of type {type(strange).__name__}; a document is a str"
    for vectorizer in (CountVectorizer(), HashingVectorizer(), TfidfVectorizer(), CountVectorizer(vocabulary=["free"])):
        with pytest.raises(TypeError, match=complaint):
            vectorizer.fit_transform(["free money", strange, "lunch"])
    with pytest.raises(TypeError, match=complaint):
        CountVectorizer().fit(PLAIN).transform(["free money", strange])


def test_a_missing_cell_of_a_column_is_named():
    for column in (pd.Series(["a", np.nan]), pd.Series(["a", None], dtype="string"), pl.Series(["a", None])):
        with pytest.raises(TypeError, match=r"documents\[1\] is of type (float|NAType|NoneType)"):
            CountVectorizer().fit(column)


def test_tables_of_several_columns_are_refused():
    for table in (
        np.array([["a", "b"]]),
        pd.DataFrame({"x": ["a"], "y": ["b"]}),
        pl.DataFrame({"x": ["a"], "y": ["b"]}),
    ):
        with pytest.raises(ValueError, match=r"one column of documents; it has 2"):
            CountVectorizer().fit(table)
    with pytest.raises(ValueError, match=r"its shape is \(1, 1, 1\)"):
        CountVectorizer().fit(np.full((1, 1, 1), "a"))
    with pytest.raises(TypeError, match="collection of documents; got int"):
        CountVectorizer().fit(3)


@pytest.mark.parametrize("encoding", ["latin-1", "utf-16", "cp1252", "shift_jis", "utf-8-sig", "UTF8", "utf_8"])
def test_bytes_of_any_encoding(encoding: str):
    documents = ["free money", "naïve caffè" if encoding != "shift_jis" else "日本語 テキスト", "lunch"]
    stored = [document.encode(encoding) for document in documents]
    one, two = CountVectorizer(encoding=encoding), theirs.CountVectorizer(encoding=encoding)
    check_same(one.fit_transform(stored), two.fit_transform(stored))
    assert one.vocabulary_ == two.vocabulary_


@pytest.mark.parametrize("decode_error", ["ignore", "replace"])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_bytes_that_cannot_be_read_are_replaced_or_left_out(encoding: str, decode_error: str):
    documents = [b"caf\xe9s free", b"\xff\xfemoney", "Σας".encode(), b"\xce\xa3\xc3\x28", "plain"]
    one = CountVectorizer(encoding=encoding, decode_error=decode_error)
    expected = theirs.CountVectorizer().fit(
        [document.decode(encoding, decode_error) if isinstance(document, bytes) else document for document in documents]
    )
    one.fit(documents)
    assert one.vocabulary_ == expected.vocabulary_


def test_bytes_that_cannot_be_read_are_refused_by_position():
    with pytest.raises(ValueError, match=r"0xe9.*documents\[1\] is not valid utf-8: .*decode_error='replace'"):
        CountVectorizer().fit(["free", b"caf\xe9"])
    with pytest.raises(ValueError, match=r"documents\[0\] is not valid ascii"):
        HashingVectorizer(encoding="ascii").transform([b"caf\xe9"])


@pytest.mark.parametrize(
    "settings",
    [
        {"input": "url"},
        {"analyzer": "sentence"},
        {"strip_accents": "latin"},
        {"ngram_range": (2, 1)},
        {"stop_words": "german"},
        {"decode_error": "guess"},
        {"token_pattern": r"(\w)(\w+)"},
    ],
    ids=repr,
)
def test_settings_are_refused_as_scikit_learn_refuses_them(settings: dict[str, Any]):
    for kind in ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer"):
        with pytest.raises(ValueError) as expected:  # noqa: PT011
            getattr(theirs, kind)(**settings).fit_transform(DOCUMENTS)
        with pytest.raises(ValueError, match=re.escape(str(expected.value))):
            getattr(text, kind)(**settings).fit(DOCUMENTS)


@pytest.mark.parametrize(
    "settings",
    [
        {"min_df": 0},
        {"min_df": -1},
        {"max_df": 1.5},
        {"max_df": "most"},
        {"min_df": np.nan},
        {"min_df": 3, "max_df": 2},
        {"min_df": 9},
        {"stop_words": ["noon"], "max_df": 1, "min_df": 0.9},
        *({"max_features": limit} for limit in (0, -1, 2.5, "all")),
    ],
    ids=repr,
)
def test_limits_are_refused_as_scikit_learn_refuses_them(settings: dict[str, Any]):
    with pytest.raises(ValueError) as expected:  # noqa: PT011
        theirs.CountVectorizer(**settings).fit(DOCUMENTS)
    with pytest.raises(ValueError, match=re.escape(str(expected.value))):
        CountVectorizer(**settings).fit(DOCUMENTS)


@pytest.mark.parametrize("documents", [[], ["", "  "], ["the and of", "is"], ["a b c"]], ids=repr)
def test_without_any_word_there_is_nothing_to_learn(documents: list[str]):
    for mine, other in ((CountVectorizer, theirs.CountVectorizer), (TfidfVectorizer, theirs.TfidfVectorizer)):
        complaint = "empty vocabulary; perhaps the documents only contain stop words"
        with pytest.raises(ValueError, match=complaint):
            mine(stop_words="english").fit(documents)
        with pytest.raises(ValueError, match=complaint):
            other(stop_words="english").fit(documents)


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer])
def test_what_needs_a_fit_says_so(kind: Any):
    for use in (
        lambda vectorizer: vectorizer.transform(PLAIN),
        lambda vectorizer: vectorizer.get_feature_names_out(),
        lambda vectorizer: vectorizer.vocabulary_,
    ):
        with pytest.raises(NotFittedError, match="not fitted"):
            use(kind())


def test_weights_need_a_fit():
    with pytest.raises(NotFittedError):
        TfidfVectorizer(vocabulary=["free", "money"]).transform(PLAIN)
    with pytest.raises(NotFittedError):
        TfidfVectorizer().idf_  # noqa: B018


def test_weights_are_learnt_anew():
    one, two = (kind(vocabulary=["free", "money", "lunch"]) for kind in (TfidfVectorizer, theirs.TfidfVectorizer))
    for documents in (PLAIN, DOCUMENTS):
        check_same(one.fit_transform(documents), two.fit_transform(documents))


def test_a_second_fit_forgets_the_first():
    for kind in (CountVectorizer, TfidfVectorizer):
        again = kind().fit(UNSEEN).fit(DOCUMENTS)
        check_same(again.transform(UNSEEN), kind().fit(DOCUMENTS).transform(UNSEEN))
