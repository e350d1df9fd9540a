"""A checkpoint through the pipe: what is refused, what is sent, and where its boxes lie."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from agents.opencood.system import OpenCood, OpenCoodAlone, suggest_interpreter
from harness.common.errors import UserError
from harness.types.geometry import transform_points
from harness.types.vocabulary import (
    Boxes,
    EgoObservation,
    Features,
    Message,
    Observation,
    Perceived,
    Points,
    Pose,
    Singles,
)
from tests.agents.little_world import straight
from tests.opencood.tiny_checkout import write_checkout, write_checkpoint

WORLD = Pose(0.0, 0.0)
EGO = Pose(100.0, 50.0, 1.9, math.pi / 2)
PARTNER = Pose(90.0, 60.0, 1.9)
SEEN, HIDDEN = (109.0, 61.0), (93.0, 69.0)
"""Two cars in the world: the ego sees the first, its partner the second."""
LIDAR = Pose(-0.5, 0.0, 1.9)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_checkout(tmp_path_factory.mktemp("checkout"))


def make_system(root: Path, folder: Path, method: str, **settings: Any) -> OpenCood:
    checkpoint = write_checkpoint(folder / method, method)
    return OpenCood(str(root), str(checkpoint), python=sys.executable, **settings)


def sweep(car: tuple[float, float], lidar: Pose) -> Singles:
    """400 points on a car 0.9 m below a LiDAR of 1.9 m, in the LiDAR's frame."""
    hits = np.random.default_rng(3).uniform(-0.4, 0.4, (400, 2)) + car
    points = np.column_stack([hits, np.full((400, 2), [1.0, 0.5])]).astype(np.float32)
    return transform_points(points, WORLD, lidar)


def ego_observation() -> EgoObservation:
    return EgoObservation(
        sender="ego",
        kind="ego",
        frame=4,
        time=0.4,
        lidar_in_world=EGO,
        points_in_lidar=sweep(SEEN, EGO),
        vehicle_in_world=Pose(100.0, 50.0, 0.0, math.pi / 2),
        lidar_in_vehicle=LIDAR,
        speed=3.0,
        lights=(),
    )


def make_sent(system: OpenCood, believed: Pose = PARTNER) -> Message:
    seen = Observation(
        sender="vehicle-7",
        kind="vehicle",
        frame=2,
        time=0.2,
        lidar_in_world=believed,
        points_in_lidar=sweep(HIDDEN, PARTNER),
    )
    return Message(
        sender="vehicle-7",
        kind="vehicle",
        capture_frame=2,
        capture_time=0.2,
        lidar_in_world=believed,
        payload=system.share(seen),
    )


def places(perceived: Perceived) -> Iterator[list[tuple[float, float]]]:
    """World positions of cooperative boxes, then of those of the ego alone."""
    for boxes in (perceived.cooperative, perceived.ego_alone):
        flat = np.column_stack([boxes.geometry[:, :3], boxes.scores]).astype(np.float32)
        yield [(float(x), float(y)) for x, y in transform_points(flat, EGO, WORLD)[:, :2]]


def is_near(places: list[tuple[float, float]], car: tuple[float, float], most: float = 3.0) -> bool:
    return any(math.dist(place, car) < most for place in places)


@pytest.mark.parametrize(
    ("method", "size"), [("late", None), ("early", 16 * 400), ("intermediate", 4 * 32 * 32)]
)
def test_a_partner_shows_what_the_ego_cannot_see(
    root: Path, tmp_path: Path, method: str, size: int | None
) -> None:
    system = make_system(root, tmp_path, method)
    system.reset(1, straight())
    message = make_sent(system)
    boxes = message.payload
    assert message.size_bytes == (33 * len(boxes) if isinstance(boxes, Boxes) else size)
    assert message.size_bytes > 0
    together, alone = places(system.perceive(ego_observation(), (message,)))
    assert is_near(together, SEEN)
    assert is_near(together, HIDDEN)
    assert is_near(alone, SEEN)
    assert not is_near(alone, HIDDEN, 6.0)


