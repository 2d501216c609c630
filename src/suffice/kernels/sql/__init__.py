"""Sums inside a database: rows stay where they are, generated aggregates come back."""
