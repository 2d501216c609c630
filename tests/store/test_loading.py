"""Kinds of models that a file may contain, in a new process."""

from __future__ import annotations

import inspect
import subprocess
import sys

import suffice.discriminative
import suffice.generative
from suffice.store import Stored


def test_load_knows_every_public_model_in_a_new_process() -> None:
    public = [
        getattr(package, name) for package in (suffice.discriminative, suffice.generative) for name in package.__all__
    ]
    models = {each.__name__ for each in public if inspect.isclass(each) and issubclass(each, Stored)}
    asked = "import suffice; suffice.load; from suffice.store import Stored; print(*Stored.kinds)"
    known = subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True, check=True).stdout.split()
    assert models - set(known) == set()
