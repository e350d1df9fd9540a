"""Writes the shapes of road users as triangle meshes, for objects that are put into recordings.

`python -m tools.authoring.shapes OUT`; the shipped file is `shapes.npz` in
`studies/metamorphic/geometry/data`.

Faces are those that carlite's LiDARs hit, flat pieces of four corners cut in two; normals point
outwards. Vertices are in the unit box, as carlite's are: times half the size, they are metres from
the middle of the object's box. Arrays are not compressed: the bytes depend on no library of
compression.
"""

from __future__ import annotations

import argparse
import io
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.carlite import blueprints, bodies
from harness.carlite.actors import ActorKind
from harness.carlite.arrays import Int32s
from harness.carlite.blueprints import ActorBlueprint
from harness.carlite.labels import SemanticLabel
from harness.carlite.sensors import scene
from harness.carlite.sensors.meshes import SurfaceMesh, scale_to_unit_box

SHIPPED = Path(__file__).parents[2] / "studies/metamorphic/geometry/data/shapes.npz"
CARS = (
    *("audi.a2", "audi.etron", "audi.tt", "dodge.charger_2020", "ford.ambulance"),
    *("ford.mustang", "lincoln.mkz_2020", "mercedes.sprinter", "micro.microlino"),
    *("nissan.patrol_2021", "tesla.cybertruck", "tesla.model3", "volkswagen.t2"),
)
LORRIES = ("carlamotors.carlacola", "carlamotors.european_hgv", "mitsubishi.fusorosa")
CYCLES = ("diamondback.century", "gazelle.omafiets", "yamaha.yzf")
PEDESTRIANS = ("walker.pedestrian.0001", "walker.pedestrian.0009")
NAMES = (*(f"vehicle.{name}" for name in (*CARS, *LORRIES, *CYCLES)), *PEDESTRIANS)
"""Blueprints whose bodies are written."""
CLASSES = ("vehicle", "pedestrian", "cyclist")

Arrays = dict[str, NDArray[Any]]


def write_shapes(arguments: list[str] | None = None) -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(
        prog="python -m tools.authoring.shapes",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("out", nargs="?", type=Path, default=SHIPPED, help=f"default: {SHIPPED}")
    out: Path = parser.parse_args(arguments).out
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_bytes(encode_arrays(build_shape_arrays(NAMES)))
    print(f"{out}: {len(NAMES)} shapes, {out.stat().st_size / 1e3:.0f} kB")


def encode_arrays(arrays: Arrays) -> bytes:
    """Return arrays as the bytes of a .npz file, which holds no time of day."""
    buffer = io.BytesIO()
    named: dict[str, Any] = {**arrays}
    np.savez(buffer, **named)
    return buffer.getvalue()


def build_shape_arrays(names: Iterable[str]) -> Arrays:
    """Return the shapes of blueprints, laid end to end."""
    chosen = [blueprints.build_blueprint_library()[name] for name in names]
    meshes = [get_blueprint_mesh(blueprint) for blueprint in chosen]
    triangles = [split_into_triangles(mesh.faces) for mesh in meshes]
    # arrays end to end, and where those of each shape begin
    tags = [
        compute_triangle_tags(mesh, blueprint.label)
        for mesh, blueprint in zip(meshes, chosen, strict=True)
    ]
    return {
        "names": np.array([blueprint.id for blueprint in chosen]),
        "classes": np.array([CLASSES.index(get_shape_class(blueprint)) for blueprint in chosen]),
        "sizes": 2 * np.array([blueprint.extent for blueprint in chosen]),
        "vertices": np.concatenate([scale_to_unit_box(mesh.vertices) for mesh in meshes]).astype(
            "f4"
        ),
        "faces": np.concatenate(triangles),
        "tags": np.concatenate(tags),
        "first_vertex": np.cumsum([0, *(len(mesh.vertices) for mesh in meshes)]),
        "first_face": np.cumsum([0, *(len(faces) for faces in triangles)]),
    }


def get_shape_class(blueprint: ActorBlueprint) -> str:
    """Return what a road user is; a rider of a motorcycle is a cyclist, too."""
    if blueprint.kind == ActorKind.WALKER:
        return "pedestrian"
    return "cyclist" if blueprint.wheels == 2 else "vehicle"


def get_blueprint_mesh(blueprint: ActorBlueprint) -> SurfaceMesh:
    """Return the mesh that carlite's sensors have of a blueprint."""
    return scene.build_common_meshes()[
        scene.FIRST_BODY + bodies.build_body_library().find_body_index(blueprint.body)
    ]


def split_into_triangles(faces: Int32s) -> Int32s:
    """Return faces of three or four corners as triangles: all first halves, then the others."""
    second = faces[faces[:, 3] >= 0]
    return np.concatenate([faces[:, :3], second[:, [0, 2, 3]]]).astype(np.int32)


def compute_triangle_tags(mesh: SurfaceMesh, whole: SemanticLabel) -> NDArray[np.uint8]:
    """Return CARLA's tag of each triangle; faces without a tag have the road user's."""
    tags = np.where(mesh.labels == SemanticLabel.NONE, whole, mesh.labels).astype(np.uint8)
    return np.concatenate([tags, tags[mesh.faces[:, 3] >= 0]])


if __name__ == "__main__":
    write_shapes()
