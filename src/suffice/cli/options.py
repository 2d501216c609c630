"""Options that many commands have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from suffice.model_types import KINDS, TASKS

F = TypeVar("F", bound=Callable[..., Any])


def table_options(command: F) -> F:
    """Add what says how a table is read."""
    for option in (
        click.option("--query", metavar="SQL", help="A SELECT over the table, which is called data in it."),
        click.option("--delimiter", metavar="CHAR", help="What separates cells; found out otherwise."),
        click.option("--header/--no-header", default=None, help="Whether the first line holds names."),
        click.option("--encoding", default="utf-8", show_default=True, help="utf-8, utf-16 or latin-1."),
        click.option(
            "--missing", multiple=True, metavar="TEXT", help="A cell that stands for nothing; may be repeated."
        ),
    ):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Write the result as JSON.")
safe_csv_option = click.option(
    "--safe-csv",
    is_flag=True,
    help="Put an apostrophe before cells of CSV that a spreadsheet would run as formulas (=, +, -, @).",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress and no remarks.")
model_argument = click.argument("model", type=click.Path(), metavar="MODEL")
table_argument = click.argument(
    "table", metavar="TABLE", shell_complete=lambda c, p, i: [CompletionItem(i, type="file")]
)


class Named(click.Choice):  # type: ignore[type-arg]
    """One of some names; of a wrong one, the nearest is said."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the name, or say which may be meant."""
        from suffice.tables.errors import nearest

        if value not in self.choices:
            names = ", ".join(map(str, self.choices))
            self.fail(f"{value!r} is none of {names}{nearest(str(value), map(str, self.choices))}", parameter, context)
        return value


