"""Shapes of road users: closed triangle meshes, to be put into recorded sweeps.

They are carlite's own bodies; `python -m tools.authoring.shapes` writes the file.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.common.errors import UserError
from harness.common.suggestions import describe_unknown_name
from harness.types.geometry import build_pose_matrix, compute_relative_pose
from harness.types.vocabulary import Boxes, Floats, Integers, Pose

FILE = Path(__file__).parent / "data" / "shapes.npz"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RoadUserShape:
    """A mesh that fills its box; the box's middle is its origin."""

    name: str  # of CARLA's blueprint
    of_class: int  # index into CLASSES
    vertices: Floats  # (V, 3) m
    faces: Integers  # (F, 3) corners; normals point outwards
    tags: NDArray[np.uint8]  # (F,) CARLA's

    @property
    def size(self) -> Floats:
        """Return length, width and height, m."""
        return np.asarray(np.ptp(self.vertices, axis=0))


@dataclass(frozen=True, slots=True, eq=False)
class PlacedShape:
    """A shape somewhere in the world."""

    shape: RoadUserShape
    centre_in_world: Pose  # of its box
    actor: int

    @property
    def box_in_world(self) -> Boxes:
        """Return its ground-truth box."""
        pose = self.centre_in_world
        row = [pose.x, pose.y, pose.z, *self.shape.size.tolist(), pose.yaw]
        return Boxes(np.array([row]), np.array([self.shape.of_class]), np.ones(1))

    def compute_corners(self, lidar_in_world: Pose) -> Floats:
        """Return the corners of its triangles, (F, 3, 3), as a LiDAR sees them."""
        frame = build_pose_matrix(compute_relative_pose(self.centre_in_world, lidar_in_world))
        vertices = self.shape.vertices @ frame[:3, :3].T + frame[:3, 3]
        return np.asarray(vertices[self.shape.faces])


@cache
def load_shapes() -> dict[str, RoadUserShape]:
    """Return all shapes by name."""
    with np.load(FILE) as file:
        data = {name: file[name] for name in file.files}
    listed = [read_shape_row(data, row) for row in range(len(data["names"]))]
    return {shape.name: shape for shape in listed}


def read_shape_row(data: Mapping[str, NDArray[Any]], row: int) -> RoadUserShape:
    """Return the shape in a row of the file."""
    vertices, faces = (
        slice(*data[name][row : row + 2].tolist()) for name in ("first_vertex", "first_face")
    )
    return RoadUserShape(
        name=str(data["names"][row]),
        of_class=int(data["classes"][row]),
        vertices=data["vertices"][vertices] * (data["sizes"][row] / 2),
        faces=data["faces"][faces].astype(np.int64),
        tags=data["tags"][faces],
    )


def find_shape_by_name(name: str) -> RoadUserShape:
    """Return one shape."""
    if name not in load_shapes():
        raise UserError(describe_unknown_name("shape", name, load_shapes()))
    return load_shapes()[name]


def scale_shape(shape: RoadUserShape, factors: Iterable[float]) -> RoadUserShape:
    """Return a shape of another length, width and height."""
    return replace(shape, vertices=shape.vertices * np.array(list(factors), np.float64))


def find_nearest_shape(of_class: int, size: Floats) -> RoadUserShape:
    """Return the shape of a class whose length, width and height differ least, as ratios."""
    alike = [shape for shape in load_shapes().values() if shape.of_class == of_class]
    return min(alike, key=lambda shape: float(np.abs(np.log(shape.size / size)).sum()))


def fit_shape_to_box(of_class: int, size: Floats) -> RoadUserShape:
    """Return the shape of a class that is nearest in size, scaled to fill a box of that size."""
    shape = find_nearest_shape(of_class, size)
    return scale_shape(shape, size / shape.size)
