"""Regressions by R formulas: terms, categories, splines, and summaries with the names of the table."""

from suffice.formula.design import Design, ExtrapolationWarning
from suffice.formula.errors import FormulaError
from suffice.formula.model import FormulaModel, WeightsWarning, fit

__all__ = ["Design", "ExtrapolationWarning", "FormulaError", "FormulaModel", "WeightsWarning", "fit"]
