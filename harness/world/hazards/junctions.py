"""Junctions: the ways through them, and holding their lights for a hazard."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import carla
import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Floats
from harness.world.attempt_context import AttemptContext
from harness.world.hazards.courses import MoverCourse, make_course
from harness.world.hazards.track import DRIVEN, Track

REACH = 30.0
"""Metres from a station within which its junction lies."""
BEND = 4.5
"""Sideways acceleration, m/s², that a mover allows itself."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JunctionWay:
    """One lane through a junction, with what leads to it and on from it."""

    entry: carla.Waypoint
    exit: carla.Waypoint
    points: Floats  # (N, 3) a metre apart, run-up and run-out included
    inside: slice  # the rows within the junction
    heading: float  # on entering, seen from the ego's heading when it enters: clockwise, radians
    turn: float  # from entry to exit, clockwise

    def make_way_course(self, speed: float, **manners: float) -> MoverCourse:
        """Return the course along it, slower in bends."""
        return make_course(
            self.points, np.minimum(speed, compute_bend_speeds(self.points)), **manners
        )


def find_junction_rows(track: Track, station: float) -> tuple[int, int] | None:
    """Return the first and last row of the route within the junction near a station.

    Args:
        track: the ego's route.
        station: metres along it.

    Returns:
        None if no junction is within 30 m.
    """
    inside = np.flatnonzero(track.route.in_junction)
    if len(inside) == 0:
        return None
    nearest = int(inside[np.abs(inside - station).argmin()])
    if abs(nearest - station) > REACH:
        return None
    junction = track.get_waypoint(nearest).junction_id
    first = last = nearest
    while first > 0 and track.get_waypoint(first - 1).junction_id == junction:
        first -= 1
    while (
        last < len(track.route.station) - 1 and track.get_waypoint(last + 1).junction_id == junction
    ):
        last += 1
    return first, last


def iter_junction_ways(
    track: Track, station: float, run_up: float, run_out: float
) -> Iterator[JunctionWay]:
    """Yield the ways through the junction near a station, but those from the ego's own road.

    Args:
        track: the ego's route.
        station: metres along it, near the junction.
        run_up: metres before the junction, at most.
        run_out: metres beyond it, at most.
    """
    # the lane on which the ego enters: ways from its road are its own
    rows = find_junction_rows(track, station)
    if rows is None:
        return
    first = rows[0]
    ego_lane = track.get_waypoint(max(first - 2, 0))
    yaw = track.pose(max(first - 1, 0)).yaw
    junction = track.get_waypoint(first + 1).get_junction()
    for entry, leaving in junction.get_waypoints(DRIVEN):
        before = _walk_back(entry, run_up)
        if not before or _is_same_direction(before[0], ego_lane):
            continue
        through_it = _walk_lane(entry)
        # (N, 3) run-up, the way through, run-out: a point every metre
        line = [*before[::-1], *through_it, *_walk_ahead(leaving, run_out)]
        points = np.array([_read_waypoint_xyz(waypoint) for waypoint in line])
        heading = float(np.radians(entry.transform.rotation.yaw) - yaw)
        turn = float(np.radians(leaving.transform.rotation.yaw - entry.transform.rotation.yaw))
        inside = slice(len(before), len(before) + len(through_it))
        yield JunctionWay(
            entry=entry,
            exit=leaving,
            points=points,
            inside=inside,
            heading=wrap_angle(heading),
            turn=wrap_angle(turn),
        )


def compute_bend_speeds(points: Floats) -> Floats:
    """Return the speed at which each point's bend is comfortable for a mover.

    Args:
        points: (N, 3) metres, a metre apart.

    Returns:
        (N,) m/s.
    """
    forward = np.gradient(points[:, :2], axis=0)
    yaw = np.unwrap(np.arctan2(forward[:, 1], forward[:, 0]))
    step = np.maximum(np.linalg.norm(forward, axis=1), 0.1)
    bend = np.abs(np.gradient(yaw)) / step
    smooth = np.convolve(bend, np.ones(5) / 5, mode="same") if len(bend) >= 5 else bend
    return np.asarray(np.sqrt(BEND / np.maximum(smooth, 1e-3)))


