"""Small data to try things on: houses for sale, and messages."""

from importlib.resources import files
from pathlib import Path


def houses() -> Path:
    """Return the file of a table of houses for sale: numbers, counts, categories, dates and notes, some missing.

    Areas are in square metres, prices in thousands; ``sold_fast`` says whether a house was sold within a month.

    Examples
    --------
    >>> houses().read_text(encoding="utf-8").splitlines()[0]
    'id,listed,area,rooms,built,garden,district,heating,energy,note,price,viewings,sold_fast'
    """
    return _file("houses.csv")


def messages() -> Path:
    """Return the file of short messages: spam, work or family, a tab and the text, line by line.

    Examples
    --------
    >>> messages().read_text(encoding="utf-8").split()[:2]
    ['label', 'text']
    """
    return _file("messages.tsv")


def _file(name: str) -> Path:
    return Path(str(files(__name__) / "data" / name))
