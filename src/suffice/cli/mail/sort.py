"""suffice mail sort: spam out of a Maildir, and lessons from what its reader moves."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.mail.options import filter_options, json_option, opened, quiet_option, remark, write_json

if TYPE_CHECKING:
    from suffice.mail import MailFilter
    from suffice.mail.filing import Sorted


@click.command("sort")
@click.argument("maildir", type=click.Path())
@filter_options
@click.option(
    "--spam-folder",
    default="Junk",
    show_default=True,
    metavar="NAME",
    help="Where spam is moved; ../NAME is a folder beside MAILDIR.",
)
@click.option("--unsure-folder", metavar="NAME", help="Where to move what may be spam. [default: it stays]")
@click.option("--folder", "folders", multiple=True, nargs=2, metavar="CLASS NAME", help="Where a class of yours goes.")
@click.option("-n", "--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
@click.option("--watch", is_flag=True, help="Go on as mail comes and is moved, until stopped.")
@click.option("--only-new", is_flag=True, help="Judge only mail that no mail program has seen yet.")
@click.option("--learn/--no-learn", default=True, help="Whether to learn from what was moved by hand.")
@click.option(
    "--learn-strangers/--no-learn-strangers",
    default=None,
    help="Whether to learn what others put into the spam folder. [default: what they put there after the first run]",
)
@click.option("--force", is_flag=True, help="Move mail even if little was learned yet.")
@json_option
@quiet_option
def sort_command(
    maildir: str, place: str | None, shared: tuple[str, ...], watch: bool, force: bool, **how: Any
) -> None:
    """Move the spam of MAILDIR into a folder, and learn from what was moved by hand since the last time.

    Moving a message into the spam folder teaches that it is spam; moving it out, that it is not. Nothing is ever
    deleted. With --dry-run, nothing is changed at all.
    """
    with opened(place, shared) as chosen:
        anyway = force or how["dry_run"]

        failed = 0

        def once() -> None:
            nonlocal failed
            _check_ready(chosen, anyway)
            found = _sort(chosen, maildir, anyway, **how)
            failed = found.failed
            _say(found, how["as_json"], how["quiet"] or watch, how["dry_run"])
            sys.stdout.flush()

        if watch:
            from suffice.mail.watching import watch as keep_watching

            keep_watching([maildir, *_beside(maildir, how["spam_folder"], how["unsure_folder"])], once)
        else:
            once()
        if failed:
            raise click.ClickException(f"{failed} messages could not be moved: they are where they were")


def _beside(maildir: str, *names: str | None) -> list[str]:
    """Return the folders beside a Maildir that mail is moved to, as far as there are."""
    from suffice.mail.maildir import Maildir

    box = Maildir(maildir)
    places = [box.locate(name) for name in names if name]
    return [str(place) for place in places if not place.is_relative_to(box.path) and (place / "cur").is_dir()]


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
) -> Sorted:
    from suffice.mail.ledger import FilterJudge, StoredLedger
    from suffice.mail.maildir import Maildir
    from suffice.mail.sorting import sort

    box = Maildir(maildir)
    for label, _ in folders:
        if label not in chosen.classes:
            raise click.ClickException(f"there is no class {label!r}: the filter knows {', '.join(chosen.classes)}")
    return sort(
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
        report=None if as_json or quiet else _line(dry_run),
    )


def _line(dry_run: bool) -> Any:
    """Return what says what happens to each message."""
    from suffice.mail.filing import Learned, Moved
    from suffice.printable import printable

    would = "would be " if dry_run else ""

    def line(each: Any) -> None:
        if isinstance(each, Moved):
            sys.stdout.write(f"{would}moved to {each.folder} (p={each.probability:.4f})  {printable(each.where)}\n")
        elif isinstance(each, Learned):
            sys.stdout.write(f"{would}learned as {each.label}  {printable(each.where)}\n")
        else:
            remark(f"skipped {each.where}: {each.why}")

    return line


def _say(found: Sorted, as_json: bool, quiet: bool, dry_run: bool) -> None:
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
