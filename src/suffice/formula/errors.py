"""Errors of formulas."""

from __future__ import annotations

from suffice.tables.errors import UsageError


class FormulaError(UsageError):
    """A formula that cannot be parsed, or does not match the data; the message names the cure."""
