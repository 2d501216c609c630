"""Sorting a mailbox: move spam to its folder, and learn from the messages that the user moved."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple, Protocol, TypeVar

from suffice.mail.features import decode_subject, extract_features
from suffice.mail.filter import MailFilter
from suffice.mail.ledger import MOVING as MOVING
from suffice.mail.ledger import Ledger, Move
from suffice.mail.mailboxes import (
    Entry,
    Message,
    MessageGoneError,
    Skipped,
    SortableMailbox,
    describe_os_error,
)
from suffice.mail.mailboxes.roles import is_neutral
from suffice.mail.message import identify_message

#: Name of the mailbox itself in the ledger.
INBOX = "INBOX"
#: Messages that are judged before they are moved; the ledger is flushed to disk once per batch.
BATCH = 64
_Result = TypeVar("_Result")


class Judge(Protocol):
    """Classifies messages and learns from corrections."""

    def identity(self, data: bytes) -> str:
        """Return an identity that does not depend on headers added at delivery."""

    def verdict(self, data: bytes) -> tuple[str, float]:
        """Return the class of a message, such as spam, ham or unsure, and its probability of spam."""

    def learn(self, data: bytes, label: str) -> bool:
        """Learn a message; return False if it was learned as this class before."""

    def learned_as(self, data: bytes) -> str | None:
        """Return the class that a message was learned as; None if it was not."""


class FilterJudge:
    """A mail filter as the judge of a sorted mailbox.

    Parameters
    ----------
    mail
        The filter.
    anyway
        Whether to return its verdicts even if it has learned too little.
    """

    def __init__(self, mail: MailFilter, *, anyway: bool = False) -> None:
        self._mail, self._anyway = mail, anyway

    def identity(self, data: bytes) -> str:
        """Return an identity that does not depend on headers added at delivery."""
        return identify_message(data).hex()

    def verdict(self, data: bytes) -> tuple[str, float]:
        """Return the class of a message and its probability of spam."""
        verdict = self._mail.judge(extract_features([data]), anyway=self._anyway)[0]
        return verdict.label, verdict.probability

    def learn(self, data: bytes, label: str) -> bool:
        """Learn a correction until the verdict agrees."""
        return self._mail.correct(data, label) != "known"

    def learned_as(self, data: bytes) -> str | None:
        """Return the class that a message was learned as; None if it was not."""
        return self._mail.learned_as(data)


class Moved(NamedTuple):
    """A message that was moved."""

    where: str  # the path before the move
    folder: str
    probability: float  # of spam
    subject: str = ""


class Learned(NamedTuple):
    """A message that was learned because the user moved it."""

    where: str
    label: str


@dataclass
class SortResult:
    """What was done with the messages of a mailbox."""

    moved: list[Moved] = field(default_factory=list)
    kept: int = 0  # judged, and left in the inbox
    learned: list[Learned] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    failed: int = 0  # could not be moved
    declined: bool = False  # the user did not confirm the moves
    gone: int = 0  # moved or deleted by another program during the run


class Folder:
    """The content of a folder compared with the ledger.

    Parameters
    ----------
    name
        Its name in the ledger.
    box
        The folder; None if it does not exist yet.
    ledger
        The ledger.
    label
        The class that is learned from messages that the user moves here; None if nothing is.
    ours
        Whether it is the inbox or a target of sorting, not another folder of the user.
    """

    def __init__(
        self, name: str, box: SortableMailbox | None, ledger: Ledger, label: str | None, ours: bool = True
    ) -> None:
        self.name, self.box, self.label, self.ours = name, box, label, ours
        entries = {entry.key: entry for entry in (box.entries() if box else ()) if entry.key}
        known = ledger.known_files(name)
        #: Whether it did not exist when the run began: it may have been renamed, with the messages in it.
        self.is_missing = box is None
        #: Whether the folder is listed for the first time; the ledger holds an empty key otherwise.
        self.is_first = "" not in known
        #: Its messages by key, without those marked as deleted.
        self.entries = {key: entry for key, entry in entries.items() if "T" not in entry.flags}
        #: Messages whose files the ledger does not know.
        self.unknown = [entry for key, entry in self.entries.items() if key not in known]
        #: Identities of known messages that are still here, by key; and of those that are not.
        self.present = {key: name for key, name in known.items() if name and key in self.entries}
        self.absent = {name for key, name in known.items() if name and key not in self.entries}
        #: Identities of files that no longer exist, by key.
        self.vanished = {key: name for key, name in known.items() if key and key not in entries}

    def copies(self, identity: str) -> list[Entry]:
        """Return the files of a message that exist now, not only when the folder was listed."""
        found = [self.box.find(key) for key, known in self.present.items() if known == identity] if self.box else []
        return [entry for entry in found if entry and "T" not in entry.flags]


def sort_mailbox(
    box: SortableMailbox,
    judge: Judge,
    ledger: Ledger,
    *,
    spam_folder: str = "Junk",
    unsure_folder: str | None = None,
    folders: Mapping[str, str] | None = None,
    dry_run: bool = False,
    learn: bool = True,
    learn_strangers: bool | None = None,
    only_new: bool = False,
    again: bool = False,
    report: Callable[[Moved | Learned | Skipped], None] | None = None,
    confirm: Callable[[list[Moved]], bool] | None = None,
) -> SortResult:
    """Move the spam of an inbox to its folder, and learn from what the user moved since the last run.

    Each message of the inbox is judged once, when the ledger does not know it yet. A message that the user moved from
    the inbox to the spam folder is learned as spam. A message that was in the spam folder before this run and is now in
    the inbox, or in any other folder except Trash and the like, is learned as ham and never moved again. A message that
    is delivered again is judged again. A copy, equal byte for byte and seen, is left where it is; it counts as moved
    once the original is deleted. Messages marked as deleted are ignored.

    The run can be killed at any time: intended moves are written to the ledger first, so that the next run completes
    them and does not mistake them for moves of the user.

    Parameters
    ----------
    box
        The inbox.
    judge
        The filter.
    ledger
        The ledger of this mailbox.
    spam_folder, unsure_folder
        Target folders of spam and of unsure messages, created on demand. If ``unsure_folder`` is None, unsure messages
        stay in the inbox.
    folders
        Target folders of other classes, by class. A message that the user moves there is learned as that class.
    dry_run
        Whether to report only what would be done. Nothing is moved, learned or created.
    learn
        Whether to learn from what the user moved. If not, a later run does.
    learn_strangers
        Whether to learn messages of the target folders that were never in the inbox, because another filter or a rule
        put them there. None learns those that appear after the first run: earlier ones may be unchecked, and many times
        the mail that was learned on purpose.
    only_new
        Whether to judge only messages that no mail program has seen yet.
    again
        Whether to judge also the messages of the inbox that an earlier run judged, except those that were learned as
        ham.
    report
        Called with each message that is moved, learned or skipped.
    confirm
        Called once, before the first move, with all moves; if it returns False or raises, nothing is moved, learned or
        recorded: the next run judges all messages again. If None, messages are moved as they are judged.
    """
    others = dict(folders or {})
    places = {"spam": spam_folder, **({"unsure": unsure_folder} if unsure_folder else {}), **others}
    if clash := {"spam", "unsure", "ham"} & set(others):
        raise ValueError(f"folders are for classes other than spam, unsure and ham; got {clash.pop()!r}")
    names = {label: box.folder_name(place) for label, place in places.items()}
    if INBOX in names.values() or len(set(names.values())) < len(names):
        raise ValueError(f"each class needs a folder of its own, other than the inbox; got {places}")
    return _Run(box, judge, ledger, dry_run, learn, learn_strangers, only_new, again, report, confirm).run(
        places, names
    )


class _JudgeError(Exception):
    """The judge raised an exception for a message."""


class _Pending(NamedTuple):
    """A judged message that is to be moved."""

    entry: Entry
    identity: str
    folder: Folder
    probability: float
    subject: str

    def describe(self) -> Moved:
        return Moved(self.entry.path, self.folder.name, self.probability, self.subject)


@dataclass
class _Run:
    box: SortableMailbox
    judge: Judge
    ledger: Ledger
    dry_run: bool
    learning: bool
    learn_strangers: bool | None
    only_new: bool
    again: bool
    report: Callable[[Moved | Learned | Skipped], None] | None
    confirm: Callable[[list[Moved]], bool] | None
    result: SortResult = field(default_factory=SortResult)
    pending: list[_Pending] = field(default_factory=list)
    delayed: list[Callable[[], object]] | None = None  # changes that wait for the confirmation, while it is awaited
    examined: set[str] = field(default_factory=set)  # identities of messages whose files the ledger did not know
    moved: set[str] = field(default_factory=set)  # identities of messages that this run moved

    def run(self, places: Mapping[str, str], names: Mapping[str, str]) -> SortResult:
        # The inbox is listed first: a message that is moved back to it now is in neither listing, and left to the
        # next run.
        self.inbox = Folder(INBOX, self.box, self.ledger, "ham")
        if self.again:
            self.inbox.unknown = list(self.inbox.entries.values())
        if self.confirm is not None and not self.dry_run:
            self.delayed = []
        self.places = places
        self.targets = {
            label: Folder(names[label], self._open_target(place), self.ledger, None if label == "unsure" else label)
            for label, place in places.items()
        }
        ours = [self.inbox, *self.targets.values()]
        self.all = {folder.name: folder for folder in (*ours, *self._other_folders(names.values()))}
        for folder in self.all.values():
            for skipped in folder.box.skipped if folder.box else ():
                self._skip(*skipped)
            if not folder.ours and self.inbox.is_first:
                self._record_unread(folder)
                continue
            if folder.box:
                folder.box.prefetch(folder.unknown)
            for entry in folder.unknown:
                self._examine(folder, entry)
                if len(self.pending) == BATCH and self.confirm is None:
                    self._move_pending()
        if self.delayed is not None:
            if self.pending and self.confirm and not self.confirm([each.describe() for each in self.pending]):
                self.result.declined = True
                return self.result
            changes, self.delayed = self.delayed, None
            for change in changes:
                change()
        while self.pending:
            self._move_pending()
        self._trace_vanished()
        if not self.dry_run:
            for folder in self.all.values():
                self.ledger.remove_files(folder.name, folder.vanished)
                if folder.is_first:
                    self.ledger.add_file(folder.name, "", "")
            self.ledger.flush()
        return self.result

    def _change(self, change: Callable[[], object]) -> None:
        """Change the ledger: now, after the confirmation, or not at all in a dry run."""
        if self.dry_run:
            return
        if self.delayed is not None:
            self.delayed.append(change)
        else:
            change()

    def _open_target(self, place: str) -> SortableMailbox | None:
        try:
            return self.box.folder(place, create=False)
        except FileNotFoundError:
            return None

    def _other_folders(self, ours: Collection[str]) -> Iterator[Folder]:
        """Return the user's other folders, where a message that was moved out of the spam folder may be."""
        for name, location in self.box.folders(self.places.values()).items():
            if name not in ours and not is_neutral(name):
                try:
                    yield Folder(name, self.box.at(location), self.ledger, None, ours=False)
                except (OSError, ValueError) as error:  # the other folders are sorted all the same
                    self._skip(location, describe_os_error(error) if isinstance(error, OSError) else str(error))

    def _record_unread(self, folder: Folder) -> None:
        """Record the messages of a user's folder before the first move: none of them can come from the spam folder."""
        for entry in folder.unknown:
            self._change(partial(self.ledger.add_file, folder.name, entry.key, ""))

    def _trace_vanished(self) -> None:
        """Find messages that left their folder and appear in no other: either a copy exists, or they are deleted."""
        copies = {
            identity: (folder, folder.entries[key])
            for folder in reversed(self.all.values())
            for key, identity in folder.present.items()
        }
        for folder in self.all.values():
            for identity in set(folder.vanished.values()) - {"", *folder.present.values()}:
                if identity in self.examined or self.ledger.folder_of(identity) != folder.name:
                    continue
                if identity in copies:
                    self._examine(*copies[identity])
                elif self._has_new_mail():
                    # It may have been moved to the inbox after that was listed: the next run finds out.
                    folder.vanished = {key: name for key, name in folder.vanished.items() if name != identity}
                elif not self.dry_run:
                    self.ledger.set_folder(identity, "")  # if it is delivered again, it is new

    def _has_new_mail(self) -> bool:
        """Return whether mail has arrived in the inbox since it was listed."""
        return any("T" not in entry.flags and entry.key not in self.inbox.entries for entry in self.box.entries())

    def _examine(self, folder: Folder, entry: Entry) -> None:
        """Find out how a message came to its folder, and act on it."""
        assert folder.box is not None  # it has entries
        try:
            message = folder.box.read(entry)
            if isinstance(message, Skipped):
                self._skip(*message)
            else:
                self._compare(folder, entry, self._call_judge(self.judge.identity, message.data), message.data)
        except MessageGoneError:
            self.result.gone += 1
        except OSError as error:
            self._skip(entry.path, describe_os_error(error))
        except _JudgeError as error:
            self._skip(entry.path, str(error))

    def _compare(self, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        """Compare a message's folder with the one in the ledger."""
        self.examined.add(identity)
        recorded = self.ledger.folder_of(identity) or ""
        before = recorded.removeprefix(MOVING)
        if not before:
            self._handle_unknown(folder, entry, identity, data)
        elif before == folder.name:
            if self.again and folder is self.inbox and not self._is_ham(entry, identity, data):
                self._judge(entry, identity, data)
            else:
                self._record(folder, entry, identity)  # as recorded, possibly after an interrupted move
        elif recorded.startswith(MOVING):
            if folder is not self.inbox:
                self._record(folder, entry, identity)  # the user moved it first
            elif not self._finish_move(before, entry):
                self._judge(entry, identity, data)
        elif identity not in self.moved and self._has_left(before, identity):
            self._learn_move(before, folder, entry, identity, data)
        elif folder is self.inbox and not self._is_copy(before, entry, identity, data):
            self._judge(entry, identity, data)  # the same message, delivered again
        else:
            self._change(partial(self.ledger.add_file, folder.name, entry.key, identity))

    def _handle_unknown(self, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        """Act on a message that is not in the ledger."""
        if folder is self.inbox:
            if (self.only_new and not entry.new) or self._is_checked(entry, identity):
                self._record(folder, entry, identity)
            else:
                self._judge(entry, identity, data)
        elif not folder.ours:
            self._change(partial(self.ledger.add_file, folder.name, entry.key, identity))
        else:
            learn = not folder.is_first if self.learn_strangers is None else self.learn_strangers
            if self.ledger.was_marked(identity) and folder.label == "spam":
                learn = False  # a rule moved it here because of our own mark
            if folder.name in self.ledger.folders_elsewhere(identity):
                learn = False  # a run for another mailbox moved it here, or has learned it
            if not learn or self._learn(folder, entry, data, folder.label):
                self._record(folder, entry, identity)

    def _is_checked(self, entry: Entry, identity: str) -> bool:
        """Return whether the user saw a message that was marked or moved as spam, and left it here or moved it back."""
        return not entry.new and bool(
            self.ledger.was_marked(identity) or self.ledger.folders_elsewhere(identity) - {INBOX}
        )

    def _is_ham(self, entry: Entry, identity: str, data: bytes) -> bool:
        """Return whether the user knows a message of the inbox as ham: it stays, even if all are judged again."""
        return self._is_checked(entry, identity) or self._call_judge(self.judge.learned_as, data) == "ham"

    def _learn_move(self, before: str, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        """Learn from a message that the user moved."""
        label = folder.label
        is_source_missing = before in self.all and self.all[before].is_missing
        is_from_elsewhere = folder is self.inbox and before not in {each.name for each in self.targets.values()}
        if is_source_missing or is_from_elsewhere:
            label = None
        elif not folder.ours:
            suspect = (self.targets.get("spam"), self.targets.get("unsure"))
            label = "ham" if before in {target.name for target in suspect if target} else None
        if self._learn(folder, entry, data, label):
            self._record(folder, entry, identity)

    def _judge(self, entry: Entry, identity: str, data: bytes) -> None:
        """Judge a message of the inbox."""
        label, probability = self._call_judge(self.judge.verdict, data)
        target = self.targets.get(label)
        if target is None:
            self._record(self.inbox, entry, identity)
            self.result.kept += 1
        else:
            self.pending.append(_Pending(entry, identity, target, probability, decode_subject(data)))

    def _move_pending(self) -> None:
        """Move a batch of pending messages: write the intent to the ledger, move them, record the result."""
        batch, self.pending = self.pending[:BATCH], self.pending[BATCH:]
        if not self.dry_run:
            self.ledger.begin_moves([self._describe_move(each) for each in batch])
            self.ledger.flush()
        moved: list[tuple[_Pending, Entry]] = []
        for folder in dict.fromkeys(each.folder for each in batch):
            some = [each for each in batch if each.folder is folder]
            found = self._move(some, folder)
            for each in some:
                outcome = found[each.entry.key]
                if isinstance(outcome, MessageGoneError):
                    self.result.gone += 1
                elif isinstance(outcome, OSError):
                    self.result.failed += 1
                    self._skip(each.entry.path, describe_os_error(outcome))
                else:
                    moved.append((each, outcome))
        if moved and not self.dry_run:  # before the ledger: after a loss of power, an undone move would look like the
            # user's
            for box in {folder.box for folder in (self.inbox, *self.targets.values()) if folder.box}:
                box.sync()
        for each, entry in moved:
            self.moved.add(each.identity)
            if self.inbox.present.pop(each.entry.key, None):  # judged again
                self.inbox.vanished[each.entry.key] = each.identity
            if not self.dry_run:
                self.ledger.end_move(self._describe_move(each)._replace(moved=entry.key))
            self.result.moved.append(each.describe())
            self._report(self.result.moved[-1])

    def _describe_move(self, pending: _Pending) -> Move:
        return Move(pending.identity, INBOX, pending.entry.key, pending.folder.name)

    def _move(self, pending: list[_Pending], folder: Folder) -> dict[str, Entry | OSError]:
        entries = [each.entry for each in pending]
        place = next(place for label, place in self.places.items() if self.targets[label] is folder)
        try:
            if self.dry_run:
                self.box.check_moves(place)
                return {entry.key: entry for entry in entries}
            if folder.box is None:
                folder.box = self.box.folder(place)
            return self.box.move_all(entries, folder.box)
        except OSError as error:
            return dict.fromkeys((entry.key for entry in entries), error)

    def _finish_move(self, target: str, entry: Entry) -> bool:
        """Complete an interrupted move if the target folder holds the message already."""
        return target in self.all and not self.dry_run and self.box.finish_move(entry, self.all[target].entries)

    def _has_left(self, folder: str, identity: str) -> bool:
        """Return whether a message, or one of its copies, is no longer in a folder."""
        before = self.all.get(folder)
        return before is None or identity in before.absent or not before.copies(identity)

    def _is_copy(self, folder: str, entry: Entry, identity: str, data: bytes) -> bool:
        """Return whether a mail program copied a message of that folder; a new message was delivered."""
        if entry.new or identity in self.moved:
            return False
        source = self.all[folder]
        messages = [source.box.read(copy) for copy in source.copies(identity) if source.box]
        return any(message.data == data for message in messages if isinstance(message, Message))

    def _learn(self, folder: Folder, entry: Entry, data: bytes, label: str | None) -> bool:
        """Learn a message unless the label is None; return whether the message need not be examined again."""
        if label is None:
            return True
        if not self.learning:
            return False
        if self.delayed is not None:
            self.delayed.append(partial(self._examine, folder, entry))  # it is read again: many may wait
            return False
        if self._would_learn(data, label) if self.dry_run else self._call_judge(self.judge.learn, data, label):
            self.result.learned.append(Learned(entry.path, label))
            self._report(self.result.learned[-1])
        return True

    def _would_learn(self, data: bytes, label: str) -> bool:
        """Return whether the judge does not know that a message is of this class, or judges otherwise."""
        known = self._call_judge(self.judge.learned_as, data)
        return known != label or self._call_judge(self.judge.verdict, data)[0] != label

    def _record(self, folder: Folder, entry: Entry, identity: str) -> None:
        folder.present[entry.key] = identity
        self._change(partial(self.ledger.set_folder, identity, folder.name))
        self._change(partial(self.ledger.add_file, folder.name, entry.key, identity))

    def _skip(self, where: str, why: str) -> None:
        self.result.skipped.append(Skipped(where, why))
        self._report(self.result.skipped[-1])

    def _report(self, event: Moved | Learned | Skipped) -> None:
        if self.report is not None:
            self.report(event)

    def _call_judge(self, method: Callable[..., _Result], *arguments: object) -> _Result:
        """Call the judge; an exception concerns one message, and the others are sorted."""
        try:
            return method(*arguments)
        except Exception as error:
            raise _JudgeError(f"{type(error).__name__}: {error}") from error
