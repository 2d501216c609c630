"""Export of a fitted model of a table: an ONNX graph, one Python file, or JSON."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from suffice.tables.errors import UsageError, nearest
from suffice.tables.export import runtime
from suffice.tables.export.document import export_document
from suffice.tables.table_writer import replace_file

#: The forms in which a model is written.
FORMS = ("onnx", "python", "json")
_PLACE = 'MODEL: dict[str, Any] = json.loads("{}")\n'


def write_model(model: Any, path: str | os.PathLike[str], to: str) -> Path:
    """Write a fitted model of a table, and return the path; see :meth:`suffice.TableModel.export`."""
    if to not in FORMS:
        raise UsageError(f"to must be one of {', '.join(FORMS)}; got {to!r}{nearest(str(to), FORMS)}")
    document = export_document(model)
    if to == "onnx":
        from suffice.tables.export.onnx_graph import build_onnx

        written = build_onnx(document).SerializeToString()
    else:
        written = (format_json(document) if to == "json" else format_python(document)).encode()
    with replace_file(path) as temporary:
        temporary.write_bytes(written)
    return Path(path)


def format_json(document: dict[str, Any]) -> str:
    """Return a document as JSON, with a line for each column, feature and term; numbers have all their digits.

    Examples
    --------
    >>> print(format_json({"task": "numbers", "terms": [{"coef": [0.1]}]}), end="")
    {
     "task": "numbers",
     "terms": [
      {"coef": [0.1]}
     ]
    }
    """
    lines = []
    for name, value in document.items():
        if isinstance(value, list) and value and isinstance(value[0], dict):
            items = ",\n  ".join(json.dumps(item) for item in value)
            lines.append(f" {json.dumps(name)}: [\n  {items}\n ]")
        else:
            lines.append(f" {json.dumps(name)}: {json.dumps(value)}")
    return "{\n" + ",\n".join(lines) + "\n}\n"


def format_python(document: dict[str, Any]) -> str:
    """Return a Python file with the document, and the functions that predict from it."""
    source = Path(runtime.__file__).read_text(encoding="utf-8")
    assert source.count(_PLACE) == 1
    literal = format_json(document).replace("'", "\\u0027")  # JSON is ASCII here: a raw string holds it as it is
    return source.replace(_PLACE, f"MODEL: dict[str, Any] = json.loads(\n    r'''{literal}'''\n)\n")
