"""suffice text: classification of documents."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import click

from suffice.cli.files import check_file, save_model
from suffice.cli.options import Named, json_option, list_models, model_argument, model_output_option, quiet_option
from suffice.model_types import TEXT_MODEL_TYPES
from suffice.printable import printable

#: The number of unreadable files that are named.
_NAMED = 10


class _Group(click.Group):
    def list_commands(self, context: click.Context) -> list[str]:
        """Return the names of the commands, in the order of definition."""
        return list(self.commands)

    def resolve_command(self, context: click.Context, args: list[str]) -> Any:
        """Return the command of the arguments; raise with the closest name if there is none."""
        from suffice.cli.app import check_command

        check_command(args, self.commands, context)
        return super().resolve_command(context, args)


@click.group(cls=_Group)
def text() -> None:
    """Fit, apply and explain text classifiers.

    DOCUMENTS is a folder with a subfolder of files for each class, or a text file with a document in each line: class,
    tab, document.
    """


documents_argument = click.argument("documents", metavar="DOCUMENTS")
separator_option = click.option(
    "--separator", default="\t", show_default="tab", help="Separator of class and document."
)


@text.command("fit", epilog=list_models(TEXT_MODEL_TYPES.values()))
@documents_argument
@click.option(
    "-m",
    "--model",
    type=Named(["auto", *TEXT_MODEL_TYPES]),
    default="auto",
    show_default=True,
    help="Model to fit.",
)
@click.option(
    "--features",
    type=Named(["words", "bigrams", "characters"]),
    default="words",
    show_default=True,
    help="Features to count.",
)
@click.option("--hashed", is_flag=True, help="Hash the words: constant memory for any vocabulary.")
@separator_option
@model_output_option("File or URL to save the model to.")
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
    """Fit a text classifier to DOCUMENTS.

    --model auto compares the models by cross-validation, and keeps the one with the lowest log loss.
    """
    import time
    import warnings

    from suffice import TextClassifier
    from suffice.cli.output import print_line, progress_bar, say, share, show_json, show_table

    start = time.perf_counter()
    with progress_bar(quiet) as watch, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        batches = _Batches(_open_documents(documents, separator), watch)
        fitted = TextClassifier(model, features=features, vocabulary="hashed" if hashed else "exact")
        fitted.fit(iter(batches))
    for each in caught:
        say(str(each.message), "warning")
    batches.warn_of_skipped()
    if output is not None:
        save_model(fitted, output)
    seconds = time.perf_counter() - start
    candidates = [vars(each) for each in getattr(fitted, "selection_", [])]
    summary = {
        "documents": batches.count,
        "classes": fitted.classes_,
        "model": fitted.model_,
        "candidates": candidates,
        "seconds": seconds,
        "saved": output,
    }
    if as_json:
        show_json(summary)
        return
    print_line(f"{batches.count:,} documents of {len(fitted.classes_)} classes in {seconds:.1f} s", "bold")
    if candidates:
        rows = [[each["model"], f"{-each['log_score']:.4f}", share(each["accuracy"])] for each in candidates]
        print_line("cross-validation:")
        show_table(["model", "log loss", "accuracy"], rows, marked=0)
    print_line(f"chosen: {fitted.model_}" if model == "auto" else f"fitted: {fitted.model_}", "bold")
    for label, words in fitted.top_words(n=8).items():
        print_line(f"  {label!s:<12} {', '.join(word for word, _ in words)}")
    if quiet:
        return
    if output is None:
        say("the model was not saved: use -o model.suffice", "warning")
    else:
        say(f"saved to {output}")


class _Batches:
    """Batches of documents, which are counted as they are read."""

    def __init__(self, batches: Any, watch: Any = None) -> None:
        self.count = 0
        self._batches = batches
        self._watch = watch

    def warn_of_skipped(self) -> None:
        """Print the files that could not be read."""
        from suffice.cli.output import counted, say

        skipped = getattr(self._batches, "skipped", [])
        for path, why in skipped[:_NAMED]:
            say(f"{path} was skipped: {why}", "warning")
        if len(skipped) > _NAMED:
            say(f"{counted(len(skipped) - _NAMED, 'more file')} skipped", "warning")

    def __iter__(self) -> Any:
        for texts, labels in self._batches:
            self.count += len(texts)
            if self._watch is not None:
                self._watch("reading", self.count, None)
            yield texts, labels


def _open_documents(documents: str, separator: str) -> Any:
    from suffice.tables import TableError
    from suffice.text.sources import folder, lines

    place = Path(documents)
    if place.is_dir():
        if not any(each.is_dir() for each in place.iterdir()):
            raise TableError(f"{documents} has no subfolders: there must be one for each class, with its documents")
        return folder(place)
    if not place.exists():
        raise FileNotFoundError(f"there is no folder or file {documents}: check its name")
    if place.stat().st_size == 0:
        raise TableError(f"{documents} is empty")
    return lines(place, separator)


def _split(texts: Any) -> Any:
    """Return the documents of a batch, which may be in one buffer, as a list."""
    from suffice.text.sources import TextBuffer

    return texts.split() if isinstance(texts, TextBuffer) else texts


def _load_text_model(path: str, estimator: bool = False) -> Any:
    """Return the text classifier of a file; without the estimator if it only predicts, since that is slow to import."""
    check_file(path)
    from suffice import store

    if not estimator:
        contents = store.read(path)
        if contents.kind == "TextClassifier" and contents.statistics:  # regressions are fitted to their rows again
            from suffice.text.fitted import FittedText

            return store.restore(path, contents, FittedText)
    import suffice
    from suffice.tables import TableError

    model = suffice.load(path)
    if not isinstance(model, suffice.TextClassifier):
        raise TableError(f"{path} is a {type(model).__name__}, not a text model: suffice info describes it")
    return model


def _read_documents(files: tuple[str, ...], by_line: bool) -> list[tuple[str, bytes]]:
    """Return the name and the bytes of each document."""
    found: list[tuple[str, bytes]] = []
    for name in files or ("-",):
        if name != "-" and Path(name).is_dir():
            raise click.UsageError(f"{name} is a folder: name files, such as {name}/*")
        data = sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()
        if by_line:
            found.extend((f"{name}:{number}", line) for number, line in enumerate(data.splitlines(), 1) if line.strip())
        else:
            found.append((name, data))
    return found


@text.command("predict")
@model_argument
@click.argument("files", nargs=-1, type=click.Path())
@click.option("--lines", "by_line", is_flag=True, help="Classify each line.")
@json_option
def predict_text(model: str, files: tuple[str, ...], by_line: bool, as_json: bool) -> None:
    """Predict the class of each of FILES, or of standard input."""
    from suffice.cli.output import show_json

    fitted = _load_text_model(model)
    found = _read_documents(files, by_line)
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
    """Explain the class of WORDS, or of standard input.

    Prints the contribution of each word to the log-odds.
    """
    from suffice.cli.output import print_line

    print_line(str(_load_text_model(model).explain(" ".join(words) if words else sys.stdin.buffer.read())))


@text.command("evaluate")
@model_argument
@documents_argument
@separator_option
@json_option
def evaluate_text(model: str, documents: str, separator: str, as_json: bool) -> None:
    """Measure the predictions of MODEL on DOCUMENTS.

    Prints accuracy, log loss and calibration error, precision and recall of each class, and the confusion matrix.
    """
    from suffice.cli.evaluate import show_evaluation
    from suffice.cli.output import show_json
    from suffice.metrics import Evaluation
    from suffice.statistics import Labels

    fitted = _load_text_model(model)
    labels = Labels.of(fitted.classes_)
    evaluation = Evaluation("classes", labels)
    batches = _Batches(_open_documents(documents, separator))
    for texts, truth in batches:
        codes = labels.find(tuple(truth))
        unknown = [name for name, code in zip(truth, codes, strict=True) if code < 0]
        evaluation.add(fitted.predict_proba(_split(texts)), codes, unknown)
    batches.warn_of_skipped()
    if as_json:
        show_json(
            {
                "rows": evaluation.rows,
                "measures": evaluation.summary(),
                "confusion": evaluation.confusion,
                "per_class": evaluation.per_class(),
                "unknown_classes": evaluation.unknown,
            }
        )
        return
    show_evaluation(evaluation)


@text.command("update")
@model_argument
@documents_argument
@separator_option
@click.option("--forget", "forgetting", is_flag=True, help="Subtract the documents instead.")
@model_output_option("File or URL to save the model to.", show_default="MODEL")
def update_text(model: str, documents: str, separator: str, forgetting: bool, output: str | None) -> None:
    """Add DOCUMENTS to MODEL, or subtract them."""
    from suffice.cli.output import say

    fitted = _load_text_model(model, estimator=True)
    batches = _Batches(_open_documents(documents, separator))
    for texts, labels in batches:
        (fitted.forget if forgetting else fitted.partial_fit)(texts, labels)
    batches.warn_of_skipped()
    save_model(fitted, output or model)
    say(f"{batches.count:,} documents {'forgotten' if forgetting else 'learned'}; saved to {output or model}")
