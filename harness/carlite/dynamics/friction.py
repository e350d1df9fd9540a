"""Volumes in which tyres grip as the volume says, not as their own friction does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Int32s, Ints
from harness.carlite.compiled import compiled
from harness.carlite.dynamics.boxes import BOX, Boxes, near, separate
from harness.carlite.dynamics.collisions import boxes_of
from harness.carlite.dynamics.parameters import Physics


@dataclass(frozen=True)
class Volume:
    """An upright box about its actor's place; half sizes in metres, friction on CARLA's scale."""

    extent: tuple[float, float, float]
    friction: float


class FrictionVolumes:
    """All volumes of an episode, by their actors; where they overlap, the youngest one rules."""

    def __init__(self) -> None:
        self._volumes: dict[int, Volume] = {}
        self._inside: set[int] = set()

    def add(self, actor_id: int, volume: Volume) -> None:
        """Lay a volume out."""
        self._volumes[actor_id] = volume

    def forget(self, actor_id: int) -> None:
        """Drop a destroyed volume or vehicle."""
        self._volumes.pop(actor_id, None)
        self._inside.discard(actor_id)

    def step(self, table: ActorTable, slots: Ints, physics: Physics) -> None:
        """Let the vehicles in `slots` feel the volumes they touch, and no others any more."""
        if not self._volumes and not self._inside:
            return
        volumes = list(self._volumes.values())
        touched = _touched(self._boxes(table), _vehicle_boxes(table, slots)).tolist()
        for actor_id, volume in zip(table.id[slots].tolist(), touched, strict=True):
            if volume >= 0:
                self._inside.add(actor_id)
                physics.override_friction(table, actor_id, volumes[volume].friction)
            elif actor_id in self._inside:
                self._inside.remove(actor_id)
                physics.override_friction(table, actor_id, None)

    def _boxes(self, table: ActorTable) -> Boxes:
        slots = [table.slot(actor_id) for actor_id in self._volumes]
        extent = np.array([v.extent for v in self._volumes.values()]).reshape(-1, 3)
        boxes: Boxes = np.zeros(len(slots), BOX)
        position, yaw = table.position[slots], table.rotation[slots, 1]
        boxes["x"], boxes["y"], boxes["yaw"] = position[:, 0], position[:, 1], yaw
        boxes["half_length"], boxes["half_width"] = extent[:, 0], extent[:, 1]
        boxes["bottom"], boxes["top"] = position[:, 2] - extent[:, 2], position[:, 2] + extent[:, 2]
        boxes["reach_x"] = boxes["reach_y"] = np.hypot(extent[:, 0], extent[:, 1])
        return boxes


def _vehicle_boxes(table: ActorTable, slots: Ints) -> Boxes:
    boxes: Boxes = boxes_of(
        slots, table.kind, table.simulated, table.position, table.rotation, table.velocity,
        table.yaw_rate, table.box_centre, table.extent, table.mirrors, table.mass, 0.0,
    )  # fmt: skip
    return boxes


@compiled
def _touched(volumes: Boxes, vehicles: Boxes) -> Int32s:
    """Return the last volume that each vehicle touches, -1 where there is none."""
    touched = np.full(len(vehicles), -1, np.int32)
    for index in range(len(vehicles)):
        for volume in range(len(volumes)):
            if (
                near(vehicles[index], volumes[volume])
                and separate(vehicles[index], volumes[volume], 1.0)[0] > 0.0
            ):
                touched[index] = volume
    return touched
