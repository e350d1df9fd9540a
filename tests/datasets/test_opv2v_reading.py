"""OPV2V's layout as others write it, made here from its public description."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from harness.common.errors import UserError
from harness.datasets.opening import open_recordings
from harness.datasets.point_files import pack_point_cloud, read_point_cloud
from harness.datasets.tilted_boxes import (
    format_tilted_box,
    measure_upright_boxes,
    parse_tilted_boxes,
)
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Pose, Singles

LIDAR = Pose(100.0, 50.0, 1.9, yaw=0.5, pitch=math.radians(1.7), roll=math.radians(-0.8))
BOX = np.array([12.0, -3.0, -1.1, 4.9, 2.0, 1.6, 0.1])
HEADER = (
    "# .PCD v0.7 - Point Cloud Data file format\nVERSION 0.7\nFIELDS x y z rgb\nSIZE 4 4 4 4\n"
    "TYPE F F F F\nCOUNT 1 1 1 1\nWIDTH {n}\nHEIGHT 1\nVIEWPOINT 0 0 0 1 0 0 0\nPOINTS {n}\n"
    "DATA ascii\n"
)


def write_others(folder: Path) -> Path:
    """Write a scenario of two vehicles and a unit, as OpenCDA does: tuples, text, colours."""
    scenario = folder / "2021_08_18_19_48_05"
    for agent, x in (("641", 100.0), ("650", 110.0), ("-1", 120.0)):
        place = scenario / agent
        place.mkdir(parents=True)
        for moment in ("000068", "000070"):
            # red 128 of 255, packed as OpenCDA's tools do: the bits of a float
            colour = np.array([128 << 16], np.uint32).view(np.float32)[0]
            rows = [f"{x + 5 - 100:.4f} 2.0 -1.2 {colour:.10g}", f"30 1 -1.9 {colour:.10g}"]
            (place / f"{moment}.pcd").write_text(HEADER.format(n=2) + "\n".join(rows) + "\n")
            (place / f"{moment}.yaml").write_text(
                f"lidar_pose: !!python/tuple [{x}, 50.0, 1.9, 0.0, 0.0, 0.0]\n"
                f"true_ego_pos: [{x}, 50.0, 0.0, 0.0, 0.0, 0.0]\n"
                "ego_speed: 3.0\n"
                "vehicles:\n"
                "  77:\n"
                "    angle: [0.0, 90.0, 0.0]\n    center: [0.0, 0.0, 0.8]\n"
                "    extent: [2.0, 1.0, 0.8]\n    location: [105.0, 52.0, 0.0]\n    speed: 0.0\n"
            )
    (scenario / "data_protocol.yaml").write_text("world: {town: Town05}\n")
    return scenario


def test_a_scenario_of_others_is_read(tmp_path: Path) -> None:
    write_others(tmp_path)
    (scenario,) = open_recordings(tmp_path)
    assert scenario.list_agents() == [641, 650, -1]
    assert scenario.list_moments(641) == ["000068", "000070"]
    assert scenario.interval == 0.1
    look = scenario.read_look(641, "000070")
    assert look.time == pytest.approx(0.1)
    assert look.points_in_lidar[:, 3] == pytest.approx(128 / 255)
    assert look.truth.boxes_in_lidar.geometry[0] == pytest.approx(
        [5.0, 2.0, -1.1, 4.0, 2.0, 1.6, math.pi / 2], abs=1e-9
    )
    assert look.truth.hits.tolist() == [1]
    # the other vehicle cooperates: OPV2V lists no box, and a detection there is not wrong
    assert look.parked_in_lidar.geometry[0, :6] == pytest.approx([10, 0, -1.15, 4.9, 2.12, 1.5])


def test_tilted_box_is_written_and_read_without_loss() -> None:
    record = format_tilted_box(BOX, LIDAR)
    assert np.abs(parse_tilted_boxes([record], LIDAR)[0] - BOX).max() < 1e-6
    # written without the LiDAR's tilt, its length would be off by a millimetre and more
    record["angle"] = [0.0, record["angle"][1], 0.0]
    assert abs(parse_tilted_boxes([record], LIDAR)[0, 3] - BOX[3]) > 1e-3


def test_upright_box_is_measured_from_corners_by_the_definition() -> None:
    # the definition written out: means over corners and edges, seen from above
    random = np.random.default_rng(5)
    signs = [(1, -1), (1, 1), (-1, 1), (-1, -1)]
    local = np.array([(2.4 * x, 0.9 * y, 0.7 * z) for z in (-1, 1) for x, y in signs])
    tilt = build_pose_matrix(Pose(3.0, 4.0, 5.0, yaw=1.0, pitch=0.1, roll=0.05))
    corners = local @ tilt[:3, :3].T + tilt[:3, 3] + random.normal(0, 1e-9, (8, 3))
    (box,) = measure_upright_boxes(corners[None])
    edges = [math.dist(corners[a, :2], corners[b, :2]) for a, b in ((0, 3), (1, 2), (4, 7), (5, 6))]
    assert box[:3] == pytest.approx([3.0, 4.0, 5.0], abs=1e-6)
    assert box[3] == pytest.approx(sum(edges) / 4)
    assert box[5] == pytest.approx(corners[4:, 2].mean() - corners[:4, 2].mean())
    assert box[6] == pytest.approx(1.0, abs=0.01)


def test_points_keep_their_bits(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    points: Singles = random.uniform(0, 1, (50, 4)).astype(np.float32)
    (tmp_path / "a.pcd").write_bytes(pack_point_cloud(points))
    assert np.array_equal(read_point_cloud(tmp_path / "a.pcd"), points)
    (tmp_path / "none.pcd").write_bytes(pack_point_cloud(points[:0]))
    assert read_point_cloud(tmp_path / "none.pcd").shape == (0, 4)


def read_one(folder: Path) -> None:
    (scenario,) = open_recordings(folder)
    scenario.read_look(650, "000070")


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-30])


def boast(file: Path) -> None:
    file.write_text(file.read_text().replace("POINTS 2", "POINTS 999999999"))


def compress(file: Path) -> None:
    file.write_text(file.read_text().replace("DATA ascii", "DATA binary_compressed"))


def link(file: Path) -> None:
    file.unlink()
    file.symlink_to("/dev/zero")


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def turn(file: Path) -> None:
    file.write_text(file.read_text().replace("1.9, 0.0, 0.0, 0.0]", "1.9, 90.0, 0.0, 0.0]"))


def shorten_pose(file: Path) -> None:
    file.write_text(file.read_text().replace("50.0, 1.9, 0.0,", "50.0, 1.9,"))


def run_code(file: Path) -> None:
    file.write_text("lidar_pose: !!python/object/apply:os.system ['touch hacked']\n")


def empty(file: Path) -> None:
    file.write_text("")


@pytest.mark.parametrize(
    ("damage", "ending"),
    [
        *((one, ".pcd") for one in (cut, boast, compress, link, pipe, empty)),
        *((one, ".yaml") for one in (link, pipe, turn, shorten_pose, run_code, empty)),
    ],
)
def test_damage_is_one_line(tmp_path: Path, damage: Callable[[Path], None], ending: str) -> None:
    scenario = write_others(tmp_path)
    damage(scenario / "650" / f"000070{ending}")
    with pytest.raises(UserError) as refusal:
        read_one(tmp_path)
    assert "\n" not in str(refusal.value)
    assert "650/000070" in str(refusal.value)


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    scenario = write_others(tmp_path)
    (scenario / "650" / "000068.pcd").unlink()
    with pytest.raises(UserError, match=r"650/000068\.pcd: missing"):
        open_recordings(tmp_path)
