"""The faces that the benchmark hands to llvmpipe are those that carlite's cameras see."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats
from harness.carlite.sensors.picture import PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import GROUND, NOTHING
from harness.carlite.sensors.relief import interpolate_relief_height, prepare_relief
from harness.carlite.sensors.scene import SensorScene
from tests.benchmarks.bench_llvmpipe import (
    Llvmpipe,
    find_rendered,
    find_surfaces,
    list_corners,
    list_triangles,
    place_camera,
)
from tests.benchmarks.mesa_views import build_camera
from tests.benchmarks.view_faces import (
    EVEN_WITHIN,
    find_agreement,
    list_faces,
    merge_ground,
    select_in_view,
)
from tests.carlite import ray_worlds

SIZE = {"image_size_x": "160", "image_size_y": "120"}
LEANING = SensorPose((0.4, -0.3, 2.0), (-0.05, 0.3, 0.1))
TOWNS = {
    "flat": ray_worlds.town(),
    "hilly": ray_worlds.town(hills=2.0, deck=True, pieces=150),
}


@pytest.mark.parametrize("place", TOWNS)
def test_the_faces_in_view_show_what_carlite_renders(place: str) -> None:
    scene = SensorScene(TOWNS[place], ray_worlds.crowd(30, seed=3))
    scene.refresh_actors(1)
    camera = PinholeCamera(SIZE)
    depth, thing = find_surfaces(camera, scene, LEANING)
    origin, rotation = place_camera(LEANING)
    faces = select_in_view(list_faces(scene), origin, rotation, camera.edges)
    rendered = find_rendered(scene, faces, LEANING)
    # Embree has no backs of faces: those seen from behind are left out
    corners = list_corners(scene, faces, origin)
    triangles = list_triangles(faces, rendered)
    first = corners[triangles[:, 0]]
    front = np.einsum("ij,ij->i", first["direction"], first["corner"]) < 0
    traced_depth, traced = _trace(corners, triangles[front], rotation, camera)
    assert len(np.unique(thing)) > 10
    assert GROUND in thing
    assert find_agreement(depth, thing, traced_depth, traced) > 0.995
    # without the largest thing the pictures differ
    largest = np.bincount(thing[thing >= 0]).argmax()
    without = triangles[front & (first["number"] != largest)]
    assert find_agreement(depth, thing, *_trace(corners, without, rotation, camera)) < 0.99


def _trace(
    corners: np.ndarray, triangles: np.ndarray, rotation: Floats, camera: PinholeCamera
) -> tuple[Floats, np.ndarray]:
    """Return the depth and the thing of each pixel, by Embree, through the matrix for OpenGL."""
    soup = corners["corner"][triangles].astype(np.float64)
    nothing = np.zeros(len(soup), np.int64)
    tree = ray_worlds.embree_scene(
        ray_worlds.Triangles(
            corners=soup, actor=nothing, label=nothing.astype(np.uint8), solid=nothing > 0,
            piece=nothing,
        )
    )  # fmt: skip
    # the middles of the pixels in clip space, at the far end, and the directions there
    at = [(np.arange(size) + 0.5) * 2 / size - 1 for size in (camera.width, camera.height)]
    across, up = np.meshgrid(at[0], at[1][::-1])
    clip = np.stack([across, up, np.ones_like(up), np.ones_like(up)], axis=-1).reshape(-1, 4)
    ends = clip @ np.linalg.inv(build_camera(rotation, np.array(camera.edges))).T
    directions = ends[:, :3] / np.linalg.norm(ends[:, :3], axis=1)[:, None]
    distance, hit = ray_worlds.embree_hits(tree, np.zeros(3), directions)
    thing = np.where(hit >= 0, corners["number"][triangles[hit, 0]], NOTHING)
    depth = distance * (directions @ rotation[:, 0])
    return depth.reshape(up.shape), thing.reshape(up.shape)


@pytest.mark.parametrize("hills", [0.0, 0.05, 2.0])
def test_the_ground_is_covered_once_and_where_it_was(hills: float) -> None:
    relief = prepare_relief(ray_worlds.ground(side=90.0, hills=hills))
    corners, four = merge_ground(relief)
    rows, columns = relief.heights.shape[0] - 1, relief.heights.shape[1] - 1
    # the area from above, by the corners' places; a triangle's third corner is there twice
    x, y = corners[:, :, 0], corners[:, :, 1]
    area = (x * np.roll(y, -1, axis=1) - np.roll(x, -1, axis=1) * y).sum(axis=1) / 2
    assert (area > 0).all()
    assert area.sum() == pytest.approx(rows * columns * relief.cell**2)
    # the middle of each face is on the ground that rays find
    weight = np.where(four[:, None], [1 / 4, 1 / 4, 1 / 4, 1 / 4], [1 / 3, 1 / 3, 1 / 3, 0.0])
    middle = np.einsum("fk,fki->fi", weight, corners)
    at = (middle[:, :2] - (relief.x, relief.y)) / relief.cell
    traced = [interpolate_relief_height(relief.heights, *place) for place in at.tolist()]
    assert middle[:, 2] == pytest.approx(np.array(traced), abs=2 * EVEN_WITHIN)
    assert len(four) < rows * columns / (60 if hills == 0 else 1 if hills < 1 else 0.5)


def test_agreement_counts_things_and_depths() -> None:
    depth = np.array([10.0, 10.0, 10.0, 50.0])
    thing = np.array([3, GROUND, 4, NOTHING])
    assert find_agreement(depth, thing, depth, thing) == 1.0
    assert find_agreement(depth, thing, depth, np.array([3, 3, 4, NOTHING])) == 0.75
    assert find_agreement(depth, thing, np.array([10.0, 11.0, 10.0, 50.0]), thing) == 0.75
    # there is no depth where there is nothing
    assert find_agreement(depth, thing, np.array([10.2, 10.0, 10.0, 59.0]), thing) == 1.0


def test_without_an_interpreter_for_it_there_is_one_line(tmp_path: Path) -> None:
    peer = Llvmpipe(sys.executable, tmp_path / "no views")
    peer.end()
    assert peer.renderer == ""
    assert len(peer.error.splitlines()) == 1


def test_turned_decks_are_seen_from_below() -> None:
    scene = SensorScene(TOWNS["hilly"], ActorTable())
    faces = list_faces(scene)
    deck = np.flatnonzero(~scene.meshes.closed[scene.shown.mesh[np.maximum(faces.thing, 0)]])
    deck = deck[faces.thing[deck] >= 0]
    up = faces.normal[deck, 2] > 0
    assert len(deck)
    assert up.sum() * 2 == len(deck)
