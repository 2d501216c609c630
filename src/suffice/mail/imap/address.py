"""Addresses of folders on an IMAP server."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from suffice.mail.errors import MailError

#: Ports of addresses without one.
PORTS = {"imaps": 993, "imap": 143}
_FORM = "imaps://USER@HOST/FOLDER"


def is_imap_address(text: str) -> bool:
    """Return whether a text is the address of a folder on an IMAP server, not a path.

    Examples
    --------
    >>> is_imap_address("imaps://ann@mail.example.org/INBOX"), is_imap_address("Mail/imap")
    (True, False)
    """
    return re.match(r"imaps?:", text, re.IGNORECASE) is not None


@dataclass(frozen=True)
class ImapAddress:
    """A folder of a user on a server.

    Examples
    --------
    >>> address = ImapAddress.parse("imaps://ann@example.org@mail.example.org/Entw%C3%BCrfe")
    >>> address.user, address.host, address.port, address.folder
    ('ann@example.org', 'mail.example.org', 993, 'Entwürfe')
    >>> print(address)
    imaps://ann%40example.org@mail.example.org/Entw%C3%BCrfe
    """

    scheme: str  # imaps: TLS from the start; imap: STARTTLS
    user: str
    host: str
    port: int
    folder: str = "INBOX"

    @classmethod
    def parse(cls, text: str) -> ImapAddress:
        """Return the address that a text names; errors do not repeat a password in it."""
        shown = "that" if re.search("//[^@]*:.*@", text) else repr(text)  # it may contain a password
        try:
            parts = urlsplit(text)
            port = parts.port
        except ValueError:
            raise MailError(f"{shown} has no valid host and port: write {_FORM}") from None
        if parts.password is not None:
            raise MailError("the address contains a password, which other users can see: use --password-command")
        if parts.scheme not in PORTS or not parts.hostname or not parts.username:
            raise MailError(
                f"{shown} is not that of a folder: write {_FORM}, and @ : / ? # of a name as %40 %3A and so on"
            )
        if parts.query or parts.fragment:
            raise MailError(f"{shown} contains ? or #: write %3F or %23 in names of folders")
        folder, user = unquote(parts.path.removeprefix("/")) or "INBOX", unquote(parts.username)
        if "\ufffd" in folder + user:
            raise MailError(f"{shown} contains % and digits that are not UTF-8: write % as %25")
        if not (folder + user).isprintable():
            raise MailError(f"{shown} contains control characters: write {_FORM}")
        folder = "INBOX" if folder.upper() == "INBOX" else folder
        return cls(parts.scheme, user, parts.hostname, port or PORTS[parts.scheme], folder)

    @property
    def account(self) -> str:
        """The account, the same for both schemes: ``ann@mail.example.org``, with a port that is not the usual one."""
        port = "" if self.port in PORTS.values() else f":{self.port}"
        return f"{self._user_and_host}{port}"

    @property
    def ledger(self) -> str:
        """The name of the ledger of the folder."""
        return f"imap://{self.account}/{quote(self.folder)}"

    @property
    def _user_and_host(self) -> str:
        return f"{quote(self.user, safe='')}@{f'[{self.host}]' if ':' in self.host else self.host}"

    def __str__(self) -> str:
        port = "" if self.port == PORTS[self.scheme] else f":{self.port}"
        return f"{self.scheme}://{self._user_and_host}{port}/{quote(self.folder)}"
