"""Compare our networks with V2Xverse's own code: outputs, boxes, and time on one core.

    V2XVERSE_ROOT=... python -m tests.perception.parity [scheme ...] [--rounds 3]

Both get the same weights and the same points. Theirs runs its network twice, with messages and
without, as varying cooperative from ego-alone detections asks of it; ours does both in one step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np
import torch

from agents.perception.detector import prepare_for_inference
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.grid import PillarGrid
from agents.perception.network import PerceptionNetwork
from agents.perception.random_weights import make_random_weights
from harness.types.geometry import transform_points
from harness.types.vocabulary import Floats, Pose, Singles
from tests.perception.parity import ours
from tests.perception.parity.scene import EGO, PARTNERS, cloud
from tests.perception.parity.theirs import FILES, Theirs, missing

POINTS = 25_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perception.parity")
    parser.add_argument("schemes", nargs="*", default=list(FILES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--small", action="store_true", help="a window of 32 by 16 m")
    given = parser.parse_args()
    reason = missing()
    if reason:
        sys.exit(reason)
    torch.set_num_threads(1)
    print(f"{'scheme':10} {'raw':>9} {'corner':>9} {'boxes':>5} {'theirs':>8} {'ours':>8} faster")
    for scheme in given.schemes:
        grid = SCHEMES[scheme].choose_design("full").grid
        grid = ours.windowed(grid, 16.0, 8.0) if given.small else grid
        print(compared(scheme, grid, given.rounds), flush=True)


def compared(scheme: str, grid: PillarGrid, rounds: int) -> str:
    """Return a line of the table."""
    poses = [EGO, *PARTNERS[:1]]
    clouds = [cloud(grid, pose, POINTS, str(n)) for n, pose in enumerate(poses)]
    theirs, network = Theirs(scheme, grid), ours.network_of(scheme, grid)
    theirs.network.load_state_dict(make_random_weights(theirs.network.state_dict(), grid))
    raw, corner, boxes = differences(theirs, network, clouds, poses)
    prepare_for_inference(network)
    seconds = medians(
        [
            lambda: their_step(theirs, clouds, poses),
            lambda: ours.step(network, clouds, poses),
        ],
        rounds,
    )
    return (
        f"{scheme:10} {raw:9.1e} {corner:9.1e} {boxes:5d} {seconds[0]:6.2f} s {seconds[1]:6.2f} s"
        f" {seconds[0] / seconds[1]:5.2f}"
    )


def differences(
    theirs: Theirs, network: PerceptionNetwork, clouds: Sequence[Singles], poses: Sequence[Pose]
) -> tuple[float, float, int]:
    """Return the largest difference of raw outputs and of boxes' corners, and how many boxes."""
    outputs, places = their_outputs(theirs, clouds, poses)
    seen = ours.together(network, clouds, poses)
    raw = max(
        float((mine - other).abs().max())
        for output, heads in zip(outputs, seen.raws, strict=True)
        for mine, other in (
            (heads.logits, output["cls_preds"]),
            (heads.codes, output["bbox_preds"]),
        )
    )
    worst = 0.0
    for kind, others in enumerate(theirs.boxes_of(outputs, places)):
        mine = seen.boxes[seen.boxes.classes == kind]
        if len(mine) != len(others):
            raise RuntimeError(
                f"{network.scheme}: {len(others)} boxes of class {kind}, {len(mine)}"
            )
        for corners_of_one in others[:, :24].reshape(-1, 8, 3):
            worst = max(worst, float(apart(corners(mine.geometry), corners_of_one).min()))
    return raw, worst, len(seen.boxes)


def apart(several: Floats, one: Floats) -> Floats:
    """Return how far the corner that is worst met lies from one box's, for each of several.

    Nothing is said of their order: a negative size mirrors a box onto itself.
    """
    away = np.linalg.norm(several[:, :, None] - one[None, None], axis=-1)
    return np.asarray(np.maximum(away.min(1).max(1), away.min(2).max(1)))


def their_outputs(
    theirs: Theirs, clouds: Sequence[Singles], poses: Sequence[Pose]
) -> tuple[list[dict[str, torch.Tensor]], Sequence[Pose]]:
    """Run V2Xverse's network as its datasets feed it: merged points, one by one, or together."""
    if theirs.scheme == "early":
        moved = [transform_points(*pair, EGO) for pair in zip(clouds, poses, strict=True)]
        return [theirs.run([np.concatenate(moved)], [EGO])], [EGO]
    if theirs.scheme == "single":
        return [theirs.run(clouds[:1], [EGO])], [EGO]
    if theirs.scheme == "late":
        return [theirs.run([cloud], [EGO]) for cloud in clouds], poses
    return [theirs.run(clouds, poses)], [EGO]


def their_step(theirs: Theirs, clouds: Sequence[Singles], poses: Sequence[Pose]) -> None:
    """Run all that V2Xverse needs for both answers."""
    theirs.boxes_of(*their_outputs(theirs, clouds, poses))
    if theirs.scheme != "single":
        theirs.boxes_of(*their_outputs(theirs, clouds[:1], poses[:1]))


def corners(geometry: Floats) -> Floats:
    """Return the corners (N, 8, 3) of boxes: once round below, once round above."""
    ahead = np.array([1, 1, -1, -1] * 2) * geometry[:, 3:4] / 2
    aside = np.array([-1, 1, 1, -1] * 2) * geometry[:, 4:5] / 2
    up = np.array([-1] * 4 + [1] * 4) * geometry[:, 5:6] / 2
    cos, sin = np.cos(geometry[:, 6:]), np.sin(geometry[:, 6:])
    turned = np.stack([cos * ahead - sin * aside, sin * ahead + cos * aside, up], axis=-1)
    return np.asarray(turned + geometry[:, None, :3])


def medians(work: Sequence[Callable[[], object]], rounds: int) -> list[float]:
    """Return the median of the core's seconds for each; they take turns."""
    spent: list[list[float]] = [[] for _ in work]
    for _ in range(rounds):
        for measured, seconds in zip(work, spent, strict=True):
            start = time.process_time()
            measured()
            seconds.append(time.process_time() - start)
    return [float(np.median(seconds)) for seconds in spent]


if __name__ == "__main__":
    main()
