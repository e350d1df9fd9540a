"""Single rays, each on its own: for the radar, for obstacle sensors and for remote ray casts."""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Bools, Floats, Int32s
from harness.carlite.compiled import allocating, compiled
from harness.carlite.sensors.meshes import PackedMeshes
from harness.carlite.sensors.rasterise import EDGE_ON, GROUND, NOTHING
from harness.carlite.sensors.ray_march import NEAREST, trace_ray
from harness.carlite.sensors.relief import GroundRelief, interpolate_relief_height, is_over_grid
from harness.carlite.sensors.things import PlacedThings


@allocating
def cast_single_rays(
    things: PlacedThings,
    meshes: PackedMeshes,
    relief: GroundRelief,
    origins: Floats,
    directions: Floats,
    reach: float,
    hidden: Bools,
) -> tuple[Floats, Int32s, Int32s]:
    """Return distance (inf if none), thing (or GROUND, NOTHING) and face of each ray's first hit.

    Directions are unit vectors; things marked `hidden` are seen through.
    """
    # origins and directions: (rays, 3)
    count = len(origins)
    distance = np.full(count, np.inf)
    thing, face = np.full(count, NOTHING, np.int32), np.full(count, -1, np.int32)
    for ray in range(count):
        origin, direction = origins[ray], directions[ray]
        # the ground first: things farther than it need no test
        best = _measure_ground_distance(relief, origin, direction, reach)
        if best <= reach:
            thing[ray] = GROUND
        else:
            best = np.inf
        for n in range(len(things.mesh)):
            if hidden[n] or not _can_hit_sphere(things, n, origin, direction, min(best, reach)):
                continue
            near, index = _find_first_face(things, n, meshes, origin, direction)
            if near < best and near <= reach:
                best, thing[ray], face[ray] = near, n, index
        distance[ray] = best
    return distance, thing, face


@compiled
def _measure_ground_distance(
    relief: GroundRelief, origin: Floats, direction: Floats, reach: float
) -> float:
    # a ray from below the ground does not see it
    x = (origin[0] - relief.x) / relief.cell
    y = (origin[1] - relief.y) / relief.cell
    if is_over_grid(relief, x, y) and origin[2] < interpolate_relief_height(relief.heights, x, y):
        return np.inf
    # in grid units, up to the reach
    hit, _ = trace_ray(
        relief, x, y, origin[2],
        direction[0] / relief.cell, direction[1] / relief.cell, direction[2],
        0.0, 1 / (1 / reach),
    )  # fmt: skip
    return 1 / (1 / max(hit, NEAREST)) if hit < np.inf else np.inf


@compiled
def _can_hit_sphere(
    things: PlacedThings, n: int, origin: Floats, direction: Floats, reach: float
) -> bool:
    """Return whether a ray comes within the sphere round a thing, no further than `reach`."""
    x, y = things.centre[n, 0] - origin[0], things.centre[n, 1] - origin[1]
    z, radius = things.centre[n, 2] - origin[2], things.radius[n]
    along = x * direction[0] + y * direction[1] + z * direction[2]
    if along < -radius or along > reach + radius:
        return False
    passes: bool = x * x + y * y + z * z - along * along <= radius * radius
    return passes


@allocating
def _find_first_face(
    things: PlacedThings, n: int, meshes: PackedMeshes, origin: Floats, direction: Floats
) -> tuple[float, int]:
    """Distance to the nearest face of one thing that the ray enters, and the face's index."""
    best, best_face = np.inf, -1
    mesh = things.mesh[n]
    first = meshes.first_vertex[mesh]
    matrix, centre = things.matrix[n], things.centre[n]
    # (4, 3)
    corners = np.empty((4, 3))
    for index in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
        count = 3 if meshes.faces[index, 3] < 0 else 4
        # the corners, as the ray's origin sees them
        for k in range(count):
            x, y, z = meshes.vertices[first + meshes.faces[index, k]]
            for i in range(3):
                corners[k, i] = (
                    centre[i] - origin[i] + matrix[i, 0] * x + matrix[i, 1] * y + matrix[i, 2] * z
                )
        near = _measure_face_distance(corners, count, direction, meshes.closed[mesh])
        if near < best:
            best, best_face = near, index
    return best, best_face


@compiled
def _measure_face_distance(corners: Floats, count: int, direction: Floats, closed: bool) -> float:
    """Distance along a ray from the origin to a convex face, inf where it passes by."""
    # the face's plane: normal, offset from the origin, and where the ray meets it
    ax, ay, az = _subtract_points(corners[0], corners[1])
    bx, by, bz = _subtract_points(corners[0], corners[2])
    nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
    offset: float = nx * corners[0, 0] + ny * corners[0, 1] + nz * corners[0, 2]
    facing: float = nx * direction[0] + ny * direction[1] + nz * direction[2]
    if abs(offset) < EDGE_ON or (closed and offset > 0) or facing == 0 or offset / facing < 0:
        return np.inf
    # within the face if the ray passes all edges on the same side
    sign = 1.0 if facing > 0 else -1.0
    for k in range(count):
        p, q = corners[k], corners[k + 1 if k + 1 < count else 0]
        turn = (
            (p[1] * q[2] - p[2] * q[1]) * direction[0]
            + (p[2] * q[0] - p[0] * q[2]) * direction[1]
            + (p[0] * q[1] - p[1] * q[0]) * direction[2]
        )
        if sign * turn < 0:
            return np.inf
    return offset / facing


@compiled
def _subtract_points(start: Floats, end: Floats) -> tuple[float, float, float]:
    return end[0] - start[0], end[1] - start[1], end[2] - start[2]
