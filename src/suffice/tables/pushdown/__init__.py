"""Pushdown: sums over the rows of a table that its database computes."""
