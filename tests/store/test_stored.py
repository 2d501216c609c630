"""Models that are saved and loaded by the name of their class."""

from __future__ import annotations

from typing import Self

import numpy as np
import pytest

import suffice
from suffice.statistics import EventCounts, Labels
from suffice.store import Contents, Stored, StoreError, load, read, write


class Wordlist(Stored):
    """A base that is no model itself."""


class WordCounter(Wordlist):
    def __init__(self, alpha: float, words: list[str], events: EventCounts) -> None:
        self.alpha, self.words, self.events = alpha, words, events

    def _contents(self) -> Contents:
        settings = {"alpha": self.alpha, "words": self.words}
        return Contents(type(self).__name__, settings, {"events": self.events}, {})

    @classmethod
    def _from_contents(cls, contents: Contents) -> Self:
        return cls(contents.settings["alpha"], contents.settings["words"], contents.statistics["events"])


class _Hidden(WordCounter):
    pass


@pytest.fixture
def counter():
    return WordCounter(0.5, ["a", "b"], EventCounts(Labels.of(["ham"]), np.ones(1), np.ones((1, 2))))


def test_a_model_is_saved_and_loaded(tmp_path, counter):
    counter.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    assert type(loaded) is WordCounter
    assert (loaded.alpha, loaded.words, loaded.events) == (counter.alpha, counter.words, counter.events)


def test_public_classes_are_known_by_their_names():
    assert Stored.kinds["WordCounter"] is WordCounter
    assert "_Hidden" not in Stored.kinds
    with pytest.raises(TypeError, match="abstract"):
        Stored()


@pytest.mark.parametrize("kind", ["Oracle", "_Hidden", "Wordlist", "Stored", ""])
def test_a_kind_that_is_no_known_model(tmp_path, kind):
    write(tmp_path / "model", Contents(kind, {}, {}, {}))
    with pytest.raises(
        StoreError, match=rf"contains a model of kind '{kind}', which is unknown to suffice .*known: .*WordCounter"
    ):
        load(tmp_path / "model")


def test_contents_that_the_model_cannot_use(tmp_path):
    write(tmp_path / "model", Contents("WordCounter", {"alpha": 1}, {}, {}))
    with pytest.raises(StoreError, match=r"contains a WordCounter that .* cannot load .*KeyError: 'words'"):
        load(tmp_path / "model")


def test_a_file_of_another_version_names_that_version_and_the_way_out(tmp_path, counter, monkeypatch):
    monkeypatch.setattr(suffice, "__version__", "0.0.9", raising=False)
    write(tmp_path / "unknown", Contents("Oracle", {}, {}, {}))
    write(tmp_path / "other", Contents("WordCounter", {}, {}, {}))
    counter.save(tmp_path / "sums")
    monkeypatch.undo()
    monkeypatch.setattr(EventCounts, "from_arrays", classmethod(lambda cls, arrays: cls()))
    for name in ("unknown", "other", "sums"):
        with pytest.raises(StoreError, match=r"; it was written by suffice 0\.0\.9: fit the model again, or load it"):
            load(tmp_path / name)


def test_what_reading_refuses_loading_refuses(tmp_path):
    (tmp_path / "model").write_bytes(b"")
    for reads in (load, read):
        with pytest.raises(StoreError, match="is empty"):
            reads(tmp_path / "model")
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "nothing")
