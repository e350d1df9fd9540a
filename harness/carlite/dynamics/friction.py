"""Volumes in which tyres grip as the volume says, not as their own friction does."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Int32s, Ints
from harness.carlite.compiled import allocating
from harness.carlite.dynamics.boxes import BOX, Boxes, can_boxes_touch, find_least_penetration
from harness.carlite.dynamics.collisions import build_swept_boxes
from harness.carlite.dynamics.columns import BodyColumns, take_columns
from harness.carlite.dynamics.parameters import PhysicsTable


@dataclass(frozen=True)
class FrictionVolume:
    """An upright box about its actor's place; half sizes in metres, friction on CARLA's scale."""

    extent: tuple[float, float, float]
    friction: float


class FrictionVolumes:
    """All volumes of an episode, by their actors; where they overlap, the youngest one rules.

    As in CARLA, a vehicle's control has the volume's friction from when the vehicle enters until it
    leaves; then the tyres are as they were before, whatever a client applied in between.
    """

    def __init__(self) -> None:
        self._volumes: dict[int, FrictionVolume] = {}
        self._inside: dict[int, int] = {}
        self._before: dict[int, tuple[float, ...]] = {}

    def add_volume(self, actor_id: int, volume: FrictionVolume) -> None:
        """Lay a volume out."""
        self._volumes[actor_id] = volume

    def forget_actor(self, actor_id: int) -> None:
        """Drop a destroyed volume or vehicle."""
        self._volumes.pop(actor_id, None)
        self._inside.pop(actor_id, None)
        self._before.pop(actor_id, None)

    def apply_volumes(self, table: ActorTable, slots: Ints, physics: PhysicsTable) -> None:
        """Let the vehicles in `slots` feel the volume they enter, and not the one they leave."""
        if not self._volumes and not self._inside:
            return
        ids = [*self._volumes, -1]
        touched = _find_touched_volumes(
            self._build_volume_boxes(table), _build_vehicle_boxes(table, slots)
        ).tolist()
        for actor_id, index in zip(table.id[slots].tolist(), touched, strict=True):
            if self._inside.get(actor_id, -1) != ids[index]:
                self._set_vehicle_friction(table, actor_id, ids[index], physics)

    def _set_vehicle_friction(
        self, table: ActorTable, actor_id: int, volume: int, physics: PhysicsTable
    ) -> None:
        """Give a vehicle the friction of a volume, or its own back for volume -1."""
        wheels = physics.find_control(actor_id).wheels
        self._before.setdefault(actor_id, tuple(wheel.tire_friction for wheel in wheels))
        if volume >= 0:
            self._inside[actor_id] = volume
            frictions: tuple[float, ...] = (self._volumes[volume].friction,) * len(wheels)
        else:
            del self._inside[actor_id]
            frictions = self._before.pop(actor_id)
        changed = [
            replace(wheel, tire_friction=friction)
            for wheel, friction in zip(wheels, frictions, strict=True)
        ]
        physics.set_control(
            table, actor_id, replace(physics.find_control(actor_id), wheels=tuple(changed))
        )

    def _build_volume_boxes(self, table: ActorTable) -> Boxes:
        slots = [table.find_slot(actor_id) for actor_id in self._volumes]
        extent = np.array([v.extent for v in self._volumes.values()]).reshape(-1, 3)
        boxes: Boxes = np.zeros(len(slots), BOX)
        position, yaw = table.position[slots], table.rotation[slots, 1]
        boxes["x"], boxes["y"], boxes["yaw"] = position[:, 0], position[:, 1], yaw
        boxes["half_length"], boxes["half_width"] = extent[:, 0], extent[:, 1]
        boxes["bottom"], boxes["top"] = position[:, 2] - extent[:, 2], position[:, 2] + extent[:, 2]
        boxes["reach_x"] = boxes["reach_y"] = np.hypot(extent[:, 0], extent[:, 1])
        return boxes


def _build_vehicle_boxes(table: ActorTable, slots: Ints) -> Boxes:
    boxes: Boxes = build_swept_boxes(slots, take_columns(table, BodyColumns), 0.0)
    return boxes


@allocating
def _find_touched_volumes(volumes: Boxes, vehicles: Boxes) -> Int32s:
    """Return the last volume that each vehicle touches, -1 where there is none."""
    touched = np.full(len(vehicles), -1, np.int32)
    for index in range(len(vehicles)):
        for volume in range(len(volumes)):
            if (
                can_boxes_touch(vehicles[index], volumes[volume])
                and find_least_penetration(vehicles[index], volumes[volume], 1.0)[0] > 0.0
            ):
                touched[index] = volume
    return touched
