"""Fits to CSV files of millions of rows, compared with aggregation in DuckDB, and with pandas and scikit-learn.

``python -m benchmarks.tables --rows 1000000 10000000 --folder /tmp`` writes the files, measures, and stores the table.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.harness import machine
from benchmarks.provenance import store

RESULTS = Path(__file__).with_name("tables.md")
NUMBERS = [f"a{place}" for place in range(12)] + ["b0", "b1", "k0", "k1"]
NAMES = ["c0", "c1", "c2"]
#: Work that takes longer than this is measured twice only, in seconds.
LONG = 30.0


def write(path: Path, rows: int) -> None:
    """Write a table of 20 columns: 12 Gaussian, 2 skewed, 2 counts, 3 categories, and two classes."""
    import duckdb

    bells = [f"round((random() + random() + random() - 1.5) * 2, 4) as a{place}" for place in range(12)]
    skewed = [f"round(exp(random() * 3), 3) as b{place}" for place in range(2)]
    counts = [f"floor(-ln(random()) * 3)::int as k{place}" for place in range(2)]
    sizes = enumerate((4, 12, 26))
    names = [f"chr(97 + floor(random() * {levels})::int) || '_level' as c{place}" for place, levels in sizes]
    columns = ", ".join([*bells, *skewed, *counts, *names])
    connection = duckdb.connect()
    connection.execute("select setseed(0.5)")
    connection.execute(
        f"copy (select case when (random() + random() + random() - 1.5) * 2 + 0.5 * a0 - 0.3 * b0 + 0.2 * k0 > 0 "
        f"then 'yes' else 'no' end as target, * from (select {columns} from range({rows}))) "
        f"to '{path}' (header)"
    )


# The work that is measured, each in a new process.


def aggregate(path: str) -> None:
    """Compute means, deviations and counts of each class with DuckDB."""
    import duckdb

    sums = [f"avg({name}), stddev({name})" for name in NUMBERS] + [
        f"count(distinct {name}), mode({name})" for name in NAMES
    ]
    duckdb.connect().execute(f"select target, count(*), {', '.join(sums)} from '{path}' group by target").fetchall()


def scikit(model: str) -> Callable[[str], None]:
    """Return a fit with pandas and scikit-learn."""

    def fitted(path: str) -> None:
        import numpy as np
        import pandas as pd
        from sklearn.compose import make_column_transformer
        from sklearn.linear_model import LogisticRegression
        from sklearn.naive_bayes import CategoricalNB, GaussianNB
        from sklearn.pipeline import make_pipeline
        from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

        frame = pd.read_csv(path)
        y = frame.pop("target")
        if model == "nb":
            GaussianNB().fit(frame[NUMBERS].to_numpy(), y)
            CategoricalNB().fit(OrdinalEncoder(dtype=np.int64).fit_transform(frame[NAMES]), y)
        else:
            columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), NAMES))
            make_pipeline(columns, LogisticRegression()).fit(frame, y)

    return fitted


#: Work that runs in Python; the others are commands.
PYTHON: dict[str, Callable[[str], None]] = {
    "DuckDB, aggregating": aggregate,
    "pandas.read_csv + GaussianNB and CategoricalNB": scikit("nb"),
    "pandas.read_csv + one-hot + LogisticRegression": scikit("logistic"),
}
COMMANDS = {
    "suffice fit --model nb": "nb",
    "suffice fit --model gda": "gda",
    "suffice fit --model logistic": "logistic",
    "suffice fit (auto: five models compared)": "auto",
}
WORK = ["DuckDB, aggregating", *COMMANDS, *list(PYTHON)[1:]]


def measured(name: str, path: Path) -> dict[str, Any]:
    """Return seconds and peak memory of some work in a new process."""
    if name in COMMANDS:
        command = ["-m", "suffice", "fit", str(path), "-t", "target", "-m", COMMANDS[name], "--json", "--quiet"]
    else:
        command = ["-m", "benchmarks.tables", "--only", name, "--file", str(path)]
    start = time.perf_counter()
    with tempfile.TemporaryFile() as answer:
        process = subprocess.Popen([sys.executable, *command], stdout=answer)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        answer.seek(0)
        text = answer.read().decode()
    note = ""
    if process.returncode:
        note = f"failed: {process.returncode}"
    elif name in COMMANDS:
        found = json.loads(text)
        best = found["candidates"][0]
        note = f"{best['model']}, log loss {best['loss']:.4f}, fitted to {found['rows_fitted']:,} rows"
    return {"seconds": seconds, "memory": used.ru_maxrss / 1e3, "note": note}


def main() -> None:
    """Measure all work at every size, interleaved, and keep the best time."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tables", description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--folder", type=Path, default=Path("/tmp"))
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("--only")
    parser.add_argument("--file")
    given = parser.parse_args()
    if given.only:
        PYTHON[given.only](given.file)
        return
    lines = ["| rows | work | seconds | of DuckDB's | peak memory | |", "|---:|---|---:|---:|---:|---|"]
    for rows in given.rows:
        path = given.folder / f"suffice-{rows}.csv"
        if not path.exists():
            write(path, rows)
        best: dict[str, dict[str, Any]] = {}
        for repeat in range(given.repeats):
            for name in WORK:
                if repeat >= 2 and best[name]["seconds"] > LONG:
                    continue
                found = measured(name, path)
                if name not in best or found["seconds"] < best[name]["seconds"]:
                    best[name] = found
                print(rows, name, found, flush=True)
        base = best["DuckDB, aggregating"]["seconds"]
        size = path.stat().st_size / 1e9
        for name, found in best.items():
            seconds = found["seconds"]
            ratio, memory = f"{seconds / base:.2f}×", f"{found['memory']:,.0f} MB"
            lines.append(
                f"| {rows:,} ({size:.2g} GB) | {name} | {seconds:.1f} | {ratio} | {memory} | {found['note']} |"
            )
    store(RESULTS, f"{machine()}\n\n" + "\n".join(lines) + "\n")
    print(f"stored in {RESULTS.name}")


if __name__ == "__main__":
    main()