@pytest.mark.parametrize("method", ["late", "early", "intermediate"])
def test_a_partner_of_an_ego_with_late_fusion_sends_what_it_detects(
    root: Path, tmp_path: Path, method: str
) -> None:
    system = make_system(root, tmp_path, method)
    system.reset(1, straight())
    seen = Observation(
        sender="roadside-0",
        kind="roadside",
        frame=2,
        time=0.2,
        lidar_in_world=PARTNER,
        points_in_lidar=sweep(HIDDEN, PARTNER),
    )
    boxes = system.detect_alone(seen)
    flat = np.column_stack([boxes.geometry[:, :3], boxes.scores]).astype(np.float32)
    seen_at = [(float(x), float(y)) for x, y in transform_points(flat, PARTNER, WORLD)[:, :2]]
    assert is_near(seen_at, HIDDEN)
    if method == "late":
        sent = system.share(seen)
        assert isinstance(sent, Boxes)
        assert is_near(
            [(float(row[0]), float(row[1])) for row in flat], tuple(sent.geometry[0, :2])
        )


@pytest.mark.thorough
@pytest.mark.parametrize("method", ["late", "early", "intermediate"])
def test_a_wrong_pose_moves_what_was_sent(root: Path, tmp_path: Path, method: str) -> None:
    system = make_system(root, tmp_path, method)
    system.reset(1, straight())
    message = make_sent(system, replace(PARTNER, x=PARTNER.x - 8.0))
    together, _ = places(system.perceive(ego_observation(), (message,)))
    assert is_near(together, (HIDDEN[0] - 8.0, HIDDEN[1]))
    assert not is_near(together, HIDDEN)


def test_points_are_sent_where_that_is_asked_for(root: Path, tmp_path: Path) -> None:
    whole = make_system(root, tmp_path, "intermediate")
    points = make_system(root, tmp_path, "intermediate", messages="points")
    assert (whole.sends, points.sends) == ("features", "points")
    assert whole.fusion_stage == points.fusion_stage == "intermediate"
    answers = []
    for system in (whole, points):
        system.reset(1, straight())
        message = make_sent(system)
        assert isinstance(message.payload, Features if system is whole else Points)
        answers.append(system.perceive(ego_observation(), (message,)).cooperative)
    # in two parts or in one: the same network
    assert np.array_equal(answers[0].geometry, answers[1].geometry)
    assert np.array_equal(answers[0].scores, answers[1].scores)
    assert len(answers[0]) > 0


@pytest.mark.thorough
def test_a_frame_with_y_to_the_left_changes_nothing(root: Path, tmp_path: Path) -> None:
    answers = []
    for mirrored in (False, True):
        system = make_system(root, tmp_path, "early", mirrored=mirrored)
        system.reset(1, straight())
        together, _ = places(system.perceive(ego_observation(), (make_sent(system),)))
        answers.append(sorted(together))
    assert all(is_near(answers[1], place, 2.9) for place in answers[0])
    assert answers[0]


@pytest.mark.thorough
def test_heights_are_lifted_for_the_network_only(root: Path, tmp_path: Path) -> None:
    heights = []
    for lift in (0.0, 0.1):
        system = make_system(root, tmp_path, "late", lift=lift)
        system.reset(1, straight())
        boxes = system.perceive(ego_observation(), ()).ego_alone
        heights.append(boxes.geometry[:, 2].mean())
    # its anchors stand at one height, which is 0.1 m lower in the world
    assert heights[0] - heights[1] == pytest.approx(0.1, abs=1e-6)


@pytest.mark.thorough
def test_empty_sweeps_have_no_boxes(root: Path, tmp_path: Path) -> None:
    empty = np.zeros((0, 4), np.float32)
    for method in ("late", "early", "intermediate"):
        system = make_system(root, tmp_path, method)
        system.reset(1, straight())
        seen = replace(ego_observation(), points_in_lidar=empty)
        nothing = replace(
            make_sent(system),
            payload=system.share(
                Observation(
                    sender="vehicle-7",
                    kind="vehicle",
                    frame=2,
                    time=0.2,
                    lidar_in_world=PARTNER,
                    points_in_lidar=empty,
                )
            ),
        )
        perceived = system.perceive(seen, (nothing,))
        assert len(perceived.cooperative) == len(perceived.ego_alone) == 0


@pytest.mark.thorough
def test_alone_it_has_no_stage_of_fusion(root: Path, tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "late", "late")
    system = OpenCoodAlone(str(root), str(checkpoint), python=sys.executable)
    assert system.fusion_stage == "none"
    assert not system.reads_messages


