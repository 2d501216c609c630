"""The process that Spark forks its Python workers from, with all imported that they need: no worker imports it anew."""

from __future__ import annotations

import gc
import os
import signal
import sys
from contextlib import suppress
from typing import Any

# Spark puts an archive of PySpark before the one that is installed, and each worker would read its directory anew.
sys.path[:] = [place for place in sys.path if not place.endswith(".zip")]
for place in [place for place in sys.path_importer_cache if ".zip" in place]:
    del sys.path_importer_cache[place]

import pandas as pd  # noqa: E402, F401
import pyspark.worker  # noqa: E402
from pyspark.daemon import manager  # noqa: E402

with suppress(ModuleNotFoundError):  # one test hides the package from the workers
    import suffice.data.spark
    import suffice.discriminative
    import suffice.estimator
    import suffice.generative
    import suffice.text  # noqa: F401


def exit_on_hangup(main: Any) -> Any:
    """Return a worker's main function that leaves through ``os._exit``, where coverage saves, when Spark stops."""

    def worker_main(infile: Any, outfile: Any) -> None:
        signal.signal(signal.SIGHUP, lambda *_: os._exit(0))
        main(infile, outfile)

    return worker_main


if __name__ == "__main__":
    if "COVERAGE_PROCESS_CONFIG" in os.environ:
        pyspark.worker.main = exit_on_hangup(pyspark.worker.main)
    gc.freeze()  # a worker collects garbage after every task: none is in what was imported
    manager()
