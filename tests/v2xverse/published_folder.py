"""A stand-in for the one folder of weights that V2Xverse publishes, with random numbers.

The file itself was not at hand. Its names, counts and absences are known from public reports: the
folders `perception` and `planning`, `net_epoch_bestval_at16.pth`, 8 177 435 parameters, and that
its loader misses `fusion_net.naive_communication.gaussian_filter.weight` and `.bias` and nothing
else. The settings are those of V2Xverse's CoDriving, and the communication that such a layer needs.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
import yaml

from agents.perception.fusion.codriving import CoDriving
from agents.perception.network import PerceptionNetwork
from agents.perception.random_weights import make_random_weights
from agents.v2xverse.planner_shapes import list_planner_shapes
from agents.v2xverse.system import NEEDED

WINDOW = [-36, -12, -22, 36, 12, 14]
WEIGHTS = "net_epoch_bestval_at16.pth"
DOUBT = 2.5
"""Taken from the logits of random weights: enough that most cells are empty."""


def write_published_folder(folder: Path, *, without: tuple[str, ...] = ()) -> Path:
    """Write `codriving/{perception,planning}`; keys of `without` are missing besides."""
    perception, planning = folder / "perception", folder / "planning"
    for part in (perception, planning):
        part.mkdir(parents=True)
    (perception / "config.yaml").write_text(yaml.dump(published_settings()))
    weights = make_perception_weights()
    torch.save(
        {key: numbers for key, numbers in weights.items() if key not in without},
        perception / WEIGHTS,
    )
    # An epoch of the training run that must not be taken.
    torch.save({"of another network": torch.ones(1)}, perception / "net_epoch39.pth")
    planner = make_planner_weights()
    torch.save(
        {
            "epoch": 20,
            "model_state_dict": {k: v for k, v in planner.items() if k not in without},
            "optimizer_state_dict": {"state": {}, "param_groups": [{"lr": 0.0002}]},
        },
        planning / "codriving_planner.ckpt",
    )
    return folder


def make_perception_weights() -> dict[str, Any]:
    """Return the weights of CoDriving's perception; the Gaussian filter is not among them."""
    design = CoDriving.choose_design("full")
    state = PerceptionNetwork(CoDriving(), design).state_dict()
    return make_random_weights(state, design.grid, DOUBT)


def make_planner_weights() -> dict[str, Any]:
    """Return small numbers of the planner's shapes that say "straight ahead at 5 m/s"."""
    generator = torch.Generator().manual_seed(0)
    weights: dict[str, Any] = {}
    for key, shape in list_planner_shapes().items():
        if key.endswith("num_batches_tracked"):
            weights[key] = torch.tensor(7)
        elif key.endswith("running_var"):
            weights[key] = torch.ones(shape)
        else:
            weights[key] = 0.01 * torch.randn(shape, generator=generator)
    last = [number for step in range(10) for number in (0.0, -1.0 * (1 + step))]
    weights["decoder.layers.2.bias"] = torch.tensor(last)
    return weights


