"""What clients may ask about the town's scenery: its pieces, their boxes, what a ray meets.

Why generated scenery gives way to actors: decision 0015.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import fields, replace

import numpy as np

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Ints
from harness.carlite.dynamics.collisions import ObstacleGrid, has_solid_overlap
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.towns.marking_strips import build_town_strips
from harness.carlite.towns.model import SceneryShape, Town, TownScenery
from harness.carlite.towns.scenery_street import LIGHT_HEAD, LIGHT_HEIGHT
from harness.carlite.wire.codec import Rotation, Vector, Wide
from harness.carlite.wire.records import BoundingBox, EnvironmentObject, LabelledPoint, Transform
from harness.carlite.world.geometry import build_actor_box

ANY = 255
MOST_HITS = 64
SKY = 1000.0
NO_ACTORS = ActorTable()
HEADS_WITHIN = 4.0
SKIN = 0.01
"""Metres by which a ray goes on behind a surface it has met."""


class SceneryState:
    """A town's scenery, of which pieces can be hidden, and the scene sensors see.

    A piece is known by its index plus one: clients take 0 for nothing. Pieces that are made up
    give way to an actor that needs their place, and come back when it is gone.
    """

    def __init__(self, town: Town, table: ActorTable, light_states: Bytes | None = None) -> None:
        self._town = town
        self._light_states = light_states
        self._table = table
        self._shown = np.ones(len(town.scenery.label), np.bool_)
        self._given_way = np.zeros(len(town.scenery.label), np.int64)
        self._scene: SensorScene | None = None

    @property
    def scene(self) -> SensorScene:
        """The scene, prepared when it is first needed."""
        if self._scene is None:
            town = replace(self._town, scenery=self.scenery)
            self._scene = SensorScene(town, self._table, self._light_states, build_town_strips)
        return self._scene

    @property
    def scenery(self) -> TownScenery:
        """What is not hidden."""
        whole = self._town.scenery
        return whole if self._visible.all() else _select_pieces(whole, self._visible)

    @property
    def _visible(self) -> Bools:
        return np.asarray(self._shown & (self._given_way == 0), np.bool_)

    def show_pieces(self, ids: Iterable[int], visible: bool) -> None:
        """Show or hide pieces; ids that are none are skipped."""
        for number in ids:
            if 1 <= number <= len(self._shown):
                self._shown[number - 1] = visible
        self._scene = None

    def give_way(self, pieces: Ints) -> None:
        """Let pieces, by index, give way to an actor; several actors may need the same place."""
        self._given_way[pieces] += 1
        self._scene = None

    def restore_pieces(self, pieces: Ints) -> None:
        """Let pieces come back that gave way to one actor, once no other one needs their place."""
        self._given_way[pieces] -= 1
        self._scene = None

    def select_given_way(self, pieces: Ints) -> Ints:
        """Return those of some pieces that have given way to an actor."""
        return pieces[self._given_way[pieces] > 0]

    def find_pieces_in_box(self, centre: Vector, extent: Vector, yaw: float) -> Ints:
        """Return the pieces, by index, in, above or below a box, those included that gave way."""
        whole = self._town.scenery
        # (pieces,) those whose circle the box's circle touches
        reach = np.hypot(*extent[:2]) + np.hypot(whole.extent[:, 0], whole.extent[:, 1])
        away = np.hypot(whole.centre[:, 0] - centre[0], whole.centre[:, 1] - centre[1])
        column = (*extent[:2], SKY)
        near = np.flatnonzero(self._shown & (away < reach))
        # then rectangles, whatever their height
        inside = [
            has_solid_overlap(
                NO_ACTORS,
                ObstacleGrid(_make_solid(_select_pieces(whole, [piece]))),
                centre=centre,
                extent=column,
                yaw=yaw,
            )
            for piece in near
        ]
        return near[np.array(inside, np.bool_)]

    def list_objects(self, label: int) -> list[EnvironmentObject]:
        """Return all pieces with a label."""
        return [self._build_object(int(i)) for i in self._find_labelled_pieces(label)]

    def list_boxes(self, label: int) -> list[BoundingBox]:
        """Return the boxes, in the world, of all pieces and actors with a label."""
        visible = self._visible
        pieces = [self._build_box(int(i)) for i in self._find_labelled_pieces(label) if visible[i]]
        table = self._table
        touchable = table.extent[:, 0] > 0.0
        wanted = touchable & ((table.label == label) | (label == ANY))
        return pieces + [build_actor_box(table, int(slot)) for slot in np.flatnonzero(wanted)]

    def list_light_boxes(self, place: Floats, yaw: float) -> list[BoundingBox]:
        """Return the boxes of the light heads that hang near a traffic light's place.

        Where there was no room for a pole, the box is where its head would have been.
        """
        scenery = self._town.scenery
        away = np.hypot(*(scenery.centre[:, :2] - place[:2]).T)
        heads = (scenery.label == SemanticLabel.TRAFFIC_LIGHT) & (away < HEADS_WITHIN)
        boxes = [self._build_box(int(i)) for i in np.flatnonzero(heads)]
        if boxes:
            return boxes
        x, y, z = place.tolist()
        middle = z + LIGHT_HEIGHT - LIGHT_HEAD[2]
        return [BoundingBox((x, y, middle), LIGHT_HEAD, Rotation((0.0, yaw, 0.0)))]

    def list_names(self) -> list[str]:
        """Return the names of all pieces."""
        return [self._format_name(i) for i in range(len(self._shown))]

    def find_first_hit(
        self, start: Floats, direction: Floats, reach: float
    ) -> tuple[float, LabelledPoint] | None:
        """Return how far a ray gets and the surface it meets, or None."""
        distance, _, label = self.scene.find_first_hit(start[None], direction[None], reach)
        if not math.isfinite(distance[0]):
            return None
        x, y, z = (start + direction * distance[0]).tolist()
        return float(distance[0]), LabelledPoint((x, y, z), int(label[0]))

    def find_first_surface(
        self, start: Vector, direction: Vector, reach: float
    ) -> LabelledPoint | None:
        """Return the first surface along a ray, or None."""
        length = math.sqrt(sum(part * part for part in direction))
        if not length:
            return None
        self.scene.refresh_actors()
        hit = self.find_first_hit(np.array(start), np.array(direction) / length, reach)
        return hit[1] if hit else None

    def find_all_surfaces(self, start: Vector, end: Vector) -> list[LabelledPoint]:
        """Return all surfaces between two places, nearest first."""
        way = np.array(end) - start
        length = float(np.sqrt(way @ way))
        if not length:
            return []
        self.scene.refresh_actors()
        direction, gone, hits = way / length, 0.0, list[LabelledPoint]()
        # from hit to hit, each time from just behind the last one
        while gone < length and len(hits) < MOST_HITS:
            hit = self.find_first_hit(start + direction * gone, direction, length - gone)
            if hit is None:
                break
            gone += hit[0] + SKIN
            hits.append(hit[1])
        return hits

    def _find_labelled_pieces(self, label: int) -> np.ndarray[tuple[int], np.dtype[np.intp]]:
        labels = self._town.scenery.label
        return np.flatnonzero((labels == label) | (label == ANY))

    def _format_name(self, index: int) -> str:
        label = SemanticLabel(int(self._town.scenery.label[index]))
        return f"{label.name.title().replace('_', '')}_{index + 1}"

    def _build_box(self, index: int) -> BoundingBox:
        scenery = self._town.scenery
        x, y, z = scenery.centre[index].tolist()
        long, wide, high = scenery.extent[index].tolist()
        if scenery.shape[index] == SceneryShape.CYLINDER:
            wide = long
        turned = Rotation((0.0, float(scenery.yaw[index]), 0.0))
        return BoundingBox((x, y, z), (long, wide, high), turned)

    def _build_object(self, index: int) -> EnvironmentObject:
        box = self._build_box(index)
        pose = Transform(box.location, box.rotation)
        label = int(self._town.scenery.label[index])
        return EnvironmentObject(
            transform=pose,
            bounding_box=box,
            id=Wide(index + 1),
            name=self._format_name(index),
            label=label,
        )


def _select_pieces(scenery: TownScenery, which: object) -> TownScenery:
    """Return some pieces of a scenery."""
    return TownScenery(
        **{one.name: getattr(scenery, one.name)[which] for one in fields(TownScenery)}
    )


def _make_solid(scenery: TownScenery) -> TownScenery:
    """Return a scenery one cannot pass through anywhere."""
    return replace(scenery, solid=np.ones_like(scenery.solid))
