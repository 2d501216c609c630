"""Every script of the gallery runs by itself and draws something."""

from __future__ import annotations

import runpy
from pathlib import Path

import matplotlib as mpl
import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
SCRIPTS = sorted(EXAMPLES.glob("*/plot_*.py"))


def test_there_are_scripts_in_every_section():
    sections = {header.parent.name for header in EXAMPLES.glob("*/GALLERY_HEADER.rst")}
    assert sections == {script.parent.name for script in SCRIPTS}


@pytest.mark.filterwarnings("ignore:FigureCanvasAgg is non-interactive")  # plt.show() where there is a screen
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: f"{script.parent.name}/{script.stem}")
def test_script_draws_a_picture(script, tmp_path, monkeypatch):
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    monkeypatch.chdir(tmp_path)
    with mpl.rc_context():
        try:
            runpy.run_path(str(script))
            axes = [axis for number in plt.get_fignums() for axis in plt.figure(number).axes]
            assert any(axis.has_data() for axis in axes)
            assert all(axis.get_xlabel() or axis.get_title() or axis.get_ylabel() for axis in axes if axis.lines)
        finally:
            plt.close("all")
    assert not list(tmp_path.iterdir())
