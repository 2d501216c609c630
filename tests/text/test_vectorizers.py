"""The vectorisers give what scikit-learn's give, to the last entry."""

from __future__ import annotations

import pickle
from io import StringIO
from itertools import product
from pathlib import Path
from typing import Any

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction import text as theirs
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.utils.validation import check_is_fitted

from suffice.kernels import ThreadEngine
from suffice.text import CountVectorizer, HashingVectorizer, TfidfVectorizer, Vocabulary
from tests.each import for_each

from .alike import CUTTING, DOCUMENTS, UNSEEN, check_alike, check_same, quietly
from .newsgroups import articles
from .ways import text

KEEPING: list[dict[str, Any]] = [
    {},
    {"binary": True},
    {"min_df": 2},
    {"max_df": 2},
    {"min_df": 0.25},
    {"max_df": 0.25, "min_df": 0.0},
    {"min_df": 2, "max_df": 0.34},
    {"max_features": 1},
    {"max_features": 7, "max_df": 0.5},
    {"max_features": 10_000},
    {"dtype": np.float32},
    {"dtype": np.int16, "binary": True},
]


@pytest.mark.parametrize("cutting", CUTTING, ids=repr)
@for_each("keeping", KEEPING)
def test_counts_of_every_setting(cutting: dict[str, Any], keeping: dict[str, Any]):
    check_alike("count", {**cutting, **keeping})


WEIGHING: list[dict[str, Any]] = [
    dict(zip(("norm", "use_idf", "smooth_idf", "sublinear_tf"), values, strict=True))
    for values in product(("l2", "l1", None), (True, False), (True, False), (True, False))
]


@for_each("weighing", WEIGHING)
@pytest.mark.parametrize("cutting", [{}, {"ngram_range": (1, 2), "min_df": 2}, {"analyzer": "char"}], ids=repr)
def test_weights_of_every_setting(cutting: dict[str, Any], weighing: dict[str, Any]):
    check_alike("tfidf", {**cutting, **weighing})


@pytest.mark.parametrize(
    "settings",
    [{"binary": True}, {"dtype": np.float32}, {"max_features": 5}, {"vocabulary": ["lunch", "money", "absent"]}],
    ids=repr,
)
def test_weights_of_other_counts(settings: dict[str, Any]):
    check_alike("tfidf", settings)


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.float32, np.int32], ids=lambda dtype: dtype.__name__)
def test_the_most_frequent_words_where_many_are_as_frequent(dtype: type):
    """Hundreds of words occur as often as each other: the same ones are taken."""
    documents = [f"w{word} w{word % 100} w{word % 7}" for word in range(300)]
    for limit in (1, 3, 16, 17, 99, 100, 299):
        check_alike("count", {"max_features": limit, "dtype": dtype}, documents)
    check_alike("tfidf", {"max_features": 40, "dtype": dtype if np.dtype(dtype).kind == "f" else np.float64}, documents)


def test_the_most_frequent_words_of_binary_counts():
    check_alike("count", {"max_features": 2, "binary": True}, ["aa aa aa bb", "bb cc", "bb cc dd", "dd"])


@pytest.mark.parametrize(
    "vocabulary",
    [
        ["money", "lunch", "absent"],
        ("money", "lunch"),
        {"money", "lunch", "absent", "café"},
        frozenset({"noon"}),
        {"money": 2, "lunch": 0, "absent": 1},
        np.array(["now", "free"]),
        {"money": 0, "lunch": 2},
        {"money": 0, "lunch": 0},
        ["twice", "once", "twice"],
        [],
        {},
    ],
    ids=lambda vocabulary: f"{type(vocabulary).__name__} {' '.join(sorted(vocabulary))}",
)
def test_a_vocabulary_that_is_given(vocabulary: Any):
    check_alike("count", {"vocabulary": vocabulary})


def test_matrices_of_few_documents_are_valid_and_share_nothing():
    vectorizer = CountVectorizer().fit(DOCUMENTS)
    first, second = vectorizer.transform(DOCUMENTS[:2]), vectorizer.transform(DOCUMENTS[:2])
    first.check_format(full_check=True)
    first.data[:] = 7
    first.resize(1, 3)
    check_same(second, theirs.CountVectorizer().fit(DOCUMENTS).transform(DOCUMENTS[:2]))
    check_same(vectorizer.transform(DOCUMENTS[:2]), second)


def test_a_vocabulary_that_is_given_needs_no_fit():
    given_words = ["money", "now"]
    one, two = CountVectorizer(vocabulary=given_words), theirs.CountVectorizer(vocabulary=given_words)
    check_same(one.transform(DOCUMENTS), two.transform(DOCUMENTS))
    assert CountVectorizer(vocabulary=given_words).get_feature_names_out().tolist() == given_words


