"""The way a solver went, step by step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.display import Display
from suffice.plots.style import HEIGHT, WIDTH, colour, headline, name_axes, number
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class SolverTraceDisplay(Display):
    """The log-likelihood after each step of a solver, and the gradient there.

    Parameters
    ----------
    passes
        Passes over the rows so far, (s,); the numbers of steps, for EM.
    log_likelihood
        The log-likelihood there, (s,).
    gradient_norm
        The largest gradient per row there, (s,); None where it is not known.
    unit
        What ``passes`` counts.

    Examples
    --------
    >>> from suffice import LogisticRegression
    >>> model = LogisticRegression().fit([[0.5], [1.0], [1.5], [2.0]], [0, 1, 0, 1])
    >>> display = SolverTraceDisplay.from_estimator(model)
    >>> bool(display.log_likelihood[-1] >= display.log_likelihood[0])
    True
    """

    def __init__(
        self,
        passes: npt.ArrayLike,
        log_likelihood: npt.ArrayLike,
        gradient_norm: npt.ArrayLike | None = None,
        *,
        unit: str = "passes over the rows",
    ) -> None:
        self.passes = np.asarray(passes, dtype=np.float64)
        self.log_likelihood = self._per_step("log_likelihood", log_likelihood)
        self.gradient_norm = None if gradient_norm is None else self._per_step("gradient_norm", gradient_norm)
        self.unit = unit

    def _per_step(self, name: str, values: npt.ArrayLike) -> FloatArray:
        array = np.asarray(values, dtype=np.float64)
        if array.shape != self.passes.shape or not array.size:
            raise ValueError(
                f"{name} has the shape {array.shape}; there must be one entry per step, {self.passes.shape}"
            )
        return array

    @classmethod
    def from_estimator(cls, model: Any, *, ax: Axes | None = None) -> Self:
        """Draw the way to a fitted model: its solver's, or that of expectation maximisation.

        Parameters
        ----------
        model
            A regression, or a generative model that has learnt from unlabelled rows or missing cells.
        ax
            Where to draw.
        """
        steps = getattr(getattr(model, "solution_", None), "trace", ())
        if steps:
            likelihoods = [-step.value for step in steps]
            return cls([step.passes for step in steps], likelihoods, [step.gradient_norm for step in steps]).plot(ax)
        values = getattr(model, "em_trace_", ())
        if len(values):
            return cls(np.arange(1, len(values) + 1), values, unit="steps of expectation maximisation").plot(ax)
        raise ValueError(
            f"{type(model).__name__} has no trace: it is not fitted, or was read from its sums without steps"
        )

    def _grid(self) -> tuple[int, int]:
        return (1, 1) if self.gradient_norm is None else (2, 1)

    def _size(self) -> tuple[float, float]:
        return WIDTH, HEIGHT * (0.85 if self.gradient_norm is None else 1.25)

    def _draw(self) -> None:
        from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullLocator

        panels = [(self.axes_[0], self.log_likelihood, "log-likelihood")]
        if self.gradient_norm is not None:
            panels.append((self.axes_[1], self.gradient_norm, "largest gradient per row"))
            headline(self.axes_[1], "The gradient")
        dots = "o" if len(self.passes) <= 40 else None
        for place, (ax, values, what) in enumerate(panels):
            ax.plot(self.passes, values, color=colour(place), marker=dots, markersize=4, linewidth=1.8)
            ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            name_axes(ax, self.unit if ax is self.axes_[-1] else "", what)
        gained = number(float(self.log_likelihood[-1] - self.log_likelihood[0]))
        self._entitle(f"{len(self.passes)} steps raise the log-likelihood by {gained}")
        self.axes_[0].yaxis.set_major_locator(MaxNLocator(5))
        self.axes_[0].yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
        if self.gradient_norm is not None and (self.gradient_norm > 0).any():
            slopes = self.axes_[1]
            slopes.set_yscale("log")
            slopes.yaxis.set_major_locator(LogLocator(numticks=5))
            slopes.yaxis.set_minor_locator(NullLocator())
            slopes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
