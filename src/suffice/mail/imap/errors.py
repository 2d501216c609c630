"""Errors of connections to an IMAP server."""

from __future__ import annotations


class ConnectionLostError(Exception):
    """The connection to the server failed or ended; a new one may work."""


class CertificateError(ConnectionLostError):
    """The server's certificate is not valid, or not trusted."""


class LoginError(Exception):
    """The server or the user's command for the password refused the login."""


class RequestError(OSError):
    """The server refused a request, with NO or BAD."""

    def __str__(self) -> str:
        return str(self.strerror)
