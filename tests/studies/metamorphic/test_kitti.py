"""A car more in a synthetic frame of KITTI: points, pixels and label agree; bad input is a line."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from harness.common.errors import UserError
from harness.types.vocabulary import Floats
from studies.metamorphic.__main__ import main
from studies.metamorphic.geometry.placement import is_clear_of_boxes
from studies.metamorphic.kitti.frames import (
    KittiFrame,
    list_kitti_frames,
    parse_rectangle,
    read_kitti_frame,
    write_kitti_frame,
)
from studies.metamorphic.kitti.insertion import (
    RINGS,
    collect_label_boxes,
    find_free_place,
    find_hidden_pixels,
    format_label,
    insert_into_frame,
    match_colours,
    render_car,
)

ROWS, WIDE, FOCAL = 120, 400, 230.0
HEIGHT = 1.73
CALIB = f"""P0: 1 0 0 0 0 1 0 0 0 0 1 0
P2: {FOCAL} 0 {WIDE / 2} 14 0 {FOCAL} {ROWS / 2 - 10} 0.2 0 0 1 0.003
R0_rect: 1 0 0 0 1 0 0 0 1
Tr_velo_to_cam: 0 -1 0 0 0 0 -1 -0.08 1 0 0 -0.27
Tr_imu_to_velo: 1 0 0 0 0 1 0 0 0 0 1 0
"""
POST = (8.0, -0.6, 0.6)
"""A wall that stands ahead: its distance, and its sides in KITTI's y."""


