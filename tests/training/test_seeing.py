"""Networks with cameras are trained in two steps, kept, resumed and measured."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.perception.cameras.lifting import BINS
from agents.perception.cameras.systems import load_seeing_network
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.loading import FOLDER, read_weights
from agents.training.evaluate import EvaluationOptions, evaluate_weights
from agents.training.seeing import compute_depth_loss, list_trained_senses, start_seeing_network
from agents.training.side_by_side import read_schemes
from agents.training.train import train_network
from agents.training.training_config import TrainingConfig, make_run_identity
from harness.common.errors import UserError
from tests.training.seen import write_seen

MOMENTS = tuple(f"{number:06}" for number in range(3))


@pytest.fixture
def config(tmp_path: Path) -> TrainingConfig:
    write_seen(tmp_path / "data", moments=MOMENTS)
    return TrainingConfig(
        scheme="single",
        data=[tmp_path / "data"],
        held_out=[tmp_path / "data"],
        out=tmp_path / "run",
        weights=tmp_path / "weights",
        start=None,
        epochs=1,
        batch=2,
        peak_rate=2e-3,
        seed=3,
        interference=False,
        trial=1,
        most=2,
        freeze=False,
        whole=False,
        senses="camera",
    )


def list_changed(before: dict[str, torch.Tensor], after: dict[str, torch.Tensor]) -> set[str]:
    """Return the first parts of the names of the weights that differ."""
    return {
        name.partition(".")[0]
        for name in before
        if name in after and not torch.equal(before[name].half(), after[name].half())
    }


@pytest.mark.thorough
def test_the_camera_branch_then_fusion_of_unlike_agents(config: TrainingConfig) -> None:
    # the branch alone: what the LiDARs' network has stays as it is shipped
    train_network(config)
    assert config.weights is not None
    stem = config.weights / "lite_single.safetensors"
    trained, shipped = read_weights(stem), read_weights(FOLDER / "lite_single.safetensors")
    assert list_changed(shipped, trained) == set()
    assert any(name.startswith("camera.") for name in trained)
    card = json.loads(stem.with_suffix(".json").read_text())
    assert "--senses camera" in card["command"]
    assert {"late/mixed", "single/camera", "late/both"} <= set(card["operating points"])
    # the same command finds all done, and another one is refused
    assert train_network(config).seconds > 0
    with pytest.raises(UserError, match="--senses"):
        train_network(replace(config, senses="mixed", start=stem))
    # fusion and heads on top; encoders stay
    mixed = replace(
        config, scheme="attfuse", senses="mixed", start=stem, out=config.out.with_name("second")
    )
    train_network(mixed)
    fused = read_weights(config.weights / "lite_attfuse.safetensors")
    assert list_changed(trained, fused) & {"camera"} == set()
    assert list_changed(read_weights(FOLDER / "lite_attfuse.safetensors"), fused) <= {
        "fusion_net",
        "turnings",
        "cls_head",
        "reg_head",
    }
    # measured: one column for each condition, with what agents perceive with
    out = config.out.with_name("mixed.json")
    options = EvaluationOptions(
        scheme="attfuse",
        weights=config.weights / "lite_attfuse.safetensors",
        data=config.data,
        most=2,
        out=out,
        card=True,
        senses="mixed",
    )
    assert set(evaluate_weights(options)) == {"none", "pose error", "latency"}
    assert list(read_schemes([out])) == ["attfuse/mixed"]
    card = json.loads((config.weights / "lite_attfuse.json").read_text())
    assert "attfuse/mixed" in card["AP@0.5, eleven-point"]


def test_what_cannot_be_trained_is_refused(config: TrainingConfig) -> None:
    with pytest.raises(UserError, match="--scheme single is needed"):
        start_seeing_network(replace(config, scheme="attfuse"))
    with pytest.raises(UserError, match="needs --start"):
        start_seeing_network(replace(config, senses="mixed"))
    with pytest.raises(UserError, match="does not have the camera branch"):
        start_seeing_network(
            replace(config, senses="mixed", start=FOLDER / "lite_single.safetensors")
        )


def test_every_sample_of_late_fusion_has_something_to_train(config: TrainingConfig) -> None:
    for scheme, known in (("single", {"camera", "both"}), ("attfuse", {"lidar", "camera", "both"})):
        network = load_seeing_network(SCHEMES[scheme](), "random")
        names, shares = list_trained_senses(network, replace(config, scheme=scheme, senses="mixed"))
        assert set(names) == known
        assert shares.sum() == pytest.approx(1.0)
        assert (shares > 0).all()
    assert list_trained_senses(network, config)[0] == ["camera"]


def test_runs_without_cameras_are_known_as_before(config: TrainingConfig) -> None:
    assert "senses" not in make_run_identity(replace(config, senses=None))
    assert make_run_identity(config)["senses"] == "camera"


def test_the_loss_of_depths_is_least_where_likelihoods_are_shares() -> None:
    chance = np.random.default_rng(2)
    shares = chance.random((5, BINS.count + 1)).astype(np.float32)
    shares /= shares.sum(1, keepdims=True)
    right = torch.log(torch.from_numpy(shares)) + 3.0
    least = compute_depth_loss(right, shares)
    entropy = -(shares * np.log(shares)).sum(1).mean()
    assert float(least) == pytest.approx(float(entropy), rel=1e-5)
    other = right + torch.from_numpy(chance.normal(size=shares.shape).astype(np.float32))
    assert compute_depth_loss(other, shares) > least
