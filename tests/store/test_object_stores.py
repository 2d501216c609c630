"""Models in object stores: written whole, loaded by URL."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import fsspec
import numpy as np
import pytest

import suffice
from suffice import GDA, LogisticRegression
from suffice.object_store import local_path, remote_path
from suffice.store import Contents, StoreError, write
from tests.object_stores import memory_folder, s3_folder

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 3))
Y = np.where(X[:, 0] + RNG.normal(size=60) > 0, "yes", "no")


@pytest.fixture
def folder() -> Any:
    """Return the URL of a folder in memory."""
    with memory_folder() as url:
        yield url


@pytest.mark.parametrize("model", [GDA(), LogisticRegression()], ids=["generative", "regression"])
def test_a_model_is_saved_to_a_url_and_loaded_from_it(model: Any, folder: str, tmp_path: Path) -> None:
    expected = model.fit(X, Y).predict_proba(X)
    for url in (f"{folder}/deep/model.suffice", (tmp_path / "model 1%.suffice").as_uri()):
        model.save(url)
        np.testing.assert_array_equal(suffice.load(url).predict_proba(X), expected)
    assert (tmp_path / "model 1%.suffice").is_file()


def test_a_path_object_of_a_url_is_that_url(folder: str) -> None:
    GDA().fit(X, Y).save(Path(f"{folder}/model"))
    assert suffice.load(f"{folder}/model").classes_.tolist() == ["no", "yes"]


def test_a_write_that_fails_leaves_the_old_model(folder: str) -> None:
    GDA().fit(X, Y).save(f"{folder}/model")
    before = fsspec.filesystem("memory").cat_file("/suffice-tests/model")
    with pytest.raises(TypeError, match="object"):
        write(f"{folder}/model", Contents("Mean", {"alpha": object()}, {}, {}))
    assert fsspec.filesystem("memory").cat_file("/suffice-tests/model") == before


def test_what_is_no_model_at_a_url_is_named(folder: str) -> None:
    files = fsspec.filesystem("memory")
    files.pipe_file("/suffice-tests/poem", b"a poem, not a model")
    files.pipe_file("/suffice-tests/empty", b"")
    for name, kind, words in (
        ("poem", StoreError, r"memory://suffice-tests/poem is not a model file: pass one that save\(\)"),
        ("empty", StoreError, "memory://suffice-tests/empty is empty"),
        ("nowhere", FileNotFoundError, "memory://suffice-tests/nowhere: there is no such file"),
        ("", IsADirectoryError, "memory://suffice-tests/ is a folder: name a file"),
    ):
        with pytest.raises(kind, match=words):
            suffice.load(f"{folder}/{name}")


@pytest.mark.parametrize("url", ["https://example.org/model", "ftp://here/model", "s4://bucket/model"])
def test_other_schemes_are_refused(url: str) -> None:
    for call in (suffice.load, GDA().fit(X, Y).save):
        with pytest.raises(ValueError, match=r"which is none of s3://, gs://, memory:// and file://"):
            call(url)


def test_a_file_url_of_another_host_is_refused() -> None:
    with pytest.raises(ValueError, match="names the host 'server': write file:///"):
        local_path("file://server/model")


def test_a_missing_driver_is_named_with_the_command_that_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gcsfs", None)
    with pytest.raises(ImportError, match=r"gs://b/m needs fsspec and gcsfs .*pip install 'suffice\[cloud\]'"):
        remote_path("gs://b/m")


def test_a_model_is_saved_to_a_server_that_speaks_s3() -> None:
    model = GDA().fit(X, Y)
    with s3_folder() as folder:
        model.save(f"{folder}/model")
        np.testing.assert_array_equal(suffice.load(f"{folder}/model").predict_proba(X), model.predict_proba(X))
        with pytest.raises(FileNotFoundError, match="s3://no-such-bucket/model: there is no such bucket"):
            model.save("s3://no-such-bucket/model")
