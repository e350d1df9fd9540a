"""Where a network's weights come from: ours, a file, a V2Xverse folder, or at random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from agents.foreign.child.absent_keys import MAY_BE_ABSENT
from agents.perception.checkpoint_files import find_newest_weights
from agents.perception.checkpoints import read_checkpoint_design, read_state_dict
from agents.perception.designs import Size
from agents.perception.fusion.base import FusionModule
from agents.perception.fusion.catalogue import is_shipped
from agents.perception.network import PerceptionNetwork
from agents.perception.operating_point import (
    OperatingPoint,
    make_uniform_point,
    read_operating_point,
)
from agents.perception.random_weights import make_random_weights
from harness.common.errors import UserError
from harness.common.safe_reading import CHECKPOINT, check_regular

FOLDER = Path(__file__).parent / "weights"
RANDOM = "random"
LOGIT_OFFSET = 2.4
"""Of networks with random weights: enough that they do not detect something in every cell."""
LISTED = 12
"""Keys that a table of misfits names one by one."""


def load_network(
    fusion: FusionModule,
    size: Size = "lite",
    weights: str | None = None,
    checkpoint: str | None = None,
) -> PerceptionNetwork:
    """Return a network with all its weights; refuse what is missing or does not fit.

    Args:
        fusion: the scheme's module, without layers yet.
        size: `lite` or `full`; a checkpoint has its size.
        weights: a file, `random`, or None for the shipped weights.
        checkpoint: a folder of V2Xverse's; not together with `weights`.

    Returns:
        A network on the processor, as it would be trained on.

    Raises:
        UserError: nothing is there, or it does not fit.
    """
    if checkpoint is not None and weights is not None:
        raise UserError(
            f"system: {fusion.scheme} has weights and a checkpoint; leave one of them out"
        )
    network = make_unfilled_network(fusion, size, checkpoint)
    if checkpoint is not None:
        file = find_newest_weights(Path(checkpoint).expanduser())
        fill_network(network, drop_unread_layers(read_state_dict(file)), file)
        return network
    # else weights at random or from a file
    if weights == RANDOM:
        state = make_random_weights(network.state_dict(), network.design.grid, LOGIT_OFFSET)
        network.load_state_dict(state)
        return network
    file = find_weight_file(type(fusion), size, weights)
    fill_network(network, read_weights(file), file)
    return network


def make_unfilled_network(
    fusion: FusionModule, size: Size = "lite", checkpoint: str | None = None
) -> PerceptionNetwork:
    """Return a network before it is given its weights; a checkpoint brings its design.

    Args:
        fusion: the scheme's module, without layers yet.
        size: `lite` or `full`.
        checkpoint: a folder of V2Xverse's.
    """
    if checkpoint is None:
        return PerceptionNetwork(fusion, fusion.choose_design(size))
    folder = Path(checkpoint).expanduser()
    return PerceptionNetwork(fusion, read_checkpoint_design(folder, fusion))


def load_operating_point(
    network: PerceptionNetwork, size: Size, weights: str | None, checkpoint: str | None
) -> OperatingPoint:
    """Return the operating point that comes with a network's weights, or the same for all.

    Args:
        network: with its weights.
        size: `lite` or `full`.
        weights: as `load_network` got it.
        checkpoint: as `load_network` got it.

    Returns:
        Thresholds and calibration; without a stored one, the design's threshold for all classes.
    """
    known = None
    if checkpoint is None and weights != RANDOM:
        file = find_weight_file(type(network.fusion_net), size, weights)
        known = read_operating_point(file, network.scheme)
    return known or make_uniform_point(network.design.decoding.counts)


def list_weight_files(
    fusion: type[FusionModule] | None, size: Size, weights: str | None, checkpoint: str | None
) -> list[Path]:
    """Return the files that a network is made of; no class stands for one that is not ours.

    Args:
        fusion: the class of the module; None for one that is not shipped.
        size: `lite` or `full`.
        weights: a file, `random`, or None.
        checkpoint: a folder, or None.
    """
    if checkpoint is not None:
        config = Path(checkpoint).expanduser() / "config.yaml"
        return [config, find_newest_weights(config.parent)] if config.is_file() else [config]
    return [] if weights == RANDOM else [find_weight_file(fusion, size, weights)]


def refuse_unloadable_weights(
    fusion: FusionModule, size: Size, weights: str | None, checkpoint: str | None
) -> None:
    """Load what a user names, once: what is broken or does not fit is refused in one line."""
    if checkpoint is not None or weights not in (None, RANDOM):
        try:
            load_network(fusion, size, weights, checkpoint)
        except UserError as problem:
            first = [" ".join(line.split()) for line in str(problem).splitlines()[:2]]
            raise UserError(", such as ".join(first)) from None


def find_weight_file(fusion: type[FusionModule] | None, size: Size, weights: str | None) -> Path:
    """Return the file with a network's weights, if it is there."""
    if weights is not None:
        file = Path(weights).expanduser()
        if file.is_file():
            return file
        raise UserError(f"system: no such file of weights: {file}")
    if fusion is None or not is_shipped(fusion):
        raise UserError("system: a fusion module of your own needs weights=FILE, or random")
    file = FOLDER / get_weight_file_name(fusion, size)
    if file.is_file():
        return file
    raise UserError(
        f"system: no weights for {size} {fusion.scheme}: train some with `crucible train --scheme"
        f" {fusion.trained_as}`, or set weights=FILE or checkpoint=FOLDER"
    )


