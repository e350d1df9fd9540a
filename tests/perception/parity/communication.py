"""CoDriving's communication: V2Xverse's and ours, for each combination of its settings.

    V2XVERSE_ROOT=... python -m tests.perception.parity.communication

writes what V2Xverse's own network gives into the golden files, for comparison without V2Xverse.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents.perception.fusion.base import Maps, Partner
from agents.perception.fusion.codriving import CoDriving
from agents.perception.fusion.driving_request import DrivingRequest
from agents.perception.grid import PillarGrid
from agents.perception.network import PerceptionNetwork, RawOutput
from agents.perception.random_weights import make_random_weights
from harness.types.vocabulary import Floats, Singles
from tests.perception.parity.golden import FOLDER, POSES, sampled, scene, small
from tests.perception.parity.scene import EGO

FILE = FOLDER / "communication.npz"
EVERY = 7
"""One of so many numbers of an output is stored."""
AHEAD = np.array([[0.6 * step, 0.05 * step**2] for step in range(1, 11)])
"""Waypoints of a slight turn to the right, (10, 2): metres ahead and to the right; some leave the
window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """One combination of settings, and who is there."""

    threshold: float
    requests: bool
    smooth: bool
    shape: Mapping[str, float]  # radius and sigma_reverse, where they are set
    agents: int

    @property
    def name(self) -> str:
        """How the golden file calls it."""
        shape = "".join(f"-{key}{value:g}" for key, value in self.shape.items())
        flags = ("-request" if self.requests else "") + ("-smooth" if self.smooth else "")
        return f"{self.threshold:g}{flags}{shape}-{self.agents}"

    def settings(self, grid: PillarGrid) -> dict[str, Any]:
        """Return `fusion_args.communication` as a configuration has it."""
        given: dict[str, Any] = {
            "thre": self.threshold,
            "cav_lidar_range": [*grid.low, *grid.high],
            "driving_request": self.requests,
            "round": 2 if self.smooth else 1,
            **self.shape,
        }
        if self.smooth:
            given["gaussian_smooth"] = {"k_size": 5, "c_sigma": 1.0}
        return given


COMBINATIONS = [
    Combination(threshold=threshold, requests=requests, smooth=smooth, shape=shape, agents=agents)
    for threshold, requests, smooth, shape, agents in product(
        (0.0, 0.005, 0.011, 0.2, 1.0),
        (False, True),
        (False, True),
        ({}, {"radius": 12, "sigma_reverse": 5}),
        (1, 3),
    )
    if requests or not shape
]


@lru_cache(maxsize=1)
def encoded(grid: PillarGrid) -> tuple[PerceptionNetwork, list[Maps]]:
    """Return a network, and the maps of each agent: communication has no weights of its own."""
    network = PerceptionNetwork(CoDriving(), replace(CoDriving.choose_design("full"), grid=grid))
    network.load_state_dict(make_random_weights(network.state_dict(), grid))
    network.eval()
    with torch.inference_mode():
        return network, [network.encode_clouds([cloud]) for cloud in scene(grid)[0]]


@torch.inference_mode()
def our_output(combination: Combination, grid: PillarGrid) -> RawOutput:
    """Return what our ego detects in what its partners sent."""
    network, maps = encoded(grid)
    fusion = CoDriving(driving_request=combination.requests)
    arguments = {"fusion_args": {"communication": combination.settings(grid)}}
    fusion.take_published_settings(arguments, Path("config.yaml"))
    network.fusion_net = fusion.build_with_features(network.fusion_net.features)
    request = DrivingRequest(AHEAD, EGO) if combination.requests else None
    partners = [
        Partner(network.send_maps(levels, request, pose), pose)
        for levels, pose in zip(
            maps[1 : combination.agents], POSES[1 : combination.agents], strict=True
        )
    ]
    return network.run_heads(network.fuse_maps(maps[0], partners))


def their_output(combination: Combination, grid: PillarGrid) -> dict[str, torch.Tensor]:
    """Return what V2Xverse's network gives; its own loader's absences are filled by its code."""
    from tests.perception.parity.theirs import Theirs

    theirs = Theirs("codriving", grid, {"communication": combination.settings(grid)})
    needed = theirs.network.state_dict()
    weights = make_random_weights(
        {key: tensor for key, tensor in needed.items() if "naive_communication" not in key}, grid
    )
    theirs.network.load_state_dict(weights, strict=False)
    clouds, _ = scene(grid)
    waypoints = their_waypoints(AHEAD) if combination.requests else None
    output: dict[str, torch.Tensor] = theirs.run(
        clouds[: combination.agents], POSES[: combination.agents], waypoints
    )
    return output


def their_waypoints(ahead: Floats) -> torch.Tensor:
    """Return waypoints (1, 10, 2) as its planner gives them: to the right, and backwards."""
    return torch.from_numpy(np.stack([ahead[:, 1], -ahead[:, 0]], 1)[None].astype(np.float32))


def flattened(logits: torch.Tensor, codes: torch.Tensor) -> Singles:
    """Return every few cells of both outputs, one row."""
    return np.concatenate([sampled(logits).ravel(), sampled(codes).ravel()])


def main() -> None:
    from tests.perception.parity.theirs import missing

    reason = missing()
    if reason:
        sys.exit(reason)
    torch.set_num_threads(1)
    grid = small("codriving")
    rows, unlike = {}, 0.0
    for combination in COMBINATIONS:
        output = their_output(combination, grid)
        rows[combination.name] = flattened(output["cls_preds"], output["bbox_preds"])
        ours = our_output(combination, grid)
        apart = float(np.abs(flattened(ours.logits, ours.codes) - rows[combination.name]).max())
        unlike = max(unlike, apart)
        rate = float(output["comm_rate"])
        print(f"{combination.name:44} rate {rate:.4f}  apart {apart:.1e}")
    different = len({row.tobytes() for row in rows.values()})
    print(
        f"{len(rows)} combinations, {different} different outputs; largest difference {unlike:.1e}"
    )
    # Combinations that V2Xverse answers equally are stored once.
    kinds = sorted({row.tobytes() for row in rows.values()})
    numbers = np.stack([np.frombuffer(kind, np.float32) for kind in kinds])
    which = np.array([kinds.index(rows[item.name].tobytes()) for item in COMBINATIONS])
    np.savez_compressed(FILE, outputs=numbers[:, ::EVERY], which=which)


if __name__ == "__main__":
    main()
