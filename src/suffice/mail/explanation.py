"""Explanations of verdicts: the contributions of tokens and lines to the log-odds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from suffice.explain import Contribution, Explanation, Line
from suffice.mail.errors import MailError
from suffice.mail.features import extract_features
from suffice.mail.verdict import Verdict
from suffice.printable import printable

if TYPE_CHECKING:
    from suffice.mail.filter import MailFilter

#: Number of tokens that are shown by default.
TOP = 20
#: Descriptions of tokens by their tags.
_DESCRIPTIONS = {
    "header:": "header field {}",
    "part:": "MIME part {}",
    "hidden:": "{} in hidden text",
    "url:": "{} in a link",
    "image:": "{} in the URL of an image",
    "tag:": "HTML tag <{}>",
    "look:": "HTML style {}",
    "attachment:": "{} in an attachment",
    "title:": "{} in the page title",
    "trouble:": "problem of the message: {}",
}


def describe_token(token: str) -> str:
    """Return a description of a token.

    Examples
    --------
    >>> describe_token("subject:FREE"), describe_token("money"), describe_token("url:.example")
    ('“FREE” in the field Subject', '“money”', '“.example” in a link')
    """
    tag, colon, rest = token.partition(":")
    if not colon or not rest or not tag.replace("-", "").isalnum() or not tag.islower():
        return f"“{token}”"
    if tag + ":" in _DESCRIPTIONS:
        is_plain = tag in ("header", "part", "tag", "look", "trouble")
        return _DESCRIPTIONS[tag + ":"].format(rest if is_plain else f"“{rest}”")
    return f"“{rest}” in the field {tag.title()}"


@dataclass(frozen=True)
class MailExplanation(Explanation):
    r"""An explanation of a verdict: features are tokens, and the lines at the beginning of the message.

    The value of a token is the number of messages of each class that it was in; that of a line is None. The log-odds
    are those of one class against all others.

    Examples
    --------
    >>> import tempfile
    >>> from suffice.mail import MailFilter
    >>> with tempfile.TemporaryDirectory() as folder, MailFilter(f"{folder}/mail.db") as mail:
    ...     _ = mail.learn(b"Subject: pills\n\nBuy cheap pills", "spam")
    ...     _ = mail.learn(b"Subject: lunch\n\nShall we have lunch", "ham")
    ...     why = mail.explain(b"Subject: hi\n\ncheap pills")
    >>> why.contributions[0].feature, why.contributions[0].value
    ('cheap', {'ham': 0.0, 'spam': 1.0})
    >>> total = sum(each.effect for each in why.contributions) + why.base
    >>> abs(total - why.total) < 1e-9
    True
    """

    verdict: Verdict = field(kw_only=True)

    def describe(self, contribution: Contribution) -> str:
        """Return a description of a token or of a line of the message."""
        if contribution.value is not None:
            return printable(describe_token(contribution.feature))
        line = printable(contribution.feature.strip())
        return f"the bytes of “{line[:60]}{'…' if len(line) > 60 else ''}”" if line else "the bytes of an empty line"

    def headline(self) -> str:
        """Return the verdict and the probability of spam."""
        return f"{self.verdict.label}: the probability of spam is {_format_probability(self.verdict.probability)}"

    def shown(self, top: int = TOP) -> list[Contribution]:
        """Return the tokens with the largest contributions, and a quarter as many lines among them."""
        tokens = [each for each in self.contributions if each.value is not None][:top]
        lines = [each for each in self.contributions if each.value is None][: top // 4]
        return sorted((*tokens, *lines), key=lambda each: -abs(each.effect))

    def others(self, shown: list[Contribution]) -> tuple[int, float]:
        """Return how many contributions are not shown, and their sum."""
        rest = self.total - self.base - math.fsum(each.effect for each in shown)
        return len(self.contributions) - len(shown), rest

    def lines(self, top: int = TOP) -> list[Line]:
        """Return the contributions that are shown, the sum of the others, and the intercept."""
        shown = self.shown(top)
        lines = [Line(self.describe(each), each.effect, _format_counts(each.value)) for each in shown]
        count, rest = self.others(shown)
        if count:
            lines.append(Line(f"{count} other tokens and lines", rest))
        return [*lines, Line("intercept", self.base)]

    def notes(self) -> list[str]:
        """Return the problems of the message, and whether too little was learned."""
        notes = [f"note: {printable(detail)}" for _, detail in self.verdict.trouble]
        if not self.verdict.ready:
            notes.append("note: too little was learned to call anything spam")
        return notes

    def text(self, top: int = TOP, width: int | None = None) -> str:
        """Return the explanation as lines of text, each cut to a width if one is given."""
        lines = self.lines(top)
        wide = max(len(line.name) for line in lines)
        if width is not None:
            wide = max(20, min(wide, width - 12 - max(len(line.detail) for line in lines)))
        body = [f"{effect:+8.3f}  {_truncate(name, wide):<{wide}}  {seen}".rstrip() for name, effect, seen in lines]
        total = f"{self.total:+8.3f}  log-odds of {self.prediction}"
        return "\n".join([self.headline(), "", *body, "-" * 8, total, *self.notes()])

    def to_dict(self, top: int = TOP) -> dict[str, Any]:
        """Return the explanation as plain values, with as many contributions as are shown."""
        shown = self.shown(top)
        count, rest = self.others(shown)
        return {
            **self.verdict.as_dict(),
            "class": self.prediction,
            "class_log_odds": self.total,
            "reasons": [
                {"token": each.feature, "means": self.describe(each), "log_odds": each.effect, "seen": each.value}
                for each in shown
            ],
            "others": {"count": count, "log_odds": rest},
            "constant": self.base,
        }

    def _total_name(self) -> str:
        return f"log-odds of {self.prediction}"


def explain(mail: MailFilter, message: bytes, label: str | None = None) -> MailExplanation:
    """Return the explanation of a message: of spam, or of another class."""
    features = extract_features([message])
    verdict = mail.judge(features)[0]
    classes = mail.classes
    label = label or "spam"
    if label not in classes:
        raise MailError(f"there is no class {label!r}: the filter has {', '.join(classes)}")
    state = mail.store().state()
    column = 0 if len(classes) == 2 else classes.index(label)
    sign = -1.0 if len(classes) == 2 and label != classes[1] else 1.0
    total = state.score(features, 0)[column][0]
    parts = state.contributions(features, 0, column)
    seen = state.seen(features, 0)
    width = len(classes)
    found = [
        Contribution(token, dict(zip(classes, seen[i * width : (i + 1) * width], strict=True)), sign * part)
        for i, (token, part) in enumerate(zip(features.tokens(0), parts, strict=True))
    ]
    found += [Contribution(line, None, sign * part) for line, part in state.lines(features, 0, message, column)]
    return MailExplanation(
        prediction=label,
        against=None,
        probability=verdict.probabilities[label],
        base=sign * state.intercept(features, 0, column),
        total=sign * total,
        contributions=tuple(sorted(found, key=lambda each: -abs(each.effect))),
        verdict=verdict,
    )


def _truncate(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _format_probability(p: float) -> str:
    return "above 0.9999" if p > 0.9999 else "below 0.0001" if p < 0.0001 else f"{p:.4f}"


def _format_counts(seen: dict[str, float] | None) -> str:
    if seen is None:
        return ""
    return "seen in " + ", ".join(f"{count:g} {name}" for name, count in seen.items()) if any(seen.values()) else "new"
