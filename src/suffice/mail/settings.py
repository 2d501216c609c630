"""Settings of a filter: classes, half-life of what was learned, number of tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from suffice.mail.errors import MailError

if TYPE_CHECKING:
    from suffice.mail.filter import MailFilter

#: Half-lives after which a weight no longer changes: 2**1000 is close to the largest float.
_MAX_HALF_LIVES = 1000


@dataclass(frozen=True)
class Settings:
    """Settings stored in a filter's file."""

    classes: tuple[str, ...] = ("ham", "spam")
    half_life: float | None = None  # days
    tokens: int = 1_000_000  # maximum number of tokens kept
    origin: int = 0  # the day on which a message has weight 1

    def __post_init__(self) -> None:
        classes = list(self.classes)
        if classes[:2] != ["ham", "spam"] or len(set(classes)) < len(classes):
            raise ValueError(f"classes are {', '.join(classes)[:200]}, but must begin with ham and spam, each once")
        if self.half_life is not None and not 1 <= self.half_life <= 1e6:
            raise ValueError(f"half_life is {self.half_life}, but must be from 1 to 1,000,000 days")
        if not 1 <= self.tokens <= 10**9:
            raise ValueError(f"tokens is {self.tokens}, but must be from 1 to 1,000,000,000")
        if not 0 <= self.origin <= 10**6:
            raise ValueError(f"origin is {self.origin}, but must be a number of days since 1970")

    def weight(self, day: int) -> float:
        """Return the weight of a message learned on a day: with a half-life, it grows with the day."""
        if self.half_life is None:
            return 1.0
        passed = (day - self.origin) / self.half_life
        return float(2.0 ** max(-_MAX_HALF_LIVES, min(passed, _MAX_HALF_LIVES)))


def parse_half_life(text: str) -> float:
    """Return a number of days; 0 for "never".

    Examples
    --------
    >>> parse_half_life("90"), parse_half_life("never")
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


def change_settings(
    mail: MailFilter,
    ham_cut: float | None = None,
    spam_cut: float | None = None,
    half_life: float | None = None,
    tokens: int | None = None,
) -> None:
    """Change those settings of a filter that are not None. A half-life of 0 days means no decay.

    With a half-life of h days, a message learned h days ago counts half as much as one learned today. Messages learned
    before the change keep the weight that they have now.

    Examples
    --------
    >>> import tempfile
    >>> from suffice.mail import MailFilter
    >>> with tempfile.TemporaryDirectory() as folder, MailFilter(f"{folder}/mail.db") as mail:
    ...     change_settings(mail, spam_cut=0.99, half_life=180.0)
    ...     print(mail.cuts, mail.store().settings().half_life)
    (0.3, 0.99) 180.0
    """
    store = mail.store(create=True)
    with store.write_transaction():
        if ham_cut is not None or spam_cut is not None:
            low, high = mail.cuts
            mail.cuts = (low if ham_cut is None else ham_cut, high if spam_cut is None else spam_cut)
        if tokens is not None:
            store.put_setting("tokens", tokens)
        if half_life is not None:
            store.compact()
            store.rescale_weights(store.state(), store.settings())
            store.compact()
            store.put_setting("half_life", half_life or None)
