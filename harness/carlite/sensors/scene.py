"""What sensors can see of a town and its actors, prepared once and brought up to date per frame."""

from __future__ import annotations

from collections.abc import Hashable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from harness.carlite import bodies
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors import casting, meshes, relief, things
from harness.carlite.sensors.daylight import Daylight, prepare_daylight
from harness.carlite.sensors.decks import build_deck_meshes
from harness.carlite.sensors.ground_look import (
    GroundLook,
    prepare_ground_look,
    prepare_ground_shine,
)
from harness.carlite.sensors.lamplight import LampLight, prepare_lamp_light, shine_head_lamps
from harness.carlite.sensors.lamps import HEAD, find_light_heads, list_vehicle_codes
from harness.carlite.sensors.markings import (
    GroundMarkings,
    StripsBuilder,
    build_no_strips,
    prepare_markings,
)
from harness.carlite.sensors.meshes import SurfaceMesh
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.scan import RayScan
from harness.carlite.sensors.shadows import (
    ShadowMap,
    prepare_shadows,
    remove_actor_shadows,
    render_actor_shadows,
)
from harness.carlite.sensors.weather import SceneWeather, make_scene_weather
from harness.carlite.towns.model import SceneryShape, Town, TownScenery, cache_latest_town

OFF = 3
CUBE, CYLINDER, FIRST_BODY = 0, 1, 2


relief_of = cache_latest_town(relief.prepare_relief)
ground_look_of = cache_latest_town(prepare_ground_look)


@lru_cache(maxsize=1)
def build_common_meshes() -> tuple[SurfaceMesh, ...]:
    """Return the meshes that do not depend on the town: box, cylinder, and all bodies."""
    library = bodies.build_body_library()
    all_meshes = [meshes.make_cube(), meshes.make_prism()]
    for n in range(len(library.names)):
        start = library.vertex_first[n]
        vertices = library.vertices[start : start + library.vertex_count[n]].astype(np.float64)
        part = slice(library.first[n], library.first[n] + library.count[n])
        all_meshes.append(
            meshes.from_triangles(vertices, library.triangles[part] - start, library.label[part])
        )
    return tuple(all_meshes)


class SceneLight(NamedTuple):
    """Light in a scene: the weather's, where it does not get to, and that of lamps.

    `shine` is how squarely it falls on the ground, see `prepare_ground_shine`.
    """

    daylight: Daylight
    shadows: ShadowMap
    shine: Float32s
    lamps: LampLight


