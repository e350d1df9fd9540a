"""Our side of the comparison: the same scene through one of our networks, cooperative and alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from agents.perception.decoding import apply_nms, crop_boxes_to_grid, decode_candidates
from agents.perception.fusion.base import Partner
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.grid import PillarGrid
from agents.perception.network import PerceptionNetwork, RawOutput
from agents.perception.random_weights import make_random_weights
from harness.types.geometry import transform_boxes, transform_points
from harness.types.vocabulary import Boxes, Pose, Singles
from tests.perception.parity.scene import EGO


@dataclass(frozen=True, slots=True, eq=False)
class Seen:
    """Raw outputs of all agents that have some, the ego's first, and the boxes in the end."""

    raws: tuple[RawOutput, ...]
    boxes: Boxes


def windowed(grid: PillarGrid, half_length: float, half_width: float) -> PillarGrid:
    """Return a grid with a smaller window."""
    return replace(
        grid,
        low=(-half_length, -half_width, grid.low[2]),
        high=(half_length, half_width, grid.high[2]),
    )


def network_of(scheme: str, grid: PillarGrid | None = None) -> PerceptionNetwork:
    """Return V2Xverse's network of a scheme with weights initialised at random."""
    design = SCHEMES[scheme].choose_design("full")
    network = PerceptionNetwork(
        SCHEMES[scheme](), design if grid is None else replace(design, grid=grid)
    )
    network.load_state_dict(make_random_weights(network.state_dict(), network.design.grid))
    return network.eval()


@torch.inference_mode()
def together(network: PerceptionNetwork, clouds: Sequence[Singles], poses: Sequence[Pose]) -> Seen:
    """Return what the ego and its partners see together."""
    grid, decoding = network.design.grid, network.design.decoding
    if network.scheme == "early":
        moved = [transform_points(*pair, EGO) for pair in zip(clouds, poses, strict=True)]
        clouds = [np.concatenate(moved)]
    if network.scheme == "single":
        clouds = clouds[:1]
    maps = [network.encode_clouds([cloud]) for cloud in clouds]
    if network.scheme == "late":
        raws = tuple(network.run_heads(network.fuse_maps(levels, ())) for levels in maps)
    else:
        partners = [Partner(*pair) for pair in zip(maps[1:], poses[1:], strict=False)]
        raws = (network.run_heads(network.fuse_maps(maps[0], partners)),)
    detections = [
        transform_boxes(decode_candidates(raw, grid, decoding), pose, EGO)
        for raw, pose in zip(raws, poses, strict=False)
    ]
    return Seen(raws, crop_boxes_to_grid(apply_nms(Boxes.join(detections), decoding), grid))


@torch.inference_mode()
def step(
    network: PerceptionNetwork, clouds: Sequence[Singles], poses: Sequence[Pose]
) -> tuple[Boxes, Boxes]:
    """Return what is seen together and what the ego sees alone, with nothing computed twice."""
    grid, decoding = network.design.grid, network.design.decoding
    if network.scheme in ("single", "early"):
        coop = together(network, clouds, poses).boxes
        alone = (
            coop if network.scheme == "single" else together(network, clouds[:1], poses[:1]).boxes
        )
        return coop, alone
    maps = [network.encode_clouds([cloud]) for cloud in clouds]
    partners = [Partner(*pair) for pair in zip(maps[1:], poses[1:], strict=True)]
    alone_raw = network.run_heads(network.fuse_maps(maps[0], ()))
    alone = decode_candidates(alone_raw, grid, decoding)
    if network.scheme == "late":
        theirs = [
            transform_boxes(
                decode_candidates(network.run_heads(partner.maps[0]), grid, decoding),
                partner.in_ego,
                EGO,
            )
            for partner in partners
        ]
        coop = Boxes.join([alone, *theirs])
    else:
        coop = decode_candidates(
            network.run_heads(network.fuse_maps(maps[0], partners)), grid, decoding
        )
    return crop_boxes_to_grid(apply_nms(coop, decoding), grid), crop_boxes_to_grid(
        apply_nms(alone, decoding), grid
    )
