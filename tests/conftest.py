"""Settings that all tests share."""

from __future__ import annotations

from hypothesis import HealthCheck, settings

# Machines that run tests are shared and slow at times: no example is too slow, and the examples are the same each time.
settings.register_profile(
    "suffice", deadline=None, derandomize=True, max_examples=60, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("suffice")
