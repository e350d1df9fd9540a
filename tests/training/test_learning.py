"""A network's answer is its lesson when it has learnt; a run learns, stops and goes on."""

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

from agents.perception.decoding import candidates, each_once
from agents.perception.designs import LITE_GRID, SCHEMES, Scheme, design_of
from agents.perception.grid import CODE_CHANNELS
from agents.perception.loading import FOLDER, file_name, network_with_weights, read
from agents.perception.network import Network, Raw
from agents.training import learn
from agents.training.cards import TRIED
from agents.training.evaluating import Trial, evaluate
from agents.training.forward import run
from agents.training.layout import scenarios
from agents.training.learning import batches, rate
from agents.training.lesson import Lesson, answer, exercise, part
from agents.training.losses import loss
from agents.training.samples import CONDITIONS, Samples
from agents.training.targets import targets_of
from agents.training.weights import begin_from, save
from harness.errors import UserError
from harness.overlap import bev_iou
from tests.conftest import ROOT
from tests.training.made_up import boxes_in_world, write_recording


@pytest.fixture
def lesson(tmp_path: Path) -> Lesson:
    write_recording(tmp_path / "data")
    return Lesson(
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
    )


def test_who_answers_as_taught_finds_everybody() -> None:
    boxes = boxes_in_world()
    geometry = boxes.geometry - [110.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    everybody, nobody = np.ones(len(boxes), np.bool_), np.zeros(len(boxes), np.bool_)
    targets = targets_of(replace(boxes, geometry=geometry), everybody, nobody, LITE_GRID)
    raw = Raw(
        torch.logit(torch.from_numpy(targets.likelihood), 1e-4)[None],
        torch.from_numpy(targets.codes).reshape(1, CODE_CHANNELS, *LITE_GRID.output_shape),
    )
    decoding = design_of("single", "lite").decoding
    detected = each_once(candidates(raw, LITE_GRID, decoding), decoding)
    assert len(detected) == len(boxes)
    assert bev_iou(detected.geometry, geometry).max(0).min() > 0.999
    assert sorted(detected.classes) == sorted(boxes.classes)


def test_the_hardly_seen_are_neither_asked_nor_denied() -> None:
    boxes = boxes_in_world()[:1]
    geometry = boxes.geometry - [110.0, 60.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    nobody, one = np.zeros(1, np.bool_), np.ones(1, np.bool_)
    targets = targets_of(replace(boxes, geometry=geometry), nobody, one, LITE_GRID)
    assert targets.likelihood.max() == 0
    assert (targets.care == 0).sum() == 25


def test_parked_scenery_is_neither_asked_for_nor_denied(lesson: Lesson) -> None:
    """Whoever sees nobody but a parked car has learnt all there is to say of it."""
    samples = Samples(scenarios(lesson.data[0]), units=False)
    network = Network("single", design_of("single", "lite"))
    sample = samples.sample(0, 0)
    cells, _ = LITE_GRID.codes_of(sample.parked.geometry)
    row, column = cells[0]
    for parked, denied in ((sample.parked, False), (sample.parked[:0], True)):
        _, targets = answer(network, "single", replace(sample, parked=parked))
        assert targets.likelihood[0, row, column] == 0.0
        assert (targets.care[0, row, column] > 0.0) == denied


def test_inventions_near_by_count_most() -> None:
    nobody = np.zeros(0, np.bool_)
    care = targets_of(boxes_in_world()[:0], nobody, nobody, LITE_GRID).care
    rows, columns = LITE_GRID.output_shape
    assert care[1, rows // 2, columns // 2] == care.max() > care[1, 0, 0] == 1.0


@pytest.mark.parametrize("scheme", ["single", "early", "fcooper"])
def test_steps_lower_the_loss_on_one_batch(lesson: Lesson, scheme: Scheme) -> None:
    current = learn.begin(replace(lesson, scheme=scheme))
    samples, random = Samples(scenarios(lesson.data[0]), units=False), np.random.default_rng(0)
    current.network.pillar_vfe.grid = part(LITE_GRID, random)
    inputs, targets = exercise(current.lesson, current.network, samples, 0, random)
    losses = [learn.learn(current, loss(run(current.network, [inputs]), [targets])) for _ in "123"]
    assert losses[2] < losses[1] < losses[0]


def test_front_and_back_are_told_alike() -> None:
    box = np.array([[3.0, 4.0, 0.8, 4.5, 1.9, 1.6, 2.0]])
    cells, codes = LITE_GRID.codes_of(box)
    about = LITE_GRID.codes_of(box + math.pi * np.eye(7)[6])[1]
    assert np.allclose(codes, about)
    assert np.allclose(LITE_GRID.boxes_of(cells, codes) - box, -math.pi * np.eye(7)[6])


def test_a_run_stops_and_goes_on(lesson: Lesson) -> None:
    whole = learn.train(replace(lesson, epochs=2, out=lesson.out / "whole"))
    half = learn.begin(replace(lesson, epochs=2))
    lesson.out.mkdir(exist_ok=True)
    samples = Samples(scenarios(lesson.data[0]), units=True)
    learn.learn_epoch(half, samples, lambda done: None)
    half.curve[-1].update(whole.curve[0])
    half.best, half.best_state = -1.0, half.average.state
    half.write()
    after = learn.train(replace(lesson, epochs=2))
    assert after.curve[1] == whole.curve[1]
    for name, each in whole.average.state.items():
        assert torch.equal(each, after.average.state[name]), name
    file = lesson.weights / file_name("single", "lite")
    card = json.loads(file.with_suffix(".json").read_text())
    assert (card["epochs"], card["data"]["towns"]) == (2, ["Nowhere"])
    network = network_with_weights("single", "lite", str(file), None)
    assert network.parameters_in_all == card["parameters"]
    other = Network("v2vnet", design_of("v2vnet", "lite"))
    begin_from(other, file)
    assert torch.equal(other.cls_head.weight, network.cls_head.weight)
    for scheme, conditions in {"single": ["none"], "late": list(CONDITIONS)}.items():
        columns = evaluate(Trial(scheme, file, lesson.data[0], 1, None, card=True))  # type: ignore[arg-type]
        assert list(columns) == conditions
        tried = json.loads(file.with_suffix(".json").read_text())[TRIED][scheme]
        promised = columns["none"]["anyone", 0.5, "vehicle", "0-50"].eleven_point
        assert tried["none, visible to anyone"]["vehicle 0-50"] == round(promised, 3)
        assert tried["data"] == {"towns": ["Nowhere"], "scenarios": 1, "seeds": [5]}


@pytest.fixture
def written(lesson: Lesson) -> Path:
    """What a lesson leaves before its first epoch."""
    learn.begin(lesson).write()
    return lesson.out / learn.STATE


def test_another_lesson_does_not_go_on(lesson: Lesson, written: Path, tmp_path: Path) -> None:
    write_recording(tmp_path / "other")
    (tmp_path / "other" / "made-up" / "7" / "000002.npy").unlink()
    others = [tmp_path / "other"]
    for name, value in {"epochs": 2, "data": others, "held_out": others, "scheme": "early"}.items():
        told = rf"{written}: of a lesson with other --{name.replace('_', '-')};"
        with pytest.raises(UserError, match=told):
            learn.train(replace(lesson, **{name: value}))  # type: ignore[arg-type]
    lesson.data[0].rename(tmp_path / "moved")
    learn.begin(replace(lesson, data=[tmp_path / "moved"], held_out=[tmp_path / "moved"]))


@pytest.mark.parametrize("sort", ["torn", "older"])
def test_a_state_that_says_no_lesson_is_refused(lesson: Lesson, written: Path, sort: str) -> None:
    if sort == "torn":
        written.write_bytes(written.read_bytes()[:1000])
    else:
        state = torch.load(written, weights_only=True)
        torch.save({name: each for name, each in state.items() if name != "lesson"}, written)
    with pytest.raises(UserError, match="name another --out, or remove it") as told:
        learn.begin(lesson)
    assert "\n" not in str(told.value)


def test_what_is_frozen_stays_and_the_rest_learns(lesson: Lesson) -> None:
    current = learn.begin(replace(lesson, scheme="v2vnet", freeze=True, most=2))
    before = {name: each.clone() for name, each in current.network.state_dict().items()}
    samples = Samples(scenarios(lesson.data[0]), units=False)
    learn.learn_epoch(current, samples, lambda done: None)
    for name, each in current.network.state_dict().items():
        frozen = name.startswith(("pillar_vfe.", "backbone."))
        assert torch.equal(each, before[name]) == frozen, name


def test_weights_go_where_systems_look() -> None:
    assert (FOLDER / file_name("late", "lite")).name == "lite_single.safetensors"
    assert {file_name(scheme, "lite") for scheme in SCHEMES} == {
        f"lite_{scheme}.safetensors" for scheme in SCHEMES if scheme != "late"
    }


def test_recordings_for_testing_are_refused(lesson: Lesson, tmp_path: Path) -> None:
    write_recording(tmp_path / "test", "testing")
    with pytest.raises(UserError, match="for testing"):
        learn.train(replace(lesson, data=[tmp_path / "test"]))


def test_weights_that_are_there_stay_whole_until_others_are(tmp_path: Path) -> None:
    file = tmp_path / "lite_single.safetensors"
    save(file, {"one": torch.zeros(3)}, {"epochs": 1})
    for each in (file, file.with_suffix(".json")):
        (tmp_path / f"before{each.suffix}").hardlink_to(each)
    before = file.read_bytes()
    save(file, {"one": torch.ones(3)}, {"epochs": 2})
    assert (tmp_path / "before.safetensors").read_bytes() == before != file.read_bytes()
    assert json.loads((tmp_path / "before.json").read_text()) == {"epochs": 1}
    assert len(list(tmp_path.iterdir())) == 4


def test_a_class_that_never_occurred_has_no_number_in_a_card(tmp_path: Path) -> None:
    card = {"curve": [{"epoch": 1, "cyclist": math.nan}], "best": 0.5}
    save(tmp_path / "w.safetensors", {"one": torch.zeros(3)}, card)
    assert "NaN" not in (tmp_path / "w.json").read_text()
    told = json.loads((tmp_path / "w.json").read_text())
    assert told == {"curve": [{"epoch": 1, "cyclist": None}], "best": 0.5}


NO_ROOM = """
import resource, signal, sys
from pathlib import Path
import torch
from agents.training.weights import save, save_state
from harness.errors import UserError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, 10_000))
much, folder = {"one": torch.zeros(100_000)}, Path(sys.argv[1])
def write_weights(): save(folder / "w.safetensors", much, {})
def write_state(): save_state(folder / "s", much)
for write in (write_weights, write_state):
    try:
        write()
    except UserError as problem:
        print(problem)
"""


def test_where_there_is_no_room_is_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-c", NO_ROOM, str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    lines = [
        f"{tmp_path / each}: cannot be written (File too large)" for each in ("w.safetensors", "s")
    ]
    assert done.stdout.splitlines() == lines
    assert not list(tmp_path.iterdir())


def test_files_that_hold_no_weights_are_refused(tmp_path: Path) -> None:
    bad = tmp_path / "bad.safetensors"
    bad.write_bytes(b"nothing of the kind")
    with pytest.raises(UserError, match=r"bad\.safetensors"):
        read(bad)


def test_the_rate_rises_and_falls() -> None:
    rates = [rate(step, 100, 1.0) for step in range(100)]
    assert max(rates) == pytest.approx(1.0, abs=0.01)
    assert rates.index(max(rates)) == 5
    assert rates[-1] < 0.02


def test_an_epoch_shows_each_sample_once() -> None:
    shown = [n for batch in batches(11, 11, 3, np.random.default_rng(0)) for n in batch]
    assert len(shown) == len(set(shown)) == 9
    few = [n for batch in batches(11, 7, 3, np.random.default_rng(0)) for n in batch]
    assert few == shown[:6]
