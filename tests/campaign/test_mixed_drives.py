"""Fleets of several systems in drives: real networks, what each sends, and equal bytes without."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from agents.perception.cameras.systems import CameraLate
from agents.perception.fusion.fcooper import FCooper
from agents.perception.systems import Intermediate, Late, NetworkSystem
from harness.campaign.planning.survey import survey_campaign
from harness.records.reading import CampaignRecords, read_stored_table
from harness.records.schema import TABLES
from harness.types.vocabulary import Boxes, Message, Observation
from tests.agents.little_world import straight
from tests.campaign.tiny import run, write_route
from tests.campaign.witness import DOOR, SENSED
from tests.once import once

pytestmark = pytest.mark.thorough

HERE = "tests.campaign.witness"
FUSION = "{_target_: agents.perception.fusion.fcooper.FCooper}"
CLASSES = {"own": "DoorLate", "roadside_cameras": "SeenCameraLate", "roadside_wide": "SeenFCooper"}
"""The class of a roadside unit's system, by fleet."""
BOX_BYTES = 33
LAST_BIT = 1e-13
"""Of metres and radians, below 200 m."""


def drive(folder: Path) -> Path:
    """Drive one route with a fleet of one kind, alone and next to two others."""
    routes = write_route(folder, "step")
    kept = folder / "kept"
    common = (
        f"+system.door={{_target_: {HERE}.DoorLate, folder: {kept}}}",
        "system=[]",
        "rig=v2xverse_cameras",
        "cooperation=mixed",
        "interference=none",
        "cooperation.mixed.range=400",
        "traffic.vehicles=30",
        "routes.hazards=null",
        "executor.workers=1",
    )
    wide = f"_target_: {HERE}.SeenFCooper, folder: {kept}, fusion: {FUSION}"
    others = (
        f"+partners.systems.cameras={{_target_: {HERE}.SeenCameraLate, folder: {kept}}}",
        f"+partners.systems.wide={{{wide}}}",
        "partners.system.roadside=[own,cameras,wide]",
    )
    for out, more in (("plain", ()), ("fleets", others)):
        kept.mkdir()
        done = run(routes, *common, *more, f"out={folder / out}")
        assert done.returncode == 0, done.stdout + done.stderr
        kept.rename(folder / f"kept_{out}")
    return folder


