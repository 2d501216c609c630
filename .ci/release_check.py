"""Check what a release needs, without the network: prints each problem, and exits with 1 if there is one.

Two copies of the commit, in folders of different names, are built into source archives and wheels, which must be equal
byte by byte. The wheel is installed without a compiler, and runs the demo.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Part of each address that does not exist yet.
PLACEHOLDER = "suffice.invalid"


def git(*words: str) -> str:
    """Return the output of git."""
    return subprocess.run(("git", "-C", ROOT, *words), check=True, capture_output=True, text=True).stdout.strip()


def missing_addresses() -> Iterator[str]:
    """Yield the lines that mention an address that does not exist yet."""
    for path in git("grep", "-l", "-F", PLACEHOLDER, "--", ":!.ci/release_check.py").splitlines():
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            for address in re.findall(rf"[\w.:/@-]*{re.escape(PLACEHOLDER)}[\w./-]*", line):
                yield f"{path}:{number} has no address yet: {address}"


def other_versions() -> Iterator[str]:
    """Yield what does not have the version of pyproject.toml."""
    version = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
    if f"\nversion: {version}\n" not in (ROOT / "CITATION.cff").read_text(encoding="utf-8"):
        yield f"CITATION.cff has another version than {version}"
    if not re.search(rf"^## {re.escape(version)}\b", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE):
        yield f"CHANGELOG.md has no section {version}"
    if not (ROOT / "tests" / "store" / "released" / version).is_dir():
        yield f"no model files of {version} are kept: python -m tests.store.released"
    names = ROOT / "docs" / "reference"
    copy = names / f"public-names-{version}.txt"
    if not copy.is_file() or copy.read_bytes() != (names / "public-names.txt").read_bytes():
        yield f"{copy.name} is no copy of public-names.txt: copy it, and name it in tests/public_names.py"
    tags = git("tag", "--points-at", "HEAD", "v*").split()
    if tags and tags != [f"v{version}"]:
        yield f"the commit has the tag {' '.join(tags)}, the package the version {version}"


def build(copy: Path) -> list[Path]:
    """Build the source archive and the wheel of a new copy of the commit."""
    subprocess.run(("git", "clone", "--quiet", ROOT, copy), check=True)
    environment = os.environ | {"SOURCE_DATE_EPOCH": git("log", "-1", "--format=%ct")}
    command = (sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel")
    subprocess.run(command, cwd=copy, env=environment, check=True, stdout=subprocess.DEVNULL)
    return sorted((copy / "dist").iterdir())


def main() -> int:
    """Run all checks."""
    problems = [*missing_addresses(), *other_versions()]
    if git("status", "--porcelain"):
        problems.append("there are changes that are not committed, and are not checked")
    with tempfile.TemporaryDirectory() as place:
        first, second = build(Path(place, "first")), build(Path(place, "copy", "of", "another", "length"))
        for one, other in zip(first, second, strict=True):
            if (one.name, one.read_bytes()) != (other.name, other.read_bytes()):
                problems.append(f"two builds of {one.name} differ")
        if subprocess.run((sys.executable, "-m", "twine", "check", "--strict", *first), check=False).returncode:
            problems.append("the metadata has problems: see above")
        shutil.rmtree(ROOT / "dist", ignore_errors=True)
        shutil.copytree(first[0].parent, ROOT / "dist")
    if subprocess.run((ROOT / ".ci" / "test-wheel",), check=False).returncode:
        problems.append("the wheel failed: see above")
    sys.stdout.writelines(f"{problem}\n" for problem in problems or ["nothing is missing"])
    return int(bool(problems))


if __name__ == "__main__":
    sys.exit(main())
