"""Why a message was taken for what it was: contributions that add up to the log-odds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Any

from suffice.mail.errors import MailError
from suffice.mail.reading import read, token_count
from suffice.mail.verdict import Verdict, discount
from suffice.printable import printable

if TYPE_CHECKING:
    from suffice.mail.filter import MailFilter

#: What a token's first part means, in words; {} stands for the rest.
_SAID = {
    "header:": "has a field {}",
    "part:": "is made of {}",
    "hidden:": "{}, hidden from the reader",
    "url:": "{} in a link",
    "image:": "{} in an image's address",
    "tag:": "HTML's <{}>",
    "look:": "HTML's look {}",
    "attachment:": "{} attached",
    "title:": "{} in the page's title",
    "trouble:": "trouble: {}",
}


def in_words(token: str) -> str:
    """Return what a token is.

    Examples
    --------
    >>> in_words("subject:FREE"), in_words("money"), in_words("url:.example")
    ('“FREE” in the field Subject', '“money”', '“.example” in a link')
    """
    tag, colon, rest = token.partition(":")
    if not colon or not rest or not tag.replace("-", "").isalnum() or not tag.islower():
        return f"“{token}”"
    if tag + ":" in _SAID:
        plain = tag in ("header", "part", "tag", "look", "trouble")
        return _SAID[tag + ":"].format(rest if plain else f"“{rest}”")
    return f"“{rest}” in the field {tag.title()}"


@dataclass(frozen=True)
class Reason:
    """What a token, or the bytes of a line at the message's beginning, add to the log-odds."""

    token: str  #: its name, or the line
    log_odds: float
    seen: dict[str, float] | None = None  #: in how many messages of each class the token was; None for a line

    @property
    def means(self) -> str:
        """What it is, in words."""
        if self.seen is not None:
            return printable(in_words(self.token))
        line = printable(self.token.strip())
        return f"the bytes of “{line[:60]}{'…' if len(line) > 60 else ''}”" if line else "the bytes of an empty line"


