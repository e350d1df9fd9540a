"""Flow networks are trained on recordings, and lower the error of late maps on others."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from agents.perception.designs import LITE_GRID
from agents.perception.flows.files import FLOW_FOLDER, load_flow_network
from agents.perception.fusion.catalogue import INTERMEDIATE
from agents.perception.loading import find_weight_file
from agents.perception.systems import Intermediate, make_network_system
from agents.training.collect import RecordingPlan, collect_recordings
from agents.training.compensation import compare_compensation
from agents.training.compensation_tables import FEATURES, NONE, CompensationOptions
from agents.training.flow_samples import (
    PART,
    Course,
    FlowPlace,
    choose_corner,
    encode_courses,
    list_places,
    make_batch,
    render_speeds,
    sample_places,
)
from agents.training.train_flow import FlowTrainingConfig, measure_errors, train_flow
from harness.common.errors import UserError
from harness.common.recordings import PROTOCOL, list_scenarios, write_look
from harness.types.vocabulary import VEHICLE, Boxes
from tests.profiles import ONLY_WITH_ALL
from tests.training.made_up import SIZES, look_of

INTERVAL, LOOKS = 0.1, 14
SPEED = 10.0
"""m/s along x of the first of two cars."""
AGENTS = (7, 9, -1)


def write_passing(
    folder: Path, name: str, *, looks: int = LOOKS, interval: float = INTERVAL
) -> None:
    """Write a scenario in which one car passes and one stands; every agent sees both."""
    scenario = folder / name
    scenario.mkdir(parents=True)
    for moment in range(looks):
        rows = [
            (95.0 + speed * interval * moment, 62.0 + 6.0 * n, 0.8, *SIZES[VEHICLE], 0.0)
            for n, speed in enumerate((SPEED, 0.0))
        ]
        boxes = Boxes(np.array(rows), np.full(2, VEHICLE), np.ones(2))
        for agent in AGENTS:
            write_look(scenario, f"{moment:06}", look_of(agent, moment, boxes))
    protocol = {"town": "Nowhere", "purpose": "training", "seed": 5, "interval": interval}
    (scenario / PROTOCOL).write_text(json.dumps(protocol))


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two scenarios, not to be changed."""
    folder = tmp_path_factory.mktemp("passing")
    for name in ("one", "two"):
        write_passing(folder, name)
    return folder


@pytest.fixture(scope="module")
def courses(recording: Path) -> list[Course]:
    """Return what two agents of one scenario send with fcooper."""
    scenarios = list(list_scenarios(recording))[:1]
    return encode_courses(load_system("fcooper"), scenarios, "maps", senders=2)


def load_system(scheme: str) -> Intermediate:
    system = make_network_system(INTERMEDIATE[scheme]())
    assert isinstance(system, Intermediate)
    return system


def configure(folder: Path, out: Path, **more: object) -> FlowTrainingConfig:
    usual = FlowTrainingConfig(
        scheme="fcooper",
        data=[folder],
        held_out=[folder],
        weights=out,
        network=None,
        steps=3,
        batch=2,
        peak_rate=1e-3,
        senders=1,
        seed=1,
        trial=2,
    )
    return replace(usual, **more)  # type: ignore[arg-type]


def test_velocities_are_rendered_where_road_users_are(courses: list[Course]) -> None:
    place = FlowPlace(courses[0], 2, 4, 9)
    assert place.gap == pytest.approx(0.2)
    assert place.age == pytest.approx(0.5)
    speeds, counted = render_speeds(place, LITE_GRID)
    fast = speeds.norm(dim=0)
    # a car of 4.4 x 1.9 m, with a margin: about 22 cells of 0.64 m²
    assert 15 < int((fast > 0).sum()) < 30
    assert fast[fast > 0].numpy() == pytest.approx(SPEED, abs=1e-3)
    assert counted.min() == 1.0


def test_a_part_is_that_of_the_whole_map(courses: list[Course]) -> None:
    random = np.random.default_rng(1)
    places = sample_places(courses, 3, random)
    corners = [choose_corner(place, LITE_GRID, random) for place in places]
    whole, part = make_batch(places, LITE_GRID), make_batch(places, LITE_GRID, corners)
    for number, (row, column) in enumerate(corners):
        rows, columns = slice(row, row + PART[0]), slice(column, column + PART[1])
        for name in ("older", "reach", "score", "speeds", "counted"):
            there, here = getattr(whole, name)[number], getattr(part, name)[number]
            assert torch.allclose(there[:, rows, columns], here, atol=1e-5), name
        for name in ("newer", "later"):
            there, here = getattr(whole, name)[0][number], getattr(part, name)[0][number]
            assert torch.allclose(there[:, rows, columns], here, atol=1e-5), name
    # the moving car is in each part
    assert (part.speeds.norm(dim=1).amax((1, 2)) > 1).all()


