"""Requirements of some tests that not every machine meets: tests are skipped without them, and a summary lists them.

Packages of the group ``test`` are not listed: tests import them, and fail without them.
A test says ``@pytest.mark.needs("torch")``; a fixture or a module calls ``require("torch")``.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest

#: Servers are in folders that are not on the path of every user.
_PATH = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin"])
_R_PACKAGES = "for (name in c('MASS', 'nnet', 'sandwich', 'car', 'brglm2', 'jsonlite', 'statmod')) loadNamespace(name)"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


@dataclass(frozen=True)
class Requirement:
    """A check whether a requirement is met, and the command or the machine that meets it."""

    is_met: Callable[[], bool]
    enabled_by: str


class MissingRequirement(pytest.skip.Exception):
    """Skips a test, or the whole module that is being imported, if a requirement is missing."""

    def __init__(self, requirement: str) -> None:
        super().__init__(f"needs {requirement}: {REQUIREMENTS[requirement].enabled_by}", allow_module_level=True)
        self.requirement = requirement


def require(name: str) -> None:
    """Skip the test if a requirement is not met; fail if ``SUFFICE_NEEDS`` contains it."""
    if not _is_met(name):
        _lack(name)


def require_module(name: str) -> Any:
    """Return a module that is a requirement; skip or fail if it is missing."""
    require(name)
    return importlib.import_module(name)


def data_archive(name: str) -> Path:
    """Return the path of an archive of real data."""
    require("data")
    archive = Path(os.environ["SUFFICE_DATA"], f"{name}.tar.gz")
    if not archive.is_file():
        _lack("data")
    return archive


def demanded() -> list[str]:
    """Return the requirements in ``SUFFICE_NEEDS``, a comma-separated list."""
    return [name.strip() for name in os.environ.get("SUFFICE_NEEDS", "").split(",") if name.strip()]


def find_program(*names: str) -> str | None:
    """Return the path of the first of these programs that is installed."""
    return next((found for name in names if (found := shutil.which(name, path=_PATH))), None)


def find_browser() -> str | None:
    """Return the path of a Chromium or Chrome."""
    return find_program(*_BROWSERS)


def find_postgres() -> Path | None:
    """Return the folder of PostgreSQL's programs, the newest version if there are several."""
    initdb = find_program("initdb")
    folders = [Path(initdb).parent] if initdb else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return folders[-1] if folders else None


def find_cyrus() -> str | None:
    """Return the path of Cyrus's imapd: its package cannot be installed beside Dovecot's, but extracted."""
    extracted = os.environ.get("SUFFICE_CYRUS", os.devnull)
    return shutil.which("imapd", path=os.pathsep.join(["/usr/lib/cyrus/bin", f"{extracted}/usr/lib/cyrus/bin"]))


def _lack(name: str) -> None:
    if name in demanded():
        pytest.fail(f"needs {name}, which SUFFICE_NEEDS names: {REQUIREMENTS[name].enabled_by}", pytrace=False)
    raise MissingRequirement(name)


@cache
def _is_met(name: str) -> bool:
    return REQUIREMENTS[name].is_met()


def _has_scikit_learn_19() -> bool:
    import sklearn

    return tuple(map(int, sklearn.__version__.split(".")[:2])) >= (1, 9)


def _has_module(name: str) -> bool:
    return importlib.util.find_spec(name) is not None


def _has_torch() -> bool:
    if not _has_module("torch"):
        return False
    import torch

    torch.set_num_threads(1)  # as many processes as there are cores run tests
    return True


def _has_cuda() -> bool:
    if not _has_torch():
        return False
    import torch

    return bool(torch.cuda.is_available())


def _has_postgres() -> bool:
    # The server does not run as root.
    return find_postgres() is not None and (not _is_root() or _succeeds("runuser", "-u", "postgres", "--", "true"))


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


def _has_second_file_system() -> bool:
    other = Path("/dev/shm")
    return other.is_dir() and other.stat().st_dev != Path(tempfile.gettempdir()).stat().st_dev


def _runs(instruction_set: str) -> bool:
    from suffice import _native

    try:
        _native.use(instruction_set)
    except ValueError:
        return False
    finally:
        _native.use()
    return True


def _succeeds(*command: str) -> bool:
    return subprocess.run(command, capture_output=True, timeout=30, check=False).returncode == 0


