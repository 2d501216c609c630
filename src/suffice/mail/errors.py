"""What can be wrong with a filter's file, said in the reader's words."""

from __future__ import annotations


class MailError(ValueError):
    """A filter, or what was asked of it, is not as it should be."""
