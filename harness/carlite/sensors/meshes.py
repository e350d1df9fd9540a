"""What surfaces are made of: convex faces of three or four corners, each mesh in its unit box.

Boxes, prisms, bodies and decks all come down to the same arrays, so that one compiled loop draws
them all. Corners of a face run so that its algebraic normal points outwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bools, Bytes, Float32s, Floats, Int32s
from harness.carlite.labels import Label

PRISM_SIDES = 8
COPLANAR = 1e-5


@dataclass(frozen=True)
class Mesh:
    """One surface: corner `faces[f, 3]` is -1 where face `f` is a triangle.

    A closed mesh is seen from outside only, an open one (a deck) from both sides. Faces labelled
    `Label.NONE` take the label of the object they belong to.
    """

    vertices: Floats
    faces: Int32s
    labels: Bytes
    closed: bool = True


class Meshes(NamedTuple):
    """Many meshes, flattened; mesh `m` owns vertices `first_vertex[m] : first_vertex[m + 1]`.

    Attributes:
        vertices: (V, 3) scaled so that each mesh spans [-1, 1] along every axis.
        faces: (F, 4) corners, counted from the mesh's first vertex.
        labels: (F,) of each face.
        first_vertex, first_face: (M + 1,).
        closed: (M,).
    """

    vertices: Floats
    faces: Int32s
    labels: Bytes
    first_vertex: Int32s
    first_face: Int32s
    closed: Bools


def flatten(meshes: Sequence[Mesh]) -> Meshes:
    """Lay meshes end to end, each scaled to the unit box."""
    return Meshes(
        vertices=np.concatenate([in_unit_box(mesh.vertices) for mesh in meshes]),
        faces=np.concatenate([mesh.faces for mesh in meshes]),
        labels=np.concatenate([mesh.labels for mesh in meshes]),
        first_vertex=_starts(len(mesh.vertices) for mesh in meshes),
        first_face=_starts(len(mesh.faces) for mesh in meshes),
        closed=np.array([mesh.closed for mesh in meshes]),
    )


def _starts(counts: Iterable[int]) -> Int32s:
    return np.cumsum([0, *counts], dtype=np.int32)


def in_unit_box(vertices: Floats) -> Floats:
    """Scale and shift vertices so that they touch all six faces of [-1, 1]³."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    half = np.maximum((high - low) / 2, 1e-9)
    scaled: Floats = (vertices - (low + high) / 2) / half
    return scaled


def cube() -> Mesh:
    """Return the box [-1, 1]³ as six quads."""
    return prism(4, turn=0.5)


def prism(sides: int = PRISM_SIDES, turn: float = 0.0) -> Mesh:
    """Return an upright prism over a regular polygon of evenly many sides, its caps cut into quads.

    `turn` is the angle of the first corner, in parts of one side. With eight sides and no turn
    corners lie on the axes, so the unit box and the circle round the polygon touch.
    """
    angles = (np.arange(sides) + turn) * 2 * np.pi / sides
    ring = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    vertices = np.concatenate(
        [np.column_stack([ring, np.full(sides, -1.0)]), np.column_stack([ring, np.ones(sides)])]
    )
    walls = [(i, (i + 1) % sides, (i + 1) % sides + sides, i + sides) for i in range(sides)]
    bottom = [(0, i + 2, i + 1, i) for i in range(1, sides - 1, 2)]
    top = [(sides, sides + i, sides + i + 1, sides + i + 2) for i in range(1, sides - 1, 2)]
    faces = np.array([*walls, *top, *bottom], dtype=np.int32)
    return Mesh(in_unit_box(vertices), faces, np.zeros(len(faces), np.uint8))


def from_triangles(vertices: Floats, triangles: Int32s, labels: Bytes) -> Mesh:
    """Turn a closed triangle mesh into a mesh, outward normals and pairs joined to quads."""
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    outward = triangles if volume >= 0 else triangles[:, ::-1]
    faces, face_labels = _pair_up(vertices, outward, labels)
    return Mesh(vertices.astype(np.float64), faces, face_labels)


def _pair_up(vertices: Floats, triangles: Int32s, labels: Bytes) -> tuple[Int32s, Bytes]:
    """Join triangles that share an edge, a plane and a label to convex quads, greedily."""
    owner: dict[tuple[int, int], tuple[int, int]] = {}
    for index, triangle in enumerate(triangles.tolist()):
        for k in range(3):
            owner[triangle[k], triangle[(k + 1) % 3]] = (index, triangle[(k + 2) % 3])
    taken = np.zeros(len(triangles), np.bool_)
    faces, kept = [], []
    for index, triangle in enumerate(triangles.tolist()):
        if taken[index]:
            continue
        taken[index] = True
        kept.append(labels[index])
        for k in range(3):
            a, b, c = (triangle[(k + n) % 3] for n in range(3))
            other, far = owner.get((b, a), (index, -1))
            quad = (a, far, b, c)
            same = not taken[other] and labels[other] == labels[index]
            if same and _is_flat_and_convex(vertices[list(quad)]):
                taken[other] = True
                faces.append(quad)
                break
        else:
            faces.append((*triangle, -1))
    return np.array(faces, dtype=np.int32), np.array(kept, dtype=np.uint8)


def _is_flat_and_convex(quad: Floats) -> bool:
    edges = np.roll(quad, -1, axis=0) - quad
    turns = np.cross(edges, np.roll(edges, -1, axis=0))
    normal = turns.sum(axis=0)
    size = float(np.linalg.norm(normal))
    if size < 1e-12:
        return False
    normal /= size
    lifted = np.abs((quad - quad[0]) @ normal).max()
    return bool(lifted < COPLANAR * np.sqrt(size) and (turns @ normal).min() > 1e-9)


def decks(upper: Float32s, x: float, y: float, cell: float, patch: int = 8) -> list[Mesh]:
    """Cut the upper ground layer into open meshes in world coordinates, `patch` cells a side."""
    present = np.isfinite(upper)
    whole = present[:-1, :-1] & present[1:, :-1] & present[:-1, 1:] & present[1:, 1:]
    meshes = []
    rows, columns = whole.shape
    for row in range(0, rows, patch):
        for column in range(0, columns, patch):
            cells = np.argwhere(whole[row : row + patch, column : column + patch])
            if len(cells):
                meshes.append(_deck(upper, np.add(cells, (row, column)), x, y, cell))
    return meshes


def _deck(upper: Float32s, cells: Int32s, x: float, y: float, cell: float) -> Mesh:
    """Two triangles per cell, split along the same diagonal as the ground beneath."""
    corners = np.stack([np.add(cells, step) for step in ((0, 0), (0, 1), (1, 1), (1, 0))], axis=1)
    points, index = np.unique(corners.reshape(-1, 2), axis=0, return_inverse=True)
    quads = index.reshape(-1, 4).astype(np.int32)
    faces = np.full((len(quads) * 2, 4), -1, np.int32)
    faces[0::2, :3] = quads[:, [0, 1, 2]]
    faces[1::2, :3] = quads[:, [0, 2, 3]]
    heights = upper[points[:, 0], points[:, 1]]
    vertices = np.column_stack([x + points[:, 1] * cell, y + points[:, 0] * cell, heights])
    labels = np.full(len(faces), Label.ROAD, np.uint8)
    return Mesh(vertices.astype(np.float64), faces, labels, closed=False)