@pytest.mark.usefixtures("prints_fit")
def test_a_network_is_trained_and_equal_runs_give_equal_files(
    recording: Path, tmp_path: Path
) -> None:
    first = train_flow(configure(recording, tmp_path / "a"))
    again = train_flow(configure(recording, tmp_path / "b"))
    other = train_flow(configure(recording, tmp_path / "c", seed=2))
    assert first.name == "lite_fcooper.safetensors"
    assert first.read_bytes() == again.read_bytes() != other.read_bytes()
    card = json.loads(first.with_suffix(".json").read_text())
    assert card["data"]["scenarios"] == 2
    assert card["command"].startswith("crucible train-flow --scheme fcooper --data DIR")
    load_flow_network(first, find_weight_file(INTERMEDIATE["fcooper"], "lite", None))


@pytest.mark.parametrize(
    ("more", "looks", "words"),
    [
        ({"scheme": "late"}, LOOKS, "--scheme late: sends no feature maps"),
        ({}, 6, "6 looks, 0.1 s apart; a flow network needs"),
        ({"network": Path("nowhere.safetensors")}, LOOKS, "no such file of weights"),
    ],
)
def test_what_cannot_be_trained_is_one_line(
    tmp_path: Path, more: dict[str, object], looks: int, words: str
) -> None:
    write_passing(tmp_path / "data", "one", looks=looks)
    with pytest.raises(UserError, match=words) as raised:
        train_flow(configure(tmp_path / "data", tmp_path / "out", **more))
    assert "\n" not in str(raised.value)
    assert not (tmp_path / "out").exists()


def compare(folder: Path, scheme: str, **more: object) -> CompensationOptions:
    usual = CompensationOptions(
        schemes=(scheme,),
        data=[folder],
        latencies=(0.0, 0.3),
        most=4,
        settings={},
        out=folder / "out.json",
    )
    return replace(usual, **more)  # type: ignore[arg-type]


def test_maps_are_compared_on_time_and_late(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_passing(tmp_path, "one")
    outcomes = compare_compensation(compare(tmp_path, "fcooper"))
    on_time = [outcomes["fcooper", 0.0, name] for name in (NONE, FEATURES)]
    assert on_time[0].counts == on_time[1].counts
    assert not on_time[1].maps
    late = outcomes["fcooper", 0.3, FEATURES]
    assert all(one.known and one.age == pytest.approx(0.3) for one in late.maps)
    record = json.loads((tmp_path / "out.json").read_text())
    (row,) = record["maps"]
    assert row["with motion"] == 1.0
    assert 0.0 < row["ms"] < 5000.0
    assert "Late feature maps" in capsys.readouterr().out


def test_points_are_compared_as_they_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_passing(tmp_path, "one")
    outcomes = compare_compensation(compare(tmp_path, "early", latencies=(0.3,)))
    assert set(outcomes) == {("early", 0.3, NONE)}
    assert "early: points are not moved" in capsys.readouterr().out


@pytest.mark.thorough
@pytest.mark.parametrize(
    "scheme",
    [
        pytest.param(scheme, marks=() if scheme == "fcooper" else ONLY_WITH_ALL)
        for scheme in sorted(path.stem.removeprefix("lite_") for path in FLOW_FOLDER.glob("*.json"))
    ],
)
def test_late_maps_are_nearer_to_those_of_now_on_recordings_of_another_seed(
    scheme: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp() / "flow-recording"
    plan = RecordingPlan(
        out=folder,
        towns=("CrucibleOld",),
        scenarios=1,
        seed=601,
        groups=1,
        looks=12,
        interval=0.1,
    )
    collect_recordings(plan)
    system = load_system(scheme)
    courses = encode_courses(system, list(list_scenarios(folder)), "maps", senders=4)
    encoder = find_weight_file(INTERMEDIATE[scheme], "lite", None)
    network = load_flow_network(FLOW_FOLDER / f"lite_{scheme}.safetensors", encoder)
    errors = measure_errors(network, courses, LITE_GRID, 12)
    assert len([*list_places(courses, (2,), (5,))]) > 8
    assert all(share < 0.97 for share in errors.values()), errors