def get_weight_file_name(fusion: type[FusionModule], size: Size = "lite") -> str:
    """Return the name of the file with the weights of a scheme.

    Args:
        fusion: the class of a scheme.
        size: lite, or full as in V2Xverse.

    Returns:
        Such as `lite_late.safetensors`, after the scheme whose weights it uses.
    """
    return f"{size}_{fusion.trained_as}.safetensors"


def read_weights(file: Path) -> dict[str, Tensor]:
    """Read weights.

    Args:
        file: safetensors.

    Returns:
        Tensors by key.

    Raises:
        UserError: not there, too large, or no weights.
    """
    try:
        check_regular(file, CHECKPOINT, follow=True)
        state: dict[str, Tensor] = load_file(file)
    except (SafetensorError, OSError) as problem:
        raise UserError(f"{file}: holds no weights: {problem}") from None
    return state


def fill_network(network: PerceptionNetwork, state: Mapping[str, Tensor], source: Path) -> None:
    """Give a network all of its weights, or none and the reasons in a table.

    Args:
        network: whose weights are replaced.
        state: by name.
        source: the file, for messages.

    Raises:
        UserError: a weight is missing, unexpected, of another shape or not finite.
    """
    # all misfits first, so that nothing is filled halfway
    rows = list_misfits(network.state_dict(), state)
    if rows:
        shown = rows[:LISTED]
        more = [f"  and {len(rows) - LISTED} more"] if len(rows) > LISTED else []
        raise UserError(
            "\n".join(
                [
                    f"system: {source} does not fit {network.scheme}: {len(rows)} keys are wrong",
                    *(f"  {what:10} {key}  {shapes}" for what, key, shapes in shown),
                    *more,
                ]
            )
        )
    for key, numbers in state.items():
        if not bool(torch.isfinite(numbers).all()):
            raise UserError(f"system: {source}: {key} holds numbers that are not finite")
    # checkpoints may hold halves or doubles
    network.load_state_dict(
        {
            key: numbers.float() if numbers.is_floating_point() else numbers
            for key, numbers in state.items()
        }
    )


def drop_unread_layers(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """Return the weights in a checkpoint without those that V2Xverse never reads.

    V2Xverse's CoDriving has a Gaussian filter that it does not use; our network has none. A
    checkpoint holds the filter or lacks it: both are the same network.

    Args:
        state: tensors by key.
    """
    return {key: numbers for key, numbers in state.items() if key not in MAY_BE_ABSENT}


def list_misfits(
    needed: Mapping[str, Tensor], given: Mapping[str, Tensor]
) -> list[tuple[str, str, str]]:
    """Return what is missing, unexpected or of another shape: a word, the key, the shapes.

    Args:
        needed: weights of the network, by name.
        given: weights of the file, by name.
    """
    rows = [("missing", key, format_shape(needed[key])) for key in needed if key not in given]
    rows += [("unexpected", key, format_shape(given[key])) for key in given if key not in needed]
    rows += [
        ("reshaped", key, f"{format_shape(given[key])}, needed {format_shape(needed[key])}")
        for key in needed
        if key in given and needed[key].shape != given[key].shape
    ]
    return rows


def format_shape(numbers: Tensor) -> str:
    """Return a shape in words."""
    return " x ".join(map(str, numbers.shape)) or "one number"
