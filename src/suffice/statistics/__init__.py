"""Statistics: immutable sums over rows, with ``+`` and ``-``."""

from suffice.statistics.base import DIGITS_ALLOWED, LostDigitsError, NegativeEvidenceError, Removal, Statistics
from suffice.statistics.counts import CategoryCounts, EventCounts, PresenceCounts
from suffice.statistics.curvature import Curvature
from suffice.statistics.labels import Label, Labels
from suffice.statistics.moments import DiagonalMoments, FullMoments, TiedMoments
from suffice.statistics.named import NamedCategoryCounts, VocabularyCounts, WordCounts
from suffice.statistics.normal import NormalEquations
from suffice.statistics.parts import Parts
from suffice.statistics.quartic import QuarticMoments

__all__ = [
    "DIGITS_ALLOWED",
    "CategoryCounts",
    "Curvature",
    "DiagonalMoments",
    "EventCounts",
    "FullMoments",
    "Label",
    "Labels",
    "LostDigitsError",
    "NamedCategoryCounts",
    "NegativeEvidenceError",
    "NormalEquations",
    "Parts",
    "PresenceCounts",
    "QuarticMoments",
    "Removal",
    "Statistics",
    "TiedMoments",
    "VocabularyCounts",
    "WordCounts",
]
