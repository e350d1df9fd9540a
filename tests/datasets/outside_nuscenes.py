"""nuScenes' devkit over an export, run unmodified and compared with our scenes.

    python -m tests.datasets.outside_nuscenes EXPORTED RECORDED

EXPORTED is a folder of `crucible export-dataset --format nuscenes`. `nuscenes-devkit` must be
importable. Printed are the largest differences in millimetres; the exit code is 1 if one is over a
millimetre.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.recordings import RecordedScenario
from harness.datasets.nuscenes_writing import CHANNELS, LIDAR, VERSION
from harness.datasets.opening import open_recordings
from harness.datasets.opv2v_pictures import project_points
from harness.types.geometry import transform_boxes
from tests.datasets.boxes_of_others import list_corners
from tests.datasets.outside_loaders import note_all

MILLIMETRE = 1.0


def compare_sample(
    data: Any,
    scene: dict[str, Any],
    sample: dict[str, Any],
    scenario: RecordedScenario,
    number: int,
) -> dict[str, float]:
    """Return the largest differences of one sample, in millimetres."""
    from nuscenes.utils.data_classes import LidarPointCloud  # type: ignore[import-not-found]
    from nuscenes.utils.geometry_utils import (  # type: ignore[import-not-found]
        points_in_box,
        view_points,
    )

    agent = int(scene["name"].removeprefix(f"{scenario.folder.name}-"))
    look = scenario.read_look(agent, scenario.list_moments(agent)[number])
    file, boxes, _ = data.get_sample_data(sample["data"][LIDAR])
    cloud = LidarPointCloud.from_file(file)
    x, y, z = cloud.points[:3]
    # their LiDAR: x to the right, y ahead
    ours = look.points_in_lidar
    worst = {
        "points": 1e3 * float(np.abs(np.column_stack([y, x, z]) - ours[:, :3]).max()),
        "intensity, of 255": float(np.abs(cloud.points[3] - 255 * ours[:, 3]).max()),
    }
    # boxes in the LiDAR's frame, by their own transforms
    truth = look.truth
    mine = transform_boxes(truth.boxes_in_lidar, look.lidar_in_world, look.lidar_in_world).geometry
    apart, inside = [0.0], 0
    assert len(boxes) == len(mine)
    for box, row, hits in zip(boxes, mine, truth.hits.tolist(), strict=True):
        right, ahead, up = box.corners()
        theirs = np.column_stack([ahead, right, up])
        gaps = np.linalg.norm(theirs[:, None] - list_corners(row)[None], axis=2)
        apart.append(float(gaps.min(axis=1).max()))
        counted = int(points_in_box(box, cloud.points[:3], wlh_factor=1.05).sum())
        inside += int(counted > 0) if hits else 0
    worst["boxes"] = 1e3 * max(apart)
    worst["boxes: compared"] = float(len(boxes))
    worst["boxes with returns and points in them: compared"] = float(inside)
    # corners in pictures
    for image in scenario.read_images(agent, scenario.list_moments(agent)[number]):
        _, seen, matrix = data.get_sample_data(sample["data"][CHANNELS[image.name]])
        for box in seen:
            which = sample["anns"].index(box.token)
            flat = view_points(box.corners(), np.asarray(matrix), normalize=True)[:2].T
            corners = project_points(list_corners(mine[which]), image)
            if (corners[:, 2] > 0.5).all():
                gaps = np.linalg.norm(flat[:, None] - corners[None, :, :2], axis=2)
                note_all(worst, {"corners in pictures, pixels": float(gaps.min(axis=1).max())})
                note_all(worst, {"boxes in pictures: compared": 1.0})
    return worst


def main() -> int:
    """Compare all samples, print the largest differences."""
    from nuscenes import NuScenes  # type: ignore[import-not-found]

    exported, recorded = map(Path, sys.argv[1:3])
    data = NuScenes(version=VERSION, dataroot=str(exported), verbose=False)
    scenarios = {one.folder.name: one for one in open_recordings(recorded)}
    largest: dict[str, float] = {}
    for scene in data.scene:
        scenario = scenarios[scene["name"].rpartition("-")[0].removesuffix("-")]
        token = scene["first_sample_token"]
        number = 0
        while token:
            sample = data.get("sample", token)
            note_all(largest, compare_sample(data, scene, sample, scenario, number))
            token, number = sample["next"], number + 1
    print(f"{len(data.scene)} scenes, {len(data.sample)} samples; largest differences in mm:")
    for name, difference in largest.items():
        print(f"  {name}: {difference:.6g}")
    bad = [n for n, d in largest.items() if not n.endswith("compared") and d > MILLIMETRE]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
