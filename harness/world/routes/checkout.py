"""A user's checkout of V2Xverse: where its routes, scenarios and traffic parameters are.

Nothing of V2Xverse is part of this project; `routes=v2xverse_town05` reads what the user has.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.common.errors import UserError
from harness.common.safe_reading import read_yaml_within

CLONE = "git clone https://github.com/CollaborativePerception/V2Xverse"
ROUTES = "simulation/leaderboard/data/evaluation_routes"
SCENARIOS = "simulation/leaderboard/data/scenarios/town05_all_scenarios_2.json"
PARAMETERS = "simulation/leaderboard/leaderboard/scenarios"
WHOLE = {"vehicle_amount": "vehicles", "pedestrian_amount": "walkers", "CRAZY_LEVEL": "crazy_level"}
"""Names in a scenario_parameter file, and ours."""
BICYCLE = "vehicle.diamondback.century"
"""The one model of bicycle that V2Xverse spawns, as many as pedestrians."""


def refuse_incomplete_checkout(checkout: Path) -> None:
    """Refuse a checkout that lacks what is read of it; each part is named."""
    if not checkout.is_dir():
        raise UserError(f"routes.checkout: folder not found: {checkout}; get it with `{CLONE}`")
    if not (checkout / ROUTES).is_dir():
        raise UserError(
            f"routes.checkout: {checkout} has no {ROUTES}: not a checkout of V2Xverse; get one"
            f" with `{CLONE}`"
        )
    if not (checkout / SCENARIOS).is_file():
        raise UserError(
            f"routes.checkout: {checkout} has no {SCENARIOS}; snapshots of the repository may lack"
            f" large files: get it with `{CLONE}`, or copy that file there"
        )


def read_traffic_parameters(file: Path) -> dict[str, Any]:
    """Return the traffic that a scenario_parameter file of V2Xverse asks for, in our settings."""
    background = _read_background(file)
    traffic: dict[str, Any] = {}
    for theirs, ours in WHOLE.items():
        traffic[ours] = _read_parameter(file, background, theirs)
        if traffic[ours] != int(traffic[ours]):
            raise UserError(f"{file}: Background.{theirs} = {traffic[ours]}: not a whole number")
        traffic[ours] = int(traffic[ours])
    return {
        **traffic,
        "bicycles": traffic["walkers"],
        "crazy_proportion": _read_parameter(file, background, "CRAZY_PROPORTION"),
        "mixed": True,
        "bicycle": BICYCLE,
        "speed_difference": None,
        "following_distance": None,
    }


def _read_background(file: Path) -> dict[str, Any]:
    try:
        document = read_yaml_within(file, follow=True, aliases=True)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as problem:
        why = " ".join(str(problem).split())[:200]
        raise UserError(f"{file}: not a scenario_parameter file of V2Xverse ({why})") from None
    background = document.get("Background") if isinstance(document, dict) else None
    if not isinstance(background, dict):
        raise UserError(f"{file}: has no Background; name a scenario_parameter file of V2Xverse")
    return background


def _read_parameter(file: Path, background: dict[str, Any], name: str) -> float:
    value = background.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e6:
        raise UserError(f"{file}: Background.{name} = {value!r}: a number ≥ 0 is needed")
    return float(value)
