"""Every fuzz target processes a few cases of seed 0: its calls agree with the functions that it tests."""

from __future__ import annotations

from random import Random

import pytest

from tests.fuzz.targets import TARGETS


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("target", TARGETS)
def test_target_runs(target: str) -> None:
    with TARGETS[target]() as case:
        for number in range(3):
            case(Random(f"0 {target} {number}"))
