"""Plots of models as displays. matplotlib is imported when a display is drawn."""

from suffice.plots.animation import Animation, SteppedDisplay
from suffice.plots.calibration import CalibrationDisplay
from suffice.plots.class_conditionals import (
    ClassConditionalsDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    ClassFrequenciesDisplay,
    ClassWordsDisplay,
)
from suffice.plots.confusion_matrix import ConfusionMatrixDisplay
from suffice.plots.cost_contours import CostContoursDisplay
from suffice.plots.curves import PrecisionRecallDisplay, RocCurveDisplay
from suffice.plots.decision_boundary import DecisionBoundaryDisplay
from suffice.plots.diagnostics import DiagnosticsDisplay
from suffice.plots.discriminant import DiscriminantDisplay
from suffice.plots.display import Display
from suffice.plots.family import FamilyDisplay
from suffice.plots.feature_effects import FeatureEffectsDisplay
from suffice.plots.learning_curve import Crossing, LearningCurveDisplay
from suffice.plots.link import LinkDisplay
from suffice.plots.local_fit import LocalFitDisplay
from suffice.plots.newton_tangents import NewtonTangentDisplay
from suffice.plots.residuals import ResidualsDisplay
from suffice.plots.solver_trace import SolverTraceDisplay
from suffice.plots.spam_filter import SpamFilterDisplay
from suffice.plots.style import FOREGROUND, PALETTE
from suffice.plots.svg import figure_to_svg
from suffice.plots.terms import TermsDisplay

__all__ = [
    "FOREGROUND",
    "PALETTE",
    "Animation",
    "CalibrationDisplay",
    "ClassConditionalsDisplay",
    "ClassDensitiesDisplay",
    "ClassEllipsesDisplay",
    "ClassFrequenciesDisplay",
    "ClassWordsDisplay",
    "ConfusionMatrixDisplay",
    "CostContoursDisplay",
    "Crossing",
    "DecisionBoundaryDisplay",
    "DiagnosticsDisplay",
    "DiscriminantDisplay",
    "Display",
    "FamilyDisplay",
    "FeatureEffectsDisplay",
    "LearningCurveDisplay",
    "LinkDisplay",
    "LocalFitDisplay",
    "NewtonTangentDisplay",
    "PrecisionRecallDisplay",
    "ResidualsDisplay",
    "RocCurveDisplay",
    "SolverTraceDisplay",
    "SpamFilterDisplay",
    "SteppedDisplay",
    "TermsDisplay",
    "figure_to_svg",
]
