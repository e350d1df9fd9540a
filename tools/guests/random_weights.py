"""Random numbers as weights for a published agent, in a file that the agent reads as its own.

For trying an agent whose weights are not at hand. The network is built by the model class of the
agent's own checkout, so keys and shapes are right; the numbers are those of its initialisation,
from a seed. Files that the class would download, such as a pretrained image encoder, are written in
the same way where torch looks for them: in $TORCH_HOME. A drive with such weights shows that
sensors, steps and records work, and nothing about the agent.

It runs in the agent's own Python, where torch is all that it needs:

    TORCH_HOME=HUB PYTHON tools/guests/random_weights.py --root CHECKOUT --model TCP.model:TCP \
        --settings TCP.config:GlobalConfig --under state_dict --out random.ckpt
"""

from __future__ import annotations

import argparse
import importlib
import os
import pickle
import sys
from pathlib import Path
from typing import Any

import torch


class Awaited(dict):  # type: ignore[type-arg]  # no dict[...] is a base before Python 3.9
    """What a download would bring: weights that are not there yet.

    Attributes:
        file: in which torch looks for them from now on.
    """

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file


def find_hub_file(url: str, file_name: str | None = None) -> Path:
    """Return where `torch.hub.load_state_dict_from_url` keeps what an address gives."""
    name = file_name or url.rsplit("/", maxsplit=1)[-1]
    return Path(torch.hub.get_dir()) / "checkpoints" / name


def fill_downloads() -> None:
    """Let a network that loads weights from an address write its own random ones there."""
    load = torch.nn.Module.load_state_dict

    def await_download(url: str, *_: Any, file_name: str | None = None, **__: Any) -> Awaited:
        return Awaited(find_hub_file(url, file_name))

    def write_or_load(self: Any, state: Any, *given: Any, **named: Any) -> Any:
        if not isinstance(state, Awaited):
            return load(self, state, *given, **named)
        state.file.parent.mkdir(parents=True, exist_ok=True)
        torch.save(self.state_dict(), state.file)
        print(f"{state.file}: {describe(self.state_dict())}")
        return load(self, self.state_dict())

    hub: Any = torch.hub
    hub.load_state_dict_from_url = await_download
    network: Any = torch.nn.Module
    network.load_state_dict = write_or_load


def find_named(name: str) -> Any:
    """Return what `MODULE:NAME` names."""
    module, _, member = name.partition(":")
    return getattr(importlib.import_module(module), member)


def describe(state: Any) -> str:
    """Return how many weights a network has, in words."""
    numbers = sum(one.numel() for one in state.values())
    return f"{len(state)} tensors, {numbers} random numbers"


def write_weights(options: argparse.Namespace) -> None:
    """Build the network, and write its weights and its settings."""
    root = options.root.expanduser().absolute()
    sys.path[:0] = [str(root / part) for part in options.path]
    torch.manual_seed(options.seed)
    fill_downloads()
    settings = [] if options.settings is None else [find_named(options.settings)()]
    network = find_named(options.model)(*settings)
    state = {f"{options.prefix}{key}": value for key, value in network.state_dict().items()}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state if options.under is None else {options.under: state}, options.out)
    print(f"{options.out}: {describe(state)}, seed {options.seed}")
    if options.pickled_settings:
        file = options.out.parent / options.pickled_settings
        file.write_bytes(pickle.dumps(*settings))
        print(f"{file}: {options.settings}")


def read_options(given: list[str] | None = None) -> argparse.Namespace:
    """Return what the command line says."""
    parser = argparse.ArgumentParser(
        description="Write random numbers as weights for a published agent."
    )
    add = parser.add_argument
    add("--root", type=Path, required=True, help="the agent's checkout")
    add("--path", nargs="+", default=["."], help="folders of it to import from (default: .)")
    add("--model", required=True, metavar="MODULE:CLASS", help="its network")
    add("--settings", metavar="MODULE:CLASS", help="what the network's constructor takes, if any")
    add("--under", metavar="KEY", help="key of the weights in the file (default: none)")
    add("--prefix", default="", help="before each key of the weights")
    add("--pickled-settings", metavar="NAME", help="write the settings next to the weights, too")
    add("--seed", type=int, default=1, help="(default: 1)")
    add("--out", type=Path, required=True, metavar="FILE", help="to be written")
    options = parser.parse_args(given)
    if options.pickled_settings and options.settings is None:
        parser.error("--pickled-settings needs --settings")
    if not options.root.expanduser().is_dir():
        parser.error(f"--root {options.root}: folder not found")
    if "TORCH_HOME" not in os.environ:
        parser.error("set TORCH_HOME to a new folder: random numbers stay out of true weights")
    return options


if __name__ == "__main__":
    write_weights(read_options())
