"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Yield a temporary file to write, which then takes the place of another.

    Whoever reads meanwhile gets the old one, and a failure leaves it as it was. A link is followed; a file that is
    there keeps its permissions.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/a") as file:
    ...         _ = file.write_text("whole")
    ...     Path(f"{folder}/a").read_text()
    'whole'
    """
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".suffice-{secrets.token_hex(8)}")
    try:
        yield temporary
        with suppress(FileNotFoundError):
            shutil.copymode(place, temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
