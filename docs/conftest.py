"""Files that pytest ignores when it runs the examples of the pages: build output, and extensions of Sphinx."""

collect_ignore = ["_build", "_extensions", "gallery"]
