"""Arguments and options that several commands share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

import click
from click.shell_completion import CompletionItem

from suffice.model_types import KINDS, TASKS, ModelType, TextModelType

F = TypeVar("F", bound=Callable[..., Any])


def list_models(models: Iterable[ModelType | TextModelType]) -> str:
    """Return the list of models that ends the help of a command."""
    return "\b\nModels:\n" + "\n".join(f"  {model.name:<12} {model.title}" for model in models)


def table_options(command: F) -> F:
    """Add the options that say how a table is read."""
    options = (
        click.option("--query", metavar="SQL", help="SELECT statement over the table, which is called data."),
        click.option("--delimiter", metavar="CHAR", show_default="detected", help="Delimiter of cells."),
        click.option(
            "--header/--no-header",
            default=None,
            show_default="detected",
            help="Whether the first line has column names.",
        ),
        click.option("--encoding", default="utf-8", show_default=True, help="Encoding: utf-8, utf-16 or latin-1."),
        click.option("--missing", multiple=True, metavar="TEXT", help="Value of missing cells; may be repeated."),
        click.option(
            "--decimal", type=Named([".", ","]), show_default="detected", help="Decimal separator of numbers."
        ),
        click.option(
            "--thousands",
            type=Named([",", ".", "space", "'", "none"]),
            show_default="detected",
            help="Separator of thousands of numbers.",
        ),
        click.option(
            "--day-first/--month-first",
            "day_first",
            default=None,
            show_default="detected",
            help="What dates such as 03/04/2024 begin with.",
        ),
        click.option("--sheet", metavar="NAME", help="Name or number of the sheet of a workbook."),
    )
    return _add_options(command, options)


def _add_options(command: F, options: Sequence[Callable[[F], F]]) -> F:
    """Add options to a command; the help lists them in this order."""
    for option in reversed(options):
        command = option(command)
    return command


json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
safe_csv_option = click.option(
    "--safe-csv",
    is_flag=True,
    help="Put an apostrophe before CSV cells that a spreadsheet would run as formulas (=, +, -, @).",
)
quiet_option = click.option("-q", "--quiet", is_flag=True, help="Print no progress and no notes.")
model_argument = click.argument("model", type=click.Path(), metavar="MODEL")
table_argument = click.argument(
    "table", metavar="TABLE", shell_complete=lambda c, p, i: [CompletionItem(i, type="file")]
)


def seed_option(default: int | None = 0) -> Callable[[F], F]:
    """Return the option of the random seed."""
    return click.option("--seed", type=int, default=default, show_default=default is not None, help="Random seed.")


class Named(click.Choice):  # type: ignore[type-arg]
    """A choice that names the closest value where a value is wrong."""

    def convert(self, value: Any, parameter: click.Parameter | None, context: click.Context | None) -> Any:
        """Return the value, or raise with the closest one."""
        from suffice.tables.errors import nearest

        if value not in self.choices:
            names = ", ".join(map(str, self.choices))
            self.fail(
                f"{value!r} is not one of {names}{nearest(str(value), map(str, self.choices))}", parameter, context
            )
        return value


def _check_model_path(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse a model file that cannot be written, before the model is fitted; URLs are allowed."""
    from suffice.object_store import local_path, remote_path

    try:
        if value is not None and remote_path(value) is not None:
            return value
        return _check_path(context, parameter, None if value is None else local_path(value))
    except (ImportError, ValueError) as error:
        raise click.BadParameter(str(error)) from None


def _check_path(context: click.Context, parameter: click.Parameter, value: str | None) -> str | None:
    """Refuse an output file that cannot be written, before the work is done."""
    from pathlib import Path

    from suffice.object_store import scheme_of

    if value is not None and value != "-":
        path = Path(value)
        if scheme_of(value) is not None and not path.parent.is_dir():
            raise click.BadParameter(f"{value} is a URL, and only models are written to URLs: name a file, and copy it")
        if not value:
            raise click.BadParameter("the file name is empty")
        if path.is_dir():
            raise click.BadParameter(f"{value} is a folder: name a file")
        if not path.parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.parent} to write to")
    return value


def output_option(description: str, **more: Any) -> Callable[[F], F]:
    """Return the option of the output file."""
    more = {"callback": _check_path, **more}
    return click.option("-o", "--output", type=click.Path(), metavar="FILE", help=description, **more)


def model_output_option(description: str, **more: Any) -> Callable[[F], F]:
    """Return the option of the file, or the URL, that a model is saved to."""
    return output_option(description, callback=_check_model_path, **more)


def _complete_columns(context: click.Context, incomplete: str, suffix: str = "") -> list[CompletionItem]:
    """Return the columns of the table that the command line names."""
    from suffice.cli.files import open_table

    # An option without its value ends the parsing: the arguments before it are then in context.args.
    words = [word for word in context.args if not word.startswith("-")]
    table = context.params.get("table") or (words[-1] if words else None)
    if table in (None, "-"):
        return []
    try:
        names = open_table(str(table)).schema().names
    except Exception:
        return []
    return [CompletionItem(name + suffix) for name in names if name.startswith(incomplete)]


def complete_column(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete the name of a column."""
    return _complete_columns(context, incomplete)


def complete_kind(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Complete COLUMN=KIND."""
    column, equals, kind = incomplete.partition("=")
    if equals:
        return [CompletionItem(f"{column}={each}") for each in KINDS if each.startswith(kind)]
    return _complete_columns(context, incomplete, "=")


def schema_options(command: F, target_required: bool = True) -> F:
    """Add the options for the target and the column kinds."""
    options = (
        click.option(
            "-t",
            "--target",
            required=target_required,
            metavar="COLUMN",
            help="Column to predict.",
            shell_complete=complete_column,
        ),
        click.option(
            "--kind",
            multiple=True,
            metavar="COLUMN=KIND",
            show_default="inferred",
            help=f"Kind of a column: {', '.join(KINDS)}; may be repeated.",
            shell_complete=complete_kind,
        ),
        click.option(
            "--ignore",
            multiple=True,
            metavar="COLUMN",
            help="Column to leave out; may be repeated.",
            shell_complete=complete_column,
        ),
        click.option("--task", type=Named(TASKS), show_default="inferred", help="What the target holds."),
    )
    return _add_options(command, options)


def role_options(command: F) -> F:
    """Add the options for columns that say how rows are held out."""
    options = (
        click.option(
            "--group",
            metavar="COLUMN",
            help="Rows with the same value, such as those of a customer, are held out together; no feature.",
            shell_complete=complete_column,
        ),
        click.option(
            "--time",
            metavar="COLUMN",
            help="Dates or numbers: models are compared on rows later than those they were fitted to; no feature.",
            shell_complete=complete_column,
        ),
        click.option(
            "--weight",
            "--weights",
            "weight",
            metavar="COLUMN",
            help="How much each row counts, in the fit and in all measures; no feature.",
            shell_complete=complete_column,
        ),
    )
    return _add_options(command, options)


def column_kinds(kind: tuple[str, ...], ignore: tuple[str, ...]) -> dict[str, str]:
    """Return the column kinds of the options --kind and --ignore."""
    found = dict.fromkeys(ignore, "ignore")
    for each in kind:
        column, equals, value = each.rpartition("=")
        if not equals or not column:
            raise click.UsageError(f"--kind {each!r} is not COLUMN=KIND, such as zip=category")
        found[column] = value
    return found