def test_what_is_missing_is_named(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no checkout of OpenCOOD or HEAL: it has no opencood"):
        OpenCood(str(tmp_path), str(tmp_path))
    with pytest.raises(UserError, match="checkpoint: folder not found"):
        OpenCood(str(root), str(tmp_path / "absent"), python=sys.executable)
    with pytest.raises(UserError, match=r"has no config\.yaml"):
        OpenCood(str(root), str(tmp_path), python=sys.executable)
    checkpoint = write_checkpoint(tmp_path / "late", "late")
    with pytest.raises(UserError, match="python: interpreter not found: nobodys_python"):
        OpenCood(str(root), str(checkpoint), python="nobodys_python")
    with pytest.raises(UserError, match=r"config\.yaml is a file; name the folder that has"):
        OpenCood(str(root), str(checkpoint / "config.yaml"), python=sys.executable)
    (checkpoint / "net_epoch3.pth").unlink()
    with pytest.raises(UserError, match=r"no net_epoch_bestval_at\*\.pth and no net_epoch"):
        OpenCood.files(str(root), str(checkpoint), python=sys.executable)


@pytest.mark.parametrize(
    ("setting", "value", "expected"),
    [
        ("cut_range", "abc", "cut_range: abc is no number"),
        ("cut_range", 0.0, "cut_range: 0: must be ≥ 1"),
        ("score_threshold", 20, "score_threshold: 20: must be from 0 to 1"),
        ("lift", math.inf, "lift: inf is no number"),
        ("step_timeout", -1.0, "step_timeout: -1: must be ≥ 0"),
    ],
)
def test_a_wrong_number_is_refused_before_a_process_starts(
    root: Path, tmp_path: Path, setting: str, value: object, expected: str
) -> None:
    checkpoint = write_checkpoint(tmp_path / "late", "late")
    settings: dict[str, Any] = {"python": sys.executable, setting: value}
    with pytest.raises(UserError, match=expected):
        OpenCood.files(str(root), str(checkpoint), **settings)


def test_a_python_without_the_checkouts_packages_is_named(root: Path, tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "late", "late")
    # an interpreter that finds its standard library only
    python = tmp_path / "bare_python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    python.chmod(0o755)
    with pytest.raises(UserError, match="No module named 'numpy'; python: name the interp"):
        OpenCood(str(root), str(checkpoint), python=str(python))
    assert suggest_interpreter("ModuleNotFoundError: No module named 'torch'")
    assert not suggest_interpreter("ModuleNotFoundError: No module named 'opencood.models.mine'")


def test_settings_of_another_project_are_named(root: Path, tmp_path: Path) -> None:
    checkpoint = write_checkpoint(tmp_path / "late", "late")
    config = checkpoint / "config.yaml"
    config.write_text(config.read_text() + "\nyaml_parser: load_elsewhere\n")
    with pytest.raises(
        UserError, match=r"config\.yaml is of another project: .* no function load_elsewhere"
    ) as caught:
        OpenCood(str(root), str(checkpoint), python=sys.executable)
    # the line is of a file, not of evaluated text
    assert str(caught.value).endswith(")")
    assert "<" not in str(caught.value)


def test_weights_that_do_not_fit_are_refused_in_one_line(root: Path, tmp_path: Path) -> None:
    two = write_checkpoint(tmp_path / "two", "late", anchors=2)
    with pytest.raises(
        UserError, match=r"scale is \(2,\), and the network of config\.yaml has \(1,\)"
    ) as caught:
        OpenCood(str(root), str(two), python=sys.executable)
    assert "\n" not in str(caught.value)
    lacking = write_checkpoint(tmp_path / "lacking", "late", offset=None)
    with pytest.raises(UserError, match="lacks 1 keys, offset among them"):
        OpenCood(str(root), str(lacking), python=sys.executable)


def test_what_is_left_out_is_noted(
    root: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    more = write_checkpoint(tmp_path / "more", "late", teacher=torch.zeros(1))
    OpenCood(str(root), str(more), python=sys.executable)
    said = capfd.readouterr().err
    assert "1 keys are not read, teacher among them" in said
    assert "noise_setting.add_noise is switched off" in said


@pytest.mark.thorough
def test_modalities_and_messages_that_cannot_be_had_are_refused(root: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="modalities: m2 cannot be had; partners may have lidar"):
        make_system(root, tmp_path, "late", modalities=["m2"])
    with pytest.raises(UserError, match="features cannot be sent; boxes can"):
        make_system(root, tmp_path, "late", messages="features")
