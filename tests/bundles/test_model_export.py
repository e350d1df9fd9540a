"""Networks written as V2Xverse's folders: read again by our own reader, they are the same."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
import yaml

from agents.bundles.bundle_check import check_bundle
from agents.bundles.export_settings import FUSIONS
from agents.bundles.model_export import export_model
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import FOLDER, RANDOM, get_weight_file_name, load_network
from agents.training.train import choose_weights_folder, start_run
from agents.training.training_config import TrainingConfig
from agents.training.weight_files import make_training_card, save_weights
from crucible.subcommands import dispatch_subcommand
from harness.common.errors import UserError
from tests.training.made_up import write_recording

QUICK = ("late",)


@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(scheme, marks=() if scheme in QUICK else pytest.mark.thorough)
        for scheme in FUSIONS
    ],
)
def test_what_is_exported_is_read_again_whole(scheme: str, tmp_path: Path) -> None:
    network = load_network(SCHEMES[scheme](), "full", RANDOM)
    export_model(network, tmp_path / "model", weights=RANDOM)
    again = load_network(SCHEMES[scheme](), checkpoint=str(tmp_path / "model"))
    assert again.design == network.design
    known = network.state_dict()
    assert all(torch.equal(known[name], one) for name, one in again.state_dict().items())
    assert set(known) == set(again.state_dict())


def test_every_scheme_of_v2xverse_can_be_exported() -> None:
    published = {name for name, kind in SCHEMES.items() if kind.v2xverse is not None}
    assert set(FUSIONS) == published


def test_the_card_is_what_a_check_of_models_reads(tmp_path: Path) -> None:
    code = dispatch_subcommand(
        ["models", "export", "late", "--weights", RANDOM, "--out", str(tmp_path / "late")]
    )
    assert code == 0
    checked = check_bundle(tmp_path / "late")
    assert checked.verdict == "passed"
    assert checked.bundle is not None
    assert checked.bundle.name == "crucible_late"
    network = load_network(SCHEMES["late"](), "full", RANDOM)
    assert checked.parameters == sum(one.numel() for one in network.parameters())
    # the settings are plain data, which any reader of YAML takes
    settings = yaml.safe_load((tmp_path / "late" / "config.yaml").read_text())
    assert settings["preprocess"]["args"]["voxel_size"] == [0.125, 0.125, 36.0]
    # a changed file is noticed
    with (tmp_path / "late" / "net_epoch1.pth").open("ab") as weights:
        weights.write(b"0")
    assert check_bundle(tmp_path / "late").verdict == "failed"


LITE = str(FOLDER / "lite_fcooper.safetensors")


@pytest.mark.parametrize(
    ("scheme", "weights", "line"),
    [
        ("nothing", RANDOM, "unknown scheme nothing; valid schemes: single, early, late"),
        ("attfuse", RANDOM, "attfuse comes in size lite only"),
        ("late", "nowhere", "--weights nowhere: file not found"),
        ("late", ".", "--weights .: is a folder; a file is needed"),
        ("fcooper", LITE, f"{LITE} does not fit fcooper: "),
        ("fcooper", LITE, "weights of `crucible train --size full` are needed"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(
    scheme: str, weights: str, line: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    words = ["models", "export", scheme, "--weights", weights, "--out", str(out)]
    assert dispatch_subcommand(words) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert not said.startswith("system:")
    assert not out.exists()


def test_a_file_in_place_of_the_folder_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "file"
    file.write_text("mine")
    words = ["models", "export", "late", "--weights", RANDOM, "--out", str(file)]
    assert dispatch_subcommand(words) == 2
    assert capsys.readouterr().err == f"--out {file}: is a file; a folder is needed\n"
    assert file.read_text() == "mine"


def test_a_lite_network_and_a_full_folder_are_refused(tmp_path: Path) -> None:
    network = load_network(SCHEMES["late"](), "lite", RANDOM)
    with pytest.raises(UserError, match="of size full"):
        export_model(network, tmp_path / "model", weights=RANDOM)
    (tmp_path / "file").write_text("mine")
    with pytest.raises(UserError, match="there is something already"):
        export_model(load_network(SCHEMES["late"](), "full", RANDOM), tmp_path, weights=RANDOM)
    assert [file.name for file in tmp_path.iterdir()] == ["file"]


@pytest.mark.thorough
def test_a_full_network_of_a_training_run_is_exported(tmp_path: Path) -> None:
    """The run starts only: steps of a full network take long on one core."""
    write_recording(tmp_path / "data")
    config = TrainingConfig(
        scheme="single",
        size="full",
        data=[tmp_path / "data"],
        held_out=[tmp_path / "data"],
        out=tmp_path / "run",
        weights=None,
        start=None,
        epochs=1,
        batch=1,
        peak_rate=2e-3,
        seed=3,
        interference=False,
        trial=1,
        most=None,
        freeze=False,
        whole=False,
    )
    state = start_run(config).average.state
    weights = choose_weights_folder(config) / get_weight_file_name(SCHEMES["single"], "full")
    save_weights(weights, state, make_training_card(config, [], 1))
    export = ["models", "export", "late", "--weights", str(weights), "--out"]
    assert dispatch_subcommand([*export, str(tmp_path / "late")]) == 0
    # the card says how it was trained, and the weights are those that the system would load
    card = yaml.safe_load((tmp_path / "late" / "meta.yaml").read_text())
    assert card["training"]["size"] == "full"
    assert "--size full" in card["training"]["command"]
    theirs = load_network(SCHEMES["late"](), checkpoint=str(tmp_path / "late")).state_dict()
    assert all(torch.equal(state[name].half().float(), one) for name, one in theirs.items())
