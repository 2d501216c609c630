"""Notation of dates in strings: the order of day, month and year, marks of missing cells."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from suffice.tables.arrow_arrays import from_numbers, from_strings, to_numbers
from suffice.tables.errors import listed
from suffice.tables.number_format import MARKS, RARE
from suffice.tables.sources.base import arrow

Order = Literal["ymd", "dmy", "mdy", "hms"]

_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = "[0-9]{1,2}|[A-Za-z]{3,9}"
_SEPARATOR = "(?:[-/.]|[., ] ?)"
_ZONE = " ?(?P<zone>Z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)"
_CLOCK = (
    "(?P<hour>[0-9]{1,2}):(?P<minute>[0-9]{2})(?::(?P<second>[0-9]{2})(?:[.,](?P<fraction>[0-9]{1,9}))?)?"
    f"(?: ?(?P<half>[AaPp])\\.?[Mm]\\.?)?(?:{_ZONE})?"
)
_TIME = f"(?:(?:[T:]|,? +){_CLOCK})?"
_WEEKDAY = "(?:(?:[Mm]on|[Tt]ue|[Ww]ed|[Tt]hu|[Ff]ri|[Ss]at|[Ss]un)[a-z]{0,6},? )?"
_PARTS = {"y": "(?P<year>[0-9]{4}|[0-9]{2})", "m": f"(?P<month>{_MONTH})", "d": "(?P<day>[0-9]{1,2})"}
_PATTERNS = {
    order: re.compile(_WEEKDAY + _SEPARATOR.join(_PARTS[part] for part in order) + _TIME) for order in ("dmy", "mdy")
}
_PATTERNS["ymd"] = re.compile(  # with a name, the year is last
    f"{_PARTS['y']}{_SEPARATOR}(?P<month>[0-9]{{1,2}}){_SEPARATOR}{_PARTS['d']}{_TIME}"
)
_PATTERNS["hms"] = re.compile(_CLOCK)
#: What dates and times have in common, in whatever order they are written.
_LOOSE = re.compile(
    r"[0-9]{1,2}:[0-9]{2}|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}|(?<![0-9.])[0-9]{1,2}([./])[0-9]{1,2}\1[0-9]{2,4}(?![0-9.])|"
    r"[0-9]{8}T[0-9]{4}"
)
_LETTERS = re.compile(r"[^\W\d_]+")
#: Names in a cell that is a date, such as those of a weekday, a month and a time zone, and colons, at most: a hardware
#: address has more of them.
_NAMES, _COLONS = 4, 4
#: Cells of a column in which dates are looked for.
_EXAMINED = 100
#: Years of two digits up to this one are of this century.
_CENTURY = 68
_WORDS = {"ymd": "the year", "dmy": "the day", "mdy": "the month", "hms": "the hour"}
_MICROSECONDS = np.dtype("datetime64[us]")
_EPOCH, _START = {"year": "1970", "month": "01", "day": "01"}, np.datetime64("1970-01-01", "us")


@dataclass(frozen=True)
class DateFormat:
    """Notation of the dates of a column of strings.

    Parameters
    ----------
    order
        What comes first: "ymd", "dmy" or "mdy". Months may be English names, and times may follow. ISO 8601 is read in
        any case. "hms": times of day, without a date.
    missing
        Strings of the column that are no dates, and are read as missing cells, beside
        :data:`suffice.tables.number_format.MARKS`.

    Examples
    --------
    >>> moments, wrong = DateFormat("dmy").parse(arrow().array(["3.12.2024", "03-Dec-24 1:30 PM", "n/a", "12/31/2024"]))
    >>> [str(each) for each in moments.to_pylist()], wrong.to_pylist()
    (['2024-12-03 00:00:00', '2024-12-03 13:30:00', 'None', 'None'], [False, False, False, True])
    """

    order: Order
    missing: tuple[str, ...] = ()

    def parse(self, column: Any, missing: Iterable[str] = ()) -> tuple[Any, Any]:
        """Return cells as timestamps in UTC, null for missing ones, and which of the others are no dates.

        Times of day are those of 1 January 1970.

        Parameters
        ----------
        column
            An Arrow array of strings.
        missing
            Further marks of missing cells.
        """
        import pyarrow.compute as pc

        pa = arrow()
        coded = pc.utf8_trim_whitespace(column.cast(pa.string())).dictionary_encode()
        if hasattr(coded, "chunks"):
            coded = coded.combine_chunks()
            coded = coded.chunk(0) if hasattr(coded, "chunks") else coded
        cells = coded.dictionary  # each distinct cell is read once
        moments = pa.array(read_dates(cells, self.order), type=pa.timestamp("us"), from_pandas=True)
        gaps = pc.is_in(cells, from_strings(["", *missing, *self.missing]))
        gaps = pc.or_(gaps, pc.is_in(pc.utf8_lower(cells), from_strings(list(MARKS))))
        is_wrong = pc.and_(pc.is_null(moments), pc.invert(gaps))
        return moments.take(coded.indices), is_wrong.take(coded.indices)

    def to_plain(self) -> dict[str, Any]:
        """Return the format as plain values."""
        return {**asdict(self), "missing": list(self.missing)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> DateFormat:
        """Return the format that :meth:`to_plain` wrote."""
        return cls(plain["order"], tuple(plain["missing"]))


def read_dates(cells: Any, order: Order) -> npt.NDArray[np.datetime64]:
    """Return strings as moments in UTC; NaT for those that are no dates in this order, and not ISO 8601.

    Parameters
    ----------
    cells
        An Arrow array of strings, without blanks at their ends.
    order
        What comes first.

    Examples
    --------
    >>> read_dates(arrow().array(["July 4, 2023", "2/29/23", "2023-07-04 12:30+01:00"]), "mdy").tolist()[::2]
    [datetime.datetime(2023, 7, 4, 0, 0), datetime.datetime(2023, 7, 4, 11, 30)]
    """
    import pyarrow.compute as pc

    parts = pc.extract_regex(cells, f"^(?:{_PATTERNS[order].pattern})$")
    own = {parts.type.field(place).name: parts.field(place) for place in range(parts.type.num_fields)}
    if order == "hms":
        first = {name: pc.if_else(pc.is_valid(parts), value, None) for name, value in _EPOCH.items()}
        found = _to_moments({**own, **first})
        return np.asarray(found - found.astype("datetime64[D]") + _START)  # a zone may lead to another day
    found = _to_moments(own)
    if order == "ymd":
        return found
    others = np.flatnonzero(np.isnat(found))
    iso = cells.take(from_numbers(others)) if len(others) else cells[:0]
    is_iso = pc.match_substring_regex(iso, "^[0-9]{4}-[0-9]{2}-[0-9]{2}($|[T ])")
    found[others] = read_dates(pc.if_else(is_iso, iso, None), "ymd")
    return found


def _to_moments(parts: Mapping[str, Any]) -> npt.NDArray[np.datetime64]:
    """Return moments in UTC, given the parts of dates as strings, null for strings that are none."""
    import pyarrow.compute as pc

    pa = arrow()

    def number(cells: Any) -> npt.NDArray[np.int64]:
        digits = pc.if_else(pc.match_substring_regex(cells, "^[0-9]+$"), cells, "0").fill_null("0")
        return np.asarray(to_numbers(digits.cast(pa.int64())), dtype=np.int64)

    years, days, hours, minutes, seconds = (number(parts[name]) for name in ("year", "day", "hour", "minute", "second"))
    is_short = np.asarray(to_numbers(pc.utf8_length(parts["year"]).fill_null(0))) == 2
    years = np.where(is_short, np.where(years <= _CENTURY, 2000, 1900) + years, years)
    words = pc.utf8_lower(parts["month"])
    named = pc.index_in(pc.utf8_slice_codeunits(words, 0, 3), from_strings(list(_MONTHS))).fill_null(-1)
    months = np.maximum(number(words), 1 + np.asarray(to_numbers(named)))
    half = pc.utf8_lower(parts["half"]).fill_null("")
    is_pm, has_half = (np.array(each.to_pylist(), bool) for each in (pc.equal(half, "p"), pc.not_equal(half, "")))
    is_hour = np.where(has_half, (hours >= 1) & (hours <= 12), hours < 24)
    hours = np.where(has_half, hours % 12 + 12 * is_pm, hours)
    zones = pc.replace_substring(parts["zone"].fill_null(""), ":", "")  # without digits, it is UTC
    east = np.where(np.array(pc.starts_with(zones, "-").to_pylist(), bool), -1, 1)
    shift = number(pc.utf8_slice_codeunits(zones, 1, 3)) * 60 + number(pc.utf8_slice_codeunits(zones, 3, 5))
    fraction = number(pc.utf8_slice_codeunits(pc.utf8_rpad(parts["fraction"].fill_null(""), 6, "0"), 0, 6))

    is_month = (months >= 1) & (months <= 12) & (years >= 1)
    starts = (np.where(is_month, (years - 1970) * 12 + months - 1, 0)).astype("datetime64[M]")
    dates = starts.astype("datetime64[D]") + np.maximum(days - 1, 0)
    is_valid = is_month & (days >= 1) & (dates.astype("datetime64[M]") == starts)
    is_valid &= is_hour & (minutes < 60) & (seconds < 60)
    minute = hours * 60 + minutes - east * shift
    found = dates.astype(_MICROSECONDS) + (minute * 60 + seconds) * 1_000_000 + fraction
    return np.where(is_valid, found, np.datetime64("NaT"))


@dataclass(frozen=True)
class DateNotation:
    """What is known of the dates of a column of strings.

    Parameters
    ----------
    format
        Their format; None if they are no dates.
    note
        What the user is told about the column; may be empty.
    is_uncertain
        Whether the reading may be wrong: days and months may be swapped, or cells are no dates.
    """

    format: DateFormat | None
    note: str = ""
    is_uncertain: bool = False


def may_be_dates(column: Any) -> bool:
    """Whether at least half of the first known cells of a column of strings look like dates."""
    known = [cell.strip() for cell in column.drop_null()[:_EXAMINED].to_pylist()]
    known = [cell for cell in known if cell and cell.casefold() not in MARKS]
    looks = sum(any(pattern.fullmatch(cell) for pattern in _PATTERNS.values()) for cell in known)
    return bool(known) and looks >= len(known) / 2


def find_date_notation(
    name: str, counts: Mapping[str, int], day_first: bool | None = None, hint: bool | None = None
) -> DateNotation:
    """Return the format of a column of strings, if they are dates.

    Parameters
    ----------
    name
        Name of the column.
    counts
        Its distinct cells, stripped of blanks, with their counts.
    day_first
        Whether the user has said that the day comes before the month, or after it.
    hint
        The same of other columns of the table, which decides where both are possible.

    Examples
    --------
    >>> find_date_notation("day", {"12/31/2024": 1, "01/02/2025": 3}).format
    DateFormat(order='mdy', missing=())
    >>> print(find_date_notation("day", {"03/04/2024": 1, "07/04/2024": 3}).note)
    column 'day': '03/04/2024' is read as 3 April 2024, and may be 4 March 2024: if so, give --month-first
    """
    marks = [cell for cell in counts if cell.casefold() in MARKS]
    known = {cell: count for cell, count in counts.items() if cell.casefold() not in MARKS}
    total = sum(known.values())
    orders: tuple[Order, ...] = ("ymd", "dmy", "mdy", "hms")
    refused = {True: "mdy", False: "dmy", None: ""}[day_first]
    cells = from_strings(list(known))
    moments = {
        order: {cell: moment for cell, moment in zip(known, read_dates(cells, order), strict=True) if moment == moment}
        for order in orders
        if order != refused
    }
    read = {order: sum(known[cell] for cell in found) for order, found in moments.items()}
    most = max(read.values())
    if not known or most < total / 2:
        return DateNotation(None)
    best = sorted(
        (order for order in moments if read[order] == most),
        key=lambda order: (
            hint is not None and order != ("dmy" if hint else "mdy"),
            not _is_monthly(moments[order].values()),
            len({moment.astype("datetime64[Y]") for moment in moments[order].values()}),
        ),
    )
    order = best[0]
    wrong = sorted((cell for cell in known if cell not in moments[order]), key=lambda cell: -known[cell])
    failed = total - most
    share = 100 * failed / max(total, 1)
    told = f"{failed} of {total} cells ({share:.{'0f' if share >= 10 else '2g'}} %) are no dates ({listed(wrong, 3)})"
    if failed > RARE * total:
        return DateNotation(None, f"column {name!r}: {told}, if {_WORDS[order]} comes first: read as names", True)
    if order == "hms":
        cell, moment = next(iter(moments[order].items()))
        hours = (moment - _START) / np.timedelta64(1, "h")
        notes = [f"times of day, as hours since midnight: {cell!r} is {hours:.4g}"]
        return _notation(name, order, notes, marks, wrong, told, is_uncertain=bool(wrong))
    has_points = all(cell.count(".") >= 2 for cell in moments[order])  # which stand behind days and months
    is_clear = hint is not None or (order == "dmy" and has_points) or _is_monthly(moments[order].values())
    other = None if is_clear else next((each for each in best if moments[each] != moments[order]), None)
    notes = []
    if other is not None:
        cell = next(cell for cell, moment in moments[order].items() if moments[other].get(cell) != moment)
        one, two = (_describe(moments[each][cell]) for each in (order, other))
        cure = {"dmy": "give --day-first", "mdy": "give --month-first", "ymd": "write 2024-12-31"}[other]
        notes.append(f"{cell!r} is read as {one}, and may be {two}: if so, {cure}")
    elif order != "ymd":
        cell = max(
            moments[order],
            key=lambda cell: (not cell[:3].isdecimal(), len({*str(moments[order][cell])[5:10].split("-")})),
        )
        notes.append(f"dates that begin with {_WORDS[order]}: {cell!r} is {_describe(moments[order][cell])}")
    return _notation(name, order, notes, marks, wrong, told, is_uncertain=bool(other or wrong))


def _notation(
    name: str, order: Order, notes: list[str], marks: list[str], wrong: list[str], told: str, *, is_uncertain: bool
) -> DateNotation:
    """Return the notation of a column, and what the user is told of it."""
    notes = [*notes, *([f"{listed(marks, 3)} {'is' if len(marks) == 1 else 'are'} missing"] if marks else [])]
    notes += [f"{told}, and read as missing"] if wrong else []
    note = f"column {name!r}: {'; '.join(notes)}" if notes else ""
    return DateNotation(DateFormat(order, tuple(sorted(wrong))), note, is_uncertain)


def note_unread(name: str, column: Any) -> str:
    """Return what the user is told of a column of strings that look like dates or times, and are not read as such.

    Examples
    --------
    >>> note_unread("at", arrow().array(["Tue Oct 22 08:32:00 EDT 2024"])).partition(":")[0]
    "column 'at'"
    >>> note_unread("at", arrow().array(["10.20.30.40"]))
    ''
    """
    known = [cell.strip() for cell in column.drop_null()[:_EXAMINED].to_pylist()]
    looks = [
        cell
        for cell in known
        if _LOOSE.search(cell) and len(_LETTERS.findall(cell)) <= _NAMES and cell.count(":") <= _COLONS
    ]
    if not looks or len(looks) < len(known) / 2:
        return ""
    return (
        f"column {name!r}: {looks[0]!r} looks like a date or a time, and is not read as one: write 2024-12-31 "
        "13:05:00+01 (with the zone), or 13:05"
    )


def has_clear_order(counts: Mapping[str, int]) -> bool | None:
    """Return whether the day of all dates comes first; None if that is open, or if they are no such dates."""
    cells = from_strings([cell for cell in counts if cell.casefold() not in MARKS])
    orders: tuple[Order, ...] = ("ymd", "dmy", "mdy")
    is_read = {order: not np.isnat(read_dates(cells, order)).any() for order in orders}
    return is_read["dmy"] if is_read["dmy"] != is_read["mdy"] and not is_read["ymd"] else None


def _is_monthly(moments: Iterable[np.datetime64]) -> bool:
    """Whether these are first days of several months."""
    days = np.array(list(moments), dtype="datetime64[D]")
    months = days.astype("datetime64[M]")
    return bool((days == months).all() and len(np.unique(months)) > 1)


def _describe(moment: np.datetime64) -> str:
    day = moment.astype("datetime64[D]").item()
    return f"{day.day} {day:%B} {day.year}"
