"""Passes of pictures that take many pixels at once, against plain ways for one pixel."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from harness.carlite import compiled
from harness.carlite.actors import ActorTable
from harness.carlite.arrays import Floats, Int32s
from harness.carlite.compiled import vectorised
from harness.carlite.sensors import finish
from harness.carlite.sensors.frames import build_rotation_matrix
from harness.carlite.sensors.ground_look import prepare_ground_look, prepare_ground_shine
from harness.carlite.sensors.paint_buffers import Pixels, make_paint_buffers
from harness.carlite.sensors.picture import PinholeCamera
from harness.carlite.sensors.protocol import SensorPose
from harness.carlite.sensors.rasterise import (
    GROUND,
    NOTHING,
    rasterise_ground,
    rasterise_things,
)
from harness.carlite.sensors.relief import compute_relief_slope
from harness.carlite.sensors.scene import SensorScene
from harness.carlite.sensors.shadows import LIFT, ShadowMap, shade_run
from tests.carlite import ray_worlds
from tests.carlite.slow_ground import trace_ground_slowly

POSES = {
    "level": SensorPose((0.0, 0.0, 1.8), (0.0, 0.3, 0.0)),
    "rolled": SensorPose((2.0, 1.0, 3.0), (-0.2, 2.0, 0.5)),
    "from above": SensorPose((0.0, 0.0, 40.0), (-np.pi / 2, 1.0, 0.0)),
    "on a deck": SensorPose((0.0, 30.0, 9.0), (0.0, 0.5, 0.0)),
    "from outside the grid": SensorPose((-140.0, 10.0, 5.0), (-0.05, 0.1, 0.0)),
    "on its head": SensorPose((0.0, 0.0, 3.0), (0.1, 2.5, np.pi)),
}


@pytest.mark.parametrize("hills", [0.0, 1.0])
@pytest.mark.parametrize("pose", POSES.values(), ids=POSES.keys())
@pytest.mark.parametrize("size", [(130, 90), (31, 40)])
def test_rays_side_by_side_meet_the_ground_where_single_ones_do(
    hills: float, pose: SensorPose, size: tuple[int, int]
) -> None:
    scene = SensorScene(ray_worlds.town(hills=hills, deck=True), ray_worlds.crowd(40, seed=3))
    camera = PinholeCamera({"image_size_x": str(size[0]), "image_size_y": str(size[1])})
    origin, rotation = np.array(pose.position), build_rotation_matrix(*pose.rotation)
    fan = camera.render_picture(scene, pose, 1).fan
    traced = []
    for trace in (rasterise_ground, trace_ground_slowly):
        nearness, source = np.empty(size), np.full(size, NOTHING, np.int32)
        nearness[:] = fan.cosine[:, None] / 1000.0
        rasterise_things(scene.shown, scene.meshes, rotation, origin, 2000.0, fan, nearness, source)
        trace(scene.relief, rotation, origin, 2000.0, fan, nearness, source)
        traced.append((nearness.tobytes(), source.tobytes(), (source == GROUND).sum()))
    assert traced[0] == traced[1]
    assert traced[0][2] > 0


def find_lit_share(shadows: ShadowMap, x: float, y: float, z: float) -> float:
    """Return how much of the light reaches a point: of the four cells round it."""
    rows, columns = shadows.heights.shape
    u = (x - z * shadows.slant[0] - shadows.x) / shadows.cell - 0.5
    v = (y - z * shadows.slant[1] - shadows.y) / shadows.cell - 0.5
    if not (0 <= u < columns - 1 and 0 <= v < rows - 1):
        return 1.0
    i, j = int(v), int(u)
    part_u, part_v = u - j, v - i
    shares = ((1 - part_u) * (1 - part_v), part_u * (1 - part_v), (1 - part_u) * part_v)
    weights = np.array([[shares[0], shares[1]], [shares[2], part_u * part_v]])
    return float(weights[shadows.heights[i : i + 2, j : j + 2] <= z + LIFT].sum())


def test_light_reaches_pixels_by_the_four_cells_around_them() -> None:
    scene = SensorScene(ray_worlds.town(hills=1.0), ActorTable())
    shadows = scene.find_light().shadows
    rng = np.random.default_rng(8)
    buffers = make_paint_buffers(5000)
    buffers.x[:], buffers.y[:] = rng.uniform(-130, 130, (2, 5000))
    buffers.z[:] = rng.uniform(-1, 6, 5000)
    buffers.shone[:] = 0.5
    shade_run(shadows, 100, 5000, buffers)
    points = np.stack([buffers.x, buffers.y, buffers.z], axis=1).astype(np.float64)
    expected = np.array([0.5 * find_lit_share(shadows, *point) for point in points.tolist()])
    np.testing.assert_array_equal(buffers.shone[:100], 0.5)
    np.testing.assert_allclose(buffers.shone[100:], expected[100:], atol=1e-6)
    # in the sun, in shadow and between
    assert (expected == 0).sum() > 100
    assert (expected == 0.5).sum() > 1000
    assert ((expected > 0) & (expected < 0.5)).sum() > 50


def test_light_falls_on_the_ground_as_its_slope_says() -> None:
    relief = SensorScene(ray_worlds.town(hills=2.0), ActorTable()).relief
    key = np.array([0.6, -0.48, 0.64])
    shine = prepare_ground_shine(prepare_ground_look(relief), key)
    rng = np.random.default_rng(2)
    columns = relief.heights.shape[1] - 1
    for row, column in rng.uniform(1, columns - 1, (200, 2)).tolist():
        rise_x, rise_y = compute_relief_slope(relief.heights, relief.cell, column, row)
        normal = np.array([-rise_x, -rise_y, 1.0]) / np.sqrt(1 + rise_x**2 + rise_y**2)
        upper = column - int(column) < row - int(row)
        fallen = shine[int(row) * columns + int(column), int(upper)]
        assert fallen == pytest.approx(max(normal @ key, 0.0), abs=1e-6)
    assert shine.std() > 0.02


def _follow(
    source: Int32s, at: tuple[int, int], across: tuple[int, int], sense: int
) -> tuple[int, int]:
    """Return how many pixels an edge goes on, and to which side it then steps, step by step."""
    (x, y), (ax, ay) = at, across
    one, other = source[x, y], source[x + ax, y + ay]
    for step in range(1, finish.LONGEST_STEP + 1):
        u, v = x + sense * step * ay, y + sense * step * ax
        if u < 0 or v < 0 or u + ax >= source.shape[0] or v + ay >= source.shape[1]:
            return step - 1, 0
        here, beyond = source[u, v], source[u + ax, v + ay]
        if here != one or beyond != other:
            if here == beyond and here in (one, other):
                return step - 1, -1 if here == other else 1
            return step - 1, 0
    return finish.LONGEST_STEP, 0


def smooth_slowly(source: Int32s, image: np.ndarray) -> None:
    """Blend steps of edges, each followed from its own pixel."""
    width, height = source.shape
    for ax, ay in ((0, 1), (1, 0)):
        for x in range(width - ax):
            for y in range(height - ay):
                if source[x, y] == source[x + ax, y + ay]:
                    continue
                before, first = _follow(source, (x, y), (ax, ay), -1)
                after, second = _follow(source, (x, y), (ax, ay), 1)
                if first == 0 and second == 0:
                    continue
                place = (before + 0.5) / (before + after + 1)
                if first * second < 0:
                    shift = 0.5 * (first + place * (second - first))
                elif place < 0.5:
                    shift = 0.5 * first * (1 - 2 * place)
                else:
                    shift = 0.5 * second * (2 * place - 1)
                one, other = (height - 1 - y, x), (height - 1 - y - ay, x + ax)
                colours = image[one], image[other]
                if shift > 0:
                    image[other] = finish.blend_pixels(colours[1], colours[0], shift)
                elif shift < 0:
                    image[one] = finish.blend_pixels(colours[0], colours[1], -shift)


@pytest.mark.parametrize("faces", [2, 3, 40])
def test_edges_are_smoothed_as_if_all_pixels_followed_them(faces: int) -> None:
    rng = np.random.default_rng(faces)
    width, height = 150, 140
    x, y = np.meshgrid(np.arange(width), np.arange(height), indexing="ij")
    # straight edges of many slants, and some noise
    source = np.zeros((width, height), np.int32)
    for _ in range(12):
        a, b = rng.normal(size=2)
        middle = rng.uniform(0, [width, height])
        source[(x - middle[0]) * a + (y - middle[1]) * b > 0] += rng.integers(1, faces)
    source %= faces
    source[rng.random((width, height)) < 0.002] = NOTHING
    plain: Pixels = rng.integers(0xFF000000, 1 << 32, (height, width), dtype=np.uint32)
    smooth, expected = plain.copy(), plain.copy()
    finish.smooth_edges(source, smooth)
    smooth_slowly(source, expected)
    np.testing.assert_array_equal(smooth, expected)
    assert (smooth != plain).sum() > 100


def add_other_numbers(sums: Floats, others: Floats) -> None:
    for k in range(len(sums)):
        sums[k] += others[k]


def test_vectorised_functions_are_compiled_for_arrays_that_share_no_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A numba without the flag gives equal pictures, slowly: nothing else would show it."""
    # code that comes from disk cannot be looked at
    monkeypatch.setattr(compiled, "FOLDER", tmp_path)
    kernel: Any = vectorised(add_other_numbers)
    kernel(np.ones(8), np.ones(8))
    (code,) = kernel.inspect_llvm().values()
    for data in ("sums.4", "others.4"):
        assert re.search(rf"ptr noalias [^,]*%arg\.{data},", code)
