"""suffice mail learn: learn the classes of messages."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
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
    read_stdin_messages,
    which_option,
    write_json,
)
from suffice.mail.imap.address import is_imap_address

if TYPE_CHECKING:
    from suffice.mail import LearnCounts, MailFilter
    from suffice.mail.mailboxes import Mailbox, Skipped

#: Largest number of remarks about skipped files.
_REMARKS = 10


class ClassCommand(click.Command):
    """A command whose options --spam, --ham and --class take all words up to the next option."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each path; without a path, standard input is read."""
        valued = {
            name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts
        }
        has_argument = any(isinstance(each, click.Argument) for each in self.params)
        given: list[str] = []
        left = list(args)
        addresses: list[str] = []
        while left:
            word = left.pop(0)
            if word in ("--spam", "--ham", "--class"):
                prefix = [word] + ([left.pop(0)] if word == "--class" and left else [])
                for path in _take_paths(left) or addresses or ["-"]:
                    given += [*prefix, path]
                addresses = []
            elif word in valued and left:
                given += [word, left.pop(0)]
            elif word.startswith("-") or has_argument:
                given.append(word)
            elif is_imap_address(word) and any(each.startswith("--") for each in left):
                addresses.append(word)  # imaps://... --ham
            else:
                raise click.UsageError(f"{word} has no class: use --spam {word} or --ham {word}", context)
        if addresses:
            raise click.UsageError(f"{addresses[0]} has no class: use --spam or --ham after it", context)
        return super().parse_args(context, given)


def _take_paths(left: list[str]) -> list[str]:
    """Remove and return the paths at the start of a list of words: up to the next option, or all after --."""
    paths = []
    while left and (left[0] in ("-", "--") or not left[0].startswith("-")):
        word = left.pop(0)
        if word == "--":
            paths += left
            left.clear()
        else:
            paths.append(word)
    return paths


def class_options(command: Any) -> Any:
    """Add the options for mail of each class."""
    for option in (
        click.option(
            "--class", "others", multiple=True, nargs=2, metavar="NAME MAIL...", help="Mail of another class."
        ),
        click.option("--ham", multiple=True, type=click.Path(), metavar="MAIL...", help="Mail that is not spam."),
        click.option("--spam", multiple=True, type=click.Path(), metavar="MAIL...", help="Mail that is spam."),
    ):
        command = option(command)
    return command


def group_by_class(
    spam: tuple[str, ...], ham: tuple[str, ...], others: tuple[tuple[str, str], ...]
) -> dict[str, list[str]]:
    """Return the files and folders of each class."""
    classes: dict[str, list[str]] = {}
    for label, path in (*(("spam", path) for path in spam), *(("ham", path) for path in ham), *others):
        classes.setdefault(label, []).append(path)
    if not classes:
        raise click.UsageError("no mail is given: use --spam MAIL, --ham MAIL or --class NAME MAIL")
    if sum(path == "-" for paths in classes.values() for path in paths) > 1:
        raise click.UsageError("standard input can have one class only: give the others as files")
    _check_distinct(classes)
    return classes


def _check_distinct(classes: dict[str, list[str]]) -> None:
    """Raise if the same file or folder is given for two classes."""
    import os

    named: dict[str, tuple[str, str]] = {}
    for label, paths in classes.items():
        for path in paths:
            real = path if path == "-" else os.path.realpath(path)
            other, given = named.setdefault(real, (label, path))
            if other != label:
                raise click.UsageError(f"{path} is given as {label}, and as {other} ({given}): give it one class")


@click.command("learn", cls=ClassCommand)
@class_options
@filter_options
@imap_options
@which_option
@json_option
@quiet_option
def learn_command(
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    path: str | None,
    shared: tuple[str, ...],
    train: Any,
    as_json: bool,
    quiet: bool,
    **server: str | None,
) -> None:
    """Learn from mail. No message is learned twice, so an interrupted run can be repeated.

    \b
    suffice mail learn --spam Junk/ --ham Friends/ Archive.mbox.gz
    suffice mail learn --class work Work/ --spam Junk/ --ham Archive/
    suffice mail learn --spam < message
    suffice mail learn imaps://ann@mail.example.org/Archive --ham
    """  # noqa: D301
    from suffice.mail.health import status

    named = group_by_class(spam, ham, others)
    skipped: list[Skipped] = []
    with open_filter(path, shared) as chosen, _open_servers(named, **server) as classes:
        given = read_stdin_pairs(classes)
        is_single = len(given) == 1 and all(paths == ["-"] for paths in classes.values())
        if train == "all" and not is_single:
            counts = learn_batches(chosen, classes, given, skipped, quiet or as_json)
        else:
            counts = _learn_each(chosen, classes, given, skipped, train)
        advice = status(chosen).advice
    print_counts(counts, skipped, as_json, quiet, {"advice": advice})
    if not (quiet or as_json or is_single):
        print_advice(advice)


