"""Crucible's weights in `crucible models check`: those that ship, and broken copies."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from agents.bundles.crucible_weights import OURS, check_crucible_weights, find_crucible_weights
from agents.perception.flows.files import FLOW_FOLDER
from agents.perception.loading import FOLDER
from crucible.subcommands import dispatch_subcommand


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """Return a copy of shipped weights with their card."""
    for ending in (".safetensors", ".json"):
        shutil.copy(FOLDER / f"lite_fcooper{ending}", tmp_path / f"mine{ending}")
    return tmp_path / "mine.safetensors"


def test_shipped_weights_fit_the_networks_of_their_cards() -> None:
    files = [FOLDER / "lite_fcooper.safetensors", FOLDER / "cameras" / "lite_single.safetensors"]
    assert set(files) <= set(find_crucible_weights(FOLDER))
    for file in files:
        checked = check_crucible_weights(file)
        assert checked.verdict == "passed"
        card = json.loads(file.with_suffix(".json").read_text())
        assert checked.parameters == card["parameters"]
        name, form, network, data, window, *_ = checked.list_cells()
        assert (name, form) == (f"{file.parent.name}/{file.stem}", OURS)
        assert (network, data) == (f"{card['scheme']}, lite", "carlite")
        assert window == "±51.2 by ±38.4"
        assert f"{card['best on held-out scenarios']['mean']:.3f}" in str(checked.findings)


def test_a_flow_network_is_one_of_them() -> None:
    checked = check_crucible_weights(FLOW_FOLDER / "lite_fcooper.safetensors")
    assert checked.verdict == "passed"
    assert checked.list_cells()[:3] == ("flows/lite_fcooper", OURS, "fcooper, flow")
    assert checked.parameters == 52573


def test_weights_without_a_card_are_no_bundle(copied: Path) -> None:
    assert list(find_crucible_weights(copied.parent)) == [copied]
    copied.with_suffix(".json").unlink()
    assert not list(find_crucible_weights(copied.parent))


def test_weights_without_a_card_are_named(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(copied, copied.with_name("lone.safetensors"))
    note = "lone.safetensors is not checked: there is no card lone.json next to it"
    assert dispatch_subcommand(["models", "check", str(copied.parent)]) == 0
    assert f"note: {note}" in " ".join(capsys.readouterr().out.split())
    copied.unlink()
    assert dispatch_subcommand(["models", "check", str(copied.parent)]) == 2
    refused = capsys.readouterr().err
    assert note in " ".join(refused.split())
    assert refused.count("\n") == 1


def test_a_broken_card_is_named(copied: Path) -> None:
    copied.with_suffix(".json").write_text("{scheme: 3}")
    (finding,) = check_crucible_weights(copied).findings
    assert finding.sentence.startswith("mine.json: cannot be read as a card: Expecting property")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"scheme": "v2xvit"}, "fusion_net"),
        ({"scheme": "unheard_of"}, "names no fusion scheme"),
        ({"size": "tiny"}, "size must be lite or full"),
        ({"parameters": 7}, "the card says 7"),
    ],
)
def test_a_card_of_another_network_fails(
    copied: Path, change: dict[str, object], words: str
) -> None:
    card = copied.with_suffix(".json")
    card.write_text(json.dumps({**json.loads(card.read_text()), **change}))
    checked = check_crucible_weights(copied)
    assert checked.verdict == "failed"
    assert words in str(checked.findings)


def test_broken_files_fail_in_one_line(copied: Path, capsys: pytest.CaptureFixture[str]) -> None:
    state = load_file(copied)
    name = next(key for key, numbers in state.items() if numbers.is_floating_point())
    save_file({**state, name: torch.full_like(state[name], float("nan"))}, copied)
    assert "not finite" in str(check_crucible_weights(copied).findings)
    copied.write_bytes(b"no weights")
    assert check_crucible_weights(copied).verdict == "failed"
    copied.with_suffix(".json").write_text("[")
    assert check_crucible_weights(copied).verdict == "failed"
    # the command says so, with the others
    assert dispatch_subcommand(["models", "check", str(copied.parent)]) == 1
    output = capsys.readouterr().out
    assert "1 checked, 1 failed" in output
    assert "Traceback" not in output
