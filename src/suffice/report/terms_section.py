"""Section on the terms of an additive model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from suffice.plots import TermsDisplay
from suffice.report.elements import Figure, Section, make_figure
from suffice.report.formats import format_count, format_value
from suffice.report.report_data import ReportData

if TYPE_CHECKING:
    from suffice.additive import AdditiveTerm

#: Most terms of one column, and of pairs, that are drawn.
_MAX_TERMS, _MAX_PAIRS = 8, 4
#: Most classes of a curve.
_MAX_CLASSES = 5

_PICTURES = (
    "Bands and thin lines are two standard errors, grey below a curve is the density of the training rows. Groups of a "
    "pair have about equally many rows; cells without rows are empty."
)


def terms_section(data: ReportData) -> Section | None:
    """Return the section on the terms of an additive model; None for other models."""
    if data.model.model_ != "additive":
        return None
    model: Any = data.model.estimator_
    ordered = sorted(model.terms_, key=lambda term: -term.importance)
    alone = [term for term in ordered if len(term.columns) == 1]
    pairs = [term for term in ordered if len(term.columns) == 2]
    drawn = sorted([*alone[:_MAX_TERMS], *pairs[:_MAX_PAIRS]], key=lambda term: -term.importance)
    if not drawn:
        return None
    several = len(data.classes) > _MAX_CLASSES
    introduction = [
        f"A prediction is the sum of a constant, {format_count(len(alone), 'term')} of one column and "
        f"{format_count(len(pairs), 'term')} of a pair of columns: {model.solution_.reason}.",
        _PICTURES,
        f"Drawn are the {len(drawn)} largest." if len(drawn) < len(ordered) else "",
        f"Curves are those of the {_MAX_CLASSES} classes on which a term has the largest effects." if several else "",
    ]
    content = {"introduction": introduction, "figures": [_draw_term(model, term) for term in drawn]}
    return Section("terms", "Terms", "figures", content)


def _draw_term(model: Any, term: AdditiveTerm) -> Figure:
    is_pair = len(term.columns) == 2
    display = TermsDisplay.from_estimator(model, [term.columns], most_classes=1 if is_pair else _MAX_CLASSES)
    return make_figure(display, f"Mean absolute effect: {format_value(term.importance)}.")
