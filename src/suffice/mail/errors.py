"""Errors of the mail filter."""

from __future__ import annotations


class MailError(ValueError):
    """A filter's file is missing or damaged, or a request to the filter is invalid."""
