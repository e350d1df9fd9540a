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
class Unkept(nn.Module):
    def __init__(self, settings):
        super().__init__()
        self.encoder = Encoder()
        raise OSError("no licence file")
class Unpickled(Settings):
    def __reduce__(self):
        raise TypeError("a lock")
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


def run_tool(*words: str, hub: Path | None) -> Any:
    """Run the tool; `hub` is its TORCH_HOME, None for none."""
    environment = {name: value for name, value in os.environ.items() if name != "TORCH_HOME"}
    if hub is not None:
        environment["TORCH_HOME"] = str(hub)
    return subprocess.run(
        [sys.executable, str(TOOL), *words],
        check=False,
        capture_output=True,
        text=True,
        env=environment,
    )


def write(checkout: Path, out: Path, *more: str, hub: Path | None) -> Any:
    names = ("--path", "code", "--model", "guest_network:Network")
    words = ["--root", str(checkout), *names, "--settings", "guest_network:Settings"]
    return run_tool(*words, "--out", str(out), *more, hub=hub)


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


@pytest.mark.parametrize("home", ["", "{cache}/torch"])
def test_random_numbers_do_not_come_among_true_weights(
    checkout: Path, tmp_path: Path, home: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a folder for downloads, and with the folder in which torch has them otherwise."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    hub = Path(home.format(cache=tmp_path / "cache")) if home else None
    done = write(checkout, tmp_path / "random.ckpt", hub=hub)
    assert done.returncode == 2
    assert "TORCH_HOME" in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (tmp_path / "random.ckpt").exists()


def test_the_help_says_what_must_be_set(checkout: Path) -> None:
    done = run_tool("--help", hub=None)
    assert done.returncode == 0
    assert "Set TORCH_HOME to a new folder first." in " ".join(done.stdout.split())


WRONG = [
    (["--model", "ab"], "--model: ab: MODULE:CLASS is needed, such as TCP.model:TCP"),
    (["--model", "a:b"], "--model a:b: no module a in {root}; --path names the folders of it"),
    (["--model", "torch.no:Linear"], "--model torch.no:Linear: no module torch.no in {root}"),
    (["--model", "json:Foo"], "--model json:Foo: module json has no class Foo"),
    (["--model", "json:decoder"], "--model json:decoder: module json has no class decoder"),
    (["--model", "torch.nn:Linear"], "; --settings names what the constructor takes, if anything"),
    (["--model", "torch.nn:ReLU"], "--model torch.nn:ReLU: the network has no weights"),
    (["--model", "collections:Counter"], "gives Counter, no torch.nn.Module"),
    (["--model", "lacking:Network"], "No module named 'no_such_package' (code/lacking.py:1)"),
    (["--model", "broken:Network"], "SyntaxError: expected ':'"),
    (["--model", "ending:Network"], "SystemExit: 3 (code/ending.py:1)"),
    (["--settings", "json:Foo"], "--settings json:Foo: module json has no class Foo"),
    (["--settings", "torch.nn:Linear"], "--settings torch.nn:Linear: TypeError: "),
    (["--settings", "builtins:list"], "'list' object has no attribute 'width' (code/guest_network"),
    (["--model", "guest_network:Unkept"], "OSError: no licence file (code/guest_network.py:15)"),
    (["--out", "{root}"], "--out {root}: a folder; name the file in it"),
    (["--out", "{root}/code/broken.py/x"], "{root}/code/broken.py/x: cannot be written: "),
    (["--path", "nope"], "--path nope: folder not found: {root}/nope"),
    (["--root", "{root}/nope"], "--root {root}/nope: folder not found"),
    (["--seed", "-1"], "--seed: -1: a whole number from 0 to 2**63 - 1 is needed"),
    (["--seed", "x"], "--seed: x: a whole number from 0 to 2**63 - 1 is needed"),
    (["--pickled-settings", "a/b"], "--pickled-settings a/b: the name of another file next to"),
    (["--pickled-settings", "out.ckpt"], "--pickled-settings out.ckpt: the name of another file"),
    (
        ["--settings", "guest_network:Unpickled", "--pickled-settings", "config.pickle"],
        "--settings guest_network:Unpickled: TypeError: a lock (code/guest_network.py:18)",
    ),
]


@pytest.mark.thorough
@pytest.mark.parametrize(("words", "said"), WRONG, ids=str)
def test_wrong_input_is_one_line_and_leaves_no_file(
    checkout: Path, tmp_path: Path, words: list[str], said: str
) -> None:
    code, out = checkout / "code", tmp_path / "written" / "out.ckpt"
    (code / "lacking.py").write_text("import no_such_package")
    (code / "broken.py").write_text("class Network\n    pass")
    (code / "ending.py").write_text("raise SystemExit(3)")
    first = ["--root", str(checkout), "--path", "code", "--model", "guest_network:Network"]
    if not words[1].startswith(("torch.nn", "json", "collections")) or words[0] != "--model":
        first += ["--settings", "guest_network:Settings"]
    given = [word.format(root=checkout) for word in words]
    done = run_tool(*first, "--out", str(out), *given, hub=tmp_path / "hub")
    assert done.returncode == 2, done.stderr
    assert said.format(root=checkout) in done.stderr
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert done.stdout == ""
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    assert {path.parent for path in written} == {code}


def test_a_python_without_torch_is_one_line(checkout: Path, tmp_path: Path) -> None:
    (checkout / "torch.py").write_text("import no_such_package")
    done = subprocess.run(
        [sys.executable, str(TOOL), "--root", str(checkout), "--model", "a:b", "--out", "x"],
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(checkout), "TORCH_HOME": str(tmp_path)},
    )
    assert done.returncode == 2
    assert done.stderr.endswith("'no_such_package'; run the tool with the agent's own Python\n")
    assert len(done.stderr.splitlines()) == 1
