"""Text from data, made safe for a terminal."""

from __future__ import annotations


def printable(text: str) -> str:
    r"""Return text without terminal control: escape sequences, line breaks, bidirectional marks.

    Examples
    --------
    >>> printable("a\x1b[2Jb")
    'a·[2Jb'
    """
    return text if text.isprintable() else "".join(c if c.isprintable() else "·" for c in text)


def one_line(text: str) -> str:
    r"""Return text with single blanks in place of line breaks and other blanks, such as those of the names of a sheet.

    Examples
    --------
    >>> one_line("price\n(EUR)")
    'price (EUR)'
    """
    return " ".join(text.split())


def printable_lines(text: str) -> str:
    r"""Return text of several lines, each of them printable.

    Examples
    --------
    >>> printable_lines("one\ttwo\nthree\x07")
    'one\ttwo\nthree·'
    """
    return "\n".join("\t".join(map(printable, line.split("\t"))) for line in text.split("\n"))
