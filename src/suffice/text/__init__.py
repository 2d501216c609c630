"""Text: documents to words, words to columns, and what is counted of them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from suffice.text.counts import Counting, DocumentCounts
from suffice.text.documents import Documents
from suffice.text.features import Features
from suffice.text.sources import folder, lines
from suffice.text.vocabulary import HashedVocabulary, Vocabulary

if TYPE_CHECKING:
    from suffice.text.hashing_vectorizer import HashingVectorizer
    from suffice.text.vectorizers import CountVectorizer, TfidfVectorizer


_VECTORISERS = {
    "CountVectorizer": "vectorizers",
    "HashingVectorizer": "hashing_vectorizer",
    "TfidfVectorizer": "vectorizers",
}
__all__ = [
    "CountVectorizer",
    "Counting",
    "DocumentCounts",
    "Documents",
    "Features",
    "HashedVocabulary",
    "HashingVectorizer",
    "TfidfVectorizer",
    "Vocabulary",
    "folder",
    "lines",
]


def __getattr__(name: str) -> Any:
    """Import the vectorisers when they are asked for: scikit-learn takes a second to import."""
    if name not in _VECTORISERS:
        raise AttributeError(f"module 'suffice.text' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.text.{_VECTORISERS[name]}"), name)
