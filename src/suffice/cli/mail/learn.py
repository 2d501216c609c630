"""suffice mail learn, correct, forget: what messages are, said by a person."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from suffice.cli.mail.options import (
    filter_options,
    given_messages,
    json_option,
    messages,
    opened,
    place_option,
    quiet_option,
    remark,
    which_option,
    write_json,
)

if TYPE_CHECKING:
    from suffice.mail import MailFilter, Tally
    from suffice.mail.boxes import Skipped

#: What was skipped is said so many times.
_SAID = 10


class Many(click.Command):
    """A command whose options --spam, --ham and --class take all that follows up to the next option."""

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        """Give each path an option of its own; without any, standard input is meant."""
        valued = {
            name for each in self.params if isinstance(each, click.Option) and not each.is_flag for name in each.opts
        }
        lists = any(isinstance(each, click.Argument) for each in self.params)
        given: list[str] = []
        left = list(args)
        while left:
            word = left.pop(0)
            if word in ("--spam", "--ham", "--class"):
                prefix = [word] + ([left.pop(0)] if word == "--class" and left else [])
                for path in _paths(left) or ["-"]:
                    given += [*prefix, path]
            elif word in valued and left:
                given += [word, left.pop(0)]
            elif word.startswith("-") or lists:
                given.append(word)
            else:
                raise click.UsageError(f"say what {word} is: --spam {word} or --ham {word}", context)
        return super().parse_args(context, given)


def _paths(left: list[str]) -> list[str]:
    """Take the paths that come next from a list of words: up to the next option, or all after --."""
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
    """Add what says of which class mail is."""
    for option in (
        click.option(
            "--class", "others", multiple=True, nargs=2, metavar="NAME MAIL...", help="Mail of a class of yours."
        ),
        click.option("--ham", multiple=True, type=click.Path(), metavar="MAIL...", help="Mail that is not spam."),
        click.option("--spam", multiple=True, type=click.Path(), metavar="MAIL...", help="Mail that is spam."),
    ):
        command = option(command)
    return command


def classes_of(
    spam: tuple[str, ...], ham: tuple[str, ...], others: tuple[tuple[str, str], ...]
) -> dict[str, list[str]]:
    """Return the files and folders of each class."""
    classes: dict[str, list[str]] = {}
    for label, path in (*(("spam", path) for path in spam), *(("ham", path) for path in ham), *others):
        classes.setdefault(label, []).append(path)
    if not classes:
        raise click.UsageError("say what the mail is: --spam MAIL, --ham MAIL or --class NAME MAIL")
    if sum(path == "-" for paths in classes.values() for path in paths) > 1:
        raise click.UsageError("standard input has one class: give the others as files")
    _check_apart(classes)
    return classes


def _check_apart(classes: dict[str, list[str]]) -> None:
    """Raise where the same file or folder is named for two classes."""
    import os

    named: dict[str, tuple[str, str]] = {}
    for label, paths in classes.items():
        for path in paths:
            place = path if path == "-" else os.path.realpath(path)
            other, written = named.setdefault(place, (label, path))
            if other != label:
                raise click.UsageError(f"{path} is given as {label} and, as {written}, as {other}: it has one class")


@click.command("learn", cls=Many)
@class_options
@filter_options
@which_option
@json_option
@quiet_option
def learn_command(
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    place: str | None,
    shared: tuple[str, ...],
    train: Any,
    as_json: bool,
    quiet: bool,
) -> None:
    """Learn from mail. What was learned before is not learned twice, so a stopped run can be run again.

    \b
    suffice mail learn --spam Junk/ --ham Inbox/ Archive.mbox.gz
    suffice mail learn --class work Work/ --spam Junk/ --ham Inbox/
    suffice mail learn --spam < message
    """  # noqa: D301
    classes = classes_of(spam, ham, others)
    skipped: list[Skipped] = []
    with opened(place, shared) as chosen:
        given = _given(classes)
        is_one = len(given) == 1 and all(paths == ["-"] for paths in classes.values())
        if train == "all" and not is_one:
            tally = _learn_heaps(chosen, classes, given, skipped, quiet or as_json)
        else:
            tally = _learn_each(chosen, classes, given, skipped, train)
    _report(tally, skipped, as_json, quiet)


def _given(classes: dict[str, list[str]]) -> list[tuple[bytes, str]]:
    """Return the messages on standard input, where it is meant."""
    return [(letter.data, label) for label, paths in classes.items() if "-" in paths for letter in given_messages()]


def _pairs(
    classes: dict[str, list[str]], given: list[tuple[bytes, str]], skipped: list[Skipped]
) -> Iterator[tuple[bytes, str]]:
    from suffice.mail.heaps import mixed

    yield from given
    named = {label: [path for path in paths if path != "-"] for label, paths in classes.items()}
    yield from mixed({label: paths for label, paths in named.items() if paths}, skipped.append)


def _learn_heaps(
    chosen: MailFilter,
    classes: dict[str, list[str]],
    given: list[tuple[bytes, str]],
    skipped: list[Skipped],
    quiet: bool,
) -> Tally:
    from suffice.mail.boxes import count

    total = count([path for paths in classes.values() for path in paths if path != "-"])
    with watched(_pairs(classes, given, skipped), list(classes), total, quiet=quiet) as (pairs, _):
        return chosen.learn_all(pairs)


@contextmanager
def watched(
    pairs: Iterator[tuple[bytes, str]], classes: list[str], total: int | None, *, quiet: bool, doing: str = "learning"
) -> Iterator[tuple[Iterator[tuple[bytes, str]], list[str]]]:
    """Yield messages and classes, with a bar that says how many of all bytes were read, on a terminal alone."""
    if quiet or not sys.stderr.isatty():
        yield pairs, classes
        return
    from suffice.cli.output import watching

    with watching(quiet) as watch:
        yield (_told(pairs, watch, total, doing) if watch is not None else pairs), classes


def _told(pairs: Iterator[tuple[bytes, str]], watch: Any, total: int | None, doing: str) -> Iterator[tuple[bytes, str]]:
    done = 0
    for data, label in pairs:
        yield data, label
        done += len(data)
        watch(doing, done, max(total, done) if total else None)


def _learn_each(
    chosen: MailFilter,
    classes: dict[str, list[str]],
    given: list[tuple[bytes, str]],
    skipped: list[Skipped],
    train: Any,
) -> Tally:
    from suffice.mail import Tally

    tally = Tally()
    for data, label in _pairs(classes, given, skipped):
        tally.add(chosen.learn(data, label, train=train), label)
    return tally


def _report(tally: Tally, skipped: list[Skipped], as_json: bool, quiet: bool) -> None:
    if as_json:
        write_json(
            {
                "learned": tally.learned,
                "corrected": tally.corrected,
                "known": tally.known,
                "passed": tally.passed,
                "disputed": tally.disputed,
                "classes": tally.classes,
                "skipped": [{"where": each.where, "why": each.why} for each in skipped],
            }
        )
    elif not quiet:
        parts = [f"{count:,} {label}" for label, count in tally.classes.items()]
        sentence = f"learned {', '.join(parts)}" if parts else "learned nothing new"
        for count, what in (
            (tally.corrected, "corrected"),
            (tally.known, "known already"),
            (tally.passed, "passed, since the filter was right"),
            (tally.disputed, "learned, though the filter does not agree yet: learn more mail like it"),
            (len(skipped), "skipped"),
        ):
            if count:
                sentence += f"; {count:,} {what}"
        sys.stdout.write(sentence + "\n")
        for each in skipped[:_SAID]:
            remark(f"skipped {each.where}: {each.why}")
        if len(skipped) > _SAID:
            sys.stderr.write(f"... and {len(skipped) - _SAID:,} more; --json lists all\n")
    if not (tally.learned or tally.corrected or tally.known or tally.passed or tally.disputed):
        why = f": {skipped[0].where}: {skipped[0].why}" if skipped else ""
        raise click.ClickException(f"no mail was found{why}")


@click.command("correct", cls=Many)
@class_options
@filter_options
@json_option
@quiet_option
def correct_command(
    spam: tuple[str, ...],
    ham: tuple[str, ...],
    others: tuple[tuple[str, str], ...],
    place: str | None,
    shared: tuple[str, ...],
    as_json: bool,
    quiet: bool,
) -> None:
    """Say what messages really are. What was learned otherwise is taken back; the filter is taught until it agrees.

    \b
    suffice mail correct --ham < message
    """  # noqa: D301
    from suffice.mail import Tally

    skipped: list[Skipped] = []
    tally = Tally()
    classes = classes_of(spam, ham, others)
    with opened(place, shared) as chosen:
        for data, label in _pairs(classes, _given(classes), skipped):
            tally.add(chosen.correct(data, label), label)
    _report(tally, skipped, as_json, quiet)


@click.command("forget")
@click.argument("mail", nargs=-1, type=click.Path(), metavar="[MAIL]...")
@place_option
@json_option
@quiet_option
def forget_command(mail: tuple[str, ...], place: str | None, as_json: bool, quiet: bool) -> None:
    """Take messages back that were learned: counts are then as if they had never been there.

    Words that no other message has go from the file. What was learned from the messages about words that others have,
    too, cannot be taken back.
    """
    with opened(place) as chosen:
        found = chosen.forget_all(data for _, data in messages(mail))
    if not found:
        raise click.ClickException("no mail was found")
    if as_json:
        write_json({"forgotten": sum(found), "unknown": len(found) - sum(found)})
    elif not quiet:
        sys.stdout.write(f"forgot {sum(found):,}; {len(found) - sum(found):,} had not been learned\n")
        if any(found):
            remark(
                "note: weights of words that other messages have, too, stay as they are; only learning anew undoes them"
            )
