"""The vehicle under test: where it is on its route, what it touches, how it is driven."""

from __future__ import annotations

import math
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from queue import Empty, SimpleQueue

import carla
import numpy as np

from harness.common.errors import AttemptError
from harness.types.vocabulary import Control, Pose, Route
from harness.world.attempt_context import AttemptContext, EgoState
from harness.world.poses import to_carla_transform, to_pose

MODELS = ("vehicle.lincoln.mkz_2017", "vehicle.lincoln.mkz", "vehicle.tesla.model3")
ROLE = "hero"
"""CARLA's role of a vehicle under test."""
AHEAD, BACK = 20, 5
"""Rows of the route, one for each metre, in which the ego is looked for."""
DROP = 0.3
"""Metres above the road at which a vehicle is spawned."""

JOLT = 30.0
"""m/s² within a tick that neither brakes nor tyres give, so that it was a collision.

CARLA's tyres hold 3.5 times 0.7 of the car's weight, and more while it pitches: in `study=demo`
full braking is at most 26.3 m/s², the gentlest collision 32.5 m/s².
"""
PATIENCE = 10.0
"""Seconds on the clock for which the report of a jolt is waited for, on a busy machine."""
MOMENT = 0.5
"""Seconds on the clock for which the report of a soft collision is waited for."""
KERB = "sidewalk"
"""What a kerb's type contains: driving over one is a jolt, but (Leaderboard 1.0) no collision."""


@dataclass(frozen=True, slots=True)
class EgoContact:
    """Something the ego touched in a tick."""

    actor_id: int  # 0: the town itself
    actor_type: str
    ego_speed: float  # m/s, in the tick before; NaN if that is no longer known
    relative_speed: float  # m/s, in the tick before


class EgoVehicle:
    """The car on its route."""

    def __init__(self, context: AttemptContext, number: int = 0) -> None:
        """Put the car at the start of its route.

        Args:
            context: with its route.
            number: 0 for the first ego of an attempt.
        """
        self.present = True
        self._route = context.route
        self._row = 0
        self._reports: SimpleQueue[tuple[int, int, str]] = SimpleQueue()
        self._waiting: list[tuple[int, int, str]] = []
        self._past: deque[carla.WorldSnapshot] = deque(maxlen=4)
        self.actor = spawn_ego(context, name_ego_role(number))
        blueprint = context.world.get_blueprint_library().find("sensor.other.collision")
        self._feeler = context.world.spawn_actor(blueprint, carla.Transform(), self.actor)
        self._feeler.listen(self._record_contact)

    def read_state(self, snapshot: carla.WorldSnapshot) -> EgoState:
        """Return where the ego is after a tick.

        Args:
            snapshot: of the tick.

        Returns:
            Metres, m/s and radians in the world.
        """
        ego = snapshot.find(self.actor.id)
        if ego is None:
            raise AttemptError("server_crash", "the ego has vanished from the world")
        pose = to_pose(ego.get_transform())
        self._row = find_route_row(self._route, pose, self._row)
        self._past.append(snapshot)
        velocity = ego.get_velocity()
        return EgoState(
            frame=snapshot.frame,
            time=snapshot.timestamp.elapsed_seconds,
            vehicle_in_world=pose,
            speed=math.hypot(velocity.x, velocity.y),
            station=compute_route_station(self._route, pose, self._row),
        )

    def collect_contacts(
        self, until: carla.WorldSnapshot | None, grazing: bool = False
    ) -> list[EgoContact]:
        """Return new collisions up to a past tick, one for each actor.

        A collision may be reported shortly after its tick; of a past tick all are known, unless
        this process got no processor for a whole tick. So a jolt is waited for, and for a moment
        whatever was next to the ego in that tick (`grazing`): a soft collision is no jolt.

        Args:
            until: the last tick that counts; None for none.
            grazing: whether something was next to the ego in that tick.
        """
        # what the sensor's thread has reported so far
        while not self._reports.empty():
            self._waiting.append(self._reports.get_nowait())
        last = 0 if until is None else until.frame
        # a report may be late; a collision that is missed would change the outcome
        if self._has_jolted(last):
            self._await_contact_report(last, PATIENCE)
        elif grazing:
            self._await_contact_report(last, MOMENT)
        due = [touch for touch in self._waiting if touch[0] <= last]
        self._waiting = [touch for touch in self._waiting if touch[0] > last]
        # the first report of each actor; kerbs are no collisions
        met: dict[int, EgoContact] = {}
        for frame, actor, kind in due:
            if actor not in met and KERB not in kind:
                met[actor] = EgoContact(
                    actor, kind, *self._compute_contact_speeds(frame - 1, actor)
                )
        return list(met.values())

    def apply_driving_control(self, control: Control) -> None:
        """Press the pedals and turn the wheel; what is no number no server can follow."""
        if not all(map(math.isfinite, (control.throttle, control.steer, control.brake))):
            raise AttemptError("agent_exception", f"pedals and wheel must be finite: {control}")
        self.actor.apply_control(
            carla.VehicleControl(
                throttle=control.throttle,
                steer=control.steer,
                brake=control.brake,
                reverse=control.reverse,
                hand_brake=control.hand_brake,
            )
        )

    def destroy_ego(self) -> None:
        """Leave the world, once."""
        if not self.present:
            return
        self.present = False
        self._feeler.stop()
        self._feeler.destroy()
        self.actor.destroy()

    def _has_jolted(self, frame: int) -> bool:
        """Return whether the ego's speed changed in a tick as only an impact changes it."""
        now, before = self._find_snapshot(frame), self._find_snapshot(frame - 1)
        if now is None or before is None:
            return False
        here, there = now.find(self.actor.id), before.find(self.actor.id)
        if here is None or there is None:
            return False
        # m/s in one tick
        change = here.get_velocity() - there.get_velocity()
        jolt: bool = math.hypot(change.x, change.y) > JOLT * now.timestamp.delta_seconds
        return jolt

    def _await_contact_report(self, frame: int, limit: float) -> None:
        """Wait until a collision of a tick is reported, or for so many seconds on the clock."""
        end = time.monotonic() + limit
        with suppress(Empty):
            while not any(touch[0] >= frame for touch in self._waiting):
                self._waiting.append(self._reports.get(timeout=max(end - time.monotonic(), 0.0)))

    def _record_contact(self, event: carla.CollisionEvent) -> None:
        other = event.other_actor
        solid = other is not None and other.type_id.startswith(("vehicle.", "walker."))
        self._reports.put(
            (event.frame, other.id if solid else 0, other.type_id if other else "static")
        )

    def _find_snapshot(self, frame: int) -> carla.WorldSnapshot | None:
        """Return the snapshot of one of the last frames."""
        return next((snapshot for snapshot in self._past if snapshot.frame == frame), None)

    def _compute_contact_speeds(self, frame: int, actor: int) -> tuple[float, float]:
        """Return how fast the ego was in a past tick, and how fast relative to another actor."""
        before = self._find_snapshot(frame)
        ego = before.find(self.actor.id) if before else None
        if before is None or ego is None:
            return math.nan, 0.0
        other = before.find(actor) if actor else None
        velocity = ego.get_velocity()
        closing = velocity if other is None else velocity - other.get_velocity()
        return math.hypot(velocity.x, velocity.y), float(closing.length())


