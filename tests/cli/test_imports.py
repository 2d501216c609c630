"""Commands that need no estimator import neither scikit-learn nor scipy.stats, which take a second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from suffice.tables import TableModel

TABLE = "a,b,c,note,y\n" + "".join(
    f"{i % 7 + 0.5},{'uvw'[i % 3]},{i % 5},a {'green' if i % 2 else 'red'} house no {i},{'no' if i % 4 else 'yes'}\n"
    for i in range(60)
)
SLOW = ("sklearn", "scipy.stats", "scipy.optimize")


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
sys.stderr.write("imported:" + " ".join(name for name in {(*SLOW, "pandas")!r} if name in sys.modules))
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
    for name in ("nb", "gda", "logistic", "softmax", "additive"):
        TableModel(name).fit(folder / "table.csv", "y").save(folder / name)
    TableModel("nb", columns={"note": "ignore"}).fit(folder / "table.csv", "y").save(folder / "no-text")
    TableModel("logistic", columns={"note": "ignore"}).fit(folder / "table.csv", "y").save(folder / "no-text-logistic")
    return folder


def test_fit_of_naive_bayes_imports_neither_scikit_learn_nor_pandas(folder: Path) -> None:
    assert slow_imports(folder, "fit", "table.csv", "--target", "y", "--model", "nb", "-o", "fitted") == []


@pytest.mark.parametrize("model", ["nb", "gda", "logistic", "softmax", "additive"])
def test_predict_does_not_import_scikit_learn(folder: Path, model: str) -> None:
    assert not {*SLOW} & {*slow_imports(folder, "predict", model, "table.csv", "-o", "p.csv")}


@pytest.mark.parametrize("model", ["nb", "logistic"])
def test_explain_does_not_import_scikit_learn(folder: Path, model: str) -> None:
    assert not {*SLOW} & {*slow_imports(folder, "explain", model, "table.csv", "--row", "3")}


@pytest.mark.parametrize("command", ["update", "forget"])
def test_exact_updates_do_not_import_scikit_learn(folder: Path, command: str) -> None:
    assert not {*SLOW} & {*slow_imports(folder, command, "nb", "first.csv", "-o", "changed")}


@pytest.mark.parametrize("model", ["nb", "gda", "logistic", "additive"])
def test_info_imports_neither_scikit_learn_nor_pandas(folder: Path, model: str) -> None:
    assert slow_imports(folder, "info", model) == []


@pytest.mark.parametrize("model", ["no-text", "no-text-logistic"])
def test_sql_imports_neither_scikit_learn_nor_pandas(folder: Path, model: str) -> None:
    assert slow_imports(folder, "sql", model) == []
