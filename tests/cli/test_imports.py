"""Commands that work from a model file import none of the libraries that take longer to import than they take."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from suffice import TextClassifier
from suffice.tables import TableModel

TABLE = "a,b,c,day,note,n,size,y\n" + "".join(
    f"{i % 7 + 0.5},{'uvw'[i % 3]},{i % 5},2024-0{i % 9 + 1}-1{i % 10},a {'green' if i % 2 else 'red'} house no {i},"
    f"{i % 4 + i % 3},{i % 7 + i % 5 / 10 + 0.01 * i},{'no' if i % 4 else 'yes'}\n"
    for i in range(60)
)
#: Libraries that fits, and some predictions, need.
ESTIMATORS = ("sklearn", "scipy.stats", "scipy.optimize")
#: Libraries that a table of numbers, names and dates does not need, either.
SLOW = (*ESTIMATORS, "pandas", "scipy", "narwhals", "pyarrow.compute", "rich", "numpy.f2py", "numpy.testing")
#: Columns that a model does not read.
NUMBERS = {"n": "ignore", "size": "ignore"}
CLASSES = ("nb", "gda", "gda-full", "logistic", "softmax", "additive")
TARGETS = {"linear": ("size", "numbers"), "poisson": ("n", "counts")}


def slow_imports(folder: Path, *command: str) -> list[str]:
    """Run a command in a new process, and return which of the slow modules it imported."""
    script = f"""
import sys
from suffice.cli import main
sys.argv[0] = "suffice"
try:
    main()
except SystemExit as stop:
    assert not stop.code, stop.code
