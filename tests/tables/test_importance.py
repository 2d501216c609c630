"""Importance of columns: the rise of the held-out loss if a column is shuffled."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import suffice
from tests.cli.command import done


def table(rows: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(0)
    strong, weak, noise = random.normal(size=(3, rows))
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, rows), "D")
    number = 3 * strong + weak + random.normal(size=rows)
    y = np.where(number > 0, "up", "down")
    return pd.DataFrame({"noise": noise, "weak": weak, "day": day, "strong": strong, "number": number, "y": y})


@pytest.mark.parametrize("model", ["nb", "gda", "logistic", "additive"])
def test_columns_are_listed_by_importance(model: str) -> None:
    found = suffice.fit(table().drop(columns="number"), "y", model).importance_
    assert [each.column for each in found[:2]] == ["strong", "weak"]
    assert {each.column for each in found} == {"strong", "weak", "noise", "day"}
    assert found[0].rise > 5 * found[0].error
    noise = next(each for each in found if each.column == "noise")
    assert abs(noise.rise) < 3 * noise.error + 0.02


def test_importance_of_a_number_is_the_variance_that_a_column_explains() -> None:
    found = {each.column: each.rise for each in suffice.fit(table().drop(columns="y"), "number", "linear").importance_}
    assert found["strong"] == pytest.approx(2 * 9, rel=0.25)
    assert found["weak"] == pytest.approx(2 * 1, rel=0.4)


def test_importance_is_printed_and_saved(tmp_path: Path) -> None:
    table().drop(columns="number").to_csv(tmp_path / "t.csv", index=False)
    ran = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "-o", tmp_path / "m")
    assert "importance, rise of the log loss if a column is shuffled: strong" in ran.out
    found = done("fit", tmp_path / "t.csv", "-t", "y", "-m", "nb", "--json").json["importance"]
    assert [vars(each) for each in suffice.load(tmp_path / "m").importance_] == found
    assert found[0]["column"] == "strong"
