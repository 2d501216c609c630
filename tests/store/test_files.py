"""Writing model files is atomic."""

import os
import stat
import threading

import numpy as np
import pytest

from suffice.store import Contents, StoreError, contents, files, read, write
from suffice.store.atomic_file import atomic_file
from tests.rights import open_folder, without_rights

from .samples import assert_same, sample

BROKEN = Contents("Broken", {}, {}, {"things": np.array([None])})
posix = pytest.mark.needs("posix")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model"


def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(path):
    write(path, sample())
    with pytest.raises(TypeError, match="things"):
        write(path, BROKEN)
    assert_same(read(path), sample())
    assert list(path.parent.iterdir()) == [path]


@posix
def test_a_write_that_the_disk_refuses_leaves_the_old_file_and_nothing_else(path):
    import resource  # there on POSIX only

    write(path, sample())
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large"):
            write(path, sample())
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert_same(read(path), sample())
    assert list(path.parent.iterdir()) == [path]


@posix
def test_what_may_not_be_written_or_read_is_an_oserror():
    with open_folder() as place:
        with pytest.raises(PermissionError):
            without_rights(lambda: write(place / "model", sample()))
        assert list(place.iterdir()) == []
        write(place / "model", sample())
        (place / "model").chmod(0o600)
        with pytest.raises(PermissionError):
            without_rights(lambda: read(place / "model"))


def test_a_model_that_does_not_fit_in_memory_is_said_so(path, monkeypatch):
    def unpack(about: object, data: bytes) -> None:
        raise MemoryError

    write(path, sample())
    monkeypatch.setattr(files, "unpack", unpack)
    with pytest.raises(StoreError, match="model does not fit in memory: read it on a larger machine"):
        read(path)


def test_readers_meanwhile_see_one_whole_model_or_the_other(path):
    models = [Contents("Any", {"fill": fill}, {}, {"a": np.full(20_000, fill)}) for fill in (0.0, 1.0)]
    write(path, models[0])
    done = threading.Event()

    def overwrite() -> None:
        for turn in range(60):
            write(path, models[turn % 2])
        done.set()

    writer = threading.Thread(target=overwrite)
    writer.start()
    seen = set()
    while not done.is_set():
        found = read(path)
        seen.add(found.settings["fill"])
        assert (found.arrays["a"] == found.settings["fill"]).all()
    writer.join()
    assert seen == {0.0, 1.0}
    assert list(path.parent.iterdir()) == [path]


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077])
def test_a_new_file_has_the_permissions_of_any_other(path, umask):
    before = os.umask(umask)
    try:
        write(path, sample())
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~umask


@posix
def test_an_overwritten_file_keeps_its_permissions(path):
    write(path, sample())
    path.chmod(0o640)
    write(path, sample())
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


@posix
def test_a_link_is_followed(path):
    link = path.with_name("link")
    link.symlink_to(path)
    write(link, sample())
    assert link.is_symlink()
    assert_same(read(path), sample())
    assert_same(read(link), sample())


def test_a_file_that_is_not_there(path):
    with pytest.raises(FileNotFoundError):
        read(path)
    with pytest.raises(FileNotFoundError, match="the folder for the model does not exist"):
        write(path / "below" / "model", sample())


def test_a_folder(path):
    path.mkdir()
    with pytest.raises(StoreError, match="model is a folder: name a file"):
        read(path)
    with pytest.raises(StoreError, match="model is a folder: name a file"):
        write(path, sample())
    assert list(path.parent.iterdir()) == [path]


@pytest.mark.needs("posix")
def test_a_device_without_end():
    with pytest.raises(StoreError, match="/dev/zero is a device"):
        read("/dev/zero")
    with pytest.raises(StoreError, match="/dev/zero is a device"):
        write("/dev/zero", sample())


@posix
def test_unfinished_file_is_readable_by_its_owner_only(path):
    with atomic_file(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
        temporary.write_bytes(b"whole")
    mask = os.umask(0o022)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
    path.chmod(0o640)
    with atomic_file(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_settings_that_are_too_long_for_a_file_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(contents, "TEXT_LIMIT", 200)
    with pytest.raises(ValueError, match=r"settings take \d+ bytes, of 200 at most: keep long lists among the arrays"):
        write(tmp_path / "long.model", Contents("test", {"names": ["name"] * 100}, {}, {}))
    assert not list(tmp_path.iterdir())
