"""Pictures of an export in OPV2V's layout, and the map of what cameras see."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
import yaml
from PIL import Image

from harness.datasets.export import export_dataset
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_pictures import (
    find_boxes_in_depths,
    project_points,
    rasterise_visible_boxes,
)
from tests.datasets.pictured import COLUMNS, ROWS, make_images, write_pictured_recording


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    write_pictured_recording(tmp_path / "recorded")
    export_dataset(tmp_path / "recorded", tmp_path / "out", "opv2v")
    return tmp_path / "out"


def test_order_is_front_right_left_rear_and_pixels_are_equal(exported: Path) -> None:
    record = yaml.safe_load((exported / "made-up/7/000001.yaml").read_text())
    names = [record[f"camera{number}"]["name"] for number in range(4)]
    assert names == ["front", "right", "left", "rear"]
    known = {image.name: image for image in make_images(7, 1)}
    for number, name in enumerate(names):
        with Image.open(exported / f"made-up/7/000001_camera{number}.png") as shown:
            assert np.array_equal(np.asarray(shown), known[name].pixels)
        with Image.open(exported / f"made-up/7/000001_depth{number}.png") as deep:
            assert deep.mode == "L"  # metres, as HEAL has them
            assert set(np.asarray(deep).ravel()) == {12}


def test_scenes_are_read_again(exported: Path) -> None:
    (before,) = open_recordings(exported.parent / "recorded")
    (after,) = open_recordings(exported)
    recorded = {image.name: image for image in before.read_images(9, "000002")}
    for image in after.read_images(9, "000002"):
        assert np.array_equal(image.pixels, recorded[image.name].pixels)
        assert image.camera_in_lidar == pytest.approx(
            recorded[image.name].camera_in_lidar, abs=1e-5
        )
        assert np.allclose(image.intrinsics, recorded[image.name].intrinsics)
    assert after.read_depths(9, "000002")[0] == pytest.approx(12.0)


def test_extrinsics_lead_from_the_lidar_into_the_camera(exported: Path) -> None:
    # by the definition: a point ahead of the camera falls on the middle of the picture
    record = yaml.safe_load((exported / "made-up/9/000000.yaml").read_text())
    known = {image.name: image for image in make_images(9, 0)}
    for number in range(4):
        camera = record[f"camera{number}"]
        image = known[camera["name"]]
        pose = image.camera_in_lidar
        along, rise = math.cos(pose.pitch), math.sin(pose.pitch)
        ahead = np.array([math.cos(pose.yaw) * along, math.sin(pose.yaw) * along, rise])
        point = np.array([pose.x, pose.y, pose.z]) + 7.0 * ahead
        x, y, z, _ = np.array(camera["extrinsic"]) @ [*point, 1.0]
        assert (x, y, z) == pytest.approx((7.0, 0.0, 0.0), abs=1e-6)
        assert project_points(point[None], image)[0] == pytest.approx(
            [COLUMNS / 2, ROWS / 2, 7.0], abs=1e-6
        )


def test_map_shows_a_vehicle_where_heal_looks() -> None:
    boxes = np.array([[10.0, -4.0, 0.0, 4.5, 1.9, 1.6, 0.3], [-30.0, 20.0, 0.0, 12.0, 2.5, 3, 2.0]])
    shown = rasterise_visible_boxes(boxes)
    assert shown.shape == (256, 256, 3)
    for x, y in boxes[:, :2]:
        assert shown[127 - int(x / 0.39), 127 + int(y / 0.39)].all()
    # the area in cells is that of the boxes, to the width of a line
    area = (boxes[:, 3] * boxes[:, 4]).sum() / 0.39**2
    assert area < (shown[..., 0] > 0).sum() < 1.6 * area
    assert not rasterise_visible_boxes(np.array([[80.0, 0, 0, 4, 2, 1.5, 0]])).any()


def test_a_vehicle_behind_a_wall_is_not_seen() -> None:
    front = make_images(7, 0)[0]
    pose = front.camera_in_lidar
    ahead = np.array([math.cos(pose.pitch), 0.0, math.sin(pose.pitch)])
    middle = np.array([pose.x, pose.y, pose.z]) + 15.0 * ahead
    box = np.array([[*middle, 4.0, 2.0, 2.0, 0.0]])
    depth = np.full((ROWS, COLUMNS), 13.2, np.float32)
    assert find_boxes_in_depths(box, [front], [depth]).tolist() == [True]
    assert find_boxes_in_depths(box, [front], [depth - 6.0]).tolist() == [False]


def test_without_depths_returns_and_view_decide(tmp_path: Path) -> None:
    write_pictured_recording(tmp_path / "recorded", depths=False)
    export_dataset(tmp_path / "recorded", tmp_path / "out", "opv2v")
    place = tmp_path / "out/made-up/7"
    assert not list(place.glob("*_depth*.png"))
    with Image.open(place / "000000_bev_visibility.png") as shown:
        assert np.asarray(shown).any()
