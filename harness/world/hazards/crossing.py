"""Hazards at junctions: a vehicle crosses the ego's way, hidden by what stands there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from harness.types.vocabulary import Floats, Pose
from harness.world.hazards.courses import make_course
from harness.world.hazards.emerging import ANY, BETWEEN, LEEWAY, LORRY, VAN
from harness.world.hazards.encounter import TIMING, Encounter
from harness.world.hazards.hazard import NoPlaceError
from harness.world.hazards.junctions import JunctionWay, find_junction_rows, iter_junction_ways
from harness.world.hazards.meeting import (
    EncounterPlan,
    MovingActor,
    PlannedMeeting,
    StaticActor,
    compute_mover_meeting,
    compute_mover_outline,
)
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter, Parameter
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.sizes import get_blueprint_size, get_pull_away_acceleration
from harness.world.hazards.track import DRIVEN, Track

SCREEN = LORRY
CLEARANCE = 0.3
"""Metres that what stands at a corner keeps from all driving lanes."""
ROOM, QUEUE, APART = 1.2, 2, 1.0
"""Metres that a screen leaves for the mover; how many lorries it has, and metres between them."""
FEW = 4
"""Places at corners taken for each way and occluder, of those that hide the longest."""
KERB_ROWS = {"two_lorries": 2, "five_lorries": 5}
CORNERS = {"corner_lorry": LORRY, "corner_van": VAN}
HIDES = ("queue", *KERB_ROWS, *CORNERS, "nothing")
"""Lorries that roll in the next lane, a row along the kerb, something at the corner, or houses."""


@dataclass(frozen=True, eq=False, kw_only=True)
class JunctionCrossing:
    """Who crosses, by which ways, past what."""

    ways: tuple[JunctionWay, ...]
    blueprint: str
    speed: float  # m/s
    gap: float  # m from the junction to a row
    hides: str  # a name of HIDES, or ANY


def iter_crossing_plans(
    track: Track, station: float, who: JunctionCrossing
) -> Iterator[EncounterPlan]:
    """Yield plans for all ways that cross the ego's; open ones last.

    Args:
        track: the ego's route.
        station: metres along it, near the junction.
        who: who crosses, and past what.
    """
    met = []
    # the ways on which the mover would meet the ego at all
    for way in who.ways:
        course = way.make_way_course(
            who.speed, acceleration=get_pull_away_acceleration(who.blueprint)
        )
        mover = MovingActor(who.blueprint, course)
        meeting = compute_mover_meeting(track, mover, station)
        if meeting is not None:
            met.append((way, EncounterPlan(mover=mover, meeting=meeting)))
    # what hides it, the first choice for all ways before the second
    for name in HIDES if who.hides == ANY else (who.hides,):
        for way, plan in met:
            for hidden in _iter_hidden_plans(
                track, station, way=way, plan=plan, name=name, gap=who.gap
            ):
                yield replace(hidden, taken={"hides": name})


def _iter_hidden_plans(
    track: Track, station: float, *, way: JunctionWay, plan: EncounterPlan, name: str, gap: float
) -> Iterator[EncounterPlan]:
    """Yield a plan with what hides the start, by its name in HIDES."""
    if name == "queue":
        if screens := make_lorry_queue(track, station, plan.mover, plan.meeting):
            yield replace(plan, screens=screens)
    elif name in KERB_ROWS:
        if standing := place_kerb_row(track, station, way=way, count=KERB_ROWS[name], gap=gap):
            yield replace(plan, standing=standing)
    elif name in CORNERS:
        yield from _iter_corner_plans(track, station, way=way, plan=plan, blueprint=CORNERS[name])
    else:
        yield plan


def place_kerb_row(
    track: Track, station: float, *, way: JunctionWay, count: int, gap: float
) -> tuple[StaticActor, ...]:
    """Return lorries along the kerb on the side a way comes from, up to a gap before the junction.

    None where they would stand in a lane or in a junction.

    Args:
        track: the ego's route.
        station: metres along it, near the junction.
        way: where the mover comes from.
        count: lorries.
        gap: metres from the junction to the first lorry.
    """
    rows = find_junction_rows(track, station)
    if rows is None:
        return ()
    side = get_way_side(track, way)
    long, wide, _ = get_blueprint_size(LORRY)
    standing = []
    # from the junction backwards, each next to the carriageway
    for number in range(count):
        middle = track.route.station[rows[0]] - gap - long / 2 - number * (long + BETWEEN)
        if middle < 0.0 or track.is_in_junction(middle):
            return ()
        edge = (
            track.measure_carriageway_right(middle)
            if side > 0
            else track.measure_carriageway_left(middle)
        )
        pose = track.pose(middle, side * (edge + CLEARANCE + LEEWAY + wide / 2))
        lorry = StaticActor(LORRY, pose)
        if not is_off_road(track, lorry):
            return ()
        standing.append(lorry)
    return tuple(standing)


def get_way_side(track: Track, way: JunctionWay) -> float:
    """Return 1 for a way that comes from the right, else -1."""
    _, right = track.project_points(way.points[:1, :2])
    return math.copysign(1.0, float(right[0]))


def make_lorry_queue(
    track: Track, station: float, mover: MovingActor, meeting: PlannedMeeting
) -> tuple[MovingActor, ...]:
    """Return lorries in the lane next to the ego's that roll forward and let the mover pass.

    Args:
        track: the ego's route.
        station: metres along it, where they would meet.
        mover: who crosses.
        meeting: where and when.

    Returns:
        Lorries with their courses; none without such a lane, or without room.
    """
    rows = find_junction_rows(track, station)
    if rows is None:
        return ()
    _, right = track.project_points(mover.course.xyz[:1, :2])
    side = _find_parallel_lane(track, rows[0] - 2, float(right[0]))
    if side is None:
        return ()
    length, width, _ = get_blueprint_size(SCREEN)
    # the stretch of the next lane that the mover sweeps
    times = np.arange(0.0, mover.course.duration, 0.1)
    swept, aside = track.project_points(compute_mover_outline(mover, times).reshape(-1, 2))
    taken = swept[(np.abs(aside - side) < width / 2 + 0.4) & (np.abs(swept - station) < 25.0)]
    if len(taken) == 0:
        return ()
    # the first lorry stops before it, and waits until the mover has passed
    begin, stop = rows[0] - 0.5 - length / 2, float(taken.min()) - ROOM - length / 2
    end = min(rows[1] + 12.0, track.route.length - 1.0)
    if stop < begin + 0.5 or end < stop + 2.0:
        return ()
    wait = max(meeting.seconds + 1.0 - (stop - begin) / 3.0, 1.0)
    queue = []
    # those behind it do the same, each a length further back
    for back in (length + APART) * np.arange(QUEUE):
        if begin - back < length or _find_parallel_lane(track, begin - back, side) is None:
            break
        line = track.compute_points(np.arange(begin, end, 1.0) - back, side)
        course = make_course(line, 5.0, acceleration=2.5, pause_at=stop - begin, pause=wait)
        queue.append(MovingActor(SCREEN, course))
    return tuple(queue)


def _find_parallel_lane(track: Track, station: float, side: float) -> float | None:
    """Return how far to the right a lane of the ego's direction lies on that side."""
    ego_lane = track.get_waypoint(station)
    lane = ego_lane.get_right_lane() if side > 0 else ego_lane.get_left_lane()
    if lane is None or not lane.lane_type & DRIVEN or lane.lane_id * ego_lane.lane_id < 0:
        return None
    return math.copysign(lane.lane_width / 2 + ego_lane.lane_width / 2, side)


