"""suffice mail classify: the verdicts on messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from suffice.cli.mail.options import (
    exit_code,
    exit_option,
    filter_options,
    iterate_messages,
    json_option,
    open_filter,
    print_remark,
    quiet_option,
    write_json,
)

if TYPE_CHECKING:
    from suffice.mail import MailFilter, Verdict

#: Messages that are judged together.
_BATCH = 512

train_option = click.option(
    "--train", is_flag=True, help="Learn each message as its verdict, unless unsure. Correct wrong verdicts later."
)


@click.command("classify")
@click.argument("mail", nargs=-1, type=click.Path(), metavar="[MAIL]...")
@filter_options
@train_option
@exit_option
@json_option
@quiet_option
def classify_command(
    mail: tuple[str, ...],
    path: str | None,
    shared: tuple[str, ...],
    train: bool,
    exit_zero: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Classify messages as spam, ham or unsure. Without MAIL, the message on standard input is read.

    Exit code for one message: 0 spam, 1 ham, 2 unsure. For several: 0.
    """
    with open_filter(path, shared) as chosen:
        count = 0
        last = None
        is_stdin = not mail or mail == ("-",)
        for where, verdict in _classify(chosen, mail, train):
            count += 1
            last = verdict
            if as_json:
                write_json(verdict.as_dict() if is_stdin else {"where": where, **verdict.as_dict()}, lines=True)
            else:
                _print(verdict, None if is_stdin else where, quiet)
    if count == 0:
        raise click.ClickException(f"there is no message in {', '.join(mail)}")
    if count == 1 and last is not None and not exit_zero:
        raise click.exceptions.Exit(exit_code(last))


def _classify(chosen: MailFilter, mail: tuple[str, ...], train: bool) -> Iterator[tuple[str, Verdict]]:
    from itertools import islice

    stream = iterate_messages(mail)
    while batch := list(islice(stream, 1 if train or not mail else _BATCH)):
        texts = [data for _, data in batch]
        cores = 1
        if len(batch) > 1:
            from suffice.mail.features import available_cores

            cores = available_cores()
        for (where, data), verdict in zip(batch, chosen.classify_all(texts, cores=cores), strict=True):
            if train:
                learn_verdict(chosen, data, verdict)
            yield where, verdict


def learn_verdict(chosen: MailFilter, message: bytes, verdict: Verdict) -> None:
    """Learn a message as its verdict, unless that is unsure or the message was learned before."""
    if verdict.label != "unsure" and chosen.learned_as(message) is None:
        chosen.learn(message, verdict.label)


def _print(verdict: Verdict, where: str | None, quiet: bool) -> None:
    from suffice.printable import printable

    tail = "" if where is None else f"  {printable(where)}"
    sys.stdout.write(f"{verdict.label:<6} {verdict.probability:.4f}{tail}\n")
    for _, detail in () if quiet else verdict.trouble:
        print_remark(f"note: {f'{where}: ' if where else ''}{detail}")
