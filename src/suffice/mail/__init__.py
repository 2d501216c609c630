"""A spam filter that people can trust with their inbox."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.mail.errors import MailError
    from suffice.mail.explaining import MailExplanation
    from suffice.mail.filter import MailFilter
    from suffice.mail.outcome import Outcome
    from suffice.mail.tally import Tally
    from suffice.mail.verdict import Verdict

#: Where each name lives; one message is judged sooner if no more is imported than that takes.
_ROOMS = {
    "MailError": "errors",
    "MailExplanation": "explaining",
    "MailFilter": "filter",
    "Outcome": "outcome",
    "Tally": "tally",
    "Verdict": "verdict",
}
__all__ = ["MailError", "MailExplanation", "MailFilter", "Outcome", "Tally", "Verdict"]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module 'suffice.mail' has no attribute {name!r}")
    return getattr(importlib.import_module(f"suffice.mail.{_ROOMS[name]}"), name)
