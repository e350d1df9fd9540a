"""CoDriving: attention over agents on every level of the backbone (Liu et al., 2025).

Partners may leave out what they are confident is empty: they send only the cells in which their own
detection score is high enough. With a driving request, the score counts most along the ego's plan.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from agents.perception.designs import PublishedNetwork
from agents.perception.fusion.attfuse import attend_to_agents
from agents.perception.fusion.base import FeatureSpec, IntermediateFusion, Maps, SparseFeatures
from agents.perception.fusion.communication import CommunicationSettings, read_communication
from agents.perception.fusion.driving_request import (
    DrivingRequest,
    render_request_map,
    warp_request,
    weigh_confidence,
)
from harness.common.errors import UserError
from harness.types.geometry import compute_relative_pose
from harness.types.vocabulary import Features, Pose, Singles

CONFIDENCE = {"lite": 0.01, "full": 0.0}


class CoDriving(IntermediateFusion):
    """The same attention on each level; no weights."""

    safe_from_file = True
    multi_scale = True
    v2xverse = PublishedNetwork(
        core_method="intermediatemulticlass",
        settings={
            "fusion_args.multi_scale": True,
            "fusion_args.agg_operator.mode": "ATTEN",
        },
    )

    def __init__(
        self,
        confidence: float | None = None,  # 0 to 1, of cells that are sent; null: by the size
        *,
        driving_request: bool = False,  # whether the ego asks for features along its plan
        request_radius: float | None = None,  # of a bump, cells of 0.25 m; null: checkpoint or 160
        request_sigma_reverse: float | None = None,  # of bumps, per width; null: checkpoint or 2
    ) -> None:
        """Send cells with at least this score: 0 is all; if not set, 0.01 in lite, 0 in full."""
        super().__init__()
        if confidence is not None and not 0.0 <= confidence <= 1.0:
            raise UserError(f"fusion.confidence = {confidence:g}: must be between 0 and 1")
        for name, value in (
            ("request_radius", request_radius),
            ("request_sigma_reverse", request_sigma_reverse),
        ):
            if value is not None and not 0.0 < value < math.inf:
                raise UserError(f"fusion.{name} = {value:g}: must be > 0 and finite")
        self.reads_requests = driving_request
        self._given = confidence
        self._radius, self._sigma_reverse = request_radius, request_sigma_reverse
        self._published: CommunicationSettings | None = None
        self.confidence = 0.0

    def take_published_settings(self, settings: Mapping[str, Any], path: Path) -> None:
        """Take `fusion_args.communication` of a checkpoint's settings, or refuse it.

        Args:
            settings: `model.args` of the checkpoint's config.yaml.
            path: that file, for messages.
        """
        communication = settings["fusion_args"].get("communication")
        if communication is not None:
            place = f"{path}: model.args.fusion_args.communication"
            self._published = read_communication(communication, place)

    def build(self, features: FeatureSpec) -> None:
        """Choose the threshold and the shape of requests: the user's, the checkpoint's, ours."""
        grid = features.grid
        published = self._published or CommunicationSettings(
            threshold=CONFIDENCE[features.size], detection_range=(*grid.low, *grid.high)
        )
        self.confidence = published.threshold if self._given is None else self._given
        self.communication = replace(
            published,
            threshold=self.confidence,
            radius=self._radius or published.radius,
            sigma_reverse=self._sigma_reverse or published.sigma_reverse,
        )

    def send(self, maps: Maps, logits: Callable[[], Tensor]) -> Maps:
        """Return the levels where this agent is confident.

        Args:
            maps: the levels, (1, channels, rows, columns) each, the finest first.
            logits: gives (1, classes, rows, columns) of the finest level.

        Returns:
            The same shapes, zero where cells are not sent.
        """
        if not self.confidence:
            return maps
        return mask_levels(maps, compute_confidence(logits()), self.confidence)

    def send_on_request(
        self,
        maps: Maps,
        logits: Callable[[], Tensor],
        request: DrivingRequest,
        lidar_in_world: Pose,
    ) -> Maps:
        """Return the levels where this agent is confident and the ego plans to drive."""
        if not self.confidence:
            return maps
        # (1, 1, rows, columns) the sender's best score of any class
        confidence = compute_confidence(logits())
        sender_in_ego = compute_relative_pose(lidar_in_world, request.lidar_in_world)
        rows, columns = confidence.shape[-2:]
        # (rows, columns): the plan on the ego's grid, then on the sender's
        request_map = render_request_map(
            request.waypoints_in_lidar, (rows, columns), self.communication
        )
        warped = warp_request(request_map, sender_in_ego, self.features.grid)
        weighed = weigh_confidence(confidence, warped, float(request_map.max()))
        return mask_levels(maps, weighed, self.confidence)

    def payload(self, maps: tuple[Singles, ...]) -> Features:
        """Return the levels as a message."""
        return SparseFeatures(maps) if self.confidence else Features(maps)

    def forward(self, x: Tensor) -> Tensor:
        """Return one level of the ego's after it has attended to all."""
        return attend_to_agents(x)


def compute_confidence(logits: Tensor) -> Tensor:
    """Return the best score of any class, (1, 1, rows, columns)."""
    return torch.sigmoid(logits).amax(1, keepdim=True)


def mask_levels(
    levels: Sequence[Tensor], confidence: Tensor, threshold: float
) -> tuple[Tensor, ...]:
    """Return levels (1, channels, rows, columns) with zeros where confidence is too low.

    Args:
        levels: (1, channels, rows, columns) each, each half as fine as the one before.
        confidence: (1, 1, rows, columns) of the finest level.
        threshold: 0 to 1.
    """
    mask = (confidence >= threshold).to(confidence)
    masked = []
    for level in levels:
        masked.append(level * mask)
        # a coarser cell is sent if any of its four finer cells is
        mask = functional.max_pool2d(mask, 2)
    return tuple(masked)