@pytest.fixture(scope="module")
def driven(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder, not to be changed, of both campaigns and of what was kept."""
    return once(tmp_path_factory, "mixed-fleets", drive)


def find_attempt(campaign: Path, fleet: str) -> Path:
    """Return the records of the attempt with a fleet."""
    attempts = CampaignRecords(campaign).find_attempts()
    (place,) = (path for key, path in attempts.items() if key.arm["partners"] == fleet)
    return place


def read_kept(driven: Path, fleet: str, what: str) -> Iterator[tuple[Observation, Any]]:
    """Yield what was kept of the attempt in which roadside units used the system of a fleet."""
    for place in (driven / "kept_fleets").iterdir():
        if any(place.glob(f"{SENSED}-{CLASSES[fleet]}-roadside-*")):
            for file in sorted(place.glob(f"{what}-*")):
                yield pickle.loads(file.read_bytes())


@cache
def make_alone(fleet: str, kind: str) -> NetworkSystem:
    """Return the shipped network that a partner's boxes should come from."""
    system: NetworkSystem = Late()
    if kind == "roadside" and fleet == "roadside_cameras":
        system = CameraLate()
    if kind == "roadside" and fleet == "roadside_wide":
        system = Intermediate(FCooper())
    system.reset(1, straight())
    return system


def detect_by_itself(fleet: str, observation: Observation) -> Boxes:
    """Return what the other system computes from a partner's sensors, by its public calls."""
    system = make_alone(fleet, observation.kind)
    if isinstance(system, Intermediate):
        maps, height = system._encode_observation(observation)
        candidates = system.detector.detect_boxes(maps, (), height)
        return system.operating_point.apply_thresholds(candidates)
    boxes = system.share(observation)
    assert isinstance(boxes, Boxes)
    return boxes


@pytest.mark.parametrize("fleet", CLASSES)
def test_boxes_at_the_door_are_those_that_the_system_computes_alone(
    driven: Path, fleet: str
) -> None:
    sensed = {
        (observation.sender, observation.frame): observation
        for observation, _ in read_kept(driven, fleet, SENSED)
    }
    kinds = dict.fromkeys(("roadside", "vehicle"), 0)
    boxes = 0
    for _, messages in read_kept(driven, fleet, DOOR):
        for message in messages:
            assert isinstance(message, Message)
            expected = detect_by_itself(fleet, sensed[message.sender, message.capture_frame])
            assert isinstance(message.payload, Boxes)
            assert message.payload.classes.tobytes() == expected.classes.tobytes()
            # attempts compute sines with other kernels of numpy than tests do: the last bit differs
            for one, other in (
                (message.payload.geometry, expected.geometry),
                (message.payload.scores, expected.scores),
            ):
                np.testing.assert_allclose(one, other, rtol=0.0, atol=LAST_BIT)
            kinds[message.kind] += 1
            boxes += len(expected)
    assert min(kinds.values()) > 10
    assert boxes > 10


def test_partners_carry_the_sensors_of_their_systems(driven: Path) -> None:
    for fleet, (points, images) in {
        "own": (True, 0),
        "roadside_cameras": (False, 4),
        "roadside_wide": (True, 0),
    }.items():
        for observation, _ in read_kept(driven, fleet, SENSED):
            wanted = (points, images) if observation.kind == "roadside" else (True, 0)
            assert (len(observation.points_in_lidar) > 0, len(observation.images)) == wanted


def test_records_have_the_system_of_a_partner(driven: Path) -> None:
    for fleet, system in {"roadside_cameras": "cameras", "roadside_wide": "wide"}.items():
        place = find_attempt(driven / "fleets", fleet)
        table = read_stored_table(place / "messages.parquet", "messages")
        used = {kind: set(rows["system"].astype(str)) for kind, rows in table.groupby("kind")}
        assert used == {"roadside": {system}, "vehicle": {"door"}}
        result = json.loads((place / "result.json").read_text())["crucible"]["messages"]
        assert set(result["partner_systems"]) == set(table["sender"].astype(str))
        assert result["partner_systems"]["roadside-0"] == system
        # bytes are those of the boxes that the partner's system found
        sent = {
            (message.sender, message.payload.size_bytes)
            for _, messages in read_kept(driven, fleet, DOOR)
            for message in messages
        }
        assert {*zip(table["sender"].astype(str), table["bytes"], strict=True)} >= sent
        assert (np.asarray(table["bytes"]) % BOX_BYTES == 0).all()


def test_a_fleet_of_one_kind_gives_the_bytes_of_a_campaign_without_fleets(driven: Path) -> None:
    plain, same = (find_attempt(driven / name, "own") for name in ("plain", "fleets"))
    for table in TABLES:
        file = f"{table}.parquet"
        assert (plain / file).read_bytes() == (same / file).read_bytes(), file
    assert (plain / "result.json").read_bytes() == (same / "result.json").read_bytes()
    assert "system" not in read_stored_table(same / "messages.parquet", "messages")


def test_other_fleets_meet_the_same_world(driven: Path) -> None:
    """Traffic does not depend on who shares what: ground truth of the first step is equal."""
    first = []
    for fleet in CLASSES:
        boxes = read_stored_table(find_attempt(driven / "fleets", fleet) / "boxes.parquet", "boxes")
        true = boxes[(boxes.source == "truth") & (boxes.frame == boxes.frame.min())]
        first.append(true[["x", "y", "yaw", "hits_ego"]].to_numpy())
    assert np.array_equal(first[0], first[1])
    assert np.array_equal(first[0], first[2])


def test_a_file_gives_one_agent_another_system(driven: Path, tmp_path: Path) -> None:
    """An ego with perfect perception, one unit with a network, by a file in HEAL's form."""
    file = tmp_path / "heal.json"
    file.write_text(json.dumps({"step": {"ego": "m1", "roadside-0": "m2"}}))
    done = run(
        driven,
        "system=ideal_late",
        "cooperation=mixed",
        "cooperation.mixed.range=400",
        "interference=[none,second_sender]",
        "traffic.vehicles=30",
        "routes.hazards=null",
        f"partners.system.assignment={file}",
        "partners.system.modalities={m1: own, m2: late}",
        f"out={tmp_path / 'out'}",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    survey = survey_campaign(tmp_path / "out")
    assert (survey.planned, survey.done, survey.troubles) == (2, 2, ())
    for key, place in CampaignRecords(tmp_path / "out").find_attempts().items():
        assert key.arm["partners"] == "heal"
        table = read_stored_table(place / "messages.parquet", "messages")
        pairs = {*zip(table["sender"].astype(str), table["system"].astype(str), strict=True)}
        assert ("roadside-0", "late") in pairs
        assert {system for sender, system in pairs if sender.startswith("vehicle")} == {
            "ideal_late"
        }
        if key.arm.condition == "second_sender":
            assert ("roadside-0-again", "late") in pairs
