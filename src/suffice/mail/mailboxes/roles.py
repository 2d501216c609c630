"""What folders are for, by their names: archived mail, sent mail, mail that says nothing about its class."""

from __future__ import annotations

import re
from typing import Literal

#: Folders that say nothing about the class of the messages that the user moves there.
_NEUTRAL = re.compile(
    r"(.*\.)?(trash|bin|deleted( items| messages)?|sent( items| messages| mail)?|outbox|drafts?|templates|spam|"
    r"junk( mail| e-mail)?|bulk( mail)?|unsure)(\..*)?",
    re.IGNORECASE,
)
_SENT = re.compile(r"(.*[./\\])?sent( items| messages| mail)?", re.IGNORECASE)
_ARCHIVE = re.compile(r"(.*[./\\])?archives?([./\\].*)?", re.IGNORECASE)

Role = Literal["archive", "sent", "other"]


def is_neutral(name: str) -> bool:
    """Return whether a folder says nothing about the class of the messages that the user moves there.

    Examples
    --------
    >>> is_neutral("Trash"), is_neutral("Archive.Spam.2002"), is_neutral("Friends")
    (True, True, False)
    """
    return _NEUTRAL.fullmatch(re.split(r"[/\\]", name)[-1].removeprefix(".")) is not None


def folder_role(name: str) -> Role | None:
    """Return what a folder is for by its name; None for spam, trash, drafts and the like.

    Examples
    --------
    >>> folder_role("Archives/2026"), folder_role("INBOX.Sent"), folder_role("Friends"), folder_role("Trash")
    ('archive', 'sent', 'other', None)
    """
    if _SENT.fullmatch(name):
        return "sent"
    if is_neutral(name):
        return None
    return "archive" if _ARCHIVE.fullmatch(name) else "other"
