"""suffice mail begin: the first training, with the mail of a mailbox whose class is known."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from suffice.cli.mail.learn import learn_batches, print_advice, print_counts
from suffice.cli.mail.options import (
    connect_imap,
    filter_options,
    imap_options,
    json_option,
    open_filter,
    print_remark,
    quiet_option,
    write_json,
)
from suffice.mail.imap.address import is_imap_address
from suffice.printable import printable

if TYPE_CHECKING:
    from suffice.mail.mailboxes import Skipped, SortableMailbox


@click.command("begin")
@click.argument("mailbox", type=click.Path(), metavar="MAILDIR|ADDRESS")
@filter_options
@click.option("--spam-folder", metavar="NAME", help="Folder of spam. [default: the server's folder of spam, or Junk]")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be learned, and learn nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before learning.")
@imap_options
@json_option
@quiet_option
def begin_command(
    mailbox: str,
    path: str | None,
    shared: tuple[str, ...],
    spam_folder: str | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    quiet: bool,
    **server: str | None,
) -> None:
    """Learn from a mailbox whose inbox has unsorted spam. Run this first, then suffice mail sort.

    Spam is learned from the spam folder; ham from mail that you answered or flagged, from the archive, and from sent
    mail. Other mail of the inbox is not learned. MAILDIR and ADDRESS (imaps://USER@HOST/INBOX) are the inbox.
    """
    from suffice.mail.first_training import check_examples, find_examples
    from suffice.mail.health import status

    skipped: list[Skipped] = []
    with ExitStack() as opened:
        box, default = _open_inbox(mailbox, opened, server)
        examples = find_examples(box, spam_folder or default)
        listed = [
            {"class": each.label, "folder": each.folder, "which": each.which, "messages": len(each.entries)}
            for each in examples
        ]
        if not (as_json or quiet):
            for label, folder, which, count in (row.values() for row in listed):
                sys.stdout.write(printable(f"{label:<5} {count:>6,}  {folder}, {which}") + "\n")
        check_examples(examples)
        if dry_run:
            if as_json:
                write_json({"examples": listed})
            return
        is_asked = not yes and sys.stdin is not None and sys.stdin.isatty()
        if is_asked and not click.confirm("Learn these messages?", default=True, err=True):
            raise click.ClickException("nothing was learned")
        with open_filter(path, shared) as chosen:
            classes = {label: [each for each in examples if each.label == label] for label in ("spam", "ham")}
            counts = learn_batches(chosen, classes, [], skipped, quiet or as_json)
            advice = status(chosen).advice
    print_counts(counts, skipped, as_json, quiet, {"advice": advice, "examples": listed})
    if not (as_json or quiet):
        print_advice(advice)
        print_remark(f"next, see what would be moved: suffice mail sort {shlex.quote(mailbox)} --dry-run")


def _open_inbox(mailbox: str, opened: ExitStack, server: Mapping[str, str | None]) -> tuple[SortableMailbox, str]:
    """Return an inbox, and its folder of spam unless another is named."""
    if is_imap_address(mailbox):
        from suffice.mail.imap.folders import ImapFolder

        connection = opened.enter_context(connect_imap(mailbox, **server))
        return ImapFolder(connection, connection.resolve(connection.address.folder)), connection.find_junk() or "Junk"
    from suffice.mail.mailboxes.maildir import Maildir

    return Maildir(mailbox), "Junk"
