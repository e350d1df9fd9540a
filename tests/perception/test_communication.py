"""CoDriving's communication: V2Xverse's outputs, the bytes that are sent, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.perception.fusion.codriving import CoDriving
from agents.perception.fusion.communication import (
    CommunicationSettings,
    is_finite_number,
    read_communication,
)
from agents.perception.fusion.driving_request import DrivingRequest, render_request_map
from agents.perception.grid import PillarGrid
from harness.common.errors import UserError
from harness.types.vocabulary import Pose
from tests.perception.parity import theirs
from tests.perception.parity.communication import (
    AHEAD,
    COMBINATIONS,
    EVERY,
    FILE,
    Combination,
    encoded,
    flattened,
    our_output,
    their_output,
)
from tests.perception.parity.golden import POSES, small

CLOSE = 1e-4
RANGE = (-8.0, -4.0, -22.0, 8.0, 4.0, 14.0)


@pytest.fixture(scope="module")
def grid() -> PillarGrid:
    return small("codriving")


@pytest.mark.thorough
def test_all_combinations_give_what_v2xverse_gave(grid: PillarGrid) -> None:
    with np.load(FILE) as stored:
        outputs, which = stored["outputs"], stored["which"]
    assert len(which) == len(COMBINATIONS)
    assert len(outputs) > 6, "combinations that change nothing hold nothing"
    for combination, number in zip(COMBINATIONS, which, strict=True):
        ours = our_output(combination, grid)
        apart = np.abs(flattened(ours.logits, ours.codes)[::EVERY] - outputs[number])
        assert apart.max() < CLOSE, combination.name


@pytest.mark.parametrize("combination", COMBINATIONS[5::9], ids=lambda item: item.name)
def test_v2xverse_itself_agrees(combination: Combination, grid: PillarGrid) -> None:
    reason = theirs.missing()
    if reason:
        pytest.skip(reason)
    output, ours = their_output(combination, grid), our_output(combination, grid)
    expected = flattened(output["cls_preds"], output["bbox_preds"])
    assert np.abs(flattened(ours.logits, ours.codes) - expected).max() < CLOSE


def sent_bytes(grid: PillarGrid, confidence: float, request: DrivingRequest | None = None) -> int:
    network, maps = encoded(grid)
    fusion = CoDriving(confidence, driving_request=request is not None)
    network.fusion_net = fusion.build_with_features(network.fusion_net.features)
    with torch.inference_mode():
        levels = network.send_maps(maps[1], request, POSES[1])
    return fusion.payload(tuple(level[0].numpy() for level in levels)).size_bytes


@pytest.mark.thorough
def test_masks_change_what_is_sent_and_its_bytes(grid: PillarGrid) -> None:
    everything, confident = sent_bytes(grid, 0.0), sent_bytes(grid, 0.2)
    asked = sent_bytes(grid, 0.2, DrivingRequest(AHEAD, Pose(0.0, 0.0)))
    elsewhere = sent_bytes(grid, 0.2, DrivingRequest(AHEAD + 500.0, Pose(0.0, 0.0)))
    assert everything > confident > asked > elsewhere
    cells = sum(int(level[0, 0].numel()) for level in encoded(grid)[1][1])
    assert elsewhere == (cells + 7) // 8, "nothing but the mask"


def test_a_request_is_highest_at_the_waypoints() -> None:
    settings = CommunicationSettings(threshold=0.1, detection_range=RANGE, radius=20)
    request_map = render_request_map(np.array([[4.0, 2.0], [90.0, 0.0]]), (32, 64), settings)
    row, column = divmod(int(request_map.argmax()), 64)
    assert (row, column) == (24, 48)  # 4 m of 16 ahead of the middle, 2 m of 8 to the right
    assert request_map.max() == 1.0
    assert not render_request_map(np.array([[90.0, 0.0]]), (32, 64), settings).any()


WHOLE: dict[str, Any] = {"thre": 0.1, "cav_lidar_range": [*RANGE], "driving_request": True}


@pytest.mark.thorough
def test_settings_are_read() -> None:
    settings = read_communication({**WHOLE, "radius": 40, "round": 2}, "place")
    assert settings == CommunicationSettings(threshold=0.1, detection_range=RANGE, radius=40.0)
    fusion = CoDriving()
    fusion.take_published_settings({"fusion_args": {"communication": WHOLE}}, Path("c.yaml"))
    fusion.build_with_features(encoded(small("codriving"))[0].fusion_net.features)
    assert fusion.confidence == 0.1
    assert not fusion.reads_requests, "V2Xverse's agent gives the network no waypoints"
    assert CoDriving(0.4).build_with_features(fusion.features).confidence == 0.4


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"random_thre": True}, "random_thre is true: .* set it to false, and thre is used"),
        ({"thre": "low"}, "thre is 'low'; a number ≥ 0 is needed"),
        ({"thre": -0.5}, "thre is -0.5; a number ≥ 0 is needed"),
        ({"radius": float("nan")}, "radius is nan; a number"),
        ({"sigma_reverse": 0}, "sigma_reverse is 0; a number"),
        ({"cav_lidar_range": [1, 2]}, "6 numbers are needed"),
        ({"cav_lidar_range": [0, 0, 0, 0, 0, 0]}, "6 numbers are needed"),
        ({"threshold": 0.1}, r"unknown key threshold \(valid: thre, "),
    ],
)
def test_what_cannot_be_followed_is_refused(change: dict[str, Any], said: str) -> None:
    with pytest.raises(UserError, match=f"^place.*{said}") as refused:
        read_communication({**WHOLE, **change}, "place")
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", sorted(WHOLE))
def test_what_v2xverses_constructor_needs_must_be_there(name: str) -> None:
    given = {key: value for key, value in WHOLE.items() if key != name}
    with pytest.raises(UserError, match=f"{name} is missing; V2Xverse's constructor needs it"):
        read_communication(given, "place")
    with pytest.raises(UserError, match="settings by name"):
        read_communication([given], "place")


def test_truth_values_are_no_numbers() -> None:
    assert not is_finite_number(True)
    assert is_finite_number(1)
