"""The output of V2Xverse's code for a small scene, stored for comparison without V2Xverse.

    V2XVERSE_ROOT=... python -m tests.perception.parity.golden

writes the files again. Weights and points are random, so a file holds only the output: every few
cells of the raw output, and the boxes' corners and scores, class by class.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import torch

from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.grid import PillarGrid
from agents.perception.random_weights import make_random_weights
from harness.types.vocabulary import Pose, Singles
from tests.perception.parity.ours import windowed
from tests.perception.parity.scene import EGO, PARTNERS, cloud

FOLDER = Path(__file__).parents[1] / "golden"
FULL_SCHEMES = [name for name, kind in SCHEMES.items() if kind.v2xverse is not None]
POINTS = 2000
EVERY = 3
"""Rows and columns from one kept cell to the next."""

POSES = [EGO, *PARTNERS]


def small(scheme: str) -> PillarGrid:
    """Return V2Xverse's grid with the smallest window that every scheme can work in."""
    return windowed(SCHEMES[scheme].choose_design("full").grid, 8.0, 4.0)


def scene(grid: PillarGrid) -> tuple[list[Singles], list[Pose]]:
    """Return what the ego and two partners sweep, and where they stand."""
    return [cloud(grid, pose, POINTS, str(n)) for n, pose in enumerate(POSES)], POSES


def sampled(raw: torch.Tensor) -> Singles:
    """Return every few cells of a raw output (1, channels, rows, columns)."""
    return np.ascontiguousarray(raw[0, :, ::EVERY, ::EVERY].numpy())


def write(scheme: str) -> None:
    """Write down what V2Xverse says."""
    from tests.perception.parity.__main__ import their_outputs
    from tests.perception.parity.theirs import Theirs

    grid = small(scheme)
    theirs = Theirs(scheme, grid)
    theirs.network.load_state_dict(make_random_weights(theirs.network.state_dict(), grid))
    outputs, places = their_outputs(theirs, *scene(grid))
    boxes = theirs.boxes_of(outputs, places)
    np.savez_compressed(
        FOLDER / f"{scheme}.npz",
        logits=np.stack([sampled(output["cls_preds"]) for output in outputs]),
        codes=np.stack([sampled(output["bbox_preds"]) for output in outputs]),
        classes=np.repeat(np.arange(3), [len(output) for output in boxes]),
        corners=np.concatenate(boxes)[:, :24].reshape(-1, 8, 3).astype(np.float32),
        scores=np.concatenate(boxes)[:, 24].astype(np.float32),
    )


def main() -> None:
    from tests.perception.parity.theirs import missing

    reason = missing()
    if reason:
        sys.exit(reason)
    torch.set_num_threads(1)
    FOLDER.mkdir(exist_ok=True)
    for scheme in FULL_SCHEMES:
        write(scheme)


if __name__ == "__main__":
    main()