@contextmanager
def _open_servers(classes: dict[str, list[str]], **server: str | None) -> Iterator[dict[str, list[str | Mailbox]]]:
    """Yield the mail of each class with open folders in the place of their addresses."""
    opened: dict[str, list[str | Mailbox]] = {}
    with ExitStack() as connections:
        for label, paths in classes.items():
            opened[label] = []
            for path in paths:
                if is_imap_address(path):
                    from suffice.mail.imap.folders import ImapFolder

                    connection = connections.enter_context(connect_imap(path, **server))
                    opened[label].append(ImapFolder(connection, connection.resolve(connection.address.folder)))
                else:
                    opened[label].append(path)
        yield opened


def read_stdin_pairs(classes: Mapping[str, Sequence[str | Mailbox]]) -> list[tuple[bytes, str]]:
    """Return the messages on standard input with their class, if a class names it."""
    stdin = (label for label, paths in classes.items() if "-" in paths)
    return [(message.data, label) for label in stdin for message in read_stdin_messages()]


def iterate_pairs(
    classes: Mapping[str, Sequence[str | Mailbox]], given: list[tuple[bytes, str]], skipped: list[Skipped]
) -> Iterator[tuple[bytes, str]]:
    """Return messages with their classes: those given, then those of files and folders."""
    yield from given
    named = {label: [path for path in paths if path != "-"] for label, paths in classes.items()}
    named = {label: paths for label, paths in named.items() if paths}
    if named:
        from suffice.mail.mailboxes.streams import interleave_classes

        yield from interleave_classes(named, skipped.append)


def learn_batches(
    chosen: MailFilter,
    classes: Mapping[str, Sequence[str | Mailbox]],
    given: list[tuple[bytes, str]],
    skipped: list[Skipped],
    quiet: bool,
) -> LearnCounts:
    """Learn messages in turns of the classes; on a terminal, show a progress bar."""
    from suffice.mail.mailboxes.streams import total_size

    total = total_size([path for paths in classes.values() for path in paths if path != "-"])
    with show_progress(iterate_pairs(classes, given, skipped), total, quiet=quiet) as pairs:
        return chosen.learn_all(pairs)


@contextmanager
def show_progress(
    pairs: Iterator[tuple[bytes, str]], total: int | None, *, quiet: bool, doing: str = "learning"
) -> Iterator[Iterator[tuple[bytes, str]]]:
    """Yield messages with their classes; on a terminal, show a progress bar of the bytes that were read."""
    if quiet or not sys.stderr.isatty():
        yield pairs
        return
    from suffice.cli.output import progress_bar

    with progress_bar(quiet) as watch:
        yield _advance(pairs, watch, total, doing) if watch is not None else pairs


def _advance(
    pairs: Iterator[tuple[bytes, str]], watch: Any, total: int | None, doing: str
) -> Iterator[tuple[bytes, str]]:
    done = 0
    for data, label in pairs:
        yield data, label
        done += len(data)
        watch(doing, done, max(total, done) if total else None)


def _learn_each(
    chosen: MailFilter,
    classes: Mapping[str, Sequence[str | Mailbox]],
    given: list[tuple[bytes, str]],
    skipped: list[Skipped],
    train: Any,
) -> LearnCounts:
    from suffice.mail import LearnCounts

    counts = LearnCounts()
    for data, label in iterate_pairs(classes, given, skipped):
        counts.add(chosen.learn(data, label, train=train), label)
    return counts


def print_advice(advice: str) -> None:
    """Print what to learn next, if too little was learned, or too much of one class."""
    if advice != "ready":
        print_remark(f"note: the filter is {advice}")


def print_counts(
    counts: LearnCounts, skipped: list[Skipped], as_json: bool, quiet: bool, more: Mapping[str, object] | None = None
) -> None:
    """Print what was learned and skipped, in JSON with ``more``; raise if no mail was found."""
    if as_json:
        write_json(
            {
                "learned": counts.learned,
                "corrected": counts.corrected,
                "known": counts.known,
                "passed": counts.passed,
                "disputed": counts.disputed,
                "classes": counts.classes,
                "skipped": [{"where": each.where, "why": each.why} for each in skipped],
                **(more or {}),
            }
        )
    elif not quiet:
        parts = [f"{count:,} {label}" for label, count in counts.classes.items()]
        sentence = f"learned {', '.join(parts)}" if parts else "learned nothing new"
        for count, what in (
            (counts.corrected, "corrected"),
            (counts.known, "learned before"),
            (counts.passed, "not learned, since the verdict was right"),
            (counts.disputed, "learned, but the verdict does not agree yet: learn more mail like it"),
            (len(skipped), "skipped"),
        ):
            if count:
                sentence += f"; {count:,} {what}"
        sys.stdout.write(sentence + "\n")
        for each in skipped[:_REMARKS]:
            print_remark(f"skipped {each.where}: {each.why}")
        if len(skipped) > _REMARKS:
            sys.stderr.write(f"... and {len(skipped) - _REMARKS:,} more; --json lists all\n")
    if not (counts.learned or counts.corrected or counts.known or counts.passed or counts.disputed):
        why = f": {skipped[0].where}: {skipped[0].why}" if skipped else ""
        raise click.ClickException(f"no mail was found{why}")
