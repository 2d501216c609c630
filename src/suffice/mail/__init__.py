"""A spam filter that learns from the user's own mail."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.mail.errors import MailError
    from suffice.mail.explanation import MailExplanation
    from suffice.mail.filter import LearnCounts, MailFilter
    from suffice.mail.outcome import Outcome
    from suffice.mail.verdict import Verdict

#: Module of each public name; they are imported on first use, to keep the start-up time of one verdict short.
_MODULES = {
    "LearnCounts": "filter",
    "MailError": "errors",
    "MailExplanation": "explanation",
    "MailFilter": "filter",
    "Outcome": "outcome",
    "Verdict": "verdict",
}
__all__ = ["LearnCounts", "MailError", "MailExplanation", "MailFilter", "Outcome", "Verdict"]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module 'suffice.mail' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.mail.{_MODULES[name]}"), name)
