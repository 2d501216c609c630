"""suffice mail sort: move spam out of a Maildir or a folder on a mail server, and learn from what the user moves."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

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

if TYPE_CHECKING:
    from suffice.mail import MailFilter
    from suffice.mail.imap.folders import ImapFolder
    from suffice.mail.imap.ledger import ImapLedger
    from suffice.mail.ledger import StoredLedger
    from suffice.mail.mailboxes import SortableMailbox
    from suffice.mail.sorter import Moved, SortResult

#: Moves that the first run makes without a question, and moves that the question shows.
UNASKED, SHOWN = 10, 50
_REFUSAL = "a first run, or one with --again, of more than ten moves is refused where there is no terminal to ask on"


@click.command("sort")
@click.argument("mailbox", type=click.Path(), metavar="MAILDIR|ADDRESS")
@filter_options
@click.option(
    "--spam-folder",
    metavar="NAME",
    help="Folder of spam; ../NAME is beside MAILDIR. [default: the server's folder of spam, or Junk]",
)
@click.option("--unsure-folder", metavar="NAME", help="Folder of unsure mail. [default: it stays in the inbox]")
@click.option("--folder", "folders", multiple=True, nargs=2, metavar="CLASS NAME", help="Folder of another class.")
@click.option("-n", "--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("--watch", is_flag=True, help="Continue as mail arrives and is moved, until interrupted.")
@click.option("--only-new", is_flag=True, help="Judge only mail that no mail program has seen yet.")
@click.option("--again", is_flag=True, help="Judge also what earlier runs judged, except mail learned as ham.")
@click.option("--learn/--no-learn", default=True, help="Whether to learn from messages that you moved.")
@click.option(
    "--learn-strangers/--no-learn-strangers",
    default=None,
    help="Whether to learn what other programs put into the spam folder. [default: only after the first run]",
)
@click.option("--force", is_flag=True, help="Move mail even if too little was learned.")
@click.option("--yes", is_flag=True, help="On a server, do not ask before the first run moves more than ten messages.")
@click.option("--undo", metavar="LAST|RUN", help="Move back what the last run moved, or the run of this number.")
@imap_options
@json_option
@quiet_option
def sort_command(
    mailbox: str,
    path: str | None,
    shared: tuple[str, ...],
    watch: bool,
    force: bool,
    again: bool,
    password_command: str | None,
    token_command: str | None,
    ca_file: str | None,
    yes: bool,
    undo: str | None,
    **options: Any,
) -> None:
    """Move spam of a Maildir, or of a folder on a mail server, into a folder.

    Messages that you moved since the last run are learned: one that you move into the spam folder as spam, one that you
    move out of it as ham. No message is deleted. With --dry-run, nothing is changed, and what would be refused is
    refused. The address of a folder on a server is imaps://USER@HOST/INBOX.
    """
    for one, other in (("--undo", "--watch"), ("--undo", "--again"), ("--again", "--watch"), ("--again", "--only-new")):
        given = {"--undo": undo, "--watch": watch, "--again": again, "--only-new": options["only_new"]}
        if given[one] and given[other]:
            raise click.UsageError(f"{one} and {other} cannot be used together")
    options["again"] = again
    if "@" in mailbox and not is_imap_address(mailbox) and not os.path.lexists(mailbox):
        raise click.UsageError(f"there is no folder {mailbox!r}; one on a server is imaps://USER@HOST/FOLDER")
    with open_filter(path, shared) as chosen:
        chosen.store()  # without a filter, nothing is asked and no server connected
        if not is_imap_address(mailbox):
            if undo:
                _undo_maildir(chosen, mailbox, undo, options)
            else:
                _sort_maildir(chosen, mailbox, watch, force, options)
            return

        def connect() -> Any:
            return connect_imap(mailbox, password_command, token_command, ca_file)

        sorting = _ImapSorting(chosen, force, yes, options, quiet=options["quiet"] or watch)
        if watch:
            from suffice.mail.imap.watcher import watch_imap_folder

            watch_imap_folder(connect, sorting.run, print_remark)
            return
        from suffice.mail.imap.folders import ImapFolder

        with connect() as connection:
            box = ImapFolder(connection, connection.resolve(connection.address.folder))
            if undo:
                sorting.undo(box, undo)
            else:
                _check_failed(sorting.run(box).failed)


class _ImapSorting:
    """Sorts a folder on a server, once or each time that it changes."""

    def __init__(self, chosen: MailFilter, force: bool, yes: bool, options: dict[str, Any], quiet: bool) -> None:
        self._chosen, self._force, self._yes, self._options, self._quiet = chosen, force, yes, options, quiet

    def run(self, box: ImapFolder) -> SortResult:
        from suffice.mail.sorter import INBOX

        options = self._options
        _check_ready(self._chosen, self._force)
        with self._open_ledger(box) as ledger:
            is_first = "" not in ledger.known_files(INBOX)
            is_asked = (is_first or options["again"]) and not self._yes
            spam_folder = options["spam_folder"] or box.connection.find_junk() or "Junk"
            with ExitStack() as progress:
                progress.enter_context(_show_progress(box, options["quiet"] or options["as_json"]))

                def ask(moves: list[Moved]) -> bool:
                    progress.close()  # it would overwrite the question
                    return _confirm(moves)

                confirm = ask if is_asked else None
                found = _sort(
                    self._chosen, box, ledger, self._force, confirm, **{**options, "spam_folder": spam_folder}
                )
        if found.declined:
            raise click.ClickException("nothing was moved")
        _print(found, options["as_json"], self._quiet, options["dry_run"], ledger.run)
        if is_asked and options["dry_run"] and len(found.moved) > UNASKED and not options["quiet"]:
            print_remark(f"without --yes, the run asks before it moves {len(found.moved):,} messages: {_REFUSAL}")
        if found.moved and not options["dry_run"] and box.leaves_deleted:
            print_remark(
                f"the server has neither MOVE nor UIDPLUS: {len(found.moved):,} moved messages are still in the inbox, "
                "marked as deleted; they go when your mail program empties ('expunges', 'compacts') the folder"
            )
        sys.stdout.flush()
        return found

    def undo(self, box: ImapFolder, run: str) -> None:
        with self._open_ledger(box) as ledger:
            _undo(box, ledger, run, self._options)

    @contextmanager
    def _open_ledger(self, box: ImapFolder) -> Iterator[ImapLedger]:
        """Yield the ledger of a folder, after the moves of an interrupted run were completed."""
        from suffice.mail.imap.ledger import ImapLedger, exclude_other_runs, finish_moves

        ledger = ImapLedger(self._chosen, box, read_only=self._options["dry_run"])
        if self._options["dry_run"]:
            yield ledger
            return
        with exclude_other_runs(self._chosen):
            finish_moves(ledger)
            yield ledger


def _check_failed(failed: int) -> None:
    if failed:
        raise click.ClickException(f"{failed} messages could not be moved: they stay where they are")


def _confirm(moves: list[Moved]) -> bool:
    """Show the moves of a first run, or of one that judges all again, and ask before there are many."""
    from suffice.printable import printable

    if len(moves) <= UNASKED:
        return True
    for move in moves[:SHOWN]:
        line = f"would be moved to {move.folder} (p={move.probability:.4f})  {move.subject}"
        sys.stderr.write(printable(line) + "\n")
    if len(moves) > SHOWN:
        sys.stderr.write(f"... and {len(moves) - SHOWN:,} more\n")
    if sys.stdin is None or not sys.stdin.isatty():
        raise click.ClickException(
            f"the run would move {len(moves):,} messages, and nothing was moved: look at them with --dry-run, then use "
            f"--yes ({_REFUSAL})"
        )
    return click.confirm(f"Nothing was moved yet. Move {len(moves):,} messages?", err=True)


@contextmanager
def _show_progress(box: ImapFolder, quiet: bool) -> Iterator[None]:
    """Show on a terminal how many messages were fetched."""
    if quiet or not sys.stderr.isatty():
        yield
        return
    from suffice.cli.output import progress_bar

    with progress_bar(quiet) as watch:
        box.progress = (lambda done, total: watch("reading", done, total)) if watch else None
        try:
            yield
        finally:
            box.progress = None


def _undo_maildir(chosen: MailFilter, maildir: str, run: str, options: dict[str, Any]) -> None:
    from suffice.mail.ledger import StoredLedger
    from suffice.mail.mailboxes.maildir import Maildir

    ledger = StoredLedger(chosen, Path(maildir), read_only=options["dry_run"])
    _undo(Maildir(maildir), ledger, run, options)


def _undo(box: SortableMailbox, ledger: StoredLedger, run: str, options: dict[str, Any]) -> None:
    from suffice.mail.undo import undo_run

    if run.upper() != "LAST" and not run.isdecimal():
        raise click.UsageError(f"--undo takes LAST or the number of a run; got {run!r}")
    found = undo_run(box, ledger, None if run.upper() == "LAST" else int(run), dry_run=options["dry_run"])
    if options["as_json"]:
        write_json({"run": found.run, "restored": found.restored, "missing": found.missing, "failed": found.failed})
    elif not options["quiet"]:
        would = "would be " if options["dry_run"] else ""
        missing = f"; {found.missing:,} are no longer in the folder" if found.missing else ""
        sys.stdout.write(f"{found.restored:,} {would}moved back{missing}\n")
    if found.failed:
        raise click.ClickException(f"{len(found.failed)} messages could not be moved back: {found.failed[0]}")


def _sort_maildir(chosen: MailFilter, maildir: str, watch: bool, force: bool, options: dict[str, Any]) -> None:
    options = {**options, "spam_folder": options["spam_folder"] or "Junk"}
    failed = 0

    def sort_once() -> None:
        from suffice.mail.ledger import StoredLedger
        from suffice.mail.mailboxes.maildir import Maildir

        nonlocal failed
        _check_ready(chosen, force)
        ledger = StoredLedger(chosen, Path(maildir), read_only=options["dry_run"])
        found = _sort(chosen, Maildir(maildir), ledger, force, None, **options)
        failed = found.failed
        _print(found, options["as_json"], options["quiet"] or watch, options["dry_run"], ledger.run)
        sys.stdout.flush()

    if watch:
        from suffice.mail.watcher import watch_folders

        beside = _folders_beside(maildir, options["spam_folder"], options["unsure_folder"])
        watch_folders([maildir, *beside], sort_once)
    else:
        sort_once()
    _check_failed(failed)


def _folders_beside(maildir: str, *names: str | None) -> list[str]:
    """Return the target folders that are beside a Maildir and exist."""
    from suffice.mail.mailboxes.maildir import Maildir

    box = Maildir(maildir)
    paths = [box.locate(name) for name in names if name]
    return [str(path) for path in paths if not path.is_relative_to(box.path) and (path / "cur").is_dir()]


def _check_ready(chosen: MailFilter, force: bool) -> None:
    """Raise if the filter may move nothing, because it has learned too little or its file cannot be written."""
    from suffice.mail.health import status

    chosen.store().check_writable()
    found = status(chosen)
    if not found.ready and not force:
        raise click.ClickException(f"the filter is {found.advice}; --force moves mail all the same")


def _sort(
    chosen: MailFilter,
    box: SortableMailbox,
    ledger: StoredLedger,
    force: bool,
    confirm: Callable[[list[Moved]], bool] | None,
    spam_folder: str,
    unsure_folder: str | None,
    folders: tuple[tuple[str, str], ...],
    dry_run: bool,
    only_new: bool,
    again: bool,
    learn: bool,
    learn_strangers: bool | None,
    as_json: bool,
    quiet: bool,
) -> SortResult:
    from suffice.mail.sorter import FilterJudge, sort_mailbox

    for label, _ in folders:
        if label not in chosen.classes:
            raise click.ClickException(f"there is no class {label!r}: the filter has {', '.join(chosen.classes)}")
    return sort_mailbox(
        box,
        FilterJudge(chosen, anyway=force),
        ledger,
        spam_folder=spam_folder,
        unsure_folder=unsure_folder,
        folders=dict(folders),
        dry_run=dry_run,
        learn=learn,
        learn_strangers=learn_strangers,
        only_new=only_new,
        again=again,
        report=None if as_json or quiet else _event_printer(dry_run),
        confirm=confirm,
    )


def _event_printer(dry_run: bool) -> Callable[[Any], None]:
    """Return a function that prints what is done with a message."""
    from suffice.mail.sorter import Learned, Moved
    from suffice.printable import printable

    would = "would be " if dry_run else ""

    def print_event(event: Any) -> None:
        if isinstance(event, Moved):
            subject = f"  {event.subject}" if ";UID=" in event.where else ""  # a path can be opened, a UID cannot
            what = f"{would}moved to {event.folder} (p={event.probability:.4f})  {event.where}{subject}"
            sys.stdout.write(printable(what) + "\n")
        elif isinstance(event, Learned):
            sys.stdout.write(f"{would}learned as {event.label}  {printable(event.where)}\n")
        else:
            print_remark(f"skipped {event.where}: {event.why}")

    return print_event


def _print(found: SortResult, as_json: bool, quiet: bool, dry_run: bool, run: int | None) -> None:
    if as_json:
        write_json(
            {
                "moved": [
                    {"where": m.where, "folder": m.folder, "p": m.probability, "subject": m.subject}
                    for m in found.moved
                ],
                "learned": [{"where": each.where, "class": each.label} for each in found.learned],
                "kept": found.kept,
                "skipped": [{"where": each.where, "why": each.why} for each in found.skipped],
                "failed": found.failed,
                "gone": found.gone,
                "dry_run": dry_run,
                "run": run,
            },
            lines=True,
        )
    elif not quiet:
        would = "would be " if dry_run else ""
        sys.stdout.write(
            f"{len(found.moved):,} {would}moved, {found.kept:,} kept, {len(found.learned):,} {would}learned\n"
        )
