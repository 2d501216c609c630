"""What pytest leaves out when it tries the pages' examples: what was built, and what only Sphinx imports."""

collect_ignore = ["_build", "_extensions", "gallery"]
