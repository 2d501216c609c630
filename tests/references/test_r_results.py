"""The results of R in the folder ``r``: they belong to the data beside them, and R computes them again."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.references import R_FOLDER, r_data, r_design, r_results

SCRIPTS = ["linear", "glm", "negative_binomial", "choices", "firth", "formulas"]


def test_results_belong_to_the_data() -> None:
    X = np.column_stack([np.ones(60), r_design("linear")])
    theta = np.linalg.lstsq(X, r_data("linear")["y"], rcond=None)[0]
    np.testing.assert_allclose(theta, r_results("linear")["full"]["coefficients"], rtol=1e-10)


@pytest.mark.slow
@pytest.mark.needs("r")
@pytest.mark.parametrize("script", SCRIPTS)
def test_r_computes_the_stored_results(script: str, tmp_path: Path) -> None:
    for path in R_FOLDER.glob("*.R"):
        shutil.copy(path, tmp_path)
    for name in ("data", script):
        subprocess.run(
            ["Rscript", "--vanilla", f"{name}.R"], cwd=tmp_path, check=True, capture_output=True, timeout=100
        )
    for path in (R_FOLDER / "data").glob("*.csv"):
        assert (tmp_path / "data" / path.name).read_text() == path.read_text()
    _compare(json.loads((tmp_path / f"{script}.json").read_text()), r_results(script), script)


def _compare(found: Any, stored: Any, place: str) -> None:
    if isinstance(stored, dict):
        assert found.keys() == stored.keys(), place
        for key in stored.keys() - {"r"}:
            _compare(found[key], stored[key], f"{place}.{key}")
    elif isinstance(stored, list):
        assert len(found) == len(stored), place
        for i, (one, other) in enumerate(zip(found, stored, strict=True)):
            _compare(one, other, f"{place}[{i}]")
    elif isinstance(stored, float):
        assert found == pytest.approx(stored, rel=1e-4, abs=1e-7), place
    else:
        assert found == stored, place