def _is_same_direction(one: carla.Waypoint, other: carla.Waypoint) -> bool:
    """Return whether two waypoints lie on lanes of one road and direction."""
    return bool(one.road_id == other.road_id and one.lane_id * other.lane_id > 0)


def _walk_back(entry: carla.Waypoint, distance: float) -> list[carla.Waypoint]:
    waypoints: list[carla.Waypoint] = []
    here = entry
    while len(waypoints) < distance:
        before = [waypoint for waypoint in here.previous(1.0) if not waypoint.is_junction]
        if not before:
            break
        here = before[0]
        waypoints.append(here)
    return waypoints


def _walk_lane(entry: carla.Waypoint) -> list[carla.Waypoint]:
    waypoints, lane = [entry], (entry.road_id, entry.lane_id)
    while True:
        ahead = [e for e in waypoints[-1].next(1.0) if (e.road_id, e.lane_id) == lane]
        if not ahead or len(waypoints) > 80:
            return waypoints
        waypoints.append(ahead[0])


def _walk_ahead(leaving: carla.Waypoint, distance: float) -> list[carla.Waypoint]:
    waypoints: list[carla.Waypoint] = []
    here = leaving
    while len(waypoints) < distance:
        ahead = here.next(1.0)
        if not ahead or ahead[0].is_junction:
            break
        here = ahead[0]
        waypoints.append(here)
    return waypoints


def _read_waypoint_xyz(waypoint: carla.Waypoint) -> tuple[float, float, float]:
    here = waypoint.transform.location
    return here.x, here.y, here.z


NEAR = 3.0
"""Metres from a lane at which a stop line's waypoint belongs to it."""


class HeldLights:
    """Green for the ego on a stretch of its route and for others that are named, red across.

    Where lights are frozen already, nothing is changed: they were frozen on purpose.

    The ego must not be held up by a light just when it should meet the mover.
    """

    def __init__(
        self,
        context: AttemptContext,
        stretch: tuple[float, float],
        also: Iterable[carla.Waypoint] = (),
    ) -> None:
        lights = [
            actor
            for actor in context.world.get_actors().filter("traffic.traffic_light")
            if isinstance(actor, carla.TrafficLight)
        ]
        track, lanes = Track(context.map, context.route), list(also)
        # lights whose stop line lies on the ego's stretch, and the groups that they belong to
        ruling = [light for light in lights if _is_light_on_route(light, track, stretch)]
        groups = [light.get_group_traffic_lights() for light in ruling]
        self._groups = list({min(light.id for light in group): group for group in groups}.values())
        self._green = {light.id for light in ruling}
        self._green |= {
            light.id
            for group in self._groups
            for light in group
            if _is_light_on_lanes(light, lanes)
        }
        self._held: list[carla.TrafficLight] = []
        self._done = False

    @property
    def exist(self) -> bool:
        """Whether the ego has a light there."""
        return bool(self._groups)

    def hold_lights(self) -> None:
        """Set and freeze them, once."""
        if self._done:
            return
        self._done = True
        for group in self._groups:
            if group[0].is_frozen():
                continue
            for light in group:
                green = light.id in self._green
                light.set_state(
                    carla.TrafficLightState.Green if green else carla.TrafficLightState.Red
                )
            group[0].freeze(True)
            self._held.append(group[0])

    def release_lights(self) -> None:
        """Let them go on."""
        for light in self._held:
            light.freeze(False)
        self._held.clear()


def _is_light_on_route(
    light: carla.TrafficLight, track: Track, stretch: tuple[float, float]
) -> bool:
    """Return whether a light's stop line lies on a stretch of the route."""
    begin, end = stretch
    for waypoint in light.get_stop_waypoints():
        place = waypoint.transform.location
        at, right = track.project_points(np.array([place.x, place.y]))
        yaw = np.radians(waypoint.transform.rotation.yaw) - track.pose(float(at)).yaw
        if abs(right) < 1.5 and np.cos(yaw) > 0.7 and begin < at < end:
            return True
    return False


def _is_light_on_lanes(light: carla.TrafficLight, lanes: list[carla.Waypoint]) -> bool:
    """Return whether a light's stop line lies on one of these lanes, just before the junction."""
    return any(
        stop.road_id == lane.road_id and stop.lane_id * lane.lane_id > 0
        for stop in light.get_stop_waypoints()
        for lane in lanes
    )
