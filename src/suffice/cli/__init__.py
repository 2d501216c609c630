"""The command ``suffice``."""

from __future__ import annotations

import sys
from importlib.util import find_spec


def main() -> None:
    """Run the command line."""
    try:
        if find_spec("rich") is None:  # imported when a terminal needs it
            raise ModuleNotFoundError(name="rich")
        from suffice.cli.app import run
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(f"error: the command needs {error.name}: pip install 'suffice[cli]'\n")
        sys.exit(2)
    run()
