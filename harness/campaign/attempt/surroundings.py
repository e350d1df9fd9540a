"""What pictures need beyond planning steps: where everyone near was at every tick, and the scenery.

Positions are kept in whole millimetres and angles in whole tenths of a milliradian, by actor and
then by tick: consecutive values differ little, which Parquet's delta encoding makes use of.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import carla
import numpy as np

from harness.records.schema import ACTORS, POSITION_UNIT, SCENERY, SIGHTINGS, TRACKS, YAW_UNIT
from harness.types.geometry import wrap_angle
from harness.types.vocabulary import CLASSES, Floats, Integers, Route
from harness.world.scene import ActorRegistry, GroundTruthScene

REACH = 80.0
"""Metres from the ego within which road users are kept, and from the route for scenery."""
LABELS = {
    "building": ("Buildings",),
    "wall": ("Walls", "Fences", "GuardRail"),
    "bridge": ("Bridge",),
    "vegetation": ("Vegetation",),
    "vehicle": ("Car", "Truck", "Bus", "Motorcycle", "Bicycle"),
    "object": ("Static", "Dynamic", "Other"),
}
"""CARLA's labels of the scenery that is kept, by the name in the records. Ground is not."""
PLACE = [0, 1, 2, 6]
"""x, y, z and yaw among the columns of a box."""
UNITS = np.array([POSITION_UNIT, POSITION_UNIT, POSITION_UNIT, YAW_UNIT])


class TrackRecorder:
    """The boxes of the ego and of all road users within reach of it, tick by tick."""

    def __init__(self, ego_id: int, first_frame: int, registry: ActorRegistry) -> None:
        self._ego_id = ego_id
        self._first_frame = first_frame
        self._registry = registry
        self._frames: list[Integers] = []
        self._ids: list[Integers] = []
        self._places: list[Floats] = []

    def add_tick(self, frame: int, scene: GroundTruthScene) -> None:
        """Add one tick."""
        geometry, ids = scene.boxes_in_world.geometry, scene.actor_ids
        (ego,) = geometry[ids == self._ego_id, :2]
        near = np.hypot(*(geometry[:, :2] - ego).T) <= REACH
        self._ids.append(ids[near])
        self._places.append(geometry[near][:, PLACE])
        self._frames.append(np.full(int(near.sum()), frame - self._first_frame))

    def build_tables(self) -> dict[str, dict[str, Any]]:
        """Return the tables `tracks` and `actors`."""
        ids, frames = np.concatenate(self._ids), np.concatenate(self._frames)
        order = np.lexsort((frames, ids))
        places = np.concatenate(self._places)[order]
        columns = np.rint(places / UNITS).astype(np.int64).T
        values = (ids[order] - self._ego_id, frames[order], *columns)
        tracks = dict(zip(TRACKS.names, values, strict=True))
        return {"tracks": tracks, "actors": self._build_actors(np.unique(ids))}

    def _build_actors(self, ids: Integers) -> dict[str, Any]:
        figures = [self._registry.figures[int(actor_id)] for actor_id in ids]
        sizes = np.array([figure.size for figure in figures]).reshape(-1, 3)
        classes = [CLASSES[figure.kind] for figure in figures]
        types = [figure.type_id for figure in figures]
        return dict(zip(ACTORS.names, (ids - self._ego_id, classes, types, *sizes.T), strict=True))


class LidarSightings:
    """Which road users each LiDAR hit at each planning step, and how often."""

    def __init__(self, ego_id: int, first_frame: int, more: Sequence[str] = ()) -> None:
        self._ego_id = ego_id
        self._first_frame = first_frame
        self._names = (*SIGHTINGS.names, *more)
        self._columns: dict[str, list[Any]] = {name: [] for name in self._names}

    def add_sighting(
        self,
        frame: int,
        sender: str,
        ids: Integers,
        *,
        hits: Integers,
        after: Integers | None = None,
    ) -> None:
        """Add how often one LiDAR hit each of some road users, and what was left after sensing."""
        seen = hits > 0
        count = int(seen.sum())
        columns: tuple[Iterable[Any], ...] = (
            [frame - self._first_frame] * count,
            [sender] * count,
            ids[seen] - self._ego_id,
            hits[seen],
            *([] if after is None else [after[seen]]),
        )
        for name, values in zip(self._names, columns, strict=True):
            self._columns[name].extend(values)

    def build_table(self) -> dict[str, list[Any]]:
        """Return the table `sightings`."""
        return self._columns


def list_scenery_near_route(world: carla.World, route: Route) -> dict[str, list[Any]]:
    """Return the table `scenery`: the level's boxes near a route.

    Args:
        world: of the attempt.
        route: as it was laid.

    Returns:
        Columns of the table, one list for each.
    """
    columns: dict[str, list[Any]] = {name: [] for name in SCENERY.names}
    way = route.xyz[::5, :2]
    for kind, labels in LABELS.items():
        for label in labels:
            for piece in world.get_environment_objects(getattr(carla.CityObjectLabel, label)):
                box = piece.bounding_box
                place, half = box.location, box.extent
                # metres from every fifth point of the route to the edge of the box, at least
                gap = np.hypot(*(way - (place.x, place.y)).T).min() - math.hypot(half.x, half.y)
                if gap <= REACH:
                    size = (2 * half.x, 2 * half.y, 2 * half.z)
                    yaw = wrap_angle(math.radians(box.rotation.yaw))
                    row = (kind, place.x, place.y, place.z, *size, yaw)
                    for name, value in zip(SCENERY.names, row, strict=True):
                        columns[name].append(value)
    return columns
