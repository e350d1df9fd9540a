"""V2Xverse's own code over folders that `crucible models export` writes, run unmodified.

    V2XVERSE_ROOT=... python -m tests.perception.parity.exported [scheme ...]

For each scheme: settings by its `yaml_utils.load_yaml`, the network by its `create_model`, weights
by `load_state_dict` with every key asked for, then the same sweeps through both networks.
"""

from __future__ import annotations

import argparse
import importlib
import os
import sys
import tempfile
from pathlib import Path

import torch

from agents.bundles.bundle import CONFIG
from agents.bundles.export_settings import FUSIONS
from agents.bundles.model_export import WEIGHTS, export_model
from agents.perception.loading import RANDOM
from tests.perception.parity import ours
from tests.perception.parity.__main__ import POINTS, differences
from tests.perception.parity.scene import EGO, PARTNERS, cloud
from tests.perception.parity.theirs import Theirs, missing, prepare


class Loaded(Theirs):
    """V2Xverse's network of an exported folder, with its preparation and its decoding."""

    def __init__(self, scheme: str, folder: Path) -> None:
        self.scheme = scheme
        settings = importlib.import_module("opencood.hypes_yaml.yaml_utils")
        tools = importlib.import_module("opencood.tools.train_utils")
        voxels = importlib.import_module("opencood.data_utils.pre_processor.sp_voxel_preprocessor")
        boxes = importlib.import_module("opencood.data_utils.post_processor.voxel_postprocessor")
        self.settings = settings.load_yaml(str(folder / CONFIG))
        self.network = tools.create_model(self.settings).eval()
        state = torch.load(folder / WEIGHTS, map_location="cpu", weights_only=True)
        self.misfits = self.network.load_state_dict(state, strict=False)
        self.voxels = voxels.SpVoxelPreprocessor(self.settings["preprocess"], train=False)
        self.boxes = boxes.VoxelPostprocessor(self.settings["postprocess"], train=False)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.perception.parity.exported")
    parser.add_argument("schemes", nargs="*", default=list(FUSIONS))
    given = parser.parse_args()
    reason = missing()
    if reason:
        sys.exit(reason)
    prepare()
    torch.set_num_threads(1)
    print(f"{'scheme':10} {'missing':>7} {'unexpected':>10} {'raw':>9} {'corner':>9} {'boxes':>5}")
    for scheme in given.schemes:
        print(check_scheme(scheme), flush=True)


def check_scheme(scheme: str) -> str:
    """Return a line of the table."""
    network = ours.network_of(scheme)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / scheme
        export_model(network, folder, weights=RANDOM)
        theirs = Loaded(scheme, folder)
    poses = [EGO, *PARTNERS[:1]]
    grid = network.design.grid
    clouds = [cloud(grid, pose, POINTS, str(n)) for n, pose in enumerate(poses)]
    raw, corner, boxes = differences(theirs, network, clouds, poses)
    absent, unknown = len(theirs.misfits.missing_keys), len(theirs.misfits.unexpected_keys)
    return f"{scheme:10} {absent:7d} {unknown:10d} {raw:9.1e} {corner:9.1e} {boxes:5d}"


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
