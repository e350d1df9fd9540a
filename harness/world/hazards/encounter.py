"""Hazards in which a hidden road user starts so as to meet the ego."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import ClassVar

import carla
import numpy as np

from harness.types import ego_body
from harness.types.vocabulary import Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.followers import Manoeuvre, VehicleFollower
from harness.world.hazards.hazard import Hazard, NoPlaceError
from harness.world.hazards.junctions import HeldLights
from harness.world.hazards.meeting import EncounterPlan, MovingActor
from harness.world.hazards.parameters import NumberParameter, Parameter
from harness.world.hazards.reports import EncounterReport, Status
from harness.world.hazards.sight import SightApproach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.timing import MoverCommitment, MoverTiming, make_mover_timing
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

PHASE = NumberParameter(
    default=0.0, low=-2.0, high=2.0, unit="s", meaning="by which the mover is late"
)
TIMING: Mapping[str, Parameter] = {
    "phase": PHASE,
    "spread": NumberParameter(
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

    A subclass yields `plans`; the first with room is taken. The mover waits at its start until it
    commits.

    Attributes:
        plan: the one that was taken.
        tries: placements tried before the hazard counts as without a place.
        commitment: when the mover set off, once that is decided.
    """

    plan: EncounterPlan
    meets_ego: ClassVar[bool] = True
    drives_on: ClassVar[bool] = True
    """Whether the mover ends on a lane, where it can drive on as traffic."""
    notice: ClassVar[float] = 0.0
    """Seconds that a generated mover moves at least before it meets the ego: with less, no
    ego could stop, whatever it knew."""

    def __init__(self, spec: HazardSpec) -> None:
        super().__init__(spec)
        self.tries = TRIES
        self.commitment: MoverCommitment | None = None
        self._reveal_measured: float | None = None
        self._lights: HeldLights | None = None
        self._free: dict[tuple[str, Pose], bool] = {}

    @abstractmethod
    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield ways it could stand, the best first.

        Args:
            track: the ego's route.
        """

    def set_up(self, track: Track) -> None:
        """Take the first plan for which there is room.

        Args:
            track: the ego's route.

        Raises:
            NoPlaceError: no plan has room.
        """
        tried = 0
        # what a plan without room has spawned is destroyed again
        for plan, _ in zip(self.plans(track), range(self.tries), strict=False):
            if self._try_plan(track, plan):
                self.plan = plan
                self._reveal = self.compute_reveal_time(track, plan)
                self.timing = self.sample_timing(track, plan)
                self._lights = HeldLights(
                    self.hazard_actors.context, self._stretch, self.list_further_green_lanes(plan)
                )
                return
            self.hazard_actors.destroy_actors()
            tried += 1
        raise NoPlaceError(f"{tried} places tried, all taken" if tried else NO_PLACE)

    def explain_impossible(self, track: Track) -> str:
        """Return why the road has no place for it, whatever stands next to the road.

        Args:
            track: the ego's route.

        Returns:
            A reason, or an empty text.
        """
        return "" if next(iter(self.plans(track)), None) is not None else NO_PLACE

    def act(self, ego: EgoState) -> None:
        """Commit when the ego is near, wait, and set off.

        Args:
            ego: after the tick.
        """
        # lights first, then the one decision, then the start
        if self.status == "waiting":
            if self._lights is not None and ego.station >= self._stretch[0]:
                self._lights.hold_lights()
            if self.commitment is None and ego.station >= self.timing.station:
                self.commitment = self.timing.make_commitment(ego)
            if self.commitment is not None and ego.time >= self.commitment.starts - 1e-6:
                self.begin(ego)
        if self.status == "running":
            self._step_movers(ego)

    def get_conflict_station(self, plan: EncounterPlan) -> float:
        """Return where the ego's front would touch the mover.

        Args:
            plan: the one that is driven.

        Returns:
            m along the route.
        """
        return plan.meeting.station

    def compute_reveal_time(self, track: Track, plan: EncounterPlan) -> float:
        """Return the seconds from when an ego alone could first see the mover to the conflict.

        Args:
            track: the ego's route.
            plan: what stands and drives.

        Returns:
            s.
        """
        approach = SightApproach(track, plan.mover, plan.meeting)
        return approach.compute_reveal((*plan.standing, *plan.screens))

    def sample_timing(self, track: Track, plan: EncounterPlan) -> MoverTiming:
        """Return when it commits; what is left of its timing comes from the seed alone.

        Args:
            track: the ego's route.
            plan: the one that is driven.
        """
        name = f"{self.kind}@{self.spec.station:g}"
        random = self.hazard_actors.context.random("hazards", "phase", name)
        return self.compute_timing(track, plan, late=float(random.uniform(-1.0, 1.0)))

    def compute_timing(
        self, track: Track, plan: EncounterPlan, *, late: float = 0.0
    ) -> MoverTiming:
        """Return when it commits, `late` being the share of its spread by which it is later.

        Args:
            track: the ego's route.
            plan: the one that is driven.
            late: from -1 to 1.
        """
        phase, spread = self.number("phase"), self.number("spread")
        return make_mover_timing(track, plan, phase=phase + spread * late, earliest=phase - spread)

    def is_mover_hidden(self, track: Track, plan: EncounterPlan) -> bool:
        """Return whether the ego sees the mover later for what stands or drives before it.

        Args:
            track: the ego's route.
            plan: what stands and drives.
        """
        bare = replace(plan, standing=(), screens=())
        return self.compute_reveal_time(track, plan) < self.compute_reveal_time(track, bare)

    def list_further_green_lanes(self, plan: EncounterPlan) -> Iterable[carla.Waypoint]:
        """Return lanes that have green with the ego.

        Args:
            plan: the one that is driven.
        """
        return ()

    def record_lidar_returns(self, ego: EgoState, returned: frozenset[int]) -> None:
        """Note when the ego's own LiDAR first returns the mover.

        Args:
            ego: at the planning step.
            returned: ids of actors that the ego's last sweep has points of.
        """
        if self._reveal_measured is None and self.manoeuvre.follower.actor.id in returned:
            to_go = self.get_conflict_station(self.plan) - ego_body.LENGTH / 2 - ego.station
            self._reveal_measured = to_go / max(ego.speed, STANDING)

    def expect_meeting_time(self, ego: EgoState) -> float | None:
        """Return when the mover is expected to meet the ego, by its timing."""
        return self.timing.expect_meeting_time(ego, self.commitment)

    def report_encounter(self) -> EncounterReport | None:
        """Return how it met the ego, once it is placed."""
        if not hasattr(self, "timing"):
            return None
        commitment = self.commitment
        return EncounterReport(
            conflict_station=self.get_conflict_station(self.plan),
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
        """Return whether what hides the mover may go on from where it pauses.

        Args:
            ego: after the tick.
        """
        return True

    def end_encounter(self, status: Status, reason: str, ego: EgoState) -> None:
        """End it; vehicles that can still drive become traffic, what is stuck or was hit goes.

        What the ego may have hit stays.

        Args:
            status: how it ended.
            reason: in a few words.
            ego: after the tick.
        """
        self.finish(status, reason)
        self._release_lights()
        stranded = [screen for screen in self.screens if screen.stuck]
        # what blocks the road for good is destroyed
        wrecked = self.manoeuvre.struck and not self._may_have_hit(ego)
        if wrecked or (self.manoeuvre.stuck and not self.drives_on):
            stranded.append(self.manoeuvre)
        if stranded:
            self.hazard_actors.destroy_actors(*(manoeuvre.follower.actor for manoeuvre in stranded))
        # what can drive on joins the background traffic
        port = self.hazard_actors.context.traffic_manager.get_port()
        movers = [self.manoeuvre] if self.drives_on else []
        for mover in (*movers, *self.screens):
            if (
                isinstance(mover.follower, VehicleFollower)
                and mover not in stranded
                and not mover.struck
            ):
                mover.follower.actor.set_autopilot(True, port)

    def remove_from_world(self) -> None:
        """Let the lights go on, whatever happened."""
        self._release_lights()
        super().remove_from_world()

    @property
    def _stretch(self) -> tuple[float, float]:
        """Where the ego has green: from the first station on, once it is there."""
        meeting = self.plan.meeting.station
        return min(meeting - HOLD, self.timing.station - HOLD_EARLIER), meeting + BEYOND

    def _release_lights(self) -> None:
        if self._lights is not None:
            self._lights.release_lights()

    def _step_movers(self, ego: EgoState) -> None:
        mover, seconds = self.manoeuvre, self.hazard_actors.context.tick_seconds
        meeting = self.plan.meeting
        # until it has met the ego it yields to nothing: the encounter must not depend on others
        on_its_way = mover.clock < min(meeting.over, meeting.seconds + FIRM)
        road_users = (
            self.hazard_actors.list_other_places(None) if self.screens or not on_its_way else NONE
        )
        mover.follow_tick(seconds, NONE if on_its_way else road_users)
        for screen in self.screens:
            screen.follow_tick(seconds, road_users, stays=not self.lets_screens_go(ego))
        # how it ends, in the order of what counts
        if self._was_disturbed(ego):
            self.cause = "disturbed"
            self.end_encounter("not_run", "another road user was in the mover's way", ego)
        elif mover.held_up and self.drives_on and not mover.over:
            self.end_encounter("over", "held up by others, it became traffic", ego)
        elif mover.over and all(screen.over for screen in self.screens):
            self.end_encounter("over", mover.outcome, ego)

    def _was_disturbed(self, ego: EgoState) -> bool:
        """Return whether the mover was hit before the meeting, and not by the ego."""
        mover = self.manoeuvre
        if not mover.struck or mover.clock >= self.plan.meeting.seconds:
            return False
        return not self._may_have_hit(ego)

    def _may_have_hit(self, ego: EgoState) -> bool:
        here, there = ego.vehicle_in_world, self.manoeuvre.follower.actor.get_location()
        return float(np.hypot(there.x - here.x, there.y - here.y)) <= CONTACT

    def _try_plan(self, track: Track, plan: EncounterPlan) -> bool:
        # room first: it costs no actors that stay
        if not self._has_mover_room(track, plan.mover):
            return False
        if any(self.hazard_actors.stand(occluder) is None for occluder in plan.standing):
            return False
        # the mover and what drives off with it wait at their starts
        followers = [
            self.hazard_actors.spawn_mover(screen) for screen in (plan.mover, *plan.screens)
        ]
        staged = [Manoeuvre(follower) for follower in followers if follower is not None]
        if len(staged) < len(followers):
            return False
        for manoeuvre in staged:
            manoeuvre.follower.hold_still()
        self.manoeuvre, self.screens = staged[0], staged[1:]
        return True

    def _has_mover_room(self, track: Track, mover: MovingActor) -> bool:
        """Return whether there is room for the mover's way, asked once for each start."""
        start = mover.blueprint, mover.course.start
        if start not in self._free:
            self._free[start] = self._is_way_free(track, mover)
        return self._free[start]

    def _is_way_free(self, track: Track, mover: MovingActor) -> bool:
        """Return whether the mover fits at every metre of its course that is not on the road."""
        course = mover.course
        for distance in np.arange(0.0, course.along[-1], 1.0):
            (x, y, z), yaw = course.interpolate_poses(float(distance))
            pose = Pose(float(x), float(y), float(z), float(yaw))
            if track.is_on_road(pose):
                return True
            if not self.hazard_actors.is_ground_level(pose) or not self.hazard_actors.can_spawn(
                mover.blueprint, pose
            ):
                return False
        return True
