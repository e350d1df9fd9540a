"""What several tests of the room need."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.recordings import PROTOCOL, write_look
from tests.metamorphic.rendered import look_of, sparse


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of two rendered scenes with surfaces, from training towns."""
    folder = tmp_path_factory.mktemp("rendered")
    for number in range(2):
        scenario = folder / f"rendered-{number}"
        scenario.mkdir()
        for view in sparse().views:
            write_look(scenario, "000000", look_of(view))
        protocol = {"town": "CrucibleOld", "purpose": "training", "seed": number}
        (scenario / PROTOCOL).write_text(json.dumps(protocol))
    return folder
