"""Stop signs on a route: where they ask one to stand, and who drove through them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import carla
import numpy as np
import pytest

from harness.types.vocabulary import Route
from harness.world.attempt_context import AttemptContext
from harness.world.session import open_session
from harness.world.simulators import CarliteSimulator
from harness.world.stops import RouteStops
from tests.world.alone import alone

TOWN = "Crucible05"
TICKS = 20
"""A second."""


def over_a_sign(town: carla.Map, sign: carla.Actor) -> Route:
    """Return a way of 60 m along the lane of a sign, and on through the junction."""
    centre = sign.get_transform().transform(carla.Location(sign.trigger_volume.location))
    lane = town.get_waypoint(centre)
    back, ahead = lane.previous(30.0)[0], lane
    points = [back]
    while points[-1].transform.location.distance(lane.transform.location) > 1.0:
        points.append(points[-1].next(0.5)[0])
    for _ in range(60):
        ahead = ahead.next(0.5)[0]
        points.append(ahead)
    xyz = np.array([[p.transform.location.x, p.transform.location.y, 0.0] for p in points])
    station = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(xyz, axis=0), axis=1))])
    return Route(
        name="over",
        town=TOWN,
        xyz=xyz,
        yaw=np.array([math.radians(p.transform.rotation.yaw) for p in points]),
        station=station,
        lane_width=np.full(len(points), 3.5),
        speed_limit=np.full(len(points), 8.0),
        in_junction=np.array([p.is_junction for p in points]),
        lane_change=np.zeros(len(points), bool),
    )


def passed(stops: RouteStops, end: float, stand_at: float | None) -> tuple[list[int], list[float]]:
    """Drive a route at 10 m/s, standing a moment somewhere; return signs run, and those ahead."""
    run: list[int] = []
    shown = [sign.station for sign in stops.list_stops_ahead(0.0)]
    station, before = 0.0, 0.0
    while station < end:
        before, station = station, station + 10.0 / TICKS
        if stand_at is not None and before < stand_at <= station:
            run += stops.find_stop_violations(before, before, 0.05)
        run += stops.find_stop_violations(before, station, 10.0)
    return run, shown


def look(host: str, port: int) -> dict[str, Any]:
    """Pass every stop sign of the town: without standing, standing before it, and far before."""
    with open_session(host, port, town=TOWN, tick_seconds=0.05, seed=1) as session:
        signs = list(session.world.get_actors().filter("traffic.stop"))
        reports = []
        for sign in signs:
            route = over_a_sign(session.map, sign)
            context = AttemptContext(
                client=session.client,
                world=session.world,
                map=session.map,
                traffic_manager=session.traffic_manager,
                route=route,
                seed=1,
                tick_seconds=0.05,
            )
            end = float(route.station[-1])
            (first, shown), (kept, _), (early, _) = (
                passed(RouteStops(context), end, at) for at in (None, 25.0, 3.0)
            )
            standing = RouteStops(context)
            standing.find_stop_violations(25.0, 25.0, 0.0)
            reports.append(
                {
                    "sign": sign.id,
                    "without": first,
                    "with": kept,
                    "too early": early,
                    "shown": shown,
                    "after": [sign.station for sign in standing.list_stops_ahead(25.0)],
                }
            )
        return {"signs": reports}


@pytest.fixture(scope="module")
def looked() -> Iterator[list[dict[str, Any]]]:
    with CarliteSimulator().lease_server(TOWN) as server:
        yield alone(look, server.host, server.port)["signs"]


@pytest.mark.thorough
def test_the_ego_must_stop_at_all_seven_signs_of_the_town(looked: list[dict[str, Any]]) -> None:
    assert len(looked) == 7
    for sign in looked:
        assert sign["without"] == [sign["sign"]]
        assert sign["with"] == []
        assert sign["too early"] == [sign["sign"]]


def test_drivers_are_shown_a_sign_until_they_have_stood(looked: list[dict[str, Any]]) -> None:
    for sign in looked:
        (station,) = sign["shown"]
        assert station == pytest.approx(30.0, abs=3.5)
        assert sign["after"] == []
