"""A vehicle crosses against its light while the ego has green."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from harness.world.attempt_context import EgoState
from harness.world.hazards import crossing
from harness.world.hazards.crossing_vehicle import RUN_OUT, RUN_UP, crosses
from harness.world.hazards.encounter import Encounter
from harness.world.hazards.hazard import NoPlaceError, Status, Value
from harness.world.hazards.meeting import Plan
from harness.world.hazards.signals import HeldLights
from harness.world.hazards.track import Track
from harness.world.hazards.ways import junction_rows, ways

HOLD = 55.0
"""Metres before the meeting at which the ego is given green."""
LIGHT, AHEAD = "1000001", 25.0
"""A traffic light in OpenDRIVE, and the metres before a junction from which it is looked for."""
NO_LIGHT = "the ego has no light there"


class RedLightRunner(Encounter):
    """Holds the ego's light green and all others red from when the ego comes near."""

    kind = "red_light_runner"
    defaults: ClassVar[dict[str, Value]] = {
        "speed": 12.0,  # m/s
        "actor": "vehicle.dodge.charger_2020",
    }

    def plans(self, track: Track) -> Iterable[Plan]:
        """Yield straight crossings of the junction near the station."""
        straight = (
            way
            for way in ways(track, self.spec.station, RUN_UP, RUN_OUT)
            if crosses(way) and abs(way.turn) < 0.5
        )
        return crossing.plans(
            track, self.spec.station, straight, self.word("actor"), self.number("speed")
        )

    def set_up(self, track: Track) -> None:
        """Find the lights as well."""
        self._lights = HeldLights(self.cast.stage, self.spec.station)
        if not self._lights.exist:
            raise NoPlaceError(NO_LIGHT)
        super().set_up(track)

    def impossible(self, track: Track) -> str:
        """Return why the road has no place for it: no light ahead of the junction, or no room."""
        rows = junction_rows(track, self.spec.station)
        before = track.waypoint(float(max(rows[0] - 2, 0))) if rows else None
        ahead = before.get_landmarks_of_type(AHEAD, LIGHT) if before else []
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
