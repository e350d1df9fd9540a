"""What a drive did wrong: collisions, lanes left, lights run, and why it ended.

The criteria are those of the CARLA Leaderboard 1.0; what studies change of them is a setting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

InfractionKind: TypeAlias = Literal[
    "collision_pedestrian",
    "collision_vehicle",
    "collision_layout",
    "off_road",
    "wrong_lane",
    "red_light",
    "stop_sign",
    "route_deviation",
    "blocked",
    "timeout",
]
COLLISIONS: tuple[InfractionKind, ...] = (
    "collision_pedestrian",
    "collision_vehicle",
    "collision_layout",
)
VIOLATIONS: tuple[InfractionKind, ...] = (
    *COLLISIONS,
    "off_road",
    "route_deviation",
    "blocked",
    "timeout",
)
MOST = {"goal_share": 1.0, "deviation_share": 1.0, "wrong_lane_angle": math.pi}
"""Settings in shares and radians: values in per cent or degrees would switch the rules off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DrivingRules:
    """Every threshold of the evaluation; the defaults are those of the study `recommended`."""

    safe_from_file = True
    ends_at_first_violation: bool = True  # true: the first violation ends the drive
    blocked_speed: float = 0.1  # m/s
    blocked_seconds: float = 60.0  # s slower than blocked_speed, after which the ego is blocked
    timeout_seconds_per_metre: float = 0.8  # s for each m of the route
    timeout_extra_seconds: float = 30.0  # s in addition
    stop_signs: bool = True  # true: evaluate stop signs
    off_road_margin: float = 1.3  # m beyond half the lane's width
    wrong_lane_angle: float = math.radians(120)  # rad between ego and lane
    deviation_limit: float = 30.0  # m from the route; farther away, the drive ends at once
    deviation_soft_limit: float = 15.0  # m from the route; farther away, the way is counted
    deviation_share: float = 0.3  # share of the route beyond the soft limit that ends the drive
    goal_share: float = 0.99  # share of the route's length that must be driven
    goal_distance: float = 10.0  # m
    same_collision_radius: float = 3.0  # m: nearer collisions with scenery count as one
    same_collision_forget: float = 5.0  # m
    same_actor_seconds: float = 5.0  # s in which collisions with one actor count once
    stationary_speed: float = 0.1  # m/s: a slower ego was hit by the other road user

    def __post_init__(self) -> None:
        for name, most in MOST.items():
            if not 0 <= getattr(self, name) <= most:
                raise ValueError(f"{name} = {getattr(self, name)}: must be from 0 to {most:.4g}")


