"""Pictures come back as they were written, in our layout and OPV2V's; augmented, they still fit."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from agents.training.augmentation import augment_sample, mirror_sample, rotate_sample
from agents.training.collect import RecordingPlan, plan_episodes, refuse_other_episodes
from agents.training.commands.collect import make_picture_settings
from agents.training.samples import LidarView, RecordedSamples
from agents.training.seeing import change_brightness
from harness.common.errors import UserError
from harness.common.pictures import FARTHEST_DEPTH, PictureSettings, resize_image
from harness.common.recordings import PROTOCOL, list_scenarios
from harness.datasets.opening import open_recordings
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import CameraImage, Floats
from tests.training.made_up import LOOKERS, write_recording
from tests.training.seen import SIZE, depths_of, images_of, write_seen


def project_point(image: CameraImage, point: Floats) -> Floats:
    """Return column and row of a point in the LiDAR's frame."""
    inverse = np.linalg.inv(build_pose_matrix(image.camera_in_lidar))
    x, y, z = inverse[:3, :3] @ point + inverse[:3, 3]
    seen: Floats = (image.intrinsics @ [y / x, -z / x, 1.0])[:2]
    return seen


@pytest.mark.parametrize("agent", [7, 9, -1])
def test_pictures_come_back(tmp_path: Path, agent: int) -> None:
    write_seen(tmp_path)
    scenario = list_scenarios(tmp_path)[0]
    read = scenario.read_images(agent, "000001")
    for one, other in zip(read, images_of(agent), strict=True):
        small = resize_image(other, 64, 48)
        np.testing.assert_array_equal(one.pixels, small.pixels)
        np.testing.assert_allclose(one.intrinsics, small.intrinsics)
        assert (one.name, one.above_road) == (other.name, other.above_road)
        apart = build_pose_matrix(one.camera_in_lidar) - build_pose_matrix(other.camera_in_lidar)
        assert np.abs(apart).max() < 2e-4
    for metres, written in zip(
        scenario.read_depths(agent, "000001"), depths_of(agent), strict=True
    ):
        assert np.abs(metres - written.clip(0, FARTHEST_DEPTH)).max() <= 0.0051


def test_keys_of_a_camera_are_opv2vs(tmp_path: Path) -> None:
    write_seen(tmp_path)
    record = json.loads((tmp_path / "seen/7/000000.yaml").read_text())
    front = record["camera0"]
    x, y, z, roll, yaw, pitch = front["cords"]
    lidar = LOOKERS[7]
    # this camera stands 0.45 m above the LiDAR and looks as its car does
    assert (x, y, z) == pytest.approx((lidar.x, lidar.y, lidar.z + 0.45))
    assert (roll, yaw, pitch) == pytest.approx((0.0, math.degrees(0.4), 0.0))
    assert front["extrinsic"][2][3] == pytest.approx(-0.45)
    assert front["intrinsic"][0][2] == 32.0


def test_a_smaller_picture_has_the_mean_of_what_it_covers() -> None:
    image = images_of(7)[0]
    small = resize_image(image, 32, 24)
    blocks = image.pixels.reshape(24, 4, 32, 4, 3).astype(float).mean((1, 3))
    assert np.abs(small.pixels - blocks).max() <= 1.0  # rounded twice
    point = np.array([20.0, 3.0, 0.0])
    np.testing.assert_allclose(project_point(small, point), project_point(image, point) / 4)


def test_jpeg_is_smaller_and_near(tmp_path: Path) -> None:
    write_seen(tmp_path / "png")
    write_seen(tmp_path / "jpeg", replace(SIZE, format="jpeg", quality=95))
    sizes = {
        kind: sum(file.stat().st_size for file in (tmp_path / kind).rglob("*_camera*"))
        for kind in ("png", "jpeg")
    }
    assert 0 < sizes["jpeg"] < sizes["png"]
    assert list_scenarios(tmp_path / "jpeg")[0].read_images(7, "000000")[0].pixels.shape[2] == 3


def test_opv2vs_layout_gives_pictures_too(tmp_path: Path) -> None:
    write_seen(tmp_path)
    scenario = tmp_path / "seen"
    for agent in LOOKERS:
        for moment in ("000000", "000001"):
            header = "VERSION 0.7\nFIELDS x y z intensity\nSIZE 4 4 4 4\nTYPE F F F F\n"
            header += "COUNT 1 1 1 1\nWIDTH 1\nHEIGHT 1\nPOINTS 1\nDATA ascii\n"
            (scenario / str(agent) / f"{moment}.pcd").write_text(header + "1 2 3 0.5\n")
    opened = open_recordings(tmp_path)[0]
    read = opened.read_images(9, "000000")
    assert [image.name for image in read] == ["front", "left", "right", "rear"]
    np.testing.assert_array_equal(read[2].pixels, resize_image(images_of(9)[2], 64, 48).pixels)


