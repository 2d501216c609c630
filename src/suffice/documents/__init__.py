"""Documents in, classes and reasons out."""
