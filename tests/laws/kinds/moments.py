from typing import Any

from suffice.statistics import DiagonalMoments, FullMoments, TiedMoments

from . import Kind, Rows, close_moments, lawful, measurements


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    assert one.labels == two.labels
    pairs = (one.weights, two.weights), (one.mean, two.mean), (one.spread, two.spread)
    close_moments(*pairs, rows.x, rows.weight, slack)


for kind in (DiagonalMoments, FullMoments, TiedMoments):
    lawful(Kind(kind, kind.over, measurements, close))
