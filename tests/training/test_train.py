"""A trained network gives the targets; a training run trains, stops and resumes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.perception.decoding import apply_nms, decode_candidates
from agents.perception.designs import LITE_GRID
from agents.perception.fusion.catalogue import SCHEMES
from agents.perception.grid import CODE_CHANNELS
from agents.perception.loading import FOLDER, get_weight_file_name, load_network, read_weights
from agents.perception.network import PerceptionNetwork, RawOutput
from agents.training import train as training
from agents.training.evaluate import EvaluationOptions, evaluate_weights
from agents.training.examples import (
    crop_grid,
    make_example,
    make_training_example,
    run_network_batch,
)
from agents.training.losses import compute_loss, make_target_maps
from agents.training.samples import CONDITIONS, RecordedSamples
from agents.training.train import compute_learning_rate, get_device_name, iter_batches
from agents.training.training_config import TrainingConfig
from agents.training.weight_files import EVALUATED, load_shared_layers, save_weights
from harness.common.errors import UserError
from harness.common.recordings import list_scenarios
from harness.types.overlap import compute_bev_iou
from tests.conftest import ROOT
from tests.training.made_up import boxes_in_world, write_recording


@pytest.fixture
def config(tmp_path: Path) -> TrainingConfig:
    write_recording(tmp_path / "data")
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
        most=None,
        freeze=False,
        whole=False,
    )


def test_output_equal_to_the_targets_detects_all_boxes() -> None:
    boxes = boxes_in_world()
    geometry = boxes.geometry - [110.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    all_rows, no_row = np.ones(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    targets = make_target_maps(replace(boxes, geometry=geometry), all_rows, no_row, LITE_GRID)
    raw = RawOutput(
        torch.logit(torch.from_numpy(targets.heat), 1e-4)[None],
        torch.from_numpy(targets.codes).reshape(1, CODE_CHANNELS, *LITE_GRID.output_shape),
    )
    decoding = SCHEMES["single"].choose_design("lite").decoding
    detected = apply_nms(decode_candidates(raw, LITE_GRID, decoding), decoding)
    assert len(detected) == len(boxes)
    assert compute_bev_iou(detected.geometry, geometry).max(0).min() > 0.999
    assert sorted(detected.classes) == sorted(boxes.classes)


def test_the_hardly_seen_are_neither_asked_nor_denied() -> None:
    boxes = boxes_in_world()[:1]
    geometry = boxes.geometry - [110.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    no_row, one = np.zeros(1, np.bool_), np.ones(1, np.bool_)
    targets = make_target_maps(replace(boxes, geometry=geometry), no_row, one, LITE_GRID)
    assert targets.heat.max() == 0
    assert (targets.negative_weight == 0).sum() == 25


def test_parked_scenery_is_neither_asked_for_nor_denied(config: TrainingConfig) -> None:
    """A sample with nothing but a parked car gives no loss for it."""
    samples = RecordedSamples(list_scenarios(config.data[0]), units=False)
    network = PerceptionNetwork(SCHEMES["single"](), SCHEMES["single"].choose_design("lite"))
    sample = samples.read_sample(0, 0)
    cells, _ = LITE_GRID.encode_boxes(sample.parked.geometry)
    row, column = cells[0]
    for parked, denied in ((sample.parked, False), (sample.parked[:0], True)):
        _, targets = make_example(network, replace(sample, parked=parked))
        assert targets.heat[0, row, column] == 0.0
        assert (targets.negative_weight[0, row, column] > 0.0) == denied


def test_additional_detections_near_by_count_most() -> None:
    no_rows = np.zeros(0, np.bool_)
    weight = make_target_maps(boxes_in_world()[:0], no_rows, no_rows, LITE_GRID).negative_weight
    rows, columns = LITE_GRID.output_shape
    assert weight[1, rows // 2, columns // 2] == weight.max() > weight[1, 0, 0] == 1.0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scheme",
    ["single", *(pytest.param(name, marks=pytest.mark.thorough) for name in ("early", "fcooper"))],
)
def test_steps_lower_the_loss_on_one_batch(config: TrainingConfig, scheme: str) -> None:
    current = training.start_run(replace(config, scheme=scheme))
    samples, random = (
        RecordedSamples(list_scenarios(config.data[0]), units=False),
        np.random.default_rng(0),
    )
    current.network.pillar_vfe.grid = crop_grid(LITE_GRID, random)
    inputs, targets = make_training_example(
        current.config, current.network, samples=samples, number=0, random=random
    )
    losses = [
        training.take_step(
            current, compute_loss(run_network_batch(current.network, [inputs]), [targets])
        )
        for _ in "123"
    ]
    assert losses[2] < losses[1] < losses[0]


def test_front_and_back_have_equal_targets() -> None:
    box = np.array([[3.0, 4.0, 0.8, 4.5, 1.9, 1.6, 2.0]])
    cells, codes = LITE_GRID.encode_boxes(box)
    about = LITE_GRID.encode_boxes(box + math.pi * np.eye(7)[6])[1]
    assert np.allclose(codes, about)
    assert np.allclose(LITE_GRID.decode_boxes(cells, codes) - box, -math.pi * np.eye(7)[6])


@pytest.mark.usefixtures("prints_fit")
@pytest.mark.thorough
def test_a_run_stops_and_goes_on(config: TrainingConfig) -> None:
    whole = training.train_network(replace(config, epochs=2, out=config.out / "whole"))
    half = training.start_run(replace(config, epochs=2))
    config.out.mkdir(exist_ok=True)
    samples = RecordedSamples(list_scenarios(config.data[0]), units=True)
    training.train_epoch(half, samples, lambda done: None)
    half.curve[-1].update(whole.curve[0])
    half.best, half.best_state = -1.0, half.average.state
    half.write_checkpoint()
    after = training.train_network(replace(config, epochs=2))
    assert after.curve[1] == whole.curve[1]
    for name, tensor in whole.average.state.items():
        assert torch.equal(tensor, after.average.state[name]), name
    assert config.weights is not None
    file = config.weights / get_weight_file_name(SCHEMES["single"])
    assert training.get_weights_file(config) == file
    card = json.loads(file.with_suffix(".json").read_text())
    assert (card["epochs"], card["data"]["towns"]) == (2, ["Nowhere"])
    assert card["trained on"] == get_device_name()
    network = load_network(SCHEMES["single"](), "lite", str(file), None)
    assert network.parameter_count == card["parameters"]
    other = PerceptionNetwork(SCHEMES["v2vnet"](), SCHEMES["v2vnet"].choose_design("lite"))
    load_shared_layers(other, file)
    assert torch.equal(other.cls_head.weight, network.cls_head.weight)
    with pytest.raises(UserError, match="does not have all layers of this network"):
        load_shared_layers(other, file, all_layers=True)
    same = PerceptionNetwork(SCHEMES["single"](), SCHEMES["single"].choose_design("lite"))
    load_shared_layers(same, file, all_layers=True)
    for name, tensor in network.state_dict().items():
        assert torch.equal(same.state_dict()[name], tensor), name
    for scheme, conditions in {"single": ["none"], "late": list(CONDITIONS)}.items():
        columns = evaluate_weights(
            EvaluationOptions(
                scheme=scheme, weights=file, data=config.data, most=1, out=None, card=True
            )
        )
        assert list(columns) == conditions
        tried = json.loads(file.with_suffix(".json").read_text())[EVALUATED][scheme]
        promised = columns["none"]["anyone", 0.5, "vehicle", "0-50"].eleven_point
        assert tried["none, visible to anyone"]["vehicle 0-50"] == round(promised, 3)
        assert tried["data"] == {"towns": ["Nowhere"], "scenarios": 1, "seeds": [5]}


@pytest.fixture
def written(config: TrainingConfig) -> Path:
    """What a config leaves before its first epoch."""
    training.start_run(config).write_checkpoint()
    return config.out / training.STATE


def test_another_run_is_not_resumed(config: TrainingConfig, written: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "other")
    (tmp_path / "other" / "made-up" / "7" / "000002.npy").unlink()
    others = [tmp_path / "other"]
    for name, value in {"epochs": 2, "data": others, "held_out": others, "scheme": "early"}.items():
        message = rf"{written}: of a run with other --{name.replace('_', '-')};"
        with pytest.raises(UserError, match=message):
            training.train_network(replace(config, **{name: value}))  # type: ignore[arg-type]
    config.data[0].rename(tmp_path / "moved")
    training.start_run(replace(config, data=[tmp_path / "moved"], held_out=[tmp_path / "moved"]))


@pytest.mark.parametrize("sort", ["torn", "older"])
def test_a_state_without_options_is_refused(
    config: TrainingConfig, written: Path, sort: str
) -> None:
    if sort == "torn":
        written.write_bytes(written.read_bytes()[:1000])
    else:
        state = torch.load(written, weights_only=True)
        torch.save({name: tensor for name, tensor in state.items() if name != "config"}, written)
    with pytest.raises(UserError, match="name another --out, or remove the") as refusal:
        training.start_run(config)
    assert "\n" not in str(refusal.value)


def test_what_is_frozen_stays_and_the_rest_learns(config: TrainingConfig) -> None:
    current = training.start_run(replace(config, scheme="v2vnet", freeze=True, most=2))
    before = {name: tensor.clone() for name, tensor in current.network.state_dict().items()}
    samples = RecordedSamples(list_scenarios(config.data[0]), units=False)
    training.train_epoch(current, samples, lambda done: None)
    for name, tensor in current.network.state_dict().items():
        frozen = name.startswith(("pillar_vfe.", "backbone."))
        assert torch.equal(tensor, before[name]) == frozen, name


def test_weights_go_where_systems_look() -> None:
    assert (FOLDER / get_weight_file_name(SCHEMES["late"])).name == "lite_single.safetensors"
    assert {get_weight_file_name(SCHEMES[scheme]) for scheme in SCHEMES} == {
        f"lite_{scheme}.safetensors" for scheme in SCHEMES if scheme != "late"
    }


def test_recordings_for_testing_are_refused(config: TrainingConfig, tmp_path: Path) -> None:
    write_recording(tmp_path / "test", "testing")
    with pytest.raises(UserError, match="for testing"):
        training.train_network(replace(config, data=[tmp_path / "test"]))


@pytest.mark.parametrize("town", ["Crucible05", "Town05", "Test_0123abcd_1"])
def test_nothing_is_trained_or_chosen_in_a_town_for_testing(
    town: str, config: TrainingConfig, tmp_path: Path
) -> None:
    """Whatever the recording says that it is for."""
    write_recording(tmp_path / "claimed", "training", town)
    claimed = [tmp_path / "claimed"]
    for changed in (replace(config, data=claimed), replace(config, held_out=claimed)):
        with pytest.raises(UserError, match=f"{town}, a town for testing"):
            training.train_network(changed)


def test_weights_that_are_there_stay_whole_until_others_are(tmp_path: Path) -> None:
    file = tmp_path / "lite_single.safetensors"
    save_weights(file, {"one": torch.zeros(3)}, {"epochs": 1})
    for path in (file, file.with_suffix(".json")):
        (tmp_path / f"before{path.suffix}").hardlink_to(path)
    before = file.read_bytes()
    save_weights(file, {"one": torch.ones(3)}, {"epochs": 2})
    assert (tmp_path / "before.safetensors").read_bytes() == before != file.read_bytes()
    assert json.loads((tmp_path / "before.json").read_text()) == {"epochs": 1}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_class_that_never_occurred_has_no_number_in_a_card(tmp_path: Path) -> None:
    card = {"curve": [{"epoch": 1, "cyclist": math.nan}], "best": 0.5}
    save_weights(tmp_path / "w.safetensors", {"one": torch.zeros(3)}, card)
    assert "NaN" not in (tmp_path / "w.json").read_text()
    written = json.loads((tmp_path / "w.json").read_text())
    assert written == {"curve": [{"epoch": 1, "cyclist": None}], "best": 0.5}


NO_ROOM = """
import resource, signal, sys
from pathlib import Path
import torch
from agents.training.weight_files import save_weights, save_state
from harness.common.errors import UserError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
sys.dont_write_bytecode = True
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
much, folder = {"one": torch.zeros(100_000)}, Path(sys.argv[1])
def write_weights(): save_weights(folder / "w.safetensors", much, {})
def write_state(): save_state(folder / "s", much)
for write in (write_weights, write_state):
    try:
        write()
    except UserError as problem:
        print(problem)
"""


@pytest.mark.thorough
def test_where_there_is_no_room_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_ROOM, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    lines = [
        f"{tmp_path / name}: cannot be written (File too large)" for name in ("w.safetensors", "s")
    ]
    assert done.stdout.splitlines() == lines
    assert not list(tmp_path.iterdir())


def test_files_that_hold_no_weights_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match=r"bad\.safetensors"):
        read_weights(bad)


def test_the_rate_rises_and_falls() -> None:
    rates = [compute_learning_rate(step, 100, 1.0) for step in range(100)]
    assert max(rates) == pytest.approx(1.0, abs=0.01)
    assert rates.index(max(rates)) == 5
    assert rates[-1] < 0.02


def test_an_epoch_shows_every_sample_once() -> None:
    shown = [n for batch in iter_batches(11, 11, 3, np.random.default_rng(0)) for n in batch]
    assert len(shown) == len(set(shown)) == 9
    few = [n for batch in iter_batches(11, 7, 3, np.random.default_rng(0)) for n in batch]
    assert few == shown[:6]
