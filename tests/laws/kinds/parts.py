from typing import Any

from suffice.statistics import DiagonalMoments, EventCounts, Parts

from . import KINDS, Kind, Rows, lawful, whole_numbers


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    for mine, theirs in zip(one.parts, two.parts, strict=True):
        KINDS[type(mine).__name__].close(mine, theirs, rows, slack)


lawful(
    Kind(
        Parts, lambda labels: Parts.over((EventCounts.over(labels), DiagonalMoments.over(labels))), whole_numbers, close
    )
)