class SensorScene:
    """Ground, scenery and actors, as rays and cameras find them.

    Attributes:
        town: where it all stands.
        meshes: every surface, each in its unit box.
        relief: the ground.
        things: the placed meshes; scenery first, then actors as of the last refresh.
        shown: the same as cameras see them: at the poses of the snapshot (decision 0115).
        scans: what LiDARs have found since then, by pattern and place.
        weather: that pictures show.
    """

    def __init__(
        self,
        town: Town,
        table: ActorTable,
        light_states: Bytes | None = None,
        build_strips: StripsBuilder = build_no_strips,
    ) -> None:
        """Prepare a scene.

        Args:
            town: where it all stands.
            table: the actors.
            light_states: (lights,) of the town's traffic lights, kept up to date by their owner;
                all are off where there are none.
            build_strips: what is painted on the roads, from the town's file and signals.
        """
        self.town = town
        deck = build_deck_meshes(town.ground)
        self.meshes = meshes.pack_meshes([*build_common_meshes(), *deck])
        self.relief = relief_of(town.ground)
        self.table = table
        self._standing = things.join_things(
            _place_scenery(town.scenery), _place_decks(deck, len(self.meshes.closed) - len(deck))
        )
        self.things = self._shown = self._standing
        self._is_shown = False
        self.scans: dict[Hashable, RayScan] = {}
        self.weather = SceneWeather()
        self._weather_source: object = None
        self._light: SceneLight | None = None
        self._has_actors_light = False
        self._slots = np.zeros(0, np.int64)
        self._frame: int | None = None
        self._light_states = light_states
        self._build_strips = build_strips
        self._heads, self._light_of_head, self._head_facing = find_light_heads(town)

    @property
    def markings(self) -> GroundMarkings:
        """What is painted on the roads, prepared when it is first needed."""
        return prepare_markings(self._build_strips, self.town.opendrive, self.town.signals)

    def refresh_actors(self, frame: int | None = None) -> None:
        """Take over the actors' poses, unless that was done for this frame; None is always."""
        if frame is not None and frame == self._frame:
            return
        self._frame = frame
        self._has_actors_light = self._is_shown = False
        self.scans.clear()
        # (actors,) rows of the table, by id: their order decides ties
        slots = np.flatnonzero(self.table.body >= 0)
        slots = slots[np.argsort(self.table.id[slots], kind="stable")].astype(np.int64)
        # things are scenery, then actors
        standing = len(self._standing.mesh)
        if len(self.things.mesh) != standing + len(slots):
            self.things = things.join_things(self._standing, things.make_empty_things(len(slots)))
        which = self.table.body[slots] + FIRST_BODY
        self._slots = slots
        things.write_actor_things(
            self.things, standing, table=self.table, slots=slots, meshes=which
        )

    @property
    def shown(self) -> things.PlacedThings:
        """The placed meshes for cameras, brought up to date when a frame's first one asks."""
        if not self._is_shown:
            standing, slots = len(self._standing.mesh), self._slots
            if len(self._shown.mesh) != standing + len(slots):
                actors = things.make_empty_things(len(slots))
                self._shown = things.join_things(self._standing, actors)
            which = self.table.body[slots] + FIRST_BODY
            things.write_shown_things(
                self._shown, standing, table=self.table, slots=slots, meshes=which
            )
            self._is_shown = True
        return self._shown

    def take_weather(self, numbers: object) -> None:
        """Take over the weather of an object with CARLA's numbers, unless it was the last one."""
        if numbers is not self._weather_source:
            self._weather_source = numbers
            self.weather = make_scene_weather(vars(numbers))

    def find_light(self) -> SceneLight:
        """Return the light of the present weather, with the shadows and lamps of the actors."""
        daylight = prepare_daylight(self.weather)
        standing, light = len(self._standing.mesh), self._light
        if light is None:
            lamps = prepare_lamp_light(self._standing, self._bounds)
            shadows = prepare_shadows(self._standing, self.meshes, daylight.key, self._bounds)
            shine = prepare_ground_shine(self.ground_look, daylight.key)
            light = SceneLight(daylight, shadows, shine, lamps)
        elif daylight is not light.daylight:
            shadows, shine = light.shadows, light.shine
            if not np.array_equal(daylight.key, light.daylight.key):
                shadows = prepare_shadows(self._standing, self.meshes, daylight.key, self._bounds)
                shine = prepare_ground_shine(self.ground_look, daylight.key)
            light = SceneLight(daylight, shadows, shine, light.lamps)
        elif self._has_actors_light:
            return light
        remove_actor_shadows(light.shadows)
        render_actor_shadows(light.shadows, self.shown, self.meshes, standing)
        if daylight.dark > 0:
            shine_head_lamps(light.lamps, self.table, self._slots)
        self._light, self._has_actors_light = light, True
        return light

    @property
    def ground_look(self) -> GroundLook:
        """What the ground looks like, prepared when it is first needed."""
        return ground_look_of(self.relief)

    @property
    def _bounds(self) -> tuple[float, float, float, float]:
        """The least x and y and the greatest x and y of the ground, m."""
        rows, columns = self.relief.labels.shape
        x, y, cell = self.relief.x, self.relief.y, self.relief.cell
        return x, y, x + (columns - 1) * cell, y + (rows - 1) * cell

    def list_lamp_codes(self) -> tuple[Ints, Floats]:
        """Return the lamp code of each thing, and where the lenses of heads look, (things, 2)."""
        codes = np.zeros(len(self.things.mesh), np.int64)
        facing = np.zeros((len(codes), 2))
        codes[self._heads] = HEAD + OFF
        if self._light_states is not None:
            codes[self._heads] = HEAD + self._light_states[self._light_of_head]
        facing[self._heads] = self._head_facing
        codes[len(self._standing.mesh) :] = list_vehicle_codes(self.table, self._slots)
        return codes, facing

    def find_first_hit(
        self, origins: Floats, directions: Floats, reach: float, ignore: int = 0
    ) -> tuple[Floats, Ints, Bytes]:
        """Cast single rays: distance (inf if nothing), actor id (0 for the town), label.

        `directions` are unit vectors. The actor `ignore` is seen through.
        """
        # (things,) seen through
        hidden = (self.things.actor == ignore) & (ignore != 0)
        distance, thing, face = casting.cast_single_rays(
            self.things, self.meshes, self.relief,
            np.ascontiguousarray(origins, np.float64),
            np.ascontiguousarray(directions, np.float64),
            reach, hidden,
        )  # fmt: skip
        # (rays,) what was hit: a thing, the ground, or nothing
        actor, label = np.zeros(len(thing), np.int64), np.zeros(len(thing), np.uint8)
        on_thing, ground = thing >= 0, thing == GROUND
        actor[on_thing] = self.things.actor[thing[on_thing]]
        label[on_thing] = self.find_face_labels(thing[on_thing], face[on_thing])
        label[ground] = self._find_ground_labels(
            origins[ground] + directions[ground] * distance[ground, None]
        )
        return distance, actor, label

    def find_face_labels(self, thing: Int32s, face: Int32s) -> Bytes:
        """Labels of faces of things."""
        label = self.meshes.labels[face]
        return np.where(label == SemanticLabel.NONE, self.things.label[thing], label).astype(
            np.uint8
        )

    def _find_ground_labels(self, points: Floats) -> Bytes:
        rows, columns = self.relief.labels.shape
        row = np.rint((points[:, 1] - self.relief.y) / self.relief.cell).astype(np.int64)
        column = np.rint((points[:, 0] - self.relief.x) / self.relief.cell).astype(np.int64)
        labels: Bytes = self.relief.labels[row.clip(0, rows - 1), column.clip(0, columns - 1)]
        return labels


