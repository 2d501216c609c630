"""Published results, measured again with this library's models on the same data."""
