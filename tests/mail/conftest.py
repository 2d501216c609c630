from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from suffice.mail import MailFilter


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[MailFilter]:
    """An empty filter."""
    with MailFilter(tmp_path / "mail.db") as mail:
        yield mail
