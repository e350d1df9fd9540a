"""The library of meshes: every body in a box from -1 to 1, all in four flat arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from harness.carlite.arrays import Bytes, Float32s, Floats, Int32s
from harness.carlite.labels import SemanticLabel


@dataclass(frozen=True)
class SolidPart:
    """A closed surface with outward triangles: `(b - a) x (c - a)` points out of the solid.

    Attributes:
        vertices: (V, 3) metres, x forward, y right, z up.
        triangles: (T, 3) indices into the vertices.
        label: what its surface belongs to; NONE is whatever the actor as a whole is.
    """

    vertices: Floats
    triangles: Int32s
    label: SemanticLabel = SemanticLabel.NONE


@dataclass(frozen=True, kw_only=True)
class BodyLibrary:
    """All bodies, one after the other.

    Each one fills the box from -1 to 1: multiplied by an actor's half sizes and moved to the
    centre of its bounding box, it touches all six faces of that box. Body `i` owns
    `triangles[first[i] : first[i] + count[i]]` and, contiguous as well,
    `vertices[vertex_first[i] : vertex_first[i] + vertex_count[i]]`.

    Attributes:
        names: the bodies' names, in order.
        vertices: (V, 3) in the unit box.
        triangles: (T, 3) indices into `vertices`, normals outward.
        label: (T,) semantic label of a triangle; 0 stands for the label of the whole actor.
        positions: where each name, and each blueprint id that uses it, is found.
    """

    names: tuple[str, ...]
    vertices: Float32s
    triangles: Int32s
    label: Bytes
    first: Int32s
    count: Int32s
    vertex_first: Int32s
    vertex_count: Int32s
    positions: dict[str, int]

    def find_body_index(self, name: str) -> int:
        """Return the index of a body, asked for by its own name or by a blueprint's id."""
        return self.positions[name]


def pack_bodies(shapes: dict[str, list[SolidPart]], aliases: dict[str, str]) -> BodyLibrary:
    """Flatten named bodies into a library; aliases map blueprint ids to names."""
    names = tuple(shapes)
    # all bodies end to end: where the vertices and triangles of each begin, (bodies,)
    fitted = [_merge_body_parts(parts) for parts in shapes.values()]
    vertex_count = np.array([len(vertices) for vertices, _, _ in fitted], np.int32)
    vertex_first = np.cumsum(vertex_count, dtype=np.int32) - vertex_count
    count = np.array([len(triangles) for _, triangles, _ in fitted], np.int32)
    positions = {name: index for index, name in enumerate(names)}
    return BodyLibrary(
        names=names,
        vertices=np.concatenate([vertices for vertices, _, _ in fitted]),
        # (triangles, 3) rows of all vertices
        triangles=np.concatenate(
            [
                triangles + start
                for (_, triangles, _), start in zip(fitted, vertex_first, strict=True)
            ]
        ),
        label=np.concatenate([labels for _, _, labels in fitted]),
        first=np.cumsum(count, dtype=np.int32) - count,
        count=count,
        vertex_first=vertex_first,
        vertex_count=vertex_count,
        positions=positions | {alias: positions[name] for alias, name in aliases.items()},
    )


def _merge_body_parts(parts: list[SolidPart]) -> tuple[Float32s, Int32s, Bytes]:
    """Join a body's parts and stretch them to the unit box."""
    vertices = np.concatenate([part.vertices for part in parts])
    starts = np.cumsum([0] + [len(part.vertices) for part in parts[:-1]])
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    return (
        (2 * (vertices - low) / (high - low) - 1).astype(np.float32),
        np.concatenate(
            [part.triangles + start for part, start in zip(parts, starts, strict=True)]
        ).astype(np.int32),
        np.concatenate([np.full(len(part.triangles), part.label, np.uint8) for part in parts]),
    )
