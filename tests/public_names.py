"""The public names: what the reference and ``__all__`` list, each with its parameters and defaults.

``python -m tests.public_names --write`` writes them to ``docs/reference/public-names.txt``. Names and parameters that
are not as in the last version must occur in the first section of the changelog.
"""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from sklearn.base import BaseEstimator

import suffice

ROOT = Path(__file__).parents[1]
REFERENCE = ROOT / "docs" / "reference"
LISTING = REFERENCE / "public-names.txt"
#: The names of the last version: a release copies the listing to a new file, and changes the version here.
RELEASED = REFERENCE / "public-names-0.1.0.txt"
CHANGELOG = ROOT / "CHANGELOG.md"


def list_paths() -> list[str]:
    """Return the dotted paths of all public functions, classes and values."""
    page = (REFERENCE / "index.md").read_text(encoding="utf-8")
    documented = re.findall(r"^(?: {3}|\.\. py:data:: )([\w.]+)$", page, re.MULTILINE)
    packages = [each.name for each in pkgutil.iter_modules(suffice.__path__, "suffice.") if each.ispkg]
    exported = [
        f"{name}.{each}"
        for name in ("suffice", "suffice.typing", *packages)
        for each in getattr(importlib.import_module(name), "__all__", ())
        if not each.startswith("_")
    ]
    return sorted({f"suffice.{name}" for name in documented} | set(exported))


def write_signature(value: object) -> str:
    """Return the parameters of a function or class with their defaults; nothing of an exception or a protocol."""
    if isinstance(value, type) and (issubclass(value, BaseException) or getattr(value, "_is_protocol", False)):
        return ""
    signature = inspect.signature(value)  # type: ignore[arg-type]
    parameters = [each.replace(annotation=inspect.Parameter.empty) for each in signature.parameters.values()]
    text = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    return re.sub(r"^\(self(?:, )?", "(", text).replace("<factory>", "...")


def list_attributes(kind: type) -> Iterator[str]:
    """Yield the attributes that the docstring of a class describes."""
    _, heading, section = (inspect.getdoc(kind) or "").partition("Attributes\n----------\n")
    if heading:
        section = re.split(r"\n\w[\w ]*\n-{3,}\n", section)[0]
        for names in re.findall(r"^(\w+(?:, \w+)*)(?: :|$)", section, re.MULTILINE):
            yield from names.split(", ")


def list_members(path: str, kind: type) -> Iterator[tuple[str, str]]:
    """Yield the public methods, properties, fields and attributes of a class, each with its signature."""
    names = {*list_attributes(kind)}
    if dataclasses.is_dataclass(kind):
        names |= {field.name for field in dataclasses.fields(kind)}
    for base in kind.__mro__:
        if base.__module__.partition(".")[0] == "suffice":
            names |= {name for name in vars(base) if not isinstance(vars(base)[name], type)}
    for name in sorted(names):
        if not (name.startswith("_") or hasattr(BaseEstimator, name) or re.fullmatch(r"set_\w+_request", name)):
            value = getattr(kind, name, None)
            yield f"{path}.{name}", write_signature(value) if inspect.isroutine(value) and callable(value) else ""


def list_names() -> dict[str, str]:
    """Return the signature of each public name: empty of a value, ``= path`` of a name that has two paths."""
    names: dict[str, str] = {}
    paths: dict[int, str] = {}
    for path in sorted(list_paths(), key=lambda path: (path.count("."), path)):
        value = pkgutil.resolve_name(path)
        if (inspect.isclass(value) or inspect.isfunction(value)) and paths.setdefault(id(value), path) != path:
            names[path] = f" = {paths[id(value)]}"
        elif inspect.isclass(value):
            names[path] = write_signature(value)
            names |= dict(list_members(path, value))
        else:
            names[path] = write_signature(value) if inspect.isfunction(value) else ""
    return dict(sorted(names.items()))


def write_listing(names: Mapping[str, str]) -> str:
    """Return a line for each name."""
    return "".join(f"{path}{signature}\n" for path, signature in names.items())


def read_listing(text: str) -> dict[str, str]:
    """Return the names and signatures of a listing."""
    return {line[: (end := re.search(r"[( ]|$", line).start())]: line[end:] for line in text.splitlines()}


def list_changes(before: Mapping[str, str], now: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the words that tell what changed, by the path: the name, or the parameters that differ.

    >>> list_changes({"a.f": "(x=(), y=1)", "a.g": "()"}, {"a.f": "(x=(), y=2, z=())", "a.h": ""})
    {'a.f': ['y', 'z'], 'a.g': ['g'], 'a.h': ['h']}
    """
    changes = {}
    for path in sorted({*before, *now}):
        if path not in before or path not in now:
            changes[path] = [path.rpartition(".")[2]]
        elif before[path] != now[path]:
            pieces = set(before[path][1:-1].split(", ")) ^ set(now[path][1:-1].split(", "))
            words = {re.split("[=*]", piece.lstrip("*"))[0] for piece in pieces}
            changes[path] = sorted(filter(str.isidentifier, words)) or [path.rpartition(".")[2]]
    return changes


def list_unexplained(changes: Mapping[str, list[str]], entry: str) -> list[str]:
    """Return the paths with a word that the text of a changelog does not have.

    >>> list_unexplained({"a.f": ["y", "z"], "a.g": ["g"]}, "- `f(y=2)`: y is 2 by default. `g` is gone.")
    ['a.f: z']
    """
    mentioned = set(re.findall(r"\w+", entry))
    missing = {path: [word for word in words if word not in mentioned] for path, words in changes.items()}
    return [f"{path}: {', '.join(words)}" for path, words in missing.items() if words]


if __name__ == "__main__":
    if sys.argv[1:] != ["--write"]:
        sys.exit("python -m tests.public_names --write")
    LISTING.write_text(write_listing(list_names()), encoding="utf-8")
