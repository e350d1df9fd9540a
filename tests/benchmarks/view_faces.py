"""The faces that carlite's cameras see, as a program for graphics cards wants them.

Things keep their faces. The ground is a grid of heights that carlite follows ray by ray; here it is
a mesh: a rectangle for each part of the grid that is even, two triangles for each other cell.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from harness.carlite.arrays import Bools, Bytes, Floats, Int32s, Ints
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors.picture import FAR
from harness.carlite.sensors.rasterise import GROUND
from harness.carlite.sensors.relief import GroundRelief
from harness.carlite.sensors.scene import SensorScene

LARGEST_EVEN = 64
"""Cells along a side of the largest rectangle of ground."""
EVEN_WITHIN = 0.02
"""Metres between the grid and a rectangle that stands for it."""


@dataclass(frozen=True, kw_only=True)
class Faces:
    """Faces of three or four corners, seen from where their normals point.

    Attributes:
        corners: (faces, 4, 3) m in the world; a triangle's third corner is there twice.
        four: (faces,) whether there is a fourth corner.
        normal: (faces, 3) unit vectors outwards.
        thing: (faces,) number of the thing, GROUND for ground.
        label: (faces,) CARLA's tags.
    """

    corners: Floats
    four: Bools
    normal: Floats
    thing: Int32s
    label: Bytes

    def select(self, which: Ints) -> Faces:
        """Return some of the faces, in that order."""
        return Faces(**{field.name: getattr(self, field.name)[which] for field in fields(self)})

    def count_triangles(self) -> int:
        """Return how many triangles the faces are cut into."""
        return len(self.four) + int(self.four.sum())


def list_faces(scene: SensorScene) -> Faces:
    """Return all faces of a scene, those that are seen from both sides once for each side."""
    things, meshes = scene.shown, scene.meshes
    # (faces,) of all things, one thing after another: the thing, and the face among all meshes
    counts = np.diff(meshes.first_face)[things.mesh]
    thing = np.repeat(np.arange(len(counts), dtype=np.int32), counts)
    start = np.repeat(np.cumsum(counts) - counts, counts)
    index = meshes.first_face[things.mesh][thing] + np.arange(len(thing)) - start
    rows = meshes.faces[index]
    four = rows[:, 3] >= 0
    rows = np.where(four[:, None], rows, rows[:, [0, 1, 2, 2]])
    # (faces, 4, 3) from the unit box to the world
    unit = meshes.vertices[meshes.first_vertex[things.mesh][thing][:, None] + rows]
    corners = things.centre[thing][:, None] + np.einsum("fij,fkj->fki", things.matrix[thing], unit)
    label = scene.find_face_labels(thing, index)
    back = ~meshes.closed[things.mesh][thing]
    turned = np.where(four[back, None], [3, 2, 1, 0], [2, 1, 0, 0])
    corners_back = np.take_along_axis(corners[back], turned[:, :, None], axis=1)
    ground, ground_four = merge_ground(scene.relief)
    corners = np.concatenate([corners, corners_back, ground])
    return Faces(
        corners=corners,
        four=np.concatenate([four, four[back], ground_four]),
        normal=compute_normals(corners),
        thing=np.concatenate([thing, thing[back], np.full(len(ground), GROUND, np.int32)]),
        label=np.concatenate(
            [label, label[back], np.full(len(ground), SemanticLabel.TERRAIN, np.uint8)]
        ),
    )


def compute_normals(corners: Floats) -> Floats:
    """Return the unit normals of faces, (faces, 3)."""
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    unit: Floats = normal / np.maximum(np.linalg.norm(normal, axis=1), 1e-12)[:, None]
    return unit


def merge_ground(relief: GroundRelief) -> tuple[Floats, Bools]:
    """Return the ground's faces, (faces, 4, 3), and which have four corners."""
    heights = relief.heights
    rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
    taken = np.zeros((rows, columns), np.bool_)
    parts: list[Floats] = []
    side = LARGEST_EVEN
    while side >= 1:
        # the even blocks of this size of which no part is taken yet
        free = ~taken[: rows // side * side, : columns // side * side]
        free = free.reshape(rows // side, side, columns // side, side)[:, 0, :, 0]
        row, column = np.nonzero(free & find_even_blocks(heights, side))
        parts.append(_place_squares(relief, row * side, column * side, side))
        for i in range(side):
            for j in range(side):
                taken[row * side + i, column * side + j] = True
        side //= 2
    squares = np.concatenate(parts)
    # what is left is cut from corner [0, 0] to corner [1, 1], as rays find it
    row, column = np.nonzero(~taken)
    rest = _place_squares(relief, row, column, 1)
    halves = np.concatenate([rest[:, [0, 1, 2, 2]], rest[:, [0, 2, 3, 3]]])
    four = np.concatenate([np.ones(len(squares), np.bool_), np.zeros(len(halves), np.bool_)])
    return np.concatenate([squares, halves]), four


def find_even_blocks(heights: Floats, side: int) -> Bools:
    """Return which blocks of so many cells a side lie in one plane, (block rows, block columns)."""
    rows, columns = (heights.shape[0] - 1) // side, (heights.shape[1] - 1) // side

    def take(i: int, j: int) -> Floats:
        return heights[
            i : i + (rows - 1) * side + 1 : side, j : j + (columns - 1) * side + 1 : side
        ]

    if rows == 0 or columns == 0:
        return np.zeros((rows, columns), np.bool_)
    corner = take(0, 0)
    by_row, by_column = (take(side, 0) - corner) / side, (take(0, side) - corner) / side
    even = np.ones((rows, columns), np.bool_)
    for i in range(side + 1):
        for j in range(side + 1):
            even &= np.abs(take(i, j) - corner - i * by_row - j * by_column) <= EVEN_WITHIN
    return even


def _place_squares(relief: GroundRelief, row: Ints, column: Ints, side: int) -> Floats:
    """Return the corners of squares of the grid, (squares, 4, 3), their normals up."""
    i = row[:, None] + side * np.array([0, 0, 1, 1])
    j = column[:, None] + side * np.array([0, 1, 1, 0])
    x, y = relief.x + j * relief.cell, relief.y + i * relief.cell
    return np.stack([x, y, relief.heights[i, j]], axis=-1)


def select_in_view(
    faces: Faces, origin: Floats, rotation: Floats, edges: tuple[float, float]
) -> Faces:
    """Return the faces that may be in a picture, the nearest first.

    Args:
        faces: of a scene.
        origin, rotation: of the camera, whose axes are the columns.
        edges: tangents of the angles from the middle to the right and the upper edge.
    """
    # (faces, 3) middles in the camera's frame: ahead, right and up; (faces,) radii
    middle = faces.corners.mean(axis=1)
    radius = np.linalg.norm(faces.corners - middle[:, None], axis=2).max(axis=1)
    ahead, right, up = ((middle - origin) @ rotation).T
    seen = (ahead > -radius) & (ahead < FAR + radius)
    for aside, edge in ((right, edges[0]), (up, edges[1])):
        seen &= np.abs(aside) - edge * ahead < radius * np.hypot(1, edge)
    distance = np.linalg.norm(middle - origin, axis=1) - radius
    which = np.flatnonzero(seen)
    return faces.select(which[np.argsort(distance[which], kind="stable")])


def find_agreement(
    depth: Floats, thing: Ints, other_depth: Floats, other_thing: Ints, tolerance: float = 0.02
) -> float:
    """Return the share of pixels that show the same thing at the same depth.

    Depths are along the camera's axis; they are the same within a share and 5 cm. The depth of
    pixels without a surface is not compared.
    """
    near = np.abs(depth - other_depth) <= tolerance * depth + 0.05
    return float(((thing == other_thing) & (near | (thing < GROUND))).mean())
