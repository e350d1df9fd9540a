"""Where a network's weights come from: ours, a file, a V2Xverse folder, or drawn for tests."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from agents.perception.checkpoints import design_in, newest, state_in
from agents.perception.designs import Scheme, Size, design_of
from agents.perception.network import Network
from agents.perception.recipe import drawn_weights
from harness.errors import UserError

FOLDER = Path(__file__).parent / "weights"
RANDOM = "random"
DOUBT = 2.4
"""Of networks with random weights: enough that they do not see somebody everywhere."""
LISTED = 12
"""Keys that a table of misfits names one by one."""


def network_with_weights(
    scheme: Scheme, size: Size, weights: str | None, checkpoint: str | None
) -> Network:
    """Return a network that has seen the world; or say what is missing."""
    if checkpoint is not None:
        if weights is not None:
            raise UserError(f"system: {scheme} has weights and a checkpoint; leave one of them out")
        folder = Path(checkpoint).expanduser()
        network = Network(scheme, design_in(folder, scheme))
        file = newest(folder)
        fill(network, state_in(file), file)
        return network
    network = Network(scheme, design_of(scheme, size))
    if weights == RANDOM:
        network.load_state_dict(drawn_weights(network.state_dict(), network.design.grid, DOUBT))
        return network
    file = file_of(scheme, size, weights)
    fill(network, read(file), file)
    return network


def files(scheme: Scheme, size: Size, weights: str | None, checkpoint: str | None) -> list[Path]:
    """Return the files that make a network what it is."""
    if checkpoint is not None:
        config = Path(checkpoint).expanduser() / "config.yaml"
        return [config, newest(config.parent)] if config.is_file() else [config]
    return [] if weights == RANDOM else [file_of(scheme, size, weights)]


def file_of(scheme: Scheme, size: Size, weights: str | None) -> Path:
    """Return the file with a network's weights, if it is there."""
    file = FOLDER / file_name(scheme, size) if weights is None else Path(weights).expanduser()
    if file.is_file():
        return file
    if weights is not None:
        raise UserError(f"system: there are no weights {file}")
    raise UserError(
        f"system: no weights for {size} {scheme}: python -m agents.training train --scheme"
        f" {learns_as(scheme)}, or name some by weights=FILE or checkpoint=FOLDER"
    )


def learns_as(scheme: Scheme) -> Scheme:
    """Return the scheme whose weights serve one: `late` puts together what `single` detects."""
    return "single" if scheme == "late" else scheme


def file_name(scheme: Scheme, size: Size) -> str:
    """Return what the file with our own weights of a network is called."""
    return f"{size}_{learns_as(scheme)}.safetensors"


def read(file: Path) -> dict[str, Tensor]:
    """Read weights."""
    try:
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
        {key: each.float() if each.is_floating_point() else each for key, each in state.items()}
    )


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
