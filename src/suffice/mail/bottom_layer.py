"""Build a filter from public corpora, for users who have learned nothing yet.

``python -m suffice.mail.bottom_layer bottom.db --spam corpus/spam --ham corpus/ham`` learns the corpora that you name,
any mail that ``suffice mail learn`` reads, and weighs all of it as a hundred messages. A user's filter is used above
it: ``suffice mail classify --shared bottom.db``. What the user learns outweighs it after a few hundred messages.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable
from pathlib import Path

from suffice.mail.errors import MailError
from suffice.mail.filter import LearnCounts, MailFilter

#: Number of messages that the corpora count as. On three Enron sets, each above the other two, 400 lose more ham than
#: 100 in most rows, and find at most 1.3 % more spam.
WEIGHT = 100.0


def build_bottom_layer(
    path: str | os.PathLike[str], pairs: Iterable[tuple[bytes, str]], weight: float = WEIGHT
) -> LearnCounts:
    r"""Create a filter that learned messages, and counts all of them together as a number of messages.

    Parameters
    ----------
    path
        The file to create.
    pairs
        Messages and their classes, mixed: see :func:`suffice.mail.mailboxes.streams.interleave_classes`.
    weight
        The number of messages. The counts of tokens are scaled to it; weights of the regressions stay, and a filter
        above learns how the user's mail differs from them.

    Examples
    --------
    >>> import tempfile
    >>> pairs = [(f"Subject: {i}\n\n{word}".encode(), label)
    ...          for i in range(300) for word, label in (("pills", "spam"), ("lunch", "ham"))]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     counts = build_bottom_layer(f"{folder}/bottom.db", pairs)
    ...     with MailFilter(f"{folder}/bottom.db") as mail:
    ...         print(counts.classes, mail.store().state().messages)
    {'spam': 300, 'ham': 300} [50.0, 50.0]
    """
    if not weight > 0 or weight > 1e6:
        raise MailError(f"the weight must be a number of messages, above 0 and at most 1,000,000; got {weight:g}")
    if Path(path).exists():
        raise MailError(f"{path} exists: name a new file")
    try:
        with MailFilter(path) as mail:
            counts = mail.learn_all(pairs)
            if not counts.classes.get("spam") or len(counts.classes) < 2:
                raise MailError("the corpora need messages of at least two classes, one of them spam")
            store = mail.store()
            with store.write_transaction():
                state = store.state()
                factor = weight / sum(state.messages)
                state.scale(factor)
                store.execute("UPDATE learned SET weight = weight * ?", factor)
                store.compact()
    except BaseException:
        for name in (path, f"{os.fspath(path)}-wal", f"{os.fspath(path)}-shm"):
            Path(name).unlink(missing_ok=True)
        raise
    return counts


def main(arguments: list[str] | None = None) -> None:
    """Build a filter from the corpora on the command line."""
    from suffice.mail.mailboxes.streams import interleave_classes

    parser = argparse.ArgumentParser(
        prog="python -m suffice.mail.bottom_layer", description="Build a filter from corpora, to be used with --shared."
    )
    parser.add_argument("filter", type=Path, help="the file to create")
    parser.add_argument("--spam", nargs="+", required=True, metavar="MAIL", help="corpora of spam")
    parser.add_argument("--ham", nargs="+", required=True, metavar="MAIL", help="corpora of mail that is not spam")
    parser.add_argument(
        "--weight", type=float, default=WEIGHT, help="number of messages that all count as (%(default)g)"
    )
    given = parser.parse_args(arguments)
    try:
        pairs = interleave_classes({"spam": given.spam, "ham": given.ham})
        counts = build_bottom_layer(given.filter, pairs, given.weight)
    except (MailError, OSError) as error:
        sys.exit(f"error: {error}")
    learned = ", ".join(f"{count:,} {label}" for label, count in counts.classes.items())
    sys.stdout.write(f"{given.filter}: learned {learned}; they count as {given.weight:g} messages\n")


if __name__ == "__main__":
    main()
