"""Print pip constraints with the oldest version of each dependency that pyproject.toml allows.

Usage: ``python .ci/oldest.py pyproject.toml > oldest.txt``.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

project = tomllib.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["project"]
for requirement in sorted({*project["dependencies"], *project["optional-dependencies"]["test"]}):
    if found := re.fullmatch(r"([\w.-]+)(?:\[.*\])?>=([\w.]+)", requirement):
        sys.stdout.write(f"{found[1]}=={found[2]}\n")
    else:
        sys.exit(f"{requirement!r} has no lower bound of the form name>=version")
