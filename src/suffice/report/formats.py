"""Numbers, shares, names and counts as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

#: Characters that HTML and XML do not allow: control characters, surrogates and non-characters.
_NOT_ALLOWED = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")


def format_value(value: Any) -> str:
    """Return a value as text, numbers with four digits; control characters become dots.

    Examples
    --------
    >>> [format_value(each) for each in (1938, 1234567.8, -0.25, 1e-7, True, None, float("nan"))]
    ['1938', '1,234,568', '−0.25', '1e−07', 'true', 'missing', 'unknown']
    """
    if value is None:
        return "missing"
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if not isinstance(value, int | float | np.number):
        return _NOT_ALLOWED.sub("·", str(value))
    if np.isnan(value):
        return "unknown"
    size = abs(float(value))
    if 10_000 <= size < 1e12:
        text = f"{value:,.0f}"
    elif isinstance(value, int) and size < 1e12:
        text = str(value)
    else:
        text = f"{value:.4g}"
    return text.replace("-", "−")


def format_short(value: Any, length: int) -> str:
    """Return a value as text of at most ``length`` characters, with an ellipsis at the end where it is longer.

    Examples
    --------
    >>> format_short("a long story", 7)
    'a long…'
    """
    text = format_value(value)
    return text if len(text) <= length else text[: length - 1].rstrip() + "…"


def format_digits(value: float, digits: int) -> str:
    """Return a number rounded to significant digits.

    Examples
    --------
    >>> format_digits(0.123456, 3)
    '0.123'
    """
    return format_value(float(f"{value:.{digits}g}"))


def format_share(share: float) -> str:
    """Return a share in percent; 0% and 100% are exact.

    Examples
    --------
    >>> format_share(0.5), format_share(0.0), format_share(0.0001), format_share(0.99999)
    ('50.0%', '0%', '<0.1%', '>99.9%')
    """
    if np.isnan(share):
        return "unknown"
    if share in (0, 1):
        return f"{share:.0%}"
    return "<0.1%" if share < 0.0005 else ">99.9%" if share > 0.9995 else f"{share:.1%}"


def format_metric(name: str, value: float) -> str:
    """Return a metric: shares in percent, others with three digits.

    Examples
    --------
    >>> format_metric("accuracy", 0.9), format_metric("log loss", 0.25)
    ('90.0%', '0.25')
    """
    if name in ("accuracy", "error", "precision", "recall", "F1"):
        return format_share(value)
    return format_digits(value, 3) if abs(value) < 100 else format_value(value)


def format_signed(value: float) -> str:
    """Return a number with its sign.

    Examples
    --------
    >>> format_signed(0.5), format_signed(-0.25)
    ('+0.50', '−0.25')
    """
    return f"{value:+.2f}".replace("-", "−") if abs(value) < 1000 else ("+" if value > 0 else "") + format_value(value)


def format_names(names: Sequence[str], max_names: int = 6) -> str:
    """Return names as a list in one line.

    Examples
    --------
    >>> format_names(["a", "b", "c"]), format_names(["a", "b", "c"], max_names=2)
    ('a, b and c', 'a, b and 1 more')
    """
    if len(names) > max_names:
        names = [*names[:max_names], f"{len(names) - max_names} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]])) if names else ""


def format_count(count: int, singular: str, plural: str | None = None) -> str:
    """Return a number and the noun that it counts.

    Examples
    --------
    >>> format_count(1, "row"), format_count(12000, "row"), format_count(2, "class", "classes")
    ('1 row', '12,000 rows', '2 classes')
    """
    return f"{count:,} {singular if count == 1 else plural or singular + 's'}"


def capitalise(text: str) -> str:
    """Return text with its first letter in upper case, and the others unchanged."""
    return text[:1].upper() + text[1:]
