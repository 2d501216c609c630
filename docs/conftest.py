"""Files that pytest ignores when it runs the examples of the pages: output, extensions, a page with its own test."""

collect_ignore = ["_build", "_extensions", "gallery", "getting-started.md"]
