"""One recorded street for all tests of checks."""

from __future__ import annotations

import pytest

from agents.conformance.moments import Recording, read
from agents.conformance.recording import record


@pytest.fixture(scope="session")
def street(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    file = tmp_path_factory.mktemp("street") / "moments.npz"
    record(file)
    return read(file)
