"""Parts of the child: frames, corners, settings, and which file is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.opencood.child.allowances import compute_pixel_overlaps
from agents.opencood.child.scenes import (
    count_cells_in_range,
    place_camera,
    to_box_rows,
    to_their_corners,
    to_their_pose,
)
from agents.opencood.child.settings import cut_ranges, find_weights, prepare_settings

ROWS = np.array([[10.0, -3.0, -1.0, 4.5, 1.9, 1.6, 0.7], [-5.0, 8.0, 0.5, 12.0, 2.5, 3.4, -2.9]])


@pytest.mark.parametrize("mirrored", [False, True])
def test_boxes_are_the_same_after_their_corners(mirrored: bool) -> None:
    corners = to_their_corners(ROWS, mirrored)
    assert corners.shape == (2, 8, 3)
    assert np.allclose(to_box_rows(corners, mirrored), ROWS)


def test_corners_begin_ahead_on_the_left() -> None:
    """OpenCOOD, `boxes_to_corners_3d`: (+l, -w), (+l, +w), (-l, +w), (-l, -w) below, then above."""
    corners = to_their_corners(np.array([[0.0, 0.0, 0.0, 4.0, 2.0, 1.0, 0.0]]), mirrored=False)[0]
    assert corners[:4].tolist() == [[2, -1, -0.5], [2, 1, -0.5], [-2, 1, -0.5], [-2, -1, -0.5]]
    assert corners[4].tolist() == [2, -1, 0.5]


def test_poses_are_in_degrees_and_mirrored_on_request() -> None:
    pose = [1.0, 2.0, 3.0, np.radians(30.0), np.radians(4.0), np.radians(5.0)]
    assert to_their_pose(pose, mirrored=False) == pytest.approx([1, 2, 3, 5, 30, 4])
    assert to_their_pose(pose, mirrored=True) == pytest.approx([1, -2, 3, -5, -30, 4])


def test_a_pixel_ahead_is_ahead_of_the_lidar() -> None:
    camera = {"matrix": np.eye(4).tolist(), "intrinsic": np.eye(3).tolist()}
    ahead, right, down = np.eye(3)[2], np.eye(3)[0], np.eye(3)[1]
    for mirrored, side in ((False, 1.0), (True, -1.0)):
        turn = place_camera(camera, mirrored)["matrix"][:3, :3]
        assert (turn @ ahead).tolist() == [1, 0, 0]
        assert (turn @ right).tolist() == [0, side, 0]
        assert (turn @ down).tolist() == [0, 0, -1]


def test_cells_are_counted_inside_the_range_only() -> None:
    points = np.array([[0.5, 0.5, 0.0], [0.6, 0.4, 0.0], [3.5, 0.5, 0.0], [40.0, 0.0, 0.0]])
    assert count_cells_in_range(points, [-32, -32, -3, 32, 32, 1]) == 2
    away = np.eye(4)
    away[0, 3] = 31.0
    assert count_cells_in_range(points, [-32, -32, -3, 32, 32, 1], away) == 1


def test_sides_are_one_pixel_longer() -> None:
    """Two boxes of 2 by 2 pixels share one of seven."""
    assert compute_pixel_overlaps([[0, 0, 1, 1]], [[1, 1, 2, 2]])[0, 0] == pytest.approx(1 / 7)


def test_ranges_are_cut_wherever_they_are() -> None:
    hypes: dict[str, Any] = {
        "preprocess": {"cav_lidar_range": [-140.8, -40, -3, 140.8, 40, 1]},
        "model": {"args": {"parts": [{"lidar_range": [-140.8, -40, -3, 140.8, 40, 1]}]}},
        "fuse": {"conv_gru": {"H": 50, "W": 176}},
    }
    cut_ranges(hypes, 25.6)
    cut = [-25.6, -25.6, -3, 25.6, 25.6, 1]
    assert hypes["preprocess"]["cav_lidar_range"] == cut
    assert hypes["model"]["args"]["parts"][0]["lidar_range"] == cut
    assert hypes["fuse"]["conv_gru"] == {"H": 32, "W": 32}


def test_the_best_epoch_is_read_then_the_latest(tmp_path: Path) -> None:
    names = ["net_epoch9.pth", "net_epoch11.pth", "latest.pth", "net_epoch_bestval_at7.pth"]
    expected = ["net_epoch9.pth", "net_epoch11.pth", "latest.pth", "net_epoch_bestval_at7.pth"]
    for name, wanted in zip(names, expected, strict=True):
        (tmp_path / name).touch()
        assert find_weights(tmp_path).name == wanted


def test_what_disturbs_is_switched_off_with_a_note() -> None:
    hypes: dict[str, Any] = {
        "noise_setting": {"add_noise": True},
        "wild_setting": {"async": True, "loc_err": False},
        "box_align": {"args": {}},
        "model": {"args": {"N": 4, "m2": {"encoder_args": {"depth_supervision": True}}}},
        "input_source": ["camera", "depth"],
    }
    notes = prepare_settings(hypes, "/empty")
    assert len(notes) == 3
    assert hypes["noise_setting"] == {"add_noise": False}
    assert hypes["wild_setting"]["async"] is False
    assert hypes["input_source"] == ["camera"]
    assert hypes["model"]["args"]["N"] == 1
    assert hypes["model"]["args"]["m2"]["encoder_args"]["depth_supervision"] is False
    assert hypes["validate_dir"] == "/empty"
