"""suffice mail correct: correct wrong verdicts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from suffice.cli.mail.learn import (
    ClassCommand,
    class_options,
    group_by_class,
    iterate_pairs,
    print_counts,
    read_stdin_pairs,
)
from suffice.cli.mail.options import filter_options, json_option, open_filter, quiet_option

if TYPE_CHECKING:
    from suffice.mail.mailboxes import Skipped


@click.command("correct", cls=ClassCommand)
@class_options
@filter_options
@json_option
@quiet_option
def correct_command(
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    path: str | None,
    shared: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Correct the class of messages. What was learned is undone; learning is repeated until the verdict agrees.

    \b
    suffice mail correct --ham < message
    """  # noqa: D301
    from suffice.mail import LearnCounts

    skipped: list[Skipped] = []
    counts = LearnCounts()
    classes = group_by_class(spam, ham, others)
    with open_filter(path, shared) as chosen:
        for data, label in iterate_pairs(classes, read_stdin_pairs(classes), skipped):
            counts.add(chosen.correct(data, label), label)
    print_counts(counts, skipped, as_json, quiet)
