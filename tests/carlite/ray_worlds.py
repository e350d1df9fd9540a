"""Places to shoot rays at, and Embree's view of them.

The triangles handed to Embree are built from the town and the actor table directly, by code that
shares nothing with the scene under test.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from embreex import rtcore_scene
from embreex.mesh_construction import TriangleMesh

from harness.carlite import bodies
from harness.carlite.actors import ActorKind, ActorTable
from harness.carlite.arrays import Bools, Bytes, Floats, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.towns.model import SceneryShape, Town, TownGround, TownLanes, TownScenery

MODELS = {
    "vehicle.tesla.model3": (SemanticLabel.CAR, (2.396, 1.082, 0.744)),
    "vehicle.carlamotors.firetruck": (SemanticLabel.TRUCK, (4.234, 1.446, 1.914)),
    "vehicle.mitsubishi.fusorosa": (SemanticLabel.BUS, (5.136, 1.972, 2.125)),
    "vehicle.yamaha.yzf": (SemanticLabel.MOTORCYCLE, (1.105, 0.434, 0.625)),
    "walker.pedestrian.0001": (SemanticLabel.PEDESTRIAN, (0.188, 0.188, 0.93)),
}


def no_lanes() -> TownLanes:
    """A road network without roads."""
    nothing: Any = np.zeros(0, np.int32)
    return TownLanes(**{field.name: nothing for field in fields(TownLanes)})


def ground(
    side: float = 240.0, cell: float = 1.0, hills: float = 0.0, deck: bool = False
) -> TownGround:
    """Square ground about the origin: flat, or with hills that many metres high."""
    count = int(side / cell) + 1
    at = np.arange(count) * cell - side / 2
    x, y = np.meshgrid(at, at)
    rough = np.sin(x / 17) * np.cos(y / 23) + 0.3 * np.sin(x / 5 + y / 7)
    lower = np.where(np.hypot(x, y) < 12, 0.0, hills * rough).astype(np.float32)
    upper = np.full_like(lower, np.nan)
    if deck:
        upper[(np.abs(y - 30) < 8) & (np.abs(x) < 60)] = 6.0 + hills
    label = np.where(np.abs(y) < 6, SemanticLabel.ROAD, SemanticLabel.TERRAIN).astype(np.uint8)
    return TownGround(x=-side / 2, y=-side / 2, cell=cell, lower=lower, upper=upper, label=label)


def scenery(count: int, seed: int, clear: float = 8.0, reach: float = 110.0) -> TownScenery:
    """Buildings, poles, crowns and parked cars, away from the middle."""
    rng = np.random.default_rng(seed)
    angle, radius = rng.uniform(-np.pi, np.pi, count), rng.uniform(clear + 6, reach, count)
    shape = rng.choice(
        [SceneryShape.BOX, SceneryShape.CYLINDER, SceneryShape.BODY], count, p=[0.35, 0.4, 0.25]
    )
    big = rng.random(count) < 0.3
    extent = np.where(
        (shape == SceneryShape.BOX)[:, None],
        np.where(big[:, None], rng.uniform(2, 6, (count, 3)), rng.uniform(0.1, 1, (count, 3))),
        np.array([2.396, 1.082, 0.744]),
    )
    pole = shape == SceneryShape.CYLINDER
    extent[pole] = np.stack([rng.uniform(0.08, 1.5, pole.sum())] * 3, axis=1)
    extent[pole, 2] = rng.uniform(1, 4, pole.sum())
    label = np.select(
        [shape == SceneryShape.BOX, pole],
        [SemanticLabel.BUILDING, SemanticLabel.POLE],
        SemanticLabel.CAR,
    )
    return TownScenery(
        centre=np.column_stack([radius * np.cos(angle), radius * np.sin(angle), extent[:, 2]]),
        extent=extent,
        yaw=rng.uniform(-np.pi, np.pi, count),
        shape=shape.astype(np.uint8),
        body=np.where(
            shape == SceneryShape.BODY,
            bodies.build_body_library().find_body_index("vehicle.tesla.model3"),
            -1,
        ).astype(np.int32),
        label=label.astype(np.uint8),
        solid=np.ones(count, np.bool_),
    )


def town(hills: float = 0.0, deck: bool = False, pieces: int = 300, seed: int = 1) -> Town:
    """A town without roads."""
    land = ground(hills=hills, deck=deck)
    return Town(
        name="Test",
        opendrive="",
        lanes=no_lanes(),
        ground=land,
        signals=(),
        scenery=scenery(pieces, seed),
        spawn_points=np.zeros((0, 6)),
        crosswalks=(),
    )


def crowd(count: int, seed: int, clear: float = 6.0, reach: float = 80.0) -> ActorTable:
    """Vehicles and walkers at odd angles, all about the middle."""
    rng = np.random.default_rng(seed)
    table = ActorTable()
    names = list(MODELS)
    for n in range(count):
        name = names[int(rng.choice(5, p=[0.5, 0.1, 0.1, 0.1, 0.2]))]
        label, extent = MODELS[name]
        angle, radius = rng.uniform(-np.pi, np.pi), rng.uniform(clear, reach)
        walker = label == SemanticLabel.PEDESTRIAN
        table.add_actor(
            100 + n,
            kind=ActorKind.WALKER if walker else ActorKind.VEHICLE,
            label=label,
            body=bodies.build_body_library().find_body_index(name),
            position=(radius * np.cos(angle), radius * np.sin(angle), rng.uniform(0, 0.5)),
            rotation=(rng.normal(0, 0.05), rng.uniform(-np.pi, np.pi), rng.normal(0, 0.05)),
            velocity=rng.normal(0, 5, 3),
            box_centre=(0, 0, 0 if walker else extent[2]),
            extent=extent,
        )
    return table


def parked(place: Town, count: int) -> ActorTable:
    """A crowd, each at a spawn point of a town."""
    table = crowd(count, seed=4)
    points = place.spawn_points[:: max(len(place.spawn_points) // count, 1)][:count]
    table.position[:], table.rotation[:] = points[:, :3], points[:, 3:]
    return table


def turned(rotation: Floats) -> Floats:
    """Matrix of a (pitch, yaw, roll): yaw after pitch after roll, each about its own axis."""
    pitch, yaw, roll = rotation
    about_z = [[np.cos(yaw), -np.sin(yaw), 0], [np.sin(yaw), np.cos(yaw), 0], [0, 0, 1]]
    about_y = [[np.cos(pitch), 0, -np.sin(pitch)], [0, 1, 0], [np.sin(pitch), 0, np.cos(pitch)]]
    about_x = [[1, 0, 0], [0, np.cos(roll), np.sin(roll)], [0, -np.sin(roll), np.cos(roll)]]
    return np.array(about_z) @ np.array(about_y) @ np.array(about_x)


@dataclass(kw_only=True)
class Triangles:
    """A soup of triangles, each with its actor, label and piece; `solid` ones hide their backs."""

    corners: Floats
    actor: Ints
    label: Bytes
    solid: Bools
    piece: Ints

    def seen_from(self, origin: Floats) -> Triangles:
        """Leave out the backs of solids, which rays from `origin` pass."""
        normal = np.cross(
            self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0]
        )
        front = np.einsum("ij,ij->i", normal, self.corners[:, 0] - origin) < 0
        keep = front | ~self.solid
        return Triangles(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})


BOX = np.array([[i, j, k] for i in (-1, 1) for j in (-1, 1) for k in (-1, 1)], np.float64)
BOX_TRIANGLES = np.array(
    [
        [0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1],
        [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3],
    ]
)  # fmt: skip


def _octagon() -> tuple[Floats, Ints]:
    angle = np.arange(8) * np.pi / 4
    ring = np.column_stack([np.cos(angle), np.sin(angle)])
    points = np.concatenate(
        [np.column_stack([ring, np.full(8, z)]) for z in (-1, 1)] + [[[0, 0, -1], [0, 0, 1]]]
    )
    sides = [
        t
        for i in range(8)
        for j in [(i + 1) % 8]
        for t in ([i, j, j + 8], [i, j + 8, i + 8], [16, j, i], [17, i + 8, j + 8])
    ]
    return points, np.array(sides)


def triangles_of(place: Town, table: ActorTable, about: Floats, reach: float) -> Triangles:
    """Everything a ray can hit, as triangles in the world; ground only within reach of a place."""
    parts: list[Triangles] = []

    def add(corners: Floats, actor: int, label: Bytes, solid: bool) -> None:
        count = len(corners)
        parts.append(
            Triangles(
                corners=corners,
                actor=np.full(count, actor),
                label=np.broadcast_to(label, count),
                solid=np.full(count, solid),
                piece=np.full(count, len(parts)),
            )
        )

    land = place.ground
    for layer, labels in ((land.lower, land.label), (land.upper, np.full_like(land.label, 1))):
        corners, label = _terrain(land, layer, labels, about, reach)
        add(corners, 0, label, solid=False)
    stuff = place.scenery
    for n in range(len(stuff.yaw)):
        extent = stuff.extent[n].copy()
        if stuff.shape[n] == SceneryShape.CYLINDER:
            extent[1] = extent[0]
            points, faces = _octagon()
            face_labels = np.zeros(len(faces), np.uint8)
        elif stuff.shape[n] == SceneryShape.BODY:
            points, faces, face_labels = _body(int(stuff.body[n]))
        else:
            points, faces, face_labels = BOX, BOX_TRIANGLES, np.zeros(12, np.uint8)
        matrix = turned(np.array([0, stuff.yaw[n], 0]))
        world = stuff.centre[n] + (points * extent) @ matrix.T
        add(world[faces], 0, np.where(face_labels == 0, stuff.label[n], face_labels), solid=True)
    for slot in range(len(table)):
        if table.body[slot] >= 0:
            points, faces, face_labels = _body(int(table.body[slot]))
            local = table.box_centre[slot] + points * table.extent[slot]
            world = table.position[slot] + local @ turned(table.rotation[slot]).T
            label = np.where(face_labels == 0, table.label[slot], face_labels)
            add(world[faces], int(table.id[slot]), label, solid=True)
    return Triangles(
        **{
            field.name: np.concatenate([getattr(part, field.name) for part in parts])
            for field in fields(Triangles)
        }
    )


def _body(index: int) -> tuple[Floats, Ints, Bytes]:
    library = bodies.build_body_library()
    span = slice(library.first[index], library.first[index] + library.count[index])
    triangles = library.triangles[span].astype(np.int64)
    return library.vertices.astype(np.float64), triangles, library.label[span]


def _terrain(
    land: TownGround, layer: np.ndarray, labels: Bytes, about: Floats, reach: float
) -> tuple[Floats, Bytes]:
    middle = (about[:2] - (land.x, land.y)) / land.cell
    first = np.maximum(middle - reach / land.cell - 2, 0).astype(int)
    last = np.minimum(middle + reach / land.cell + 3, layer.shape[::-1]).astype(int)
    window = (slice(first[1], last[1]), slice(first[0], last[0]))
    row, column = np.mgrid[window]
    layer, labels = layer[window], labels[window]
    point = np.stack([land.x + column * land.cell, land.y + row * land.cell, layer], axis=-1)
    a, b, c, d = point[:-1, :-1], point[:-1, 1:], point[1:, 1:], point[1:, :-1]
    halves = [np.stack(half, axis=2).reshape(-1, 3, 3) for half in ((a, b, c), (a, c, d))]
    corners = np.concatenate(halves)
    label = np.tile(labels[:-1, :-1].ravel(), 2)
    there = np.isfinite(corners).all(axis=(1, 2))
    return corners[there], label[there]


def embree_scene(triangles: Triangles) -> rtcore_scene.EmbreeScene:
    """Build Embree's tree."""
    scene = rtcore_scene.EmbreeScene()
    TriangleMesh(scene, triangles.corners.astype(np.float32))
    return scene


def embree_hits(
    scene: rtcore_scene.EmbreeScene, origin: Floats, directions: Floats
) -> tuple[Floats, Ints]:
    """Distance (inf if none) and triangle of each ray's first hit."""
    hits = scene.run(
        np.broadcast_to(origin, directions.shape).astype(np.float32),
        directions.astype(np.float32),
        output=True,
    )
    hit = hits["primID"] >= 0
    return np.where(hit, hits["tfar"], np.inf), hits["primID"]
