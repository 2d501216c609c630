"""Held-out loss of additive models beside boosted trees and explainable boosting, on tables of the UCI repository.

``SUFFICE_DATA=folder python -m benchmarks.additive`` fits what is not stored yet, and writes additive.json and
additive.md. ``--seconds`` measures fits, each in turn, the least of several. Explainable boosting takes minutes per
fit; it needs ``pip install --group bench-additive``.

Every other table in alphabetical order was used to choose the settings of the model (named in :data:`TUNED`); the
others were not. Each seed splits a table into 70 % for learning and 30 % for the loss, by class.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import re
import tarfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.model_selection import train_test_split

from benchmarks.harness import machine
from benchmarks.provenance import store
from suffice import AdditiveClassifier, AdditiveRegressor

RESULTS = Path(__file__).with_name("additive.json")
TABLES = (
    *("abalone", "adult", "bike-day", "bike-hour", "breast.w", "car", "ionosphere", "letter", "mushroom", "optdigits"),
    *("pima", "sonar", "vote", "wine"),
)
TUNED = TABLES[1::2]
NUMBERS = ("abalone", "bike-day", "bike-hour")
SEEDS = 5
#: Where both losses are below this every class is certain, and their ratio says nothing.
CERTAIN = 1e-4
MODELS = ("suffice", "boosted trees", "explainable boosting")
ADULT = (
    "age workclass fnlwgt education education_num marital occupation relationship race sex gain loss hours country "
    "class"
)


def _member(name: str) -> str:
    with tarfile.open(Path(os.environ["SUFFICE_DATA"]) / "uci.tar.gz") as archive:
        found = archive.extractfile(f"uci/{name}")
        assert found is not None
        return found.read().decode("latin-1")


def _arff(name: str) -> pd.DataFrame:
    names, categories, rows = [], [], []
    for line in map(str.strip, _member(name).splitlines()):
        attribute = re.match(r"@attribute\s+('[^']*'|\"[^\"]*\"|\S+)\s+(.*)", line, re.IGNORECASE)
        if attribute:
            names.append(attribute[1].strip("'\""))
            categories += [names[-1]] if attribute[2].startswith("{") else []
        elif line and not line.startswith(("%", "@")):
            rows.append(line)
    kinds = dict.fromkeys(categories, "str")
    return pd.read_csv(
        io.StringIO("\n".join(rows)), names=names, na_values="?", skipinitialspace=True, quotechar="'", dtype=kinds
    )


def read(name: str) -> tuple[pd.DataFrame, npt.NDArray[Any]]:
    """Return the columns of a table, strings as categories, and its targets: numbers, or codes of classes."""
    if name == "adult":
        both = _member("adult-train.csv") + "\n" + _member("adult-test.csv")
        table = pd.read_csv(io.StringIO(both), names=ADULT.split(), skipinitialspace=True, na_values="?")
        table["class"] = table["class"].str.rstrip(".")
    elif name == "pima":
        table = pd.read_csv(io.StringIO(_member("pima-indians-diabetes.csv")), names=[*"abcdefgh", "class"])
    elif name.startswith("bike"):
        table = pd.read_csv(io.StringIO(_member(f"bike-sharing/{name[5:]}.csv")))
        table = table.drop(columns=["instant", "dteday", "casual", "registered"])
    else:
        table = _arff(f"{name}.arff")
    lower = {column.lower(): column for column in table.columns}
    target = lower.get("class", table.columns[-1])
    table = table[table[target].notna()].reset_index(drop=True)
    y = table.pop(target)
    for column in table:
        if not pd.api.types.is_numeric_dtype(table[column]):
            table[column] = table[column].astype("category")
    return table, y.to_numpy(float) if name in NUMBERS else pd.Categorical(y.astype(str)).codes.astype(int)


def model_of(name: str, numbers: bool, seed: int) -> Any:
    """Return an unfitted model with its default settings."""
    if name == "suffice":
        return (AdditiveRegressor if numbers else AdditiveClassifier)(random_state=seed)
    if name == "boosted trees":
        kind = HistGradientBoostingRegressor if numbers else HistGradientBoostingClassifier
        return kind(categorical_features="from_dtype", random_state=seed)
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    return (ExplainableBoostingRegressor if numbers else ExplainableBoostingClassifier)(random_state=seed)


def loss(model: Any, x: pd.DataFrame, y: npt.NDArray[Any], numbers: bool) -> float:
    """Return the log loss of classes, or the mean squared error of numbers."""
    if numbers:
        return float(np.mean((y - model.predict(x)) ** 2))
    probabilities = np.clip(model.predict_proba(x), 1e-15, 1.0)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return float(-np.mean(np.log(probabilities[np.arange(len(y)), y])))


def fill(stored: dict[str, Any], names: list[str], models: list[str], seeds: int) -> None:
    """Fit what is not stored, and store its loss."""
    for seed in range(seeds):
        for name in names:
            table, y = read(name)
            numbers = name in NUMBERS
            parts = train_test_split(table, y, test_size=0.3, random_state=seed, stratify=None if numbers else y)
            for each in models:
                known = stored["losses"].setdefault(name, {}).setdefault(each, {})
                if str(seed) in known:
                    continue
                model = model_of(each, numbers, seed).fit(parts[0], parts[2])
                known[str(seed)] = loss(model, parts[1], parts[3], numbers)
                print(name, seed, each, known[str(seed)], flush=True)
                RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


def measure(stored: dict[str, Any], names: list[str], models: list[str], rounds: int) -> None:
    """Measure fits of 70 % of each table, in turn; the least of several rounds, one of explainable boosting."""
    for name in names:
        table, y = read(name)
        x, _, target, _ = train_test_split(table, y, test_size=0.3, random_state=0)
        found: dict[str, float] = {}
        for turn in range(rounds):
            for each in models:
                if each == "explainable boosting" and turn:
                    continue
                begun = time.perf_counter()
                model_of(each, name in NUMBERS, 0).fit(x, target)
                found[each] = min(found.get(each, math.inf), time.perf_counter() - begun)
        print(name, found, flush=True)
        stored["seconds"].setdefault(name, {}).update(found)
        RESULTS.write_text(json.dumps(stored, indent=1) + "\n")


def written(stored: dict[str, Any]) -> str:
    """Return the tables as Markdown."""
    lines = [
        "| table | rows × columns, classes | suffice | boosted trees | explainable boosting | ratios | seconds |",
        "|---|---|---:|---:|---:|---:|---:|",
    ]
    ratios: dict[tuple[str, str], list[float]] = {}
    for name in [*(t for t in TABLES if t not in TUNED), *TUNED]:
        if name not in stored["losses"]:
            continue
        table, y = read(name)
        means: dict[str, float] = {}
        shown = []
        for each in MODELS:
            losses = stored["losses"][name].get(each, {})
            common = [seed for seed in losses if seed in stored["losses"][name]["suffice"]]
            ours = float(np.mean([stored["losses"][name]["suffice"][seed] for seed in common])) if common else math.nan
            means[each] = float(np.mean([losses[seed] for seed in common])) if common else math.nan
            if each != "suffice" and common:
                ratio = ours / means[each]
                shown.append(f"{ratio:.2f}")
                group = "tables used for tuning" if name in TUNED else "other tables"
                ratios.setdefault((group, each), []).append(math.log(ratio))
                if max(ours, means[each]) > CERTAIN:
                    ratios.setdefault((f"{group} with a loss above {CERTAIN:g}", each), []).append(math.log(ratio))
        classes = "numbers" if name in NUMBERS else f"{len(np.unique(y))} classes"
        seconds = stored["seconds"].get(name, {})
        times = " / ".join(f"{seconds[each]:.2f}" for each in MODELS if each in seconds)
        losses = " | ".join(f"{means[each]:.4g}" for each in MODELS)
        mark = " *" if name in TUNED else ""
        size = f"{len(table):,} × {table.shape[1]}, {classes}"
        lines.append(f"| {name}{mark} | {size} | {losses} | {' / '.join(shown)} | {times} |")
    summary = [
        f"- {group}, against {each}: {math.exp(np.mean(logs)):.3f} ({len(logs)} tables)"
        for (group, each), logs in sorted(ratios.items())
    ]
    head = "Mean held-out loss over the seeds (log loss; mean squared error of numbers), ratios of ours to the others'."
    foot = "`*`: used to choose settings. Geometric means of the ratios:\n\n"
    return f"{machine()}\n\n{head}\n\n" + "\n".join(lines) + f"\n\n{foot}" + "\n".join(summary) + "\n"


def main() -> None:
    """Fit and measure what is asked for, and store the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", nargs="*", default=list(TABLES), choices=TABLES)
    parser.add_argument("--models", nargs="*", default=list(MODELS), choices=MODELS)
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--seconds", type=int, default=0, metavar="ROUNDS", help="measure fits in this many rounds")
    given = parser.parse_args()
    stored = json.loads(RESULTS.read_text()) if RESULTS.exists() else {"losses": {}, "seconds": {}}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if given.seconds:
            measure(stored, given.tables, given.models, given.seconds)
        else:
            fill(stored, given.tables, given.models, given.seeds)
    store(RESULTS.with_suffix(".md"), written(stored))


if __name__ == "__main__":
    main()
