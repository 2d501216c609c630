"""suffice mail classify, suffice mail filter: what messages are."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.mail.options import (
    code_of,
    exit_option,
    filter_options,
    given,
    json_option,
    messages,
    opened,
    quiet_option,
    remark,
    write_json,
)

if TYPE_CHECKING:
    from suffice.mail import MailFilter, Verdict

#: Messages that are judged together.
_TOGETHER = 512

train_option = click.option(
    "--train", is_flag=True, help="Learn each message as what it was taken for, unless unsure; correct what was wrong."
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
    place: str | None,
    shared: tuple[str, ...],
    train: bool,
    exit_zero: bool,
    as_json: bool,
    quiet: bool,
) -> None:
    """Say of messages whether they are spam; without MAIL, of the one on standard input.

    One message leaves with its verdict: 0 spam, 1 ham, 2 unsure. Several leave with 0.
    """
    with opened(place, shared) as chosen:
        count = 0
        last = None
        alone = not mail or mail == ("-",)
        for where, verdict in _verdicts(chosen, mail, train):
            count += 1
            last = verdict
            if as_json:
                write_json(verdict.as_dict() if alone else {"where": where, **verdict.as_dict()}, lines=True)
            else:
                _show(verdict, None if alone else where, quiet)
    if count == 0:
        raise click.ClickException(f"there is no message in {', '.join(mail)}")
    if count == 1 and last is not None and not exit_zero:
        raise click.exceptions.Exit(code_of(last))


def _verdicts(chosen: MailFilter, mail: tuple[str, ...], train: bool) -> Any:
    from itertools import islice

    stream = messages(mail)
    while heap := list(islice(stream, 1 if train or not mail else _TOGETHER)):
        texts = [data for _, data in heap]
        cores = 1
        if len(heap) > 1:
            from suffice.mail.reading import threads

            cores = threads()
        for (where, data), verdict in zip(heap, chosen.classify_all(texts, cores=cores), strict=True):
            if train:
                _learn(chosen, data, verdict)
            yield where, verdict


def _learn(chosen: MailFilter, message: bytes, verdict: Verdict) -> None:
    """Learn a message as what it was taken for, unless that is unsure or somebody has said what it is."""
    if verdict.label != "unsure" and chosen.learned_as(message) is None:
        chosen.learn(message, verdict.label)


def _show(verdict: Verdict, where: str | None, quiet: bool) -> None:
    from suffice.printable import printable

    tail = "" if where is None else f"  {printable(where)}"
    sys.stdout.write(f"{verdict.label:<6} {verdict.probability:.4f}{tail}\n")
    for _, detail in () if quiet else verdict.trouble:
        remark(f"note: {f'{where}: ' if where else ''}{detail}")


class PassingOn(click.Command):
    """A command that passes standard input on even if it is called in a wrong way."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Read the options; where there is something wrong with them, the message is not lost."""
        try:
            return super().parse_args(context, args)
        except click.UsageError:
            _pass_on(given())
            raise


@click.command("filter", cls=PassingOn)
@filter_options
@train_option
@exit_option
@json_option
def filter_command(place: str | None, shared: tuple[str, ...], train: bool, exit_zero: bool, as_json: bool) -> None:
    """Pass the message on standard input on, with a field X-Suffice on top of it; copies it came with are left out.

    Whatever goes wrong, the message is passed on, and the command leaves with 3. With --json the verdict goes to
    standard error.
    """
    message = given()
    if not message:
        raise click.ClickException("there is no message on standard input")
    line = None
    try:
        from suffice.mail.marking import field

        with opened(place, shared) as chosen:
            verdict = chosen.mark(message)
            line = field(verdict)
            if train:
                _learn(chosen, message, verdict)
    finally:
        _pass_on(message, line)
    if as_json:
        import json

        sys.stderr.write(json.dumps(verdict.as_dict()) + "\n")
    if not exit_zero:
        raise click.exceptions.Exit(code_of(verdict))


def _pass_on(message: bytes, line: str | None = None) -> None:
    """Write the message with our field on top; who cannot write it must not say that all is well."""
    from suffice.cli.mail import ERROR
    from suffice.mail.marking import marked

    try:
        if sys.stdout is None:
            raise OSError("standard output is closed")
        sys.stdout.buffer.write(marked(message, line))
        sys.stdout.buffer.flush()
    except OSError as error:
        sys.stderr.write(f"error: the message could not be passed on: {error.strerror or error}\n")
        if sys.stdout is not None:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise click.exceptions.Exit(ERROR) from error
