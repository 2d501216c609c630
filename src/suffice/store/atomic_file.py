"""Atomic writes: a temporary file that replaces the target when it is complete."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _umask() -> int:
    """Return the umask, which can only be read by setting it; it is set to the strictest for that moment."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def atomic_file(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary file to write, which then replaces ``path``.

    A reader sees the old file until the new one is complete, and a failure leaves the old one unchanged. A link is
    followed. An existing file keeps its permissions, and a new one gets those that the umask allows; until it is
    complete, only its owner can read it. With ``mode``, the file has these permissions in any case.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_file(f"{folder}/a") as file:
    ...         _ = file.write_text("complete")
    ...     Path(f"{folder}/a").read_text()
    'complete'
    """
    place = Path(os.path.realpath(path))
    temporary = place.with_name(f".suffice-{secrets.token_hex(8)}")
    os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        else:
            try:
                shutil.copymode(place, temporary)
            except FileNotFoundError:
                temporary.chmod(0o666 & ~_umask())
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(place)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
