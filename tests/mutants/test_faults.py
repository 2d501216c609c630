"""The list of seeded faults fits the code; `make mutants` runs the tests against them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.mutants.fault import Fault
from tests.mutants.faults import FAULTS

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.slug)
def test_a_fault_applies_once_and_names_tests_that_there_are(fault: Fault) -> None:
    code = (ROOT / fault.file).read_text(encoding="utf-8")
    assert fault.applied(code) != code
    for test in fault.tests:
        file, _, name = test.partition("::")
        assert (ROOT / file).exists()
        assert not name or f"def {name}(" in (ROOT / file).read_text(encoding="utf-8")


def test_faults_have_names_of_their_own() -> None:
    assert len({fault.slug for fault in FAULTS}) == len(FAULTS)
