"""Models within models, in one file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from suffice.store import Contents


def nested(kind: str, settings: Mapping[str, Any], parts: Mapping[str, Contents]) -> Contents:
    """Return the contents of a model's file that holds other models.

    Examples
    --------
    >>> inner = Contents("Mean", {"alpha": 0.5}, {}, {})
    >>> settings, parts = unnested(nested("Whole", {"a": 1}, {"part": inner}))
    >>> settings, parts["part"].kind, parts["part"].settings
    ({'a': 1}, 'Mean', {'alpha': 0.5})
    """
    return Contents(
        kind=kind,
        settings={
            "own": dict(settings),
            "parts": {name: {"kind": part.kind, "settings": dict(part.settings)} for name, part in parts.items()},
        },
        statistics={f"{name}/{key}": each for name, part in parts.items() for key, each in part.statistics.items()},
        arrays={f"{name}/{key}": each for name, part in parts.items() for key, each in part.arrays.items()},
    )


def unnested(contents: Contents) -> tuple[dict[str, Any], dict[str, Contents]]:
    """Return the settings of a model and the contents of the models within it."""
    settings = contents.settings
    parts = {
        name: Contents(
            part["kind"],
            part["settings"],
            _within(name, contents.statistics),
            _within(name, contents.arrays),
            contents.families,
        )
        for name, part in settings["parts"].items()
    }
    return settings["own"], parts


def _within(name: str, named: Mapping[str, Any]) -> dict[str, Any]:
    return {key.partition("/")[2]: each for key, each in named.items() if key.partition("/")[0] == name}
