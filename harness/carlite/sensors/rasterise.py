"""Drawing a scene into a fan of rays: what is nearest along each of them.

The nearest surface is kept as inverse horizontal distance: along a column, a plane's inverse
distance is linear in the slope, so that filling a face costs a multiplication and a comparison per
ray. A face cuts the half-plane of a column in a segment, and the segment's ends bound the rows.
"""

from __future__ import annotations

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import compiled
from harness.carlite.sensors.culling import in_reach, is_hidden
from harness.carlite.sensors.fan import SLACK, Fan, angle_of, first_column
from harness.carlite.sensors.meshes import Meshes
from harness.carlite.sensors.relief import Relief, ground_hit, height_at, is_over, level_window
from harness.carlite.sensors.things import Things

GROUND = -1
NOTHING = -2
EDGE_ON = 1e-12


@compiled
def draw_things(
    things: Things,
    meshes: Meshes,
    rotation: Floats,
    origin: Floats,
    reach: float,
    fan: Fan,
    nearness: Floats,
    source: Int32s,
) -> tuple[Floats, Int32s, Int32s]:
    """Draw every thing within reach; `source` then indexes the faces that are returned.

    Returns, for each face drawn, its outward normal (sensor frame, not normalised), the index of
    its thing, and its index among all faces.
    """
    close = in_reach(things, origin, reach)
    capacity = 0
    for thing in close:
        mesh = things.mesh[thing]
        capacity += meshes.first_face[mesh + 1] - meshes.first_face[mesh]
    normals = np.empty((capacity, 3))
    owner, face_index = np.empty(capacity, np.int32), np.empty(capacity, np.int32)
    corners = np.empty((_most_vertices(meshes), 3))
    centre, axes, face = np.empty(3), np.empty((3, 3)), np.empty((4, 3))
    drawn = 0
    for thing in close:
        _into_sensor(things, thing, rotation, origin, centre, axes)
        if is_hidden(centre, axes, fan, nearness):
            continue
        mesh = things.mesh[thing]
        first = meshes.first_vertex[mesh]
        for n in range(meshes.first_vertex[mesh + 1] - first):
            x, y, z = meshes.vertices[first + n]
            for i in range(3):
                corners[n, i] = centre[i] + axes[i, 0] * x + axes[i, 1] * y + axes[i, 2] * z
        for index in range(meshes.first_face[mesh], meshes.first_face[mesh + 1]):
            count = 3 if meshes.faces[index, 3] < 0 else 4
            for k in range(count):
                at = meshes.faces[index, k]
                face[k, 0], face[k, 1], face[k, 2] = corners[at, 0], corners[at, 1], corners[at, 2]
            ax, ay, az = face[1, 0] - face[0, 0], face[1, 1] - face[0, 1], face[1, 2] - face[0, 2]
            bx, by, bz = face[2, 0] - face[0, 0], face[2, 1] - face[0, 1], face[2, 2] - face[0, 2]
            nx, ny, nz = ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx
            offset = nx * face[0, 0] + ny * face[0, 1] + nz * face[0, 2]
            if abs(offset) < EDGE_ON or (meshes.closed[mesh] and offset > 0):
                continue
            normals[drawn, 0], normals[drawn, 1], normals[drawn, 2] = nx, ny, nz
            owner[drawn], face_index[drawn] = thing, index
            _draw_face(
                face, count, nx / offset, ny / offset, nz / offset, drawn, fan, nearness, source
            )
            drawn += 1
    return normals[:drawn], owner[:drawn], face_index[:drawn]


@compiled
def _most_vertices(meshes: Meshes) -> int:
    most = 0
    for mesh in range(len(meshes.closed)):
        most = max(most, meshes.first_vertex[mesh + 1] - meshes.first_vertex[mesh])
    return most


@compiled
def _into_sensor(
    things: Things, thing: int, rotation: Floats, origin: Floats, centre: Floats, axes: Floats
) -> None:
    """Carry a thing's box into the sensor's frame: its centre, and its half edges as columns."""
    dx = things.centre[thing, 0] - origin[0]
    dy = things.centre[thing, 1] - origin[1]
    dz = things.centre[thing, 2] - origin[2]
    for i in range(3):
        a, b, c = rotation[0, i], rotation[1, i], rotation[2, i]
        centre[i] = a * dx + b * dy + c * dz
        for j in range(3):
            axes[i, j] = (
                a * things.matrix[thing, 0, j]
                + b * things.matrix[thing, 1, j]
                + c * things.matrix[thing, 2, j]
            )


@compiled
def _draw_face(
    face: Floats,
    count: int,
    px: float,
    py: float,
    pz: float,
    mark: int,
    fan: Fan,
    nearness: Floats,
    source: Int32s,
) -> None:
    """Draw one convex face, on the plane of all points with (px, py, pz) · point = 1."""
    crossings = 0
    low, high, low_behind, high_behind = 3.0, -3.0, 3.0, -3.0
    for k in range(count):
        after = k + 1 if k + 1 < count else 0
        x, y, next_x, next_y = face[k, 0], face[k, 1], face[after, 0], face[after, 1]
        if (y < 0) != (next_y < 0) and x + (next_x - x) * y / (y - next_y) < 0:
            crossings += 1
        angle = angle_of(x, y)
        if y >= 0:
            low, high = min(low, angle), max(high, angle)
        else:
            low_behind, high_behind = min(low_behind, angle), max(high_behind, angle)
    if crossings == 0:
        _draw_columns(
            face, count, px, py, pz, mark, fan, nearness, source,
            min(low, low_behind), max(high, high_behind),
        )  # fmt: skip
    elif crossings == 1:
        _draw_columns(face, count, px, py, pz, mark, fan, nearness, source, -2.0, 2.0)
    else:
        _draw_columns(face, count, px, py, pz, mark, fan, nearness, source, low, 2.0)
        _draw_columns(face, count, px, py, pz, mark, fan, nearness, source, -2.0, high_behind)


