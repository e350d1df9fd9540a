"""A sample through a network: what each scheme is given, and what comes out, learning or not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from agents.merging import on_ego
from agents.perception.decoding import candidates, each_once, inside
from agents.perception.designs import Level, Scheme
from agents.perception.fusion.partners import Partner
from agents.perception.network import Network, Raw
from agents.perception.raising import height_above, lowered_boxes, raised_points
from agents.training.samples import Sample, View
from harness.geometry import boxes_between, points_between, relative
from harness.vocabulary import Boxes, Pose, Singles
from harness.world.rig import LidarMount

LIDAR_IN_EGO = LidarMount().pose_in_carrier

ALONE: tuple[Scheme, ...] = ("single", "late")
"""Networks that only ever see one agent's points."""


@dataclass(frozen=True, slots=True, eq=False)
class Inputs:
    """Raised clouds, the ego's first; where the others stand; how high the ego's LiDAR is."""

    clouds: list[Singles]
    in_ego: list[Pose]
    height: float


def inputs_of(scheme: Scheme, sample: Sample, level: Level) -> Inputs:
    """Return what the network of a scheme is given."""
    ego = sample.ego
    own, height = raised(ego, level)
    if scheme in ALONE:
        return Inputs([own], [], height)
    if scheme == "early":
        moved = [
            points_between(each.points_in_lidar, each.lidar_in_world, ego.lidar_in_world)
            for each in sample.partners
        ]
        return Inputs(
            [np.concatenate([own, *(raised_points(m, height) for m in moved)])], [], height
        )
    clouds = [raised(each, level)[0] for each in sample.partners]
    places = [relative(each.lidar_in_world, ego.lidar_in_world) for each in sample.partners]
    return Inputs([own, *clouds], places, height)


def raised(view: View, level: Level) -> tuple[Singles, float]:
    """Return points above the road, and how high the LiDAR is."""
    height = height_above(level, view.points_in_lidar, view.lidar_in_world)
    return raised_points(view.points_in_lidar, height), height


def run(network: Network, batch: Sequence[Inputs]) -> Raw:
    """Return the output for a batch; everybody is encoded together, every ego fuses for itself."""
    maps = network.encode([cloud for each in batch for cloud in each.clouds])
    fused, first = [], 0
    for each in batch:
        ego = tuple(level[first : first + 1] for level in maps)
        partners = []
        for number, place in enumerate(each.in_ego, start=first + 1):
            theirs = tuple(level[number : number + 1] for level in maps)
            partners.append(Partner(network.worth_sending(theirs), place))
        fused.append(network.fuse(ego, partners))
        first += len(each.clouds)
    return network.heads(torch.cat(fused))


@torch.no_grad()
def detect(network: Network, scheme: Scheme, sample: Sample) -> Boxes:
    """Return what a scheme finds, in the ego's LiDAR frame; never the ego itself."""
    boxes = together(network, sample) if scheme == "late" else at_once(network, scheme, sample)
    return boxes[~on_ego(boxes, LIDAR_IN_EGO)]


def at_once(network: Network, scheme: Scheme, sample: Sample) -> Boxes:
    """Return what comes out of one look at everything."""
    inputs = inputs_of(scheme, sample, network.design.level)
    return found(network, run(network, [inputs]), inputs.height)


def together(network: Network, sample: Sample) -> Boxes:
    """Return what everybody finds alone, each road user once."""
    ego = sample.ego.lidar_in_world
    parts = []
    for view in (sample.ego, *sample.partners):
        cloud, height = raised(view, network.design.level)
        theirs = found(network, run(network, [Inputs([cloud], [], height)]), height)
        parts.append(boxes_between(theirs, view.lidar_in_world, ego))
    return each_once(Boxes.join(parts), network.design.decoding)


def found(network: Network, raw: Raw, height: float) -> Boxes:
    """Return the boxes of one output, in the frame of the LiDAR."""
    design = network.design
    boxes = each_once(candidates(raw, design.grid, design.decoding), design.decoding)
    return lowered_boxes(inside(boxes, design.grid), height)
