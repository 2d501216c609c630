"""Pieces of a page: everything that comes from data is escaped here."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from suffice.plots import Display, figure_to_svg

_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


class Section(NamedTuple):
    """A part of the page under a heading of its own."""

    id: str
    title: str
    body: str


class Raw(str):
    """Text that is markup already."""


def text(value: Any, most: int | None = None) -> str:
    """Return a value as text of the page, its end left out where it is long.

    Examples
    --------
    >>> text("<b> & more"), text("a long story", most=7), text(None), text(0.25)
    ('&lt;b&gt; &amp; more', 'a long…', 'missing', '0.25')
    """
    if isinstance(value, Raw):
        return value
    plain = shown(value)
    if most is not None and len(plain) > most:
        plain = plain[: most - 1].rstrip() + "…"
    return escape(_UNSEEN.sub("·", plain))


def shown(value: Any) -> str:
    """Return a value as it is written: numbers to four digits.

    Examples
    --------
    >>> [shown(each) for each in (1938, 1234567.8, -0.25, 1e-7, True, float("nan"))]
    ['1938', '1,234,568', '−0.25', '1e−07', 'true', 'not known']
    """
    if value is None:
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if not isinstance(value, int | float | np.number):
        return str(value)
    if np.isnan(value):
        return "not known"
    size = abs(float(value))
    large = 10_000 <= size < 1e12
    written = f"{value:,.0f}" if large else str(value) if isinstance(value, int) and size < 1e12 else f"{value:.4g}"
    return written.replace("-", "−")


def share(part: float) -> str:
    """Return a share in percent, such that a little is not nothing.

    Examples
    --------
    >>> share(0.5), share(0.0), share(0.0001), share(0.99999)
    ('50.0%', '0%', '<0.1%', '>99.9%')
    """
    if part in (0, 1) or np.isnan(part):
        return f"{part:.0%}" if part == part else "not known"
    return "<0.1%" if part < 0.0005 else ">99.9%" if part > 0.9995 else f"{part:.1%}"


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Sequence[int] = (),
    *,
    words: Sequence[int] = (),
    tight: bool = False,
) -> str:
    """Return a table that scrolls within itself where it is wide.

    Parameters
    ----------
    caption
        What it holds.
    head
        The names of its columns.
    rows
        Its cells; the first of each row is its name.
    numbers
        Which columns hold numbers.
    words
        Which columns hold sentences.
    tight
        Whether it is no wider than it has to be.
    """
    kinds = [
        ' class="number"' if place in numbers else ' class="words"' if place in words else ""
        for place in range(len(head))
    ]
    heads = "".join(f'<th scope="col"{kind}>{text(name)}</th>' for kind, name in zip(kinds, head, strict=True))
    lines = []
    for row in rows:
        first, *others = (text(cell) for cell in row)
        cells = "".join(f"<td{kind}>{cell}</td>" for kind, cell in zip(kinds[1:], others, strict=True))
        lines.append(f'<tr><th scope="row">{first}</th>{cells}</tr>')
    return (
        f'<div class="wide" role="region" aria-label="{text(caption)}" tabindex="0">'
        f"<table{' class=tight' if tight else ''}><caption><span>{text(caption)}</span></caption>"
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def figure(display: Display, sentence: str = "", title: str | None = None) -> str:
    """Return a picture, under its title and above a sentence that says what it shows."""
    if not hasattr(display, "figure_"):
        display.plot()
    drawn = display.figure_
    own = " ".join(drawn.get_suptitle().split()).replace(r"\$", "$")
    drawn.suptitle("")  # the page writes it, in lines of its own width
    said = own if title is None else title
    below = f"<span>{text(sentence)}</span>" if sentence else ""
    picture = figure_to_svg(drawn, _UNSEEN.sub("·", f"{said}. {sentence}" if sentence else said))
    return f"<figure><figcaption><strong>{text(said)}</strong>{below}</figcaption>{picture}</figure>"


def gallery(pictures: Iterable[str]) -> str:
    """Return pictures side by side, where there is room."""
    return f'<div class="gallery">{"".join(pictures)}</div>'


def side(*tables: str) -> str:
    """Return tables side by side, where there is room."""
    return f'<div class="side">{"".join(tables)}</div>'


def beside(picture: str, *others: str) -> str:
    """Return a picture, and what is said about it beside it, where there is room."""
    return f'<div class="beside">{picture}<div>{"".join(others)}</div></div>'


def paragraph(*sentences: str) -> str:
    """Return a paragraph."""
    return f"<p>{' '.join(text(sentence) for sentence in sentences if sentence)}</p>"


def bar(value: float, longest: float, *, signed: bool = True) -> Raw:
    """Return a bar from the middle, to the right where the value speaks for the answer; or from the left end."""
    finite = np.nan_to_num(value, nan=0.0, posinf=longest, neginf=-longest)
    length = round(100 * min(abs(finite) / longest, 1.0) if longest > 0 else 0.0, 1)
    start = -100 if signed else 0
    middle = '<path d="M0 0v10"/>' if signed else ""
    return Raw(
        f'<svg class="bar" viewBox="{start} 0 {100 - start} 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect class="{"for" if finite >= 0 else "against"}" x="{0 if finite >= 0 else -length:g}" y="1" '
        f'width="{length:g}" height="8"/>{middle}</svg>'
    )


def spark(counts: npt.NDArray[Any], said: str) -> Raw:
    """Return a histogram as high as a line of text."""
    top = max(float(np.max(counts, initial=0.0)), 1.0)
    wide = 96 / max(len(counts), 1)
    path = "".join(
        f"M{place * wide:.4g} 20v{-max(18 * count / top, 0.6):.3g}h{wide * 0.86:.3g}V20z"
        for place, count in enumerate(counts)
        if count
    )
    return Raw(f'<svg class="spark" viewBox="0 0 96 20" role="img" aria-label="{text(said)}"><path d="{path}"/></svg>')


def listed(names: Sequence[str], most: int = 6) -> str:
    """Return names in one line.

    Examples
    --------
    >>> listed(["a", "b", "c"]), listed(["a", "b", "c"], most=2)
    ('a, b and c', 'a, b and 1 more')
    """
    if len(names) > most:
        names = [*names[:most], f"{len(names) - most} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def plural(count: int, one: str, many: str | None = None) -> str:
    """Return a number with what is counted.

    Examples
    --------
    >>> plural(1, "row"), plural(12000, "row"), plural(2, "class", "classes")
    ('1 row', '12,000 rows', '2 classes')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"
