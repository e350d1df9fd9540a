"""Actors that follow a timetable. They yield to all but the ego; once hit they stop following."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Protocol

import carla
import numpy as np

from harness.types.geometry import wrap_angle
from harness.types.vocabulary import Floats
from harness.world.hazards.courses import MoverCourse

CORRECTION = 2.0
"""Metres per second of correction for each metre off the timetable."""
ASTRAY = 1.0
"""Metres from the timetable at which a mover has been hit."""
PATIENCE = 8.0
"""Seconds for which a mover waits for an actor in its way."""
HELD_UP = 0.6
"""Share of its pace below which a mover has lost its timetable for good."""
SIDE_ROOM = 1.2
"""Metres next to its body in which something is in a mover's way."""
CARE = 1.2
"""How fast the timetable slows down and goes on again, 1/s: 1 is from full to nothing."""


class ActorFollower(Protocol):
    """A mover in the world."""

    actor: carla.Actor
    course: MoverCourse

    def hold_still(self) -> None:
        """Stand still until the start."""

    def follow_course(self, distance: float, rate: float) -> None:
        """Head for where the timetable wants it, `rate` being 1 unless it is slowed down."""

    def come_to_rest(self) -> None:
        """Come to rest by itself."""


class VehicleFollower:
    """A vehicle or bicycle, led by its velocity, as CARLA's scenario runner leads its own."""

    def __init__(self, actor: carla.Vehicle, course: MoverCourse) -> None:
        self.actor, self.course = actor, course

    def hold_still(self) -> None:
        """Stand still until the start."""
        self.actor.apply_control(carla.VehicleControl(brake=1.0, hand_brake=True))

    def follow_course(self, distance: float, rate: float) -> None:
        """Set the velocity that keeps it on its timetable.

        Args:
            distance: metres along the course where it should be.
            rate: 1, or less while it is slowed down.
        """
        # where it should be and how fast, where it is
        course = self.course
        (place, yaw), here = course.interpolate_poses(distance), self.actor.get_transform()
        pace = rate * float(np.interp(distance, course.along, course.pace))
        heading = math.radians(here.rotation.yaw)
        falling = self.actor.get_velocity().z
        moving = pace > 0.05
        self.actor.apply_control(carla.VehicleControl(brake=0.0 if moving else 1.0))
        if moving:
            # the pace along the course, and a correction towards where it should be
            ahead = pace * math.cos(yaw) + CORRECTION * (place[0] - here.location.x)
            aside = pace * math.sin(yaw) + CORRECTION * (place[1] - here.location.y)
            self.actor.set_target_velocity(carla.Vector3D(ahead, aside, falling))
            turn = wrap_angle(float(yaw) - heading)
            turning = self._compute_curvature(distance) * pace + 4.0 * turn
            self.actor.set_target_angular_velocity(carla.Vector3D(0, 0, math.degrees(turning)))

    def come_to_rest(self) -> None:
        """Brake to a stand."""
        self.actor.apply_control(carla.VehicleControl(brake=1.0))

    def _compute_curvature(self, distance: float) -> float:
        """Return by how many radians the course turns in a metre."""
        _, yaws = self.course.interpolate_poses(np.array([distance - 0.25, distance + 0.25]))
        return float(yaws[1] - yaws[0]) / 0.5


class WalkerFollower:
    """A pedestrian."""

    def __init__(self, actor: carla.Walker, course: MoverCourse) -> None:
        self.actor, self.course = actor, course

    def hold_still(self) -> None:
        """Stand still until the start."""
        self.actor.apply_control(carla.WalkerControl(speed=0.0))

    def follow_course(self, distance: float, rate: float) -> None:
        """Walk towards where the timetable will be in a moment."""
        ahead = distance + 0.6
        place, _ = self.course.interpolate_poses(ahead)
        here = self.actor.get_location()
        x, y = place[0] - here.x, place[1] - here.y
        far = math.hypot(x, y)
        pace = float(np.interp(distance, self.course.along, self.course.pace))
        speed = rate * max(pace, 0.5) if far > 0.1 else 0.0
        direction = carla.Vector3D(x / max(far, 0.1), y / max(far, 0.1), 0.0)
        self.actor.apply_control(carla.WalkerControl(direction=direction, speed=speed))

    def come_to_rest(self) -> None:
        """Stand still."""
        self.hold_still()


class Manoeuvre:
    """One follower's way along its course, from its start to its end."""

    def __init__(
        self, follower: ActorFollower, delay: float = 0.0, room: float = SIDE_ROOM
    ) -> None:
        self.follower = follower
        self.room = room
        self.clock = -delay
        self.rate = 1.0
        self.struck = False
        self.waited = 0.0
        self.held_up = False

    @property
    def over(self) -> bool:
        """Whether the course is done, or its actor was hit or is stuck."""
        return self.struck or self.stuck or self.clock >= self.follower.course.duration

    @property
    def stuck(self) -> bool:
        """Whether an actor has stood in its way for too long."""
        return self.waited > PATIENCE

    @property
    def outcome(self) -> str:
        """How it ended."""
        if self.struck:
            return "struck"
        return "stuck" if self.stuck else "its course was done"

    def follow_tick(self, seconds: float, others: Floats, stays: bool = False) -> None:
        """Follow the course for one tick; stop for `others` (N, 2).

        With `stays` it does not go on from where the course pauses.

        Args:
            seconds: the length of a tick.
            others: (N, 2) places of road users, metres.
            stays: whether it waits where the course pauses.
        """
        if self.over:
            return
        # far off its timetable: it was hit
        distance = float(self.follower.course.compute_distance(max(self.clock, 0.0)))
        if self.clock > 0.0 and self._is_astray(distance):
            self.struck = True
            self.follower.come_to_rest()
            return
        # the timetable slows down for what is in the way, and goes on again
        wanted = 0.0 if self._is_way_blocked(distance, others) else 1.0
        self.rate += min(max(wanted - self.rate, -CARE * seconds), CARE * seconds)
        self.held_up |= self.rate < HELD_UP
        self.waited = self.waited + seconds if self.rate < 0.05 else 0.0
        clock = self.clock + seconds * (self.rate if self.clock > 0.0 else 1.0)
        # the clock stands still at the pause as long as it is to stay
        pause_over = self.follower.course.pause_over
        self.clock = min(clock, pause_over) if stays and self.clock <= pause_over else clock
        if self.clock > 0.0:
            self.follower.follow_course(
                float(self.follower.course.compute_distance(self.clock)), self.rate
            )

    @cached_property
    def _half(self) -> carla.Vector3D:
        """Half the length, width and height of what moves; the simulator is asked once."""
        return self.follower.actor.bounding_box.extent

    def _is_astray(self, distance: float) -> bool:
        place, _ = self.follower.course.interpolate_poses(distance)
        here = self.follower.actor.get_location()
        return math.hypot(place[0] - here.x, place[1] - here.y) > ASTRAY

    def _is_way_blocked(self, distance: float, others: Floats) -> bool:
        course = self.follower.course
        pace = float(np.interp(distance + 4.0, course.along, course.pace))
        half = self._half
        # metres ahead, as far as it takes to stop
        reach = np.arange(half.x + 0.5, half.x + 1.5 + pace**2 / 8.0, 1.0)
        ahead, _ = course.interpolate_poses(distance + reach)
        apart = np.linalg.norm(others[:, None] - ahead[None, :, :2], axis=-1)
        return bool((apart < half.y + self.room).any())
