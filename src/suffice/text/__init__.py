"""Text: tokeniser, vocabularies, counts of words, vectorisers, and TextClassifier."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice.text.counts import CountSpec, DocumentCounts
from suffice.text.documents import Documents
from suffice.text.features import Features
from suffice.text.sources import folder, lines
from suffice.text.vocabulary import HashedVocabulary, Vocabulary

if TYPE_CHECKING:
    from suffice.text.classifier import TextClassifier
    from suffice.text.explanation import TextExplanation
    from suffice.text.indices import count_indices
    from suffice.text.vectorizers import CountVectorizer, HashingVectorizer, TfidfVectorizer


#: The modules that import scikit-learn, which takes a second: each is imported when its name is first used.
_MODULES = {
    "CountVectorizer": "vectorizers",
    "HashingVectorizer": "vectorizers",
    "TextClassifier": "classifier",
    "TextExplanation": "explanation",
    "TfidfVectorizer": "vectorizers",
    "count_indices": "indices",
}
__all__ = [
    "CountSpec",
    "CountVectorizer",
    "DocumentCounts",
    "Documents",
    "Features",
    "HashedVocabulary",
    "HashingVectorizer",
    "TextClassifier",
    "TextExplanation",
    "TfidfVectorizer",
    "Vocabulary",
    "count_indices",
    "folder",
    "lines",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.text' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.text.{_MODULES[name]}"), name)
