"""A figure as SVG that can stand in a page: it takes the page's letters, colour and width."""

from __future__ import annotations

import hashlib
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from suffice.plots.style import INK, usual_settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SVG = "http://www.w3.org/2000/svg"
_INHERITED = ("fill", "fill-opacity", "stroke", "stroke-opacity", "stroke-width")
_HREF = "{http://www.w3.org/1999/xlink}href"


def figure_to_svg(figure: Figure, title: str | None = None, *, prefix: str | None = None) -> str:
    """Return a figure as an ``<svg>`` element to be written into a page.

    Text stays text, in the page's font. What is drawn in the ink has the page's colour (``currentColor``). There is no
    width and no height: CSS scales it. The same figure gives the same string.

    Parameters
    ----------
    figure
        The figure.
    title
        What is seen, for those who do not see it; the figure's own title by default.
    prefix
        What the ids begin with; by default it is made of what the picture shows, so that pictures that differ can
        stand in one page.

    Examples
    --------
    >>> from suffice.plots import ConfusionMatrixDisplay
    >>> display = ConfusionMatrixDisplay([[8, 2], [1, 9]], ["ham", "spam"]).plot()
    >>> figure_to_svg(display.figure_, "Two of ten ham are taken for spam")[:45]
    '<svg xmlns="http://www.w3.org/2000/svg" viewB'
    """
    written = _written(figure)
    said = _title(figure) if title is None else title
    start = prefix or "s" + hashlib.sha256((written + said).encode()).hexdigest()[:10]
    root = _root(written)
    _name_ids(root, start)
    for element in reversed(list(root.iter())):  # what is inside comes first
        _restyle(element)
    named = ElementTree.Element(
        f"{{{_SVG}}}svg",
        {
            "viewBox": root.attrib["viewBox"],
            "role": "img",
            "aria-label": said,
            "stroke-linejoin": "round",
            "font-family": "inherit",
        },
    )
    ElementTree.SubElement(named, f"{{{_SVG}}}title").text = said
    named.extend(root)
    ElementTree.register_namespace("", _SVG)
    return ElementTree.tostring(named, encoding="unicode")


def _written(figure: Figure) -> str:
    """Return the SVG that matplotlib writes."""
    import matplotlib as mpl
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    target = io.StringIO()
    with usual_settings(), warnings.catch_warnings():
        mpl.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "suffice"})
        warnings.filterwarnings("ignore", message="Glyph .* missing from")  # the page's fonts draw the letters
        # Not by savefig, which draws a figure that lays itself out once more, for the layout alone.
        with _transparent(figure):
            FigureCanvasSVG(figure).print_svg(target, metadata={"Date": None})  # type: ignore[no-untyped-call]
    return target.getvalue()


@contextmanager
def _transparent(figure: Figure) -> Iterator[None]:
    """Draw no backgrounds, and leave the figure with its canvas, resolution and colours as they were."""
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


def _title(figure: Figure) -> str:
    titles = [figure.get_suptitle(), *(ax.get_title(loc="left") for ax in figure.axes), "A picture"]
    return next(filter(None, titles)).replace("\n", " ").replace(r"\$", "$")


def _root(written: str) -> ElementTree.Element:
    """Return the tree without what is about the file, and without the style sheet, which would be the whole page's."""
    root = ElementTree.fromstring(written)
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style"):
                parent.remove(child)
    return root


def _name_ids(root: ElementTree.Element, start: str) -> None:
    """Give ids that something refers to a name of their own, and drop the others."""
    text = "\n".join(value for element in root.iter() for name, value in element.attrib.items() if name != "id")
    used = set(re.findall(r"#([\w.-]+)", text))
    for element in root.iter():
        name = element.attrib.pop("id", None)
        if name in used:
            element.set("id", f"{start}-{name}")
        if _HREF in element.attrib:
            element.set("href", _renamed(element.attrib.pop(_HREF), start))
        if "clip-path" in element.attrib:
            element.set("clip-path", element.attrib["clip-path"].replace("#", f"#{start}-"))


def _renamed(target: str, start: str) -> str:
    return f"#{start}-{target[1:]}" if target.startswith("#") else target


def _restyle(element: ElementTree.Element) -> None:
    """Turn a style into attributes, which the page's style sheet may overrule, with the ink as the page's colour."""
    # Older versions of Matplotlib write the size and the family of letters together.
    style = re.sub(r"font:[^;]*?([\d.]+px)[^;]*", r"font-size: \1", element.attrib.pop("style", ""))
    for declaration in filter(None, (part.strip() for part in style.split(";"))):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        if name != "font-family":
            element.set(name, "currentColor" if value == INK else value)
    element.attrib.update({name: "currentColor" for name in ("fill", "stroke") if element.get(name) == INK})
    for name in ("d", "x", "y"):
        if name in element.attrib:
            element.set(name, _rounded(" ".join(element.attrib[name].split())))
    _hoist(element)
    element.tail = None
    if element.tag not in (f"{{{_SVG}}}text", f"{{{_SVG}}}tspan"):
        element.text = None


def _rounded(numbers: str) -> str:
    """Return coordinates to a hundredth of a point.

    Examples
    --------
    >>> _rounded("M 34.609091 128.16 L 2.000000 -0.004")
    'M 34.61 128.16 L 2 0'
    """
    return re.sub(r"-?\d+\.\d+", lambda found: f"{round(float(found.group()), 2) or 0:g}", numbers)


def _hoist(element: ElementTree.Element) -> None:
    """Say once, on a group, how all that is in it is painted."""
    children = list(element)
    if len(children) < 2 or {child.tag for child in children} != {f"{{{_SVG}}}use"}:
        return
    for name in _INHERITED:
        values = {child.get(name) for child in children}
        if len(values) == 1 and None not in values:
            element.set(name, values.pop() or "")
            for child in children:
                del child.attrib[name]
