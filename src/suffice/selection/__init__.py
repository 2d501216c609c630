"""Cross-validation, smoothing and shrinkage chosen from the sums of folds: one pass over the rows."""

from suffice.selection.cross_validation import CrossValidation, cross_validate

__all__ = ["CrossValidation", "cross_validate"]
