"""A pseudo-terminal for programs that need one."""

from __future__ import annotations

import os
import select
import struct
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence

if sys.platform != "win32":
    import fcntl
    import pty
    import termios


def run(
    command: Sequence[str],
    environment: Mapping[str, str],
    patience: float = 30.0,
    answers: Mapping[str, str] | None = None,
) -> str:
    """Run a program in a terminal of 24 lines until it ends, and return its output.

    Each of the answers is typed once, when the program has written its question.
    """
    waiting = dict(answers or {})
    controller, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
    written = b""
    end = time.monotonic() + patience
    try:
        with subprocess.Popen(
            command, stdin=terminal, stdout=terminal, stderr=terminal, env=dict(environment), start_new_session=True
        ) as process:
            while select.select([controller], [], [], 0.05)[0] or process.poll() is None:
                if select.select([controller], [], [], 0)[0]:
                    written += os.read(controller, 1 << 16)
                for question in [each for each in waiting if each.encode() in written]:
                    os.write(controller, waiting.pop(question).encode())
                if time.monotonic() > end:
                    process.kill()
                    raise AssertionError(f"{command[0]} does not end: {written[-1000:]!r}")
    finally:
        os.close(terminal)
        os.close(controller)
    return written.decode("utf-8", "replace")
