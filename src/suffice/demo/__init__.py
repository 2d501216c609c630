"""Small data to try things on: houses for sale, messages, and a mailbox."""

from importlib.resources import files
from pathlib import Path

_LETTERS = ("ham", "spam", "new")


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


def letters(which: str) -> Path:
    """Return the file, in mbox format, of letters that somebody received in ten weeks: wanted, unwanted, or new.

    Parameters
    ----------
    which
        "ham": letters that were wanted; "spam": letters that were not; "new": later ones that nobody has sorted yet.

    Examples
    --------
    >>> letters("new").read_text(encoding="utf-8").split()[:2]
    ['From', 'marek.dvorsky@tidemark.example']
    """
    if which not in _LETTERS:
        raise ValueError(f"the letters are {', '.join(_LETTERS)}; got {which!r}")
    return _file(f"{which}.mbox", "mail")


def _file(name: str, folder: str = "data") -> Path:
    return Path(str(files(__name__) / folder / name))
