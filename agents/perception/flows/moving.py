"""A flow network at work: two messages of one sender in, the newer one as it would be now out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from agents.perception.detector import fold_batch_norm, set_weights_channels_last, to_channels_last
from agents.perception.flows.network import FlowNetwork
from agents.perception.grid import PillarGrid
from agents.perception.network import choose_device, set_one_thread
from agents.perception.warping import warp_maps
from harness.types.flows import MovedFeatures, SentFeatures
from harness.types.geometry import compute_relative_pose

SLOWEST = 1.0
"""m/s; a cell that is slower stands. Noise of a wall, times an age, would move it."""


def stop_slow_cells(velocity: Tensor) -> Tensor:
    """Return velocities (maps, 2, rows, columns), m/s, with 0 where a cell stands."""
    speed: Tensor = velocity.norm(dim=1, keepdim=True)
    return velocity * (speed >= SLOWEST)


class MapFlow:
    """Moves feature maps of one scheme; on a GPU if there is one, else on one core.

    Attributes:
        network: with its weights.
        grid: the window of the maps.
    """

    def __init__(self, network: FlowNetwork, grid: PillarGrid) -> None:
        set_one_thread()
        self._device = choose_device()
        self.grid = grid
        self.network = network.eval().requires_grad_(False).to(self._device)
        fold_batch_norm(self.network)
        set_weights_channels_last(self.network)

    @torch.inference_mode()
    def move_features(
        self, newer: SentFeatures, older: SentFeatures, *, seconds: float
    ) -> MovedFeatures:
        """Return the newer maps as they would be so many seconds later, in the newer frame.

        Args:
            newer: of the last message of a sender.
            older: of the message before.
            seconds: to move on.

        Raises:
            TypeError: the maps have other shapes than the network moves.
        """
        levels = self._read_levels(newer)
        if [level.shape[1] for level in levels] != [len(one) for one in self.network.empty]:
            shapes = [tuple(level.shape[1:]) for level in levels]
            raise TypeError(f"maps of {shapes} are not those that the flow network moves")
        # both in the frame of the newer one
        older_in_newer = compute_relative_pose(older.lidar_in_world, newer.lidar_in_world)
        before = warp_maps(self._read_levels(older)[0], older_in_newer, self.grid)
        gap = self._fill(newer.time - older.time)
        velocity, importance = self.network(levels[0], to_channels_last(before), gap)
        velocity = stop_slow_cells(velocity)
        moved = self.network.move_levels(
            levels, velocity, importance, age=self._fill(seconds), cell=self.grid.cell
        )
        speed = velocity.norm(dim=1)
        metres = (speed[speed > 0] * seconds).cpu().numpy()
        return MovedFeatures(
            features=replace(
                newer.features, maps=tuple(level[0].contiguous().cpu().numpy() for level in moved)
            ),
            cells=len(metres),
            mean=float(metres.mean()) if len(metres) else 0.0,
            greatest=float(metres.max()) if len(metres) else 0.0,
        )

    def _read_levels(self, sent: SentFeatures) -> tuple[Tensor, ...]:
        """Return the maps of a message, (1, channels, rows, columns) each."""
        return tuple(
            to_channels_last(torch.from_numpy(np.array(level, np.float32))[None].to(self._device))
            for level in sent.features.maps
        )

    def _fill(self, seconds: float) -> Tensor:
        """Return (1,) seconds."""
        return torch.full((1,), seconds, device=self._device)
