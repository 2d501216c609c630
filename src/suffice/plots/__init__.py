"""Pictures of models. Displays hold what they show; matplotlib, which draws them, is imported when one is drawn."""

from suffice.plots.boundary import DecisionBoundaryDisplay
from suffice.plots.calibration import CalibrationDisplay
from suffice.plots.class_conditionals import ClassConditionalsDisplay
from suffice.plots.class_events import ClassShares, ClassWords
from suffice.plots.class_measurements import ClassDensities, ClassEllipses
from suffice.plots.confusion import ConfusionDisplay
from suffice.plots.curves import PrecisionRecallDisplay, RocDisplay
from suffice.plots.display import Display
from suffice.plots.filtering import FilteringDisplay
from suffice.plots.inline import svg
from suffice.plots.learning_curve import Crossing, LearningCurveDisplay
from suffice.plots.residuals import ResidualsDisplay
from suffice.plots.solver_trace import SolverTraceDisplay
from suffice.plots.style import INK, PALETTE
from suffice.plots.telling_features import TellingFeaturesDisplay

__all__ = [
    "INK",
    "PALETTE",
    "CalibrationDisplay",
    "ClassConditionalsDisplay",
    "ClassDensities",
    "ClassEllipses",
    "ClassShares",
    "ClassWords",
    "ConfusionDisplay",
    "Crossing",
    "DecisionBoundaryDisplay",
    "Display",
    "FilteringDisplay",
    "LearningCurveDisplay",
    "PrecisionRecallDisplay",
    "ResidualsDisplay",
    "RocDisplay",
    "SolverTraceDisplay",
    "TellingFeaturesDisplay",
    "svg",
]
