"""Hazards in which a hidden road user starts so as to meet the ego."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from typing import ClassVar

import numpy as np

from harness import ego_body
from harness.vocabulary import Floats, Pose
from harness.world.attempt_context import EgoState
from harness.world.hazards.followers import Manoeuvre, VehicleFollower
from harness.world.hazards.hazard import Hazard, NoPlaceError
from harness.world.hazards.meeting import CRUISE, EncounterPlan, Mover
from harness.world.hazards.reports import EncounterReport, Status
from harness.world.hazards.sight import Approach
from harness.world.hazards.spec import HazardSpec
from harness.world.hazards.track import Track

STANDING = 0.5
"""Below this speed, m/s, the ego's arrival is unknown."""
SMOOTHING = 0.2


class Arrival:
    """Estimates the ego's time of arrival from its speed and how that has been changing."""

    def __init__(self) -> None:
        self._acceleration = 0.0
        self._before: EgoState | None = None

    def observe(self, ego: EgoState) -> None:
        """Take in the state after a tick."""
        if self._before is not None and ego.time > self._before.time:
            now = (ego.speed - self._before.speed) / (ego.time - self._before.time)
            self._acceleration += SMOOTHING * (now - self._acceleration)
        self._before = ego

    def seconds(self, distance: float) -> float:
        """Return the seconds until the ego has driven so many metres more."""
        ego = self._before
        if distance <= 0.0:
            return 0.0
        if ego is None or ego.speed < STANDING:
            return math.inf
        gain = min(max(self._acceleration, 0.0), 3.0)
        if gain < 0.2 or ego.speed >= CRUISE:
            return distance / ego.speed
        speeding_up = (CRUISE**2 - ego.speed**2) / (2 * gain)
        if distance <= speeding_up:
            return (math.sqrt(ego.speed**2 + 2 * gain * distance) - ego.speed) / gain
        return (CRUISE - ego.speed) / gain + (distance - speeding_up) / CRUISE


TRIES = 30
"""Placements tried before a hazard counts as without a place."""
NO_PLACE = "the road has no place for it"


class Encounter(Hazard):
    """The mover starts by the ego's time of arrival; from then on nothing the ego does matters."""

    plan: EncounterPlan
    drives_on: ClassVar[bool] = True
    """Whether the mover ends on a lane, where it can drive on as traffic."""

    ahead: ClassVar[bool] = False
    """Whether it stands in the ego's lane, so that the ego slows down for it before it starts."""

    def __init__(self, spec: HazardSpec) -> None:
        super().__init__(spec)
        self._reveal_measured: float | None = None

    @abstractmethod
    def plans(self, track: Track) -> Iterable[EncounterPlan]:
        """Yield ways it could stand, the best first."""

    def set_up(self, track: Track) -> None:
        """Take the first plan for which there is room."""
        tried = 0
        for plan, _ in zip(self.plans(track), range(TRIES), strict=False):
            if self._stands(track, plan):
                self.plan, self._arrival = plan, Arrival()
                self._reveal = self.reveal_of(track, plan)
                return
            self.hazard_actors.dismiss()
            tried += 1
        raise NoPlaceError(f"{tried} places tried, all taken" if tried else NO_PLACE)

    def impossible(self, track: Track) -> str:
        """Return why the road has no place for it, whatever stands next to the road."""
        return "" if next(iter(self.plans(track)), None) is not None else NO_PLACE

    def act(self, ego: EgoState) -> None:
        """Wait for the ego, then act."""
        self._arrival.observe(ego)
        if self.status == "waiting":
            self.while_waiting(ego)
            to_go = self.plan.meeting.station - ego_body.LENGTH / 2 - ego.station
            if to_go < -ego_body.LENGTH:
                self.cause = "passed"
                self.leave("not_run", "the ego had passed before it was due")
            elif self._due(to_go):
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

    def note(self, ego: EgoState, returned: frozenset[int]) -> None:
        """Note when the ego's own LiDAR first returns the mover."""
        if self._reveal_measured is None and self.manoeuvre.follower.actor.id in returned:
            to_go = self.conflict_station(self.plan) - ego_body.LENGTH / 2 - ego.station
            self._reveal_measured = to_go / max(ego.speed, STANDING)

    def encounter(self) -> EncounterReport | None:
        """Return how it met the ego, once it is placed."""
        if not hasattr(self, "_reveal"):
            return None
        return EncounterReport(
            conflict_station=self.conflict_station(self.plan),
            reveal=self._reveal,
            reveal_measured=self._reveal_measured,
            parameters={
                name: self.spec.parameters.get(name, parameter.default)
                for name, parameter in self.parameters.items()
            },
        )

    def while_waiting(self, ego: EgoState) -> None:
        """Prepare what has to be prepared while the ego comes nearer."""

    def lets_screens_go(self, ego: EgoState) -> bool:
        """Return whether what hides the mover may go on from where it pauses."""
        return True

    def leave(self, status: Status, reason: str) -> None:
        """End it; vehicles that can still drive become traffic, what hid it and is stuck goes."""
        self.finish(status, reason)
        stranded = [screen for screen in self.screens if screen.stuck]
        if self.manoeuvre.stuck and not self.drives_on:
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

    def _play(self, ego: EgoState) -> None:
        mover, seconds = self.manoeuvre, self.hazard_actors.context.tick_seconds
        road_users = self.hazard_actors.others(None)
        if mover.held_up:
            others = np.concatenate([road_users, _coming(ego)])
        elif ego.speed >= STANDING:
            others = self.hazard_actors.others(ego.vehicle_in_world)
        else:
            others = road_users
        mover.step(seconds, others)
        for screen in self.screens:
            screen.step(seconds, road_users, stays=not self.lets_screens_go(ego))
        if mover.held_up and self.drives_on and not mover.over:
            self.leave("over", "held up by others, it became traffic")
        elif mover.over and all(screen.over for screen in self.screens):
            self.leave("over", mover.outcome)

    def _due(self, to_go: float) -> bool:
        """Return whether the ego is as near as it should be when the mover sets off."""
        seconds = self.plan.meeting.seconds
        if self.ahead:
            return to_go <= CRUISE * seconds
        return self._arrival.seconds(to_go) <= seconds

    def _stands(self, track: Track, plan: EncounterPlan) -> bool:
        if any(self.hazard_actors.stand(occluder) is None for occluder in plan.standing):
            return False
        if not self._way_is_free(track, plan.mover):
            return False
        followers = [self.hazard_actors.mover(screen) for screen in (plan.mover, *plan.screens)]
        staged = [Manoeuvre(follower) for follower in followers if follower is not None]
        if len(staged) < len(followers):
            return False
        for manoeuvre in staged:
            manoeuvre.follower.hold()
        self.manoeuvre, self.screens = staged[0], staged[1:]
        return True

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


def _coming(ego: EgoState) -> Floats:
    """Return where the ego will be in a moment, for those that are late and mind it."""
    ahead = ego.speed * np.arange(0.5, 3.0, 0.25)
    here = ego.vehicle_in_world
    x, y = here.x + ahead * math.cos(here.yaw), here.y + ahead * math.sin(here.yaw)
    return np.stack([x, y], axis=1)
