"""Status and diagnosis of a filter: what it has learned, and whether its file is sound."""

from __future__ import annotations

import os
import shutil
import stat
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from typing import Any, Literal

from suffice.mail.atomic_files import is_disk_full
from suffice.mail.database import FEATURES
from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter
from suffice.mail.store import Store, today
from suffice.mail.verdict import ENOUGH, MAX_RATIO, MIN_MESSAGES, is_ready, missing_messages

#: Spam cut below which a single token can decide: odds of 3 to 1.
SINGLE_TOKEN_CUT = 0.75
#: Days without learning after which the diagnosis remarks on it.
STALE_DAYS = 60
#: Days between two dates of learning from which the clock may be ahead: few users pause for two years.
AHEAD_DAYS = 730


@dataclass(frozen=True)
class Status:
    """Numbers of what a filter has learned."""

    path: Path
    learned: dict[str, int]  #: messages of each class; with a half-life, their remaining weight
    tokens: int
    waiting: int  #: rows of the journal that are not yet compacted
    last: str | None  #: date of the last learning
    size: int  #: of the file, in bytes
    cuts: tuple[float, float]

    @property
    def ready(self) -> bool:
        """Whether enough was learned to call messages spam."""
        return is_ready(self.learned)

    @property
    def advice(self) -> str:
        """What to do next."""
        spam = self.learned.get("spam", 0)
        ham = sum(self.learned.values()) - spam
        missing = [f"{count:,} more of {name}" for name, count in missing_messages(self.learned).items()]
        if missing:
            uneven = f"; {spam:,} spam and {ham:,} ham are too uneven" if min(spam, ham) >= MIN_MESSAGES else ""
            return f"not ready: learn {' and '.join(missing)}{uneven} (suffice mail learn --spam MAIL --ham MAIL)"
        if min(spam, ham) < ENOUGH:
            return f"ready, with caution: more mail is left unsure until {ENOUGH} of each are learned"
        if self.uneven:
            return f"ready, but with {spam:,} spam against {ham:,} ham: learn more of the rarer class"
        return "ready"

    @property
    def uneven(self) -> bool:
        """Whether one side, spam or the rest, has many times the messages of the other."""
        spam = self.learned.get("spam", 0)
        ham = sum(self.learned.values()) - spam
        return max(spam, ham) > MAX_RATIO * min(spam, ham)

    def as_dict(self) -> dict[str, Any]:
        """Return the status for JSON output."""
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
    r"""Return the status of a filter.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, MailFilter(f"{folder}/mail.db") as mail:
    ...     _ = mail.learn(b"Subject: lunch\n\n", "ham")
    ...     found = status(mail)
    >>> found.learned, found.ready
    ({'ham': 1, 'spam': 0}, False)
    """
    store = mail.store()
    last = store.get_integer("last") or None
    return Status(
        mail.path,
        store.verdict_inputs().counts,
        len(store.state()),
        store.query("SELECT COUNT(*) FROM journal")[0][0],
        None if last is None else _date(last),
        sum(file.stat().st_size for file in (mail.path, mail.path.with_name(mail.path.name + "-wal")) if file.exists()),
        mail.cuts,
    )


def _date(day: int) -> str:
    return (date(1970, 1, 1) + timedelta(min(day, 10**6))).isoformat()


@dataclass(frozen=True)
class Finding:
    """The result of one check."""

    level: Literal["fine", "remark", "wrong"]
    what: str
    cure: str = ""


def diagnose(mail: MailFilter) -> list[Finding]:
    """Check a filter and its file, and return the findings, with a cure for each problem."""
    path = mail.path
    if not path.exists() and mail.shared:
        text = f"there is no filter at {path} yet: only the shared ones are used"
        return [Finding("remark", text), *_check_content(mail)]
    if not path.exists():
        return [
            Finding("wrong", f"there is no filter at {path}", "suffice mail learn --spam MAIL --ham MAIL creates one")
        ]
    space = _check_space(path)
    found = _check_permissions(path) + space
    try:
        found += _check_database(mail.store())
        if any(finding.level == "wrong" for finding in found):
            return found
        return found + _check_content(mail)
    except MailError as error:
        is_full = any(finding.level == "wrong" for finding in space)
        cure = "" if is_full else "restore a copy, or suffice mail load a dump into a new file"
        return [*found, Finding("wrong", str(error), cure)]


def _check_permissions(path: Path) -> list[Finding]:
    found = []
    mode = path.stat().st_mode
    if os.access(path, os.W_OK) and os.access(path.parent, os.W_OK):
        found.append(Finding("fine", f"{path} is writable"))
    else:
        cure = f"chown or chmod {path} and its folder for the user that runs the filter"
        found.append(Finding("wrong", f"{path} is not writable, so nothing can be learned", cure))
    for file in (path.with_name(path.name + ending) for ending in ("-wal", "-shm")):
        if file.exists() and os.access(path, os.W_OK) and not os.access(file, os.W_OK):
            cure = f"while no program uses the filter, chown {file} to its owner"
            found.append(Finding("wrong", f"{file} belongs to another user, so nothing can be learned", cure))
    if os.name == "posix" and mode & (stat.S_IRWXG | stat.S_IRWXO):
        found.append(Finding("remark", "other users of this machine can read words of your mail", f"chmod 600 {path}"))
    return found


