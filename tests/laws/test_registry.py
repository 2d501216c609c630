"""One file puts a new kind of statistic under the laws, and a kind that breaks a law is caught."""

import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent

BROKEN = '''
from . import Kind, lawful, whole_numbers
from .toy import WeightedTotal, close


class ForgetfulTotal(WeightedTotal):
    """Adds all sums but the first."""

    def _plus(self, other):
        total = super()._plus(other)
        sums = total.sums.copy()
        sums[:1] = self.sums[:1]
        return type(self)(total.total, sums)


lawful(Kind(ForgetfulTotal, lambda labels: ForgetfulTotal.over(), whole_numbers, close))
'''


def test_a_new_kind_is_one_file_and_a_broken_one_is_caught(tmp_path):
    laws = tmp_path / "laws"
    shutil.copytree(HERE, laws, ignore=shutil.ignore_patterns("__pycache__", "test_registry.py"))
    (laws / "kinds" / "forgetful.py").write_text(BROKEN)
    for rule, outcome in (("split_then_add", "failed"), ("zero_is_an_identity", "passed")):
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-p",
            "no:cacheprovider",
            "-q",
            "-k",
            f"{rule} and Forgetful",
            str(laws),
        ]
        run = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
        assert f"1 {outcome}" in run.stdout, run.stdout + run.stderr
