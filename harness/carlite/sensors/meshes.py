"""What surfaces are made of: convex faces of three or four corners, each mesh in its unit box.

Boxes, prisms, bodies and decks all come down to the same arrays, so that one compiled loop draws
them all. Corners of a face run so that its algebraic normal points outwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from harness.carlite.arrays import Bools, Bytes, Floats, Int32s
from harness.carlite.compiled import allocating, compiled

PRISM_SIDES = 8
COPLANAR = 1e-5


@dataclass(frozen=True)
class SurfaceMesh:
    """One surface: corner `faces[f, 3]` is -1 where face `f` is a triangle.

    A closed mesh is seen from outside only, an open one (a deck) from both sides. Faces labelled
    0 (`Label.NONE`) take the label of the object they belong to.

    Attributes:
        vertices: (vertices, 3).
        faces: (faces, 4) rows of `vertices`.
        labels: (faces,) CARLA's tags.
        closed: whether back faces are never seen.
    """

    vertices: Floats
    faces: Int32s
    labels: Bytes
    closed: bool = True


class PackedMeshes(NamedTuple):
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


def pack_meshes(meshes: Sequence[SurfaceMesh]) -> PackedMeshes:
    """Lay meshes end to end, each scaled to the unit box."""
    return PackedMeshes(
        vertices=np.concatenate([scale_to_unit_box(mesh.vertices) for mesh in meshes]),
        faces=np.concatenate([mesh.faces for mesh in meshes]),
        labels=np.concatenate([mesh.labels for mesh in meshes]),
        first_vertex=_compute_starts(len(mesh.vertices) for mesh in meshes),
        first_face=_compute_starts(len(mesh.faces) for mesh in meshes),
        closed=np.array([mesh.closed for mesh in meshes]),
    )


def _compute_starts(counts: Iterable[int]) -> Int32s:
    return np.cumsum([0, *counts], dtype=np.int32)


def scale_to_unit_box(vertices: Floats) -> Floats:
    """Scale and shift vertices so that they touch all six faces of [-1, 1]³."""
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    half = np.maximum((high - low) / 2, 1e-9)
    scaled: Floats = (vertices - (low + high) / 2) / half
    return scaled


def make_cube() -> SurfaceMesh:
    """Return the box [-1, 1]³ as six quads."""
    return make_prism(4, turn=0.5)


def make_prism(sides: int = PRISM_SIDES, turn: float = 0.0) -> SurfaceMesh:
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
    return SurfaceMesh(scale_to_unit_box(vertices), faces, np.zeros(len(faces), np.uint8))


def from_triangles(vertices: Floats, triangles: Int32s, labels: Bytes) -> SurfaceMesh:
    """Turn a closed triangle mesh into a mesh, outward normals and pairs joined to quads."""
    corners = vertices[triangles]
    volume = np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))
    outward = triangles if volume >= 0 else triangles[:, ::-1]
    vertices = vertices.astype(np.float64)
    faces, face_labels = _merge_triangles(vertices, np.ascontiguousarray(outward), labels)
    return SurfaceMesh(vertices, faces, face_labels)


@allocating
def _merge_triangles(vertices: Floats, triangles: Int32s, labels: Bytes) -> tuple[Int32s, Bytes]:
    """Join triangles that share an edge, a plane and a label to convex quads, greedily."""
    count = len(triangles)
    # (triangles,) joined to another; (triangles, 4) faces, -1 for no fourth corner
    taken = np.zeros(count, np.bool_)
    faces, kept = np.full((count, 4), -1, np.int32), np.empty(count, np.uint8)
    quad = np.empty(4, np.int32)
    made = 0
    for one in range(count):
        if taken[one]:
            continue
        kept[made] = labels[one]
        for k in range(3):
            faces[made, k] = triangles[one, k]
        # the first later triangle that makes a convex quad of it
        for other in range(one + 1, count):
            if not taken[other] and labels[other] == labels[one]:
                _join_quad(triangles, one, other, quad)
                if quad[3] >= 0 and _is_flat_and_convex(vertices, quad):
                    taken[other] = True
                    for k in range(4):
                        faces[made, k] = quad[k]
                    break
        made += 1
    return faces[:made], kept[:made]


@compiled
def _join_quad(triangles: Int32s, one: int, other: int, quad: Int32s) -> None:
    """Write the corners round two triangles that share an edge; the last is -1 if they do not."""
    quad[3] = -1
    for i in range(3):
        a, b = triangles[one, i], triangles[one, (i + 1) % 3]
        for j in range(3):
            if triangles[other, j] == b and triangles[other, (j + 1) % 3] == a:
                quad[0], quad[1] = a, triangles[other, (j + 2) % 3]
                quad[2], quad[3] = b, triangles[one, (i + 2) % 3]


@allocating
def _is_flat_and_convex(vertices: Floats, quad: Int32s) -> bool:
    # the turn at each corner, and their sum: the normal
    turns, normal = np.empty((4, 3)), np.zeros(3)
    for k in range(4):
        a, b, c = quad[k], quad[(k + 1) % 4], quad[(k + 2) % 4]
        for i in range(3):
            j, m = (i + 1) % 3, (i + 2) % 3
            turns[k, i] = (vertices[b, j] - vertices[a, j]) * (vertices[c, m] - vertices[b, m])
            turns[k, i] -= (vertices[b, m] - vertices[a, m]) * (vertices[c, j] - vertices[b, j])
            normal[i] += turns[k, i]
    # flat if no corner is off the plane, convex if all turns have the normal's sense
    square = normal[0] ** 2 + normal[1] ** 2 + normal[2] ** 2
    if square < 1e-24:
        return False
    for k in range(4):
        lifted, turned = 0.0, 0.0
        for i in range(3):
            lifted += (vertices[quad[k], i] - vertices[quad[0], i]) * normal[i]
            turned += turns[k, i] * normal[i]
        if abs(lifted) > COPLANAR * square**0.75 or turned < 1e-9 * square**0.5:
            return False
    return True
