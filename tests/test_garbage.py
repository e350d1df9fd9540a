"""Garbage is looked for while tests run, and not in what collecting them has made."""

from __future__ import annotations

import gc

IMPORTED = 30_000
"""Objects of pytest and Hypothesis that can be garbage: 60 000; 1.1 million with all tests."""


def test_garbage_is_looked_for_in_what_tests_make() -> None:
    """What was made before the tests is not looked at; what they make is."""
    assert gc.isenabled()
    assert gc.get_freeze_count() > IMPORTED
