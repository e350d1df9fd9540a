"""A campaign whose language model was played from records: equal to the recorded one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.campaign.tiny import files


def read_equal_calls(recorded: Path, played: Path) -> list[Any]:
    """Assert that two campaigns have equal records; return the calls of their only attempt."""
    same = [path for path in files(recorded) if path.name != "timing.json"]
    assert len(same) > 5
    for path in same:
        assert (recorded / path).read_bytes() == (played / path).read_bytes(), path
    (result,) = (path for path in same if path.name == "result.json")
    record = json.loads((played / result).read_text())["crucible"]["agent_sensors"]
    calls: list[Any] = record["language_model"]["calls"]
    return calls
