"""The peak memory of this process, for programs that tests start."""

from __future__ import annotations

import resource
import sys
from pathlib import Path


def peak_megabytes() -> int:
    """Return the peak resident memory of this process since its program started.

    On Linux ``ru_maxrss`` counts the memory that the parent had when it started this program, too.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (1 << 20 if sys.platform == "darwin" else 1024)
