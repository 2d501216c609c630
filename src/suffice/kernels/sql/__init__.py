"""Sums in a database by generated aggregates: only the results are read."""
