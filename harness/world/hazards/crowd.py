"""Where everybody is, read from the snapshot that the client holds anyway.

Asking the server for its list of actors every tick cost more than the rest of a drive together.
"""

from __future__ import annotations

import math

import carla
import numpy as np

from harness.vocabulary import Floats, Pose

SAME_PLACE = 0.6
"""Metres from where the ego is said to be within which an actor is the ego."""


class Crowd:
    """All road users of a world."""

    def __init__(self, world: carla.World) -> None:
        self._world = world
        self._half_lengths: dict[int, float | None] = {}  # None: no road user

    def places(self, without: set[int], ego: Pose | None) -> Floats:
        """Return places (N, 2) at the tail, middle and nose of everybody but some and the ego.

        Without an ego it counts as one of the others.
        """
        bodies = self._bodies(without)
        if ego is not None:
            apart = np.hypot(bodies[:, 0] - ego.x, bodies[:, 1] - ego.y)
            bodies = bodies[apart >= SAME_PLACE]
        middle, yaw, half = bodies[:, :2], bodies[:, 2], bodies[:, 3, None]
        forward = half * np.stack([np.cos(yaw), np.sin(yaw)], axis=1)
        return np.concatenate([middle - forward, middle, middle + forward])

    def _bodies(self, without: set[int]) -> Floats:
        """Return x, y, yaw and half the length of everybody but some."""
        snapshot = self._world.get_snapshot()
        here = {each.id: each for each in snapshot if each.id not in without}
        strangers = [each for each in here if each not in self._half_lengths]
        if strangers:
            self._meet(strangers)
        rows = []
        for name, each in here.items():
            half = self._half_lengths[name]
            if half is not None:
                found = each.get_transform()
                yaw = math.radians(found.rotation.yaw)
                rows.append((found.location.x, found.location.y, yaw, half))
        return np.array(rows).reshape(-1, 4)

    def _meet(self, strangers: list[int]) -> None:
        self._half_lengths.update(dict.fromkeys(strangers))
        for actor in self._world.get_actors(strangers):
            if actor.type_id.startswith(("vehicle.", "walker.")):
                self._half_lengths[actor.id] = actor.bounding_box.extent.x
