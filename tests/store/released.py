"""Files of models of each published version, with their predictions: ``released/VERSION``.

``python -m tests.store.released`` writes those of this version, for its release. Every later version reads them, and
predicts the same for the rows of ``tests/laws/estimators.py``, which therefore stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import numpy as np

import suffice
from tests.laws.estimators import ENTRIES, Entry
from tests.laws.test_invariance import Answers, answers, assert_same, drawn, learn

RELEASED = Path(__file__).with_name("released")
PREDICTIONS = ("predict", "predict_proba", "transform")


def file_name(entry: Entry) -> str:
    """Return the name of an entry's file, without its suffix."""
    return re.sub(r"\W+", "-", entry.name).strip("-")


def predict(path: Path, entry: Entry) -> Answers:
    """Return what the model of a file predicts for the rows of an entry."""
    found = answers(suffice.load(path), drawn(entry.name))
    return {name: found[name] for name in PREDICTIONS if name in found}


def write_files(folder: Path, entries: Iterable[Entry] = ENTRIES) -> None:
    """Write a file and its predictions for each entry whose models are saved."""
    folder.mkdir(parents=True)
    for entry in entries:
        model = learn(entry, drawn(entry.name))
        if hasattr(model, "save"):
            path = folder / f"{file_name(entry)}.model"
            model.save(path)
            np.savez_compressed(path.with_suffix(".npz"), **predict(path, entry))


def check_file(path: Path) -> None:
    """Raise if a file is not read, or its model predicts something else."""
    (entry,) = (entry for entry in ENTRIES if file_name(entry) == path.stem)
    with np.load(path.with_suffix(".npz")) as stored:
        assert_same(predict(path, entry), dict(stored), 1e-9)


if __name__ == "__main__":
    write_files(RELEASED / suffice.__version__)
