"""A table for tests of formulas."""

from __future__ import annotations

import numpy as np
import pandas as pd


def births(rows: int = 300, seed: int = 3) -> pd.DataFrame:
    """Return a table like that of low birth weights: numbers, a text, a boolean, missing cells."""
    rng = np.random.default_rng(seed)
    race = rng.choice(["white", "black", "other"], rows, p=[0.5, 0.2, 0.3])
    age, lwt = rng.integers(14, 45, rows).astype(float), rng.gamma(20.0, 6.5, rows).round(1)
    smoke = rng.random(rows) < 0.4
    eta = 1.0 - 0.03 * age - 0.01 * lwt + 0.9 * (race == "black") + 0.8 * smoke
    table = pd.DataFrame(
        {
            "low": np.where(rng.random(rows) < 1 / (1 + np.exp(-eta)), "yes", "no"),
            "bwt": (3000 + 10 * age + 4 * lwt - 300 * smoke + rng.normal(0, 400, rows)).round(),
            "visits": rng.poisson(np.exp(0.1 + 0.02 * age)),
            "age": age,
            "lwt": lwt,
            "race": race,
            "smoke": smoke,
            "hospital": rng.integers(1, 5, rows),
            "days": rng.integers(1, 9, rows).astype(float),
        }
    )
    table.loc[[5, 17], "lwt"] = np.nan
    table.loc[[17, 40], "race"] = None
    return table
