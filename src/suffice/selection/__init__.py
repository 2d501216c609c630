"""Cross-validation, smoothing and shrinkage chosen from the sums of folds: one pass over the rows."""

from suffice.selection.cross_validation import CrossValidation, cross_validate
from suffice.selection.rows import Rows, SummedModel

__all__ = ["CrossValidation", "Rows", "SummedModel", "cross_validate"]
