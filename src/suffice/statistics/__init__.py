"""Statistics: immutable sums over rows, with ``+`` and ``-``."""

from suffice.statistics.base import Statistics
from suffice.statistics.counts import CategoryCounts, EventCounts, PresenceCounts
from suffice.statistics.curvature import Curvature
from suffice.statistics.labels import Label, Labels
from suffice.statistics.moments import DiagonalMoments, FullMoments, TiedMoments
from suffice.statistics.named import NamedCategoryCounts, VocabularyCounts, WordCounts
from suffice.statistics.normal import NormalEquations
from suffice.statistics.parts import Parts
from suffice.statistics.quartic import QuarticMoments
from suffice.statistics.rounding import LostDigitsError, NegativeEvidenceError

__all__ = [
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
    "Statistics",
    "TiedMoments",
    "VocabularyCounts",
    "WordCounts",
]
