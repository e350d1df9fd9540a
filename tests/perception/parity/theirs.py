"""V2Xverse's own networks and post-processing, as its evaluation runs them, for comparison.

Needs a checkout named by V2XVERSE_ROOT and, besides the project's packages, `einops`, `spconv`.
What that code imports without needing it here (viewers, compilers' products) is left out.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
import types
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml

from agents.perception.grid import PillarGrid
from harness.types.geometry import build_pose_matrix
from harness.types.vocabulary import Floats, Pose, Singles

ENVIRONMENT = "V2XVERSE_ROOT"
NEEDED = ("einops", "spconv")
NOT_NEEDED = {
    "opencood.utils.box_overlaps": ("bbox_overlaps",),
    "opencood.visualization": ("vis_utils",),
    "opencood.visualization.vis_utils": (),
    "icecream": ("ic",),
    "open3d": (),
    "pypcd": ("pypcd",),
    "pyquaternion": ("Quaternion",),
}
FILES: dict[str, str] = {
    "single": "single",
    "early": "early_fusion",
    "late": "late_fusion",
    "fcooper": "fcooper",
    "v2vnet": "v2vnet",
    "v2xvit": "v2x_vit",
    "codriving": "codriving",
}
MOST_AGENTS = 5


def missing() -> str | None:
    """Return why V2Xverse cannot be run here, or nothing."""
    root = os.environ.get(ENVIRONMENT)
    if not root:
        return f"{ENVIRONMENT} names no checkout of V2Xverse"
    if not (Path(root) / "opencood" / "models").is_dir():
        return f"{ENVIRONMENT}: {root} holds no opencood/models"
    absent = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"V2Xverse's code needs {' and '.join(absent)}" if absent else None


def prepare() -> None:
    """Let its modules be imported."""
    root = os.environ[ENVIRONMENT]
    if root not in sys.path:
        sys.path.insert(0, root)
    for name, attributes in NOT_NEEDED.items():
        if name in sys.modules:
            continue
        module = types.ModuleType(name)
        for attribute in attributes:
            setattr(module, attribute, None)
        sys.modules[name] = module


class Theirs:
    """One scheme of V2Xverse's, with its preprocessing and post-processing."""

    def __init__(
        self, scheme: str, grid: PillarGrid, fusion_args: dict[str, Any] | None = None
    ) -> None:
        prepare()
        self.scheme = scheme
        self.settings = settings_of(scheme, grid)
        if fusion_args:
            self.settings["model"]["args"]["fusion_args"] |= fusion_args
        model = self.settings["model"]
        module = importlib.import_module(f"opencood.models.{model['core_method']}")
        wanted = model["core_method"].replace("_", "")
        made = next(item for name, item in vars(module).items() if name.lower() == wanted)
        self.network = made(model["args"]).eval()
        voxels = importlib.import_module("opencood.data_utils.pre_processor.sp_voxel_preprocessor")
        boxes = importlib.import_module("opencood.data_utils.post_processor.voxel_postprocessor")
        self.voxels = voxels.SpVoxelPreprocessor(self.settings["preprocess"], train=False)
        self.boxes = boxes.VoxelPostprocessor(self.settings["postprocess"], train=False)

    def run(
        self,
        clouds: Sequence[Singles],
        poses_in_ego: Sequence[Pose],
        waypoints: torch.Tensor | None = None,
    ) -> Any:
        """Return the network's output dictionary for agents, the ego first."""
        voxels = [self.voxels.preprocess(cloud) for cloud in clouds]
        lidar = self.voxels.collate_batch(voxels)
        data = {
            "processed_lidar": lidar,
            "record_len": torch.tensor([len(clouds)]),
            "pairwise_t_matrix": torch.from_numpy(pairwise(poses_in_ego)[None]),
        }
        with torch.no_grad():
            return self.network(data) if waypoints is None else self.network(data, waypoints)

    def boxes_of(self, outputs: Sequence[Any], poses_in_ego: Sequence[Pose]) -> list[Floats]:
        """Return corners (N, 8, 3) and scores of each class, after joint suppression."""
        boxes_of_kinds = []
        for kind in range(3):
            data, outputs_of = OrderedDict[str, Any](), {}
            for number, (output, pose) in enumerate(zip(outputs, poses_in_ego, strict=True)):
                name = "ego" if number == 0 else str(number)
                data[name] = {
                    "transformation_matrix": torch.from_numpy(build_pose_matrix(pose)).float(),
                    "anchor_box": None,
                }
                outputs_of[name] = {
                    "cls_preds": output["cls_preds"][:, kind : kind + 1],
                    "reg_preds": output["reg_preds_multiclass"][:, kind],
                }
            corners, scores = self.boxes.post_process(data, outputs_of)
            none = np.zeros((0, 25))
            boxes_of_kinds.append(
                none
                if corners is None
                else np.column_stack([corners.numpy().reshape(-1, 24), scores.numpy()])
            )
        return boxes_of_kinds


def settings_of(scheme: str, grid: PillarGrid) -> Any:
    """Return V2Xverse's settings of a scheme, with the window of a grid."""
    path = Path(os.environ[ENVIRONMENT]) / "opencood/hypes_yaml/v2xverse"
    text = (path / f"{FILES[scheme]}_multiclass_config.yaml").read_text()
    settings = yaml.safe_load(text)
    window = [*grid.low, *grid.high]
    settings["preprocess"]["cav_lidar_range"] = window
    settings["postprocess"]["gt_range"] = window
    settings["postprocess"]["anchor_args"]["cav_lidar_range"] = window
    model = settings["model"]["args"]
    model["lidar_range"] = window
    model["point_pillar_scatter"]["grid_size"] = np.array([grid.columns, grid.rows, 1])
    if scheme == "v2vnet":
        rows, columns = grid.output_shape
        model["v2vnet"]["conv_gru"] |= {"H": rows, "W": columns, "kernel_size": [(3, 3)]}
    return settings


def pairwise(poses_in_ego: Sequence[Pose]) -> Floats:
    """Return the matrices (agents, agents, 4, 4) from each agent's frame to each other's."""
    frames = [build_pose_matrix(pose) for pose in poses_in_ego]
    result = np.tile(np.eye(4), (MOST_AGENTS, MOST_AGENTS, 1, 1))
    for i, one in enumerate(frames):
        for j, other in enumerate(frames):
            if i != j:
                result[i, j] = np.linalg.inv(other) @ one
    return result
