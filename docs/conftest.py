"""Files that pytest ignores when it runs the examples of the pages: output, extensions, a page with its own test."""

import tests.conftest  # noqa: F401 - settings of hypothesis, for the laws that a page runs

collect_ignore = ["_build", "_extensions", "gallery", "getting-started.md"]
