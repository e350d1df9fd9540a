"""What V2Xverse's modules import or call and this process does without, or has under a newer name.

Whatever moves a simulator or draws for people is empty here; nothing that computes an answer is.
"""

from __future__ import annotations

import importlib
import sys
import types
from typing import Any

import numpy as np

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


class Anything:
    """Takes all, does nothing, and lets attributes be set."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def make() -> None:
    """Let V2Xverse's modules be imported, on new versions of what they use too."""
    for name in EMPTY:
        put_empty_module(name)
    for name in EMPTY_IF_MISSING:
        if not is_importable(name):
            put_empty_module(name)
    restore_numpy_names()
    restore_matplotlib_names()
    disable_cuda()


def is_importable(name: str) -> bool:
    """Return whether a module can be imported."""
    try:
        importlib.import_module(name)
    except (ImportError, RuntimeError):
        return False
    return True


def put_empty_module(name: str) -> None:
    """Put a module in a place, that has whatever is asked of it."""

    def ask(attribute: str) -> type:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        return Anything

    module: Any = types.ModuleType(name)
    module.__path__ = []
    module.__getattr__ = ask
    sys.modules[name] = module
    outer, _, last = name.rpartition(".")
    if outer in sys.modules:
        setattr(sys.modules[outer], last, module)


def restore_numpy_names() -> None:
    """`np.int` and its like went with numpy 1.24, `np.Inf` with 2.0."""
    for name, kind in (("int", int), ("float", float), ("bool", bool), ("Inf", np.inf)):
        if name not in vars(np):
            setattr(np, name, kind)


def restore_matplotlib_names() -> None:
    """`tostring_rgb` went with matplotlib 3.10."""
    matplotlib: Any = importlib.import_module("matplotlib")
    matplotlib.use("Agg")
    canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
    if not hasattr(canvas, "tostring_rgb"):
        canvas.tostring_rgb = lambda self: np.asarray(self.buffer_rgba())[..., :3].tobytes()


def disable_cuda() -> None:
    """Without a GPU, what is sent there stays where it is."""
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        torch.Tensor.cuda = lambda self, *_, **__: self
        torch.nn.Module.cuda = lambda self, *_, **__: self