def _check_space(path: Path) -> list[Finding]:
    if is_disk_full(path.parent):
        text = f"the disk of {path.parent} is full, so nothing can be learned; mail is classified as before"
        return [Finding("wrong", text, "free space there, then run suffice mail doctor again")]
    free, needed = shutil.disk_usage(path.parent).free, path.stat().st_size
    if free < needed:  # compacting the journal writes the whole file
        text = f"the disk of {path.parent} has {free / 1e6:,.1f} MB left, but learning may need {needed / 1e6:,.1f} MB"
        return [Finding("remark", text, "free space there")]
    return []


def _check_database(store: Store) -> list[Finding]:
    report = [row[0] for row in store.query("PRAGMA integrity_check(5)")]
    if report != ["ok"]:
        cure = "suffice mail dump what can be read, and load it into a new file"
        return [Finding("wrong", f"the database is damaged: {'; '.join(report)}", cure)]
    state = store.state()
    counted = sum(round(count) for count in state.messages)
    listed = store.query("SELECT COUNT(*) FROM learned")[0][0]
    found = [Finding("fine", "the database is sound")]
    if store.get_setting("half_life") is None and counted != listed:
        text = f"{counted:,} messages are counted, but {listed:,} are listed as learned"
        found.append(Finding("remark", text, "normal after loading counts from another filter"))
    if len(state) > store.settings().tokens:
        found.append(Finding("remark", f"{len(state):,} tokens are kept", "they are pruned as more is learned"))
    return found


def _check_features(mail: MailFilter, store: Store) -> list[Finding]:
    """Return a finding if messages were learned with an earlier version of the feature extraction."""
    version = store.get_integer("features", 1)
    if version >= FEATURES:
        return []
    tags = [name.partition(b":")[0] for name in store.state().known(store.names() + store.state().fresh()).splitlines()]
    dates = sum(tag == b"date" or tag.endswith(b"-date") for tag in tags)
    text = (
        f"some mail was learned by an earlier version of suffice (features {version}, now {FEATURES}): {dates:,} of "
        f"{len(tags):,} tokens are words of date fields, which are no longer used; dates in other fields are not used, "
        "either. All other counts are valid"
    )
    cure = (
        f"to learn again from your folders: suffice mail learn --filter {mail.path}.new --spam FOLDER --ham FOLDER, "
        f"then mv {mail.path}.new {mail.path}"
    )
    return [Finding("remark", text, cure)]


def _check_clock(store: Store, last: int | None) -> list[Finding]:
    """Return a finding if the clock was, or may be, ahead: by the last day of learning, and the days before it."""
    if last is None:
        return []
    now = today()
    lost = "; earlier messages have up to half the weight that they should" if store.settings().half_life else ""
    if last > now + 1:
        text = f"the last learning has the date {_date(last)}, in the future: the clock was wrong{lost}"
        return [Finding("remark", text, "check the clock; the date is corrected by the next learning")]
    learned = store.query("SELECT DISTINCT day FROM learned WHERE day BETWEEN 0 AND ?", now)
    days = sorted({last, now, *(day for (day,) in learned)})
    for before, after in pairwise(days):
        if after - before > AHEAD_DAYS and now - after < 365:  # later, it is no news
            text = (
                f"by the clock it is {_date(now)}, and nothing was learned from {_date(before)} to {_date(after)}: "
                f"the clock may be years ahead{lost and f'; if so, {lost[2:]}'}"
            )
            return [Finding("remark", text, "set the clock if that is not the date of today")]
    return []


def _check_content(mail: MailFilter) -> list[Finding]:
    known = status(mail)
    counts = ", ".join(f"{count:,} {name}" for name, count in known.learned.items())
    found = [Finding("fine", f"learned: {counts}; {known.tokens:,} tokens")]
    is_fine = known.ready and not known.uneven
    found.append(Finding("fine", known.advice) if is_fine else Finding("remark", *known.advice.split(": ", 1)))
    store = mail.store()
    last = store.get_integer("last") or None
    found += _check_clock(store, last)
    if store.path == mail.path:
        found += _check_features(mail, store)
    if known.cuts[1] < SINGLE_TOKEN_CUT:
        text = f"mail is spam from a probability of {known.cuts[1]:g} on, which a single token can reach"
        found.append(Finding("remark", text, f"suffice mail settings --spam-cut {SINGLE_TOKEN_CUT} or more"))
    if last is not None and today() - last > STALE_DAYS:
        cure = "if mail was corrected since, training does not reach this file: check --filter and $SUFFICE_MAIL"
        found.append(Finding("remark", f"nothing was learned since {known.last}", cure))
    return found
