"""suffice text: classifiers of documents, from folders, lines and standard input."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from suffice.cli.options import Named, check_file, json_option, model_output_option, quiet_option, save
from suffice.model_types import TEXT_MODEL_TYPES
from suffice.printable import printable

#: So many files that could not be read are named.
_NAMED = 10


class _Group(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands, in the order in which they are used."""
        return list(self.commands)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command that is asked for, or say which may be meant."""
        from suffice.cli.app import check_command

        check_command(args, self.commands, context)
        return super().resolve_command(context, args)


@click.group(cls=_Group)
def text() -> None:
    """Classify documents: from folders, files of lines, standard input.

    DOCUMENTS is a folder with a folder of files for each class, or a file of lines: class, tab, document.
    """


documents_argument = click.argument("documents", metavar="DOCUMENTS")
separator_option = click.option(
    "--separator", default="\t", show_default="tab", help="What follows the class in a line."
)


@text.command("fit")
@documents_argument
@click.option(
    "-m",
    "--model",
    type=Named(["auto", *TEXT_MODEL_TYPES]),
    default="auto",
    show_default=True,
    help="Which model to fit.",
)
@click.option(
    "--features",
    type=Named(["words", "bigrams", "characters"]),
    default="words",
    show_default=True,
    help="What is counted.",
)
@click.option("--hashed", is_flag=True, help="The same memory for any vocabulary.")
@separator_option
@model_output_option("Where to save the model.")
@json_option
@quiet_option
def fit_text(
    documents: str,
    model: str,
    features: str,
    hashed: bool,
    separator: str,
    output: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Fit a classifier to DOCUMENTS."""
    import time
    import warnings

    from suffice import TextClassifier
    from suffice.cli.output import print_line, say, share, show_json, show_table, watching

    start = time.perf_counter()
    with watching(quiet) as watch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        seen = _Watched(_source(documents, separator), watch)
        fitted = TextClassifier(model, features=features, vocabulary="hashed" if hashed else "exact")
        fitted.fit(iter(seen))
    for each in caught:
        say(str(each.message), "warning")
    seen.say_skipped()
    if output is not None:
        save(fitted, output)
    seconds = time.perf_counter() - start
    candidates = [vars(each) for each in getattr(fitted, "selection_", [])]
    about = {
        "documents": seen.count,
        "classes": fitted.classes_,
        "model": fitted.model_,
        "candidates": candidates,
        "seconds": seconds,
        "saved": output,
    }
    if as_json:
        show_json(about)
        return
    print_line(f"{seen.count:,} documents of {len(fitted.classes_)} classes in {seconds:.1f} s", "bold")
    if candidates:
        rows = [[each["model"], f"{-each['log_score']:.4f}", share(each["accuracy"])] for each in candidates]
        print_line("judged by documents that were held out:")
        show_table(["model", "log loss", "accuracy"], rows, marked=0)
    print_line(f"chosen: {fitted.model_}" if model == "auto" else f"fitted: {fitted.model_}", "bold")
    for label, words in fitted.top_words(n=8).items():
        print_line(f"  {label!s:<12} {', '.join(word for word, _ in words)}")
    if quiet:
        return
    if output is None:
        say("the model was not saved: give -o model.suffice", "warning")
    else:
        say(f"saved to {output}")


class _Watched:
    """Batches of documents, counted as they go by."""

    def __init__(self, batches: Any, watch: Any = None) -> None:
        self.count = 0
        self._batches = batches
        self._watch = watch

    def say_skipped(self) -> None:
        """Name the files that could not be read."""
        from suffice.cli.output import counted, say

        skipped = getattr(self._batches, "skipped", [])
        for path, why in skipped[:_NAMED]:
            say(f"{path} was left out: {why}", "warning")
        if len(skipped) > _NAMED:
            say(f"{counted(len(skipped) - _NAMED, 'more file')} were left out", "warning")

    def __iter__(self) -> Any:
        for texts, labels in self._batches:
            self.count += len(texts)
            if self._watch is not None:
                self._watch("reading", self.count, None)
            yield texts, labels


def _source(documents: str, separator: str) -> Any:
    from suffice.tables import TableError
    from suffice.text.sources import folder, lines

    place = Path(documents)
    if place.is_dir():
        if not any(each.is_dir() for each in place.iterdir()):
            raise TableError(
                f"{documents} holds no folders: there must be one for each class, with its documents in it"
            )
        return folder(place)
    if not place.exists():
        raise FileNotFoundError(f"there is no folder or file {documents}: check its name")
    if place.stat().st_size == 0:
        raise TableError(f"{documents} is empty: there is nothing to learn from")
    return lines(place, separator)


