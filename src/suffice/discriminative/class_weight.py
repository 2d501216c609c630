"""Class weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from suffice.statistics import Labels
from suffice.statistics.base import FloatArray


def class_weights(
    given: Any,
    labels: Labels,
    codes: npt.NDArray[np.int64],
    weight: FloatArray | None,
    total: FloatArray | None = None,
) -> FloatArray | None:
    """Return the weights of rows times those of their classes; None if every weight is 1.

    Parameters
    ----------
    given
        ``"balanced"``: inverse to the total weight of a class; a weight for each class by its label, 1 by default; or
        None.
    total
        The total weight of each class, (k,), if these rows are a part of all.

    Examples
    --------
    >>> class_weights("balanced", Labels.of(["ham", "spam"]), np.array([0, 0, 0, 1]), None)
    array([0.66666667, 0.66666667, 0.66666667, 2.        ])
    """
    if given is None:
        return weight
    if isinstance(given, Mapping):
        strange = [label for label in given if label not in set(labels)]
        if strange:
            raise ValueError(f"class_weight names {strange[0]!r}; the classes are {list(labels)!r}")
        each = np.array([float(given.get(label, 1.0)) for label in labels])
        if not ((each >= 0) & np.isfinite(each)).all():
            raise ValueError(f"class_weight must hold finite numbers, 0 or more; got {given!r}")
    elif isinstance(given, str) and given == "balanced":
        if total is None:
            total = np.bincount(codes, weights=weight, minlength=len(labels)).astype(np.float64)
        present = np.where(total > 0, total, 1.0)
        each = total.sum() / (len(labels) * present)
    else:
        raise ValueError(f"class_weight must be 'balanced', a dict, or None; got {given!r}")
    return each[codes] if weight is None else weight * each[codes]
