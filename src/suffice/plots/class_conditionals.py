"""What each class looks like: pictures of p(x | y)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.inputs import Array
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class ClassConditionalsDisplay(Display):
    """What each class of a generative model looks like.

    :meth:`from_estimator` chooses the display by the kind of features: :class:`ClassEllipsesDisplay` of two numbers,
    :class:`ClassDensitiesDisplay` of one, :class:`ClassFrequenciesDisplay` of counts, booleans and categories,
    :class:`ClassWordsDisplay` of text. Each can also be made from arrays.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from suffice import GDA
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> display = ClassConditionalsDisplay.from_estimator(GDA("full").fit(X, y), X, y)
    >>> type(display).__name__, display.features
    ('ClassEllipsesDisplay', ('petal length (cm)', 'petal width (cm)'))
    """

    classes: Array  # (k,)

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: Any = None,
        y: Any = None,
        *,
        features: Any = None,
        n: int = 8,
        most_rows: int = 400,
        random_state: int = 0,
        ax: Axes | None = None,
    ) -> ClassConditionalsDisplay:
        """Draw what a fitted model thinks its classes look like.

        Parameters
        ----------
        model
            A generative model, or a text classifier.
        X, y
            Rows and their classes, to be drawn beside what the model thinks of measurements.
        features
            A feature, or a list of them, by name or place: one or two measurements, any number of words or counts, one
            category. Those that tell most about the class by default.
        n
            How many features, categories or words are shown at most.
        most_rows
            How many rows are drawn as points at most.
        random_state
            Which rows these are.
        ax
            Where to draw.
        """
        from suffice.plots.class_parameters import describe

        if (X is None) != (y is None):
            raise ValueError(f"give X and y, or neither: {'y' if y is None else 'X'} is missing")
        if n < 1:
            raise ValueError(f"n must be 1 or more; got {n!r}")
        wanted = None if features is None else [features] if np.ndim(features) == 0 else list(features)
        return describe(model, X, y, wanted, n, most_rows, random_state).plot(ax)


def per_class(name: str, values: npt.ArrayLike, shape: tuple[int | None, ...]) -> FloatArray:
    """Return an array of this shape, in which None is any number of entries."""
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != len(shape) or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True)):
        wanted = ", ".join("m" if want is None else str(want) for want in shape)
        raise ValueError(f"{name} must have the shape ({wanted}); its shape is {array.shape}")
    return array
