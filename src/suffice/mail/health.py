"""Is a filter ready to act, and is its file sound? Training that does nothing must not go unnoticed."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path
from typing import Any, Literal

from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.schema import FEATURES
from suffice.mail.store import Store, today
from suffice.mail.verdict import ENOUGH, PLENTY, is_ready, missing

#: The cut for spam below which one token can decide: odds of 3 to 1.
ALONE = 0.75
#: Days without anything learned after which that is remarked on.
LONG = 60


@dataclass(frozen=True)
class Status:
    """What a filter has learned."""

    path: Path
    learned: dict[str, int]  #: how many messages of each class; with a half-life, what is left of them
    tokens: int
    waiting: int  #: messages in the journal that are not yet folded in
    last: str | None  #: the day on which something was last learned
    size: int  #: bytes of the file
    cuts: tuple[float, float]

    @property
    def ready(self) -> bool:
        """Whether enough was learned to act on verdicts."""
        return is_ready(self.learned)

    @property
    def advice(self) -> str:
        """What to do next."""
        spam = self.learned.get("spam", 0)
        ham = sum(self.learned.values()) - spam
        short = [f"{count:,} more of {name}" for name, count in missing(self.learned).items()]
        if short:
            uneven = f", for {spam:,} spam against {ham:,} ham are too uneven" if min(spam, ham) >= ENOUGH else ""
            said = " and ".join(short)
            return f"not ready to act: learn {said}{uneven} (suffice mail learn --spam MAIL --ham MAIL)"
        if min(spam, ham) < PLENTY:
            return f"ready to act, with caution: more is left unsure until {PLENTY} of each are learned"
        return "ready to act"

    def as_dict(self) -> dict[str, Any]:
        """Return the same as JSON has it."""
        return {
            "filter": str(self.path),
            "learned": self.learned,
            "tokens": self.tokens,
            "waiting": self.waiting,
            "last_learned": self.last,
            "bytes": self.size,
            "unsure_between": list(self.cuts),
            "ready": self.ready,
            "advice": self.advice,
        }


def status(mail: MailFilter) -> Status:
    r"""Return what a filter has learned.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, MailFilter(f"{place}/mail.db") as mine:
    ...     _ = mine.learn(b"Subject: lunch\n\n", "ham")
    ...     found = status(mine)
    >>> found.learned, found.ready
    ({'ham': 1, 'spam': 0}, False)
    """
    store = mail.store()
    last = store.number("last") or None
    return Status(
        mail.path,
        store.facts().counts,
        len(store.state()),
        store.ask("SELECT COUNT(*) FROM journal")[0][0],
        None if last is None else _date(last),
        sum(file.stat().st_size for file in (mail.path, mail.path.with_name(mail.path.name + "-wal")) if file.exists()),
        mail.cuts,
    )


def _date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(min(day, 10**6))).isoformat()


@dataclass(frozen=True)
class Finding:
    """Something that was looked at, and how it is."""

    level: Literal["fine", "remark", "wrong"]
    what: str
    cure: str = ""


def examine(mail: MailFilter) -> list[Finding]:
    """Return what is fine and what is wrong with a filter and its file, and what to do about it."""
    path = mail.path
    if not path.exists() and mail.shared:
        alone = f"there is no filter at {path} yet: the shared ones judge alone"
        return [Finding("remark", alone), *_contents(mail)]
    if not path.exists():
        return [
            Finding("wrong", f"there is no filter at {path}", "suffice mail learn --spam MAIL --ham MAIL makes one")
        ]
    found = _permissions(path)
    try:
        found += _soundness(mail.store())
        if any(finding.level == "wrong" for finding in found):
            return found
        return found + _contents(mail)
    except MailError as error:
        return [*found, Finding("wrong", str(error), "restore a copy, or suffice mail load a dump into a new file")]


def _permissions(path: Path) -> list[Finding]:
    found = []
    mode = path.stat().st_mode
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        found.append(Finding("fine", f"{path} can be written"))
    else:
        cure = f"chown or chmod {path} and its folder for the user that runs the filter"
        found.append(Finding("wrong", f"{path} cannot be written, so nothing can be learned", cure))
    for note in (path.with_name(path.name + ending) for ending in ("-wal", "-shm")):
        if note.exists() and os.access(path, os.W_OK) and not os.access(note, os.W_OK):
            cure = f"while nobody uses the filter, chown {note} to its owner"
            found.append(Finding("wrong", f"{note} belongs to somebody else, so nothing can be learned", cure))
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        found.append(Finding("remark", "others on this machine can read words of your mail", f"chmod 600 {path}"))
    return found


def _soundness(store: Store) -> list[Finding]:
    said = [row[0] for row in store.ask("PRAGMA integrity_check(5)")]
    if said != ["ok"]:
        cure = "suffice mail dump what can be read, and load it into a new file"
        return [Finding("wrong", f"the database is damaged: {'; '.join(said)}", cure)]
    state = store.state()
    counted = sum(round(count) for count in state.messages)
    listed = store.ask("SELECT COUNT(*) FROM learned")[0][0]
    found = [Finding("fine", "the database is sound")]
    if store.get("half_life") is None and counted != listed:
        text = f"{counted:,} messages are counted, but {listed:,} are listed as learned"
        found.append(Finding("remark", text, "fine after loading counts from elsewhere"))
    if len(state) > store.settings().tokens:
        found.append(Finding("remark", f"{len(state):,} tokens are kept", "they are pruned as more is learned"))
    return found


def _staleness(mail: MailFilter, store: Store) -> list[Finding]:
    """Return which counts come from messages that were read in a way that new ones are not."""
    version = store.number("features", 1)
    if version >= FEATURES:
        return []
    tags = [name.partition(b":")[0] for name in store.state().known(store.names() + store.state().fresh()).splitlines()]
    dates = sum(tag == b"date" or tag.endswith(b"-date") for tag in tags)
    text = (
        f"an older suffice read some of the mail (features {version}, now {FEATURES}): {dates:,} of {len(tags):,} "
        "tokens are words of date fields, which are not read any more; nor are dates that were counted with other "
        "fields. All other counts hold"
    )
    cure = (
        f"to learn anew from your folders: suffice mail learn --filter {mail.path}.new --spam FOLDER --ham FOLDER, "
        f"then mv {mail.path}.new {mail.path}"
    )
    return [Finding("remark", text, cure)]


def _contents(mail: MailFilter) -> list[Finding]:
    known = status(mail)
    said = ", ".join(f"{count:,} {name}" for name, count in known.learned.items())
    found = [Finding("fine", f"learned: {said}; {known.tokens:,} tokens")]
    found.append(Finding("fine", known.advice) if known.ready else Finding("remark", *known.advice.split(": ", 1)))
    store = mail.store()
    last = store.number("last") or None
    if last is not None and last > today() + 1:
        lost = "; what was learned before weighs up to half as much as it should" if store.settings().half_life else ""
        text = f"something was learned on {known.last}, which is yet to come: the clock was wrong{lost}"
        found.append(Finding("remark", text, "check the clock; it is noted anew when something is learned"))
    if store.path == mail.path:
        found += _staleness(mail, store)
    if known.cuts[1] < ALONE:
        text = f"from a probability of {known.cuts[1]:g} on mail is spam, which one word alone can reach"
        found.append(Finding("remark", text, f"suffice mail settings --spam-cut {ALONE} or more"))
    if last is not None and today() - last > LONG:
        cure = "if mail was corrected since, training does not reach this file: check --filter and $SUFFICE_MAIL"
        found.append(Finding("remark", f"nothing was learned since {known.last}", cure))
    spam = known.learned.get("spam", 0)
    ham = sum(known.learned.values()) - spam
    if known.ready and max(spam, ham) > 20 * min(spam, ham):
        found.append(Finding("remark", f"{spam:,} spam against {ham:,} ham", "learn more of the rarer kind"))
    return found