def _program(name: str, package: str = "") -> Requirement:
    return Requirement(lambda: find_program(name) is not None, f"apt-get install {package or name}")


REQUIREMENTS = {
    "torch": Requirement(_has_torch, ".venv/bin/python -m pip install torch"),
    "cuda": Requirement(_has_cuda, "a machine with an NVIDIA GPU, and torch for CUDA"),
    "no cuda": Requirement(lambda: not _has_cuda(), "CUDA_VISIBLE_DEVICES= make test"),
    "triton": Requirement(
        lambda: _has_module("triton") and (_has_cuda() or os.environ.get("TRITON_INTERPRET") == "1"),
        ".venv/bin/python -m pip install triton && TRITON_INTERPRET=1 make test",
    ),
    "chromium": Requirement(lambda: find_browser() is not None, "apt-get install chromium"),
    "spark": Requirement(
        lambda: os.name == "posix" and ("JAVA_HOME" in os.environ or find_program("java") is not None),
        "apt-get install default-jre-headless (not on Windows)",
    ),
    "libreoffice": Requirement(lambda: find_program("soffice") is not None, "apt-get install libreoffice-calc-nogui"),
    "postgres": Requirement(_has_postgres, "apt-get install postgresql"),
    "s3": Requirement(
        lambda: all(map(_has_module, ("s3fs", "moto", "flask"))), ".venv/bin/python -m pip install s3fs 'moto[server]'"
    ),
    "mbsync": Requirement(
        lambda: find_program("mbsync") is not None and find_program("dovecot") is not None,
        "apt-get install isync dovecot-imapd",
    ),
    "imap": Requirement(
        lambda: find_program("dovecot") is not None and find_program("openssl") is not None,
        "apt-get install dovecot-imapd openssl",
    ),
    "cyrus": Requirement(
        lambda: find_cyrus() is not None and all(map(find_program, ("cyrmaster", "saslpasswd2", "openssl"))),
        "apt-get install cyrus-common sasl2-bin && apt-get download cyrus-imapd && "
        "dpkg -x cyrus-imapd_*.deb FOLDER && SUFFICE_CYRUS=FOLDER make test",
    ),
    "dovecot": Requirement(
        lambda: find_program("dovecot") is not None and find_program("sievec") is not None,
        "apt-get install dovecot-imapd dovecot-sieve",
    ),
    "postfix": _program("postfix"),
    "procmail": _program("procmail"),
    "maildrop": _program("maildrop"),
    "mutt": _program("mutt"),
    "bogofilter": _program("bogofilter"),
    "systemd": _program("systemd-analyze", "systemd"),
    "bash": _program("bash"),
    "zsh": _program("zsh"),
    "fish": _program("fish"),
    "scikit-learn 1.9": Requirement(_has_scikit_learn_19, ".venv/bin/python -m pip install 'scikit-learn>=1.9'"),
    "data": Requirement(
        lambda: Path(os.environ.get("SUFFICE_DATA") or os.devnull).is_dir(),
        "SUFFICE_DATA=FOLDER make test (FOLDER holds uci.tar.gz and the other data sets)",
    ),
    "r": Requirement(
        lambda: find_program("Rscript") is not None and _succeeds("Rscript", "--vanilla", "-e", _R_PACKAGES),
        "apt-get install r-base-core r-cran-{mass,nnet,sandwich,car,brglm2,jsonlite,statmod}",
    ),
    "linux": Requirement(lambda: sys.platform == "linux", "Linux"),
    "posix": Requirement(lambda: os.name == "posix", "Linux or macOS"),
    "root": Requirement(_is_root, "sudo make test"),
    "not root": Requirement(lambda: os.name == "posix" and not _is_root(), "make test as a user other than root"),
    "namespaces": Requirement(
        lambda: not _is_root() or (_succeeds("unshare", "--user", "true") and _succeeds("unshare", "--mount", "true")),
        "a machine of its own, or a privileged container",
    ),
    "file systems": Requirement(_has_second_file_system, "a /dev/shm, and TMPDIR on another file system"),
    "avx2": Requirement(lambda: _runs("avx2"), "a processor with AVX2"),
    "avx512": Requirement(lambda: _runs("avx512"), "a processor with AVX-512"),
}
