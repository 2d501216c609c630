"""Notation of numbers in strings: separators, currency and percent signs, marks of missing cells."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from suffice.tables.arrow_arrays import from_strings
from suffice.tables.errors import UsageError, kind_cure, listed
from suffice.tables.sources.base import NumberOptions, arrow

#: Marks of missing cells in columns of numbers and dates, in lower case. Categories may be called so.
MARKS = (
    *(
        "na",
        "n/a",
        "n.a.",
        "n.a",
        "n/k",
        "nan",
        "<na>",
        "#n/a",
        "#na",
        "null",
        "(null)",
        "[null]",
        "#null!",
        "none",
        "nil",
    ),
    *(
        "\\n",
        "unknown",
        "unk",
        "undefined",
        "missing",
        "(missing)",
        "blank",
        "(blank)",
        "not available",
        "not applicable",
        "not known",
        "no data",
        "n/d",
        "tbd",
        "-",
        "--",
        "---",
        "–",
        "—",
        ".",
        "..",
        "...",
        "…",
        "?",
        "??",
    ),
    *("#div/0!", "#value!", "#ref!", "#num!", "#name?"),
)
#: Share of the cells that are no numbers, at most, in a column of numbers: they are read as missing.
RARE = 0.05
#: Share of the cells that are numbers, at least, in a column of strings about which a note is given.
_NOTED = 0.5
#: Distinct cells that formats are compared on.
_COMPARED = 5_000

#: Characters of each separator: blanks and apostrophes are written in several ways.
_SEPARATORS = {"": "", ".": r"\.", ",": ",", " ": "[ \u00a0\u2009\u202f]", "'": "['\u2019]"}
_WORDS = {".": "point", ",": "comma", " ": "blank", "'": "apostrophe"}
_CURRENCIES = (
    *("EUR", "USD", "GBP", "CHF", "JPY", "CNY", "INR", "SEK", "NOK", "DKK", "PLN", "CZK", "HUF", "CAD", "AUD", "NZD"),
    *("BRL", "MXN", "ZAR", "TRY", "KRW", "US$", "R$", "C$", "A$", "kr.", "kr", "zł", "Kč", "Ft", "Fr."),
    *"$€£¥₹₽₩₺₴₫₱₦฿₪₡₲₵₸₼₾¢",
)
_CURRENCY = "|".join(map(re.escape, _CURRENCIES))
_BLANK = "[ \\s\u00a0\u2009\u202f]"
_SIGN = "[+\u2212-]"
_SPECIAL = "[+-]?(?i:nan|inf|infinity)"
#: Dashes instead of decimals that are 0.
_DASHES = "[\u2013\u2014-]{1,2}"
#: Anything that is a number in some format: its parts are sign, currency, digits with separators, unit. Numbers in
#: parentheses, and with a minus at their end, are negative, as accountants write them.
_DIGITS = "(?:[.,]?[0-9](?:[0-9.,'\u2019 \u00a0\u2009\u202f]*[0-9])?[.,]?(?:[eE][+-]?[0-9]+)?)"
_NUMBER_LIKE = (
    f"(?:{_CURRENCY})?{_BLANK}*(?:{_SIGN}|\\()?{_BLANK}*(?:{_CURRENCY})?{_BLANK}*{_DIGITS}"
    f"{_BLANK}*(?:{_CURRENCY}|%)?{_BLANK}*(?:[)\u2212-]|{_DASHES})?{_BLANK}*(?:{_CURRENCY}|%)?"
)
_UNIT = re.compile(f"{_CURRENCY}|%")
#: A number and the unit behind it, and the most units of a column of such.
_MEASURED, _UNITS = re.compile(f"{_SIGN}?{_DIGITS}{_BLANK}*((?![eE]$)[^\\W\\d_]{{1,6}}[²³.]?|°[CFK]?|‰)"), 3
#: A number behind a percent sign or a word, such as the sign of a currency, and the digits of an amount.
_PREFIXED = re.compile(f"{_SIGN}?(%|(?![eE])[^\\W\\d_]{{1,4}}[./$]?){_BLANK}*{_SIGN}?({_DIGITS})")
_AMOUNT = re.compile("[0-9]{1,3}(?:[.,'\u2019 \u00a0\u2009\u202f][0-9]{3})+|.*[.,][0-9]{2}")
#: A number that has digits or separators of another script.
_FOREIGN = re.compile(r"(?=.*\d)[\d\s.,\u066b\u066c%\u066a()+\u2212-]+")
#: Digits in groups of three, or as in India.
_GROUPS = "[1-9][0-9]{{0,2}}(?:{0}[0-9]{{3}})+"
_INDIAN = "[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}"
_ZEROS = re.compile("0[0-9]+")
#: Digits of whole numbers that are codes, such as card numbers.
_LONG = 16
#: Formats in the order of preference where several read all cells.
_FORMATS = ((".", ""), (".", ","), (",", ""), (".", " "), (".", "'"), (",", "."), (",", " "), (",", "'"))


@dataclass(frozen=True)
class NumberFormat:
    """Notation of the numbers of a column of strings.

    Parameters
    ----------
    decimal
        The decimal separator: "." or ",".
    thousands
        The separator between groups of three digits: "", ",", ".", " " or "'"; blanks and apostrophes of any width.
        With commas, groups may be Indian: 1,23,456.
    unit
        A known currency, which cells may have, or another unit, such as "%" or "kg", which they must have, on either
        side. It does not change the number.
    missing
        Strings of the column that are no numbers, and are read as missing cells, beside :data:`MARKS`.

    Examples
    --------
    >>> cells = arrow().array(["1.234,50 €", "-2,5", "(2,50 €)", "n/a", "1,2,3"])
    >>> numbers, wrong = NumberFormat(",", ".", "€").parse(cells)
    >>> numbers.to_pylist(), wrong.to_pylist()
    ([1234.5, -2.5, -2.5, None, None], [False, False, False, None, True])
    """

    decimal: str = "."
    thousands: str = ""
    unit: str = ""
    missing: tuple[str, ...] = ()

    @property
    def pattern(self) -> str:
        """Regular expression of the numbers."""
        group, point = _SEPARATORS[self.thousands], _SEPARATORS[self.decimal]
        groups = [*([_GROUPS.format(group)] if group else []), *([_INDIAN] if group == "," else [])]
        digits = "|".join([*groups, "[0-9]+"])
        number = f"(?:(?:{digits})(?:{point}(?:[0-9]*|{_DASHES}))?|{point}[0-9]+)(?:[eE][+-]?[0-9]+)?"
        sign, minus, unit = f"(?:{_SIGN}{_BLANK}*)?", "[\u2212-]", re.escape(self.unit)
        if not self.unit:
            return f"^(?:{sign}{number}|\\({number}\\)|{number}{minus}|{_SPECIAL})$"
        if self.needs_unit:
            before, after = f"{unit}{_BLANK}*", f"{_BLANK}*{unit}"
            behind = f"{sign}{number}{after}|\\({number}{after}\\)|\\({number}\\){after}|{number}{minus}{after}"
            return f"^(?:{behind}|{before}{sign}{number}|{sign}{before}{number}|{before}\\({number}\\))$"
        before, after = f"(?:{unit})?{_BLANK}*", f"{_BLANK}*(?:{unit})?"
        positive = f"{before}{number}{after}"
        return f"^(?:{before}{sign}{positive}|{before}\\({positive}\\){after}|{positive}{minus}{after})$"

    @property
    def needs_unit(self) -> bool:
        """Whether cells without the unit are no numbers: it may be a part of them, as that of 12 % and 12k is."""
        return bool(self.unit) and self.unit not in _CURRENCIES

    def parse(self, column: Any, missing: Iterable[str] = ()) -> tuple[Any, Any]:
        """Return cells as floats, null for missing ones, and which of the others are no numbers.

        Parameters
        ----------
        column
            An Arrow array of strings.
        missing
            Further marks of missing cells.
        """
        import pyarrow.compute as pc

        pa = arrow()
        cells = pc.utf8_trim_whitespace(column.cast(pa.string()))
        marks = from_strings(["", *missing, *self.missing])
        is_missing = pc.or_(pc.is_in(cells, marks), pc.is_in(pc.utf8_lower(cells), from_strings(list(MARKS))))
        cells = pc.if_else(is_missing, pa.NULL, cells)
        is_number = pc.match_substring_regex(cells, self.pattern)
        numbers = pc.if_else(is_number, cells, pa.NULL)
        numbers = pc.replace_substring_regex(numbers, f"{_SEPARATORS[self.decimal]}{_DASHES}", "")
        if self.unit:
            numbers = pc.replace_substring(numbers, self.unit, "")
        numbers = pc.replace_substring_regex(numbers, _BLANK, "")
        if self.thousands:
            numbers = pc.replace_substring_regex(numbers, _SEPARATORS[self.thousands], "")
        if self.decimal != ".":
            numbers = pc.replace_substring(numbers, self.decimal, ".")
        numbers = pc.replace_substring(numbers, "\u2212", "-")
        numbers = pc.replace_substring_regex(numbers, "^\\((.*)\\)$|^(.*[^-])-$", "-\\1\\2")
        return numbers.cast(pa.float64()), pc.invert(is_number)

    def with_separators(self, options: NumberOptions) -> NumberFormat:
        """Return the format with the separators that the user has given.

        Without given thousands, another decimal separator means that the old one may separate thousands.
        """
        decimal = options.decimal or {".": ",", ",": "."}.get(options.thousands or "", self.decimal)
        thousands = self.thousands if options.thousands is None else options.thousands
        if options.thousands is None and decimal != self.decimal and thousands in ("", decimal):
            thousands = self.decimal
        return replace(self, decimal=decimal, thousands=thousands)

    def describe(self) -> str:
        """Return the format in words; empty for plain numbers."""
        words = [f"decimal {_WORDS[self.decimal]}"] if self.decimal != "." else []
        words += [f"thousands {_WORDS[self.thousands]}"] if self.thousands else []
        words += [f"{self.unit} left out"] if self.unit else []
        return ", ".join(words)

    def to_plain(self) -> dict[str, Any]:
        """Return the format as plain values."""
        return {**asdict(self), "missing": list(self.missing)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> NumberFormat:
        """Return the format that :meth:`to_plain` wrote."""
        return cls(**{**plain, "missing": tuple(plain["missing"])})


@dataclass(frozen=True)
class Notation:
    """What the strings of a column are: numbers in a format, or names.

    Parameters
    ----------
    format
        The format of numbers; None for names.
    note
        What the user is told about the column; may be empty.
    is_uncertain
        Whether the reading may be wrong: another format reads all cells too, or cells are no numbers.
    is_code
        Whether the names are digits that begin with 0, such as postcodes.
    """

    format: NumberFormat | None
    note: str = ""
    is_uncertain: bool = False
    is_code: bool = False


def count_cells(column: Any, missing: Iterable[str] = ()) -> Counter[str]:
    """Return the distinct strings of a column, stripped of blanks, with their counts; without missing cells."""
    import pyarrow.compute as pc

    cells = pc.utf8_trim_whitespace(column.cast(arrow().string()))
    found = pc.value_counts(cells)
    counts = zip(found.field(0).to_pylist(), found.field(1).to_pylist(), strict=True)
    gaps = {None, "", *missing}
    return Counter({cell: count for cell, count in counts if cell not in gaps})


def may_be_numbers(column: Any) -> bool:
    """Whether enough of the first cells of a column of strings look like numbers for a closer look."""
    known = [cell.strip() for cell in column.drop_null()[:200].to_pylist()]
    known = [cell for cell in known if cell and cell.casefold() not in MARKS]
    looks = sum(is_number_like(cell) or any(each.fullmatch(cell) for each in (_PREFIXED, _FOREIGN)) for cell in known)
    return looks >= _NOTED * len(known) / 2


def is_number_like(cell: str) -> bool:
    """Whether a cell is a number in some format, perhaps with a unit.

    Examples
    --------
    >>> [is_number_like(cell) for cell in ("(1,234.50)", "CHF 5.-", "12 kg", "Elm Street 5")]
    [True, True, True, False]
    """
    return re.fullmatch(_NUMBER_LIKE, cell) is not None or _MEASURED.fullmatch(cell) is not None


def find_notation(
    name: str, counts: Mapping[str, int], options: NumberOptions, is_wanted: bool = False, hint: str | None = None
) -> Notation:
    """Return the format of a column of strings, if they are numbers.

    Parameters
    ----------
    name
        Name of the column.
    counts
        Its distinct cells, stripped of blanks, with their counts.
    options
        Separators that the user has given.
    is_wanted
        Whether the user has said that the column holds numbers.
    hint
        The decimal separator of other columns, which decides where two formats read all cells.

    Examples
    --------
    >>> find_notation("price", {"12,50 €": 3, "1.000,00 €": 1, "-": 2}, NumberOptions()).format
    NumberFormat(decimal=',', thousands='.', unit='€', missing=())
    >>> print(find_notation("size", {"1,234": 1, "5,678": 1}, NumberOptions()).note)
    column 'size': thousands comma; '1,234' is read as 1234, and may be 1.234: if so, give --decimal ,
    """
    marks = {cell: count for cell, count in counts.items() if cell.casefold() in MARKS}
    known = {cell: count for cell, count in counts.items() if cell not in marks}
    measures = _find_measures(known)
    like = {cell: count for cell, count in known.items() if cell in measures or re.fullmatch(_NUMBER_LIKE, cell)}
    total = sum(known.values())
    if not like or (sum(like.values()) < _NOTED * total and not is_wanted):
        foreign = {cell: count for cell, count in known.items() if not cell.isascii() and _FOREIGN.fullmatch(cell)}
        if sum(foreign.values()) > _NOTED * total and not is_wanted:
            note = f"column {name!r}: the digits or separators of {listed(foreign, 2)} are of another script"
            return Notation(None, f"{note}: read as names, not as numbers; write them with 0 to 9", True)
        return Notation(NumberFormat() if is_wanted else None)
    zeros = [cell for cell in like if _ZEROS.fullmatch(cell)]
    if zeros and not is_wanted and sum(known[cell] for cell in zeros) > RARE * total / 10:
        note = f"column {name!r}: {zeros[0]!r} begins with 0: read as names, not as numbers"
        return Notation(None, note, is_code=True)
    long = [cell for cell in like if cell.isdecimal() and len(cell) >= _LONG]
    if long and not is_wanted and sum(known[cell] for cell in long) > total / 2:
        return Notation(None, f"column {name!r}: {long[0]!r} has {len(long[0])} digits: read as names, not as numbers")
    units = Counter({"": 0})
    for cell, count in like.items():
        units[measures.get(cell) or (_UNIT.findall(cell) or [""])[0]] += count
    unit = max((each for each in units if each), key=lambda each: units[each], default="")
    if NumberFormat(unit=unit).needs_unit and units[unit] < units[""]:
        unit = ""
    some = dict(list(like.items())[:_COMPARED])
    best: list[NumberFormat] = []
    most = 0
    for decimal, thousands in _FORMATS:
        if options.refuses(decimal, thousands):
            continue
        each = NumberFormat(decimal, thousands, unit)
        pattern = re.compile(each.pattern)
        read = sum(count for cell, count in some.items() if pattern.match(cell))
        if read > most:
            best, most = [], read
        best += [each] if read == most else []
    if not most and not is_wanted and not options.decimal and options.thousands is None:
        return Notation(None, f"column {name!r}: digits in groups ({listed(like, 2)}) are read as names")
    if not best:
        best = [NumberFormat(options.decimal or ".", options.thousands or "", unit)]
    found = next((each for each in best if each.decimal == hint), best[0])
    pattern = re.compile(found.pattern)
    wrong = sorted((cell for cell in known if not pattern.match(cell)), key=lambda cell: -known[cell])
    failed = sum(known[cell] for cell in wrong)
    told = tell_wrong(wrong, failed, total)
    is_plain = not found.describe() and not options.is_text and not is_wanted
    if is_plain and all(
        cell.isdecimal() for cell in like
    ):  # of a typed table: whole numbers that are strings are names
        told = f"{told}: " if wrong else ""
        note = f"column {name!r}: {told}read as names; {kind_cure(name, 'numeric')} if it holds numbers"
        return Notation(None, note if wrong or marks else "", bool(wrong))
    if failed > RARE * total:
        if is_wanted:
            return Notation(found, f"column {name!r}: {told}", True)
        cure = f"read as names; {kind_cure(name, 'numeric')} and --missing for the others, if it holds numbers"
        return Notation(None, f"column {name!r}: {told}: {cure}", True)
    found = replace(found, missing=tuple(sorted(wrong)))
    is_shown = found.describe() and not all(cell.isdecimal() for cell in like)
    notes = [found.describe()] if is_shown else []
    accounts = next((cell for cell in like if re.fullmatch(r".*\(.*\).*|.*[0-9][\u2212-]\D*", cell)), None)
    notes += [f"{accounts!r} is negative"] if accounts is not None else []
    other = _other_reading(found, best, some, hint, options)
    notes += [other] if other else []
    if marks:
        notes.append(
            f"{listed(sorted(marks, key=lambda cell: -marks[cell]), 3)} {'is' if len(marks) == 1 else 'are'} missing"
        )
    notes += [f"{told}, and read as missing"] if wrong else []
    if not notes and (is_plain or options.is_typed):
        notes = ["the strings are read as numbers"]
    return Notation(found, f"column {name!r}: {'; '.join(notes)}" if notes else "", bool(other or wrong))


def _find_measures(cells: Iterable[str]) -> dict[str, str]:
    """Return the units of cells that are numbers with a unit, such as 12 kg; of few units, which codes do not have.

    A unit in front of numbers is the same in all cells, and most of them are amounts: R 1 234,50. Others are codes.
    """
    others = [cell for cell in cells if not re.fullmatch(_NUMBER_LIKE, cell)]
    found = {cell: match[1] for cell in others if (match := _MEASURED.fullmatch(cell))}
    found = found if len(found) > _UNITS and len(set(found.values())) <= _UNITS else {}
    prefixed = {cell: match for cell in others if (match := _PREFIXED.fullmatch(cell))}
    words = {match[1] for match in prefixed.values()}
    amounts = sum(match[1] == "%" or _AMOUNT.fullmatch(match[2]) is not None for match in prefixed.values())
    if len(prefixed) > _UNITS and len(words) == 1 and amounts >= len(prefixed) / 2:
        found |= {cell: match[1] for cell, match in prefixed.items()}
    return found


def tell_wrong(wrong: list[str], failed: int, total: int) -> str:
    """Return how many cells are no numbers, with examples."""
    share = 100 * failed / max(total, 1)
    return f"{failed} of {total} cells ({share:.{'0f' if share >= 10 else '2g'}} %) are no numbers ({listed(wrong, 3)})"


def _other_reading(
    found: NumberFormat, best: list[NumberFormat], cells: Mapping[str, int], hint: str | None, options: NumberOptions
) -> str:
    """Return what else the cells may be, where a comma or point may be a decimal or a thousands separator."""
    groups = next((each for each in best if not found.thousands and each.thousands == found.decimal), None)
    other = next((each for each in best if found.thousands and each.decimal == found.thousands), groups)
    if other is None or hint is not None or options.decimal or options.thousands is not None:
        return ""
    cell = next((cell for cell in cells if (found.thousands or found.decimal) in cell), None)
    if cell is None:
        return ""
    one, two = (each.parse(arrow().array([cell]))[0][0].as_py() for each in (found, other))
    return f"{cell!r} is read as {one:g}, and may be {two:g}: if so, give --decimal {other.decimal}"


def check_options(options: NumberOptions) -> None:
    """Raise for separators that no format has."""
    if options.decimal not in (None, ".", ","):
        raise UsageError(f"decimal must be '.' or ','; got {options.decimal!r}")
    if options.thousands is not None and options.thousands not in _SEPARATORS:
        raise UsageError(f"thousands must be ',', '.', ' ' (a blank), \"'\" or '' (none); got {options.thousands!r}")
    if options.decimal is not None and options.thousands == options.decimal:
        raise UsageError(f"{options.decimal!r} cannot separate both decimals and thousands: give other thousands")
