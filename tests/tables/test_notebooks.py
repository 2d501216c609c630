"""Tables in Jupyter."""

from __future__ import annotations

import subprocess
import sys

_NOTEBOOK = """
from jupyter_client.manager import start_new_kernel
manager, client = start_new_kernel(kernel_name="python3")
said = []
try:
    answer = client.execute_interactive(
        "import suffice.demo; print(len(suffice.fit(suffice.demo.houses(), 'sold_fast', model='nb').predict("
        "suffice.demo.houses())))",
        timeout=60, output_hook=lambda message: said.append(message["content"]),
    )
finally:
    client.stop_channels()
    manager.shutdown_kernel(now=True)
print(answer["content"]["status"], *(each.get("text") or each.get("evalue") or "" for each in said))
"""


def test_fit_in_a_kernel_without_widgets() -> None:
    ran = subprocess.run([sys.executable, "-c", _NOTEBOOK], capture_output=True, text=True, timeout=120, check=False)
    assert ran.stdout.split() == ["ok", "800"], ran.stdout + ran.stderr
