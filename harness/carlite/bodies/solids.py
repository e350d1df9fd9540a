"""Closed low-poly solids: everything is a loft, a row of rings joined by quads and capped."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from harness.carlite.arrays import Floats, Int32s
from harness.carlite.bodies.model import SolidPart
from harness.carlite.labels import SemanticLabel

Point = tuple[float, float]
Place = tuple[float, float, float]


def loft_rings(rings: Sequence[Floats], label: SemanticLabel = SemanticLabel.NONE) -> SolidPart:
    """Join rings of equally many points into a closed solid."""
    # (points of all rings, 3)
    vertices = np.concatenate(rings)
    size, last = len(rings[0]), (len(rings) - 1) * len(rings[0])
    triangles: list[tuple[int, int, int]] = []
    # two triangles between neighbours of two rings
    for start in range(0, last, size):
        for i in range(size):
            j = (i + 1) % size
            a, b, c, d = start + i, start + j, start + size + j, start + size + i
            triangles += [(a, b, c), (a, c, d)]
    # both ends
    near, far = _triangulate_ring(rings[0]), _triangulate_ring(rings[-1])
    triangles += [(a, c, b) for a, b, c in near]
    triangles += [(last + a, last + b, last + c) for a, b, c in far]
    # (triangles, 3), turned so that they face outwards
    indices = np.array(triangles, np.int32)
    if _compute_solid_volume(vertices, indices) < 0:
        indices = indices[:, ::-1].copy()
    return SolidPart(vertices, indices, label)


def extrude_profile(
    outline: Sequence[Point],
    half_widths: Sequence[float] | float,
    label: SemanticLabel = SemanticLabel.NONE,
) -> SolidPart:
    """Extrude a side view of (x, z) points to both sides, each point by its own half width.

    Args:
        outline: m, round the side view.
        half_widths: m, of each point or of all.
        label: of the surface.
    """
    x, z = np.array(outline).T
    y = np.broadcast_to(np.asarray(half_widths, float), x.shape)
    return loft_rings([np.stack([x, -y, z], axis=1), np.stack([x, y, z], axis=1)], label)


def make_block(
    x: Point,
    y: Point,
    z: Point,
    *,
    taper: Point = (1.0, 1.0),
    label: SemanticLabel = SemanticLabel.NONE,
) -> SolidPart:
    """Return a box between limits, its top scaled about its centre by `taper`.

    Args:
        x: limits, m.
        y: limits, m.
        z: limits, m.
        taper: factors of the top along x and y.
        label: of the surface.
    """
    return make_frustum(
        (*_compute_middle(x, y), z[0]),
        _compute_half_sizes(x, y),
        z[1] - z[0],
        taper=taper,
        label=label,
    )


def make_frustum(
    base: Place,
    half: Point,
    height: float,
    *,
    taper: Point = (1.0, 1.0),
    shift: Point = (0.0, 0.0),
    label: SemanticLabel = SemanticLabel.NONE,
) -> SolidPart:
    """Return a rectangular frustum over a base centre; its top is scaled and shifted.

    Args:
        base: centre of the bottom, m.
        half: half its length and width, m.
        height: m.
        taper: factors of the top along x and y.
        shift: m by which the top is moved along x and y.
        label: of the surface.
    """
    corners = np.array([(-1, -1), (1, -1), (1, 1), (-1, 1)], float) * half
    bottom = np.column_stack([corners + base[:2], np.full(4, base[2])])
    top = np.column_stack([corners * taper + base[:2] + shift, np.full(4, base[2] + height)])
    return loft_rings([bottom, top], label)


def revolve_outline(
    base: Place, outline: Sequence[Point], sides: int = 8, label: SemanticLabel = SemanticLabel.NONE
) -> SolidPart:
    """Return a solid turned about the vertical: the outline gives (radius, z) from below.

    Args:
        base: foot of the axis, m.
        outline: m; z is above the foot.
        sides: of the polygon that stands for the circle.
        label: of the surface.
    """
    angles = (np.arange(sides) + 0.5) * 2 * np.pi / sides
    circle = np.stack([np.cos(angles), np.sin(angles)], axis=1)
    rings = [
        np.column_stack([circle * radius + base[:2], np.full(sides, base[2] + z)])
        for radius, z in outline
    ]
    return loft_rings(rings, label)


def make_wheel(x: float, y: float, *, radius: float, width: float, sides: int = 7) -> SolidPart:
    """Return a wheel standing on the ground, flat side down, its axle along y.

    Args:
        x: m, of the axle.
        y: m, of its middle.
        radius: m.
        width: m.
        sides: of the polygon that stands for the circle.
    """
    angles = (np.arange(sides) + 0.5) * 2 * np.pi / sides - np.pi / 2
    rim = radius / np.cos(np.pi / sides)
    ring = np.stack(
        [x + rim * np.cos(angles), np.full(sides, y), radius + rim * np.sin(angles)], axis=1
    )
    across = np.array([0.0, width / 2, 0.0])
    return loft_rings([ring - across, ring + across])


def make_beam(
    start: Place,
    end: Place,
    thickness: Point,
    *,
    sides: int = 4,
    label: SemanticLabel = SemanticLabel.NONE,
) -> SolidPart:
    """Return a rod between two places, thick at its start and at its end as given.

    Args:
        start: m.
        end: m.
        thickness: radius at the start and at the end, m.
        sides: of the cross-section.
        label: of the surface.
    """
    a, b = np.array(start), np.array(end)
    along = (b - a) / np.linalg.norm(b - a)
    first = np.cross(along, (0.0, 1.0, 0.0) if abs(along[1]) < 0.9 else (1.0, 0.0, 0.0))
    first /= np.linalg.norm(first)
    second = np.cross(along, first)
    angles = (np.arange(sides) + 0.5) * 2 * np.pi / sides
    circle = np.outer(np.cos(angles), first) + np.outer(np.sin(angles), second)
    return loft_rings([a + circle * thickness[0], b + circle * thickness[1]], label)


def _compute_middle(x: Point, y: Point) -> Point:
    return (x[0] + x[1]) / 2, (y[0] + y[1]) / 2


def _compute_half_sizes(x: Point, y: Point) -> Point:
    return (x[1] - x[0]) / 2, (y[1] - y[0]) / 2


def _compute_solid_volume(vertices: Floats, triangles: Int32s) -> float:
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def _triangulate_ring(ring: Floats) -> list[tuple[int, int, int]]:
    """Cut a simple, possibly concave polygon into triangles by clipping ears."""
    # seen along the axis that the polygon faces most, anticlockwise
    normal = sum(
        (np.cross(ring[i], ring[(i + 1) % len(ring)]) for i in range(len(ring))), np.zeros(3)
    )
    axis = int(np.argmax(np.abs(normal)))
    flat = np.delete(ring, axis, axis=1)
    if (normal[axis] < 0) != (axis == 1):
        flat = flat[:, ::-1]
    # cut off corners until three are left
    left, ears = list(range(len(ring))), []
    while len(left) > 3:
        place = next(i for i in range(len(left)) if _is_ear(flat, left, i))
        ears.append((left[place - 1], left[place], left[(place + 1) % len(left)]))
        del left[place]
    return [*ears, (left[0], left[1], left[2])]


def _is_ear(flat: Floats, left: list[int], place: int) -> bool:
    before, here, after = left[place - 1], left[place], left[(place + 1) % len(left)]
    if _compute_ear_turn(flat[before], flat[here], flat[after]) <= 1e-12:
        return False
    return not any(
        _compute_ear_turn(flat[before], flat[here], flat[other]) >= 0
        and _compute_ear_turn(flat[here], flat[after], flat[other]) >= 0
        and _compute_ear_turn(flat[after], flat[before], flat[other]) >= 0
        for other in left
        if other not in (before, here, after)
    )


def _compute_ear_turn(a: Floats, b: Floats, c: Floats) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))
