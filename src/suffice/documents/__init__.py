"""Documents in, classes and reasons out."""

from suffice.documents.classifier import TextClassifier
from suffice.documents.explanation import TextExplanation, WordReason

__all__ = ["TextClassifier", "TextExplanation", "WordReason"]
