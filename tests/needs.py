"""Real components that tests run beside: skipped for where they are absent, unless they are said to be needed."""

from __future__ import annotations

import os
from typing import NoReturn

import pytest


def lacking(component: str, reason: str) -> NoReturn:
    """Skip for want of a component; fail where ``SUFFICE_NEEDS`` names it, as the project's own checks do."""
    if component in os.environ.get("SUFFICE_NEEDS", "").split(","):
        pytest.fail(f"{reason}, and SUFFICE_NEEDS names {component}")
    pytest.skip(reason)