def _place_scenery(scenery: TownScenery) -> things.PlacedThings:
    # (pieces,) the mesh of each shape
    mesh = np.select(
        [scenery.shape == SceneryShape.BOX, scenery.shape == SceneryShape.CYLINDER],
        [CUBE, CYLINDER],
        scenery.body + FIRST_BODY,
    )
    # a cylinder's radius is its first extent
    extent = scenery.extent.copy()
    cylinder = scenery.shape == SceneryShape.CYLINDER
    extent[cylinder, 1] = extent[cylinder, 0]
    # (pieces, 3) pitch, yaw, roll
    upright = np.zeros(len(mesh))
    rotation = np.column_stack([upright, scenery.yaw, upright])
    actor = np.zeros(len(mesh), np.int64)
    return things.place_things(
        mesh.astype(np.int32),
        centre=scenery.centre,
        extent=extent,
        rotation=rotation,
        label=scenery.label,
        actor=actor,
    )


def _place_decks(deck: list[SurfaceMesh], first_mesh: int) -> things.PlacedThings:
    count = len(deck)
    low = np.array([mesh.vertices.min(axis=0) for mesh in deck]).reshape(count, 3)
    high = np.array([mesh.vertices.max(axis=0) for mesh in deck]).reshape(count, 3)
    return things.place_things(
        np.arange(first_mesh, first_mesh + count, dtype=np.int32),
        centre=(low + high) / 2,
        extent=np.maximum((high - low) / 2, 1e-9),
        rotation=np.zeros((count, 3)),
        label=np.full(count, SemanticLabel.ROAD, np.uint8),
        actor=np.zeros(count, np.int64),
    )
