"""Hazards at junctions: a vehicle crosses the ego's way, hidden by what stands there."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import numpy as np

from harness.vocabulary import Floats, Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.courses import through
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import NoPlaceError
from harness.world.hazards.junctions import HeldLights, Way, junction_rows, ways
from harness.world.hazards.meeting import (
    LATE,
    EncounterPlan,
    Meeting,
    Mover,
    Sightline,
    StaticActor,
    meet,
    outline,
)
from harness.world.hazards.parameters import Choice, Number, Parameter
from harness.world.hazards.reports import Status
from harness.world.hazards.sizes import size
from harness.world.hazards.track import DRIVEN, Track

SCREEN = "vehicle.carlamotors.carlacola"
OCCLUDERS = (SCREEN, "vehicle.mercedes.sprinter")
CLEARANCE = 0.3
"""Metres that what stands at a corner keeps from all driving lanes."""
ROOM, QUEUE, BETWEEN = 1.2, 2, 1.0
"""Metres that a screen leaves for the mover; how many lorries it has, and metres between them."""
PULLING_AWAY = 4.5
"""The mover's acceleration, m/s²."""
FEW = 4
"""Places at corners tried for each way and occluder."""


def crossing_plans(
    track: Track, station: float, *, ways: Iterable[Way], blueprint: str, speed: float
) -> Iterator[EncounterPlan]:
    """Yield plans for all ways that cross the ego's, the suddenest first."""
    screened, met = list[EncounterPlan](), list[tuple[Way, EncounterPlan, Sightline]]()
    for way in ways:
        mover = Mover(blueprint, way.course(speed, acceleration=PULLING_AWAY))
        meeting = meet(track, mover, station)
        if meeting is None:
            continue
        plan, line = EncounterPlan(mover=mover, meeting=meeting), Sightline(track, mover, meeting)
        if screens := screens_next_to(track, station, mover, meeting):
            gap, hidden = line.past(screens)
            screened.append(replace(plan, screens=screens, gap_at_sight=gap, hidden=hidden))
        met.append((way, plan, line))
    yield from _best_first([plan for plan in screened if plan.sudden])
    rest = [plan for plan in screened if not plan.sudden]
    for way, plan, line in met:
        rest += _cornered(track, station, way=way, plan=plan, line=line)
    yield from _best_first(rest)


def _best_first(plans: list[EncounterPlan]) -> list[EncounterPlan]:
    return sorted(plans, key=lambda plan: (not plan.sudden, plan.gap_at_sight > LATE, -plan.hidden))


def screens_next_to(
    track: Track, station: float, mover: Mover, meeting: Meeting
) -> tuple[Mover, ...]:
    """Return lorries in the lane next to the ego's that roll forward and let the mover pass."""
    rows = junction_rows(track, station)
    if rows is None:
        return ()
    _, right = track.project(mover.course.xyz[:1, :2])
    side = _next_lane(track, rows[0] - 2, float(right[0]))
    if side is None:
        return ()
    length, width, _ = size(SCREEN)
    times = np.arange(0.0, mover.course.duration, 0.1)
    swept, aside = track.project(outline(mover, times).reshape(-1, 2))
    taken = swept[(np.abs(aside - side) < width / 2 + 0.4) & (np.abs(swept - station) < 25.0)]
    if len(taken) == 0:
        return ()
    begin, stop = rows[0] - 0.5 - length / 2, float(taken.min()) - ROOM - length / 2
    end = min(rows[1] + 12.0, track.route.length - 1.0)
    if stop < begin + 0.5 or end < stop + 2.0:
        return ()
    wait = max(meeting.seconds + 1.0 - (stop - begin) / 3.0, 1.0)
    queue = []
    for back in (length + BETWEEN) * np.arange(QUEUE):
        if begin - back < length or _next_lane(track, begin - back, side) is None:
            break
        line = track.points(np.arange(begin, end, 1.0) - back, side)
        course = through(line, 5.0, acceleration=2.5, pause_at=stop - begin, pause=wait)
        queue.append(Mover(SCREEN, course))
    return tuple(queue)


def _next_lane(track: Track, station: float, side: float) -> float | None:
    """Return how far to the right a lane of the ego's direction lies on that side."""
    ego_lane = track.waypoint(station)
    lane = ego_lane.get_right_lane() if side > 0 else ego_lane.get_left_lane()
    if lane is None or not lane.lane_type & DRIVEN or lane.lane_id * ego_lane.lane_id < 0:
        return None
    return math.copysign(lane.lane_width / 2 + ego_lane.lane_width / 2, side)


def _cornered(
    track: Track, station: float, *, way: Way, plan: EncounterPlan, line: Sightline
) -> Iterator[EncounterPlan]:
    for blueprint in OCCLUDERS:
        tried = [
            replace(plan, standing=(corner,), gap_at_sight=gap, hidden=hidden)
            for corner in corners(track, station, way, blueprint)
            for gap, hidden in [line.past([corner])]
            if hidden > 0.5
        ]
        free = (
            plan
            for plan in sorted(tried, key=lambda plan: (plan.gap_at_sight, -plan.hidden))
            if off_road(track, plan.standing[0])
        )
        yield from (plan for plan, _ in zip(free, range(FEW), strict=False))


