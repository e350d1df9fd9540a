"""Rasterise a scene into a fan of rays: what is nearest along each of them.

The nearest surface is kept as inverse horizontal distance: along a column, a plane's inverse
distance is linear in the slope, so that filling a face costs a multiplication and a comparison per
ray. A face cuts the half-plane of a column in a segment, and the segment's ends bound the rows.

Why rays are not traced one by one: decision 0002.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import allocating, compiled, vectorised
from harness.carlite.sensors.culling import is_box_hidden, select_things_in_reach
from harness.carlite.sensors.fan import SLACK, RayFan, compute_pseudo_angle
from harness.carlite.sensors.meshes import PackedMeshes
from harness.carlite.sensors.ray_lanes import LANES, make_ray_lanes, trace_lanes
from harness.carlite.sensors.relief import (
    GroundRelief,
    find_steepest_in_reach,
    interpolate_relief_height,
    is_over_grid,
)
from harness.carlite.sensors.things import PlacedThings

GROUND = -1
NOTHING = -2
EDGE_ON = 1e-12


@allocating
def rasterise_things(
    things: PlacedThings,
    meshes: PackedMeshes,
    rotation: Floats,
    origin: Floats,
    reach: float,
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
) -> tuple[Floats, Int32s, Int32s]:
    """Draw every thing within reach; `source` then indexes the faces that are returned.

    Returns, for each face drawn, its outward normal (sensor frame, not normalised), the index of
    its thing, and its index among all faces.

    Args:
        things: with their poses in the world.
        meshes: of all things.
        rotation: (3, 3) of the sensor.
        origin: (3,) of the sensor, m in the world.
        reach: m.
        fan: the rays.
        nearness: (columns, rows) 1 / horizontal distance of what is drawn; changed in place.
        source: (columns, rows) what is drawn; changed in place.
    """
    # buffers for the faces of all things near enough: only as many marks as are used return
    close = select_things_in_reach(things, origin, reach)
    capacity = 0
    for thing in close:
        mesh = things.mesh[thing]
        capacity += meshes.first_face[mesh + 1] - meshes.first_face[mesh]
    normals = np.empty((capacity, 3))
    owner, face_index = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    corners = np.empty((_count_most_vertices(meshes), 3))
    # of one thing, in the sensor's frame: centre (3,), half edges (3, 3), corners of a face (4, 3)
    centre, axes, face = np.empty(3), np.empty((3, 3)), np.empty((4, 3))
    marked = 0
    # nearest first, so that farther things are often hidden as a whole
    for thing in close:
        _transform_to_sensor(things, thing, rotation, origin, centre, axes)
        if is_box_hidden(centre, axes, fan, nearness):
            continue
        before = marked
        marked = _rasterise_mesh(
            meshes, things.mesh[thing], centre, axes, corners, face, fan, nearness, source,
            normals, face_index, marked,
        )  # fmt: skip
        owner[before:marked] = thing
    return normals[:marked], owner[:marked], face_index[:marked]


@compiled
def _count_most_vertices(meshes: PackedMeshes) -> int:
    most = 0
    for mesh in range(len(meshes.closed)):
        most = max(most, meshes.first_vertex[mesh + 1] - meshes.first_vertex[mesh])
    return most


@compiled
def _transform_to_sensor(
    things: PlacedThings, thing: int, rotation: Floats, origin: Floats, centre: Floats, axes: Floats
) -> None:
    """Carry a thing's box into the sensor's frame: its centre, and its half edges as columns."""
    # rotation: (3, 3), sensor to world; its columns are the sensor's axes
    dx = things.centre[thing, 0] - origin[0]
    dy = things.centre[thing, 1] - origin[1]
    dz = things.centre[thing, 2] - origin[2]
    for i in range(3):
        a, b, c = rotation[0, i], rotation[1, i], rotation[2, i]
        centre[i] = a * dx + b * dy + c * dz
        for j in range(3):
            # the thing's matrix: half edges as columns, in the world
            axes[i, j] = (
                a * things.matrix[thing, 0, j]
                + b * things.matrix[thing, 1, j]
                + c * things.matrix[thing, 2, j]
            )


@compiled
def _rasterise_mesh(
    meshes: PackedMeshes,
    mesh: int,
    centre: Floats,
    axes: Floats,
    corners: Floats,
    face: Floats,
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
    normals: Floats,
    face_index: Int32s,
    mark: int,
) -> int:
    """Draw a placed mesh, marking its faces from `mark` on; returns the next free mark."""
    # nearness and source: (columns, rows)
    columns, rows = nearness.shape
    per_angle = (len(fan.bucket) - 1) / 4
    first_vertex, closed = meshes.first_vertex[mesh], meshes.closed[mesh]
    # Vertices into the sensor's frame.
    for n in range(meshes.first_vertex[mesh + 1] - first_vertex):
        x, y, z = meshes.vertices[first_vertex + n]
        for i in range(3):
            corners[n, i] = centre[i] + axes[i, 0] * x + axes[i, 1] * y + axes[i, 2] * z
    first, last = 0, 0
    for index in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
        # The face's corners, its normal and its plane; back faces of closed meshes are left out.
        count = 3 if meshes.faces[index, 3] < 0 else 4
        for k in range(count):
            at = meshes.faces[index, k]
            face[k, 0], face[k, 1], face[k, 2] = corners[at, 0], corners[at, 1], corners[at, 2]
        ax, ay, az = face[1, 0] - face[0, 0], face[1, 1] - face[0, 1], face[1, 2] - face[0, 2]
        bx, by, bz = face[2, 0] - face[0, 0], face[2, 1] - face[0, 1], face[2, 2] - face[0, 2]
        nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
        offset = nx * face[0, 0] + ny * face[0, 1] + nz * face[0, 2]
        if abs(offset) < EDGE_ON or (closed and offset > 0):
            continue
        normals[mark, 0], normals[mark, 1], normals[mark, 2] = nx, ny, nz
        face_index[mark] = index
        px, py, pz = nx / offset, ny / offset, nz / offset
        # The columns of rays that may meet it: one interval of azimuth, or two.
        low, high, low_behind, high_behind = _find_angle_bounds(face, count)
        for part in range(1 if low_behind > high_behind else 2):
            if part == 1:
                low, high = low_behind, high_behind
            bucket = min(max(int((low - SLACK + 2) * per_angle), 0), len(fan.bucket) - 1)
            column = fan.bucket[bucket]
            while column < columns and fan.angle[column] < low - SLACK:
                column += 1
            while column < columns and fan.angle[column] <= high + SLACK:
                cosine, sine, scale = fan.cosine[column], fan.sine[column], fan.scale[column]
                # The segment in which the column's half-plane cuts the face.
                r0, z0, r1, z1 = -1.0, 0.0, -1.0, 0.0
                side = cosine * face[count - 1, 1] - sine * face[count - 1, 0]
                along = cosine * face[count - 1, 0] + sine * face[count - 1, 1]
                height = face[count - 1, 2]
                for k in range(count):
                    next_side = cosine * face[k, 1] - sine * face[k, 0]
                    next_along = cosine * face[k, 0] + sine * face[k, 1]
                    if (side < 0) != (next_side < 0):
                        share = side / (side - next_side)
                        r1, z1 = r0, z0
                        r0 = along + share * (next_along - along)
                        z0 = height + share * (face[k, 2] - height)
                    side, along, height = next_side, next_along, face[k, 2]
                # The rows between its ends, from those of the column, or face, before.
                if r0 > 0 or r1 > 0:
                    bottom, top = (
                        _compute_end_slope(r0, z0, r1, z1) / scale,
                        _compute_end_slope(r1, z1, r0, z0) / scale,
                    )
                    if bottom > top:
                        bottom, top = top, bottom
                    while first < rows and fan.slopes[first] < bottom:
                        first += 1
                    while first > 0 and fan.slopes[first - 1] >= bottom:
                        first -= 1
                    last = max(last, first)
                    while last < rows and fan.slopes[last] <= top:
                        last += 1
                    while last > first and fan.slopes[last - 1] > top:
                        last -= 1
                    # Inverse distance is linear in the slope: keep the nearest face.
                    base, rise = cosine * px + sine * py, pz * scale
                    _keep_nearest(
                        fan.slopes[first:last], base, rise, np.int32(mark),
                        nearness[column, first:last], source[column, first:last],
                    )  # fmt: skip
                column += 1
        mark += 1
    return mark


@vectorised
def _keep_nearest(
    slopes: Floats, base: float, rise: float, mark: np.int32, nearness: Floats, source: Int32s
) -> None:
    """Draw a face along a piece of a column, where it is nearer than what is drawn."""
    for row in range(len(slopes)):
        near = base + rise * slopes[row]
        closer = near > nearness[row]
        nearness[row] = near if closer else nearness[row]
        source[row] = mark if closer else source[row]


@compiled
def _find_angle_bounds(face: Floats, count: int) -> tuple[float, float, float, float]:
    """Bound the pseudo-azimuths of a convex face by one interval or two.

    A face that surrounds the axis spans all of them; one that straddles the seam behind the sensor
    has a second interval. Where there is none, the second one is empty.
    """
    crossings = 0
    low, high, low_behind, high_behind = 3.0, -3.0, 3.0, -3.0
    for k in range(count):
        after = k + 1 if k + 1 < count else 0
        x, y, next_x, next_y = face[k, 0], face[k, 1], face[after, 0], face[after, 1]
        # an edge that crosses the half-plane behind the sensor, where pseudo-azimuths jump
        if (y < 0) != (next_y < 0) and x + (next_x - x) * y / (y - next_y) < 0:
            crossings += 1
        angle = compute_pseudo_angle(x, y)
        if y >= 0:
            low, high = min(low, angle), max(high, angle)
        else:
            low_behind, high_behind = min(low_behind, angle), max(high_behind, angle)
    if crossings == 0:
        return min(low, low_behind), max(high, high_behind), 3.0, -3.0
    if crossings == 1:
        return -2.0, 2.0, 3.0, -3.0
    return low, 2.0, -2.0, high_behind


@compiled
def _compute_end_slope(r: float, z: float, other_r: float, other_z: float) -> float:
    """Slope towards one end of a segment, or straight up or down if that lies behind the axis."""
    if r > 0:
        return z / r
    return np.inf if z * other_r - other_z * r > 0 else -np.inf


@allocating
def rasterise_ground(
    relief: GroundRelief,
    rotation: Floats,
    origin: Floats,
    reach: float,
    fan: RayFan,
    nearness: Floats,
    source: Int32s,
) -> None:
    """Draw the ground beneath what is drawn already.

    Unless the sensor leans more than the ground is steep, the ground is a graph over each column's
    half-plane: a ray meets it no nearer than the ray below does, and is traced from there.

    Args:
        relief: the ground.
        rotation: (3, 3) of the sensor.
        origin: (3,) of the sensor, m in the world.
        reach: m.
        fan: the rays.
        nearness: (columns, rows) 1 / horizontal distance of what is drawn; changed in place.
        source: (columns, rows) what is drawn; changed in place.
    """
    cell, heights = relief.cell, relief.heights
    # the sensor in grid units; under the ground nothing of it is visible
    x, y, z = (origin[0] - relief.x) / cell, (origin[1] - relief.y) / cell, origin[2]
    if is_over_grid(relief, x, y) and z < interpolate_relief_height(heights, x, y):
        return
    # may a ray begin where the one below it ended
    lean = np.sqrt(rotation[0, 2] ** 2 + rotation[1, 2] ** 2)
    shared: bool = rotation[2, 2] > lean * find_steepest_in_reach(relief, x, y, reach / cell)
    # a ray is `out + slope * up`, the same two vectors for all rays of a column
    up_x, up_y, up_z = rotation[0, 2] / cell, rotation[1, 2] / cell, rotation[2, 2]
    lanes = make_ray_lanes()
    for first in range(0, len(nearness), LANES):
        last = min(first + LANES, len(nearness))
        for lane in range(last - first):
            column = first + lane
            cosine, sine, scale = fan.cosine[column], fan.sine[column], fan.scale[column]
            lanes.out_x[lane] = (rotation[0, 0] * cosine + rotation[0, 1] * sine) / cell
            lanes.out_y[lane] = (rotation[1, 0] * cosine + rotation[1, 1] * sine) / cell
            lanes.out_z[lane] = rotation[2, 0] * cosine + rotation[2, 1] * sine
            lanes.up_x[lane], lanes.up_y[lane] = up_x * scale, up_y * scale
            lanes.up_z[lane] = up_z * scale
        trace_lanes(
            relief, lanes, x, y, z, fan.slopes, shared, nearness[first:last], source[first:last],
            GROUND,
        )  # fmt: skip
