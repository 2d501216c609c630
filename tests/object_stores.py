"""Folders of object stores for tests: in memory, of this machine by URL, and of a real server that speaks S3."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from unittest.mock import patch

import fsspec

from tests.requirements import require

_SECONDS_TO_START = 30


@contextmanager
def memory_folder() -> Iterator[str]:
    """Yield the URL of a folder in memory, which is deleted afterwards."""
    try:
        yield "memory://suffice-tests"
    finally:
        with suppress(FileNotFoundError):
            fsspec.filesystem("memory").rm("/suffice-tests", recursive=True)


@contextmanager
def s3_folder() -> Iterator[str]:
    """Start a server that speaks S3, and yield the URL of a folder in its only bucket."""
    require("s3")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "tests",
        "AWS_SECRET_ACCESS_KEY": "tests",
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_CONFIG_FILE": os.devnull,
        "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
    }
    command = [sys.executable, "-m", "moto.server", "-H", "127.0.0.1", "-p", str(port)]
    with (
        patch.dict(os.environ, settings),
        subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server,
    ):
        try:
            _wait_for(port)
            files = fsspec.filesystem("s3", skip_instance_cache=True)
            files.mkdir("suffice-tests")
            fsspec.get_filesystem_class("s3").clear_instance_cache()  # of another server
            yield "s3://suffice-tests/folder"
        finally:
            server.terminate()


def _wait_for(port: int) -> None:
    for _ in range(10 * _SECONDS_TO_START):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise TimeoutError(f"no server listens on port {port} after {_SECONDS_TO_START} seconds")


def upload(local: Path, url: str) -> None:
    """Copy a file, or a folder with all that is in it, to a URL."""
    for file in [local] if local.is_file() else sorted(each for each in local.rglob("*") if each.is_file()):
        target = url if local.is_file() else f"{url}/{file.relative_to(local).as_posix()}"
        files, path = fsspec.core.url_to_fs(target)
        files.pipe_file(path, file.read_bytes())
