"""The benchmark of sums on a GPU runs, small, on the CPU: every pass beside the CPU's own sums."""

import importlib
import re
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.needs("torch"), pytest.mark.slow]


def test_a_small_run_measures_every_pass(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(Path(__file__).parents[2])
    gpu = importlib.import_module("benchmarks.gpu")
    try:
        page = gpu.main(["--small", "--write", str(tmp_path / "gpu.md")])
    finally:
        for name in [name for name in sys.modules if name.startswith("benchmarks")]:
            del sys.modules[name]
    stored, tables = re.subn(r"\nMeasured at .*\n", "", (tmp_path / "gpu.md").read_text())
    assert (stored, tables) == (page, 3)
    errors = re.findall(r"× \| (\d+e[-+]\d+) \|", page)
    assert len(errors) >= 14
    assert all(float(error) < 1e-10 for error in errors)
    for name in ("GaussianNB", "GDA", "LinearRegression", "LogisticRegression", "SoftmaxRegression", "pageable"):
        assert name in page
