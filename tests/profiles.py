"""Tests that are one more of a kind and take half a minute each: only `make test-all` runs them."""

from __future__ import annotations

import pytest
from hypothesis import settings

ONLY_WITH_ALL = pytest.mark.skipif(
    settings.get_current_profile_name() != "many",
    reason="one more of a kind; `make test-all` runs it",
)
