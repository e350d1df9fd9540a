"""A small checkout laid out like V2Xverse's, on our own town: files of ours, none of V2Xverse's."""

from __future__ import annotations

import json
import math
from pathlib import Path

from harness.types.vocabulary import Route
from harness.world.routes.checkout import PARAMETERS, ROUTES, SCENARIOS

POINTS = {
    "0": ((136.7, 196.6), (212.5, 174.1)),
    "1": ((136.7, 196.6), (166.7, 196.6)),
    "2": ((136.7, 196.6), (212.5, 174.1)),
}
BROKEN = ((-93.0, -1120.0), (-60.0, -1120.0))
"""A point far off all roads, as in one of V2Xverse's files."""


def write_checkout(
    folder: Path,
    *,
    broken: str = "",
    triggers: tuple[tuple[str, float, float, float], ...] = (),
    vehicles: int = 6,
    walkers: int = 4,
) -> Path:
    """Write routes, one in each file, triggers (type, x, y, yaw in degrees) and traffic."""
    for name, points in {**POINTS, **({broken: BROKEN} if broken else {})}.items():
        write(folder / ROUTES / f"town05_short_r{name}.xml", route_text(name, points))
    groups = [
        {
            "scenario_type": kind,
            "available_event_configurations": [
                {"transform": {"pitch": 0.0, "x": x, "y": y, "yaw": yaw, "z": 0.0}}
            ],
        }
        for kind, x, y, yaw in triggers
    ]
    write(folder / SCENARIOS, json.dumps({"available_scenarios": [{"Crucible05": groups}]}))
    lines = [
        f"    vehicle_amount: {vehicles}",
        f"    pedestrian_amount: {walkers}",
        "    CRAZY_LEVEL: 3",
        "    CRAZY_PROPORTION: 50",
        "    turn_off_light: True",
    ]
    write(folder / PARAMETERS / "scenario_parameter_1.yaml", "\n".join(["Background:", *lines, ""]))
    return folder


def route_text(name: str, points: tuple[tuple[float, float], ...]) -> str:
    """Return a route file with one route."""
    inside = "".join(
        f'<waypoint pitch="0.0" roll="0.0" x="{x}" y="{y}" yaw="0.0" z="0.0" />' for x, y in points
    )
    return f'<routes><route id="{name}" town="Crucible05">{inside}</route></routes>'


def trigger_on(route: Route, row: int, kind: str) -> tuple[str, float, float, float]:
    """Return a trigger that a route passes at a row."""
    x, y, _ = route.xyz[row].tolist()
    return kind, x, y, math.degrees(route.yaw[row])


def write(file: Path, text: str) -> None:
    """Write a file and the folders that it lies in."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
