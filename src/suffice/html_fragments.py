"""HTML of results in notebooks and pages: one palette with the report, light and dark, all text escaped.

Text has the colour of the page around it, so that it can be read in every notebook; lines and bars have colours of the
palette. This module imports no NumPy: a mail filter explains without it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

#: Colours of pages, by name.
LIGHT = {
    "background": "#fbfbfa",
    "card": "#ffffff",
    "text": "#1b1f24",
    "muted": "#545b66",
    "line": "#dfe2e6",
    "accent": "#00639c",
    "positive": "#0072b2",
    "negative": "#d55e00",
}
DARK = {
    "background": "#13161a",
    "card": "#1b1f25",
    "text": "#e7e9ec",
    "muted": "#a9b1bc",
    "line": "#323942",
    "accent": "#6bb9ec",
    "positive": "#3c9ad6",
    "negative": "#e5772b",
}
#: How notebooks and sites mark their light and their dark theme: JupyterLab, VS Code, Colab, Sphinx themes.
_LIGHT_THEMES = ('[data-jp-theme-light="true"]', ".vscode-light", '[theme="light"]', '[data-theme="light"]')
_DARK_THEMES = ('[data-jp-theme-light="false"]', ".vscode-dark", '[theme="dark"]', '[data-theme="dark"]')


def palette_css(selector: str, *, themes: bool = False) -> str:
    """Return the CSS variables of the palette for a selector: light, or dark where the reader prefers that.

    Parameters
    ----------
    selector
        The elements that have the variables.
    themes
        Whether the theme of a notebook or site around the elements has precedence.

    Examples
    --------
    >>> palette_css(":root").splitlines()[0][:40]
    ':root { --background: #fbfbfa; --card: #'
    """
    light, dark = _variables(LIGHT), _variables(DARK)
    rules = [f"{selector} {light}", f"@media screen and (prefers-color-scheme: dark) {{ {selector} {dark} }}"]
    if themes:
        for names, variables in ((_LIGHT_THEMES, light), (_DARK_THEMES, dark)):
            rules.append(", ".join(f"{name} {selector}" for name in names) + f" {variables}")
    return "\n".join(rules)


def _variables(colours: Mapping[str, str]) -> str:
    return "{ " + " ".join(f"--{name}: {colour};" for name, colour in colours.items()) + " }"


#: Every rule names the class of the fragments: nothing else of a notebook changes. Rules of cells name it twice, to
#: have precedence over those of notebooks.
_STYLE = (
    palette_css(".suffice", themes=True)
    + """
.suffice { font: 0.95rem/1.5 system-ui, sans-serif; color: inherit; max-width: 60rem; overflow-x: auto; }
.suffice p { margin: .4rem 0; max-width: 46rem; }
.suffice table { border-collapse: collapse; margin: .4rem 0; color: inherit; background: none; }
.suffice table.wide { width: 100%; }
.suffice.suffice :is(th, td) { text-align: left; padding: .2rem .7rem; font-weight: normal; vertical-align: top;
  border: 0; border-top: 1px solid #8885; overflow-wrap: anywhere; background: none; color: inherit; }
.suffice.suffice thead th { border-top: 0; font-weight: 600; }
.suffice.suffice .number { white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }
.suffice tr.best { font-weight: 600; box-shadow: inset .2rem 0 var(--positive); }
.suffice.suffice tr.best th, .suffice.suffice tr.best td { font-weight: 600; }
.suffice .bar { width: 25%; }
.suffice .bar span { display: block; height: .8rem; margin-top: .3rem; border-radius: .2rem; }
.suffice .for { background: var(--positive); margin-left: 50%; }
.suffice .against { background: var(--negative); margin-left: auto; margin-right: 50%; }
.suffice.suffice tfoot th, .suffice.suffice tfoot td { border-top: 2px solid; font-weight: 600; }
"""
)


def fragment(*parts: str) -> str:
    """Return parts of HTML as one element with the style of all results."""
    return f'<div class="suffice"><style>{_STYLE}</style>\n' + "\n".join(filter(None, parts)) + "</div>"


def title(text: str) -> str:
    """Return a title.

    Examples
    --------
    >>> title("y ~ x < 3")
    '<p><b>y ~ x &lt; 3</b></p>'
    """
    return f"<p><b>{escape(text)}</b></p>"


def notes(lines: Sequence[str]) -> str:
    """Return notes, one in each paragraph; empty ones are left out."""
    return "".join(f"<p>{escape(line)}</p>" for line in lines if line)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, best: int | None = None, spread: bool = False) -> str:
    """Return a table whose first column has names, and whose others have numbers.

    Parameters
    ----------
    heads
        Names of the columns; none without a header.
    rows
        Cells, one for each column.
    best
        The row that is marked.
    spread
        Whether the last name is that of the last two columns.

    Examples
    --------
    >>> table(["", "mean"], [["a < b", "1.5"]])[:63]
    '<table><thead><tr><th scope="col"></th><th scope="col" class="n'
    """
    names = [f'<th scope="col"{_kind(place)}>{escape(head)}</th>' for place, head in enumerate(heads)]
    if spread and names:
        names[-1] = names[-1].replace("<th ", '<th colspan="2" ', 1)
    head = f"<thead><tr>{''.join(names)}</tr></thead>" if heads else ""
    body = "".join(_row(row, place == best) for place, row in enumerate(rows))
    return f"<table>{head}<tbody>{body}</tbody></table>"


def _row(cells: Sequence[str], is_best: bool) -> str:
    first, *others = cells
    rest = "".join(f'<td class="number">{escape(cell.strip())}</td>' for cell in others)
    mark = ' class="best"' if is_best else ""
    return f'<tr{mark}><th scope="row">{escape(first)}</th>{rest}</tr>'


def _kind(place: int) -> str:
    return ' class="number"' if place else ""
