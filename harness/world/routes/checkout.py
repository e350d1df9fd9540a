"""A user's checkout of V2Xverse: where its routes, scenarios and traffic parameters are.

Copies of what a study reads come with Crucible, and stand in where no checkout is named. A checkout
without its scenario file, as in public snapshots, is read with the copy of that file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from harness.common.errors import UserError
from harness.common.files import expand_home
from harness.common.safe_reading import read_yaml_within

CLONE = "git clone https://github.com/CollaborativePerception/V2Xverse"
ROUTES = "simulation/leaderboard/data/evaluation_routes"
SCENARIOS = "simulation/leaderboard/data/scenarios/town05_all_scenarios_2.json"
PARAMETERS = "simulation/leaderboard/leaderboard/scenarios"
FOLDER_OF_COPIES = "routes/v2xverse_town05"
ROUTES_COPY = f"{FOLDER_OF_COPIES}/routes.xml"
SCENARIOS_COPY = f"{FOLDER_OF_COPIES}/triggers.json"
PARAMETERS_COPY = f"{FOLDER_OF_COPIES}/scenario_parameter_1.yaml"
V2XVERSE_COPIES = {
    ROUTES_COPY: ROUTES,
    SCENARIOS_COPY: SCENARIOS,
    PARAMETERS_COPY: f"{PARAMETERS}/scenario_parameter_1.yaml",
}
"""Shipped files, and what they stand for in a checkout."""
WHOLE = {"vehicle_amount": "vehicles", "pedestrian_amount": "walkers", "CRAZY_LEVEL": "crazy_level"}
"""Names in a scenario_parameter file, and ours."""
BICYCLE = "vehicle.diamondback.century"
"""The one model of bicycle that V2Xverse spawns, as many as pedestrians."""


def refuse_incomplete_checkout(checkout: Path) -> None:
    """Refuse a checkout that lacks what is read of it; each part is named.

    The scenario file may be missing: its copy has the same triggers.
    """
    if not checkout.is_dir():
        raise UserError(f"routes.checkout: folder not found: {checkout}; get it with `{CLONE}`")
    if not (checkout / ROUTES).is_dir():
        raise UserError(
            f"routes.checkout: {checkout} has no {ROUTES}: not a checkout of V2Xverse; get one"
            f" with `{CLONE}`, or leave out routes.checkout: routes 0 to 31 come with Crucible"
        )


def find_checkout_file(checkout: str | None, name: str | None) -> str | None:
    """Return the checkout's file that a shipped copy stands for, the name itself for other files.

    Args:
        checkout: V2Xverse's folder; None: copies are read.
        name: of a file, as the settings have it; None for none.

    Returns:
        The copy of the scenario file too, if the checkout lacks that file.
    """
    if checkout is None or name not in V2XVERSE_COPIES:
        return name
    named = f"{checkout}/{V2XVERSE_COPIES[name]}"
    lacks = name == SCENARIOS_COPY and not expand_home(named, "routes.checkout").is_file()
    return name if lacks else named


def describe_copies(checkout: str | None, file: str, hazards: str | None) -> str:
    """Return a line on the copies that are read in place of V2Xverse's files; empty for none.

    Args:
        checkout: V2Xverse's folder, if one is named.
        file: of routes.
        hazards: their hazards; None for none.
    """
    copied = []
    if file == ROUTES_COPY:
        copied.append("of V2Xverse's town05_short 0 to 31")
    if hazards == SCENARIOS_COPY:
        copied.append(f"of the triggers in {Path(SCENARIOS).name} (the same ones, computed)")
    if not copied:
        return ""
    end = "; routes.checkout=DIR reads yours" if checkout is None else f", which {checkout} lacks"
    return f"Crucible's copies {' and '.join(copied)}{end}"


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
