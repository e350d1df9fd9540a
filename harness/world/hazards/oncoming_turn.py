"""The ego turns left across a vehicle that comes straight on, hidden by a queue of lorries."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import carla
import numpy as np

from harness.types import ego_body
from harness.world.attempt_context import EgoState
from harness.world.hazards.courses import make_course
from harness.world.hazards.crossing import VEHICLES
from harness.world.hazards.emerging import ANY
from harness.world.hazards.encounter import TIMING, Encounter
from harness.world.hazards.junctions import JunctionWay, iter_junction_ways
from harness.world.hazards.meeting import (
    EncounterPlan,
    MovingActor,
    PlannedMeeting,
    compute_mover_meeting,
    compute_mover_outline,
)
from harness.world.hazards.parameters import ChoiceParameter, NumberParameter, Parameter
from harness.world.hazards.sizes import get_blueprint_size, get_pull_away_acceleration
from harness.world.hazards.track import Track

RUN_UP, RUN_OUT = 44.0, 25.0
SCREEN = "vehicle.carlamotors.carlacola"
NOSED_IN, APART = 4.0, 1.0
"""Metres of the first lorry that stand in the junction, and metres between lorries."""
PAUSE = 2.0
"""Seconds after the meeting for which the lorries wait in any case."""
PATIENCE = 30.0
"""Seconds after its start for which the ego is let past first."""
ROOM = 1.6
"""Metres that the first lorry leaves next to the ego's way."""
QUEUES = {"four_lorries": 4, "two_lorries": 2, "lorry": 1, "six_lorries": 6, "nothing": 0}


class OncomingTurn(Encounter):
    """Lorries wait to turn across the ego's road; the other passes them on their right."""

    safe_from_file = True
    kind = "oncoming_turn"
    parameters: ClassVar[Mapping[str, Parameter]] = {
        "speed": NumberParameter(
            default=12.0, low=4.0, high=16.0, unit="m/s", meaning="of who comes"
        ),
        "actor": ChoiceParameter(default=VEHICLES[0], options=VEHICLES, meaning="who comes"),
        "hides": ChoiceParameter(
            default=ANY,
            options=(ANY, *QUEUES),
            meaning="what stands in the next lane; any: the first that has room",
        ),
        **TIMING,
    }

    def plans(self, track: Track) -> Iterator[EncounterPlan]:
        """Yield those who come towards the ego, straight on; open ones last."""
        facing = [
            way
            for way in iter_junction_ways(track, self.spec.station, RUN_UP, RUN_OUT)
            if _is_oncoming_way(way)
        ]
        # those on which the mover meets the ego at all
        met = []
        for way in facing:
            who = self.word("actor")
            course = way.make_way_course(
                self.number("speed"), acceleration=get_pull_away_acceleration(who)
            )
            mover = MovingActor(who, course)
            meeting = compute_mover_meeting(track, mover, self.spec.station)
            if meeting is not None:
                met.append((way, EncounterPlan(mover=mover, meeting=meeting)))
        hides = self.word("hides")
        # queues in the order of preference, then the open road
        for name in QUEUES if hides == ANY else (hides,):
            for way, plan in met:
                if not QUEUES[name]:
                    yield replace(plan, taken={"hides": name})
                for other in facing if QUEUES[name] else ():
                    queue = _make_turning_queue(
                        track, way, other, meeting=plan.meeting, count=QUEUES[name]
                    )
                    if queue:
                        yield replace(plan, screens=queue, taken={"hides": name})

    def list_further_green_lanes(self, plan: EncounterPlan) -> Iterable[carla.Waypoint]:
        """Return the lane of who comes."""
        x, y, z = plan.mover.course.xyz[0].tolist()
        return [self.hazard_actors.context.map.get_waypoint(carla.Location(x, y, z))]

    def lets_screens_go(self, ego: EgoState) -> bool:
        """Return whether the ego is past the lorries' way, or has let them wait for too long."""
        past = ego.station - ego_body.LENGTH / 2 > self.plan.meeting.station + ROOM
        return past or ego.time - (self.started_at or ego.time) > PATIENCE


def _is_oncoming_way(way: JunctionWay) -> bool:
    return abs(way.heading) > math.radians(150.0) and abs(way.turn) < math.radians(30.0)


def _make_turning_queue(
    track: Track, way: JunctionWay, other: JunctionWay, *, meeting: PlannedMeeting, count: int
) -> tuple[MovingActor, ...]:
    """Return lorries on the next lane nearer to the ego, the first one nosed into the junction."""
    # the queue must be on the lane next to the mover's, nearer to the ego
    if not 2.5 < _measure_way_offset(way, other) < 4.5:
        return ()
    long = get_blueprint_size(SCREEN)[0]
    nose, behind = other.inside.start + NOSED_IN, count * (long + APART)
    if other.inside.start < behind - NOSED_IN:
        return ()
    queue = []
    for number in range(count):
        begin = round(nose - long / 2 - number * (long + APART))
        end = other.inside.stop + 15
        course = make_course(other.points[begin:end], 4.0, acceleration=2.5)
        lorry = MovingActor(SCREEN, replace(course, pause_at=0.0, pause=meeting.seconds + PAUSE))
        queue.append(lorry)
    # the first lorry must leave the ego room to turn
    touching = (
        np.abs(track.project_points(compute_mover_outline(queue[0], np.zeros(1)))[1])
        < ego_body.WIDTH / 2 + ROOM
    )
    return () if touching.any() else tuple(queue)


def _measure_way_offset(way: JunctionWay, other: JunctionWay) -> float:
    """Return how far one way enters to the left of another, seen along them."""
    here, there = way.entry.transform, other.entry.transform
    yaw = math.radians(here.rotation.yaw)
    x, y = there.location.x - here.location.x, there.location.y - here.location.y
    return float(x * math.sin(yaw) - y * math.cos(yaw))
