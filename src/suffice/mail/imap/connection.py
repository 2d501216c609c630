"""A connection to an IMAP server: TLS, login, capabilities, folders, and the folder that is selected."""

from __future__ import annotations

import errno
import logging
import socket
import ssl
import time
from collections.abc import Callable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple, TypeVar

from suffice.mail.errors import MailError
from suffice.mail.imap.address import ImapAddress
from suffice.mail.imap.credentials import Credentials
from suffice.mail.imap.errors import CertificateError, ConnectionLostError, LoginError, RequestError

#: Seconds to connect, and to wait for an answer.
CONNECT_TIMEOUT, READ_TIMEOUT = 20, 120
#: Names of the spam folder on servers that do not mark it.
JUNK_NAMES = ("junk", "spam", "junk e-mail", "junk email", "junk mail", "bulk mail", "bulk")
#: Answers during IDLE that mean a change of the folder, or the end of the connection; others keep it open.
_CHANGES = {b"EXISTS", b"EXPUNGE", b"VANISHED", b"FETCH", b"BYE"}

logging.getLogger("imapclient").addHandler(logging.NullHandler())  # it warns of answers that are not ASCII
_Result = TypeVar("_Result")


class Selected(NamedTuple):
    """The state of a folder when it was selected."""

    validity: int  # UIDVALIDITY
    next_uid: int | None
    messages: int
    modification: int | None  # HIGHESTMODSEQ, which any change increases; None if the server has none

    @property
    def is_exact(self) -> bool:
        """Whether equal states mean equal messages with equal flags."""
        return self.modification is not None and self.next_uid is not None