def name_ego_role(number: int) -> str:
    """Return the role of an ego by its number, as leaderboards with several egos name it."""
    return f"{ROLE}_{number}" if number else ROLE


def spawn_ego(context: AttemptContext, role: str) -> carla.Vehicle:
    """Put the ego at the start of its route."""
    library = context.world.get_blueprint_library()
    known = {blueprint.id for blueprint in library}
    blueprint = library.find(next(model for model in MODELS if model in known))
    blueprint.set_attribute("role_name", role)
    if blueprint.has_attribute("color"):
        blueprint.set_attribute("color", "255,255,255")
    x, y, z = context.route.xyz[0]
    start = to_carla_transform(Pose(x, y, z + DROP, yaw=float(context.route.yaw[0])))
    actor = context.world.try_spawn_actor(blueprint, start)
    if actor is None:
        raise AttemptError("route_invalid", f"{context.route.name}: its start is not free")
    return actor


def find_route_row(route: Route, pose: Pose, last: int) -> int:
    """Return the row of the route nearest to a place, near the last one found.

    Args:
        route: the way to drive.
        pose: in the world.
        last: the row of the last tick.
    """
    first = max(last - BACK, 0)
    part = route.xyz[first : last + AHEAD]
    gaps = np.hypot(part[:, 0] - pose.x, part[:, 1] - pose.y)
    return first + int(gaps.argmin())


def compute_route_station(route: Route, pose: Pose, row: int) -> float:
    """Return metres along the route at a place near one of its rows.

    Args:
        route: the way to drive.
        pose: in the world.
        row: the nearest one.

    Returns:
        Metres from 0 to the route's length.
    """
    x, y, _ = route.xyz[row].tolist()
    yaw = float(route.yaw[row])
    ahead = (pose.x - x) * math.cos(yaw) + (pose.y - y) * math.sin(yaw)
    # the next row is a metre away: a place beyond it would have another nearest row
    ahead = max(-1.0, min(1.0, ahead))
    station: float = float(route.station[row]) + ahead
    return max(0.0, min(station, route.length))
