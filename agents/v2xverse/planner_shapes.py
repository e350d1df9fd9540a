"""Keys and shapes of V2Xverse's waypoint planner (MotionNet on features), as its code builds it.

From `codriving/models/planning_end2end.py` and `end2end_codriving.yaml`: what a planner checkpoint
must hold can be compared without V2Xverse's packages.
"""

from __future__ import annotations

from itertools import pairwise

CONVOLUTIONS = {
    "conv_pre_1": (32, 6),
    "conv_pre_2": (32, 32),
    "conv_pre_1_f": (32, 128),
    "conv_pre_2_f": (32, 32),
    "conv_pre_1_f2": (32, 64),
    "conv_pre_2_f2": (32, 32),
    "conv1_1": (64, 32),
    "conv1_2": (64, 64),
    "conv2_1": (128, 64),
    "conv2_2": (128, 128),
    "conv3_1": (256, 128),
}
"""3 x 3 over space: channels out, channels in."""

TEMPORAL = {"conv3d_1": 64, "conv3d_2": 128}
"""3 x 1 x 1 over time, each with its batch normalisation: channels."""

NORMALISATIONS = {
    "bn_pre_1": 32,
    "bn_pre_2": 32,
    "bn_pre_1_f": 32,
    "bn_pre_2_f": 32,
    "bn_pre_1_f2": 32,
    "bn_pre_2_f2": 32,
    "bn1_1": 64,
    "bn1_2": 64,
    "bn2_1": 128,
    "bn2_2": 128,
    "bn3_1": 256,
}
"""Batch normalisation: channels."""

PERCEPTRONS = {"decoder": (384, 1025, 512, 20), "target_encoder": (2, 16, 64, 128)}
"""Fully connected layers: sizes from the input on."""


def list_planner_shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every array in the planner's state, by key."""
    shapes: dict[str, tuple[int, ...]] = {}
    for name, (out, into) in CONVOLUTIONS.items():
        shapes |= {f"{name}.weight": (out, into, 3, 3), f"{name}.bias": (out,)}
    for name, channels in TEMPORAL.items():
        shapes |= {
            f"{name}.conv3d.weight": (channels, channels, 3, 1, 1),
            f"{name}.conv3d.bias": (channels,),
        }
        shapes |= list_normalisation_shapes(f"{name}.bn3d", channels)
    for name, channels in NORMALISATIONS.items():
        shapes |= list_normalisation_shapes(name, channels)
    for name, sizes in PERCEPTRONS.items():
        for number, (into, out) in enumerate(pairwise(sizes)):
            shapes |= {
                f"{name}.layers.{number}.weight": (out, into),
                f"{name}.layers.{number}.bias": (out,),
            }
    return shapes


def list_normalisation_shapes(name: str, channels: int) -> dict[str, tuple[int, ...]]:
    """Return the shapes of one batch normalisation: trained numbers, statistics, a counter."""
    arrays = ("weight", "bias", "running_mean", "running_var")
    return {f"{name}.{array}": (channels,) for array in arrays} | {
        f"{name}.num_batches_tracked": ()
    }
