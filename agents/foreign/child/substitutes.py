"""Stand-ins for what a checkout imports or calls and a child does without, or has newly named.

Standard library and numpy only, Python 3.7 or newer: the module is read by the Python of a
checkout.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
import types
from typing import Any

import numpy as np


class Anything:
    """Takes all, does nothing, and lets attributes be set."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass


def is_importable(name: str) -> bool:
    """Return whether a module can be imported."""
    try:
        importlib.import_module(name)
    except (ImportError, RuntimeError):
        return False
    return True


def is_installed(name: str) -> bool:
    """Return whether a module is there to be imported; it is not imported."""
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def put_empty_module(name: str) -> Any:
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
    return module


def restore_numpy_names() -> None:
    """`np.int` and its like went with numpy 1.24, `np.Inf` with 2.0."""
    for name, kind in (("int", int), ("float", float), ("bool", bool), ("Inf", np.inf)):
        if name not in vars(np):
            setattr(np, name, kind)


def restore_matplotlib_names() -> None:
    """`tostring_rgb` went with matplotlib 3.10, `cm.get_cmap` with 3.9."""
    matplotlib: Any = importlib.import_module("matplotlib")
    canvas = importlib.import_module("matplotlib.backends.backend_agg").FigureCanvasAgg
    if not hasattr(canvas, "tostring_rgb"):
        canvas.tostring_rgb = lambda self: np.asarray(self.buffer_rgba())[..., :3].tobytes()
    colours: Any = importlib.import_module("matplotlib.cm")
    if not hasattr(colours, "get_cmap"):
        colours.get_cmap = lambda name=None, *_: matplotlib.colormaps[name or "viridis"]


def send_cuda_to_processor() -> None:
    """Without a GPU, `.to("cuda")` leaves a tensor or a network where it is, too.

    `torch.load` reads weights that were written on a GPU.
    """
    torch: Any = importlib.import_module("torch")
    if torch.cuda.is_available():
        return
    disable_cuda()
    for kind in (torch.Tensor, torch.nn.Module):
        kind.to = make_stay(kind.to)
    torch.load = make_load_here(torch.load)


def make_stay(original: Any) -> Any:
    """Return a `to` for which a GPU is the processor."""

    def to(self: Any, *given: Any, **named: Any) -> Any:
        placed = ["cpu" if str(one).startswith("cuda") else one for one in given]
        if str(named.get("device", "")).startswith("cuda"):
            named["device"] = "cpu"
        return original(self, *placed, **named)

    return to


def make_load_here(original: Any) -> Any:
    """Return a `torch.load` for which a GPU is the processor, also where the file names it."""

    def load(file: Any, map_location: Any = None, *given: Any, **named: Any) -> Any:
        if map_location is None or str(map_location).startswith("cuda"):
            map_location = "cpu"
        return original(file, map_location, *given, **named)

    return load


def disable_cuda() -> None:
    """Without a GPU, what is sent there stays where it is."""
    torch: Any = importlib.import_module("torch")
    if not torch.cuda.is_available():
        torch.Tensor.cuda = lambda self, *_, **__: self
        torch.nn.Module.cuda = lambda self, *_, **__: self
