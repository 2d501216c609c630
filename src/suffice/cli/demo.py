"""suffice demo: a tour of the commands, on small data sets of the package."""

from __future__ import annotations

import shutil
import time
from pathlib import Path
from typing import Any

import click


@click.command()
@click.option("--folder", type=click.Path(), default="suffice-demo", show_default=True, help="Folder to write to.")
def demo(folder: str) -> None:
    """Run a tour of the commands, which takes seconds.

    It fits a table, classifies text and mail, explains predictions, and writes a report.
    """
    from suffice.cli.mail.demo import prepare_folder
    from suffice.cli.output import print_line, rule
    from suffice.demo import houses

    place = prepare_folder(Path(folder))
    shutil.copy(houses(), place / "houses.csv")
    start = time.perf_counter()
    model = _table(place)
    _text(place)
    rule("4. Mail: spam or ham, and why?")
    _mail(place)
    rule("5. A report")
    _report(model, place)
    print_line()
    print_line(f"{time.perf_counter() - start:.0f} s; the files are in {place}/", "bold")
    print_line("next: suffice fit YOUR.csv --target COLUMN -o model.suffice; suffice --help")


def _mail(place: Path) -> None:
    from suffice.cli.mail.demo import run_demo
    from suffice.cli.output import print_line

    run_demo(place)
    print_line()


def _table(place: Path) -> Any:
    from suffice.cli.fit import show_fit
    from suffice.cli.output import print_line, rule
    from suffice.tables import TableModel, open_table
    from suffice.tables.table_writer import open_writer

    rule("1. A table: which houses sell within a month?")
    print_line(f"$ suffice fit {place}/houses.csv --target sold_fast -o {place}/houses.suffice", "cyan")
    source = open_table(place / "houses.csv")
    model = TableModel().fit(source, "sold_fast")
    show_fit(model, source.name)
    model.save(place / "houses.suffice")
    print_line()
    rule("2. Explain a prediction, and forget rows")
    print_line(f"$ suffice explain {place}/houses.suffice {place}/houses.csv --row 1", "cyan")
    first = next(iter(source.batches())).slice(0, 1)
    print_line(str(model.explain(first)[0]))
    print_line()
    bayes = TableModel("nb").fit(source, "sold_fast")
    bayes.save(place / "houses-nb.suffice")
    some = next(iter(source.batches())).slice(0, 100)
    with open_writer(str(place / "some-rows.csv")) as writer:
        writer.write(some)
    print_line(f"$ suffice forget {place}/houses-nb.suffice {place}/some-rows.csv", "cyan")
    found = bayes.forget(some)
    print_line(
        f"{found['rows']} rows forgotten, {found['left']} left: the sums are those of a fit to the remaining rows, to "
        f"{found['digits_kept']:.1f} of 15.9 digits"
    )
    print_line()
    return model


def _text(place: Path) -> None:
    from suffice import TextClassifier
    from suffice.cli.output import print_line, rule
    from suffice.demo import messages
    from suffice.text.sources import lines

    rule("3. Text: spam, work or family?")
    rows = [line.split("\t", 1) for line in messages().read_text(encoding="utf-8").splitlines()[1:]]
    labels, texts = [label for label, _ in rows], [text for _, text in rows]
    (place / "messages.txt").write_text("".join(f"{label}\t{text}\n" for label, text in rows), encoding="utf-8")
    print_line(f"$ suffice text fit {place}/messages.txt -o {place}/messages.suffice", "cyan")
    model = TextClassifier().fit(iter(lines(place / "messages.txt")))
    model.save(place / "messages.suffice")
    print_line(f"{len(texts)} messages of {len(set(labels))} classes")
    for label, words in model.top_words(n=6).items():
        print_line(f"  {label:<8} {', '.join(word for word, _ in words)}")
    for message in (
        "mum, click here to claim your free prize",
        "can you send me the slides before the meeting on monday?",
    ):
        print_line(f'$ suffice text explain {place}/messages.suffice "{message}"', "cyan")
        print_line(str(model.explain(message)))
    print_line()


def _report(model: Any, place: Path) -> None:
    from suffice.cli.output import print_line, progress_bar
    from suffice.report import report

    print_line(f"$ suffice report {place}/houses.suffice {place}/houses.csv -o {place}/report.html", "cyan")
    with progress_bar(quiet=False) as watch:
        report(model, place / "houses.csv", place / "report.html", watch=watch)
    print_line(f"open {place / 'report.html'} in a browser")
