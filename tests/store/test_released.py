"""Files of published versions stay readable."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tests.laws.estimators import ENTRIES

from .released import RELEASED, check_file, file_name, write_files

FILES = sorted(RELEASED.rglob("*.model"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(RELEASED)))
def test_files_of_published_versions_predict_what_they_did(path: Path) -> None:
    check_file(path)


def test_each_model_has_a_file_of_its_own() -> None:
    assert len({file_name(entry) for entry in ENTRIES}) == len(ENTRIES)


def test_files_that_are_written_for_a_release_are_checked(tmp_path: Path) -> None:
    entry = ENTRIES[0]
    write_files(tmp_path / "0.2.0", [entry])
    (path,) = (tmp_path / "0.2.0").glob("*.model")
    check_file(path)
    with np.load(path.with_suffix(".npz")) as stored:
        other = {name: each[::-1] for name, each in stored.items()}
    np.savez_compressed(path.with_suffix(".npz"), **other)
    with pytest.raises(AssertionError):
        check_file(path)
