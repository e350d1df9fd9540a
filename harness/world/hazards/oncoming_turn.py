"""The ego turns left across a vehicle that comes straight on, hidden by a waiting lorry."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import ClassVar

import carla
import numpy as np

from harness import ego_body
from harness.world.attempt_context import EgoState
from harness.world.hazards.courses import through
from harness.world.hazards.crossing import crossing_parameters
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.junctions import HeldLights, Way, ways
from harness.world.hazards.meeting import (
    LATE,
    EncounterPlan,
    Meeting,
    Mover,
    Sightline,
    meet,
    outline,
)
from harness.world.hazards.parameters import Parameter
from harness.world.hazards.reports import Status
from harness.world.hazards.sizes import size
from harness.world.hazards.track import Track

RUN_UP, RUN_OUT = 32.0, 25.0
TURNING = 4.7
"""Speed, m/s, of an ego in the turn."""
HOLD = 55.0
"""Metres before the meeting at which the ego and who comes towards it are given green."""
SCREEN = "vehicle.carlamotors.carlacola"
PAUSE = 2.0
"""Seconds after the meeting for which the lorry waits in any case."""
PATIENCE = 30.0
"""Seconds after its start for which the ego is let past first."""
ROOM = 1.6
"""Metres that the lorry leaves next to the ego's way."""


class OncomingTurn(Encounter):
    """The lorry rolls to the middle of the junction and waits; the other passes it on its right."""

    safe_from_file = True
    kind = "oncoming_turn"
    parameters: ClassVar[Mapping[str, Parameter]] = crossing_parameters(speed=12.0)

    def plans(self, track: Track) -> Iterator[EncounterPlan]:
        """Yield those who come towards the ego, straight on, the suddenest first."""
        facing = [way for way in ways(track, self.spec.station, RUN_UP, RUN_OUT) if _faces(way)]
        plans: list[EncounterPlan] = []
        for way in facing:
            mover = Mover(self.word("actor"), way.course(self.number("speed"), acceleration=4.0))
            meeting = meet(track, mover, self.spec.station)
            if meeting is None:
                continue
            line = Sightline(track, mover, meeting, TURNING)
            for other in facing:
                screen = _screen(track, way, other, meeting)
                if screen is not None:
                    gap, hidden = line.past([screen])
                    plans.append(
                        EncounterPlan(
                            mover=mover,
                            meeting=meeting,
                            standing=(),
                            screens=(screen,),
                            gap_at_sight=gap,
                            hidden=hidden,
                        )
                    )
            plans.append(EncounterPlan(mover=mover, meeting=meeting))
        return iter(sorted(plans, key=lambda plan: (plan.gap_at_sight > LATE, -plan.hidden)))

    def set_up(self, track: Track) -> None:
        """Find the lights as well."""
        super().set_up(track)
        x, y, z = self.plan.mover.course.xyz[0].tolist()
        coming = self.hazard_actors.context.map.get_waypoint(carla.Location(x, y, z))
        self._lights = HeldLights(self.hazard_actors.context, self.plan.meeting.station, [coming])

    def while_waiting(self, ego: EgoState) -> None:
        """Give both green in good time."""
        if self.plan.meeting.station - ego.station < HOLD:
            self._lights.hold()

    def lets_screens_go(self, ego: EgoState) -> bool:
        """Return whether the ego is past the lorry's way, or has let it wait for too long."""
        past = ego.station - ego_body.LENGTH / 2 > self.plan.meeting.station + ROOM
        return past or ego.time - (self.started_at or ego.time) > PATIENCE

    def leave(self, status: Status, reason: str) -> None:
        """Let the lights go on too."""
        self._lights.release()
        super().leave(status, reason)

    def end(self) -> None:
        """Let the lights go on whatever happened."""
        if hasattr(self, "_lights"):
            self._lights.release()
        super().end()


def _faces(way: Way) -> bool:
    return abs(way.heading) > math.radians(150.0) and abs(way.turn) < math.radians(30.0)


def _screen(track: Track, way: Way, other: Way, meeting: Meeting) -> Mover | None:
    """Return a lorry on the next lane nearer to the ego, up to where it leaves the ego room."""
    offset = _offset(way, other)
    if not 2.5 < offset < 4.5:
        return None
    begin = other.inside.start - 1 - math.ceil(size(SCREEN)[0] / 2)
    line = other.points[begin : other.inside.stop + 15]
    creeping = Mover(SCREEN, through(line, 4.0, acceleration=2.5))
    times = np.arange(0.0, creeping.course.duration, 0.1)
    _, right = track.project(outline(creeping, times))
    touching = np.flatnonzero((np.abs(right) < ego_body.WIDTH / 2 + ROOM).any(axis=1))
    stop = float(creeping.course.distance_at(times[touching[0]])) if len(touching) else 0.0
    if stop < 1.0:
        return None
    wait = max(meeting.seconds + PAUSE - creeping.course.seconds_to(stop), 1.0)
    return replace(creeping, course=replace(creeping.course, pause_at=stop, pause=wait))


def _offset(way: Way, other: Way) -> float:
    """Return how far one way enters to the left of another, seen along them."""
    here, there = way.entry.transform, other.entry.transform
    yaw = math.radians(here.rotation.yaw)
    x, y = there.location.x - here.location.x, there.location.y - here.location.y
    return float(x * math.sin(yaw) - y * math.cos(yaw))
