"""Contours of a cost over two parameters, and the paths of solvers to its minimum."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt

from suffice.plots.animation import SteppedDisplay
from suffice.plots.inputs import resolve_feature_names
from suffice.plots.style import FOREGROUND, class_colour, class_marker, draw_legend, label_axes
from suffice.solvers import BatchGradient, Newton, Solution, StochasticGradient
from suffice.solvers.base import Objective
from suffice.statistics.base import FloatArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from suffice.typing import MatrixLike, VectorLike

#: Heights of the contours, as shares of the highest cost of the grid: at equal distances for a parabola.
_LEVELS = np.linspace(0.0, 1.0, 14)[1:-1] ** 2
_MARGIN = 0.15  #: of the grid around the paths, as a share of their range


class CostContoursDisplay(SteppedDisplay):
    """Contours of the cost J over two parameters, with the path of each solver.

    Parameters
    ----------
    first, second
        Grid values of the two parameters, (a,) and (b,).
    cost
        J on the grid, (b, a): rows are values of the second parameter.
    paths
        The two parameters after each step of a solver, from its start, (s, 2), by name.
    optimum
        Where J is least, (2,).
    parameters
        Names of the two parameters.

    Examples
    --------
    >>> from suffice import LinearRegression
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [1.0, 2.5, 3.5, 6.0]
    >>> display = CostContoursDisplay.from_estimator(LinearRegression().fit(X, y), X, y, grid=20)
    >>> list(display.paths), display.optimum.round(3)
    (['batch gradient', 'stochastic gradient', 'Newton'], array([0.85, 1.6 ]))
    >>> len(display.paths["Newton"])  # the start, and one step: J is a parabola
    2
    """

    def __init__(
        self,
        first: npt.ArrayLike,
        second: npt.ArrayLike,
        cost: npt.ArrayLike,
        paths: Mapping[str, npt.ArrayLike],
        optimum: npt.ArrayLike,
        *,
        parameters: tuple[str, str] = ("θ₀", "θ₁"),
    ) -> None:
        self.first = np.asarray(first, dtype=np.float64)
        self.second = np.asarray(second, dtype=np.float64)
        self.cost = np.asarray(cost, dtype=np.float64)
        if self.cost.shape != (len(self.second), len(self.first)):
            raise ValueError(
                f"cost must have the shape {(len(self.second), len(self.first))}; its shape is {self.cost.shape}"
            )
        self.paths = {name: _validate_path(name, path) for name, path in paths.items()}
        self.optimum = np.asarray(optimum, dtype=np.float64).reshape(2)
        self.parameters = parameters

    @classmethod
    def from_estimator(
        cls,
        model: Any,
        X: MatrixLike,
        y: VectorLike,
        *,
        solvers: Mapping[str, Any] | None = None,
        start: tuple[float, float] = (0.0, 0.0),
        grid: int = 60,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the cost of a model with two parameters, and how solvers descend it.

        Parameters
        ----------
        model
            A fitted regression with two parameters: an intercept and one feature, or two features without an
            intercept. A model fitted by several steps is not needed: the solvers are run here.
        X, y
            Rows and targets.
        solvers
            Solvers by name; by default batch gradient descent, stochastic gradient descent for three epochs, row by
            row, and Newton's method.
        start
            The parameters at which all solvers start.
        grid
            Number of grid values of each parameter.
        ax
            Axes to draw on.
        """
        if not hasattr(model, "objective"):
            raise ValueError(f"{type(model).__name__} has no objective: give a regression, such as LogisticRegression")
        if getattr(model, "separation_", None) is not None:
            raise ValueError(
                "the cost has no minimum, since the classes are separated: give a model with a penalty (C)"
            )
        objective = model.objective(X, y)
        names = [f"θ of {name}" for name in resolve_feature_names(model, X)]
        names = ["intercept", *names] if objective.intercept else names
        _check_two_parameters(type(model).__name__, objective.shape, names)
        chosen = solvers or {
            "batch gradient": BatchGradient(),
            "stochastic gradient": StochasticGradient(epochs=3, average=False, trace_steps=True),
            "Newton": Newton(),
        }
        begin = np.array(start, dtype=np.float64).reshape(2, 1)
        solutions = {name: solver.minimise(objective, begin) for name, solver in chosen.items()}
        return cls.from_solutions(objective, solutions, parameters=(names[0], names[1]), grid=grid, ax=ax)

    @classmethod
    def from_solutions(
        cls,
        objective: Objective,
        solutions: Mapping[str, Solution],
        *,
        parameters: tuple[str, str] = ("θ₀", "θ₁"),
        grid: int = 60,
        ax: Axes | None = None,
    ) -> Self:
        """Draw an objective of two parameters with the traces of solutions, by name.

        Parameters
        ----------
        objective
            What was minimised, such as ``model.objective(X, y)``.
        solutions
            Solutions with a trace, by the name of their solver.
        parameters
            Names of the two parameters.
        grid
            Number of grid values of each parameter.
        ax
            Axes to draw on.
        """
        if not solutions:
            raise ValueError("there are no solutions: give at least one, by name")
        if grid < 2:
            raise ValueError(f"grid must be 2 or more; got {grid!r}")
        for name, solution in solutions.items():
            _check_two_parameters(f"solutions[{name!r}]", solution.theta.shape)
        paths = {name: _path(solution) for name, solution in solutions.items()}
        nearest = min(solutions.values(), key=lambda solution: objective.value_gradient(solution.theta).value)
        optimum = Newton().minimise(objective, nearest.theta).theta.ravel()
        reached = np.concatenate([*paths.values(), optimum[None, :]])
        low, high = reached.min(axis=0), reached.max(axis=0)
        reach = np.where(high > low, high - low, np.maximum(np.abs(high), 1.0))
        first, second = (
            np.linspace(low[at] - _MARGIN * reach[at], high[at] + _MARGIN * reach[at], grid) for at in (0, 1)
        )
        cost = [[objective.value_gradient(np.array([[one], [two]])).value for one in first] for two in second]
        return cls(first, second, cost, paths, optimum, parameters=parameters).plot(ax)

    def _count_steps(self) -> int:
        return max(len(path) for path in self.paths.values()) - 1

    def _draw(self) -> None:
        ax = self.ax_
        lowest = float(np.nanmin(self.cost))
        heights = lowest + _LEVELS * (float(np.nanmax(self.cost)) - lowest)
        look: dict[str, Any] = {"colors": [FOREGROUND], "linewidths": 0.7, "linestyles": "solid", "alpha": 0.6}
        ax.contour(self.first, self.second, self.cost, heights, **look)
        entries: list[tuple[Any, str]] = []
        for code, (name, path) in enumerate(self.paths.items()):
            shown = path if self._step is None else path[: self._step + 1]
            many = len(path) > 40
            (line,) = ax.plot(
                shown[:, 0],
                shown[:, 1],
                color=class_colour(code),
                marker=class_marker(code),
                markersize=1.5 if many else 4.5,
                linewidth=0.6 if many else 1.5,
                markevery=None if len(path) > 1 else [0],
            )
            entries.append((line, f"{name}, {_count(len(path) - 1)}"))
        ax.plot(*self.optimum, marker="*", color=FOREGROUND, markersize=11, linestyle="none", zorder=4)
        ax.set_xlim(self.first[0], self.first[-1])
        ax.set_ylim(self.second[0], self.second[-1])
        rows = draw_legend(ax, entries)
        label_axes(ax, *self.parameters)
        self._set_title("Contours of the cost J; the star is its minimum", rows)


def _check_two_parameters(what: str, shape: tuple[int, ...], names: Sequence[str] = ()) -> None:
    if tuple(shape) != (2, 1):
        listed = f": {', '.join(names[:8])}{', ...' if len(names) > 8 else ''}" if names else ""
        raise ValueError(
            f"contours are of two parameters, and {what} has {int(np.prod(shape))}{listed}; give an intercept and one "
            "feature, or two features and fit_intercept=False"
        )


def _path(solution: Solution) -> FloatArray:
    """Return the parameters after each step whose theta the trace has, (s, 2)."""
    thetas = [step.theta.ravel() for step in solution.trace if step.theta is not None]
    if not thetas:
        raise ValueError("a solution has no trace with theta: it was loaded from a file, or fitted in one step")
    return np.array(thetas)


def _validate_path(name: str, path: npt.ArrayLike) -> FloatArray:
    points = np.asarray(path, dtype=np.float64)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"paths[{name!r}] must have the shape (s, 2), s above 0; its shape is {points.shape}")
    return points


def _count(steps: int) -> str:
    return f"{steps:,} step{'' if steps == 1 else 's'}"