def _iter_corner_plans(
    track: Track, station: float, *, way: JunctionWay, plan: EncounterPlan, blueprint: str
) -> Iterator[EncounterPlan]:
    """Yield plans with something at the corner: first where it hides the mover the longest."""
    approach = SightApproach(replace(track, scenery=None), plan.mover, plan.meeting)
    tried = [
        (approach.compute_reveal((corner,)), number, corner)
        for number, corner in enumerate(iter_corner_actors(track, station, way, blueprint))
    ]
    free = (corner for _, _, corner in sorted(tried) if is_off_road(track, corner))
    for corner, _ in zip(free, range(FEW), strict=False):
        yield replace(plan, standing=(corner,))


def iter_corner_actors(
    track: Track, station: float, way: JunctionWay, blueprint: str
) -> Iterator[StaticActor]:
    """Yield what could stand at the corner between the ego's road and where a way comes from."""
    rows = find_junction_rows(track, station)
    if rows is None:
        return
    edge, side = rows[0], get_way_side(track, way)
    kerb = track.get_half_width(edge) if side > 0 else track.measure_carriageway_left(edge - 3)
    # all places and angles of a grid at the corner
    for turned in (0.0, math.pi / 4, math.pi / 2, -math.pi / 4):
        for along in np.arange(edge - 6.0, edge + 9.0, 2.5):
            for out in np.arange(kerb + 1.4, kerb + 6.0, 1.5):
                yield StaticActor(blueprint, track.pose(float(along), side * float(out), turned))


def is_off_road(track: Track, standing: StaticActor) -> bool:
    """Return whether it keeps clear of all driving lanes."""
    return not any(
        track.is_on_road(Pose(x, y, standing.pose.z)) for x, y in sample_actor_outline(standing)
    )


