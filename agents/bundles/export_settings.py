"""`config.yaml` for a network of size `full`: what V2Xverse's code builds the same layers from.

V2Xverse derives from OpenCOOD: one settings file names the data set's class, the preparation of
points, the network with its sizes, and the decoding of boxes. What is written here follows from the
network's design. Optimiser and loss are there too, so that its trainer can go on from the weights.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agents.perception.designs import NetworkDesign
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.codriving import CoDriving
from agents.perception.fusion.v2vnet import V2VNet
from agents.perception.fusion.v2xvit import FULL, V2XViT
from agents.perception.network import PerceptionNetwork
from harness.common.errors import UserError
from harness.types.vocabulary import CLASSES

COMMUNICATION_RANGE = 200.0
"""Metres within which V2Xverse's data sets take partners."""
MOST_AGENTS = 5
EMPTY_DROPOUT = 0.3
"""Of V2X-ViT while it trains; nothing is dropped when it detects."""


def build_settings(network: PerceptionNetwork) -> dict[str, Any]:
    """Return the contents of `config.yaml` for a network.

    Args:
        network: of size `full`.

    Returns:
        Plain data.

    Raises:
        UserError: V2Xverse has no network of this scheme or size.
    """
    fusion, design = network.fusion_net, network.design
    published = fusion.v2xverse
    if published is None:
        raise UserError(f"{fusion.scheme}: V2Xverse has no network of this scheme")
    if design.size != "full":
        raise UserError(
            f"{fusion.scheme}: a {design.size} network has layers that V2Xverse lacks; networks of"
            " size full can be exported"
        )
    window = [*design.grid.low, *design.grid.high]
    core_method, fusion_settings = describe_fusion(fusion, design)
    return {
        "name": f"crucible_{fusion.scheme}",
        "root_dir": "",
        "validate_dir": "",
        "test_dir": "",
        "yaml_parser": "load_point_pillar_params",
        "input_source": ["lidar"],
        "label_type": "lidar",
        "comm_range": COMMUNICATION_RANGE,
        "only_vis_ego": fusion.scheme == "single",
        "train_params": {
            "batch_size": 2,
            "epoches": 40,
            "eval_freq": 1,
            "save_freq": 1,
            "max_cav": 1 if fusion.scheme == "single" else MOST_AGENTS,
        },
        "fusion": {
            "core_method": published.core_method,
            "dataset": "v2xverse",
            "args": {"clip_pc": False, "proj_first": False},
        },
        "data_augment": [],
        "preprocess": build_preparation(design, window),
        "postprocess": build_decoding(design, window),
        "model": {
            "core_method": core_method,
            "args": {**build_layers(design, window), **fusion_settings},
        },
        "loss": build_loss(design, window),
        "optimizer": {
            "core_method": "Adam",
            "lr": 0.0005,
            "args": {"eps": 1e-10, "weight_decay": 1e-4},
        },
        "lr_scheduler": {"core_method": "multistep", "gamma": 0.1, "step_size": [10, 20]},
    }


def list_voxel_sides(design: NetworkDesign) -> list[float]:
    """Return the sides of a pillar in metres: it is as tall as the window."""
    grid = design.grid
    return [grid.pillar, grid.pillar, grid.high[2] - grid.low[2]]


def build_preparation(design: NetworkDesign, window: list[float]) -> dict[str, Any]:
    """Return how points become pillars."""
    return {
        "core_method": "SpVoxelPreprocessor",
        "cav_lidar_range": window,
        "args": {
            "voxel_size": list_voxel_sides(design),
            "max_points_per_voxel": design.grid.points_per_pillar,
            "max_voxel_train": 32000,
            "max_voxel_test": 70000,
        },
    }


def build_decoding(design: NetworkDesign, window: list[float]) -> dict[str, Any]:
    """Return how outputs become boxes; its reader asks for anchors, which the heads ignore."""
    return {
        "core_method": "VoxelPostprocessor",
        "gt_range": window,
        "order": "hwl",
        "max_num": 100,
        "nms_thresh": design.decoding.nms_overlap,
        "anchor_args": {
            "cav_lidar_range": window,
            "feature_stride": design.grid.stride,
            "num": 1,
            "r": [0],
            "l": 3.9,
            "w": 1.6,
            "h": 1.56,
        },
        "dir_args": {"anchor_yaw": [0], "dir_offset": 0.7853, "num_bins": 1},
        "target_args": {
            "pos_threshold": 0.6,
            "neg_threshold": 0.45,
            "score_threshold": design.decoding.score,
        },
    }


