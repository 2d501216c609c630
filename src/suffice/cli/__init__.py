"""The command ``suffice``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command line."""
    try:
        from suffice.cli.app import run
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        if error.name not in ("click", "rich"):
            raise
        sys.stderr.write(f"error: the command needs {error.name}: pip install 'suffice[cli]'\n")
        sys.exit(2)
    run()
