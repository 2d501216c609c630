"""Section on the convergence of the solver."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.plots import SolverTraceDisplay
from suffice.report.elements import Column, Section, Table, make_figure
from suffice.report.formats import format_count, format_value
from suffice.report.report_data import ReportData
from suffice.solvers.base import Step

#: Steps that the table lists; of more, the first and the last half of them.
_MAX_STEPS = 12


def solver_section(data: ReportData) -> Section | None:
    """Return the section on convergence; None for models that are fitted without iterations."""
    solution = getattr(data.model.estimator_, "solution_", None)
    steps = getattr(solution, "trace", ())
    if solution is None or len(steps) < 2:
        return None
    outcome = "converged" if solution.converged else "did not converge"
    display = SolverTraceDisplay.from_estimator(data.model.estimator_)
    what = "Cost J(θ)" if display.is_cost else "Log-likelihood"
    caption = f"{what} and largest gradient component per row after each step; the gradient is 0 at the optimum."
    content = {
        "figure": make_figure(display, caption),
        "introduction": [f"The solver {outcome} after {format_count(len(steps), 'step')}: {solution.reason}."],
        "table": _steps_table(steps, display),
    }
    return Section("solver", "Convergence", "figure_and_table", content)


def _steps_table(steps: Sequence[Step], display: SolverTraceDisplay) -> Table:
    half = _MAX_STEPS // 2
    shown = range(len(steps)) if len(steps) <= _MAX_STEPS else [*range(half), *range(len(steps) - half, len(steps))]
    rows = [
        (
            f"{index + 1}",
            format_value(steps[index].passes),
            f"{display.values[index]:,.2f}".replace("-", "−"),
            f"{steps[index].gradient_norm:.1e}".replace("-", "−"),
        )
        for index in shown
    ]
    columns = [
        Column("step"),
        Column("passes", "number"),
        Column("J(θ)" if display.is_cost else "log-likelihood", "number"),
        Column("gradient", "number"),
    ]
    return Table("Steps of the solver", columns, rows, compact=True)
