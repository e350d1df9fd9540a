"""`crucible routes`: lists, checks, generates and plots them, in the style of the report."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import carla
import numpy as np
import pandas as pd

from analysis.drawing.picture import render_canvas, write_png
from analysis.drawing.svg import render_svg_file
from analysis.figures.route_plan import HazardMarker, RoutePlan, render_route_plans
from crucible.scenario_table import add_routes_sets
from harness.campaign.attempt.surroundings import REACH, list_scenery_near_route
from harness.commands.route_listing import (
    add_file_options,
    add_route_file_argument,
    check_routes,
    list_routes,
    load_route_hazards,
)
from harness.common.command_registry import CommandDeclaration
from harness.common.errors import AttemptError, UserError
from harness.common.files import write_whole
from harness.common.terminal_lines import print_stdout_line
from harness.types.vocabulary import Floats, Pose, Route
from harness.world.hazards.spec import HazardSpec
from harness.world.lane_graph import LaneGraph
from harness.world.maps import load_road_network
from harness.world.roadside import find_roadside_pose
from harness.world.routes.files import read_routes
from harness.world.routes.generate_command import add_generate_arguments, run_routes_generate
from harness.world.routes.kinds import NOT_RUN
from harness.world.routes.resolve import resolve_routes
from harness.world.simulators.carlite import CarliteSimulator

if TYPE_CHECKING:
    Actions = argparse._SubParsersAction[argparse.ArgumentParser]

COMMAND = CommandDeclaration(
    group="Routes and simulators",
    rank=10,
    purpose="list, check, plot and generate routes; count scenario sets",
    extra="run,analysis",
    examples=(
        "crucible routes list routes/crucible05/routes.xml",
        "crucible routes check mine.xml --hazards mine.json",
        "crucible routes plot mine.xml --hazards mine.json --out routes.png",
        "crucible routes plot mine.xml --only 6 --surveyed --out route6.svg",
        "crucible routes generate --town Crucible05 --seed 1 --count 32 --out mine",
        "crucible routes sets interdrive=CoLMDriver --driven runs/interdrive",
    ),
)


TIMEOUT = 60.0
AROUND = 20.0
"""Metres round a route that a panel may show."""
SPACING = 2
"""Waypoints from one point of a lane to the next."""
EVERY = 5
"""Of a way's points, `list_scenery_near_route` looks at every fifth."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `routes list`, `check`, `plot`, `generate` and `sets`."""
    actions = parser.add_subparsers(dest="action", required=True)
    action = actions.add_parser("list", help="print the content of route files")
    add_route_file_argument(action)
    action.set_defaults(run=list_routes)
    action = actions.add_parser(
        "check", help="check whether routes can be driven, and which routes are the same way"
    )
    add_file_options(action)
    action.set_defaults(run=check_routes)
    add_routes_plot(actions)
    action = actions.add_parser("generate", help="make routes and hazards from a seed")
    add_generate_arguments(action)
    action.set_defaults(run=run_routes_generate)
    add_routes_sets(actions)


def add_routes_plot(actions: Actions) -> None:
    """Add `routes plot`."""
    action = actions.add_parser(
        "plot",
        help="write a plot of the routes",
        description="Write a plot of routes from above: lanes, scenery, signals, hazards.",
    )
    add_file_options(action)
    action.add_argument(
        "--only", nargs="+", metavar="ID", help="the routes to plot (default: all in the file)"
    )
    action.add_argument(
        "--surveyed", action="store_true", help="mark the roadside units of cooperation=surveyed"
    )
    action.add_argument(
        "--dark", action="store_true", help="dark background, of a .png only (default: light)"
    )
    action.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the .png or .svg file to write"
    )
    action.set_defaults(run=run_routes_plot)


def run_routes_plot(options: argparse.Namespace) -> int:
    """Write the picture; a server that does not start is bad input here."""
    try:
        return write_routes_plot(options)
    except AttemptError as problem:
        raise UserError(str(problem)) from None


def write_routes_plot(options: argparse.Namespace) -> int:
    """Write the picture of the routes."""
    # what is asked for
    if options.out.suffix not in {".png", ".svg"}:
        raise UserError(f"--out: {options.out}: a name that ends in .png or .svg is needed")
    specs = {spec.id: spec for spec in read_routes(options.file)}
    for name in options.only or ():
        if name not in specs:
            raise UserError(f"--only: {options.file} has no route {name}")
    if options.only:
        specs = {name: specs[name] for name in options.only}
    # the routes with what lies around them, town by town
    routes = list(resolve_routes(specs.values(), options.maps).values())
    hazards = load_route_hazards(options, specs)
    plans: dict[str, RoutePlan] = {}
    for town in dict.fromkeys(route.town for route in routes):
        there = [route for route in routes if route.town == town]
        scenery, lights, stops = load_town_scenery(there, options.maps)
        for route in there:
            run = [spec for spec in hazards[route.name] if not spec.kind.startswith(NOT_RUN)]
            network = load_road_network(town, options.maps)
            plans[route.name] = RoutePlan(
                name=route.name,
                town=town,
                length=route.length,
                way=route.xyz[:, :2],
                lane_change=route.lane_change,
                lines=select_lane_edges(network.graph, route),
                scenery=scenery,
                lights=lights,
                stops=stops,
                hazards=[place_hazard_marker(spec, route) for spec in run],
                units=find_roadside_places(network.map, route)
                if options.surveyed
                else np.zeros((0, 2)),
            )
    # the picture
    canvas = render_route_plans([plans[route.name] for route in routes])
    if options.out.suffix == ".svg":
        write_whole(options.out, render_svg_file(canvas))
    else:
        write_png(render_canvas(canvas, dark=options.dark), options.out)
    print_stdout_line(f"{len(routes)} route{'s' * (len(routes) != 1)} in {options.out}")
    return 0


