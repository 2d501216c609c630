"""scikit-learn's tests of the vectorisers."""

from suffice import text
from tests.sklearn_suite.replacement import load_tests

NAMES = ("CountVectorizer", "HashingVectorizer", "TfidfVectorizer")

globals().update(
    load_tests(
        "sklearn.feature_extraction.tests.test_text",
        "sklearn.feature_extraction.text",
        {name: getattr(text, name) for name in NAMES},
        leave_out=("strip_accents", "to_ascii", "tf_transformer", "tfidf_transformer", "smoothing", "sublinear_tf"),
    )
)

DIFFERENCES = {
    "test_hashingvectorizer_nan_in_docs": "message: a TypeError names the position of what is no document",
    "test_vectorizer_string_object_as_input": "message: says how to give one document, and files",
}