def test_a_vocabulary_that_was_learnt_can_be_given():
    learned = CountVectorizer().fit(DOCUMENTS)
    again = CountVectorizer(vocabulary=learned.vocabulary_)
    check_same(again.fit_transform(UNSEEN), learned.transform(UNSEEN))


@given(documents=st.lists(text, max_size=6), others=st.lists(text, max_size=3), cutting=st.sampled_from(CUTTING))
def test_any_documents(documents: list[str], others: list[str], cutting: dict[str, Any]):
    one, two = CountVectorizer(**cutting), theirs.CountVectorizer(**cutting)
    try:
        expected = quietly(lambda: two.fit_transform(documents))
    except ValueError as error:
        with pytest.raises(ValueError, match=str(error).split(";")[0]):
            one.fit_transform(documents)
        return
    check_same(one.fit_transform(documents), expected)
    assert one.vocabulary_ == two.vocabulary_
    check_same(one.transform(others), two.transform(others))


@for_each("size", [1, 2, 7, 8, 9, 15, 16, 17, 24, 63, 64, 65, 200])
@pytest.mark.parametrize(
    "letters", ["abcdefghijklmnopqrstuvwxyz0123456789_", "àáâãäåæçèéêëìíîïñ", "一丁七丈三上下不与丐"]
)
def test_words_that_differ_in_one_place(size: int, letters: str):
    """Words of eight bytes and fewer are told apart by their hashes alone."""
    for place in {0, size // 2, size - 1}:
        words = [letters[0] * place + letter + letters[1] * (size - place - 1) for letter in letters]
        documents = [" ".join(words), " ".join(words[::2]), words[0], words[-1] + " " + words[-1]]
        check_alike("count", {"token_pattern": r"\w+"}, documents)


def test_many_threads_give_the_same():
    rng = np.random.default_rng(0)
    documents = [" ".join(f"w{word}" for word in rng.zipf(1.3, 200) % 5000) for _ in range(300)]
    alone = CountVectorizer(n_jobs=1).fit(documents)
    expected = theirs.CountVectorizer().fit(documents)
    counts, hashes = expected.transform(documents), HashingVectorizer(n_jobs=1).transform(documents)
    for threads in (2, 3, 5):
        many = CountVectorizer(n_jobs=threads)
        check_same(many.fit_transform(documents), counts)
        assert many.vocabulary_ == expected.vocabulary_ == alone.vocabulary_
        check_same(many.transform(documents[::-1]), counts[::-1])
        hashed = HashingVectorizer(n_jobs=threads).transform(documents)
        assert (hashed != hashes).nnz == 0


def test_more_documents_than_are_gathered_at_a_time():
    documents = [f"d{number % 1000} same" for number in range((1 << 16) + 1500)]
    check_alike("count", {}, documents)
    with pytest.raises(TypeError, match=r"documents\[66000\] is of type NoneType"):
        CountVectorizer().fit([*documents[:66_000], None])


@pytest.mark.parametrize(
    "settings",
    [{}, {"min_df": 2, "max_df": 0.5, "stop_words": "english"}, {"max_features": 1000, "ngram_range": (1, 2)}],
    ids=repr,
)
def test_articles(settings: dict[str, Any]):
    check_alike("count", settings, articles()[::80])


# As an estimator among others.


SETTINGS: dict[str, Any] = {"ngram_range": (1, 2), "stop_words": ["the"], "binary": True, "n_jobs": ThreadEngine(2)}


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_settings_are_kept_as_given(kind: Any):
    vectorizer = kind(**SETTINGS)
    assert vectorizer.get_params() == {**kind().get_params(), **SETTINGS}
    again = clone(vectorizer)
    assert {**again.get_params(), "n_jobs": None} == {**vectorizer.get_params(), "n_jobs": None}
    assert again.set_params(binary=False).binary is False
    assert kind.__name__ in repr(vectorizer)


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_parameters_and_defaults_are_those_of_scikit_learn(kind: Any):
    assert kind().get_params() == {**getattr(theirs, kind.__name__)().get_params(), "n_jobs": None}
    assert not hasattr(kind(), "set_output")  # counts are sparse, as scikit-learn's are


FUNCTIONS: list[dict[str, Any]] = [
    {"analyzer": str.split},
    {"tokenizer": str.split, "token_pattern": None},
    {"preprocessor": str.upper},
    {"strip_accents": theirs.strip_tags},
    {"token_pattern": "[a-z]+"},
    {"token_pattern": r"\b(\w)\w+\b", "ngram_range": (1, 2)},
    {"ngram_range": (0, 1)},
]


@for_each("settings", FUNCTIONS)
@pytest.mark.parametrize("name", ["count", "tfidf"])
def test_functions_and_other_patterns_run_in_python(settings: dict[str, Any], name: str):
    check_alike(name, settings)


def test_a_subclass_overrides_a_step():
    class Shouts(CountVectorizer):
        def build_preprocessor(self) -> Any:
            return str.upper

    assert Shouts().fit(["free money"]).vocabulary_ == {"FREE": 0, "MONEY": 1}


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_documents_come_from_files(kind: Any, tmp_path: Path):
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    documents = ["Free café money", "lunch money"]
    for file, document in zip(files, documents, strict=True):
        file.write_bytes(document.encode("latin-1"))
    expected = kind().fit_transform(documents)
    check_same(kind(input="filename", encoding="latin-1").fit_transform(map(str, files)), expected)
    check_same(kind(input="file").fit_transform([StringIO(document) for document in documents]), expected)


@for_each("settings", [{}, {"analyzer": "char", "ngram_range": (2, 3)}, {"stop_words": "english"}, FUNCTIONS[0]])
def test_functions_that_are_built_can_be_pickled(settings: dict[str, Any]):
    for build in ("build_analyzer", "build_preprocessor", "build_tokenizer"):
        mine, other = (getattr(made(**settings), build)() for made in (CountVectorizer, theirs.CountVectorizer))
        assert pickle.loads(pickle.dumps(mine))(DOCUMENTS[0]) == other(DOCUMENTS[0])


def test_entries_of_zero_are_no_words():
    counts = CountVectorizer().fit(["apple pear"])
    rows = counts.transform(["apple pear"])
    rows.data[0] = 0
    assert [words.tolist() for words in counts.inverse_transform(rows)] == [["pear"]]


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_a_pickle_gives_the_same(kind: Any):
    vectorizer = kind(ngram_range=(1, 2)).fit(DOCUMENTS)
    again = pickle.loads(pickle.dumps(vectorizer))
    check_same(again.transform(UNSEEN), vectorizer.transform(UNSEEN))
    if kind is not HashingVectorizer:
        assert again.vocabulary_ == vectorizer.vocabulary_


@pytest.mark.parametrize("kind", [CountVectorizer, TfidfVectorizer, HashingVectorizer])
def test_in_pipelines_and_searches(kind: Any):
    documents = 6 * ["free money now", "claim free money", "lunch at noon", "noon meeting then lunch"]
    labels = 6 * ["spam", "spam", "ham", "ham"]
    settings = {"norm": None, "alternate_sign": False} if kind is HashingVectorizer else {}
    pipeline = make_pipeline(kind(**settings), MultinomialNB()).fit(documents, labels)
    assert pipeline.predict(["free free", "lunch", "money at noon lunch"]).tolist() == ["spam", "ham", "ham"]
    name = kind.__name__.lower()
    search = GridSearchCV(pipeline, {f"{name}__ngram_range": [(1, 1), (1, 2)], f"{name}__binary": [True, False]}, cv=3)
    assert search.fit(documents, labels).best_score_ == 1.0
    assert search.predict(["claim money"]).tolist() == ["spam"]
    if kind is not HashingVectorizer:
        assert pipeline[:-1].get_feature_names_out().tolist() == sorted({w for d in documents for w in d.split()})


@given(document=text, cutting=st.sampled_from(CUTTING))
def test_the_analyzer_that_is_built(document: str, cutting: dict[str, Any]):
    expected = quietly(lambda: theirs.CountVectorizer(**cutting).build_analyzer())
    analyzer = CountVectorizer(**cutting).build_analyzer()
    assert analyzer(document) == quietly(lambda: expected(document))


def test_words_come_back_from_counts():
    documents = ["apple pear", "cat dog cat", ""]
    model = CountVectorizer().fit(documents)
    words = [sorted(each) for each in model.inverse_transform(model.transform(documents))]
    assert words == [["apple", "pear"], ["cat", "dog"], []]


def test_scikit_learn_knows_which_vectorisers_are_fitted():
    check_is_fitted(CountVectorizer(vocabulary=["apple"]))
    check_is_fitted(TfidfVectorizer().fit(["apple pear"]))
    for model in (CountVectorizer(), TfidfVectorizer(vocabulary=["apple"])):
        with pytest.raises(NotFittedError, match="is not fitted yet"):
            check_is_fitted(model)


def test_a_vocabulary_of_counts_gives_the_columns():
    counted = CountVectorizer(vocabulary=Vocabulary(["pear", "apple"])).transform(["apple pear pear"])
    np.testing.assert_array_equal(counted.toarray(), [[2, 1]])