def load_town_scenery(
    routes: Sequence[Route], maps: Path | None
) -> tuple[pd.DataFrame, Floats, Floats]:
    """Return scenery, lights and stop signs near routes of one town, as carlite answers."""
    simulator = CarliteSimulator(None if maps is None else str(maps))
    with simulator.lease_server(routes[0].town) as server:
        client = carla.Client(server.host, server.port)
        client.set_timeout(TIMEOUT)
        world = client.get_world()
        # (places, 3), all five times in a row, as only every fifth is looked at
        dense = np.repeat(make_dense_places(routes), EVERY, axis=0)
        scenery = pd.DataFrame(list_scenery_near_route(world, replace(routes[0], xyz=dense)))
        actors = world.get_actors()
        signals = [
            [
                (place.x, place.y)
                for place in (actor.get_location() for actor in actors.filter(kind))
            ]
            for kind in ("traffic.traffic_light", "traffic.stop")
        ]
    # (signals, 2) m
    lights, stops = (np.array(places, np.float64).reshape(-1, 2) for places in signals)
    return scenery, lights, stops


def select_lane_edges(graph: LaneGraph, route: Route) -> pd.DataFrame:
    """Return the edges of the lanes that a panel shows, as records have them."""
    low, high = compute_route_square(route)
    parts = []
    for number, (first, count) in enumerate(graph.lanes.values()):
        rows = [*range(first, first + count - 1, SPACING), first + count - 1]
        # (rows, 3) centre line of a lane, which is thinned out
        xyz, yaw = graph.xyz[rows], graph.yaw[rows]
        xyz[-1, :2] += np.cos(yaw[-1]), np.sin(yaw[-1])  # lanes are sampled to a metre before it
        inside = ((xyz[:, :2] >= low) & (xyz[:, :2] <= high)).all(axis=1)
        if count < 2 or not inside.any():
            continue
        # (rows, 3) from the centre to the right edge
        right = np.column_stack([-np.sin(yaw), np.cos(yaw), np.zeros(len(yaw))])
        right *= graph.width[rows][:, None] / 2
        for kind, edge in (("lane_left", xyz - right), ("lane_right", xyz + right)):
            table = pd.DataFrame(edge, columns=["x", "y", "z"])
            parts.append(table.assign(line=number, kind=kind))
    return pd.concat(parts, ignore_index=True)


def compute_route_square(route: Route) -> tuple[Floats, Floats]:
    """Return the corners of a square round a route, larger than what a panel shows."""
    low, high = route.xyz[:, :2].min(axis=0), route.xyz[:, :2].max(axis=0)
    middle, half = (low + high) / 2, float((high - low).max()) / 2 + AROUND
    return middle - half, middle + half


def make_dense_places(routes: Sequence[Route]) -> Floats:
    """Return places so dense that everything that panels show is near one of them."""
    grids = []
    for low, high in map(compute_route_square, routes):
        x, y = np.meshgrid(*(np.arange(low[axis], high[axis] + REACH, REACH) for axis in (0, 1)))
        grids.append(np.column_stack([x.ravel(), y.ravel(), np.zeros(x.size)]))
    return np.concatenate(grids)


def place_hazard_marker(spec: HazardSpec, route: Route) -> HazardMarker:
    """Return a hazard where it meets the ego."""
    x, y = (float(np.interp(spec.station, route.station, route.xyz[:, axis])) for axis in (0, 1))
    return HazardMarker(kind=spec.kind, station=spec.station, place=(x, y))


def find_roadside_places(town_map: carla.Map, route: Route) -> Floats:
    """Return where fixed roadside units stand: at the corners where junctions are entered."""
    entries = np.flatnonzero(route.in_junction[1:] & ~route.in_junction[:-1]).tolist()
    places = []
    for row in entries:
        x, y, z = route.xyz[row]
        unit = find_roadside_pose(town_map, Pose(x, y, z, yaw=float(route.yaw[row])), 0.0, 0.0)
        places.append((unit.x, unit.y))
    return np.array(places, np.float64).reshape(-1, 2)
