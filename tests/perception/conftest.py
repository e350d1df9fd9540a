"""One thread for everything that is computed here."""

from __future__ import annotations

import pytest

from agents.perception.network import set_one_thread


@pytest.fixture(autouse=True, scope="package")
def _one_thread() -> None:
    set_one_thread()