def sample_actor_outline(standing: StaticActor) -> Floats:
    """Return places (N, 2) all over a standing thing, a little enlarged."""
    length, width, _ = (extent + 2 * CLEARANCE for extent in get_blueprint_size(standing.blueprint))
    xs = np.linspace(-length / 2, length / 2, math.ceil(length / 0.8) + 1)
    ys = np.linspace(-width / 2, width / 2, math.ceil(width / 0.8) + 1)
    x, y = (grid.ravel() for grid in np.meshgrid(xs, ys))
    cos, sin = math.cos(standing.pose.yaw), math.sin(standing.pose.yaw)
    place = standing.pose
    return np.stack([place.x + cos * x - sin * y, place.y + sin * x + cos * y], axis=1)


RUN_OUT = 25.0
"""Metres driven beyond the junction."""
ACROSS, STRAIGHT = math.radians(40.0), 0.5
"""Radians between the ways, at least, and of a turn, at most. One that turns left would sweep the
ego's lane up to where a careful ego stops."""


VEHICLES = (
    "vehicle.dodge.charger_2020",
    "vehicle.citroen.c3",
    "vehicle.audi.tt",
    "vehicle.mercedes.sprinter",
    "vehicle.carlamotors.carlacola",
    "vehicle.carlamotors.european_hgv",
    "vehicle.bh.crossbike",
    "vehicle.gazelle.omafiets",
)


def make_crossing_parameters(speed: float) -> dict[str, Parameter]:
    """Return what a vehicle may be that comes across, how fast, and past what."""
    return {
        "speed": NumberParameter(
            default=speed, low=4.0, high=16.0, unit="m/s", meaning="of who comes"
        ),
        "actor": ChoiceParameter(default=VEHICLES[0], options=VEHICLES, meaning="who comes"),
        "side": ChoiceParameter(
            default="either", options=("either", "left", "right"), meaning="where it comes from"
        ),
        "run_up": NumberParameter(
            default=5.0, low=5.0, high=30.0, unit="m", meaning="from its start to the junction"
        ),
        "gap": NumberParameter(
            default=4.0, low=1.0, high=14.0, unit="m", meaning="from the junction to a row"
        ),
        "hides": ChoiceParameter(
            default=ANY,
            options=(ANY, *HIDES),
            meaning="what stands between the ego and the start; any: the first that has room",
        ),
        **TIMING,
    }


class CrossingEncounter(Encounter):
    """What those who cross at a junction share."""

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield crossings of the junction near the station."""
        sides = {"left": (-1.0,), "right": (1.0,)}.get(self.word("side"), (-1.0, 1.0))
        chosen = tuple(
            way
            for way in iter_junction_ways(track, self.spec.station, self.number("run_up"), RUN_OUT)
            if is_crossing_straight(way) and get_way_side(track, way) in sides
        )
        who = JunctionCrossing(
            ways=chosen,
            blueprint=self.word("actor"),
            speed=self.number("speed"),
            gap=self.number("gap"),
            hides=self.word("hides"),
        )
        return iter_crossing_plans(track, self.spec.station, who)


class CrossingVehicle(CrossingEncounter):
    """Comes from the right or the left, straight on, past a corner in the way."""

    safe_from_file = True
    kind = "crossing_vehicle"
    parameters: ClassVar[Mapping[str, Parameter]] = make_crossing_parameters(speed=11.0)


def is_crossing_straight(way: JunctionWay) -> bool:
    """Return whether a way comes from one side and goes straight on."""
    sideways = ACROSS < abs(way.heading) < math.pi - ACROSS
    return sideways and abs(way.turn) < STRAIGHT


LIGHT, LIGHT_AHEAD = "1000001", 25.0
"""A traffic light in OpenDRIVE, and the metres before a junction from which it is looked for."""
NO_LIGHT = "the ego has no light there"


class RedLightRunner(CrossingEncounter):
    """Crosses straight on while the ego's light is green and all others are red."""

    safe_from_file = True
    kind = "red_light_runner"
    parameters: ClassVar[Mapping[str, Parameter]] = make_crossing_parameters(speed=12.0)

    def set_up(self, track: Track) -> None:
        """Refuse junctions without a light for the ego."""
        super().set_up(track)
        if self._lights is None or not self._lights.exist:
            self.hazard_actors.destroy_actors()
            raise NoPlaceError(NO_LIGHT)

    def explain_impossible(self, track: Track) -> str:
        """Return why the road has no place for it: no light ahead of the junction, or no room."""
        rows = find_junction_rows(track, self.spec.station)
        before = track.get_waypoint(float(max(rows[0] - 2, 0))) if rows else None
        ahead = before.get_landmarks_of_type(LIGHT_AHEAD, LIGHT) if before else []
        return super().explain_impossible(track) if ahead else NO_LIGHT
