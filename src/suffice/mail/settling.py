"""How a filter decides and forgets, changed."""

from __future__ import annotations

from suffice.mail.errors import MailError
from suffice.mail.filter import MailFilter


def days(text: str) -> float:
    """Return a number of days; 0 stands for never.

    Examples
    --------
    >>> days("90"), days("never")
    (90.0, 0.0)
    """
    if text.strip().lower() == "never":
        return 0.0
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 1 <= number <= 1e6:
        raise MailError(f"the half-life must be a number of days, 1 or more, or never; got {text!r}")
    return number


def change(
    mail: MailFilter,
    ham_cut: float | None = None,
    spam_cut: float | None = None,
    half_life: float | None = None,
    tokens: int | None = None,
) -> None:
    """Change what is not None of a filter's settings. A half-life of 0 days stands for never.

    With a half-life of h days, a message that was learned h days ago counts half as much as one learned today. What was
    learned before the change weighs as it did on that day.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place, MailFilter(f"{place}/mail.db") as mine:
    ...     change(mine, spam_cut=0.99, half_life=180.0)
    ...     print(mine.cuts, mine.store().settings().half_life)
    (0.3, 0.99) 180.0
    """
    store = mail.store(make=True)
    with store.writing():
        if ham_cut is not None or spam_cut is not None:
            low, high = mail.cuts
            mail.cuts = (low if ham_cut is None else ham_cut, high if spam_cut is None else spam_cut)
        if tokens is not None:
            store.put("tokens", tokens)
        if half_life is not None:
            store.fold()
            store.lighten(store.state(), store.settings())
            store.fold()
            store.put("half_life", half_life or None)