@dataclass(frozen=True, slots=True)
class ReportedCollision:
    """A collision as the simulator reports it."""

    actor_id: int
    actor_type: str  # "vehicle.*", "walker.*", anything else is layout
    relative_speed: float  # m/s between the two, before
    ego_speed: float = math.nan  # m/s, before; where it is not known the last tick's counts


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveSample:
    """One tick of the drive, as it truly was.

    Attributes:
        frame: the simulator's tick.
        time: seconds.
        x: metres in the world.
        y: metres in the world.
        speed: m/s.
        lane_width: metres, of the nearest lane.
        lane_angle: radians.
    """

    frame: int
    time: float
    x: float
    y: float
    speed: float
    station: float  # m along the route
    route_distance: float  # m to the side of the route
    goal_distance: float  # m to the goal
    lane_distance: float  # m from the centre of the nearest lane, driving or parking
    lane_width: float
    lane_angle: float  # between the ego's heading and that lane's
    in_junction: bool
    red_lights_crossed: tuple[int, ...] = ()  # lights whose stop line was crossed on red
    stop_signs_run: tuple[int, ...] = ()  # signs that were left behind without standing
    contacts: tuple[ReportedCollision, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DriveInfraction:
    """One thing done wrong.

    Attributes:
        frame: the simulator's tick.
        time: seconds.
        x: metres in the world, of the ego.
        y: metres in the world, of the ego.
        ego_speed: m/s; before the impact if it is a collision.
        with_actor: the simulator's id of the other actor; 0 for none.
        with_type: its type, such as `vehicle.audi.tt`.
        relative_speed: m/s between the two before the impact.
        ego_stationary: the ego was struck while it stood.
    """

    kind: InfractionKind
    frame: int
    time: float
    x: float
    y: float
    ego_speed: float
    with_actor: int = 0
    with_type: str = ""
    relative_speed: float = 0.0
    ego_stationary: bool = False

    @property
    def is_violation(self) -> bool:
        """Whether it counts as a violation: a collision, off the road, or an incomplete route."""
        return self.kind in VIOLATIONS


@dataclass(slots=True, kw_only=True)
class DriveEvaluation:
    """Evaluates a drive tick by tick, until it is over.

    Attributes:
        route_length: metres.
        infractions: in the order they happened.
        finished: the goal was reached.
        ended: nothing more is evaluated.
        start: seconds, of the first tick.
    """

    rules: DrivingRules
    route_length: float
    infractions: list[DriveInfraction] = field(default_factory=list)
    completion: float = 0.0  # share of the route, 0 to 1
    completion_before_violation: float = 0.0
    finished: bool = False
    ended: bool = False
    ticks: int = 0
    outside_metres: float = 0.0  # up to the first violation
    deviated_metres: float = 0.0
    start: float = math.nan
    _violated_before: bool = False
    _last: DriveSample | None = None
    _slow_since: float = math.nan
    _outside: InfractionKind | None = None
    _met: dict[int, float] = field(default_factory=dict)
    _places: list[tuple[float, float]] = field(default_factory=list)

    def observe_tick(self, sample: DriveSample) -> None:
        """Evaluate one tick.

        Args:
            sample: the tick after the last one that was observed.

        Raises:
            ValueError: the drive has ended before.
        """
        if self.ended:
            raise ValueError("the drive has ended")
        if math.isnan(self.start):
            self.start = sample.time
        # how far along the route, never less than before
        self.completion = max(self.completion, min(sample.station / self.route_length, 1.0))
        # every kind of infraction, in the order in which one tick can have several
        self._judge_contacts(sample)
        self._judge_lane(sample)
        for _ in sample.red_lights_crossed:
            self._note_infraction("red_light", sample)
        for _ in sample.stop_signs_run if self.rules.stop_signs else ():
            self._note_infraction("stop_sign", sample)
        self._judge_progress(sample)
        self._last = sample
        self.ticks += 1
        # completion is frozen at the first violation, after the tick in which it happened
        violated = self.violation is not None
        if not self._violated_before:
            self.completion_before_violation = self.completion
        self._violated_before = violated
        if self.finished or (violated and self.rules.ends_at_first_violation):
            self.ended = True

    @property
    def last_time(self) -> float:
        """When it was last looked at."""
        return math.nan if self._last is None else self._last.time

    @property
    def violation(self) -> DriveInfraction | None:
        """The first violation, if there was one."""
        return next(
            (infraction for infraction in self.infractions if infraction.is_violation), None
        )

    @property
    def outside_share(self) -> float:
        """Share of the route done that was driven outside its lanes, up to the first violation.

        Why not of the whole route: decision 0025.
        """
        done = self.completion_before_violation * self.route_length
        return min(self.outside_metres / done, 1.0) if done > 0 else float(self.outside_metres > 0)

    def compute_timeout(self) -> float:
        """Seconds this route may take."""
        rules = self.rules
        return rules.timeout_seconds_per_metre * self.route_length + rules.timeout_extra_seconds

    def _note_infraction(
        self, kind: InfractionKind, sample: DriveSample, contact: ReportedCollision | None = None
    ) -> None:
        speed = sample.speed if contact is None else self._get_speed_before(contact, sample)
        self.infractions.append(
            DriveInfraction(
                kind=kind,
                frame=sample.frame,
                time=sample.time,
                x=sample.x,
                y=sample.y,
                ego_speed=speed,
                with_actor=0 if contact is None else contact.actor_id,
                with_type="" if contact is None else contact.actor_type,
                relative_speed=0.0 if contact is None else contact.relative_speed,
                ego_stationary=contact is not None and speed < self.rules.stationary_speed,
            )
        )

    def _get_speed_before(self, contact: ReportedCollision, sample: DriveSample) -> float:
        """Return the ego's speed before the impact: at the event it has changed already."""
        if not math.isnan(contact.ego_speed):
            return contact.ego_speed
        return sample.speed if self._last is None else self._last.speed

    def _judge_contacts(self, sample: DriveSample) -> None:
        rules = self.rules
        here = (sample.x, sample.y)
        # forget places that the ego has left, and actors that it met long ago
        self._places = [
            p for p in self._places if math.dist(p, here) <= rules.same_collision_forget
        ]
        self._met = {
            actor: time
            for actor, time in self._met.items()
            if sample.time - time <= rules.same_actor_seconds
        }
        # a collision is reported at every tick that it lasts: it counts once
        for contact in sample.contacts:
            kind = classify_collision(contact.actor_type)
            if kind == "collision_layout":
                known = any(math.dist(p, here) < rules.same_collision_radius for p in self._places)
            else:
                known = contact.actor_id in self._met
                self._met[contact.actor_id] = sample.time
            if known:
                continue
            self._places.append(here)
            self._note_infraction(kind, sample, contact)

    def _judge_lane(self, sample: DriveSample) -> None:
        rules = self.rules
        outside: InfractionKind | None = None
        if sample.lane_distance > sample.lane_width / 2 + rules.off_road_margin:
            outside = "off_road"
        elif not sample.in_junction and abs(sample.lane_angle) > rules.wrong_lane_angle:
            outside = "wrong_lane"
        # only where the lane is left: staying outside is the same infraction
        if outside and outside != self._outside:
            self._note_infraction(outside, sample)
        self._outside = outside
        # metres driven outside until the first violation, and far from the route
        if self._last is not None:
            moved = math.dist((sample.x, sample.y), (self._last.x, self._last.y))
            self.outside_metres += moved if outside and not self._violated_before else 0.0
            self.deviated_metres += moved * (sample.route_distance > rules.deviation_soft_limit)

    def _judge_progress(self, sample: DriveSample) -> None:
        rules = self.rules
        # the goal ends the drive before anything else can
        if self.completion > rules.goal_share and sample.goal_distance < rules.goal_distance:
            self.finished = True
            self.completion = 1.0
            return
        # since when the ego has been slow; NaN while it moves
        if sample.speed >= rules.blocked_speed:
            self._slow_since = math.nan
        elif math.isnan(self._slow_since):
            self._slow_since = sample.time
        # reasons to give up: at most one is noted in a tick
        gave_up: InfractionKind | None = None
        if (
            sample.route_distance > rules.deviation_limit
            or self.deviated_metres > rules.deviation_share * self.route_length
        ):
            gave_up = "route_deviation"
        elif sample.time - self._slow_since > rules.blocked_seconds:
            gave_up = "blocked"
        elif sample.time - self.start > self.compute_timeout():
            gave_up = "timeout"
        if gave_up:
            self._note_infraction(gave_up, sample)
            self.ended = True


def classify_collision(actor_type: str) -> InfractionKind:
    """Return the kind of a collision, by the other actor's type."""
    if actor_type.startswith("walker."):
        return "collision_pedestrian"
    if actor_type.startswith("vehicle."):
        return "collision_vehicle"
    return "collision_layout"
