"""What several tests of the room need."""

from __future__ import annotations

import json
from itertools import product
from pathlib import Path

import pytest

from harness.common.recordings import PROTOCOL, write_look
from tests.studies.metamorphic.rendered import look_of, sparse


def record(folder: Path, count: int, moments: int = 1) -> Path:
    """Write a recording of rendered scenarios with surfaces, from training towns."""
    for number in range(count):
        scenario = folder / f"rendered-{number}"
        scenario.mkdir()
        for moment, view in product(range(moments), sparse().views):
            write_look(scenario, f"{moment:06d}", look_of(view))
        protocol = {"town": "CrucibleOld", "purpose": "training", "seed": number}
        (scenario / PROTOCOL).write_text(json.dumps(protocol))
    return folder


@pytest.fixture(scope="session")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a recording of two rendered scenes."""
    return record(tmp_path_factory.mktemp("rendered"), 2)
