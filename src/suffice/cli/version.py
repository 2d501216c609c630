"""The version that ``suffice --version`` prints, and the commit of its source."""

from __future__ import annotations

import subprocess
from importlib.metadata import version
from pathlib import Path

import click


def print_version(context: click.Context) -> None:
    """Print the version and the commit, and exit."""
    commit = find_commit(Path(__file__).parents[1])
    click.echo(f"suffice {version('suffice')}" + (f" ({commit})" if commit else ""))
    context.exit()


def find_commit(package: Path) -> str:
    """Return the commit that the build recorded, or that the checkout of the package is at; empty if neither is known.

    Examples
    --------
    >>> find_commit(Path("/nowhere/lib/suffice"))
    ''
    """
    recorded, checkout = package / "commit.txt", package.parents[1]
    if recorded.is_file():
        return recorded.read_text(encoding="ascii").strip()
    if not (checkout / ".git").exists():
        return ""
    describe = ("git", "-C", checkout, "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*")
    try:
        return subprocess.run(describe, capture_output=True, check=True, text=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return ""
