"""Predictions from an exported model. It needs Python 3.11 and NumPy, and nothing else.

``predict(rows)`` returns the class or the expected number of each row; ``predict_proba(rows)`` the probability of each
class, in the order of ``MODEL["classes"]``. Rows are a mapping of columns, ``{"area": [80, 95], ...}``, a list of rows,
``[{"area": 80, ...}, ...]``, or what ``read_csv(path)`` returns. None, NaN and the empty string are missing cells.

``python model.py rows.csv`` writes the predictions for the rows of a CSV file, as CSV.
"""

from __future__ import annotations

import contextlib
import csv
import datetime
import json
import math
import re
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

MODEL: dict[str, Any] = json.loads("{}")

Array = np.ndarray[Any, np.dtype[Any]]

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_DATE = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?(Z|[+-]\d\d:?\d\d)?)?", re.ASCII)
#: Numbers in a file whose columns have no kind: 01 is a name.
_PLAIN_NUMBER = re.compile(r"-?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_TRUTHS = (("false", "true"), ("no", "yes"), ("f", "t"), ("n", "y"), ("0", "1"), ("off", "on"))
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR, DAY = 3_600_000_000, 86_400_000_000  # microseconds
LARGEST_EXPONENT = 709.0


def predict(rows: Any, model: Mapping[str, Any] | None = None) -> Array:
    """Return the class, or the expected number, of each row, (n,)."""
    model = MODEL if model is None else model
    if model["task"] == "classes":
        return np.asarray(np.array(model["classes"])[_decide(predict_proba(rows, model), model["decision"])])
    eta = _scores(rows, model)[:, 0]
    return eta if model["link"] == "identity" else np.asarray(np.exp(np.minimum(eta, LARGEST_EXPONENT)))


def _decide(p: Array, decision: Mapping[str, Any] | None) -> Array:
    """Return the place of the predicted class: the most probable one, unless a class has a threshold."""
    if decision is None:
        return np.asarray(p.argmax(axis=1))
    positive, others = decision["positive"], p.copy()
    others[:, positive] = -1.0
    return np.asarray(np.where(p[:, positive] >= decision["threshold"], positive, others.argmax(axis=1)))


def predict_proba(rows: Any, model: Mapping[str, Any] | None = None) -> Array:
    """Return the probabilities of the classes, (n, k)."""
    model = MODEL if model is None else model
    if model["task"] != "classes":
        raise TypeError(f"this model predicts {model['task']}, not classes: use predict")
    scores = _scores(rows, model) / model["temperature"]
    odds = np.exp(scores - scores.max(axis=1, keepdims=True))  # exponent <= 0: cannot overflow
    found = np.zeros((len(odds), len(model["classes"])))
    found[:, model["scored_classes"]] = odds / odds.sum(axis=1, keepdims=True)
    return found


def read_csv(path: str, model: Mapping[str, Any] | None = None) -> dict[str, list[Any]]:
    """Return the columns of a CSV file with a header, in UTF-8, with commas, semicolons or tabs between cells."""
    model = MODEL if model is None else model
    with open(path, encoding="utf-8-sig", newline="") as file:  # noqa: PTH123
        header = file.readline()
        file.seek(0)
        lines = csv.reader(file, delimiter=max(",;\t", key=header.count), strict=True)
        names = [name.strip() for name in next(lines, [])]
        cells: list[list[Any]] = [[] for _ in names]
        for line in lines:
            line = line or [""]  # an empty line of a file of one column is a missing cell
            if len(line) != len(names):
                raise ValueError(f"line {lines.line_num} of {path} has {len(line)} cells; the header has {len(names)}")
            for column, cell in zip(cells, line, strict=True):
                column.append(cell)
    found = dict(zip(names, cells, strict=True))
    gaps = {"", *model["missing"]}
    for each in model["columns"]:
        own = found.get(each["name"], [])
        is_number = each["kind"] in ("category", "boolean") and each["type"] in ("whole", "number")  # 1.0 is called 1
        if is_number and all(cell in gaps or _PLAIN_NUMBER.fullmatch(cell) for cell in own):
            found[each["name"]] = [None if cell in gaps else float(cell) for cell in own]
    return found


def _scores(rows: Any, model: Mapping[str, Any]) -> Array:
    """Return the intercept and the terms, summed, (n, t)."""
    cells = _Cells(rows, model)
    scores = np.tile(np.array(model["intercept"], dtype=float), (cells.rows, 1))
    with np.errstate(over="ignore", invalid="ignore"):
        for term in model["terms"]:
            scores += _FORMS[term["form"]](term, cells)
    lost = ~np.isfinite(scores.max(axis=1))
    if lost.any():
        raise ValueError(
            f"row {int(lost.argmax()) + 1} is so far from the rows of the fit that its prediction overflows"
        )
    return scores


class _Cells:
    """The cells of rows, read by the kinds of their columns."""

    def __init__(self, rows: Any, model: Mapping[str, Any]) -> None:
        self._model = model
        self._features = {feature["name"]: feature for feature in model["features"]}
        self._read: dict[str, dict[str, Any]] = {}
        names = [column["name"] for column in model["columns"]]
        if not isinstance(rows, Mapping) and isinstance(rows, Sequence):
            for at, row in enumerate(rows):
                absent = [name for name in names if name not in row]
                if absent:
                    raise ValueError(f"row {at + 1} lacks the column {absent[0]!r}: give None for a missing cell")
            self._columns = {name: [row[name] for row in rows] for name in names}
            self.rows = len(rows)
            return
        absent = [name for name in names if name not in rows]
        if absent:
            raise ValueError(f"the rows lack the column {absent[0]!r}, which the model reads: add it")
        self._columns = {name: rows[name] for name in names}
        lengths = {len(column) for column in self._columns.values()}
        if len(lengths) > 1:
            raise ValueError(f"the columns have {sorted(lengths)} cells: there must be one for each row")
        self.rows = lengths.pop() if lengths else 0

    def numbers(self, name: str) -> Array:
        """Return a feature as numbers, NaN for missing cells."""
        feature = self._features[name]
        return np.asarray(self._column(feature["column"])[feature["part"] or "cells"])

    def codes(self, name: str, levels: Sequence[str]) -> Array:
        """Return the place of each cell among levels: len(levels) for others, len(levels) + 1 for missing cells."""
        places: dict[Any, int] = {level: place for place, level in enumerate(levels)}
        places[None] = len(levels) + 1
        feature = self._features[name]
        found = self._column(feature["column"])[feature["part"] or "cells"]
        return np.array([places.get(cell, len(levels)) for cell in found], dtype=np.int64)

    def _column(self, name: str) -> dict[str, Any]:
        """Return what is read of a column: its cells, or the parts of a date."""
        if name not in self._read:
            column = next(each for each in self._model["columns"] if each["name"] == name)
            column = {**column, "marks": self._model["marks"]}
            cells, missing = self._columns[name], self._model["missing"]
            read = {"category": _categories, "date": _dates, "boolean": _truths}.get(column["kind"], _numbers)
            self._read[name] = read(cells, column, missing)
        return self._read[name]


def _categories(cells: Any, column: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    gaps = {"", *missing}
    names = [_name(cell) for cell in _plain(cells)]
    return {"cells": [None if name in gaps else name for name in names]}


def _name(cell: Any) -> str:
    """Return the name of a category: 1 and 1.0 name the same one."""
    if cell is None or _is_nan(cell):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if not isinstance(cell, str | int) and hasattr(cell, "as_integer_ratio"):  # a float or a decimal
        cell = int(cell) if math.isfinite(cell) and cell == int(cell) else float(cell)
    return str(cell).strip()


def _numbers(cells: Any, column: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    if isinstance(cells, np.ndarray) and cells.dtype.kind in "fiub" and not column["format"]["needs_unit"]:
        found = cells.astype(np.float64)
    else:
        found = np.array([_number(cell, at, column, missing) for at, cell in enumerate(_plain(cells))], dtype=float)
    found = _without_marks(found, missing)
    bad = np.isinf(found)
    why = "it must be finite, or missing"
    if column["kind"] == "count":
        bad |= (found < 0) | ((found != np.floor(found)) & ~np.isnan(found))
        why = "which is not a count"
    if bad.any():
        row = int(np.argmax(bad))
        raise ValueError(f"column {column['name']!r} is {found[row]:g} in row {row + 1}: {why}")
    return {"cells": found}


def _number(cell: Any, row: int, column: Mapping[str, Any], missing: Sequence[str]) -> float:
    if cell is None:
        return math.nan
    notation = column["format"]
    if isinstance(cell, str):
        cell = cell.strip()
        if cell in ("", *missing, *notation["missing"]) or cell.lower() in column["marks"]:
            return math.nan
        if not re.fullmatch(notation["pattern"], cell):
            raise _error(column, row, cell, "is not a number: correct the cell, or leave it empty")
        return float(_without_notation(cell, notation))
    if not hasattr(cell, "__float__"):
        raise _error(column, row, cell, "is not a number: correct the cell, or leave it empty")
    if notation["needs_unit"] and not math.isnan(cell):
        raise _error(column, row, cell, f"has no unit, as at the fit: give a string such as '12{notation['unit']}'")
    return float(cell)


def _without_notation(cell: str, notation: Mapping[str, Any]) -> str:
    """Return a formatted number as Python writes it."""
    digits = "".join(cell.replace(notation["unit"], "").split())
    digits = re.sub(re.escape(notation["decimal"]) + "[\u2013\u2014-]{1,2}", "", digits)  # instead of decimals
    for separator in {"'": "'\u2019"}.get(notation["thousands"], notation["thousands"]):
        digits = digits.replace(separator, "")
    digits = digits.replace(notation["decimal"], ".").replace("\u2212", "-")
    return re.sub(r"^\((.*)\)$|^(.*[^-])-$", r"-\1\2", digits)


def missing_numbers(missing: Sequence[str]) -> list[float]:
    """Return the numbers among the strings that mark missing cells."""
    return [float(mark) for mark in missing if _NUMBER.fullmatch(mark.strip())]


def _without_marks(numbers: Array, missing: Sequence[str]) -> Array:
    """Return numbers with NaN in place of those that mark missing cells."""
    marks = missing_numbers(missing)
    return np.where(np.isin(numbers, marks), math.nan, numbers) if marks else numbers


def _truths(cells: Any, column: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    no, yes = column["truth"] or ("false", "true")
    places = {no.casefold(): 0.0, yes.casefold(): 1.0}
    if column["type"] == "truth":  # the column held booleans, which have no spelling
        places = {word: float(value) for words in _TRUTHS for value, word in enumerate(words)}
    marks = {"": math.nan, **dict.fromkeys(missing, math.nan)}
    found = []
    for row, cell in enumerate(_plain(cells)):
        if isinstance(cell, str):
            word = cell.strip()
            value = marks.get(word, places.get(word.casefold()))
        elif cell is None or hasattr(cell, "__float__"):
            number = math.nan if cell is None else float(cell)
            number = float(_without_marks(np.array([number]), missing)[0]) if not isinstance(cell, bool) else number
            value = number if number in (0.0, 1.0) or math.isnan(number) else None
        else:
            value = None
        if value is None:
            raise _error(column, row, cell, f"is neither {no!r} nor {yes!r}")
        found.append(value)
    return {"cells": np.array(found, dtype=float)}


def _dates(cells: Any, column: Mapping[str, Any], missing: Sequence[str]) -> dict[str, Any]:
    """Return the time in days since 1970, and the names of month, weekday and hour, in UTC."""
    moments = [_microseconds(cell, at, column, missing) for at, cell in enumerate(_plain(cells))]
    epoch = datetime.date(1970, 1, 1)
    days = [None if moment is None else epoch + datetime.timedelta(days=moment // DAY) for moment in moments]
    return {
        "time": np.array([math.nan if moment is None else moment / DAY for moment in moments], dtype=float),
        "month": [None if day is None else f"{day.month:02}" for day in days],
        "weekday": [None if day is None else WEEKDAYS[day.weekday()] for day in days],
        "hour": [None if moment is None else f"{moment // HOUR % 24:02}" for moment in moments],
    }


def _microseconds(cell: Any, row: int, column: Mapping[str, Any], missing: Sequence[str]) -> int | None:
    """Return a date as microseconds since 1970 in UTC; None for a missing cell."""
    if isinstance(cell, str):
        text = cell.strip()
        if text in ("", *missing):
            return None
        with contextlib.suppress(ValueError):  # such as 31 February
            cell = datetime.datetime.fromisoformat(text) if _DATE.fullmatch(text) else cell
    if cell is None or _is_nan(cell):
        return None
    if isinstance(cell, datetime.date) and not isinstance(cell, datetime.datetime):
        cell = datetime.datetime.combine(cell, datetime.time())
    if not isinstance(cell, datetime.datetime):
        raise _error(column, row, cell, "is not a date: write dates as 2024-12-31, or leave the cell empty")
    if cell.tzinfo is None:
        cell = cell.replace(tzinfo=datetime.UTC)
    return int((cell - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)) // datetime.timedelta(microseconds=1))


def _plain(cells: Any) -> list[Any]:
    """Return cells as Python's values: NumPy's scalars, and dates of other libraries, are converted."""
    if isinstance(cells, np.ndarray) and cells.dtype.kind == "M":
        cells = cells.astype("datetime64[us]")  # nanoseconds would become integers
    listed = cells.tolist() if hasattr(cells, "tolist") else list(cells)
    listed = [cell.item() if isinstance(cell, np.generic) else cell for cell in listed]
    return [None if cell is None or type(cell).__name__ in ("NAType", "NaTType") else cell for cell in listed]


def _is_nan(cell: Any) -> bool:
    return isinstance(cell, float) and math.isnan(cell)


def _error(column: Mapping[str, Any], row: int, cell: Any, why: str) -> ValueError:
    return ValueError(f"column {column['name']!r}: {cell!r} in row {row + 1} {why}")


# Terms: what each adds to the scores, (n, t).


def _linear(term: Mapping[str, Any], cells: _Cells) -> Array:
    x = cells.numbers(term["feature"])
    z = (np.where(np.isnan(x), term["centre"], x) - term["centre"]) / term["scale"]
    return np.asarray(np.where(np.isnan(x)[:, None], term["missing"], z[:, None] * np.array(term["coef"])))


def _gaussian(term: Mapping[str, Any], cells: _Cells) -> Array:
    x, mean, variance = cells.numbers(term["feature"])[:, None], np.array(term["mean"]), np.array(term["variance"])
    return np.where(np.isnan(x), 0.0, -0.5 * ((x - mean) ** 2 / variance + np.log(2 * np.pi * variance)))


def _levels(term: Mapping[str, Any], cells: _Cells) -> Array:
    table = np.array([*term["values"], term["other"], term["missing"]], dtype=float)
    return table[cells.codes(term["feature"], term["levels"])]


def _bins(term: Mapping[str, Any], cells: _Cells) -> Array:
    table = np.array([*term["values"], term["missing"]], dtype=float)
    return table[_bin_codes(term, cells)]


def _bin_codes(side: Mapping[str, Any], cells: _Cells) -> Array:
    """Return the bin of each number; the last one for missing cells."""
    x, edges = cells.numbers(side["feature"]), np.array(side["edges"], dtype=float)
    return np.where(np.isnan(x), len(edges) + 1, np.searchsorted(edges, x, side="right"))


def _pair(term: Mapping[str, Any], cells: _Cells) -> Array:
    groups = []
    for side in term["sides"]:
        of_cell = _bin_codes(side, cells) if "edges" in side else cells.codes(side["feature"], side["levels"])
        groups.append(np.array(side["groups"])[of_cell])
    return np.asarray(np.array(term["values"], dtype=float)[groups[0], groups[1]])


def _quadratic(term: Mapping[str, Any], cells: _Cells) -> Array:
    columns = []
    for column in term["columns"]:
        if "level" in column:
            columns.append(cells.codes(column["feature"], [column["level"]]) == 0)
        elif "centre" in column:
            x = cells.numbers(column["feature"])
            columns.append((np.where(np.isnan(x), column["centre"], x) - column["centre"]) / column["scale"])
        elif column["is_category"]:
            columns.append(cells.codes(column["feature"], []) == 1)
        else:
            columns.append(np.isnan(cells.numbers(column["feature"])))
    z = np.stack([column.astype(float) for column in columns], axis=1)
    pairs = zip(term["mean"], term["whitener"], strict=True)
    return np.stack([-0.5 * (((z - np.array(m)) @ np.array(w).T) ** 2).sum(axis=1) for m, w in pairs], axis=1)


_FORMS = {
    "linear": _linear,
    "gaussian": _gaussian,
    "levels": _levels,
    "bins": _bins,
    "pair": _pair,
    "quadratic": _quadratic,
}


def main() -> None:
    """Write the predictions for the rows of a CSV file to standard output."""
    if len(sys.argv) != 2:
        sys.exit(f"usage: python {sys.argv[0]} rows.csv")
    try:
        rows = read_csv(sys.argv[1])
        found = [[cell] for cell in predict(rows).tolist()]
        header = ["prediction"]
        if MODEL["task"] == "classes":
            header += [f"p({label})" for label in MODEL["classes"]]
            found = [cells + p for cells, p in zip(found, predict_proba(rows).tolist(), strict=True)]
    except (OSError, ValueError, csv.Error) as error:
        sys.exit(f"error: {error}")
    csv.writer(sys.stdout, lineterminator="\n").writerows([header, *found])


if __name__ == "__main__":
    main()
