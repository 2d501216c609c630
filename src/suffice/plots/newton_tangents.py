"""Newton's method in one dimension: each tangent leads to the next guess of the root."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.animation import SteppedDisplay
from suffice.plots.inputs import resolve_feature_names
from suffice.plots.style import DOTTED, FOREGROUND, class_colour, draw_legend, format_number, label_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

Function = Callable[[float], float]


class NewtonTangentDisplay(SteppedDisplay):
    """A function of one parameter, and the tangents of Newton's method, which lead to its root.

    Parameters
    ----------
    grid, values
        The function on a grid of the parameter, (m,) each.
    guesses
        The guesses of the root, from the start, (s,).
    heights
        The function at each guess, (s,).
    parameter, function
        Names of the parameter and of the function.

    Examples
    --------
    The square root of 2:

    >>> display = NewtonTangentDisplay.from_function(lambda x: x**2 - 2, lambda x: 2 * x, start=3.0)
    >>> display.guesses.round(4)
    array([3.    , 1.8333, 1.4621, 1.415 , 1.4142, 1.4142])
    """

    def __init__(
        self,
        grid: npt.ArrayLike,
        values: npt.ArrayLike,
        guesses: npt.ArrayLike,
        heights: npt.ArrayLike,
        *,
        parameter: str = "θ",
        function: str = "f(θ)",
    ) -> None:
        self.grid = np.asarray(grid, dtype=np.float64)
        self.values = np.asarray(values, dtype=np.float64)
        self.guesses = np.asarray(guesses, dtype=np.float64)
        self.heights = np.asarray(heights, dtype=np.float64)
        for name, one, two in (("values", self.values, self.grid), ("heights", self.heights, self.guesses)):
            if one.shape != two.shape or one.ndim != 1 or not one.size:
                raise ValueError(f"{name} must have the shape {two.shape}; its shape is {one.shape}")
        self.parameter, self.function = parameter, function

    @classmethod
    def from_function(
        cls,
        function: Function,
        derivative: Function,
        start: float,
        *,
        max_iter: int = 20,
        tol: float = 1e-6,
        parameter: str = "θ",
        label: str = "f(θ)",
        ax: Axes | None = None,
    ) -> Self:
        """Draw the steps ``θ := θ - f(θ) / f'(θ)`` of a function.

        Parameters
        ----------
        function, derivative
            f and f', of a number.
        start
            The first guess.
        max_iter
            Most steps; a search that has not ended after them raises.
        tol
            The search ends where a step is no longer than this, relative to the guess.
        parameter, label
            Names of the parameter and of f, for the axes.
        ax
            Axes to draw on.
        """
        guesses = [float(start)]
        for _ in range(max_iter):
            at = guesses[-1]
            slope, height = float(derivative(at)), float(function(at))
            step = height / slope if slope else np.inf
            if not np.isfinite(step):
                raise ValueError(f"the tangent at {at:.6g} meets no zero: f is {height:.6g}, its slope {slope:.6g}")
            guesses.append(at - step)
            if abs(step) <= tol * max(abs(at), 1.0):
                break
        else:
            raise ValueError(f"{max_iter} steps from start={start!r} do not reach a root: start nearer to it")
        low, high = min(guesses), max(guesses)
        margin = 0.15 * (high - low) or 1.0
        grid = np.linspace(low - margin, high + margin, 200)
        values = np.array([float(function(at)) for at in grid])
        heights = [float(function(at)) for at in guesses]
        return cls(grid, values, guesses, heights, parameter=parameter, function=label).plot(ax)

    @classmethod
    def from_estimator(
        cls, model: Any, X: MatrixLike, y: VectorLike, *, start: float = 0.0, ax: Axes | None = None
    ) -> Self:
        """Draw how Newton's method finds the zero of the derivative of the cost J of a model with one parameter.

        Parameters
        ----------
        model
            A fitted regression with one parameter: one feature, and ``fit_intercept=False``.
        X, y
            Rows and targets.
        start
            The first guess.
        ax
            Axes to draw on.
        """
        if not hasattr(model, "objective"):
            raise ValueError(f"{type(model).__name__} has no objective: give a regression, such as LogisticRegression")
        objective = model.objective(X, y)
        if tuple(objective.shape) != (1, 1):
            raise ValueError(
                f"tangents are of one parameter, and {type(model).__name__} has {int(np.prod(objective.shape))}: fit "
                "it to one feature with fit_intercept=False"
            )

        def at(theta: float) -> Any:
            return objective.value_gradient_hessian(np.array([[theta]]))

        return cls.from_function(
            lambda theta: float(at(theta).gradient.item()),
            lambda theta: float(at(theta).hessian.item()),
            start,
            parameter=f"θ of {resolve_feature_names(model, X)[0]}",
            label="J′(θ)",
            ax=ax,
        )

    def _count_steps(self) -> int:
        return len(self.guesses) - 1

    def _draw(self) -> None:
        ax = self.ax_
        shown = self._count_steps() if self._step is None else self._step
        ax.axhline(0.0, color=FOREGROUND, linewidth=0.8)
        (curve,) = ax.plot(self.grid, self.values, color=class_colour(0), linewidth=1.8)
        (tangent,) = ax.plot([], [], color=class_colour(1), linewidth=1.2)
        for number in range(shown):
            here, there = self.guesses[number], self.guesses[number + 1]
            ax.plot([here, there], [self.heights[number], 0.0], color=class_colour(1), linewidth=1.2)
            ax.plot([there, there], [0.0, self.heights[number + 1]], color=FOREGROUND, linestyle=DOTTED, linewidth=1.0)
        points = slice(0, shown + 1)
        ax.plot(self.guesses[points], self.heights[points], "o", color=class_colour(1), markersize=4.5)
        ax.set_xlim(self.grid[0], self.grid[-1])
        span = np.ptp(self.values) or 1.0
        ax.set_ylim(self.values.min() - 0.06 * span, self.values.max() + 0.06 * span)
        rows = draw_legend(ax, [(curve, self.function), (tangent, "tangent, to the next guess")])
        label_axes(ax, self.parameter, self.function)
        root = format_number(float(f"{self.guesses[-1]:.6g}"))
        self._set_title(f"Newton's method: {self._count_steps()} steps to the zero at {root}", rows)
