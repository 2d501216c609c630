"""A report about a model of a table: one page that stands alone."""

from __future__ import annotations

import datetime
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from suffice.plots.style import require_matplotlib
from suffice.report.boundary_section import boundary_section, chosen_features
from suffice.report.classes_section import classes_section, most_telling
from suffice.report.data_section import data_section
from suffice.report.importance_section import effects_of, hard_section, telling_section
from suffice.report.markup import Section
from suffice.report.metrics_section import quality_section
from suffice.report.page import page
from suffice.report.report_data import Seen
from suffice.report.selection_section import choice_section, learning_section, solver_section
from suffice.tables import TableModel
from suffice.tables.sources.base import Watch
from suffice.tables.table_writer import check_place, new_file


def report(
    model: TableModel,
    table: Any,
    path: str | os.PathLike[str],
    *,
    features: tuple[str, str] | None = None,
    watch: Watch | None = None,
    date: datetime.date | None = None,
) -> Path:
    """Write a page about a fitted model and a table whose target is known, and return where it is.

    The page is one HTML file that needs no other: what the table holds, how the model was chosen, how good it is, what
    each class looks like, why the model answers as it does, and which rows it gets wrong. Measures are of all rows;
    pictures are of up to 20,000, drawn at random. The file appears whole or not at all.

    Parameters
    ----------
    model
        The model.
    table
        What :func:`suffice.tables.open_table` takes: a file, a folder, a database, a data frame, a source.
    path
        Where to write, in place of a file that is there.
    features
        Two columns of numbers over which the model's answers are drawn; by default those that tell most.
    watch
        Called now and then with what is being done, how much of it is done, and of how much, where that is known.
    date
        What the page is dated; today by default.

    Examples
    --------
    >>> import tempfile, suffice, suffice.demo
    >>> from suffice.report import report
    >>> model = suffice.fit(suffice.demo.messages(), "label")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = report(model, suffice.demo.messages(), f"{folder}/report.html")
    ...     file.name, file.read_text(encoding="utf-8")[:15]
    ('report.html', '<!DOCTYPE html>')
    """
    if not isinstance(model, TableModel):
        raise TypeError(f"a report is about a model of a table, as suffice.fit gives it; got {type(model).__name__}")
    check_is_fitted(model, "predictor_")
    require_matplotlib()
    check_place(path)
    seen = Seen.of(model, table, watch)
    written = page(seen, _sections(seen, features, watch), Path(path), date or datetime.date.today())
    with new_file(path) as temporary:
        temporary.write_text(written, encoding="utf-8")
    return Path(path)


def _sections(seen: Seen, features: Any, watch: Watch | None) -> list[Section]:
    effects = effects_of(seen)
    chosen = chosen_features(seen, features, most_telling(seen) if effects is None else effects.order())
    pair = (chosen[0], chosen[1]) if len(chosen) == 2 else None
    makers: list[Callable[[], Section | None]] = [
        lambda: data_section(seen),
        lambda: choice_section(seen),
        lambda: quality_section(seen),
        lambda: telling_section(seen, effects),
        lambda: classes_section(seen, pair),
        lambda: boundary_section(seen, chosen),
        lambda: hard_section(seen),
        lambda: learning_section(seen),
        lambda: solver_section(seen),
    ]
    found = []
    for number, make in enumerate(makers):
        if watch is not None:
            watch("drawing", number, len(makers))
        found.append(make())
    return [section for section in found if section is not None]
