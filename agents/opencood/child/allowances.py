"""What a checkout of the OpenCOOD family imports or calls, and this process does without.

Files of data sets, pictures for people and compiled parts of the training are empty here; nothing
that computes an answer is. What computes is the checkout's own, or the same under a newer name.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any

import numpy as np

PICTURES = (
    "opencood.visualization",
    "opencood.visualization.vis_utils",
    "opencood.visualization.my_vis",
    "opencood.visualization.simple_vis",
    "opencood.visualization.debug_plot",
)
"""Always empty."""
EMPTY_IF_MISSING = (
    "icecream",
    "open3d",
    "pypcd",
    "tqdm",
    "h5py",
    "sklearn",
    "sklearn.metrics",
    "cv2",
    "tensorboardX",
    "pyquaternion",
    "matplotlib",
    "matplotlib.pyplot",
)
"""Viewers, readers of files, and imports that are never used."""
COMPILED = (
    "opencood.pcdet_utils.iou3d_nms.iou3d_nms_cuda",
    "opencood.pcdet_utils.roiaware_pool3d.roiaware_pool3d_cuda",
)
"""CUDA extensions: labels of the training; nothing on the way from points to boxes calls them."""

KEPT: list[Any] = []
"""True once all is made; and a library of operators, which is gone with its last reference."""


def make() -> None:
    """Let the checkout's modules be imported, on new versions of what they use too."""
    if KEPT:
        return
    KEPT.append(True)
    os.environ["MPLBACKEND"] = "Agg"
    substitutes: Any = importlib.import_module("substitutes")
    substitutes.restore_numpy_names()
    define_torchvision_operators(substitutes)
    # installed packages are left to be imported by those that need them
    for name in EMPTY_IF_MISSING:
        if not substitutes.is_installed(name):
            substitutes.put_empty_module(name)
    # a module of the standard library whose import fails where there is no display
    if not substitutes.is_importable("turtle"):
        substitutes.put_empty_module("turtle")
    for name in PICTURES:
        substitutes.put_empty_module(name)
    put_overlaps(substitutes)
    substitutes.disable_cuda()
    keep_tensors_here()
    keep_off_the_network(substitutes)


def put_compiled_parts() -> None:
    """After the checkout is on the path: put an empty module where an extension is not built."""
    substitutes: Any = importlib.import_module("substitutes")
    for name in COMPILED:
        if not substitutes.is_importable(name):
            substitutes.put_empty_module(name)


def put_overlaps(substitutes: Any) -> None:
    """Put a module in the place of the compiled counter of overlaps."""
    module = substitutes.put_empty_module("opencood.utils.box_overlaps")
    module.bbox_overlaps = compute_pixel_overlaps


def compute_pixel_overlaps(first: Any, second: Any) -> Any:
    """Return the overlaps (N, K) of axis-aligned boxes (N, 4) and (K, 4), sides counted in pixels.

    A side is one longer than the difference of its ends, as in `box_overlaps.pyx` of py-faster-rcnn
    (R. Girshick), which OpenCOOD compiles.
    """
    one, two = np.asarray(first, np.float32)[:, None], np.asarray(second, np.float32)[None]
    low, high = np.maximum(one[..., :2], two[..., :2]), np.minimum(one[..., 2:], two[..., 2:])
    common = np.clip(high - low + 1, 0, None).prod(axis=-1)
    areas = [(boxes[..., 2:] - boxes[..., :2] + 1).prod(axis=-1) for boxes in (one, two)]
    union = areas[0] + areas[1] - common
    return (common / np.where(union > 0, union, 1)).astype(np.float32)


def define_torchvision_operators(substitutes: Any) -> None:
    """Declare two operators whose library belongs to another torch; nothing here calls them."""
    if not substitutes.is_installed("torchvision") or substitutes.is_importable("torchvision"):
        return
    torch: Any = importlib.import_module("torch")
    for name in [name for name in sys.modules if name.partition(".")[0] == "torchvision"]:
        del sys.modules[name]
    library = torch.library.Library("torchvision", "FRAGMENT")
    KEPT.append(library)
    for operator in ("nms", "qnms"):
        library.define(operator + "(Tensor a) -> Tensor")


def keep_tensors_here() -> None:
    """Without a GPU, `.to(torch.device("cuda"))` leaves a tensor where it is."""
    torch: Any = importlib.import_module("torch")
    if torch.cuda.is_available():
        return
    original = torch.Tensor.to

    def move(self: Any, *given: Any, **named: Any) -> Any:
        if given and str(given[0]).startswith("cuda"):
            given = ("cpu", *given[1:])
        if str(named.get("device", "")).startswith("cuda"):
            named["device"] = "cpu"
        return original(self, *given, **named)

    torch.Tensor.to = move


def keep_off_the_network(substitutes: Any) -> None:
    """Image networks are built without their public weights: the checkpoint has all weights."""
    if substitutes.is_installed("efficientnet_pytorch"):
        network = importlib.import_module("efficientnet_pytorch").EfficientNet
        network.from_pretrained = classmethod(lambda cls, name, *_, **__: cls.from_name(name))
