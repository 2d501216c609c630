"""Tables and models that the command line names: opened, loaded, saved and checked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click


def open_table(table: str, kinds: dict[str, str] | None = None, *, tell: bool = True, **options: Any) -> Any:
    """Return a table, read with the options of :func:`suffice.cli.options.table_options`.

    Parameters
    ----------
    table
        The table.
    kinds
        Kinds of columns that the user has set.
    tell
        Whether notes about the table are printed; a schema has them too.
    options
        The options.
    """
    from suffice.tables import Dialect
    from suffice.tables import open_table as open_source

    delimiter = options.get("delimiter")
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter) if delimiter else None
    if delimiter is not None and len(delimiter) != 1:
        raise click.UsageError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    dialect = Dialect(
        delimiter,
        options.get("header"),
        options.get("encoding") or "utf-8",
        tuple(options.get("missing") or ()),
        options.get("decimal"),
        {"none": "", "space": " "}.get(options.get("thousands") or "", options.get("thousands")),
        options.get("sheet"),
        options.get("day_first"),
    )
    strings = [name for name, kind in (kinds or {}).items() if kind in ("category", "text")]
    source = open_source(table, query=options.get("query"), dialect=dialect, strings=strings)
    if tell:
        from suffice.cli.output import say

        for note in source.notes:
            say(note, "warning")
    return source


def check_file(path: str) -> None:
    """Raise if a local file does not exist; URLs are checked when they are opened."""
    from pathlib import Path

    from suffice.object_store import local_path, scheme_of

    if scheme_of(path) in (None, "file") and not Path(local_path(path)).exists():
        raise FileNotFoundError(f"there is no file {path}: check its name and folder")


def file_size(path: str) -> int:
    """Return the size of a file, or of the object of a URL, in bytes."""
    from pathlib import Path

    from suffice.object_store import local_path, remote_path

    remote = remote_path(path)
    return Path(local_path(path)).stat().st_size if remote is None else remote.size()


def is_formula(model: Any) -> bool:
    """Whether a model was fitted by a formula."""
    from suffice.tables.fitted import FittedTable

    if isinstance(model, FittedTable):  # formulas are slow to import
        return False
    from suffice.formula import FormulaModel

    return isinstance(model, FormulaModel)


def read_model(path: str, estimator: bool = False) -> Any:
    """Return the model of a file; that of a table without the estimator that fits it, which is slow to import.

    Parameters
    ----------
    path
        The file.
    estimator
        Whether a model of a table is the estimator, :class:`suffice.TableModel`, after all.
    """
    check_file(path)  # before the slow imports
    from suffice import store
    from suffice.tables.fitted import FittedTable

    contents = store.read(path)
    if contents.kind == "TableModel" and not estimator:
        return store.restore(path, contents, FittedTable)
    import suffice

    return suffice.load(path)


def load_model(path: str, formulas: bool = False, estimator: bool = False) -> Any:
    """Return the table model of a file, as :func:`read_model`; with ``formulas``, the model of a formula too."""
    model = read_model(path, estimator)
    from suffice.tables.errors import TableError
    from suffice.tables.fitted import FittedTable

    if isinstance(model, FittedTable):
        return model
    if is_formula(model):
        if formulas:
            return model
        from suffice.cli.formulas import COMMANDS

        raise TableError(f"{path} is the model of a formula, {model.formula}: it goes with {COMMANDS}")
    from suffice.text import TextClassifier

    if isinstance(model, TextClassifier):
        raise TableError(f"{path} is a text model: use suffice text")
    raise TableError(f"{path} is a {type(model).__name__}, not a table model: load it in Python")


def save_model(model: Any, path: str) -> None:
    """Save a model; an error names the file."""
    from suffice.tables.table_writer import describe_write_error

    try:
        model.save(path)
    except OSError as error:
        if error.strerror is None:  # errors of object stores name the URL themselves
            raise
        raise OSError(error.errno, describe_write_error(path, error)) from None


def read_blocks(model: Any, source: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the batches of a table, each with its encoded features; one empty batch for a table without rows."""
    import pyarrow as pa

    from suffice.tables.encoding import Block

    empty = True
    for batch, block in model.blocks(source):
        empty = False
        yield batch, block
    if empty:
        schema = source.schema()
        batch = pa.RecordBatch.from_arrays([pa.nulls(0, kind) for kind in schema.types], schema=schema)
        yield batch, Block.of(batch, model.schema_)


def key_columns(model: Any, names: list[str]) -> list[str]:
    """Return the columns that identify rows: identifiers that the model ignores, and columns it does not know."""
    schema = model.schema_
    known = {field.name for field in schema.fields if field.kind != "ignore" or "identifier" not in field.why}
    return [name for name in names if name not in known]


def warn_of_formulas(writer: Any, output: str | None, safe_csv: bool) -> None:
    """Print a warning if a spreadsheet would run cells of the output as formulas."""
    from suffice.cli.output import counted, say

    if writer.formulas and output not in (None, "-") and not safe_csv:
        cells = counted(writer.formulas, "cell")
        say(f"a spreadsheet would run {cells} of {output} as formulas: use --safe-csv", "warning")
