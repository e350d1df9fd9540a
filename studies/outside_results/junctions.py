"""Where routes meet their first junction: run as a program, with CARLA's package `agents`.

Crucible's own `agents` has the same name, so that CARLA's planner needs a process of its own. Its
only argument is the folder with CARLA's `agents`; stdin has the routes as JSON, and a line of
stdout answers each.
"""

from __future__ import annotations

import importlib
import json
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

RESOLUTION = 1.0
"""Metres between waypoints."""
BEYOND = 8
"""Waypoints behind the first one in the junction, after which it counts as passed."""


def compute_share(places: Any, planner: Any, carla: Any) -> float:
    """Return the share of a route's waypoints at which its first junction is passed."""
    points = [carla.Location(x, y, z) for x, y, z in places]
    waypoints = [
        waypoint
        for here, there in pairwise(points)
        for waypoint, _ in planner.trace_route(here, there)
    ]
    for count, waypoint in enumerate(waypoints, 1):
        if waypoint.is_junction:
            return (count + BEYOND) / len(waypoints)
    raise ValueError("its way has no junction")


def main() -> None:
    """Answer each route with its share."""
    routes = json.load(sys.stdin)
    sys.path.insert(0, sys.argv[1])
    carla: Any = importlib.import_module("carla")
    planning: Any = importlib.import_module("agents.navigation.global_route_planner")
    planners: dict[str, Any] = {}
    for route in routes:
        town = route["town"]
        if town not in planners:
            opendrive = carla.Map(town, Path(route["map"]).read_text())
            planners = {town: planning.GlobalRoutePlanner(opendrive, RESOLUTION)}
        try:
            share = compute_share(route["places"], planners[town], carla)
        except Exception as problem:  # whatever a planner raises
            sys.exit(f"route {route['route']}: {' '.join(str(problem).split())}")
        print(json.dumps({"route": route["route"], "share": share}), flush=True)


if __name__ == "__main__":
    main()
