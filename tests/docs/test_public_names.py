"""Public names are a promise: the listing is true, and the changelog explains what is not as in the last version."""

from __future__ import annotations

from tests.public_names import CHANGELOG, LISTING, RELEASED, list_changes, list_names, list_unexplained, read_listing


def test_listing_of_public_names_is_true() -> None:
    names = list_names()
    assert len(names) > 2000
    changes = list_changes(read_listing(LISTING.read_text(encoding="utf-8")), names)
    assert changes == {}, "run python -m tests.public_names --write"


def test_changes_of_public_names_are_in_the_changelog() -> None:
    before, now = (read_listing(file.read_text(encoding="utf-8")) for file in (RELEASED, LISTING))
    entry = CHANGELOG.read_text(encoding="utf-8").split("\n## ")[1]
    assert list_unexplained(list_changes(before, now), entry) == [], "the first section of CHANGELOG.md says nothing"
