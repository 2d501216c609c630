"""Additive models with pairs: functions of columns and of pairs of columns, fitted from sums per bin."""

from suffice.additive.choice import AdditiveSolution
from suffice.additive.estimators import AdditiveClassifier, AdditiveRegressor
from suffice.additive.terms import AdditiveTerm

__all__ = ["AdditiveClassifier", "AdditiveRegressor", "AdditiveSolution", "AdditiveTerm"]
