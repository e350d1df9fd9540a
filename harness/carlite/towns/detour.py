"""Writes convex polygons as the navigation mesh that the client's walkers think with.

The format is a Recast "mesh set" of one Detour tile, version 7, whose axes are (x, up, y).
"""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from harness.carlite.arrays import Bytes, Floats

MOST_CORNERS = 6
MOST_VERTICES = 0xFFFF
_SET_MAGIC, _SET_VERSION = 0x4D534554, 1
_TILE_MAGIC, _TILE_VERSION = 0x444E4156, 7
_WALKER_HEIGHT, _WALKER_RADIUS, _WALKER_CLIMB = 1.8, 0.3, 0.5
_HEADROOM = 2.0

_POLYGON = np.dtype([
    ("first_link", "<u4"),
    ("vertices", "<u2", (MOST_CORNERS,)),
    ("neighbours", "<u2", (MOST_CORNERS,)),
    ("flags", "<u2"),
    ("corners", "u1"),
    ("area", "u1"),
])  # fmt: skip
_DETAIL = np.dtype([
    ("vertex_base", "<u4"),
    ("triangle_base", "<u4"),
    ("vertex_count", "u1"),
    ("triangle_count", "u1"),
    ("padding", "<u2"),
])  # fmt: skip
_LINK_BYTES = 12
_NO_LINK = 0xFFFFFFFF


class NavigationArea(IntEnum):
    """What a polygon is to a walker, numbered as the client numbers it."""

    SIDEWALK = 1
    CROSSWALK = 2
    ROAD = 3


@dataclass(frozen=True)
class NavigationMesh:
    """Convex polygons over shared vertices; two polygons touch where they share an edge.

    Attributes:
        vertices: (V, 3) in the world's frame.
        polygons: vertex indices of each, three to six, counter-clockwise from above.
        areas: the `NavigationArea` of each polygon.
    """

    vertices: Floats
    polygons: Sequence[tuple[int, ...]]
    areas: Sequence[NavigationArea]

    def find_neighbours(self) -> list[list[int]]:
        """Return, for each edge of each polygon, the polygon across it, or -1."""
        sides: dict[tuple[int, int], int] = {}
        for number, polygon in enumerate(self.polygons):
            for edge in list_polygon_edges(polygon):
                if edge in sides:
                    raise ValueError(f"polygons {sides[edge]} and {number} overlap at {edge}")
                sides[edge] = number
        return [[sides.get((b, a), -1) for a, b in list_polygon_edges(p)] for p in self.polygons]


def list_polygon_edges(polygon: tuple[int, ...]) -> list[tuple[int, int]]:
    """Return the edges of a polygon, each from one vertex to the next."""
    return list(zip(polygon, polygon[1:] + polygon[:1], strict=True))


def encode_navigation_mesh(mesh: NavigationMesh) -> bytes:
    """Return the mesh as the file the client downloads."""
    if len(mesh.vertices) > MOST_VERTICES:
        raise ValueError(f"{len(mesh.vertices)} vertices; the format ends at {MOST_VERTICES}")
    tile = _pack_tile(mesh)
    bits = max(1, (len(mesh.polygons) - 1).bit_length())
    low = mesh.vertices.min(axis=0)
    size = np.ptp(mesh.vertices, axis=0)
    parameters = struct.pack(
        "<5f2i", low[0], low[2], low[1], size[0] + 1.0, size[1] + 1.0, 1, 1 << bits
    )
    head = struct.pack("<3i", _SET_MAGIC, _SET_VERSION, 1)
    return head + parameters + struct.pack("<Ii", 1 << bits, len(tile)) + tile


def _pack_tile(mesh: NavigationMesh) -> bytes:
    # (vertices, 3) x, z, y: in Detour height comes second
    vertices = mesh.vertices[:, [0, 2, 1]].astype("<f4")
    polygons, links = _pack_polygons(mesh)
    details, triangles = _pack_details(polygons)
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    # header of a tile, then its arrays
    header = struct.pack(
        "<15i10f",
        _TILE_MAGIC, _TILE_VERSION, 0, 0, 0, 0,
        len(polygons), len(vertices), links, len(polygons), 0, len(triangles), 0, 0, len(polygons),
        _WALKER_HEIGHT, _WALKER_RADIUS, _WALKER_CLIMB,
        *low.tolist(), high[0], high[1] + _HEADROOM, high[2], 0.0,
    )  # fmt: skip
    parts = (vertices, polygons, np.zeros(links * _LINK_BYTES, np.uint8), details, triangles)
    return header + b"".join(part.tobytes() for part in parts)


def _pack_polygons(mesh: NavigationMesh) -> tuple[np.ndarray, int]:
    records = np.zeros(len(mesh.polygons), _POLYGON)
    records["first_link"] = _NO_LINK
    links = 0
    for record, polygon, across, area in zip(
        records, mesh.polygons, mesh.find_neighbours(), mesh.areas, strict=True
    ):
        record["vertices"][: len(polygon)] = polygon
        record["neighbours"][: len(polygon)] = [other + 1 for other in across]
        record["corners"], record["area"], record["flags"] = len(polygon), area, 1 << area
        links += sum(other >= 0 for other in across)
    return records, links


def _pack_details(polygons: np.ndarray) -> tuple[np.ndarray, Bytes]:
    """Cut each polygon into a fan; a triangle's fourth byte marks which edges are the border."""
    details = np.zeros(len(polygons), _DETAIL)
    counts = polygons["corners"].astype(np.int64) - 2
    details["triangle_base"] = np.cumsum(counts) - counts
    details["triangle_count"] = counts
    fans = [
        (0, i, i + 1, (i == 1) | 1 << 2 | (i == count) << 4)
        for count in counts.tolist()
        for i in range(1, count + 1)
    ]
    return details, np.array(fans, np.uint8)