@compiled
def _draw_columns(
    face: Floats,
    count: int,
    px: float,
    py: float,
    pz: float,
    mark: int,
    fan: Fan,
    nearness: Floats,
    source: Int32s,
    low: float,
    high: float,
) -> None:
    """Draw a face into the columns between two pseudo-azimuths."""
    columns, rows = nearness.shape
    column = first_column(fan, low - SLACK)
    first, last = 0, 0
    while column < columns and fan.angle[column] <= high + SLACK:
        cosine, sine = fan.cosine[column], fan.sine[column]
        found = 0
        r0, z0, r1, z1 = 0.0, 0.0, 0.0, 0.0
        side = cosine * face[count - 1, 1] - sine * face[count - 1, 0]
        along = cosine * face[count - 1, 0] + sine * face[count - 1, 1]
        height = face[count - 1, 2]
        for k in range(count):
            next_side = cosine * face[k, 1] - sine * face[k, 0]
            next_along = cosine * face[k, 0] + sine * face[k, 1]
            if (side < 0) != (next_side < 0):
                part = side / (side - next_side)
                r = along + part * (next_along - along)
                z = height + part * (face[k, 2] - height)
                if found == 0:
                    r0, z0 = r, z
                else:
                    r1, z1 = r, z
                found += 1
            side, along, height = next_side, next_along, face[k, 2]
        if found == 2 and (r0 > 0 or r1 > 0):
            scale = fan.scale[column]
            bottom = _slope(r0, z0, r1, z1) / scale
            top = _slope(r1, z1, r0, z0) / scale
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
            base, rise = cosine * px + sine * py, pz * scale
            for row in range(first, last):
                near = base + rise * fan.slopes[row]
                closer = near > nearness[column, row]
                nearness[column, row] = near if closer else nearness[column, row]
                source[column, row] = mark if closer else source[column, row]
        column += 1


@compiled
def _slope(r: float, z: float, other_r: float, other_z: float) -> float:
    """Slope towards one end of a segment, or straight up or down if that lies behind the axis."""
    if r > 0:
        return z / r
    return np.inf if z * other_r - other_z * r > 0 else -np.inf


@compiled
def draw_ground(
    relief: Relief,
    rotation: Floats,
    origin: Floats,
    fan: Fan,
    nearness: Floats,
    source: Int32s,
) -> None:
    """Draw the ground beneath what is drawn already.

    Unless the sensor leans more than the ground is steep, the ground is a graph over each column's
    half-plane: a ray meets it no nearer than the ray below does, and takes up the march there.
    """
    columns, rows = nearness.shape
    cell, heights = relief.cell, relief.heights
    x, y, z = (origin[0] - relief.x) / cell, (origin[1] - relief.y) / cell, origin[2]
    if is_over(relief, x, y) and z < height_at(heights, x, y):
        return
    lean = np.sqrt(rotation[0, 2] ** 2 + rotation[1, 2] ** 2)
    shared = rotation[2, 2] > lean * relief.steepest + 1e-6
    up_x, up_y, up_z = rotation[0, 2] / cell, rotation[1, 2] / cell, rotation[2, 2]
    for column in range(columns):
        cosine, sine, scale = fan.cosine[column], fan.sine[column], fan.scale[column]
        out_x = (rotation[0, 0] * cosine + rotation[0, 1] * sine) / cell
        out_y = (rotation[1, 0] * cosine + rotation[1, 1] * sine) / cell
        out_z = rotation[2, 0] * cosine + rotation[2, 1] * sine
        start = 0.0
        left, right, front, back, level = level_window(relief, x, y)
        for row in range(rows):
            if not shared:
                start = 0.0
            if nearness[column, row] * start >= 1:
                continue
            slope = fan.slopes[row] * scale
            dx, dy, dz = out_x + slope * up_x, out_y + slope * up_y, out_z + slope * up_z
            end = 1 / nearness[column, row]
            if dz >= 0 and z + start * dz > relief.top:
                start = end
                continue
            hit = (level - z) / dz if dz < 0 else np.inf
            stop = min(hit, end)
            if not (
                left <= x + start * dx <= right
                and front <= y + start * dy <= back
                and left <= x + stop * dx <= right
                and front <= y + stop * dy <= back
            ):
                hit = ground_hit(relief, x, y, z, dx, dy, dz, start, end)
                if hit <= end:
                    left, right, front, back, level = level_window(
                        relief, x + hit * dx, y + hit * dy
                    )
            start = min(max(hit, start), end)
            if hit <= end:
                nearness[column, row] = 1 / max(start, 1e-9)
                source[column, row] = GROUND
