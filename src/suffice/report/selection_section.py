"""How the model came to be: the candidates, what more rows are worth, and the way its solver went."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from suffice.plots import LearningCurveDisplay, SolverTraceDisplay
from suffice.report.displays import CandidatesDisplay
from suffice.report.learning_curve_section import learning_curve
from suffice.report.markup import Section, beside, figure, listed, paragraph, plural, share, shown, table
from suffice.report.report_data import Seen
from suffice.solvers.solution import Step
from suffice.tables import Candidate

#: What candidates are compared by, and what that is in plain words.
MEASURES = {
    "classes": ("log loss", "the mean of −log p, where p is the probability that was given to what came true"),
    "numbers": ("RMSE", "the root of the mean square of the errors"),
    "counts": ("Poisson deviance", "how far expected counts are from those that came, as a Poisson model measures it"),
}
_OTHERS = {"accuracy": "accuracy", "absolute error": "mean absolute error", "squared error": "mean square error"}


def choice_section(seen: Seen) -> Section:
    """Return the section about the candidates."""
    found = seen.model.candidates_
    form = seen.model.predictor_.form
    if len(found) < 2:
        body = paragraph(f"The model was given: {form.name}, {form.title}.", _alone(seen, found))
        return Section("choice", "How the model was chosen", body)
    measure, meaning = MEASURES[seen.task]
    fitted = [each for each in found if np.isfinite(each.loss)]
    picture = CandidatesDisplay(
        [each.model for each in fitted],
        [each.loss for each in fitted],
        [each.spread for each in fitted],
        [each.generative for each in fitted],
        measure,
    )
    folds = plural(seen.model.folds, "part")
    body = paragraph(
        f"{plural(len(found), 'model')} were compared by rows that they had not seen: the rows were cut into {folds}, "
        "each was left out in turn, and predicted from the others.",
        f"The one that lost least was taken: {form.name}, {form.title}.",
        _close(fitted),
    )
    sentence = f"Dots are means of the {measure}, {meaning}; lines are one standard error to each side."
    return Section(
        "choice",
        "How the model was chosen",
        beside(figure(picture, sentence, f"{fitted[0].model} has the least loss"), body) + _table(found, measure),
    )


def _alone(seen: Seen, found: list[Candidate]) -> str:
    if not found or not np.isfinite(found[0].loss):
        return ""
    measure, _ = MEASURES[seen.task]
    return f"On rows held out in cross-validation, its {measure} was {_with_spread(found[0])}."


def _with_spread(each: Candidate) -> str:
    return (
        f"{shown(each.loss)} ± {shown(float(f'{each.spread:.2g}'))}" if np.isfinite(each.spread) else shown(each.loss)
    )


def _close(fitted: list[Candidate]) -> str:
    """Return what else would have done as well, within the noise."""
    best = fitted[0]
    near = [each.model for each in fitted[1:] if each.loss - best.loss < np.nan_to_num(max(best.spread, each.spread))]
    return f"Within one standard error of it: {listed(near)}." if near else ""


def _table(found: list[Candidate], measure: str) -> str:
    others = list(dict.fromkeys(name for each in found for name in each.measures))
    rows = []
    for each in found:
        kind = "generative" if each.generative else "discriminative"
        lost = _with_spread(each) if np.isfinite(each.loss) else f"not fitted: {each.why}"
        measures = [_measure(name, each.measures.get(name, np.nan)) for name in others]
        rows.append((each.model, each.title, kind, lost, *measures))
    head = [
        "model",
        "what it is",
        "kind",
        f"{measure} ± error",
        *(_OTHERS.get(name, name) for name in others),
    ]
    caption = "Candidates by their loss on rows held out, the best first"
    return table(caption, head, rows, numbers=range(3, len(head)), words=[1])


def _measure(name: str, value: float) -> str:
    return share(value) if name in ("accuracy", "error") else shown(value)


def learning_section(seen: Seen) -> Section | None:
    """Return the section about what more rows are worth; None where there are too few to tell."""
    display = learning_curve(seen)
    if display is None:
        return None
    one = seen.model.model_
    last = display.curves[one][-2:]
    gain = (last[0] - last[1]) / max(abs(last[0]), 1e-300)
    more = "still falls" if gain > 0.02 else "hardly falls any more"
    body = paragraph(
        f"{' and '.join(display.curves)}, fitted to more and more rows and measured on a third that was held out.",
        f"At the end, the loss of {one} {more}: {'more rows would help' if gain > 0.02 else 'more rows help little'}.",
    )
    sentence = f"{_meeting(display)} Shades are one standard deviation over three draws of the rows."
    title = "Loss after learning from more and more rows"
    return Section(
        "learning", "What more rows are worth", beside(figure(display, sentence, title), body, _sizes(display))
    )


def _sizes(display: LearningCurveDisplay) -> str:
    """Return the curves as a table."""
    rows = [
        (shown(int(size)), *(_measure(display.measure, float(curve[place])) for curve in display.curves.values()))
        for place, size in enumerate(display.sizes)
    ]
    head = ["rows learnt from", *display.curves]
    return table(f"{display.measure} on rows held out", head, rows, numbers=range(1, len(head)), tight=True)


def _meeting(display: LearningCurveDisplay) -> str:
    """Return where the curves cross."""
    met = display.crossings
    if met:
        sizes = listed([shown(round(crossing.size)) for crossing in met])
        return f"The curves cross at about {sizes} rows."
    if len(display.curves) == 1:
        return "The curve is that of the model alone."
    behind, ahead = sorted(display.curves, key=lambda name: -display.curves[name][-1])
    return f"The curves do not cross: {ahead} is ahead of {behind} at every size."


def solver_section(seen: Seen) -> Section | None:
    """Return the section about the way to the fit; None where there was no way to go."""
    solution = getattr(seen.model.estimator_, "solution_", None)
    steps = getattr(solution, "trace", ())
    if solution is None or len(steps) < 2:
        return None
    end = "It ended well" if solution.converged else "It did not arrive"
    body = paragraph(f"The model was fitted in {plural(len(steps), 'step')}. {end}: {solution.reason}.")
    sentence = "Each dot is a step: the log-likelihood rises, and its gradient falls towards 0."
    return Section(
        "solver",
        "How it was fitted",
        beside(figure(SolverTraceDisplay.from_estimator(seen.model.estimator_), sentence), body, _steps(steps)),
    )


def _steps(steps: Sequence[Step]) -> str:
    """Return the steps as a table, the first and the last of them where they are many."""
    places = [*range(len(steps))] if len(steps) <= 12 else [*range(6), *range(len(steps) - 6, len(steps))]
    rows = [
        (f"{place + 1}", shown(steps[place].passes), f"{-steps[place].value:,.2f}", _small(steps[place]))
        for place in places
    ]
    return table("The steps", ["step", "passes", "log-likelihood", "gradient"], rows, numbers=[1, 2, 3], tight=True)


def _small(step: Step) -> str:
    return f"{step.gradient_norm:.1e}"
