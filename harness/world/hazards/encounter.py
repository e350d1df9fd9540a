"""Hazards in which a hidden road user starts so as to meet the ego."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

import carla
import numpy as np

from harness import ego_body
from harness.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.followers import Manoeuvre, VehicleFollower
from harness.world.hazards.hazard import Hazard, NoPlaceError
from harness.world.hazards.junctions import HeldLights
from harness.world.hazards.meeting import EncounterPlan, Mover
from harness.world.hazards.parameters import Number, Parameter
from harness.world.hazards.reports import EncounterReport, Status
from harness.world.hazards.sight import Approach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.timing import Commitment, Timing, timing_of
from harness.world.hazards.track import Track

STANDING = 0.5
"""Speed, m/s, with which a slower ego is counted."""
TRIES = 80
"""Placements tried before a hazard counts as without a place."""
NO_PLACE = "the road has no place for it"
NONE = np.zeros((0, 2))
HOLD, HOLD_EARLIER, BEYOND = 55.0, 15.0, 25.0
"""Lights are green for the ego from so many metres before the meeting, from so many before the
mover commits at the latest, and up to so many beyond the meeting."""
FIRM = 3.0
"""Seconds after the meeting for which a mover that stays in the ego's way does not yield yet."""
CONTACT = 7.0
"""Metres between the middles of ego and mover beyond which they have not touched."""

PHASE = Number(default=0.0, low=-2.0, high=2.0, unit="s", meaning="by which the mover is late")
TIMING: Mapping[str, Parameter] = {
    "phase": PHASE,
    "spread": Number(
        default=0.4,
        low=0.0,
        high=1.0,
        unit="s",
        meaning="by which the seed makes it earlier or later still, uniformly",
    ),
}
"""What a hazard file may set of the timing of every mover that meets the ego."""


