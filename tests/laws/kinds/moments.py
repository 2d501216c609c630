from typing import Any

from suffice.statistics import DiagonalMoments, FullMoments, TiedMoments

from . import Kind, Rows, close_moments, lawful, measurements, with_gaps


def close(one: Any, two: Any, rows: Rows, slack: float) -> None:
    assert one.labels == two.labels
    moments = (one.mean, two.mean), (one.spread, two.spread)
    close_moments((one.weights, two.weights), *moments, rows.x, rows.weight, slack)
    if isinstance(one, DiagonalMoments):
        close_moments((one.observed, two.observed), *moments, rows.x, rows.weight, slack)
        assert not one.mean[one.observed == 0].any()
        assert not one.spread[one.observed == 0].any()


for kind in (DiagonalMoments, FullMoments, TiedMoments):
    lawful(Kind(kind, kind.over, measurements, close))
lawful(
    Kind(
        DiagonalMoments, lambda labels: DiagonalMoments.over(labels, True), with_gaps(measurements), close, trait="gaps"
    )
)
