"""Scenario files of TransFuser and V2Xverse, computed from the places that they were made from.

TransFuser's files have one rule. Nine points lie round each place of the Leaderboard's scenario
file, and each point has four headings. Every type of scenario has a trigger at all of them.
V2Xverse kept three types of the file for Town05. From the 366 places in Town05 the rule gives
V2Xverse's `town05_all_scenarios_2.json`, 9.4 MB, byte for byte (decision 0086).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from harness.common.errors import UserError
from harness.world.routes.documents import (
    check_json_list,
    check_json_object,
    get_json_field,
    get_json_number,
    get_json_text,
)

GRID_SEEDS = "grid_seeds"
"""The key by which such a file is known."""
GRID_OFFSETS = (
    (0.0, 0.0),
    (-10.0, 0.0),
    (0.0, -10.0),
    (-5.0, 0.0),
    (0.0, -5.0),
    (5.0, 0.0),
    (0.0, 5.0),
    (10.0, 0.0),
    (0.0, 10.0),
)
"""Metres along x and y from a place to its points, in the order of TransFuser's files."""
GRID_TURNS = (0.0, 90.0, 180.0, 270.0)
"""Degrees that are added to the yaw of a place."""
MOST_GRID_TRIGGERS = 200_000
"""Of a file; V2Xverse's has 39,528."""


def expand_trigger_grid(content: dict[str, Any], path: Path) -> dict[str, Any]:
    """Return the scenario file of the Leaderboard's format that places, types and town stand for.

    Args:
        content: of the file, with `town`, `scenario_types` and `grid_seeds`.
        path: of the file, for messages.

    Returns:
        Content with `available_scenarios`; keys and numbers are in the order and form in which
        TransFuser's script wrote them.

    Raises:
        UserError: something is missing, or there would be too many triggers.
    """
    town = get_json_text(content, "town", str(path))
    types = check_json_list(
        get_json_field(content, "scenario_types", str(path)), f"{path}: scenario_types"
    )
    seeds = check_json_list(content[GRID_SEEDS], f"{path}: {GRID_SEEDS}")
    count = len(seeds) * len(types) * len(GRID_OFFSETS) * len(GRID_TURNS)
    if count > MOST_GRID_TRIGGERS:
        raise UserError(f"{path}: {count:,} triggers; a file has {MOST_GRID_TRIGGERS:,} at most")
    events = [
        event
        for at, seed in enumerate(seeds)
        for event in _make_grid_events(seed, f"{path}: {GRID_SEEDS}[{at}]")
    ]
    groups = [{"available_event_configurations": events, "scenario_type": kind} for kind in types]
    return {"available_scenarios": [{town: groups}]}


def _make_grid_events(seed: object, place: str) -> list[dict[str, dict[str, float]]]:
    """Return the triggers round one place: nine points, each with four headings."""
    holder = check_json_object(seed, place)
    pitch, x, y, yaw = (get_json_number(holder, name, place) for name in ("pitch", "x", "y", "yaw"))
    return [
        {"transform": {"pitch": pitch, "x": x + dx, "y": y + dy, "yaw": yaw + turn, "z": 0.0}}
        for dx, dy in GRID_OFFSETS
        for turn in GRID_TURNS
    ]
