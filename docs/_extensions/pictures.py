"""Pictures of the pages and of the gallery: the palette of suffice.plots, readable on a light and on a dark page.

``scrape_figures`` shows the figures of a script of the gallery. The directive ``picture`` shows its lines as code, and
below them the variable ``picture`` that they assign: a display, an animation, or a figure of matplotlib. The lines see
the variables of all examples before them on the page.
"""

from __future__ import annotations

import ast
import doctest
import io
import re
import textwrap
from contextlib import chdir, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.util.docutils import SphinxDirective


def plain(gallery: dict[str, Any] | None = None, file: str | None = None) -> None:
    """Set matplotlib's defaults before each example."""
    import matplotlib as mpl
    from cycler import cycler

    from suffice.plots import FOREGROUND, PALETTE

    mpl.rcParams.update(
        {
            "axes.edgecolor": FOREGROUND,
            "axes.facecolor": "none",
            "axes.labelcolor": FOREGROUND,
            "axes.prop_cycle": cycler(color=PALETTE),
            "axes.spines.right": False,
            "axes.spines.top": False,
            "axes.titlecolor": FOREGROUND,
            "axes.titlelocation": "left",
            "axes.titlesize": "medium",
            "figure.constrained_layout.use": True,
            "figure.facecolor": "none",
            "figure.figsize": (7.0, 4.2),
            "legend.frameon": False,
            "legend.labelcolor": FOREGROUND,
            "savefig.transparent": True,
            "text.color": FOREGROUND,
            "xtick.color": FOREGROUND,
            "ytick.color": FOREGROUND,
        }
    )


def scrape_figures(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Return the open figures of pyplot as elements of the page, and save each as an image, for the thumbnail."""
    from matplotlib import pyplot as plt

    alt = ast.get_docstring(ast.parse(Path(block_vars["src_file"]).read_text(encoding="utf-8"))) or ""
    elements = []
    for number, path in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        figure.savefig(path)
        elements.append(as_html(figure, alt.partition("\n")[0].replace("``", "")))
    plt.close("all")
    return "".join(f"\n.. raw:: html\n\n{textwrap.indent(element, '    ')}\n" for element in elements)


class Picture(SphinxDirective):
    """Run the examples of the page up to here, and show the picture that the last ones draw."""

    has_content = True
    option_spec: ClassVar[dict[str, Any]] = {"alt": directives.unchanged_required, "hide": directives.flag}

    def run(self) -> list[nodes.Node]:
        alt = self.options.get("alt")
        if not alt:
            raise self.error("a picture needs :alt:, its text alternative")
        page = self.env.doc2path(self.env.docname)
        runs = self.env.temp_data.setdefault("examples", ExamplesOfPage(Path(page)))
        picture = runs.run_until(self.lineno + self.content_offset + len(self.content)).get("picture")
        if picture is None:
            raise self.error("the examples assign no variable named picture")
        code = "\n".join(self.content).rstrip()
        shown = [] if "hide" in self.options else [nodes.literal_block(code, code, language="python")]
        return [*shown, nodes.raw("", as_html(picture, alt), format="html")]


class ExamplesOfPage:
    """The examples of a page, which run once, in order, and share their variables and a folder for their files."""

    def __init__(self, page: Path) -> None:
        self.page = page
        self.examples = doctest.DocTestParser().get_examples(page.read_text(encoding="utf-8"), str(page))
        self.variables: dict[str, Any] = {"__name__": "__main__"}
        self.done = 0
        self.folder = TemporaryDirectory()

    def run_until(self, line: int) -> dict[str, Any]:
        """Run the examples before a line of the page that have not run yet, and return the variables."""
        import matplotlib as mpl

        mpl.use("Agg")
        self.variables.pop("picture", None)
        with mpl.rc_context(), redirect_stdout(io.StringIO()), chdir(self.folder.name):
            plain()
            while self.done < len(self.examples) and self.examples[self.done].lineno < line:
                example = self.examples[self.done]
                self.done += 1
                try:
                    exec(compile(example.source, f"{self.page}:{example.lineno + 1}", "single"), self.variables)
                except Exception:
                    if example.exc_msg is None:
                        raise
        return self.variables


def as_html(picture: Any, alt: str) -> str:
    """Return a picture as an element that follows the theme of the page."""
    from suffice.plots import Animation, Display, figure_to_svg

    if isinstance(picture, Animation):
        drawn = picture.to_html()
    else:
        drawn = figure_to_svg(picture.figure_ if isinstance(picture, Display) else picture, alt)
    width = 1.25 * max(float(each) for each in re.findall(r'viewBox="0 0 ([\d.]+)', drawn))
    style = f"max-width: {width:.0f}px; min-width: {0.8 * width:.0f}px"  # narrower ones would be illegible: they scroll
    return f'<div class="picture"><div style="{style}">{drawn}</div></div>'


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("picture", Picture)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
