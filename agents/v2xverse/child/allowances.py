"""What V2Xverse's modules import or call and this process does without, or has under a newer name.

Whatever moves a simulator or draws for people is empty here; nothing that computes an answer is.
"""

from __future__ import annotations

import importlib
from typing import Any

EMPTY = (
    "carla",
    "pygame",
    "agents",
    "agents.navigation",
    "agents.navigation.local_planner",
    "srunner",
    "srunner.scenariomanager",
    "srunner.scenariomanager.carla_data_provider",
    "carla_birdeye_view",
    "opencood.visualization",
    "opencood.visualization.vis_utils",
    "opencood.visualization.my_vis",
    "opencood.visualization.simple_vis_multiclass",
)
"""Always: the simulator, its windows, and pictures."""
EMPTY_IF_MISSING = (
    "icecream",
    "open3d",
    "pypcd",
    "tqdm",
    "h5py",
    "sklearn",
    "sklearn.metrics",
    "torchvision",
    "torchvision.transforms",
    "opencood.utils.box_overlaps",
)
"""Viewers, readers of files and pictures, and a compiled counter of overlaps in training."""


def make() -> None:
    """Let V2Xverse's modules be imported, on new versions of what they use too."""
    substitutes: Any = importlib.import_module("substitutes")
    for name in EMPTY:
        substitutes.put_empty_module(name)
    for name in EMPTY_IF_MISSING:
        if not substitutes.is_importable(name):
            substitutes.put_empty_module(name)
    substitutes.restore_numpy_names()
    importlib.import_module("matplotlib").use("Agg")
    substitutes.restore_matplotlib_names()
    substitutes.disable_cuda()
