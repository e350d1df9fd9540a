"""Where a network's weights come from: ours, a file, a V2Xverse folder, or at random."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from agents.perception.checkpoint_files import find_newest_weights
from agents.perception.checkpoints import design_in, state_in
from agents.perception.designs import Size
from agents.perception.fusion.base import Fusion
from agents.perception.fusion.catalogue import is_shipped
from agents.perception.network import Network
from agents.perception.operating_point import OperatingPoint, operating_point_in, same_for_all
from agents.perception.random_weights import random_weights
from agents.v2xverse.child.absent_keys import MAY_BE_ABSENT
from harness.errors import UserError
from harness.safe_reading import CHECKPOINT, check_regular

FOLDER = Path(__file__).parent / "weights"
RANDOM = "random"
LOGIT_OFFSET = 2.4
"""Of networks with random weights: enough that they do not detect something in every cell."""
LISTED = 12
"""Keys that a table of misfits names one by one."""


def network_with_weights(
    fusion: Fusion, size: Size = "lite", weights: str | None = None, checkpoint: str | None = None
) -> Network:
    """Return a network with all its weights; refuse what is missing or does not fit."""
    if checkpoint is not None:
        if weights is not None:
            raise UserError(
                f"system: {fusion.scheme} has weights and a checkpoint; leave one of them out"
            )
        folder = Path(checkpoint).expanduser()
        network = Network(fusion, design_in(folder, fusion))
        file = find_newest_weights(folder)
        fill(network, drop_unread_layers(state_in(file)), file)
        return network
    network = Network(fusion, fusion.design(size))
    if weights == RANDOM:
        state = random_weights(network.state_dict(), network.design.grid, LOGIT_OFFSET)
        network.load_state_dict(state)
        return network
    file = file_of(type(fusion), size, weights)
    fill(network, read(file), file)
    return network


def operating_point(
    network: Network, size: Size, weights: str | None, checkpoint: str | None
) -> OperatingPoint:
    """Return the operating point that comes with a network's weights, or the same for all."""
    known = None
    if checkpoint is None and weights != RANDOM:
        file = file_of(type(network.fusion_net), size, weights)
        known = operating_point_in(file, network.scheme)
    return known or same_for_all(network.design.decoding.counts)


def files(
    fusion: type[Fusion] | None, size: Size, weights: str | None, checkpoint: str | None
) -> list[Path]:
    """Return the files that a network is made of; no class stands for one that is not ours."""
    if checkpoint is not None:
        config = Path(checkpoint).expanduser() / "config.yaml"
        return [config, find_newest_weights(config.parent)] if config.is_file() else [config]
    return [] if weights == RANDOM else [file_of(fusion, size, weights)]


def refuse_unloadable(
    fusion: Fusion, size: Size, weights: str | None, checkpoint: str | None
) -> None:
    """Load what a user names, once: what is broken or does not fit is refused in one line."""
    if checkpoint is not None or weights not in (None, RANDOM):
        try:
            network_with_weights(fusion, size, weights, checkpoint)
        except UserError as problem:
            first = [" ".join(line.split()) for line in str(problem).splitlines()[:2]]
            raise UserError(", such as ".join(first)) from None


def file_of(fusion: type[Fusion] | None, size: Size, weights: str | None) -> Path:
    """Return the file with a network's weights, if it is there."""
    if weights is not None:
        file = Path(weights).expanduser()
        if file.is_file():
            return file
        raise UserError(f"system: no such file of weights: {file}")
    if fusion is None or not is_shipped(fusion):
        raise UserError("system: a fusion module of your own needs weights=FILE, or random")
    file = FOLDER / file_name(fusion, size)
    if file.is_file():
        return file
    raise UserError(
        f"system: no weights for {size} {fusion.scheme}: train some with `crucible train --scheme"
        f" {fusion.trained_as}`, or set weights=FILE or checkpoint=FOLDER"
    )


def file_name(fusion: type[Fusion], size: Size = "lite") -> str:
    """Return the name of the file with the weights of a scheme."""
    return f"{size}_{fusion.trained_as}.safetensors"


def read(file: Path) -> dict[str, Tensor]:
    """Read weights."""
    try:
        check_regular(file, CHECKPOINT, follow=True)
        state: dict[str, Tensor] = load_file(file)
    except (SafetensorError, OSError) as problem:
        raise UserError(f"{file}: holds no weights: {problem}") from None
    return state


def fill(network: Network, state: Mapping[str, Tensor], source: Path) -> None:
    """Give a network all of its weights, or none and the reasons in a table."""
    rows = misfits(network.state_dict(), state)
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
    """
    return {key: numbers for key, numbers in state.items() if key not in MAY_BE_ABSENT}


def misfits(
    needed: Mapping[str, Tensor], given: Mapping[str, Tensor]
) -> list[tuple[str, str, str]]:
    """Return what is missing, unexpected or of another shape: a word, the key, the shapes."""
    rows = [("missing", key, shape(needed[key])) for key in needed if key not in given]
    rows += [("unexpected", key, shape(given[key])) for key in given if key not in needed]
    rows += [
        ("reshaped", key, f"{shape(given[key])}, needed {shape(needed[key])}")
        for key in needed
        if key in given and needed[key].shape != given[key].shape
    ]
    return rows


def shape(numbers: Tensor) -> str:
    """Return a shape in words."""
    return " x ".join(map(str, numbers.shape)) or "one number"
