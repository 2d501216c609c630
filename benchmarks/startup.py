"""Processor time of commands that work from a model file, in multiples of ``python -c "import numpy"``.

``python -m benchmarks.startup`` fits small models, runs each command several times in turn with the import of NumPy,
and stores the table of the least times.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.harness import machine
from benchmarks.provenance import store

RESULTS = Path(__file__).with_name("startup.md")
NUMPY = [sys.executable, "-c", "import numpy"]
SUFFICE = [sys.executable, "-m", "suffice"]
#: Target of each model.
TARGETS = {
    "nb": "sold",
    "gda": "sold",
    "logistic": "sold",
    "softmax": "rank",
    "linear": "price",
    "poisson": "visits",
    "local": "price",
    "text": "sold",
}
#: Columns that a model reads besides those that all others do.
READ = {"text": {"note"}}


def write_table(path: Path, rows: int, seed: int) -> None:
    """Write a table of numbers, categories and texts, with a target of each kind."""
    draw = random.Random(seed)
    lines = ["area,age,district,garden,note,visits,price,rank,sold"]
    for _ in range(rows):
        area, age, district = draw.gauss(90, 25), draw.randrange(80), draw.choice("abcdef")
        score = (area - 90) / 25 - age / 80 + (district in "ab") + draw.gauss(0, 1)
        words = ["quiet", "bright", "large", "near", "new"] if score > 0 else ["loud", "dark", "small", "far", "new"]
        note = " ".join(draw.choice(words) for _ in range(6))
        visits, price = int(draw.expovariate(0.2) + max(score, 0)), 100 + 2 * area + 10 * score
        rank = "low" if score < -0.7 else "high" if score > 0.7 else "middle"
        garden, sold = draw.choice(["yes", "no"]), "fast" if score > 0 else "slow"
        lines.append(f"{area:.1f},{age},{district},{garden},{note},{visits},{price:.2f},{rank},{sold}")
    path.write_text("\n".join(lines) + "\n")


def fit_models(folder: Path) -> None:
    """Fit and save a model of each kind."""
    from suffice.tables import TableModel

    features = {"area", "age"} | {"district", "garden"}
    names = (folder / "train.csv").read_text().partition("\n")[0].split(",")
    for name, target in TARGETS.items():
        used = {"area", "age"} if name == "local" else features | READ.get(name, set())
        columns = {column: "ignore" for column in names if column not in used and column != target}
        TableModel(name, columns=columns).fit(folder / "train.csv", target).save(folder / name)
    with_text = dict.fromkeys(("visits", "price", "rank"), "ignore")
    for name in ("nb", "logistic"):
        TableModel(name, columns=with_text).fit(folder / "train.csv", "sold").save(folder / f"{name}, text column")


def commands() -> dict[str, list[str]]:
    """Return the commands, by their names in the table."""
    exact = ("nb", "gda", "linear", "text")
    return {
        **{f"predict {name}, 800 rows": ["predict", name, "rows.csv", "-o", "out.csv"] for name in TARGETS},
        **{
            f"predict {name}, text column, 800 rows": ["predict", f"{name}, text column", "rows.csv", "-o", "out.csv"]
            for name in ("nb", "logistic")
        },
        **{f"explain {name}, one row": ["explain", name, "rows.csv", "--row", "3"] for name in ("nb", "gda", "linear")},
        **{f"info {name}": ["info", name] for name in ("nb", "linear")},
        **{f"sql {name}": ["sql", name] for name in ("nb", "linear")},
        **{f"update {name}, 20 rows": ["update", name, "few.csv", "-o", "changed"] for name in exact},
        **{f"forget {name}, 20 rows": ["forget", name, "seen.csv", "-o", "changed"] for name in exact},
        "fit --model nb, 800 rows": ["fit", "labelled.csv", "-t", "sold", "--model", "nb", "-o", "fitted"],
        "fit, 800 rows": ["fit", "labelled.csv", "-t", "sold", "-o", "fitted"],
        "mail classify, one message": ["mail", "classify", "-e", "message", "--filter", "mail.db"],
        "mail explain, one message": ["mail", "explain", "message", "--filter", "mail.db"],
        "mail status": ["mail", "status", "--filter", "mail.db"],
    }


def learn_mail(folder: Path) -> None:
    """Learn a few messages, and write one to be classified."""
    for kind, words in (("spam", "cheap pills, a prize and a loan"), ("ham", "the minutes of the meeting on Monday")):
        message = f"From: a@example.org\nSubject: {words}\nMessage-Id: <{kind}@example.org>\n\n{words}\n"
        (folder / "message").write_text(message)
        learn = [*SUFFICE, "mail", "learn", f"--{kind}", "message", "--filter", "mail.db"]
        subprocess.run(learn, cwd=folder, check=True, capture_output=True)


def seconds(command: list[str], folder: Path) -> float:
    """Return the processor time that a command takes, which depends less on other work of the machine."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(folder: Path, rounds: int, only: list[str]) -> dict[str, float]:
    """Return the least time of each command, and of the import of NumPy."""
    found = {"import numpy": float("inf")}
    for _ in range(rounds):
        for name, words in commands().items():
            if any(word in name for word in only):
                found["import numpy"] = min(found["import numpy"], seconds(NUMPY, folder))
                found[name] = min(found.get(name, float("inf")), seconds([*SUFFICE, *words], folder))
    return found


def main() -> None:
    """Measure, print and store the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.startup", description=__doc__)
    parser.add_argument("only", nargs="*", default=[""], help="run only commands with one of these words in their name")
    parser.add_argument("--rounds", type=int, default=7, help="number of times that each command is run")
    options = parser.parse_args()
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # as installed packages, which have compiled files
    with tempfile.TemporaryDirectory(prefix="suffice-") as name:
        folder = Path(name)
        for number, (file, rows) in enumerate((("train", 3000), ("rows", 800), ("few", 20), ("labelled", 800))):
            write_table(folder / f"{file}.csv", rows, number)
        learned = (folder / "train.csv").read_text().splitlines(keepends=True)
        (folder / "seen.csv").write_text("".join(learned[:21]))
        fit_models(folder)
        learn_mail(folder)
        found = measure(folder, options.rounds, options.only)
    numpy = found.pop("import numpy")
    rows = [f"| {name} | {1000 * taken:.0f} | {taken / numpy:.1f} |" for name, taken in found.items()]
    head = [
        "| command | ms | times `import numpy` |",
        "|---|---:|---:|",
        f"| `import numpy` | {1000 * numpy:.0f} | 1 |",
    ]
    table = "\n".join([*head, *rows])
    print(table)
    if options.only == [""]:
        store(RESULTS, f"{machine()}\n\n{table}\n")


if __name__ == "__main__":
    main()