@pytest.mark.parametrize("change", ["mirrored", "turned"])
def test_augmented_pictures_still_fit_the_points(tmp_path: Path, change: str) -> None:
    write_seen(tmp_path)
    sample = RecordedSamples(list_scenarios(tmp_path), units=False, pictures=True).read_sample(0)
    if change == "mirrored":
        changed = mirror_sample(sample)
    else:
        changed = rotate_sample(sample, [0.5, -0.4, 0.3])
    for before, after in zip(
        (sample.ego, *sample.partners), (changed.ego, *changed.partners), strict=True
    ):
        check_same_pixels(before, after, mirrored=change == "mirrored")


def check_same_pixels(before: LidarView, after: LidarView, *, mirrored: bool) -> None:
    """Check that points fall on the pixels that they fell on before."""
    for one, other in zip(before.images, after.images, strict=True):
        for row in range(0, len(before.points_in_lidar), 500):
            column, down = project_point(one, before.points_in_lidar[row, :3].astype(float))
            changed, further = project_point(other, after.points_in_lidar[row, :3].astype(float))
            expected = one.pixels.shape[1] - column if mirrored else column
            assert changed == pytest.approx(expected, rel=1e-3, abs=0.05)
            assert further == pytest.approx(down, rel=1e-3, abs=0.05)
        if mirrored:
            np.testing.assert_array_equal(other.pixels, one.pixels[:, ::-1])


def test_samples_with_pictures_are_not_scaled(tmp_path: Path) -> None:
    write_seen(tmp_path)
    sample = RecordedSamples(list_scenarios(tmp_path), units=False, pictures=True).read_sample(0)
    sizes = sample.truth.boxes_in_lidar.geometry[:, 3:6]
    for seed in range(4):
        changed = augment_sample(sample, np.random.default_rng(seed))
        np.testing.assert_allclose(changed.truth.boxes_in_lidar.geometry[:, 3:6], sizes)


def test_brightness_only_falls() -> None:
    image = images_of(7)[0]
    darker = change_brightness(image, np.random.default_rng(1))
    assert (darker.pixels <= image.pixels).all()
    assert darker.pixels.mean() < image.pixels.mean()


def test_recordings_without_pictures_are_refused_where_they_are_needed(tmp_path: Path) -> None:
    write_recording(tmp_path)
    with pytest.raises(UserError, match="has no pictures"):
        RecordedSamples(list_scenarios(tmp_path), units=False, pictures=True)


def test_a_broken_picture_is_one_line(tmp_path: Path) -> None:
    write_seen(tmp_path)
    scenario = list_scenarios(tmp_path)[0]
    file = tmp_path / "seen/7/000000_camera1.png"
    file.write_bytes(file.read_bytes()[:200])
    with pytest.raises(UserError, match="000000_camera1: not a picture"):
        scenario.read_images(7, "000000")
    file.unlink()
    with pytest.raises(UserError, match=r"000000_camera1\.png: missing"):
        scenario.read_images(7, "000000")
    depth = tmp_path / "seen/7/000000_depth2.png"
    Image.fromarray(np.zeros((4, 4, 3), np.uint8)).save(depth)
    with pytest.raises(UserError, match="one channel"):
        scenario.read_depths(7, "000000")


@pytest.mark.parametrize(
    ("rig", "size", "jpeg", "why"),
    [
        ("v2xverse", "axb", None, "WIDTHxHEIGHT"),
        ("v2xverse_cameras", "256x0", None, "1 to 4096"),
        ("v2xverse_cameras", "256x192", 99, "quality 99"),
        ("nothing", "256x192", None, "unknown"),
    ],
)
def test_wrong_options_of_collect(rig: str, size: str, jpeg: int | None, why: str) -> None:
    with pytest.raises(UserError, match=why):
        make_picture_settings(rig, size, jpeg)


def test_a_rig_without_cameras_records_no_pictures() -> None:
    assert make_picture_settings("v2xverse", "256x192", None) is None
    assert make_picture_settings("opv2v", "256x192", None) == PictureSettings()


def test_a_recording_without_pictures_is_not_gone_on_with_pictures(tmp_path: Path) -> None:
    plain = RecordingPlan(out=tmp_path, towns=("CrucibleOld",), scenarios=1, seed=5)
    seen = replace(plain, rig="v2xverse_cameras", pictures=SIZE)
    for recorded, wanted in ((plain, seen), (seen, plain)):
        (episode,), (asked,) = plan_episodes(recorded), plan_episodes(wanted)
        protocol = tmp_path / episode.get_scenario_name(0) / PROTOCOL
        protocol.parent.mkdir(exist_ok=True)
        protocol.write_text(json.dumps(episode.make_record()))
        refuse_other_episodes(tmp_path, episode)
        with pytest.raises(UserError, match=r"other .*pictures; name another"):
            refuse_other_episodes(tmp_path, asked)
