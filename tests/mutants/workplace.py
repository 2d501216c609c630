"""A scratch copy of the tree with an environment of its own, in which code may be broken."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import venv
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.mutants.fault import Fault

ROOT = Path(__file__).parents[2]
SCRATCH = ROOT / "build" / "mutants"
#: Scratch copies have no seeded faults of their own: their test would fail where one is applied.
_LEFT_OUT = "tests/mutants/"


@dataclass(frozen=True)
class Outcome:
    """What a run of tests came to."""

    code: int | None  #: the exit status of pytest, negative for a signal; None: it did not end in time
    failed: tuple[str, ...]  #: the tests that failed, the first first
    started: str | None  #: the last test that was started


class Workplace:
    """A copy of the tree, kept between runs: only files that differ are copied anew."""

    def __init__(self, number: int, tests: Path) -> None:
        self.folder = SCRATCH / str(number)
        self.tree = self.folder / "tree"
        self._tests = tests
        self._running: subprocess.Popen[bytes] | None = None
        self._copy()
        self._make_environment()

    def _copy(self) -> None:
        wanted = {name: ROOT / name for name in _files_of(ROOT) if not name.startswith("tests/")}
        wanted |= {f"tests/{name}": self._tests / name for name in _files_of(self._tests)}
        wanted = {name: path for name, path in wanted.items() if not name.startswith(_LEFT_OUT)}
        for name, path in wanted.items():
            _write(self.tree / name, path.read_bytes())
            shutil.copymode(path, self.tree / name)
        for path in [path for path in self.tree.rglob("*") if path.is_file()]:
            name = path.relative_to(self.tree).as_posix()
            if name not in wanted and "__pycache__" not in name and not name.startswith("src/suffice/_native."):
                path.unlink()

    def _make_environment(self) -> None:
        """Make a virtual environment that imports the copy, and all else from where this process does.

        Paths that a .pth file adds are not searched for .pth files: an editable install is not found by them.
        """
        if not self._python.exists():
            venv.create(self.folder / "venv", with_pip=False, symlinks=os.name != "nt")
        (packages,) = (self.folder / "venv").glob("lib/python*/site-packages")
        paths = [str(self.tree / "src"), *(path for path in sys.path if path.endswith("site-packages"))]
        (packages / "suffice.pth").write_text("\n".join(paths) + "\n")
        shutil.copyfile(Path(__file__).with_name("recorder.py"), packages / "suffice_recorder.py")

    @property
    def _python(self) -> Path:
        return self.folder / "venv" / "bin" / "python"

    def use_kernels(self, library: Path) -> None:
        """Let the copy import these compiled kernels."""
        for old in (self.tree / "src" / "suffice").glob("_native.*.so"):
            old.unlink()
        (self.tree / "src" / "suffice" / library.name).symlink_to(library)

    def test(
        self, tests: Iterable[str], log: str, seconds: float, options: Iterable[str] = (), fault: int | None = None
    ) -> Outcome:
        """Run tests that are not slow, and note which fail; with a compiled fault if its number is given."""
        record, output = (SCRATCH / "logs" / f"{log}.{ending}" for ending in ("record", "txt"))
        output.parent.mkdir(parents=True, exist_ok=True)
        record.write_text("")
        command = [
            *(self._python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "suffice_recorder"),
            *("-m", "not slow", *options, *map(self._present, tests)),
        ]
        # Tests on data that is not in the tree are left out: a fault is caught everywhere or nowhere.
        environment = {name: value for name, value in os.environ.items() if name not in ("SUFFICE_DATA", "PYTHONPATH")}
        # Compiled code is found by the second and the length of its source: that of a fault could outlive it.
        environment |= {"SUFFICE_RECORD": str(record), "PYTHONDONTWRITEBYTECODE": "1"} | (
            {} if fault is None else {"SUFFICE_FAULT": str(fault)}
        )
        with output.open("wb") as out:
            self._running = subprocess.Popen(
                command, cwd=self.tree, env=environment, stdout=out, stderr=out, start_new_session=True
            )
            try:
                code: int | None = self._running.wait(seconds)
            except subprocess.TimeoutExpired:
                code = None
            finally:
                self.stop()
                self._running.wait()
        notes = [line.partition(" ") for line in record.read_text().splitlines()]
        failed = [test for what, _, test in notes if what == "failed"]
        started = [test for what, _, test in notes if what == "started"]
        return Outcome(code, tuple(failed), started[-1] if started else None)

    def stop(self) -> None:
        """End the tests, with whatever they started."""
        if self._running is not None and self._running.poll() is None:
            os.killpg(self._running.pid, signal.SIGKILL)

    def _present(self, test: str) -> str:
        """Return a test; its file, or the nearest folder above it, where this suite does not have it."""
        file, _, name = test.partition("::")
        path = Path(file)
        while not (self.tree / path).exists():
            path = path.parent
        known = name and path == Path(file) and f"def {name.partition('[')[0]}(" in (self.tree / path).read_text()
        return test if known else path.as_posix()

    @contextmanager
    def broken(self, fault: Fault) -> Iterator[None]:
        """Apply a fault to Python code, and put it right again."""
        path = self.tree / fault.file
        before = path.read_text(encoding="utf-8")
        path.write_text(fault.applied(before), encoding="utf-8")
        try:
            yield
        finally:
            path.write_text(before, encoding="utf-8")


def seeded_kernels(faults: Sequence[Fault], jobs: int) -> Path:
    """Compile the kernels once, without optimisation, with all faults in them; returns the library.

    A fault is there in processes whose environment has its place among the faults as SUFFICE_FAULT.
    """
    sources, folder = SCRATCH / "native" / "sources", SCRATCH / "native" / "build"
    names = [name for name in _files_of(ROOT) if name == "CMakeLists.txt" or name.startswith("native/")]
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    for number, fault in enumerate(faults):
        if fault.native:
            texts[fault.file] = fault.switched(texts[fault.file], number)
    for name, text in texts.items():
        _write(sources / name, text.encode())
    switch = Path(__file__).with_name("seeded.hpp")
    asked = [sys.executable, "-m", "nanobind", "--cmake_dir"]
    nanobind = subprocess.run(asked, check=True, capture_output=True, text=True).stdout.strip()
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    _cmake("-S", sources, "-B", folder, *generator, *launcher, "-DSUFFICE_QUICK=ON", f"-Dnanobind_DIR={nanobind}",
           f"-DPython_EXECUTABLE={sys.executable}", f"-DCMAKE_CXX_FLAGS=-include {switch}")  # fmt: skip
    _cmake("--build", folder, "--parallel", jobs)
    (library,) = folder.glob("_native.*.so")
    return library


def _cmake(*words: object) -> None:
    if not shutil.which("cmake"):
        raise SystemExit("faults in native/ need cmake and a compiler: install them, e.g. pip install cmake ninja")
    command = ["cmake", *map(str, words)]
    done = subprocess.run(command, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise SystemExit(f"the kernels could not be built with the faults:\n{done.stdout[-4000:]}")


def _files_of(folder: Path) -> list[str]:
    """Return the files of a folder that git does not ignore, relative to it."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    try:
        listed = subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
        names = [name for name in listed.split("\0") if name]
    except subprocess.CalledProcessError:  # tests of another time, taken out of their repository
        names = [path.relative_to(folder).as_posix() for path in folder.rglob("*")]
    return [name for name in names if (folder / name).is_file() and "__pycache__" not in name]


def _write(path: Path, content: bytes) -> None:
    """Write a file, unless that is what it holds: compilers look at its time."""
    if not path.is_file() or path.read_bytes() != content:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