@dataclass(frozen=True)
class Explanation:
    r"""A verdict with its reasons.

    Examples
    --------
    >>> import tempfile
    >>> from suffice.mail import MailFilter
    >>> with tempfile.TemporaryDirectory() as place, MailFilter(f"{place}/mail.db") as mine:
    ...     _ = mine.learn(b"Subject: pills\n\nBuy cheap pills", "spam")
    ...     _ = mine.learn(b"Subject: lunch\n\nShall we have lunch", "ham")
    ...     why = mine.explain(b"Subject: hi\n\ncheap pills")
    >>> why.reasons[0].means, why.reasons[0].seen
    ('“cheap”', {'ham': 0.0, 'spam': 1.0})
    >>> total = sum(reason.log_odds for reason in why.reasons) + why.constant
    >>> abs(total - why.log_odds) < 1e-9
    True
    """

    verdict: Verdict
    label: str  #: the class that the log-odds speak for
    log_odds: float  #: of the class against the others
    reasons: tuple[Reason, ...]  #: every token and line, the weightiest first
    constant: float  #: what holds for every message

    def foremost(self, top: int = 20) -> list[Reason]:
        """Return the weightiest tokens, and a quarter as many lines among them."""
        tokens = [reason for reason in self.reasons if reason.seen is not None][:top]
        lines = [reason for reason in self.reasons if reason.seen is None][: top // 4]
        return sorted((*tokens, *lines), key=lambda reason: -abs(reason.log_odds))

    def others(self, shown: list[Reason]) -> tuple[int, float]:
        """Return how many reasons are not shown, and what they add."""
        rest = self.log_odds - self.constant - math.fsum(reason.log_odds for reason in shown)
        return len(self.reasons) - len(shown), rest

    def as_dict(self, top: int = 20) -> dict[str, Any]:
        """Return the same as JSON has it."""
        shown = self.foremost(top)
        count, rest = self.others(shown)
        return {
            **self.verdict.as_dict(),
            "class": self.label,
            "class_log_odds": self.log_odds,
            "reasons": [{"token": r.token, "means": r.means, "log_odds": r.log_odds, "seen": r.seen} for r in shown],
            "others": {"count": count, "log_odds": rest},
            "constant": self.constant,
        }

    def lines(self, top: int = 20) -> list[tuple[str, float, str]]:
        """Return what is shown: what, how much it adds, where it was seen."""
        reasons = self.foremost(top)
        shown = [(reason.means, reason.log_odds, _seen(reason.seen)) for reason in reasons]
        count, rest = self.others(reasons)
        if count:
            shown.append((f"{count} other tokens and lines", rest, ""))
        return [*shown, ("every message", self.constant, "")]

    def __str__(self) -> str:
        return self.text()

    def text(self, top: int = 20, width: int | None = None) -> str:
        """Return the explanation as lines of text, each cut to a width if one is given."""
        verdict = self.verdict
        head = f"{verdict.label}: the probability of spam is {_share(verdict.probability)}"
        lines = self.lines(top)
        wide = max(len(what) for what, _, _ in lines)
        if width is not None:
            wide = max(20, min(wide, width - 12 - max(len(seen) for _, _, seen in lines)))
        body = [f"{value:+8.3f}  {_cut(what, wide):<{wide}}  {seen}".rstrip() for what, value, seen in lines]
        total = f"{self.log_odds:+8.3f}  log-odds of {self.label}"
        troubles = [f"note: {printable(detail)}" for _, detail in verdict.trouble]
        if not verdict.ready:
            troubles.append("note: too little was learned for anything to be called spam")
        return "\n".join([head, "", *body, "-" * 8, total, *troubles])

    def html(self, top: int = 20) -> str:
        """Return the explanation as a page."""
        lines = self.lines(top)
        most = max((abs(r.log_odds) for r in self.foremost(top)), default=1.0) or 1.0
        rows = "\n".join(_row(what, value, seen, most) for what, value, seen in lines)
        verdict = self.verdict
        notes = "".join(f"<li>{escape(detail)}</li>" for _, detail in verdict.trouble)
        return _PAGE.format(
            label=escape(verdict.label),
            p=_share(verdict.probability),
            rows=rows,
            total=f"{self.log_odds:+.3f}",
            of=escape(self.label),
            notes=f"<ul>{notes}</ul>" if notes else "",
        )


def explain(mail: MailFilter, message: bytes, label: str | None = None) -> Explanation:
    """Return what made a message what it is, or of one class."""
    letters = read([message])
    verdict = mail.judge(letters)[0]
    classes = mail.classes
    label = label or "spam"
    if label not in classes:
        raise MailError(f"there is no class {label!r}: the filter knows {', '.join(classes)}")
    state = mail.store().state()
    column = 0 if len(classes) == 2 else classes.index(label)
    sign = -1.0 if len(classes) == 2 and label != classes[1] else 1.0
    share = sign * discount(token_count(letters, 0), mail.store().facts().counts)
    total = state.score(letters, 0)[column][0]
    mix = state.mix[4 * column : 4 * column + 4]
    parts = state.contributions(letters, 0, column)
    seen = state.seen(letters, 0)
    width = len(classes)
    reasons = [
        Reason(token, share * part, dict(zip(classes, seen[i * width : (i + 1) * width], strict=True)))
        for i, (token, part) in enumerate(zip(letters.tokens(0), parts, strict=True))
    ]
    reasons += [Reason(line, share * part) for line, part in state.lines(message, column)]
    reasons.sort(key=lambda reason: -abs(reason.log_odds))
    return Explanation(verdict, label, share * total, tuple(reasons), share * mix[3])


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _share(p: float) -> str:
    return "above 0.9999" if p > 0.9999 else "below 0.0001" if p < 0.0001 else f"{p:.4f}"


def _seen(seen: dict[str, float] | None) -> str:
    if seen is None:
        return ""
    return "seen in " + ", ".join(f"{count:g} {name}" for name, count in seen.items()) if any(seen.values()) else "new"


def _row(what: str, value: float, seen: str, most: float) -> str:
    side = "for" if value >= 0 else "against"
    return (
        f"<tr><th scope=row>{escape(what)}</th><td class=number>{value:+.3f}</td>"
        f'<td class=bar><span class={side} style="width:{min(100.0, 100 * abs(value) / most):.1f}%"></span></td>'
        f"<td>{escape(seen)}</td></tr>"
    )


_PAGE = """<!doctype html>
<html lang=en><meta charset=utf-8><meta name=viewport content="width=device-width, initial-scale=1">
<title>Why {label}?</title>
<style>
:root {{ color-scheme: light dark; --for: #d55e00; --against: #0072b2; --line: #8885; }}
body {{ font: 1rem/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .6rem; border-top: 1px solid var(--line); font-weight: normal; }}
th {{ overflow-wrap: anywhere; }}
.number {{ white-space: nowrap; text-align: right; font-variant-numeric: tabular-nums; }}
.bar {{ width: 25%; }} .bar span {{ display: block; height: .8rem; border-radius: .2rem; }}
.for {{ background: var(--for); }} .against {{ background: var(--against); margin-left: auto; }}
tfoot th, tfoot td {{ border-top: 2px solid; font-weight: 600; }}
</style>
<h1>{label}</h1>
<p>The probability of spam is {p}. Each line says what something in the message adds to the log-odds of {of}: orange
speaks for it, blue against it.</p>
<table>
<thead>
<tr><th scope=col>what</th><th scope=col class=number>adds</th><th></th><th scope=col>learned from</th></tr>
</thead>
<tbody>
{rows}
</tbody>
<tfoot><tr><th scope=row>log-odds of {of}</th><td class=number>{total}</td><td></td><td></td></tr></tfoot></table>
{notes}
</html>
"""