sys.stderr.write("imported:" + " ".join(name for name in {SLOW!r} if name in sys.modules))
"""
    ran = subprocess.run(
        [sys.executable, "-c", script, *command], cwd=folder, capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stderr.rpartition("imported:")[2].split()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("imports")
    (folder / "table.csv").write_text(TABLE)
    (folder / "first.csv").write_text("\n".join(TABLE.split("\n")[:6]) + "\n")
    for name in CLASSES:
        columns = NUMBERS | {"note": "ignore"}
        TableModel(name, columns=columns).fit(folder / "table.csv", "y").save(folder / name)
    local = {"note": "ignore", "b": "ignore", "day": "ignore", "n": "ignore"}
    TableModel("local", columns=local | {"size": "ignore"}).fit(folder / "table.csv", "y").save(
        folder / "local-classes"
    )
    TableModel("local", columns=local | {"y": "ignore"}).fit(folder / "table.csv", "size").save(folder / "local")
    for name in ("nb", "logistic"):
        TableModel(name, columns=NUMBERS).fit(folder / "table.csv", "y").save(folder / f"{name}-text")
    TableModel("text", columns=NUMBERS).fit(folder / "table.csv", "y").save(folder / "text")
    for name, (target, task) in TARGETS.items():
        columns = {"note": "ignore", "y": "ignore", **NUMBERS}
        del columns[target]
        TableModel(name, columns=columns, task=task).fit(folder / "table.csv", target).save(folder / name)
    return folder


@pytest.mark.parametrize(
    ("model", "target"),
    [
        *(("auto", target) for target in ("y", "b", "n", "size")),
        *((model, "y") for model in ("nb", "gda", "logistic", "additive", "text")),
        ("linear", "size"),
        ("additive", "size"),
    ],
)
def test_fits_import_neither_scikit_learn_nor_pandas(folder: Path, model: str, target: str) -> None:
    found = slow_imports(folder, "fit", "table.csv", "--target", target, "--model", model, "-o", "fitted")
    assert not {*ESTIMATORS, "pandas"} & {*found}


@pytest.mark.parametrize("target", ["size", "y"])
def test_fits_of_local_models_import_neither_scikit_learn_nor_pandas(folder: Path, target: str) -> None:
    ignored = [
        option
        for name in ("b", "day", "note", "n", {"size": "y", "y": "size"}[target])
        for option in ("--ignore", name)
    ]
    found = slow_imports(folder, "fit", "table.csv", "--target", target, "--model", "local", *ignored, "-o", "fitted")
    assert not {*ESTIMATORS, "pandas"} & {*found}


@pytest.mark.parametrize("model", ["auto", "poisson"])
def test_fits_of_counts_import_neither_scikit_learn_nor_pandas(folder: Path, model: str) -> None:
    options = ("--target", "n", "--task", "counts", "--model", model)
    assert not {*ESTIMATORS, "pandas"} & {*slow_imports(folder, "fit", "table.csv", *options, "-o", "fitted")}


@pytest.mark.parametrize("model", [*CLASSES, *TARGETS, "local", "local-classes", "nb-text", "logistic-text"])
def test_predict_imports_no_slow_library(folder: Path, model: str) -> None:
    assert slow_imports(folder, "predict", model, "table.csv", "-o", "p.csv") == []


def test_predict_of_text_imports_neither_scikit_learn_nor_pandas(folder: Path) -> None:
    assert not {*ESTIMATORS, "pandas"} & {*slow_imports(folder, "predict", "text", "table.csv", "-o", "p.csv")}


@pytest.mark.parametrize("command", ["update", "forget"])
def test_exact_updates_of_text_import_neither_scikit_learn_nor_pandas(folder: Path, command: str) -> None:
    assert not {*ESTIMATORS, "pandas"} & {*slow_imports(folder, command, "text", "first.csv", "-o", "changed")}


def test_explain_of_text_imports_neither_scikit_learn_nor_pandas(folder: Path) -> None:
    assert not {*ESTIMATORS, "pandas"} & {*slow_imports(folder, "explain", "text", "table.csv", "--row", "3")}


@pytest.mark.parametrize("options", [["--probabilities", "--explain"], ["--keep-all", "--safe-csv"]])
def test_options_of_predict_import_no_slow_library(folder: Path, options: list[str]) -> None:
    assert slow_imports(folder, "predict", "gda", "table.csv", "-o", "p.csv", *options) == []


@pytest.mark.parametrize("model", [*CLASSES, *TARGETS])
@pytest.mark.parametrize("rows", [["table.csv", "--row", "3"], ["a=1.5", "b=u", "day=2024-03-04"]])
def test_explain_imports_no_slow_library(folder: Path, model: str, rows: list[str]) -> None:
    allowed = {"pyarrow.compute"} if "a=1.5" in rows else set()  # to parse the cells
    assert not {*slow_imports(folder, "explain", model, *rows)} - allowed


@pytest.mark.parametrize("command", [["predict", "texts.model", "document"], ["explain", "texts.model", "red house"]])
@pytest.mark.parametrize("form", ["multinomial", "bernoulli"])
def test_text_classifiers_of_counts_predict_without_scikit_learn(folder: Path, command: list[str], form: str) -> None:
    (folder / "document").write_text("a green house")
    TextClassifier(form).fit(["a red house", "a green tree", "no house"], ["x", "y", "y"]).save(folder / "texts.model")
    assert not {*ESTIMATORS, "pandas"} & {*slow_imports(folder, "text", *command)}


@pytest.mark.parametrize("model", ["nb", "gda", "gda-full", "linear"])
@pytest.mark.parametrize("command", ["update", "forget"])
def test_exact_updates_import_no_slow_library(folder: Path, command: str, model: str) -> None:
    assert slow_imports(folder, command, model, "first.csv", "-o", "changed") == []


@pytest.mark.parametrize("model", [*CLASSES, *TARGETS, "nb-text", "logistic-text"])
def test_info_imports_no_slow_library(folder: Path, model: str) -> None:
    assert slow_imports(folder, "info", model) == []


@pytest.mark.parametrize("model", [*CLASSES, *TARGETS])
def test_sql_imports_no_slow_library(folder: Path, model: str) -> None:
    assert slow_imports(folder, "sql", model) == []


@pytest.mark.parametrize("model", [*CLASSES, *TARGETS])
def test_export_imports_no_slow_library(folder: Path, model: str) -> None:
    assert slow_imports(folder, "export", model, "--to", "python", "-o", "exported.py") == []
