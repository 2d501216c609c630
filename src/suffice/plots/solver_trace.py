"""Convergence of a solver: log-likelihood, or cost J of least squares, and gradient after each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.style import HEIGHT, WIDTH, class_colour, format_number, label_axes, set_axes_title
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SolverTraceDisplay(Display):
    """Log-likelihood, or the cost J of least squares, and gradient norm after each step of a solver.

    Parameters
    ----------
    passes
        Passes over the rows up to each step, (s,); for EM, the number of the step.
    values
        Log-likelihood or cost after each step, (s,).
    gradient_norm
        Largest gradient component per row after each step, (s,); None where it is not known.
    unit
        Unit of ``passes``.
    is_cost
        Whether the values are J = ½ Σ (h(x) - y)², with a penalty if the model has one, which the solver lowers.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> model = LogisticRegression().fit([[0.5], [1.0], [1.5], [2.0]], [0, 1, 0, 1])
    >>> display = SolverTraceDisplay.from_estimator(model)
    >>> bool(display.values[-1] >= display.values[0]), display.is_cost
    (True, False)
    """

    def __init__(
        self,
        passes: npt.ArrayLike,
        values: npt.ArrayLike,
        gradient_norm: npt.ArrayLike | None = None,
        *,
        unit: str = "passes over the rows",
        is_cost: bool = False,
    ) -> None:
        self.passes = np.asarray(passes, dtype=np.float64)
        self.values = self._validate_steps("values", values)
        self.gradient_norm = None if gradient_norm is None else self._validate_steps("gradient_norm", gradient_norm)
        self.unit = unit
        self.is_cost = is_cost

    def _validate_steps(self, name: str, values: npt.ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.passes.shape or not array.size:
            raise ValueError(
                f"{name} has the shape {array.shape}; there must be one entry per step, {self.passes.shape}"
            )
        return array

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw the trace of a fitted model: of its solver, or of expectation maximisation (EM).

        Parameters
        ----------
        model
            A regression, or a generative model fitted to unlabelled rows or missing cells.
        ax
            Axes to draw on.
        """
        from suffice.discriminative.least_squares import LeastSquaresModel

        steps = getattr(getattr(model, "solution_", None), "trace", ())
        if len(steps) > 1:
            passes, norms = [step.passes for step in steps], [step.gradient_norm for step in steps]
            is_cost = isinstance(model, LeastSquaresModel)
            values = [step.value if is_cost else -step.value for step in steps]
            return cls(passes, values, norms, is_cost=is_cost).plot(ax)
        likelihoods = getattr(model, "em_trace_", ())
        if len(likelihoods):
            return cls(np.arange(1, len(likelihoods) + 1), likelihoods, unit="EM steps").plot(ax)
        name = type(model).__name__
        if hasattr(model, "mistakes_"):
            raise ValueError(f"{name} maximises no likelihood: trace_ and mistakes_ have its epochs")
        if steps:
            raise ValueError(f"{name} has no trace: {model.solution_.reason}, in one step; choose another solver")
        raise ValueError(f"{name} has no trace: it is not fitted, or its fit needs no iterations")

    def _grid(self) -> tuple[int, int]:
        return (1, 1) if self.gradient_norm is None else (2, 1)

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT * (0.85 if self.gradient_norm is None else 1.25)

    def _draw(self) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        panels = [(self.axes_[0], self.values, "J(θ)" if self.is_cost else "log-likelihood")]
        if self.gradient_norm is not None:
            panels.append((self.axes_[1], self.gradient_norm, "largest gradient per row"))
            set_axes_title(self.axes_[1], "Gradient")
        marker = "o" if len(self.passes) <= 40 else None
        for index, (ax, values, label) in enumerate(panels):
            ax.plot(self.passes, values, color=class_colour(index), marker=marker, markersize=4, linewidth=1.8)
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            label_axes(ax, self.unit if ax is self.axes_[-1] else "", label)
        first, last = float(self.values[0]), float(self.values[-1])
        gain = f"raise the log-likelihood by {format_number(last - first)}"
        if self.is_cost:
            gain = f"lower J from {format_number(first)} to {format_number(last)}"
        self._set_title(f"Convergence: {len(self.passes)} steps {gain}")
        self.axes_[0].yaxis.set_major_locator(MaxNLocator(5))
        self.axes_[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
        if self.gradient_norm is not None and (self.gradient_norm > 0).any():
            gradient_ax = self.axes_[1]
            gradient_ax.set_yscale("log")
            gradient_ax.yaxis.set_major_locator(LogLocator(numticks=5))
            gradient_ax.yaxis.set_minor_locator(NullLocator())
            gradient_ax.yaxis.set_major_formatter(FuncFormatter(lambda value, _: format_number(value)))