class Encounter(Hazard):
    """The mover commits by the ego's station and speed, once; after that the ego changes nothing.

    Until it has left the ego's way it does not yield.
    """

    plan: EncounterPlan
    drives_on: ClassVar[bool] = True
    """Whether the mover ends on a lane, where it can drive on as traffic."""
    notice: ClassVar[float] = 0.0
    """Seconds that a generated mover moves at least before it meets the ego: with less, no
    ego could stop, whatever it knew."""

    def __init__(self, spec: HazardSpec) -> None:
        super().__init__(spec)
        self.tries = TRIES
        self.commitment: Commitment | None = None
        self._reveal_measured: float | None = None
        self._lights: HeldLights | None = None
        self._free: dict[tuple[str, Pose], bool] = {}

    @abstractmethod
    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield ways it could stand, the best first."""

    def set_up(self, track: Track) -> None:
        """Take the first plan for which there is room."""
        tried = 0
        for plan, _ in zip(self.plans(track), range(self.tries), strict=False):
            if self._stands(track, plan):
                self.plan = plan
                self._reveal = self.reveal_of(track, plan)
                self.timing = self.timing_of(track, plan)
                self._lights = HeldLights(
                    self.hazard_actors.context, self._stretch, self.also_green(plan)
                )
                return
            self.hazard_actors.dismiss()
            tried += 1
        raise NoPlaceError(f"{tried} places tried, all taken" if tried else NO_PLACE)

    def impossible(self, track: Track) -> str:
        """Return why the road has no place for it, whatever stands next to the road."""
        return "" if next(iter(self.plans(track)), None) is not None else NO_PLACE

    def act(self, ego: EgoState) -> None:
        """Commit when the ego is near, wait, and set off."""
        if self.status == "waiting":
            if self._lights is not None and ego.station >= self._stretch[0]:
                self._lights.hold()
            if self.commitment is None and ego.station >= self.timing.station:
                self.commitment = self.timing.commit(ego)
            if self.commitment is not None and ego.time >= self.commitment.starts - 1e-6:
                self.begin(ego)
        if self.status == "running":
            self._play(ego)

    def conflict_station(self, plan: EncounterPlan) -> float:
        """Return where the ego's front would touch the mover."""
        return plan.meeting.station

    def reveal_of(self, track: Track, plan: EncounterPlan) -> float:
        """Return the seconds from when an ego alone could first see the mover to the conflict."""
        approach = Approach(track, plan.mover, plan.meeting)
        return approach.reveal((*plan.standing, *plan.screens))

    def timing_of(self, track: Track, plan: EncounterPlan) -> Timing:
        """Return when it commits; what is left of its timing comes from the seed alone."""
        name = f"{self.kind}@{self.spec.station:g}"
        random = self.hazard_actors.context.random("hazards", "phase", name)
        return self.timing_on(track, plan, late=float(random.uniform(-1.0, 1.0)))

    def timing_on(self, track: Track, plan: EncounterPlan, *, late: float = 0.0) -> Timing:
        """Return when it commits, `late` being the share of its spread by which it is later."""
        phase, spread = self.number("phase"), self.number("spread")
        return timing_of(track, plan, phase=phase + spread * late, earliest=phase - spread)

    def hides(self, track: Track, plan: EncounterPlan) -> bool:
        """Return whether the ego sees the mover later for what stands or drives before it."""
        bare = replace(plan, standing=(), screens=())
        return self.reveal_of(track, plan) < self.reveal_of(track, bare)

    def also_green(self, plan: EncounterPlan) -> Iterable[carla.Waypoint]:
        """Return lanes that have green with the ego."""
        return ()

    def note(self, ego: EgoState, returned: frozenset[int]) -> None:
        """Note when the ego's own LiDAR first returns the mover."""
        if self._reveal_measured is None and self.manoeuvre.follower.actor.id in returned:
            to_go = self.conflict_station(self.plan) - ego_body.LENGTH / 2 - ego.station
            self._reveal_measured = to_go / max(ego.speed, STANDING)

    def encounter(self) -> EncounterReport | None:
        """Return how it met the ego, once it is placed."""
        if not hasattr(self, "timing"):
            return None
        commitment = self.commitment
        return EncounterReport(
            conflict_station=self.conflict_station(self.plan),
            reveal=self._reveal,
            reveal_measured=self._reveal_measured,
            commit_station=self.timing.station,
            phase=self.timing.phase,
            commit_frame=None if commitment is None else commitment.frame,
            commit_speed=None if commitment is None else commitment.ego_speed,
            parameters={
                name: self.spec.parameters.get(name, parameter.default)
                for name, parameter in self.parameters.items()
            }
            | dict(self.plan.taken),
        )

    def lets_screens_go(self, ego: EgoState) -> bool:
        """Return whether what hides the mover may go on from where it pauses."""
        return True

    def leave(self, status: Status, reason: str, ego: EgoState) -> None:
        """End it; vehicles that can still drive become traffic, what is stuck or was hit goes.

        What the ego may have hit stays.
        """
        self.finish(status, reason)
        self._release()
        stranded = [screen for screen in self.screens if screen.stuck]
        wrecked = self.manoeuvre.struck and not self._may_have_hit(ego)
        if wrecked or (self.manoeuvre.stuck and not self.drives_on):
            stranded.append(self.manoeuvre)
        if stranded:
            self.hazard_actors.dismiss(*(manoeuvre.follower.actor for manoeuvre in stranded))
        port = self.hazard_actors.context.traffic_manager.get_port()
        movers = [self.manoeuvre] if self.drives_on else []
        for mover in (*movers, *self.screens):
            if (
                isinstance(mover.follower, VehicleFollower)
                and mover not in stranded
                and not mover.struck
            ):
                mover.follower.actor.set_autopilot(True, port)

    def end(self) -> None:
        """Let the lights go on, whatever happened."""
        self._release()
        super().end()

    @property
    def _stretch(self) -> tuple[float, float]:
        """Where the ego has green: from the first station on, once it is there."""
        meeting = self.plan.meeting.station
        return min(meeting - HOLD, self.timing.station - HOLD_EARLIER), meeting + BEYOND

    def _release(self) -> None:
        if self._lights is not None:
            self._lights.release()

    def _play(self, ego: EgoState) -> None:
        mover, seconds = self.manoeuvre, self.hazard_actors.context.tick_seconds
        meeting = self.plan.meeting
        on_its_way = mover.clock < min(meeting.over, meeting.seconds + FIRM)
        road_users = self.hazard_actors.others(None) if self.screens or not on_its_way else NONE
        mover.step(seconds, NONE if on_its_way else road_users)
        for screen in self.screens:
            screen.step(seconds, road_users, stays=not self.lets_screens_go(ego))
        if self._disturbed(ego):
            self.cause = "disturbed"
            self.leave("not_run", "another road user was in the mover's way", ego)
        elif mover.held_up and self.drives_on and not mover.over:
            self.leave("over", "held up by others, it became traffic", ego)
        elif mover.over and all(screen.over for screen in self.screens):
            self.leave("over", mover.outcome, ego)

    def _disturbed(self, ego: EgoState) -> bool:
        """Return whether the mover was hit before the meeting, and not by the ego."""
        mover = self.manoeuvre
        if not mover.struck or mover.clock >= self.plan.meeting.seconds:
            return False
        return not self._may_have_hit(ego)

    def _may_have_hit(self, ego: EgoState) -> bool:
        here, there = ego.vehicle_in_world, self.manoeuvre.follower.actor.get_location()
        return float(np.hypot(there.x - here.x, there.y - here.y)) <= CONTACT

    def _stands(self, track: Track, plan: EncounterPlan) -> bool:
        if not self._has_room(track, plan.mover):
            return False
        if any(self.hazard_actors.stand(occluder) is None for occluder in plan.standing):
            return False
        followers = [self.hazard_actors.mover(screen) for screen in (plan.mover, *plan.screens)]
        staged = [Manoeuvre(follower) for follower in followers if follower is not None]
        if len(staged) < len(followers):
            return False
        for manoeuvre in staged:
            manoeuvre.follower.hold()
        self.manoeuvre, self.screens = staged[0], staged[1:]
        return True

    def _has_room(self, track: Track, mover: Mover) -> bool:
        """Return whether there is room for the mover's way, asked once for each start."""
        start = mover.blueprint, mover.course.start
        if start not in self._free:
            self._free[start] = self._way_is_free(track, mover)
        return self._free[start]

    def _way_is_free(self, track: Track, mover: Mover) -> bool:
        """Return whether the mover fits at every metre of its course that is not on the road."""
        course = mover.course
        for distance in np.arange(0.0, course.along[-1], 1.0):
            (x, y, z), yaw = course.poses(float(distance))
            pose = Pose(float(x), float(y), float(z), float(yaw))
            if track.on_road(pose):
                return True
            if not self.hazard_actors.level(pose) or not self.hazard_actors.fits(
                mover.blueprint, pose
            ):
                return False
        return True
