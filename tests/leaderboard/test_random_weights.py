"""Random numbers as weights for a published agent, and for what its network would download."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.conftest import ROOT

TOOL = ROOT / "tools" / "guests" / "random_weights.py"
NETWORK = """
from torch import nn
from torch.hub import load_state_dict_from_url
class Settings:
    width = 3
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3)
        self.load_state_dict(load_state_dict_from_url("https://nowhere.invalid/encoder-12ab.pth"))
class Network(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.encoder = Encoder()
        self.head = nn.Linear(4, settings.width)
"""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    (tmp_path / "agent" / "code").mkdir(parents=True)
    (tmp_path / "agent" / "code" / "guest_network.py").write_text(NETWORK)
    return tmp_path / "agent"


def write(checkout: Path, out: Path, *more: str, hub: Path | None) -> Any:
    environment = {name: value for name, value in os.environ.items() if name != "TORCH_HOME"}
    if hub is not None:
        environment["TORCH_HOME"] = str(hub)
    names = ("--path", "code", "--model", "guest_network:Network")
    words = ["--root", str(checkout), *names, "--settings", "guest_network:Settings"]
    return subprocess.run(
        [sys.executable, str(TOOL), *words, "--out", str(out), *more],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )


def test_a_network_finds_all_the_weights_that_it_asks_for(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, hub = tmp_path / "weights" / "random.ckpt", tmp_path / "hub"
    more = ("--under", "state_dict", "--prefix", "model.", "--pickled-settings", "config.pickle")
    done = write(checkout, out, *more, hub=hub)
    assert done.returncode == 0, done.stderr
    assert f"{out}: 4 tensors, 127 random numbers, seed 1" in done.stdout
    # the network as the agent builds it, without the tool and without a net
    monkeypatch.setenv("TORCH_HOME", str(hub))
    monkeypatch.syspath_prepend(checkout / "code")
    import guest_network  # type: ignore[import-not-found]

    network = guest_network.Network(pickle.loads(out.with_name("config.pickle").read_bytes()))
    downloaded = torch.load(hub / "hub" / "checkpoints" / "encoder-12ab.pth")
    assert torch.equal(network.encoder.conv.weight, downloaded["conv.weight"])
    state = torch.load(out)["state_dict"]
    assert {f"model.{key}" for key in network.state_dict()} == set(state)
    network.load_state_dict({key.removeprefix("model."): state[key] for key in state})
    again, other = tmp_path / "again.ckpt", tmp_path / "other.ckpt"
    write(checkout, again, hub=hub)
    write(checkout, other, "--seed", "2", hub=hub)
    assert torch.equal(torch.load(again)["head.weight"], state["model.head.weight"])
    assert not torch.equal(torch.load(other)["head.weight"], state["model.head.weight"])


def test_random_numbers_do_not_come_among_true_weights(checkout: Path, tmp_path: Path) -> None:
    done = write(checkout, tmp_path / "random.ckpt", hub=None)
    assert done.returncode == 2
    assert "TORCH_HOME" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "random.ckpt").exists()
