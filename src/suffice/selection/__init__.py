"""Cross-validation, smoothing and shrinkage chosen from the sums of folds: one pass over the rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.selection.rows import Rows, SummedModel

if TYPE_CHECKING:
    from suffice.selection.cross_validation import CrossValidation, cross_validate

__all__ = ["CrossValidation", "Rows", "SummedModel", "cross_validate"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'suffice.selection' has no attribute {name!r}")
    from suffice.selection import cross_validation  # imports scikit-learn

    return getattr(cross_validation, name)
