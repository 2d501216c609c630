"""Displays as SVG: well-formed, deterministic, in the colours of the page; and drawing on given axes."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import suffice.plots
from suffice.plots import (
    FOREGROUND,
    PALETTE,
    CalibrationDisplay,
    ClassDensitiesDisplay,
    ClassEllipsesDisplay,
    ClassFrequenciesDisplay,
    ClassWordsDisplay,
    ConfusionMatrixDisplay,
    DecisionBoundaryDisplay,
    FeatureEffectsDisplay,
    LearningCurveDisplay,
    PrecisionRecallDisplay,
    ResidualsDisplay,
    RocCurveDisplay,
    SolverTraceDisplay,
    SpamFilterDisplay,
    figure_to_svg,
)
from suffice.plots.style import format_number

SVG = "{http://www.w3.org/2000/svg}"
NAMES = ["ham & <eggs>", "$5 or $6", "東京\x00"]
GRID = np.linspace(0, 1, 5)
PRODUCTS = np.outer(GRID, GRID)

DISPLAYS: dict[str, Any] = {
    "ellipses": lambda: ClassEllipsesDisplay(NAMES, np.eye(3)[:, :2], [np.eye(2)] * 3, X=[[0, 1]], y=NAMES[:1]),
    "densities": lambda: ClassDensitiesDisplay(NAMES, [0, 1, 2], [1, 2, 3], feature=NAMES[0], x=[0, 1], y=NAMES[:2]),
    "frequencies": lambda: ClassFrequenciesDisplay(NAMES, NAMES, np.eye(3)),
    "words": lambda: ClassWordsDisplay({NAMES[0]: [(NAMES[1], 1.0)], NAMES[1]: [(NAMES[2], 2.0)], NAMES[2]: []}),
    "boundary": lambda: DecisionBoundaryDisplay(GRID, GRID, np.stack([PRODUCTS, 1 - PRODUCTS], -1), NAMES[:2]),
    "roc": lambda: RocCurveDisplay({name: [0, 1] for name in NAMES}, {name: [0, 1] for name in NAMES}),
    "precision": lambda: PrecisionRecallDisplay([0.5, 1.0], [1.0, 0.0], prevalence=0.5),
    "calibration": lambda: CalibrationDisplay([0.2, 0.8], [0.3, 0.7], [5, 6], label=NAMES[1]),
    "spam filter": lambda: SpamFilterDisplay(
        {name: ([0, 0, 2, 100], [100, 4, 0, 0]) for name in NAMES},
        {NAMES[0]: ([5, 9], [3.0, 0.0])},
        operating_points={NAMES[1]: (0, 4)},
    ),
    "confusion": lambda: ConfusionMatrixDisplay(np.arange(9).reshape(3, 3), NAMES),
    "many classes": lambda: ConfusionMatrixDisplay(np.eye(12), [f"class {code}" for code in range(12)]),
    "learning": lambda: LearningCurveDisplay([10, 90], {NAMES[0]: [3, 1], NAMES[1]: [2, 2]}, {NAMES[0]: [1, 1]}),
    "trace": lambda: SolverTraceDisplay([1, 2, 3], [-9, -5, -4.5], [1.0, 0.1, 0.0]),
    "effects": lambda: FeatureEffectsDisplay(NAMES, [1.0, -2.0, 0.5], n_totals=1),
    "predicted": lambda: ResidualsDisplay([1, 2, 3], [1.5, 2.0, 2.5]),
    "residuals": lambda: ResidualsDisplay([1, 2, 3], [1.5, 2.0, 2.5], kind="residuals"),
    "counts": lambda: ResidualsDisplay([1, 2, 3], [1.5, 2.0, 2.5], kind="counts"),
}


@cache
def drawn(name: str) -> tuple[Any, str]:
    """Return a display and its SVG; cached."""
    display = DISPLAYS[name]().plot()
    return display, str(display.to_svg())


def page(name: str) -> str:
    return drawn(name)[1]


each_display = pytest.mark.parametrize("name", DISPLAYS)


@each_display
def test_display_is_a_well_formed_svg_element(name: str) -> None:
    display, text = drawn(name)
    assert text.startswith("<svg ")
    root = ElementTree.fromstring(text)
    assert root.attrib["role"] == "img"
    assert root.attrib["aria-label"] == root.findtext(f"{SVG}title") != ""
    assert not {"width", "height", "style"} & root.attrib.keys()
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    inches = display.figure_.get_size_inches()
    assert (width, height) == (pytest.approx(72 * inches[0], abs=0.01), pytest.approx(72 * inches[1], abs=0.01))
    assert FOREGROUND not in text
    assert "currentColor" in text
    assert "font-family: " not in text
    assert root.attrib["font-family"] == "inherit"
    assert not list(root.iter(f"{SVG}style"))
    assert not list(root.iter(f"{SVG}metadata"))
    assert any(element.text for element in root.iter(f"{SVG}text"))


@each_display
def test_svg_has_no_black_on_dark_pages(name: str) -> None:
    root = ElementTree.fromstring(page(name))
    for element in root.iter():
        assert element.get("fill") not in ("#000000", "black")
        assert element.get("stroke") not in ("#000000", "black")
    for element in root.iter(f"{SVG}text"):
        assert element.get("fill") == "currentColor"


@each_display
def test_svg_is_deterministic(name: str) -> None:
    assert DISPLAYS[name]().to_svg() == page(name)


def test_svg_does_not_depend_on_rcparams() -> None:
    import matplotlib as mpl

    with mpl.rc_context({"axes.grid": True, "axes.titlecolor": "red", "font.size": 30, "xtick.top": True}):
        assert DISPLAYS["calibration"]().to_svg() == page("calibration")
        assert mpl.rcParams["font.size"] == 30


def test_ids_are_unique_and_references_resolve() -> None:
    seen: set[str] = set()
    for name in DISPLAYS:
        root = ElementTree.fromstring(page(name))
        ids = {element.attrib["id"] for element in root.iter() if "id" in element.attrib}
        assert not ids & seen
        seen |= ids
        for element in root.iter():
            if "href" in element.attrib:
                assert element.attrib["href"][1:] in ids
            if "clip-path" in element.attrib:
                assert element.attrib["clip-path"][5:-1] in ids
    figure = DISPLAYS["roc"]().plot().figure_
    assert 'id="mine-' in figure_to_svg(figure, prefix="mine")


@pytest.mark.parametrize("name", ["effects", "words"])
def test_special_characters_in_names(name: str) -> None:
    texts = {element.text for element in ElementTree.fromstring(page(name)).iter(f"{SVG}text")}
    assert {"ham & <eggs>", "$5 or $6", "東京·"} <= texts


def test_aria_label_is_the_title() -> None:
    root = ElementTree.fromstring(figure_to_svg(DISPLAYS["trace"]().plot().figure_))
    assert root.attrib["aria-label"] == "Convergence: 3 steps raise the log-likelihood by 4.5"
    root = ElementTree.fromstring(page("calibration"))
    assert root.attrib["aria-label"] == "Calibration curve"


def test_aria_label_can_be_given() -> None:
    root = ElementTree.fromstring(DISPLAYS["trace"]().plot().to_svg("Steps: <b> & more"))
    assert root.attrib["aria-label"] == "Steps: <b> & more"
    assert root.findtext(f"{SVG}title") == "Steps: <b> & more"


@each_display
def test_display_is_drawn_on_given_axes(name: str) -> None:
    from matplotlib.figure import Figure

    figure = Figure()
    left, right = figure.subplots(1, 2)
    display = DISPLAYS[name]().plot(left)
    assert display.figure_ is figure
    assert right not in display.axes_
    assert display.ax_ is display.axes_[0]
    assert display._repr_html_() is None
    assert len(display.axes_) > 1 or display.ax_ is left


def test_several_panels_need_an_ax_of_subplots() -> None:
    from matplotlib.figure import Figure

    ax = Figure().add_axes((0.1, 0.1, 0.8, 0.8))
    with pytest.raises(ValueError, match="2 panels: give an ax made by subplots"):
        DISPLAYS["trace"]().plot(ax)


def test_notebooks_show_displays() -> None:
    shown = DISPLAYS["roc"]()._repr_html_()
    assert shown.startswith("<div")
    ElementTree.fromstring(shown)


@each_display
@pytest.mark.filterwarnings("ignore:Glyph .* missing")
def test_text_lies_within_the_figure(name: str) -> None:
    display, _ = drawn(name)  # after the layout
    width, height = display.figure_.get_size_inches()
    box = display.figure_.get_tightbbox()
    assert box.x0 >= -0.02
    assert box.y0 >= -0.02
    assert box.x1 <= width + 0.02
    assert box.y1 <= height + 0.02


def _luminance(colour: str) -> float:
    parts = np.array([int(colour[place : place + 2], 16) for place in (1, 3, 5)]) / 255
    linear = np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


@pytest.mark.parametrize("colour", PALETTE)
def test_palette_has_contrast_on_white_and_on_near_black(colour: str) -> None:
    assert 1.05 / (_luminance(colour) + 0.05) >= 3
    assert (_luminance(colour) + 0.05) / (_luminance("#161616") + 0.05) >= 3
    assert colour != FOREGROUND


def test_matplotlib_is_imported_lazily_and_its_absence_names_the_extra() -> None:
    program = (
        "import sys, suffice.plots\n"
        "print([name for name in ('matplotlib', 'sklearn') if name in sys.modules])\n"
        "sys.modules['matplotlib'] = None\n"
        "from suffice.plots import ConfusionMatrixDisplay\n"
        "display = ConfusionMatrixDisplay([[1]], ['a'])\n"
        "try:\n    display.plot()\n"
        "except ImportError as error:\n    print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["[]", "plots need matplotlib: pip install 'suffice[plots]'"]


@pytest.mark.parametrize(
    ("value", "text"), [(12_345.0, "12.35k"), (-2.5e6, "−2.5M"), (1e9, "1e9"), (1e-9, "1e−9"), (0.25, "0.25")]
)
def test_format_of_large_and_small_numbers(value: float, text: str) -> None:
    assert format_number(value) == text


def test_public_names_exist() -> None:
    for name in suffice.plots.__all__:
        assert hasattr(suffice.plots, name)
