"""suffice mail sort: move spam out of a Maildir, and learn from what the user moves."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.mail.options import filter_options, json_option, open_filter, print_remark, quiet_option, write_json

if TYPE_CHECKING:
    from suffice.mail import MailFilter
    from suffice.mail.sorter import SortResult


@click.command("sort")
@click.argument("maildir", type=click.Path())
@filter_options
@click.option(
    "--spam-folder",
    default="Junk",
    show_default=True,
    metavar="NAME",
    help="Folder of spam; ../NAME is beside MAILDIR.",
)
@click.option("--unsure-folder", metavar="NAME", help="Folder of unsure mail. [default: it stays in the inbox]")
@click.option("--folder", "folders", multiple=True, nargs=2, metavar="CLASS NAME", help="Folder of another class.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("--watch", is_flag=True, help="Continue as mail arrives and is moved, until interrupted.")
@click.option("--only-new", is_flag=True, help="Judge only mail that no mail program has seen yet.")
@click.option("--learn/--no-learn", default=True, help="Whether to learn from messages that you moved.")
@click.option(
    "--learn-strangers/--no-learn-strangers",
    default=None,
    help="Whether to learn what other programs put into the spam folder. [default: only after the first run]",
)
@click.option("--force", is_flag=True, help="Move mail even if too little was learned.")
@json_option
@quiet_option
def sort_command(
    maildir: str, path: str | None, shared: tuple[str, ...], watch: bool, force: bool, **options: Any
) -> None:
    """Move spam of a Maildir into a folder. Messages that you moved since the last run are learned.

    A message that you move into the spam folder is learned as spam, one that you move out of it as ham. No message is
    deleted. With --dry-run, nothing is changed.
    """
    with open_filter(path, shared) as chosen:
        anyway = force or options["dry_run"]

        failed = 0

        def sort_once() -> None:
            nonlocal failed
            _check_ready(chosen, anyway)
            found = _sort(chosen, maildir, anyway, **options)
            failed = found.failed
            _print(found, options["as_json"], options["quiet"] or watch, options["dry_run"])
            sys.stdout.flush()

        if watch:
            from suffice.mail.watcher import watch_folders

            beside = _folders_beside(maildir, options["spam_folder"], options["unsure_folder"])
            watch_folders([maildir, *beside], sort_once)
        else:
            sort_once()
        if failed:
            raise click.ClickException(f"{failed} messages could not be moved: they are still in the inbox")


def _folders_beside(maildir: str, *names: str | None) -> list[str]:
    """Return the target folders that are beside a Maildir and exist."""
    from suffice.mail.mailboxes.maildir import Maildir

    box = Maildir(maildir)
    paths = [box.locate(name) for name in names if name]
    return [str(path) for path in paths if not path.is_relative_to(box.path) and (path / "cur").is_dir()]


def _check_ready(chosen: MailFilter, anyway: bool) -> None:
    from suffice.mail.health import status

    found = status(chosen)
    if not found.ready and not anyway:
        raise click.ClickException(f"the filter is {found.advice}; --force moves mail all the same")


def _sort(
    chosen: MailFilter,
    maildir: str,
    anyway: bool,
    spam_folder: str,
    unsure_folder: str | None,
    folders: tuple[tuple[str, str], ...],
    dry_run: bool,
    only_new: bool,
    learn: bool,
    learn_strangers: bool | None,
    as_json: bool,
    quiet: bool,
) -> SortResult:
    from suffice.mail.ledger import StoredLedger
    from suffice.mail.mailboxes.maildir import Maildir
    from suffice.mail.sorter import FilterJudge, sort_mailbox

    box = Maildir(maildir)
    for label, _ in folders:
        if label not in chosen.classes:
            raise click.ClickException(f"there is no class {label!r}: the filter has {', '.join(chosen.classes)}")
    return sort_mailbox(
        box,
        FilterJudge(chosen, anyway=anyway),
        StoredLedger(chosen, Path(maildir)),
        spam_folder=spam_folder,
        unsure_folder=unsure_folder,
        folders=dict(folders),
        dry_run=dry_run,
        learn=learn,
        learn_strangers=learn_strangers,
        only_new=only_new,
        report=None if as_json or quiet else _event_printer(dry_run),
    )


def _event_printer(dry_run: bool) -> Callable[[Any], None]:
    """Return a function that prints what is done with a message."""
    from suffice.mail.sorter import Learned, Moved
    from suffice.printable import printable

    would = "would be " if dry_run else ""

    def print_event(event: Any) -> None:
        if isinstance(event, Moved):
            sys.stdout.write(f"{would}moved to {event.folder} (p={event.probability:.4f})  {printable(event.where)}\n")
        elif isinstance(event, Learned):
            sys.stdout.write(f"{would}learned as {event.label}  {printable(event.where)}\n")
        else:
            print_remark(f"skipped {event.where}: {event.why}")

    return print_event


def _print(found: SortResult, as_json: bool, quiet: bool, dry_run: bool) -> None:
    if as_json:
        write_json(
            {
                "moved": [{"where": m.where, "folder": m.folder, "p": m.probability} for m in found.moved],
                "learned": [{"where": each.where, "class": each.label} for each in found.learned],
                "kept": found.kept,
                "skipped": [{"where": each.where, "why": each.why} for each in found.skipped],
                "failed": found.failed,
                "gone": found.gone,
                "dry_run": dry_run,
            },
            lines=True,
        )
    elif not quiet:
        would = "would be " if dry_run else ""
        sys.stdout.write(
            f"{len(found.moved):,} {would}moved, {found.kept:,} kept, {len(found.learned):,} {would}learned\n"
        )
