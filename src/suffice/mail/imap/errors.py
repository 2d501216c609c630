"""Errors of connections to an IMAP server."""

from __future__ import annotations


class ConnectionLostError(Exception):
    """The connection to the server failed or ended; a new one may work."""


class LoginError(Exception):
    """The server or the user's command for the password refused the login."""