def _model_file(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a model's file that cannot be written, before the work is done; it may be a URL."""
    from suffice.object_store import local_path, remote_path

    try:
        if value is not None and remote_path(value) is not None:
            return value
        return _in_a_folder(context, parameter, None if value is None else local_path(value))
    except (ImportError, ValueError) as error:
        raise click.BadParameter(str(error)) from None


def _in_a_folder(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a file that cannot be written, before the work is done."""
    from pathlib import Path

    from suffice.object_store import scheme_of

    if value is not None and value != "-":
        place = Path(value)
        if scheme_of(value) is not None and not place.parent.is_dir():
            raise click.BadParameter(f"{value} is a URL, and only models are written to URLs: name a file, and copy it")
        if not value:
            raise click.BadParameter("the name of the file is empty: give one")
        if place.is_dir():
            raise click.BadParameter(f"{value} is a folder: name a file")
        if not place.parent.is_dir():
            raise click.BadParameter(f"there is no folder {place.parent} to write to")
    return value


def output_option(what: str, **more: Any) -> Callable[[F], F]:
    """Return the option of the file that is written."""
    more = {"callback": _in_a_folder, **more}
    return click.option("-o", "--output", type=click.Path(), metavar="FILE", help=what, **more)


def model_output_option(what: str, **more: Any) -> Callable[[F], F]:
    """Return the option of the file, or the URL, that a model is saved to."""
    return output_option(what, callback=_model_file, **more)


def _columns(context: click.Context, incomplete: str, suffix: str = "") -> list[CompletionItem]:
    """Return the columns of the table that was named before."""
    words = [context.params.get("table"), *context.args, *getattr(context, "_protected_args", [])]
    tables = [str(word) for word in words if word and word != "-" and not str(word).startswith("-")]
    if not tables:
        return []
    try:
        names = opened(tables[0] if context.params.get("table") else tables[-1]).schema().names
    except Exception:
        return []
    return [CompletionItem(name + suffix) for name in names if name.startswith(incomplete)]


def complete_column(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a column."""
    return _columns(context, incomplete)


def complete_kind(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete COLUMN=KIND."""
    column, equals, kind = incomplete.partition("=")
    if equals:
        return [CompletionItem(f"{column}={each}") for each in KINDS if each.startswith(kind)]
    return _columns(context, incomplete, "=")


def schema_options(command: F) -> F:
    """Add what says what columns are."""
    for option in (
        click.option(
            "-t",
            "--target",
            required=True,
            metavar="COLUMN",
            help="The column to predict.",
            shell_complete=complete_column,
        ),
        click.option(
            "--kind",
            multiple=True,
            metavar="COLUMN=KIND",
            help=f"What a column is: {', '.join(KINDS)}; may be repeated.",
            shell_complete=complete_kind,
        ),
        click.option(
            "--ignore", multiple=True, metavar="COLUMN", help="A column to leave out.", shell_complete=complete_column
        ),
        click.option(
            "--task",
            type=Named(TASKS),
            help="What the target is; found out otherwise.",
        ),
    ):
        command = option(command)
    return command


def kinds_of(kind: tuple[str, ...], ignore: tuple[str, ...]) -> dict[str, str]:
    """Return the kinds of columns that were asked for."""
    found = dict.fromkeys(ignore, "ignore")
    for each in kind:
        column, equals, value = each.rpartition("=")
        if not equals or not column:
            raise click.UsageError(f"--kind {each!r} is no COLUMN=KIND, such as zip=category")
        found[column] = value
    return found


def opened(table: str, kinds: dict[str, str] | None = None, **how: Any) -> Any:
    """Return a table as the options say that it is read."""
    from suffice.tables import Dialect, open_table

    delimiter = how.get("delimiter")
    delimiter = {"\\t": "\t", "tab": "\t"}.get(delimiter, delimiter) if delimiter else None
    if delimiter is not None and len(delimiter) != 1:
        raise click.UsageError(f"--delimiter must be one character, or tab; got {delimiter!r}")
    dialect = Dialect(delimiter, how.get("header"), how.get("encoding") or "utf-8", tuple(how.get("missing") or ()))
    strings = [name for name, kind in (kinds or {}).items() if kind in ("category", "text")]
    return open_table(table, query=how.get("query"), dialect=dialect, strings=strings)


def warn_of_formulas(writer: Any, output: str | None, safe_csv: bool) -> None:
    """Say that a spreadsheet would run cells of a file that was written."""
    from suffice.cli.output import counted, say

    if writer.formulas and output not in (None, "-") and not safe_csv:
        cells = counted(writer.formulas, "cell")
        say(f"a spreadsheet would run {cells} of {output} as formulas: --safe-csv puts an apostrophe there", "warning")


def file_size(path: str) -> int:
    """Return the length of a model's file, or of what a URL names, in bytes."""
    from pathlib import Path

    from suffice.object_store import local_path, remote_path

    remote = remote_path(path)
    return Path(local_path(path)).stat().st_size if remote is None else remote.size()


def check_file(path: str) -> None:
    """Raise if a local file does not exist; URLs are checked when they are opened."""
    from pathlib import Path

    from suffice.object_store import local_path, scheme_of

    if scheme_of(path) in (None, "file") and not Path(local_path(path)).exists():
        raise FileNotFoundError(f"there is no file {path}: check its name and folder")


def loaded(path: str) -> Any:
    """Return the model of a table that a file holds."""
    check_file(path)  # before the seconds that libraries take to load
    import suffice
    from suffice.tables import TableError

    model = suffice.load(path)
    if isinstance(model, suffice.TextClassifier):
        raise TableError(f"{path} holds a model of text: use suffice text")
    if not isinstance(model, suffice.TableModel):
        raise TableError(f"{path} holds a {type(model).__name__}, not a model of a table: use it from Python")
    return model


def save(model: Any, path: str) -> None:
    """Save a model, or name its file where that fails."""
    from suffice.tables.table_writer import describe_write_error

    try:
        model.save(path)
    except OSError as error:
        if error.strerror is None:  # of an object store, which names the URL
            raise
        raise OSError(error.errno, describe_write_error(path, error)) from None
