"""Seeded faults: whether the suite notices what a careless change would break."""
