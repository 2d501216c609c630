"""Benchmarks against other libraries and the limits of the machine."""