def build_layers(design: NetworkDesign, window: list[float]) -> dict[str, Any]:
    """Return the layers that all schemes share."""
    backbone, levels = design.backbone, len(design.backbone.channels)
    shrinking = {
        "input_dim": levels * backbone.upsampled,
        "dim": [design.channels],
        "kernal_size": [design.shrink_kernel],
        "stride": [design.shrink_stride],
        "padding": [design.shrink_kernel // 2],
    }
    layers: dict[str, Any] = {
        "layer_nums": list(backbone.layers),
        "layer_strides": [2] * levels,
        "num_filters": list(backbone.channels),
        "num_upsample_filter": [backbone.upsampled] * levels,
        "upsample_strides": [2**level for level in range(levels)],
    }
    # V2Xverse looks at whether the key is there, or at its value
    if backbone.kind == "residual":
        layers |= {"resnet": True, "compression": 0}
    return {
        "voxel_size": list_voxel_sides(design),
        "lidar_range": window,
        "cav_lidar_range": window,
        "max_cav": MOST_AGENTS,
        "multi_class": True,
        "anchor_number": len(CLASSES),
        "out_size_factor": design.grid.stride,
        "supervise_single": False,
        "pillar_vfe": {
            "num_filters": [design.pillar_channels],
            "use_absolute_xyz": True,
            "use_norm": True,
            "with_distance": False,
        },
        "point_pillar_scatter": {"num_features": design.pillar_channels},
        "base_bev_backbone": layers,
        "shrink_header": shrinking,
    }


def build_loss(design: NetworkDesign, window: list[float]) -> dict[str, Any]:
    """Return the loss that V2Xverse trains heads of this form with."""
    return {
        "core_method": "center_point_loss_multiclass",
        "args": {
            "cls_weight": 5.0,
            "loc_weight": 1.0,
            "code_weights": [1.0] * 6 + [5.0] * 2,
            "target_assigner_config": {
                "box_coder": "ResidualCoder",
                "cav_lidar_range": window,
                "gaussian_overlap": 0.1,
                "max_objs": 40,
                "min_radius": 2,
                "out_size_factor": design.grid.stride,
                "voxel_size": list_voxel_sides(design),
            },
        },
    }


def describe_fusion(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Return the network's name in V2Xverse's code, and the settings of its fusion."""
    return FUSIONS[fusion.scheme](fusion, design)


def describe_boxes(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe `single` and `late`: each agent's map by itself; the maximum of one is that one."""
    return "point_pillar_multiclass", {"fusion_method": "max"}


def describe_early(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe `early`: a class of V2Xverse's that knows points of several agents in one sweep."""
    attention = build_attention(design, mode="MAX", multi_scale=False, every=2)
    return "center_point_where2comm_multiclass", {
        "early_fusion": True,
        "fusion_method": "max",
        "fusion_args": {**attention, "communication": {"thre": 1.0}},
    }


def describe_fcooper(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe F-Cooper: the maximum over agents."""
    return "point_pillar_multiclass", {"fusion_method": "max"}


def describe_v2vnet(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe V2VNet: rounds of messages through one gated unit."""
    assert isinstance(fusion, V2VNet)
    rows, columns = design.grid.output_shape
    side = fusion.msg_cnn.kernel_size[0]
    return "point_pillar_multiclass", {
        "fusion_method": "v2vnet",
        "v2vnet": {
            "in_channels": design.channels,
            "num_iteration": fusion.number,
            "gru_flag": True,
            "agg_operator": "max",
            "conv_gru": {
                "H": rows,
                "W": columns,
                "kernel_size": [[side, side]],
                "num_layers": 1,
            },
        },
    }


def describe_v2xvit(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe V2X-ViT: attention over agents, then over windows of the map."""
    assert isinstance(fusion, V2XViT)
    sizes = fusion.transformer or FULL
    encoder = {
        "depth": sizes.depth,
        "num_blocks": 1,
        "use_RTE": False,
        "RTE_ratio": 0,
        "use_roi_mask": True,
        "sttf": {"downsample_rate": 2, "voxel_size": list_voxel_sides(design)},
        "cav_att_config": {
            "dim": design.channels,
            "dim_head": sizes.head_channels,
            "heads": sizes.heads,
            "dropout": EMPTY_DROPOUT,
            "use_hetero": True,
            "use_RTE": False,
            "RTE_ratio": 0,
        },
        "pwindow_att_config": {
            "dim": design.channels,
            "dim_head": list(sizes.window_head_channels),
            "heads": list(sizes.window_heads),
            "window_size": list(sizes.windows),
            "dropout": EMPTY_DROPOUT,
            "relative_pos_embedding": True,
            "fusion_method": "split_attn",
        },
        "feed_forward": {"mlp_dim": design.channels, "dropout": EMPTY_DROPOUT},
    }
    return "point_pillar_multiclass", {
        "fusion_method": "v2xvit",
        "v2xvit": {"transformer": {"encoder": encoder}},
    }


def describe_codriving(fusion: FusionModule, design: NetworkDesign) -> tuple[str, dict[str, Any]]:
    """Describe CoDriving: attention at each level, on the cells where senders are confident."""
    assert isinstance(fusion, CoDriving)
    attention = build_attention(design, mode="ATTEN", multi_scale=True, every=1)
    if fusion.confidence:
        sending = fusion.communication
        attention["communication"] = {
            "thre": fusion.confidence,
            "cav_lidar_range": list(sending.detection_range),
            "driving_request": False,
            "round": 1,
            "radius": sending.radius,
            "sigma_reverse": sending.sigma_reverse,
        }
    return "center_point_codriving", {"fusion_args": attention}


def build_attention(
    design: NetworkDesign, *, mode: str, multi_scale: bool, every: int
) -> dict[str, Any]:
    """Return the settings of V2Xverse's fusion by attention.

    Args:
        design: of the network.
        mode: how the maps of agents become one.
        multi_scale: whether each level of the backbone is fused.
        every: output cells along a cell that is fused.
    """
    return {
        "agg_operator": {"mode": mode, "feature_dim": 2 * design.channels},
        "multi_scale": multi_scale,
        "downsample_rate": every,
        "in_channels": 2 * design.channels,
        "layer_nums": list(design.backbone.layers),
        "num_filters": list(design.backbone.channels),
        "n_head": 8,
        "only_attention": True,
        "dropout_rate": 0,
        "voxel_size": list_voxel_sides(design),
    }


Description = Callable[[FusionModule, NetworkDesign], tuple[str, dict[str, Any]]]
FUSIONS: dict[str, Description] = {
    "single": describe_boxes,
    "late": describe_boxes,
    "early": describe_early,
    "fcooper": describe_fcooper,
    "v2vnet": describe_v2vnet,
    "v2xvit": describe_v2xvit,
    "codriving": describe_codriving,
}
"""By scheme."""
