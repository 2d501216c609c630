"""Passwords and tokens: read when a connection is opened, never stored, logged or shown in errors."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from suffice.mail.imap.address import ImapAddress
from suffice.mail.imap.errors import ConnectionLostError, LoginError

#: Environment variable of the password.
VARIABLE = "SUFFICE_IMAP_PASSWORD"
#: Service name of passwords in the keyring.
SERVICE = "suffice"
#: Seconds after which a command for a password is stopped.
TIMEOUT = 120
#: Codes of refusals that say nothing about the password (RFC 5530).
_TEMPORARY = ("[UNAVAILABLE]", "[INUSE]", "[LIMIT]")


@dataclass(frozen=True)
class Credentials:
    """Where the password or the token comes from.

    Parameters
    ----------
    password_command
        A shell command that prints the password.
    token_command
        A shell command that prints an OAuth 2 access token, for XOAUTH2.
    ask
        Called with a question, to ask the user for the password; None if nobody can be asked.

    Without a command, the password is that of the environment variable ``SUFFICE_IMAP_PASSWORD``, or that of the
    service ``suffice`` and the user ``USER@HOST`` in the keyring, if the package keyring is installed.
    """

    password_command: str | None = None
    token_command: str | None = None
    ask: Callable[[str], str] | None = None

    def login(self, client: Any, address: ImapAddress) -> None:
        """Log in; errors do not contain the password.

        Raises
        ------
        LoginError
            If the server refuses the login, or there is no password.
        ConnectionLostError
            If the server cannot check it now.
        """
        from imapclient.exceptions import IMAPClientAbortError, IMAPClientError

        secret = self._read_token() if self.token_command else self._read_password(address)
        try:
            if self.token_command:
                client.oauth2_login(address.user, secret)
            elif client.has_capability("AUTH=PLAIN"):
                client.plain_login(address.user, secret)
            elif client.has_capability("LOGINDISABLED"):
                raise LoginError(f"{address.host} accepts no password: use --token-command")
            else:
                escaped = address.user.replace("\\", "\\\\").replace('"', '\\"')
                client.login(f'"{escaped}"', secret)
        except IMAPClientAbortError:
            raise
        except (IMAPClientError, UnicodeError) as error:
            if isinstance(error.__context__, IMAPClientAbortError):  # IMAPClient makes it an error of the login
                raise error.__context__ from None
            why = _redact(str(error), secret)
            if any(code in why for code in _TEMPORARY):
                raise ConnectionLostError(f"{address.host} accepts no login now: {why}") from None
            if isinstance(error, UnicodeError):
                why = "the password has letters outside ASCII, or is not UTF-8"
            raise LoginError(f"{address.host} refused the login of {address.user}: {why}") from None

    def _read_token(self) -> str:
        return _run(self.token_command or "", "--token-command")

    def _read_password(self, address: ImapAddress) -> str:
        if self.password_command:
            return _run(self.password_command, "--password-command")
        found = os.environ.get(VARIABLE) or _read_keyring(address)
        if found is None and self.ask is not None:
            found = self.ask(f"Password of {address.user} on {address.host}")
        if not found:
            raise LoginError(
                f"there is no password for {address.account}: use --password-command 'COMMAND', or set {VARIABLE}"
            )
        return found


def _run(command: str, option: str) -> str:
    """Return the first line that a command prints; what it writes to standard error is shown to the user."""
    try:
        ran = subprocess.run(
            command, shell=True, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL, timeout=TIMEOUT, check=False
        )
    except subprocess.TimeoutExpired:
        raise LoginError(f"{option} did not end within {TIMEOUT} s: run it by itself to see why") from None
    lines = ran.stdout.decode(errors="surrogateescape").splitlines()
    if ran.returncode or not lines or not lines[0]:
        what = f"failed with exit code {ran.returncode}" if ran.returncode else "printed nothing"
        raise LoginError(f"{option} {what}: run it by itself to see why")
    return lines[0]


def _read_keyring(address: ImapAddress) -> str | None:
    try:
        import keyring
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password(SERVICE, f"{address.user}@{address.host}")
    except keyring.errors.NoKeyringError:  # the package is installed, but the machine has none
        return None
    except keyring.errors.KeyringError as error:
        raise LoginError(f"the keyring cannot be read: {error}") from None
    return found


def _redact(text: str, secret: str) -> str:
    return text.replace(secret, "********")