def corners(track: Track, station: float, way: Way, blueprint: str) -> Iterator[StaticActor]:
    """Yield what could stand at the corner between the ego's road and where a way comes from."""
    rows = junction_rows(track, station)
    if rows is None:
        return
    edge = rows[0]
    _, right = track.project(way.points[:1, :2])
    side = math.copysign(1.0, float(right[0]))
    kerb = track.half_width(edge) if side > 0 else track.carriageway_left(edge - 3)
    for turned in (0.0, math.pi / 4, math.pi / 2, -math.pi / 4):
        for along in np.arange(edge - 6.0, edge + 9.0, 1.5):
            for out in np.arange(kerb + 1.4, kerb + 6.0, 1.0):
                yield StaticActor(blueprint, track.pose(float(along), side * float(out), turned))


def off_road(track: Track, standing: StaticActor) -> bool:
    """Return whether it keeps clear of all driving lanes."""
    return not any(track.on_road(Pose(x, y, standing.pose.z)) for x, y in edges(standing))


def edges(standing: StaticActor) -> Floats:
    """Return places (N, 2) all over a standing thing, a little enlarged."""
    length, width, _ = (extent + 2 * CLEARANCE for extent in size(standing.blueprint))
    xs = np.linspace(-length / 2, length / 2, math.ceil(length / 0.8) + 1)
    ys = np.linspace(-width / 2, width / 2, math.ceil(width / 0.8) + 1)
    x, y = (grid.ravel() for grid in np.meshgrid(xs, ys))
    cos, sin = math.cos(standing.pose.yaw), math.sin(standing.pose.yaw)
    place = standing.pose
    return np.stack([place.x + cos * x - sin * y, place.y + sin * x + cos * y], axis=1)


RUN_UP, RUN_OUT = 5.0, 25.0
ACROSS = math.radians(40.0)


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


def crossing_parameters(speed: float) -> dict[str, Parameter]:
    """Return what a vehicle may be that comes across, and how fast."""
    return {
        "speed": Number(default=speed, low=4.0, high=16.0, unit="m/s", meaning="of who comes"),
        "actor": Choice(default=VEHICLES[0], options=VEHICLES, meaning="who comes"),
    }


class CrossingVehicle(Encounter):
    """Comes from the right or the left, straight on or turning left, past a corner in the way."""

    safe_from_file = True
    kind = "crossing_vehicle"
    parameters: ClassVar[Mapping[str, Parameter]] = crossing_parameters(speed=11.0)

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield crossings of the junction near the station."""
        chosen = filter(crosses, ways(track, self.spec.station, RUN_UP, RUN_OUT))
        return crossing_plans(
            track,
            self.spec.station,
            ways=chosen,
            blueprint=self.word("actor"),
            speed=self.number("speed"),
        )


def crosses(way: Way) -> bool:
    """Return whether a way comes from one side and does not turn into the ego's road."""
    sideways = ACROSS < abs(way.heading) < math.pi - ACROSS
    return sideways and way.turn < math.radians(30.0)


HOLD = 55.0
"""Metres before the meeting at which the ego is given green."""
LIGHT, LIGHT_AHEAD = "1000001", 25.0
"""A traffic light in OpenDRIVE, and the metres before a junction from which it is looked for."""
NO_LIGHT = "the ego has no light there"


class RedLightRunner(Encounter):
    """Holds the ego's light green and all others red from when the ego comes near."""

    safe_from_file = True
    kind = "red_light_runner"
    parameters: ClassVar[Mapping[str, Parameter]] = crossing_parameters(speed=12.0)

    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield straight crossings of the junction near the station."""
        straight = (
            way
            for way in ways(track, self.spec.station, RUN_UP, RUN_OUT)
            if crosses(way) and abs(way.turn) < 0.5
        )
        return crossing_plans(
            track,
            self.spec.station,
            ways=straight,
            blueprint=self.word("actor"),
            speed=self.number("speed"),
        )

    def set_up(self, track: Track) -> None:
        """Find the lights as well."""
        self._lights = HeldLights(self.hazard_actors.context, self.spec.station)
        if not self._lights.exist:
            raise NoPlaceError(NO_LIGHT)
        super().set_up(track)

    def impossible(self, track: Track) -> str:
        """Return why the road has no place for it: no light ahead of the junction, or no room."""
        rows = junction_rows(track, self.spec.station)
        before = track.waypoint(float(max(rows[0] - 2, 0))) if rows else None
        ahead = before.get_landmarks_of_type(LIGHT_AHEAD, LIGHT) if before else []
        return super().impossible(track) if ahead else NO_LIGHT

    def while_waiting(self, ego: EgoState) -> None:
        """Give the ego green in good time."""
        if self.plan.meeting.station - ego.station < HOLD:
            self._lights.hold()

    def leave(self, status: Status, reason: str) -> None:
        """Let the lights go on too."""
        self._lights.release()
        super().leave(status, reason)

    def end(self) -> None:
        """Let the lights go on whatever happened."""
        if hasattr(self, "_lights"):
            self._lights.release()
        super().end()