class ImapConnection:
    """A connection, encrypted and logged in.

    Parameters
    ----------
    address
        The server and the user.
    credentials
        Where the password comes from.
    ca_file
        Certificates that the server's is verified with; those of the system if None.

    Raises
    ------
    LoginError
        If the password is refused.
    ConnectionLostError
        If there is no connection; CertificateError if the server's certificate is not valid or not trusted.
    """

    def __init__(self, address: ImapAddress, credentials: Credentials, ca_file: str | None = None) -> None:
        self.address = address
        self._selected: tuple[str, bool] | None = None  # a folder, and whether its messages can be changed
        self._folders: dict[str, tuple[frozenset[str], str]] | None = None
        #: Names of folders that are not valid in modified UTF-7.
        self.malformed: set[str] = set()
        self._has_news = False  # whether a change was reported before IDLE began
        try:
            context = ssl.create_default_context(cafile=ca_file)
        except OSError as error:
            raise MailError(f"--ca-file {ca_file}: {error.strerror or error}") from None
        self.client = self._open(context)
        try:
            self.call(lambda: credentials.login(self.client, address))
            self.capabilities = frozenset(each.decode().upper() for each in self.call(self.client.capabilities))
            if "ID" in self.capabilities:  # some servers open no folder for clients without a name
                self.call(lambda: self.client.id_({"name": "suffice"}))
            if {"ENABLE", "CONDSTORE"} <= self.capabilities:  # some servers say HIGHESTMODSEQ only after that
                self.call(lambda: self.client.enable("CONDSTORE"))
        except (ConnectionLostError, LoginError, OSError):
            _shut_down(self.client)
            raise

    def _open(self, context: ssl.SSLContext) -> Any:
        try:
            from imapclient import IMAPClient, SocketTimeout
        except ImportError:
            raise ImportError("mail on a server needs IMAPClient: pip install 'suffice[imap]'") from None
        address, timeout = self.address, SocketTimeout(CONNECT_TIMEOUT, READ_TIMEOUT)
        is_encrypted = address.scheme == "imaps"
        try:
            client = self.call(
                lambda: IMAPClient(address.host, address.port, ssl=is_encrypted, ssl_context=context, timeout=timeout)
            )
        except RequestError as error:  # it began with BYE
            raise ConnectionLostError(f"{address.host} ended the connection: {error}") from None
        except ConnectionLostError as error:
            raise ConnectionLostError(f"{error}{_hint(str(error), is_encrypted)}") from None
        if not is_encrypted:
            try:
                self.call(lambda: client.starttls(context))
            except (ConnectionLostError, OSError) as error:
                _shut_down(client)
                if isinstance(error, CertificateError):
                    raise
                why = f"{address.host} does not encrypt by STARTTLS ({error}): write imaps:// instead of imap://"
                raise ConnectionLostError(why) from None
        return client

    def call(self, request: Callable[[], _Result]) -> _Result:
        """Return the result of a request; an answer NO or BAD raises OSError, a lost connection its own error."""
        from imapclient.exceptions import (
            IMAPClientAbortError,
            IMAPClientError,
            IMAPClientReadOnlyError,
            ProtocolError,
        )

        host, port = self.address.host, self.address.port
        try:
            return request()
        except socket.gaierror as error:
            raise ConnectionLostError(f"the server {host!r} is not found: check its name ({error.strerror})") from None
        except ConnectionRefusedError:
            why = f"{host} refuses connections to port {port}: check name and port, and whether the server runs"
            raise ConnectionLostError(why) from None
        except ssl.SSLCertVerificationError as error:
            raise CertificateError(
                f"the certificate of {host} is not valid ({error.verify_message}): check the name, or use --ca-file"
            ) from None
        except IMAPClientReadOnlyError:
            raise RequestError(errno.EROFS, "the server permits no changes of this folder") from None
        except (IMAPClientAbortError, ProtocolError, OSError, EOFError) as error:
            why = (error.strerror if isinstance(error, OSError) else None) or str(error) or type(error).__name__
            raise ConnectionLostError(f"the connection to {host} failed: {why}") from None
        except IMAPClientError as error:
            raise RequestError(errno.EIO, str(error)) from None
        except (LookupError, TypeError, ValueError) as error:
            raise ConnectionLostError(f"an answer of {host} cannot be read: {error}") from None

    def close(self) -> None:
        """Log out."""
        from imapclient.exceptions import IMAPClientError

        with suppress(IMAPClientError, OSError):
            self.client.logout()
        _shut_down(self.client)

    def __enter__(self) -> ImapConnection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def select(self, folder: str, *, to_change: bool = False) -> Selected:
        """Select a folder anew, and return its state; ``to_change`` if messages are to be changed or moved."""
        self._selected = None
        try:
            state = self.call(lambda: _read_state(self.client.select_folder(folder, readonly=not to_change)))
        except OSError as error:
            if folder == "INBOX" or folder in self.folders():
                raise
            known = ", ".join(sorted(self.folders()))
            raise FileNotFoundError(f"there is no folder {folder!r} on {self.address.host}: it has {known}") from error
        self._selected = folder, to_change
        return state

    def ensure_selected(self, folder: str, validity: int, *, to_change: bool = False) -> None:
        """Select a folder unless it is; raise OSError if its UIDs are not those that were listed."""
        is_selected = self._selected in ((folder, True), (folder, to_change))
        if not is_selected and self.select(folder, to_change=to_change).validity != validity:
            raise RequestError(errno.ESTALE, f"the server renumbered the messages of {folder}: run again")

    def folders(self) -> dict[str, tuple[frozenset[str], str]]:
        r"""Return the folders of the account: their attributes, such as ``\junk``, and the separator in names."""
        if self._folders is None:
            self._folders = {}
            for attributes, separator, name in self.call(self._list_folders):
                try:
                    decoded = _decode_name(name)
                except ValueError:
                    self.malformed.add(ascii(name)[2:-1])
                    continue
                words = frozenset(each.decode().lower() for each in attributes)
                before, _ = self._folders.get(decoded, (frozenset[str](), ""))
                self._folders[decoded] = (before | words, (separator or b"").decode())
        return self._folders

    def forget_folders(self) -> None:
        """List the folders anew when they are needed next."""
        self._folders = None

    def _list_folders(self) -> list[tuple[tuple[bytes, ...], bytes | None, Any]]:
        """Return the folders with encoded names, which IMAPClient would decode all or none of."""
        client = self.client
        client.folder_encode = False
        try:
            found = client.list_folders()
            if "SPECIAL-USE" in self.capabilities and not any(b"\\Junk" in words for words, _, _ in found):
                # Servers may leave special uses out of plain lists (RFC 6154).
                answers = client._raw_command_untagged(b"LIST", [b"(SPECIAL-USE)", b'""', b'"*"'], uid=False)
                found += client._proc_folder_list(answers)
        finally:
            client.folder_encode = True
        return list(found)

    def read_states(self) -> dict[str, Selected]:
        """Return the states of all folders by one request; none if the server cannot (LIST-STATUS, CONDSTORE)."""
        return self.call(self._list_states) if {"LIST-STATUS", "CONDSTORE"} <= self.capabilities else {}

    def _list_states(self) -> dict[str, Selected]:
        from imapclient.response_parser import parse_response

        what = b"RETURN (STATUS (MESSAGES UIDNEXT UIDVALIDITY HIGHESTMODSEQ))"
        arguments = [b'""', b'"*"', what]
        answers = self.client._raw_command_untagged(b"LIST", arguments, uid=False, response_name="STATUS")
        self.client._imap.response("LIST")  # discards the names
        parsed = iter(parse_response(answers))
        states = {}
        for name, words in zip(parsed, parsed, strict=True):
            values = dict(zip(words[::2], words[1::2], strict=True))
            with suppress(ValueError):  # a malformed name
                states[_decode_name(name)] = _read_state({**values, b"EXISTS": values.get(b"MESSAGES")})
        return states

    def find_junk(self) -> str | None:
        r"""Return the folder of spam: that with the attribute ``\Junk`` (RFC 6154), or with a usual name."""
        marked = (name for name, (attributes, _) in self.folders().items() if r"\junk" in attributes)
        named = {name.removeprefix(self._prefix).lower(): name for name in self.folders()}
        return next(marked, None) or next((named[each] for each in JUNK_NAMES if each in named), None)

    def resolve(self, name: str) -> str:
        """Return the full name of a folder, which need not exist.

        On some servers, all folders are within ``INBOX.``. A slash in the name stands for the server's separator. If no
        folder has the name, but one differs only in upper and lower case, that one is meant.
        """
        if name.upper() == "INBOX":
            return "INBOX"
        if name in self.folders():
            return name
        separators = [separator for _, separator in self.folders().values() if separator]
        full = name.replace("/", separators[0]) if separators else name
        full = full if full.startswith(self._prefix) else self._prefix + full
        alike = [each for each in self.folders() if each.casefold() == full.casefold()]
        return alike[0] if len(alike) == 1 else full

    @cached_property
    def _prefix(self) -> str:
        if "NAMESPACE" not in self.capabilities:
            return ""
        personal = self.call(self.client.namespace).personal
        return str(personal[0][0]) if personal else ""

    def create(self, folder: str) -> None:
        """Create a folder, and subscribe to it, so that mail programs show it."""
        self._folders = None
        try:
            self.call(lambda: self.client.create_folder(folder))
        except RequestError:
            if folder not in self.folders():  # another client may have created it
                raise
        with suppress(OSError):
            self.call(lambda: self.client.subscribe_folder(folder))
        self._folders = None

    def begin_idle(self) -> None:
        """Begin to wait for changes of the selected folder; those that are reported before are kept."""
        self.call(self._idle)

    def _idle(self) -> None:
        imap = self.client._imap
        self._has_news = False
        tag = self.client._idle_tag = imap._command("IDLE")
        while imap._get_response() is not None:  # None is the continuation; other answers may come before it
            if imap.tagged_commands[tag]:
                raise ValueError(f"IDLE: {imap.tagged_commands.pop(tag)}")
            self._has_news = True

    def wait(self, seconds: float) -> bool:
        """Wait in IDLE until the selected folder changes; return whether it did, or the connection must be checked."""
        began = time.monotonic()
        found = self.call(lambda: self.client.idle_check(seconds))
        if not found:
            return self._has_news or time.monotonic() - began < seconds / 2  # at the end of a connection, at once
        return self._has_news or any(_CHANGES.intersection(answer[:2]) for answer in found)


def _read_state(found: dict[bytes, Any]) -> Selected:
    if b"UIDVALIDITY" not in found or b"EXISTS" not in found:
        raise ValueError("it has no UIDVALIDITY: the folder cannot be sorted")
    return Selected(found[b"UIDVALIDITY"], found.get(b"UIDNEXT"), found[b"EXISTS"], found.get(b"HIGHESTMODSEQ") or None)


def _shut_down(client: Any) -> None:
    """Close the socket, which may be closed already."""
    with suppress(OSError):
        client.shutdown()


def _hint(why: str, is_encrypted: bool) -> str:
    """Return what to do about a failed connection if the wrong kind of port is likely."""
    if is_encrypted and "WRONG_VERSION_NUMBER" in why:
        return "; the port is not encrypted from the start: write imap:// instead of imaps://, for STARTTLS"
    if not is_encrypted and "timed out" in why:
        return "; if the port is encrypted from the start, write imaps:// instead of imap://"
    return ""


def _decode_name(name: Any) -> str:
    """Return the name of a folder from modified UTF-7; a name of digits is a number."""
    from imapclient.imap_utf7 import decode

    return str(decode(name.decode("ascii").encode())) if isinstance(name, bytes) else str(name)
