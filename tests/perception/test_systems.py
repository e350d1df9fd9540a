"""Nine systems with networks: what they share, what they make of it, and what they refuse."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import numpy as np
import pytest
import torch
import yaml

from agents.perception.designs import FULL_GRID
from agents.perception.fusion.base import SparseFeatures, merge_sweeps
from agents.perception.fusion.catalogue import INTERMEDIATE, SCHEMES
from agents.perception.fusion.codriving import compute_confidence, mask_levels
from agents.perception.raising import estimate_lidar_height, raise_points
from agents.perception.received import get_sent_points
from agents.perception.systems import Early, Intermediate, Late, Single
from harness.campaign.planning.validation import refuse_misfit
from harness.campaign.settings.config import build_part, find_class
from harness.common.errors import UserError
from harness.types.geometry import transform_points
from harness.types.systems import System, get_fusion_stage
from harness.types.vocabulary import Boxes, Features, Floats, Payload, Points, Pose, Step
from tests.agents.little_world import straight
from tests.perception.street import (
    EGO_IN_WORLD,
    ROADSIDE_IN_WORLD,
    ego,
    message_from,
    partner,
    sent,
    sweep,
)

CONF = Path(__file__).parents[2] / "conf" / "system"
SHARED: dict[str, type] = {"single": Boxes, "early": Points, "late": Boxes}
ONE_MAP = 16 * 96 * 128


def settings_of(scheme: str) -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load((CONF / f"{scheme}.yaml").read_text())[scheme]
    return {**settings, "weights": "random"}


@cache
def system_of(scheme: str) -> System:
    system: System = build_part(settings_of(scheme), f"system.{scheme}")
    return system


def started(scheme: str) -> System:
    system = system_of(scheme)
    system.reset(1, straight())
    return system


def unlike(one: Floats, other: Floats) -> bool:
    """Whether these differ by more than rounding."""
    return len(one) != len(other) or float(np.abs(one - other).max()) > 1e-4


def numbers(step: Step) -> list[np.ndarray]:
    control = np.array([step.control.throttle, step.control.steer, step.control.brake])
    parts = (step.cooperative, step.ego_alone)
    return [control, *(array for b in parts for array in (b.geometry, b.classes, b.scores))]


@pytest.mark.parametrize("scheme", SCHEMES)
def test_settings_fit_what_they_name(scheme: str) -> None:
    settings = settings_of(scheme)
    refuse_misfit(f"system.{scheme}", settings)
    kind = find_class(settings["_target_"], f"system.{scheme}")
    assert get_type_hints(kind.share)["return"] is SHARED.get(scheme, Features)
    assert kind.reads_points
    assert kind.reads_messages == (scheme != "single")


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_step_finds_boxes_in_the_window_and_drives(scheme: str) -> None:
    system = started(scheme)
    messages = (message_from(system),) if system.reads_messages else ()
    step = system.step(ego(), messages)
    assert len(step.cooperative) > 0
    assert len(step.ego_alone) > 0
    for boxes in (step.cooperative, step.ego_alone):
        assert np.isfinite(boxes.geometry).all()
        assert (np.abs(boxes.geometry[:, :2]) < (51.2, 38.4)).all()
        assert ((boxes.scores > 0.2) & (boxes.scores <= 1.0)).all()
        on_ego = np.abs(boxes.geometry[:, :2] + (1.3, 0.0)) < (2.9, 1.5)
        assert not on_ego.all(1).any()
    assert 0.0 <= step.control.throttle <= 1.0
    assert 0.0 <= step.control.brake <= 1.0
    assert abs(step.control.steer) <= 1.0


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", SCHEMES)
def test_equal_moments_give_equal_bytes_whatever_came_before(scheme: str) -> None:
    first = started(scheme)
    message = message_from(first) if first.reads_messages else None
    messages = () if message is None else (message,)
    steps = [first.step(ego(), messages) for _ in range(2)]
    fresh: System = build_part(settings_of(scheme), f"system.{scheme}")
    fresh.reset(2, straight())
    for again in (fresh.step(ego(), messages), started(scheme).step(ego(), messages)):
        for one, other in zip(numbers(steps[0]), numbers(again), strict=True):
            assert one.tobytes() == other.tobytes()


@pytest.mark.parametrize("scheme", list(SCHEMES)[1:])
def test_without_messages_both_answers_are_one(scheme: str) -> None:
    step = started(scheme).step(ego(), ())
    assert np.array_equal(step.cooperative.geometry, step.ego_alone.geometry)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", list(SCHEMES)[1:])
def test_what_the_ego_has_alone_knows_no_message(scheme: str) -> None:
    system = started(scheme)
    alone = system.step(ego(), ()).ego_alone
    step = system.step(ego(), (message_from(system, shift=(7.0, 3.0)),))
    assert np.array_equal(step.ego_alone.geometry, alone.geometry)
    assert unlike(step.cooperative.scores, alone.scores)


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", list(SCHEMES)[1:])
def test_where_a_partner_believes_to_be_reaches_the_answer(scheme: str) -> None:
    system = started(scheme)
    right, wrong = (
        system.step(ego(), (message_from(system, shift),)) for shift in ((0.0, 0.0), (0.6, 0.6))
    )
    assert not np.array_equal(right.cooperative.scores, wrong.cooperative.scores)


def test_points_move_with_where_their_sender_believes_to_be() -> None:
    alone = np.zeros((1, 4), np.float32)
    seen = partner()
    there, moved = (
        merge_sweeps(alone, [(seen.points_in_lidar, pose)], EGO_IN_WORLD)
        for pose in (
            sent(seen, Points(seen.points_in_lidar), shift).lidar_in_world
            for shift in ((0.0, 0.0), (0.5, -0.25))
        )
    )
    assert np.allclose((moved - there)[1:], [0.5, -0.25, 0.0, 0.0], atol=1e-4)
    assert np.allclose(
        there[1:], transform_points(seen.points_in_lidar, ROADSIDE_IN_WORLD, EGO_IN_WORLD)
    )


def test_boxes_move_with_where_their_sender_believes_to_be() -> None:
    system = Late(weights="random")
    system.reset(1, straight())
    nothing = ego(np.zeros((0, 4), np.float32))
    alone = system.step(nothing, ()).ego_alone
    one = Boxes(np.array([[3.0, 1.0, -6.7, 4.4, 1.9, 1.6, 0.2]]), np.array([0]), np.array([1.0]))
    rows_added = []
    for shift in ((0.0, 0.0), (0.6, -0.3)):
        boxes = system.step(nothing, (sent(partner(), one, shift),)).cooperative
        known = {row.tobytes() for row in alone.geometry}
        rows_added += [row for row in boxes.geometry if row.tobytes() not in known]
    assert len(rows_added) == 2
    assert np.allclose(rows_added[1] - rows_added[0], [0.6, -0.3, 0, 0, 0, 0, 0], atol=1e-9)


def test_an_old_message_counts_from_where_its_sender_was_then() -> None:
    seen, now = partner(), Pose(ROADSIDE_IN_WORLD.x + 5.0, ROADSIDE_IN_WORLD.y, 7.5, yaw=0.3)
    old = sent(seen, Points(seen.points_in_lidar))
    assert old.lidar_in_world == seen.lidar_in_world != now
    alone = np.zeros((0, 4), np.float32)
    rows = merge_sweeps(alone, [(get_sent_points(old), old.lidar_in_world)], EGO_IN_WORLD)
    assert np.allclose(
        rows, transform_points(seen.points_in_lidar, ROADSIDE_IN_WORLD, EGO_IN_WORLD)
    )


def payload_of(scheme: str) -> Payload:
    return started(scheme).share(partner())


@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_declared_stage_of_fusion_is_that_of_what_is_sent(scheme: str) -> None:
    payload = payload_of(scheme)
    kinds = {"early": Points, "intermediate": Features, "late": Boxes}
    expected = next(stage for stage, kind in kinds.items() if isinstance(payload, kind))
    stage = get_fusion_stage(system_of(scheme))
    assert stage == (expected if payload.size_bytes else "none")


def test_messages_are_as_long_as_what_they_carry() -> None:
    assert payload_of("early").size_bytes == 16 * len(partner().points_in_lidar)
    boxes = payload_of("late")
    assert isinstance(boxes, Boxes)
    assert boxes.size_bytes == 33 * len(boxes) > 0
    assert payload_of("single").size_bytes == 0
    for scheme in INTERMEDIATE:
        if scheme != "codriving":
            assert payload_of(scheme).size_bytes == 4 * ONE_MAP


def test_codriving_sends_only_where_it_is_confident() -> None:
    chosen = np.zeros((3, 4, 8), np.float32)
    chosen[1, 2, :5] = 1.0
    assert SparseFeatures((chosen,)).size_bytes == 4 * 3 * 5 + 4
    features = payload_of("codriving")
    assert isinstance(features, SparseFeatures)
    assert [level.shape for level in features.maps] == [(24, 96, 128), (48, 48, 64), (64, 24, 32)]
    maps = [torch.from_numpy(level)[None] for level in features.maps]
    logits = torch.full((1, 3, 96, 128), -9.0)
    row, column = np.argwhere(features.maps[0].any(0))[0].tolist()
    logits[0, 1, row, column] = 3.0
    sure = SparseFeatures(
        tuple(level[0].numpy() for level in mask_levels(maps, compute_confidence(logits), 0.5))
    )
    assert [np.argwhere(level.any(0)).tolist() for level in sure.maps] == [
        [[row, column]],
        [[row // 2, column // 2]],
        [[row // 4, column // 4]],
    ]
    places = 96 * 128 + 48 * 64 + 24 * 32
    assert sure.size_bytes == 4 * (24 + 48 + 64) + places // 8


@pytest.mark.parametrize("scheme", list(SCHEMES)[1:])
def test_who_sends_something_else_is_named(scheme: str) -> None:
    strange = Boxes.none() if scheme != "late" else Features(())
    with pytest.raises(TypeError, match="roadside-0 sent no"):
        started(scheme).step(ego(), (sent(partner(), strange),))


def test_maps_of_another_network_are_refused() -> None:
    maps = Features((np.zeros((24, 48, 64), np.float32),))
    with pytest.raises(TypeError, match=r"roadside-0 sent maps of .*\(24, 48, 64\)"):
        started("fcooper").step(ego(), (sent(partner(), maps),))


@pytest.mark.parametrize("kind", [Single, Early, Late])
def test_who_has_no_weights_says_how_to_get_some(kind: type, tmp_path: Path) -> None:
    missing = tmp_path / "none.safetensors"
    with pytest.raises(UserError, match="no such file of weights"):
        kind(weights=str(missing))
    scheme = kind.__name__.lower()
    with pytest.raises(
        UserError, match=f"no weights for full {scheme}: train some with `crucible train"
    ):
        kind(size="full")


@pytest.mark.parametrize("scheme", INTERMEDIATE)
def test_weights_and_a_checkpoint_are_one_too_many(scheme: str) -> None:
    with pytest.raises(UserError, match=f"{scheme} has weights and a checkpoint"):
        Intermediate(INTERMEDIATE[scheme](), weights="random", checkpoint="somewhere")


@pytest.mark.parametrize("height", [1.85, 7.5])
def test_the_height_of_the_road_below_a_lidar_is_estimated(height: float) -> None:
    pose = Pose(0.0, 0.0, 31.0 + height)
    points = sweep(Pose(0.0, 0.0, height))
    assert estimate_lidar_height("road", points, pose) == pytest.approx(height, abs=1e-5)
    assert estimate_lidar_height("world", points, pose) == 31.0 + height
    grid = SCHEMES["late"].choose_design("lite").grid
    raised = raise_points(points, height, grid)
    assert np.percentile(raised[:, 2], 20) == pytest.approx(0.0, abs=1e-5)
    inside = (points[:, :2] >= grid.low[:2]).all(1) & (points[:, :2] < grid.high[:2]).all(1)
    assert sorted(raised[:, 0]) == sorted(points[inside, 0])


@pytest.mark.parametrize("scheme", ["single", "early", "fcooper"])
def test_points_far_outside_the_window_change_nothing(scheme: str) -> None:
    detector = getattr(system_of(scheme), "detector")  # noqa: B009
    points = ego().points_in_lidar
    places = [(120.0, 0.0), (0.0, -120.0), (-90.0, 90.0), (60.0, 3.0)]
    stray = np.array([[x, y, -1.0, 0.5] for x, y in places], np.float32)
    first = detector.encode_points(points, 1.85)
    for many in range(1, len(stray) + 1):
        others = detector.encode_points(np.concatenate([stray[:many], points]), 1.85)
        assert all(torch.equal(*pair) for pair in zip(first, others, strict=True))


def test_where_few_points_of_a_pillar_count_none_from_outside_changes_which() -> None:
    grid = FULL_GRID
    points = ego().points_in_lidar
    stray = np.array([[120.0, 0.0, -1.0, 0.5]], np.float32)
    shuffled = raise_points(points, 1.85, grid)
    assert not np.array_equal(shuffled, np.sort(shuffled, axis=0))
    assert np.array_equal(shuffled, raise_points(np.concatenate([stray, points]), 1.85, grid))


@pytest.mark.parametrize("scheme", ["single", "fcooper"])
def test_the_order_of_points_changes_next_to_nothing(scheme: str) -> None:
    detector = getattr(system_of(scheme), "detector")  # noqa: B009
    points = ego().points_in_lidar
    first = detector.encode_points(points, 1.85)
    others = detector.encode_points(points[::-1].copy(), 1.85)
    assert all(torch.allclose(*pair, atol=1e-4) for pair in zip(first, others, strict=True))


def test_without_returns_no_road_is_known() -> None:
    assert estimate_lidar_height("road", np.zeros((0, 4), np.float32), EGO_IN_WORLD) == 0.0
