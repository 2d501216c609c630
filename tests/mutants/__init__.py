"""Seeded faults: whether the test suite notices them."""