def _listed(texts: Any) -> Any:
    """Return documents one by one, where they lie in one buffer."""
    from suffice.text.sources import TextBuffer

    return texts.split() if isinstance(texts, TextBuffer) else texts


def _loaded(path: str) -> Any:
    check_file(path)
    import suffice
    from suffice.tables import TableError

    model = suffice.load(path)
    if not isinstance(model, suffice.TextClassifier):
        raise TableError(
            f"{path} holds a {type(model).__name__}, not a model of text: use suffice info to see what it is"
        )
    return model


model_argument = click.argument("model", type=click.Path(), metavar="MODEL")


def _texts(given: tuple[str, ...], by_line: bool) -> list[tuple[str, bytes]]:
    """Return what each document is called, and its bytes."""
    found: list[tuple[str, bytes]] = []
    for name in given or ("-",):
        if name != "-" and Path(name).is_dir():
            raise click.UsageError(f"{name} is a folder: name files, as {name}/*")
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        if by_line:
            found.extend((f"{name}:{number}", line) for number, line in enumerate(data.splitlines(), 1) if line.strip())
        else:
            found.append((name, data))
    return found


@text.command("predict")
@model_argument
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--lines", "by_line", is_flag=True, help="Every line is a document.")
@json_option
def predict_text(model: str, files: tuple[str, ...], by_line: bool, as_json: bool) -> None:
    """Classify FILES, or standard input."""
    from suffice.cli.output import show_json

    fitted = _loaded(model)
    found = _texts(files, by_line)
    if not found:
        return
    p = fitted.predict_proba([data for _, data in found])
    rows = [(name, fitted.classes_[row.argmax()], float(row.max())) for (name, _), row in zip(found, p, strict=True)]
    if as_json:
        show_json([{"document": name, "class": label, "probability": sure} for name, label, sure in rows])
        return
    shown = printable if sys.stdout.isatty() else str
    for name, label, sure in rows:
        sys.stdout.write(f"{shown(str(label))}\t{sure:.4f}\t{shown(name)}\n")


@text.command("explain")
@model_argument
@click.argument("words", nargs=-1)
def explain_text(model: str, words: tuple[str, ...]) -> None:
    """Say which words of a text speak for its class: of WORDS, or of standard input."""
    from suffice.cli.output import print_line

    print_line(str(_loaded(model).explain(" ".join(words) if words else sys.stdin.buffer.read())))


@text.command("evaluate")
@model_argument
@documents_argument
@separator_option
@json_option
def evaluate_text(model: str, documents: str, separator: str, as_json: bool) -> None:
    """Measure how well MODEL classifies DOCUMENTS whose classes are known."""
    from suffice.cli.evaluating import show_evaluation
    from suffice.cli.output import show_json
    from suffice.metrics import Evaluation
    from suffice.statistics import Labels

    fitted = _loaded(model)
    labels = Labels.of(fitted.classes_)
    seen = Evaluation("classes", labels)
    read = _Watched(_source(documents, separator))
    for texts, truth in read:
        codes = labels._places(tuple(truth))
        strange = [name for name, code in zip(truth, codes, strict=True) if code < 0]
        seen.add(fitted.predict_proba(_listed(texts)), codes, strange)
    read.say_skipped()
    if as_json:
        show_json(
            {
                "rows": seen.rows,
                "measures": seen.summary(),
                "confusion": seen.confusion,
                "per_class": seen.per_class(),
                "unknown_classes": seen.unknown,
            }
        )
        return
    show_evaluation(seen)


@text.command("update")
@model_argument
@documents_argument
@separator_option
@click.option("--forget", "forgetting", is_flag=True, help="Unlearn the documents instead.")
@model_output_option("Where to save the model; in its own place otherwise.")
def update_text(model: str, documents: str, separator: str, forgetting: bool, output: str | None) -> None:
    """Learn DOCUMENTS as well, or unlearn them."""
    from suffice.cli.output import say

    fitted = _loaded(model)
    seen = _Watched(_source(documents, separator))
    for texts, labels in seen:
        (fitted.forget if forgetting else fitted.partial_fit)(texts, labels)
    seen.say_skipped()
    save(fitted, output or model)
    say(f"{seen.count:,} documents {'forgotten' if forgetting else 'learnt'}; saved to {output or model}")
