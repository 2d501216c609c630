"""The command ``suffice``."""

from __future__ import annotations

import gc
import sys
from importlib.util import find_spec

#: Objects between two collections of cyclic garbage. Modules, classes and functions are no garbage: by Python's 700,
#: looking through them takes a sixth of the time of a short command.
_OBJECTS = 100_000


def main() -> None:
    """Run the command line."""
    gc.set_threshold(_OBJECTS)
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
