"""Tracing makes many objects that stay: with Python's usual thresholds a sixth of the tests' time goes into garbage."""

import gc

gc.set_threshold(100_000, 50, 50)