def write_sample(folder: Path, level: float = 110.0) -> None:
    """Write a level road, a house behind it and a post in front, as a Velodyne and a camera do."""
    elevation, azimuth = np.meshgrid(RINGS, np.radians(np.arange(-60, 60, 0.17)))
    rays = np.stack(
        [
            np.cos(elevation) * np.cos(azimuth),
            np.cos(elevation) * np.sin(azimuth),
            np.sin(elevation),
        ],
        axis=-1,
    ).reshape(-1, 3)
    with np.errstate(divide="ignore"):
        ground = np.where(rays[:, 2] < 0, -HEIGHT / rays[:, 2], np.inf)
        wall = 48.0 / rays[:, 0]
        post = POST[0] / rays[:, 0]
    at_wall, at_post = rays * wall[:, None], rays * post[:, None]
    wall[(at_wall[:, 2] > 6.0) | (np.abs(at_wall[:, 1]) > 60.0)] = np.inf
    side = (at_post[:, 1] > POST[1]) & (at_post[:, 1] < POST[2])
    post[~side | (at_post[:, 2] > 0.8) | (at_post[:, 2] < -HEIGHT)] = np.inf
    away = np.minimum(np.minimum(ground, wall), post)
    kept = away < 100.0
    points = np.column_stack([rays * away[:, None], np.full(len(rays), 0.2)])[kept]
    for part in ("image_2", "velodyne", "calib", "label_2"):
        (folder / part).mkdir(parents=True)
    points.astype("<f4").tofile(folder / "velodyne" / "000007.bin")
    (folder / "calib" / "000007.txt").write_text(CALIB)
    shade = np.linspace(0.8, 1.2, ROWS)[:, None, None] * np.array([1.05, 1.0, 0.9]) * level
    pixels = np.broadcast_to(shade, (ROWS, WIDE, 3)) + np.random.default_rng(1).normal(
        0, 6, (ROWS, WIDE, 3)
    )
    image = Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))
    image.save(folder / "image_2" / "000007.png")
    line = "Pedestrian 0.00 0 0.00 183.00 40.00 217.00 100.00 2.5 0.6 1.2 0.00 1.60 8.00 0.00"
    (folder / "label_2" / "000007.txt").write_text(line + "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_sample(tmp_path / "training")
    return tmp_path / "training"


@pytest.fixture
def frame(folder: Path) -> KittiFrame:
    return read_kitti_frame(folder, "000007")


def new_points(before: KittiFrame, after: KittiFrame) -> Floats:
    known = {tuple(row) for row in before.points.tolist()}
    return np.array([row for row in after.points.tolist() if tuple(row) not in known])


def test_points_fall_where_kittis_matrices_have_them(frame: KittiFrame) -> None:
    calibration = frame.calibration
    # 10 m ahead, 2 m to KITTI's left, 1 m below: by hand
    x, y, z = 2 * -1.0, 1.0 - 0.08, 10 - 0.27
    column = (FOCAL * x + WIDE / 2 * z + 14) / (z + 0.003)
    row = (FOCAL * y + (ROWS / 2 - 10) * z + 0.2) / (z + 0.003)
    seen = calibration.project(np.array([[10.0, -2.0, -1.0]]))[0]
    assert seen[:2] == pytest.approx([column, row])
    # a pixel's ray from the camera's place meets what falls on it
    ray = calibration.compute_rays(seen[:1], seen[1:2])[0]
    towards = np.array([10.0, -2.0, -1.0]) - calibration.camera_in_velodyne
    assert ray == pytest.approx(towards / np.linalg.norm(towards), abs=1e-6)


@pytest.mark.parametrize("seed", range(4))
def test_pixels_points_and_label_are_of_one_car(frame: KittiFrame, seed: int) -> None:
    after = insert_into_frame(frame, np.random.default_rng(seed))
    *others, line = after.labels
    assert len(others) == len(frame.labels)
    words = line.split()
    left, top, right, bottom = parse_rectangle(line)
    height, width, length, x, y, z, turn = map(float, words[8:15])
    # its corners, by KITTI's definition of a box in camera axes
    cos, sin = math.cos(turn), math.sin(turn)
    corners = np.array(
        [
            (x + cos * a + sin * b, y - c, z - sin * a + cos * b)
            for a in (-length / 2, length / 2)
            for b in (-width / 2, width / 2)
            for c in (0.0, height)
        ]
    )
    seen = np.column_stack([corners, np.ones(8)]) @ frame.calibration.projection.T
    at = seen[:, :2] / seen[:, 2:]
    box = np.clip([*at.min(axis=0), *at.max(axis=0)], 0, [WIDE, ROWS, WIDE, ROWS])
    shared = (min(box[2], right) - max(box[0], left)) * (min(box[3], bottom) - max(box[1], top))
    union = (box[2] - box[0]) * (box[3] - box[1]) + (right - left) * (bottom - top) - shared
    assert shared / union > 0.6
    # pixels changed there, and in the shadow at its foot
    changed = np.argwhere((after.pixels != frame.pixels).any(axis=2))
    inside = (changed[:, 1] >= left - 2) & (changed[:, 1] <= right + 2)
    inside &= (changed[:, 0] >= top - 2) & (changed[:, 0] <= bottom + 2)
    assert inside.sum() > 30
    assert inside.mean() > 0.5
    # points lie in the box and fall into the rectangle
    points = new_points(frame, after)
    assert len(points) > 5
    column, row, depth = frame.calibration.project(points[:, :3]).T
    assert (depth > 0).all()
    near = (column > left - 4) & (column < right + 4) & (row > top - 4) & (row < bottom + 4)
    clipped = (column < 0) | (column >= WIDE) | (row < 0) | (row >= ROWS)
    assert (near | clipped).mean() > 0.95
    # points that it hides are gone: no old point is behind it
    assert len(after.points) < len(frame.points) + len(points)


def test_a_car_stands_clear_of_labelled_objects(frame: KittiFrame) -> None:
    """A labelled car that no point shows, as behind another one, is not driven into."""
    placed = find_free_place(frame, np.random.default_rng(3))
    mask = render_car(frame, placed, np.full(3, 90.0)).mask
    line = format_label(frame.calibration, placed, mask, 0.0)
    taken = replace(frame, labels=(line,))
    (box,) = collect_label_boxes(taken)
    assert box == pytest.approx(placed.box_in_world.geometry[0], abs=0.011)
    other = find_free_place(taken, np.random.default_rng(3))
    assert is_clear_of_boxes(box[None], other.box_in_world.geometry[0])


def test_what_is_nearer_stays_in_front(frame: KittiFrame) -> None:
    for seed in range(60):
        random = np.random.default_rng(seed)
        placed = find_free_place(frame, random)
        car = render_car(frame, placed, np.array([200.0, 20.0, 20.0]))
        hidden = find_hidden_pixels(frame, car)
        if placed.centre_in_world.x > 12 and 20 < hidden.sum() < 0.8 * car.mask.sum():
            break
    else:
        pytest.fail("no car was partly hidden by the post")
    # hidden pixels lie where the post is
    columns = np.flatnonzero(hidden.any(axis=0))
    edge = frame.calibration.project(np.array([[POST[0], side, 0.0] for side in POST[1:]]))[:, 0]
    assert columns.min() >= edge.min() - 8
    assert columns.max() <= edge.max() + 8


def test_colours_are_those_of_the_scene() -> None:
    random = np.random.default_rng(2)
    car = random.uniform(20, 220, (500, 3))
    for level in (40.0, 110.0, 180.0):
        around = np.clip(random.normal(level, 15, (800, 1)) * [1.1, 1.0, 0.8], 0, 255)
        matched = match_colours(car, around)
        assert matched.mean() == pytest.approx(around.mean(), rel=0.05)
        warm = matched.mean(axis=0)
        assert warm[0] > warm[1] > warm[2]
    np.testing.assert_array_equal(match_colours(car, np.zeros((0, 3))), car)


def test_a_frame_comes_back(frame: KittiFrame, tmp_path: Path) -> None:
    write_kitti_frame(tmp_path / "copy", frame)
    again = read_kitti_frame(tmp_path / "copy", frame.name)
    np.testing.assert_array_equal(again.pixels, frame.pixels)
    np.testing.assert_array_equal(again.points, frame.points)
    assert (again.labels, again.calibration.text) == (frame.labels, CALIB)


def test_the_command_writes_kittis_layout_and_resumes(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["metamorphic", "kitti", str(folder), "--out", str(tmp_path / "out")]
    assert main(words) == 0
    assert "1 of 1 frames with a car more" in capsys.readouterr().out
    assert list_kitti_frames(tmp_path / "out") == ["000007"]
    written = {
        file: file.read_bytes() for file in sorted((tmp_path / "out").rglob("*")) if file.is_file()
    }
    assert main(words) == 0
    assert {file: file.read_bytes() for file in written} == written
    assert main([*words, "--seed", "2"]) == 2
    assert main(["metamorphic", "kitti", str(folder), "--out", str(folder)]) == 2


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("velodyne/000007.bin", b"12345", "not a sweep of KITTI"),
        ("velodyne/000007.bin", np.full(4, np.nan, "<f4").tobytes(), "not finite"),
        ("calib/000007.txt", b"P2: 1 2 3", "not a calibration of KITTI"),
        ("calib/000007.txt", CALIB.replace("R0_rect: 1", "R0_rect: 0").encode(), "calibration"),
        ("label_2/000007.txt", b"Car 0 0", "not labels of KITTI"),
        ("image_2/000007.png", b"no picture", "not a picture"),
    ],
)
def test_bad_input_is_one_line(folder: Path, file: str, content: bytes, why: str) -> None:
    (folder / file).write_bytes(content)
    with pytest.raises(UserError, match=why):
        read_kitti_frame(folder, "000007")


def test_an_empty_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="no frame with image_2"):
        list_kitti_frames(tmp_path)
