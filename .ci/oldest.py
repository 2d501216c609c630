"""Print pip constraints with the oldest version of each dependency that pyproject.toml allows.

Usage: ``python .ci/oldest.py pyproject.toml > oldest.txt``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path


def resolve_group(groups: dict[str, list[str | dict[str, str]]], name: str) -> Iterator[str]:
    """Yield the requirements of a dependency group and of the groups that it includes."""
    for entry in groups[name]:
        yield from [entry] if isinstance(entry, str) else resolve_group(groups, entry["include-group"])


settings = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
for requirement in sorted(
    {*settings["project"]["dependencies"], *resolve_group(settings["dependency-groups"], "test")}
):
    if found := re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement):
        sys.stdout.write(f"{found[1]}=={found[2]}\n")
    else:
        sys.exit(f"{requirement!r} has no lower bound of the form name>=version")