def published_settings() -> dict[str, Any]:
    """Return what the folder's config.yaml holds, dead paths of its authors' machine included."""
    filters, layers, voxel = [64, 128, 256], [3, 4, 5], [0.125, 0.125, 36]
    return {
        "name": "v2xverse_codriving_ms_atten_multiclass",
        "root_dir": "/somewhere/else/dataset",
        "validate_dir": "/somewhere/else/OPV2V/validate",
        "test_dir": "/somewhere/else/OPV2V/validate",
        "yaml_parser": "load_point_pillar_params",
        "train_params": {"batch_size": 4, "epoches": 40, "max_cav": 5},
        "input_source": ["lidar"],
        "label_type": "lidar",
        "comm_range": 200,
        "fusion": {
            "core_method": "intermediatemulticlass",
            "dataset": "v2xverse",
            "args": {"clip_pc": False, "proj_first": False},
        },
        "preprocess": {
            "core_method": "SpVoxelPreprocessor",
            "args": {
                "max_points_per_voxel": 32,
                "max_voxel_test": 70000,
                "max_voxel_train": 32000,
                "voxel_size": voxel,
            },
            "cav_lidar_range": WINDOW,
        },
        "data_augment": [],
        "postprocess": {
            "core_method": "VoxelPostprocessor",
            "anchor_args": {
                "cav_lidar_range": WINDOW,
                "feature_stride": 2,
                "num": 1,
                "r": [0],
                "l": 3.9,
                "w": 1.6,
                "h": 1.56,
            },
            "dir_args": {"anchor_yaw": [0], "dir_offset": 0.7853, "num_bins": 1},
            "gt_range": WINDOW,
            "max_num": 100,
            "nms_thresh": 0.15,
            "order": "hwl",
            "target_args": {"neg_threshold": 0.45, "pos_threshold": 0.6, "score_threshold": 0.2},
        },
        "model": {
            "core_method": "center_point_codriving",
            "args": {
                "anchor_number": 3,
                "voxel_size": voxel,
                "lidar_range": WINDOW,
                "max_cav": 5,
                "multi_class": True,
                "out_size_factor": 2,
                "supervise_single": True,
                "base_bev_backbone": {
                    "compression": 0,
                    "layer_nums": layers,
                    "layer_strides": [2, 2, 2],
                    "num_filters": filters,
                    "num_upsample_filter": [128, 128, 128],
                    "resnet": True,
                    "upsample_strides": [1, 2, 4],
                    "voxel_size": voxel,
                },
                "fusion_args": {
                    "agg_operator": {"feature_dim": 256, "mode": "ATTEN"},
                    "communication": {
                        "thre": 0.01,
                        "cav_lidar_range": WINDOW,
                        "driving_request": True,
                        "gaussian_smooth": {"k_size": 5, "c_sigma": 1.0},
                        "round": 1,
                    },
                    "downsample_rate": 1,
                    "dropout_rate": 0,
                    "in_channels": 256,
                    "layer_nums": layers,
                    "multi_scale": True,
                    "n_head": 8,
                    "num_filters": filters,
                    "only_attention": True,
                    "voxel_size": voxel,
                },
                "pillar_vfe": {
                    "num_filters": [64],
                    "use_absolute_xyz": True,
                    "use_norm": True,
                    "with_distance": False,
                },
                "point_pillar_scatter": {"num_features": 64},
                "shrink_header": {
                    "dim": [128],
                    "input_dim": 384,
                    "kernal_size": [3],
                    "padding": [1],
                    "stride": [1],
                },
            },
        },
        "loss": {"core_method": "center_point_loss_multiclass", "args": {}},
    }


AGENT: dict[str, Any] = {
    "control": {"max_speed": 5, "target_point_distance": 10},
    "RSU": {"change_rsu_frame": 5},
    "simulation": {"ego_num": 1, "skip_frames": 4},
    "perception": {
        "core_method": "collaborative_perception",
        "detection_range": [36, 12, 12, 12],
        "perception_model_dir": "checkpoints/codriving/perception",
    },
    "planning": {
        "core_method": "MotionNet",
        "planner_config": "end2end.yaml",
        "planner_model_checkpoint": "checkpoints/codriving/planner/codriving_planner.ckpt",
    },
}
"""A configuration of V2Xverse's agent, with what is read of it."""

NAMED_BY_AGENT = (
    "checkpoints/codriving/perception/config.yaml",
    "checkpoints/codriving/perception/net_epoch1.pth",
    "checkpoints/codriving/planner/codriving_planner.ckpt",
    "end2end.yaml",
)


def write_checkout(root: Path, config: str) -> Path:
    """Write the folders and files that a checkout must have before it is run; they are empty."""
    for item in NEEDED:
        (root / item).mkdir(parents=True, exist_ok=True)
    for name in NAMED_BY_AGENT:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("{}")
    (root / config).parent.mkdir(parents=True, exist_ok=True)
    (root / config).write_text(yaml.dump(AGENT))
    return root
