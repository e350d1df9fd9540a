"""Where rays from a LiDAR hit a mesh first.

Rays start at the origin. So Möller and Trumbore's test needs three dot products of a ray: the cross
products are those of the triangle alone.
"""

from __future__ import annotations

import numba
import numpy as np

from harness.types.vocabulary import Floats, Integers

EDGE = 1e-9
"""Share of a triangle by which a ray may pass it: rays through an edge hit one of two triangles."""


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_nearest_hits(directions: Floats, corners: Floats) -> tuple[Floats, Integers]:
    """Return how far rays go, inf where they miss, and which triangle they hit, or -1.

    Rays are rows of unit vectors. Triangles are (F, 3, 3), seen from outside only: a hit is where
    `(b - a) x (c - a)` points towards the origin.

    Args:
        directions: (rays, 3), from the origin.
        corners: (F, 3, 3) m.

    Returns:
        (rays,) m and (rays,) numbers of triangles.
    """
    # (rays,) both
    ranges = np.full(len(directions), np.inf)
    faces = np.full(len(directions), -1, np.int64)
    across, first, second = np.empty(3), np.empty(3), np.empty(3)
    for face in range(len(corners)):
        # what is the same for all rays (Möller and Trumbore, with the origin at 0)
        a = corners[face, 0]
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            # With e1 = b - a, e2 = c - a and T = -a: e2 x e1, e2 x T and T x e1.
            e1_j, e1_k = corners[face, 1, j] - a[j], corners[face, 1, k] - a[k]
            e2_j, e2_k = corners[face, 2, j] - a[j], corners[face, 2, k] - a[k]
            across[i] = e2_j * e1_k - e2_k * e1_j
            first[i] = -e2_j * a[k] + e2_k * a[j]
            second[i] = -a[j] * e1_k + a[k] * e1_j
        # volume of the triangle with the origin: its sign is the side that is seen
        along = 0.0
        for i in range(3):
            along += (corners[face, 2, i] - a[i]) * second[i]
        if along <= 0:  # its back is seen
            continue
        for ray in range(len(directions)):
            # determinant of the ray and the triangle: not positive from behind
            x, y, z = directions[ray]
            facing = x * across[0] + y * across[1] + z * across[2]
            # without a division: behind, or no nearer than the hit so far
            if facing <= 0 or along >= ranges[ray] * facing:
                continue
            # coordinates in the triangle, times the determinant; slightly outside counts, as edges
            # are shared
            least = -EDGE * facing
            u = x * first[0] + y * first[1] + z * first[2]
            v = x * second[0] + y * second[1] + z * second[2]
            if u >= least and v >= least and u + v <= facing - least:
                ranges[ray] = along / facing
                faces[ray] = face
    return ranges, faces


def compute_hit_cosines(directions: Floats, corners: Floats, faces: Integers) -> Floats:
    """Return the cosines between rays and the normals of the triangles that they hit."""
    a, b, c = corners[faces, 0], corners[faces, 1], corners[faces, 2]
    normals = np.cross(b - a, c - a)
    facing = np.abs(np.einsum("ij,ij->i", normals, directions))
    return np.asarray(facing / np.linalg.norm(normals, axis=1))


@numba.njit(cache=True, nogil=True, error_model="numpy")
def find_box_entries(directions: Floats, box: Floats) -> Floats:
    """Return how far rays go until they enter a box `x y z length width height yaw`, or inf.

    Args:
        directions: (rays, 3) unit vectors, from the origin.
        box: (7,) m and rad.

    Returns:
        (rays,) m; 0 where the origin is inside.
    """
    # (rays,)
    ranges = np.full(len(directions), np.inf)
    # the origin in the box's frame
    cos, sin = np.cos(box[6]), np.sin(box[6])
    start = np.array([-cos * box[0] - sin * box[1], sin * box[0] - cos * box[1], -box[2]])
    way = np.empty(3)
    for ray in range(len(directions)):
        # the ray's direction in that frame
        x, y = directions[ray, 0], directions[ray, 1]
        way[0], way[1], way[2] = cos * x + sin * y, cos * y - sin * x, directions[ray, 2]
        # slabs: the ray is inside between the latest entry and the earliest exit
        near, far = 0.0, np.inf
        for i in range(3):
            half = box[3 + i] / 2
            # parallel to a pair of sides: between them or never
            if way[i] == 0:
                if abs(start[i]) > half:
                    far = -1.0
                continue
            one, other = (-half - start[i]) / way[i], (half - start[i]) / way[i]
            near, far = max(near, min(one, other)), min(far, max(one, other))
        if near <= far:
            ranges[ray] = near
    return ranges
