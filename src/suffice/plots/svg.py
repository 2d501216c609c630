"""Matplotlib figures as SVG elements that take font, text colour and width from the HTML page around them."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from suffice.plots.style import FOREGROUND, default_style

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_HREF = "{http://www.w3.org/1999/xlink}href"
_PAINT_ATTRIBUTES = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width")


def figure_to_svg(figure: Figure, title: str | None = None, *, prefix: str | None = None) -> str:
    """Return a figure as an ``<svg>`` element for an HTML page.

    Text remains text, in the font of the page. The foreground colour becomes ``currentColor``. The element has no width
    and height: CSS scales it. The same figure gives the same string.

    Parameters
    ----------
    figure
        The figure.
    title
        Text alternative for screen readers; the title of the figure by default.
    prefix
        Prefix of all ids; by default a hash of the content, so that different figures can share a page.

    Examples
    --------
    >>> from suffice.plots import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay([[8, 2], [1, 9]], ["ham", "spam"]).plot()
    >>> figure_to_svg(display.figure_, "Two of ten ham messages are predicted as spam")[:45]
    '<svg xmlns="http://www.w3.org/2000/svg" viewB'
    """
    source = _write_svg(figure)
    label = _figure_title(figure) if title is None else title
    id_prefix = prefix or "s" + hashlib.sha256((source + label).encode()).hexdigest()[:10]
    root = _parse_svg(source)
    _prefix_ids(root, id_prefix)
    for element in reversed(list(root.iter())):  # children before parents
        _replace_style(element)
    svg = ElementTree.Element(
        f"{{{_SVG}}}svg",
        {
            "viewBox": root.attrib["viewBox"],
            "role": "img",
            "aria-label": label,
            "stroke-linejoin": "round",
            "font-family": "inherit",
        },
    )
    ElementTree.SubElement(svg, f"{{{_SVG}}}title").text = label
    svg.extend(root)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(svg, encoding="unicode")


def _write_svg(figure: Figure) -> str:
    """Return the SVG document of matplotlib."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    target = io.StringIO()
    with default_style(), warnings.catch_warnings():
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "suffice"})
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the fonts of the page draw the glyphs
        # Not savefig: with a constrained layout, it draws the figure a second time.
        with _transparent_background(figure):
            FigureCanvasSVG(figure).print_svg(target, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return target.getvalue()


@contextmanager
def _transparent_background(figure: Figure) -> Iterator[None]:
    """Make backgrounds transparent; restore them, the canvas and the resolution afterwards."""
    canvas, dpi, patches = figure.canvas, figure.get_dpi(), [figure.patch, *(ax.patch for ax in figure.axes)]
    colours = [patch.get_facecolor() for patch in patches]
    try:
        for patch in patches:
            patch.set_facecolor("none")
        yield
    finally:
        for patch, colour in zip(patches, colours, strict=True):
            patch.set_facecolor(colour)
        figure.set_canvas(canvas)
        figure.set_dpi(dpi)


def _figure_title(figure: Figure) -> str:
    titles = [figure.get_suptitle(), *(ax.get_title(loc="left") for ax in figure.axes), "Plot"]
    return next(filter(None, titles)).replace("\n", " ").replace(r"\$", "$")


def _parse_svg(source: str) -> ElementTree.Element:
    """Return the tree without metadata and without the style sheet, which would apply to the whole page."""
    root = ElementTree.fromstring(source)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    return root


def _prefix_ids(root: ElementTree.Element, prefix: str) -> None:
    """Prefix the ids that something refers to, and drop the others."""
    text = "\n".join(value for element in root.iter() for name, value in element.attrib.items() if name != "id")
    used = set(re.findall(r"#([\w.-]+)", text))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{prefix}-{name}")
        if _HREF in element.attrib:
            element.set("href", _prefix_reference(element.attrib.pop(_HREF), prefix))
        if "clip-path" in element.attrib:
            element.set("clip-path", element.attrib["clip-path"].replace("#", f"#{prefix}-"))


def _prefix_reference(target: str, prefix: str) -> str:
    return f"#{prefix}-{target[1:]}" if target.startswith("#") else target


def _replace_style(element: ElementTree.Element) -> None:
    """Replace the style by attributes, which CSS of the page can override, and the foreground by ``currentColor``."""
    # Older versions of matplotlib write font size and family in one declaration.
    style = re.sub(r"font:[^;]*?([\d.]+px)[^;]*", r"font-size: \1", element.attrib.pop("style", ""))
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name != "font-family":
            element.set(name, "currentColor" if value == FOREGROUND else value)
    element.attrib.update({name: "currentColor" for name in ("fill", "stroke") if element.get(name) == FOREGROUND})
    for name in ("d", "x", "y"):
        if name in element.attrib:
            element.set(name, _round_coordinates(" ".join(element.attrib[name].split())))
    _hoist_paint(element)
    element.tail = None
    if element.tag not in (f"{{{_SVG}}}text", f"{{{_SVG}}}tspan"):
        element.text = None


def _round_coordinates(numbers: str) -> str:
    """Return coordinates rounded to a hundredth of a point.

    Examples
    --------
    >>> _round_coordinates("M 34.609091 128.16 L 2.000000 -0.004")
    'M 34.61 128.16 L 2 0'
    """
    return re.sub(r"-?\d+\.\d+", lambda found: f"{round(float(found.group()), 2) or 0:g}", numbers)


def _hoist_paint(element: ElementTree.Element) -> None:
    """Move paint attributes that all children of a group share to the group."""
    children = list(element)
    if len(children) < 2 or {child.tag for child in children} != {f"{{{_SVG}}}use"}:
        return
    for name in _PAINT_ATTRIBUTES:
        values = {child.get(name) for child in children}
        if len(values) == 1 and None not in values:
            element.set(name, values.pop() or "")
            for child in children:
                del child.attrib[name]
