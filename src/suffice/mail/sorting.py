"""Sorting a Maildir with a filter, and learning from where its reader moves messages."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar

from suffice.mail.boxes import Letter, Skipped
from suffice.mail.filing import INBOX, MOVING, Folder, Judge, Learned, Ledger, Moved, Sorted
from suffice.mail.gathering import complaint
from suffice.mail.maildir import Entry, Gone, Maildir, key_elsewhere

__all__ = ["INBOX", "MOVING", "Judge", "Learned", "Ledger", "Moved", "Sorted", "sort"]

#: So many messages are judged before they are moved: the ledger is made safe on disk once for all of them.
BATCH = 64
#: Folders that say nothing about the messages moved there.
_ASIDE = re.compile(
    r"(.*\.)?(trash|bin|deleted( items| messages)?|sent( items| messages| mail)?|outbox|drafts?|templates|spam|"
    r"junk( mail| e-mail)?|bulk( mail)?|unsure)(\..*)?",
    re.IGNORECASE,
)


_Answer = TypeVar("_Answer")


class _RefusedError(Exception):
    """The judge raised at a message."""


class _Arrival(NamedTuple):
    entry: Entry
    identity: str
    folder: Folder
    probability: float


def sort(
    box: Maildir,
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
    report: Callable[[Moved | Learned | Skipped], None] | None = None,
) -> Sorted:
    """Move the spam of a Maildir to a folder of its own, and learn from what the reader moved since the last time.

    Messages in the inbox that the ledger does not know are judged, once. What the reader moves from the inbox to the
    spam folder is learned as spam; what comes back from there, to the inbox or to any other folder but Trash and the
    like, is learned as ham and never moved again: what lay in the spam folder before this run, and is gone from
    there. A message that is delivered again is judged again; one that the reader's program copies there, byte for byte
    and seen, stays and teaches nothing until the other one is deleted, as it is when a program moves by copying.
    Messages marked as deleted are left alone.

    It may be killed at any time: what was to be moved is written to the ledger first, so that the next run finishes
    the job and takes none of it for the reader's doing.

    Parameters
    ----------
    box
        The Maildir.
    judge
        The filter.
    ledger
        What is known about this Maildir's messages.
    spam_folder, unsure_folder
        Where spam, and what may be spam, is moved to; None leaves the unsure in the inbox. They are made when needed.
    folders
        Where messages of other classes are moved to, by class. What the reader moves there is learned as that class.
    dry_run
        Whether to say only what would be done. Nothing is changed, learned or made.
    learn
        Whether to learn from what the reader moved. If not, a later run will.
    learn_strangers
        Whether messages in the spam folder (or a class's) that never were in the inbox are learned: another filter, or
        a rule, put them there. None learns those that come after the first run only: nobody may have looked at what
        lies there from before, and it may be many times the mail that was learned on purpose.
    only_new
        Whether only messages are judged that no mail program has seen yet.
    report
        Called with each message that is moved, learned or skipped.
    """
    others = dict(folders or {})
    places = {"spam": spam_folder, **({"unsure": unsure_folder} if unsure_folder else {}), **others}
    if clash := {"spam", "unsure", "ham"} & set(others):
        raise ValueError(f"folders of classes are for others than {clash.pop()!r}, which have a folder of their own")
    names = {label: box.name_of(box.locate(place)) for label, place in places.items()}
    if INBOX in names.values() or len(set(names.values())) < len(names):
        raise ValueError(f"each class needs a folder of its own, other than the inbox; got {places}")
    sorting = _Sorting(box, judge, ledger, dry_run, learn, learn_strangers, only_new, report)
    return sorting.run(places, names)


@dataclass
class _Sorting:
    box: Maildir
    judge: Judge
    ledger: Ledger
    dry_run: bool
    learning: bool
    learn_strangers: bool | None
    only_new: bool
    report: Callable[[Moved | Learned | Skipped], None] | None
    done: Sorted = field(default_factory=Sorted)
    waiting: list[_Arrival] = field(default_factory=list)
    met: set[str] = field(default_factory=set)  # the identities of files that were not settled
    moved: set[str] = field(default_factory=set)  # the identities of messages that this run moved

    def run(self, places: Mapping[str, str], names: Mapping[str, str]) -> Sorted:
        # The inbox is listed first: what is brought back to it meanwhile is seen in neither place, and found next time.
        self.inbox = Folder(INBOX, self.box, self.ledger, "ham")
        self.places = places
        self.targets = {
            label: Folder(names[label], self._there(place), self.ledger, None if label == "unsure" else label)
            for label, place in places.items()
        }
        ours = [self.inbox, *self.targets.values()]
        self.all = {folder.name: folder for folder in (*ours, *self._elsewhere(names.values()))}
        for folder in self.all.values():
            for trouble in folder.box.skipped if folder.box else ():
                self._skip(*trouble)
            if not folder.ours and self.inbox.first:
                self._settle_unread(folder)
                continue
            for entry in folder.fresh:
                self._look(folder, entry)
                if len(self.waiting) == BATCH:
                    self._send()
        self._send()
        self._follow_vanished()
        if not self.dry_run:
            for folder in self.all.values():
                self.ledger.unsettle(folder.name, folder.vanished)
                if folder.first:
                    self.ledger.settle(folder.name, "", "")
            self.ledger.flush()
        return self.done

    def _there(self, place: str) -> Maildir | None:
        try:
            return self.box.folder(place, create=False)
        except FileNotFoundError:
            return None

    def _elsewhere(self, ours: Collection[str]) -> Iterator[Folder]:
        """Return the reader's own folders: those in the Maildir, and beside it where the spam folder is."""
        found = self.box.folders()
        if any(self.box.locate(place).parent == self.box.path.parent for place in self.places.values()):
            found |= self.box.folders(beside=True)
        for name, place in found.items():
            if name not in ours and not _ASIDE.fullmatch(place.name.removeprefix(".")):
                try:
                    yield Folder(name, Maildir(place), self.ledger, None, ours=False)
                except (OSError, ValueError) as error:  # it is not what is sorted: the rest does not wait for it
                    self._skip(str(place), complaint(error) if isinstance(error, OSError) else str(error))

    def _settle_unread(self, folder: Folder) -> None:
        """Settle what lies in the reader's own folders before anything was ever moved: none of it can be a rescue."""
        if not self.dry_run:
            for entry in folder.fresh:
                self.ledger.settle(folder.name, entry.key, "")

    def _follow_vanished(self) -> None:
        """Follow what is not where it was, and came nowhere: to a copy made of it before, or to its end."""
        copies = {
            identity: (folder, folder.entries[key])
            for folder in reversed(self.all.values())
            for key, identity in folder.here.items()
        }
        for folder in self.all.values():
            for identity in set(folder.vanished.values()) - {"", *folder.here.values()}:
                if identity in self.met or self.ledger.filed(identity) != folder.name:
                    continue
                if identity in copies:
                    self._look(*copies[identity])
                elif not self.dry_run:
                    self.ledger.file(identity, "")  # when it is delivered again, it is new, and no rescue

    def _look(self, folder: Folder, entry: Entry) -> None:
        """Find out how a message came to lie where it does, and do what follows from it."""
        assert folder.box is not None  # it has entries
        try:
            letter = folder.box.read(entry)
            if isinstance(letter, Skipped):
                self._skip(*letter)
            else:
                self._follow(folder, entry, self._ask(self.judge.identity, letter.data), letter.data)
        except Gone:
            self.done.gone += 1
        except OSError as error:
            self._skip(entry.path, complaint(error))
        except _RefusedError as error:
            self._skip(entry.path, str(error))

    def _follow(self, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        self.met.add(identity)
        filed = self.ledger.filed(identity) or ""
        before = filed.removeprefix(MOVING)
        if not before:
            self._meet(folder, entry, identity, data)
        elif before == folder.name:
            self._note(folder, entry, identity)  # where it should be, also after a move that was cut short
        elif filed.startswith(MOVING):
            if folder is not self.inbox:
                self._note(folder, entry, identity)  # the reader was faster
            elif not self._finished(before, entry):
                self._arrive(entry, identity, data)
        elif identity not in self.moved and self._lost(before, identity):
            self._moved_by_reader(before, folder, entry, identity, data)
        elif folder is self.inbox and not self._copied(before, entry, identity, data):
            self._arrive(entry, identity, data)  # the same message, delivered once more
        elif not self.dry_run:
            self.ledger.settle(folder.name, entry.key, identity)

    def _meet(self, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        """See a message for the first time."""
        if folder is self.inbox:
            # What was marked as spam and lies among the seen was left there, or brought back: it stays.
            if not entry.new and (self.only_new or self.ledger.marked(identity)):
                self._note(folder, entry, identity)
            else:
                self._arrive(entry, identity, data)
        elif not folder.ours:
            if not self.dry_run:
                self.ledger.settle(folder.name, entry.key, identity)
        else:
            learn = not folder.first if self.learn_strangers is None else self.learn_strangers
            if self.ledger.marked(identity) and folder.label == "spam":
                learn = False  # a rule put it here, by our own mark
            if not learn or self._learn(entry, data, folder.label):
                self._note(folder, entry, identity)

    def _moved_by_reader(self, before: str, folder: Folder, entry: Entry, identity: str, data: bytes) -> None:
        label = folder.label
        if folder is self.inbox and before not in {target.name for target in self.targets.values()}:
            label = None
        elif not folder.ours:
            doubted = (self.targets.get("spam"), self.targets.get("unsure"))
            label = "ham" if before in {target.name for target in doubted if target} else None
        if self._learn(entry, data, label):
            self._note(folder, entry, identity)

    def _arrive(self, entry: Entry, identity: str, data: bytes) -> None:
        """Judge a message in the inbox."""
        label, probability = self._ask(self.judge.verdict, data)
        target = self.targets.get(label)
        if target is None:
            self._note(self.inbox, entry, identity)
            self.done.kept += 1
        else:
            self.waiting.append(_Arrival(entry, identity, target, probability))

    def _send(self) -> None:
        """Move the messages that wait: say so in the ledger, move them, and say that it is done."""
        moved: list[tuple[_Arrival, Entry]] = []
        if not self.dry_run:
            for arrival in self.waiting:
                self.ledger.file(arrival.identity, MOVING + arrival.folder.name)
            self.ledger.flush()
        for arrival in self.waiting:
            try:
                moved.append((arrival, self._move(arrival)))
            except Gone:
                self.done.gone += 1
            except OSError as error:
                self.done.failed += 1
                self._skip(arrival.entry.path, complaint(error))
        self.waiting.clear()
        if moved and not self.dry_run:  # on disk before the ledger says so: else a loss of power looks like a rescue
            for place in {folder.box for folder in (self.inbox, *self.targets.values()) if folder.box}:
                place.sync()
        for arrival, entry in moved:
            self.moved.add(arrival.identity)
            self._note(arrival.folder, entry, arrival.identity)
            self.done.moved.append(Moved(arrival.entry.path, arrival.folder.name, arrival.probability))
            self._tell(self.done.moved[-1])

    def _move(self, arrival: _Arrival) -> Entry:
        if self.dry_run:
            return arrival.entry
        if arrival.folder.box is None:
            place = next(place for label, place in self.places.items() if self.targets[label] is arrival.folder)
            arrival.folder.box = self.box.folder(place)
        return self.box.move(arrival.entry, arrival.folder.box)

    def _finished(self, target: str, entry: Entry) -> bool:
        """Finish a move between file systems that was cut short, if this one was: the message is there already."""
        there = self.all[target].entries.get(key_elsewhere(entry.key)) if target in self.all else None
        return there is not None and not self.dry_run and self.box.finish(entry, there)

    def _lost(self, folder: str, identity: str) -> bool:
        """Return whether a message that was in a folder is not there any more, or one of several is not."""
        there = self.all.get(folder)
        return there is None or identity in there.left or not there.copies(identity)

    def _copied(self, folder: str, entry: Entry, identity: str, data: bytes) -> bool:
        """Return whether the reader's program copied a message that is in that folder; what is new was delivered."""
        if entry.new or identity in self.moved:
            return False
        there = self.all[folder]
        letters = [there.box.read(copy) for copy in there.copies(identity) if there.box]
        return any(letter.data == data for letter in letters if isinstance(letter, Letter))

    def _learn(self, entry: Entry, data: bytes, label: str | None) -> bool:
        """Learn a message, if there is something to learn; return whether that is settled."""
        if label is None:
            return True
        if not self.learning:
            return False
        if self.dry_run or self._ask(self.judge.learn, data, label):
            self.done.learned.append(Learned(entry.path, label))
            self._tell(self.done.learned[-1])
        return True

    def _note(self, folder: Folder, entry: Entry, identity: str) -> None:
        if not self.dry_run:
            self.ledger.file(identity, folder.name)
            self.ledger.settle(folder.name, entry.key, identity)

    def _skip(self, where: str, why: str) -> None:
        self.done.skipped.append(Skipped(where, why))
        self._tell(self.done.skipped[-1])

    def _tell(self, what: Moved | Learned | Skipped) -> None:
        if self.report is not None:
            self.report(what)

    def _ask(self, question: Callable[..., _Answer], *given: object) -> _Answer:
        """Ask the judge; whatever it finds wrong with one message, the others are sorted."""
        try:
            return question(*given)
        except Exception as error:
            raise _RefusedError(f"{type(error).__name__}: {error}") from error
