"""Results of other programs, which tests compare with: those of R are in ``r``, with the scripts that computed them."""

from __future__ import annotations

import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

R_FOLDER = Path(__file__).parent / "r"


@cache
def r_results(name: str) -> Any:
    """Return the results of the script ``r/name.R``: nested dictionaries, as in ``r/name.json``."""
    return json.loads((R_FOLDER / f"{name}.json").read_text())


@cache
def r_data(name: str) -> dict[str, npt.NDArray[Any]]:
    """Return the columns of ``r/data/name.csv``: numbers in float64, and text."""
    with (R_FOLDER / "data" / f"{name}.csv").open(newline="") as file:
        names, *rows = csv.reader(file)
    return {name: _column(values) for name, values in zip(names, zip(*rows, strict=True), strict=True)}


def r_design(name: str, terms: str = "x1 x2 group") -> npt.NDArray[np.float64]:
    """Return the columns of R's model matrix without the intercept; text is coded against its first value, as in R."""
    columns = []
    for term in terms.split():
        values = r_data(name)[term]
        columns += [values] if values.dtype.kind == "f" else [values == level for level in np.unique(values)[1:]]
    return np.column_stack(columns).astype(np.float64)


def _column(values: tuple[str, ...]) -> npt.NDArray[Any]:
    try:
        return np.array(values, dtype=np.float64)
    except ValueError:
        return np.array(values)
