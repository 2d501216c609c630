"""Every comparison of models has a baseline, and says where no model is better."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.tables.model_search import is_no_better_than_baseline
from tests.cli.command import done


def table(rows: int, effect: float) -> pd.DataFrame:
    random = np.random.default_rng(0)
    y = np.where(random.random(rows) < 0.25, "rare", "usual")
    return pd.DataFrame({"x": random.normal((y == "rare") * effect), "z": random.normal(size=rows), "y": y})


@pytest.mark.parametrize("model", ["auto", "nb"])
def test_baseline_predicts_class_frequencies(model: str) -> None:
    rows = table(400, 2.0)
    found = suffice.fit(rows, "y", model)
    (baseline,) = [each for each in found.candidates_ if each.is_baseline]
    share = (rows.y == "rare").mean()
    assert baseline.measures["accuracy"] == pytest.approx(1 - share)
    assert baseline.loss == pytest.approx(-share * np.log(share) - (1 - share) * np.log(1 - share), rel=1e-2)
    assert not found.candidates_[0].is_baseline
    assert not is_no_better_than_baseline(found.candidates_)


def test_baseline_of_numbers_is_the_mean() -> None:
    rows = table(300, 1.0)[["x", "z"]]
    found = suffice.fit(rows, "z", "linear")
    (baseline,) = [each for each in found.candidates_ if each.is_baseline]
    assert baseline.loss == pytest.approx(rows.z.std(), rel=0.02)


def test_noise_is_no_better_than_guessing(tmp_path: Path) -> None:
    path = tmp_path / "noise.csv"
    table(400, 0.0).to_csv(path, index=False)
    assert "no better than guessing" in done("fit", path, "-t", "y").out
    assert done("fit", path, "-t", "y", "--json").json["no_better_than_baseline"]


def test_signal_is_better_than_guessing(tmp_path: Path) -> None:
    path = tmp_path / "signal.csv"
    table(400, 2.0).to_csv(path, index=False)
    out = done("fit", path, "-t", "y").out
    assert "no better than guessing" not in out
    assert "class frequencies for every row" in out
