"""HEAL's camera data set over an export: pictures, depths, projections and visible vehicles.

`outside_loaders` calls it where the checkout is HEAL and the export has pictures.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from harness.common.recordings import RecordedScenario
from harness.datasets.opv2v_pictures import order_cameras, project_points
from harness.types.vocabulary import VEHICLE
from tests.datasets.boxes_of_others import list_corners

SETTINGS = Path("opencood/hypes_yaml/opv2v/CameraOnly/camera_fcooper.yaml")
NEAREST, FARTHEST = 0.5, 100.0
"""Metres within which HEAL projects a box."""


def has_pictures(scenarios: dict[str, RecordedScenario]) -> bool:
    """Return whether scenes have pictures."""
    first = next(iter(scenarios.values()))
    agent = first.list_agents()[0]
    return bool(first.read_images(agent, first.list_moments(agent)[0]))


def build_camera_dataset(
    outside: Any, checkout: Path, exported: Path, size: tuple[int, int]
) -> Any:
    """Return HEAL's data set of agents with cameras, in test mode.

    Args:
        outside: their package of data sets.
        checkout: of HEAL.
        exported: the folder that is read.
        size: columns and rows of the pictures.
    """
    from opencood.hypes_yaml.yaml_utils import load_yaml  # type: ignore[import-not-found]

    settings = load_yaml(str(checkout / SETTINGS))
    settings["root_dir"] = settings["validate_dir"] = settings["test_dir"] = str(exported)
    settings["train_params"]["max_cav"] = 7
    settings["comm_range"] = 1000.0
    has_depths = any(exported.glob("*/*/*_depth0.png"))  # campaigns keep none
    settings["input_source"] = ["camera", "lidar", *(["depth"] if has_depths else [])]
    settings["postprocess"]["max_num"] = 300
    films = settings["heter"]["modality_setting"]["m2"]["data_aug_conf"]
    films.update(W=size[0], H=size[1])
    # every agent has cameras
    agents = {
        scenario.name: {agent.name: "m2" for agent in scenario.iterdir() if agent.is_dir()}
        for scenario in exported.iterdir()
        if scenario.is_dir()
    }
    file = Path(tempfile.mkdtemp()) / "assignment.json"
    file.write_text(json.dumps(agents))
    settings["heter"]["assignment_path"] = str(file)
    return outside.build_dataset(settings, visualize=False, train=False)


def compare_pictures(
    data: Any, number: int, scenario: RecordedScenario, moment: str
) -> dict[str, float]:
    """Return the largest differences of one item's pictures, and how many were compared."""
    from opencood.utils.camera_utils import coord_3d_to_2d  # type: ignore[import-not-found]

    base = data.retrieve_base_data(number)
    worst = {"pixels of pictures": 0.0, "depths, m": 0.0, "projections, pixels": 0.0}
    pictures = corners = labels = missing = 0
    for name, record in base.items():
        agent = int(name)
        images = scenario.read_images(agent, moment)
        depths = scenario.read_depths(agent, moment)
        look = scenario.read_look(agent, moment)
        params = record["params"]
        params["lidar_pose_clean"] = params["lidar_pose"]  # they copy it where they add noise
        boxes = look.truth.boxes_in_lidar
        places = np.array([list_corners(box) for box in boxes.geometry]).reshape(-1, 8, 3)
        for camera, which in enumerate(order_cameras(images)):
            image, theirs = images[which], np.asarray(record["camera_data"][camera])
            pixels = np.abs(theirs.astype(int) - image.pixels.astype(int)).max()
            worst["pixels of pictures"] = max(worst["pixels of pictures"], float(pixels))
            if depths:
                metres = np.minimum(depths[which], 255.0)
                apart = np.abs(np.asarray(record["depth_data"][camera]) - metres).max()
                worst["depths, m"] = max(worst["depths, m"], float(apart))
            pictures += 1
            # corners of all boxes that their function shows, in pixels
            extrinsic, intrinsic = data.get_ext_int(params, camera)
            rows, columns = image.pixels.shape[:2]
            flat, shown, _ = coord_3d_to_2d(
                places.astype(np.float32), intrinsic, extrinsic, rows, columns
            )
            ours = project_points(places.reshape(-1, 3), image).reshape(-1, 8, 3)[..., :2]
            whole = np.clip(np.rint(ours), 0, [columns - 1, rows - 1])
            if shown.any():
                apart = np.abs(whole[shown] - flat[shown]).max()
                worst["projections, pixels"] = max(worst["projections, pixels"], float(apart))
                corners += 8 * int(shown.sum())
        # their labels for cameras are the vehicles on the map
        centres, mask, ids = data.generate_object_center_camera([record], params["lidar_pose"])
        del centres
        labels += int(mask.sum())
        kinds = dict(zip(look.truth.actor_ids.tolist(), boxes.classes.tolist(), strict=True))
        missing += sum(kinds.get(int(actor)) != VEHICLE for actor in ids)
    worst["labels that are no vehicle"] = float(missing)
    return worst | {
        "pictures: compared": float(pictures),
        "corners: compared": float(corners),
        "vehicles that cameras see: compared": float(labels),
    }
