"""Errors that several packages raise."""

from __future__ import annotations


class MissingExtraError(ImportError):
    """A library that an optional feature needs is not installed."""
