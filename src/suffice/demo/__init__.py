"""Small example data sets: houses for sale, text messages, and a mailbox."""

from importlib.resources import files
from pathlib import Path

_MAILBOXES = ("ham", "spam", "new")


def houses() -> Path:
    """Return the path of a table of houses for sale, as CSV.

    Columns are numeric, count, boolean, category, date and text; some cells are missing. Areas are in square metres,
    prices in thousands; ``sold_fast`` says whether a house was sold within a month.

    Examples
    --------
    >>> houses().read_text(encoding="utf-8").splitlines()[0]
    'id,listed,area,rooms,built,garden,district,heating,energy,note,price,viewings,sold_fast'
    """
    return _path("houses.csv")


def messages() -> Path:
    """Return the path of a table of text messages of the classes spam, work and family, as TSV.

    Examples
    --------
    >>> messages().read_text(encoding="utf-8").split()[:2]
    ['label', 'text']
    """
    return _path("messages.tsv")


def mailbox(which: str) -> Path:
    """Return the path of a mailbox in mbox format: messages that one person received within ten weeks.

    Parameters
    ----------
    which
        "ham": wanted messages; "spam": unwanted messages; "new": later messages without a label.

    Examples
    --------
    >>> mailbox("new").read_text(encoding="utf-8").split()[:2]
    ['From', 'marek.dvorsky@tidemark.example']
    """
    if which not in _MAILBOXES:
        raise ValueError(f"which must be one of {', '.join(_MAILBOXES)}; got {which!r}")
    return _path(f"{which}.mbox", "mail")


def _path(name: str, folder: str = "data") -> Path:
    return Path(str(files(__name__) / folder / name))
