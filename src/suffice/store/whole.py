"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def _umask() -> int:
    """Return the umask, which can only be read by setting it: for that moment, to the strictest."""
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


@contextmanager
def whole_file(path: str | os.PathLike[str], *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary file to write, which then takes the place of another.

    Whoever reads meanwhile gets the old one, and a failure leaves it as it was. A link is followed; a file that is
    there keeps its permissions, and a new one gets those that the umask allows; until it is whole, only its owner
    can read it. With ``mode``, the file has these permissions, whatever was there and whatever the umask allows.

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
